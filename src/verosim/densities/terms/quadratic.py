"""A quadratic form of a block of numbers: a Gaussian with a full covariance.

    −½ [ d log 2π + log|Σ_k| + ‖W_k z‖² ],   z = (x − pivot_k) − offset_k,   W_k Σ_k W_kᵀ = I

A row with missing cells has the marginal of the columns o with values, N(x_o; μ_o, Σ_oo).
Reference: Anderson (2003), An Introduction to Multivariate Statistical Analysis, §2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from verosim.data.nodes import malformed
from verosim.densities.terms.base import Scored, Term
from verosim.kernels.constants import LOG_2PI


@dataclass(frozen=True, eq=False)
class QuadraticTerm(Term):
    """The log density of a Gaussian with one covariance per class, or one for all (S = 1)."""

    kind = "quadratic"
    pivot: Annotated[np.ndarray, "C", "d"]
    offset: Annotated[np.ndarray, "C", "d"]  # pivot + offset is the mean
    covariance: Annotated[np.ndarray, "S", "d", "d"]  # Σ
    whitener: Annotated[np.ndarray, "S", "d", "d"]  # W
    log_det: Annotated[np.ndarray, "S"]  # log|Σ|

    def __post_init__(self) -> None:
        if len(self.log_det) not in (1, len(self.pivot)):
            raise malformed(f"{len(self.pivot)} classes have {len(self.log_det)} covariances")

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        X = np.stack(values, axis=1)  # (n, d)
        scores, size = (np.zeros((len(X), len(self.pivot))) for _ in range(2))
        patterns, which = np.unique(np.isnan(X), axis=0, return_inverse=True)
        for p, missing in enumerate(patterns):
            at, seen = np.flatnonzero(which.reshape(-1) == p), np.flatnonzero(~missing)
            whiteners, log_det = self._marginal(seen)
            for c in range(len(self.pivot)):
                s = c if len(whiteners) > 1 else 0
                away = X[np.ix_(at, seen)] - self.pivot[c, seen]
                white = (away - self.offset[c, seen]) @ whiteners[s].T
                level = len(seen) * LOG_2PI + log_det[s]
                most = (np.abs(away) + np.abs(self.offset[c, seen])) @ np.abs(whiteners[s].T)
                scores[at, c] = -0.5 * (level + (white**2).sum(axis=1))
                size[at, c] = 0.5 * (np.abs(level) + (most**2).sum(axis=1))
        return scores, size

    def _marginal(self, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The whiteners (S, o, o) and log|Σ_oo| (S,) of the columns with values."""
        if len(seen) == self.pivot.shape[1]:
            return self.whitener, self.log_det
        part = self.covariance[:, seen[:, None], seen]
        unit = np.sqrt(np.diagonal(part, axis1=1, axis2=2))  # (S, o)
        root = np.linalg.cholesky(part / (unit[:, :, None] * unit[:, None, :]))
        log_det = 2 * np.log(np.diagonal(root, axis1=1, axis2=2) * unit).sum(axis=1)
        return np.linalg.inv(root) / unit[:, None, :], log_det
