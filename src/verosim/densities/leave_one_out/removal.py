"""The weight and the number of rows of a class after one row is removed.

    W_k − w_i,   n_k − 1

A class without remaining rows does not exist any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.stats import Statistic
from verosim.stats.forgetting import settled

CANCELLED = 1e-4  # remaining share of a sum below which too many digits are lost

# (rows as the statistic absorbed them, class numbers, weights > 0) → (n, C) log p(x | c)
Scorer = Callable[[Any, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Removal:
    """Some rows, each of which is removed alone."""

    classes: np.ndarray  # (n,) class numbers
    weights: np.ndarray  # (n,) > 0
    before: np.ndarray  # (n,) the weight of the class of the row, with the row
    left: np.ndarray  # (n,) the weight of the class of the row, without the row
    rows: np.ndarray  # (n,) the number of rows of the class, without the row

    @classmethod
    def of(cls, statistic: Statistic, classes: np.ndarray, weights: np.ndarray) -> Removal:
        return cls.from_counts(statistic.weight[:, 0], statistic.rows[:, 0], classes, weights)

    @classmethod
    def from_counts(
        cls, weight: np.ndarray, rows: np.ndarray, classes: np.ndarray, weights: np.ndarray
    ) -> Removal:
        """From the weight (C,) and the number of rows (C,) of each class."""
        weights = weights if len(weights) else np.ones(len(classes))
        before = weight[classes]
        left = before - weights
        stay = settled(rows[classes] - 1, left, before)
        return cls(classes, weights, before, np.where(stay > 0, left, 0.0), stay)

    @property
    def gone(self) -> np.ndarray:
        """(n,) bool: the class of the row has no other rows."""
        return self.rows == 0

    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """The index of the class of each row in arrays of shape (n, C)."""
        return np.arange(len(self.classes)), self.classes

    def __getitem__(self, at: slice | np.ndarray) -> Removal:
        return Removal(
            self.classes[at], self.weights[at], self.before[at], self.left[at], self.rows[at]
        )
