"""What a row takes with it: weight and count of its class, and the class itself if it was the last.

W_k − w_i,   n_k − 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.stats import Statistic
from verosim.stats.forgetting import settled

CANCELLED = 1e-4  # parts of a sum below which what is left of it has lost digits

# rows as the statistic absorbed them, class numbers and weights > 0 → (n, C) log p(x | c)
Scorer = Callable[[Any, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Removal:
    """Some rows, each leaving alone."""

    classes: np.ndarray  # (n,)
    weights: np.ndarray  # (n,) > 0
    before: np.ndarray  # (n,) weight of the row's class with it
    left: np.ndarray  # (n,) and without it
    rows: np.ndarray  # (n,) rows of the class without it

    @classmethod
    def of(cls, statistic: Statistic, classes: np.ndarray, weights: np.ndarray) -> Removal:
        return cls.from_counts(statistic.weight[:, 0], statistic.rows[:, 0], classes, weights)

    @classmethod
    def from_counts(
        cls, weight: np.ndarray, rows: np.ndarray, classes: np.ndarray, weights: np.ndarray
    ) -> Removal:
        """weight and rows are (C,) those of each class."""
        weights = weights if len(weights) else np.ones(len(classes))
        before = weight[classes]
        left = before - weights
        stay = settled(rows[classes] - 1, left, before)
        return cls(classes, weights, before, np.where(stay > 0, left, 0.0), stay)

    @property
    def gone(self) -> np.ndarray:
        """(n,) whether the row's class leaves with it."""
        return self.rows == 0

    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """The places of the rows' own classes in (n, C)."""
        return np.arange(len(self.classes)), self.classes

    def __getitem__(self, at: slice | np.ndarray) -> Removal:
        return Removal(
            self.classes[at], self.weights[at], self.before[at], self.left[at], self.rows[at]
        )
