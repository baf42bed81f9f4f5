"""The mean and the standard deviation of log p(x) over held-out rows, as sums that can be added.

    W = Σ w,   m = Σ w log p(x) / W,   S = Σ w (log p(x) − m)²,   deviation = √(S / W)

The sums of two sets of rows are added with the formula of Chan, so large values cancel nothing.
Reference: Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance, The American
Statistician 37, 242–247.

>>> import numpy as np
>>> both = LogDensities.of(np.array([-1.0, -3.0])) + LogDensities.of(np.array([-5.0]))
>>> both.mean_and_deviation
(-3.0, 1.632993161855452)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class LogDensities:
    """Sums of log p(x) over some rows."""

    weight: float  # W
    mean: float  # m
    squares: float  # S

    @classmethod
    def of(cls, found: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """The sums of (n,) log densities. No weights mean that all weights are 1."""
        w = np.ones(len(found)) if weights is None or not len(weights) else weights
        total = float(w.sum())
        if total <= 0:
            return cls(0.0, 0.0, 0.0)
        with np.errstate(invalid="ignore"):  # a row with density 0 has −∞
            mean = float(w @ found) / total
            return cls(total, mean, float(w @ (found - mean) ** 2))

    def __add__(self, other: LogDensities) -> LogDensities:
        total = self.weight + other.weight
        if not self.weight or not other.weight:
            return self if self.weight else other
        apart = other.mean - self.mean
        mean = self.mean + apart * other.weight / total
        squares = self.squares + other.squares + apart**2 * self.weight * other.weight / total
        return LogDensities(total, mean, squares)

    @property
    def mean_and_deviation(self) -> tuple[float, float] | None:
        """m and √(S / W); None without rows, or if a row has the density 0."""
        if not self.weight or not np.isfinite([self.mean, self.squares]).all():
            return None
        return self.mean, float(np.sqrt(self.squares / self.weight))
