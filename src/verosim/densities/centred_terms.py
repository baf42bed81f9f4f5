"""The sums of leading terms about their mean, and the solution of the ridge regression on them.

    (S + λI) w_k = n_k (μ_k − μ)

S is the scatter of the rows about their mean μ. n_k and μ_k are the weight and the mean of class
k. Reference: Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §3.4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigvalsh

from verosim.errors import PrecisionWarning, warn
from verosim.linalg import EPS
from verosim.stats import TermProducts

LEAST_VARIANCE = 1e-6  # smallest σ², so that scores are finite


@dataclass(frozen=True)
class CentredTerms:
    """The sums of leading terms about their mean."""

    weight: np.ndarray  # (C,) n_k
    mean: np.ndarray  # (K,) μ
    target: np.ndarray  # (C, K) n_k (μ_k − μ)
    scatter: np.ndarray  # (K, K) S

    @classmethod
    def of(cls, statistic: TermProducts) -> CentredTerms:
        weight = np.maximum(statistic.weight[:, 0], 0.0)
        sums = statistic.arrays["sum"][:, 0]  # (C, K)
        n = float(weight.sum()) or 1.0
        mean = sums.sum(axis=0) / n
        scatter = statistic.arrays["product"][0] - n * np.outer(mean, mean)
        return cls(weight, mean, sums - weight[:, None] * mean, scatter)

    def factor(self, penalty: float) -> Any:
        """The Cholesky factor of S + λI, where λ is at least the rounding error of S."""
        sums = self.scatter.diagonal() + self.weight.sum() * self.mean**2  # Σ w z² of every term
        largest = float(sums.max(initial=0.0))
        ridge = max(penalty, 64 * len(sums) * EPS * largest)
        try:
            return self._factor(ridge)
        except LinAlgError:
            # S keeps the rounding errors of heavy texts that were forgotten. Without them it has no
            # negative eigenvalue, so the smallest eigenvalue shows their size.
            error = -float(eigvalsh(self.scatter, subset_by_index=[0, 0])[0])
        digits = int(max(-np.log10(error / max(largest, error)), 0))
        warn(
            f"The forgotten texts were so heavy that only about {digits} digits of the products of "
            "terms are correct. Fit again on the remaining texts.",
            PrecisionWarning,
        )
        return self._factor(ridge + 2 * error)

    def _factor(self, ridge: float) -> Any:
        """The Cholesky factor of S plus a ridge."""
        penalised = self.scatter.copy()
        penalised.flat[:: len(penalised) + 1] += ridge
        return cho_factor(penalised, lower=True, overwrite_a=True, check_finite=False)

    def weights(self, factor: Any) -> np.ndarray:
        """(C, K) w_k."""
        if not len(self.mean):
            return np.zeros_like(self.target)
        found: np.ndarray = cho_solve(factor, self.target.T, check_finite=False).T
        return found

    def residual(self, coef: np.ndarray) -> float:
        """The penalised sum of squared residuals over all classes."""
        n = float(self.weight.sum()) or 1.0
        spread = self.weight * (1 - self.weight / n)
        return float(spread.sum() - (coef * self.target).sum())


def variance(residual: Any, weight: np.ndarray) -> Any:
    """σ² from the penalised residuals and the weights (…, C) of the classes."""
    count = (weight > 0).sum(axis=-1) * weight.sum(axis=-1)
    return np.maximum(residual / np.maximum(count, 1.0), LEAST_VARIANCE)
