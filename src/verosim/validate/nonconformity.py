"""Sorted scores of held-out rows; a high score means that a row is unusual for its class.

    #{i : s_i ≥ s}, each row counted with its weight

Reference: Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SAME_SCORE = 1e-9  # relative; the scores of equal rows can have different rounding errors


@dataclass(frozen=True)
class NonconformityScores:
    """The sorted scores of labelled rows, and the weight of the rows at or above each score."""

    sorted: np.ndarray  # (m,)
    above: np.ndarray  # (m + 1,)

    @classmethod
    def of(cls, scores: np.ndarray, w: np.ndarray) -> NonconformityScores:
        """The scores (m,) of rows with weights (m,)."""
        order = np.argsort(scores, kind="stable")
        tail = np.cumsum(w[order][::-1])[::-1]
        return cls(scores[order], np.append(tail, 0.0))

    def at_least(self, s: np.ndarray) -> np.ndarray:
        """The weight of the rows with a score of at least s."""
        return self.above[np.searchsorted(self.sorted, s - SAME_SCORE * np.maximum(np.abs(s), 1.0))]
