"""Scores of held-out rows that say how unusual each is for its class, kept to be compared with.

    #{i : s_i ≥ s}, each row counted by its weight

Reference: Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SAME_SCORE = 1e-9  # relative: scores of equal rows may be rounded differently


@dataclass(frozen=True)
class NonconformityScores:
    """Scores of labelled rows, sorted, and the weight of the rows at or above each."""

    sorted: np.ndarray  # (m,)
    above: np.ndarray  # (m + 1,)

    @classmethod
    def of(cls, scores: np.ndarray, w: np.ndarray) -> NonconformityScores:
        order = np.argsort(scores, kind="stable")
        tail = np.cumsum(w[order][::-1])[::-1]
        return cls(scores[order], np.append(tail, 0.0))

    def at_least(self, s: np.ndarray) -> np.ndarray:
        """The weight of the rows that score s or more."""
        return self.above[np.searchsorted(self.sorted, s - SAME_SCORE * np.maximum(np.abs(s), 1.0))]
