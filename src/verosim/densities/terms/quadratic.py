"""A quadratic form of a block of numbers: a Gaussian with a full covariance.

    −½ [ d log 2π + log|Σ_k| + ‖W_k z‖² ],   z = (x − pivot_k) − offset_k,   W_k Σ_k W_kᵀ = I

A row with missing cells has the marginal of the columns o with values, N(x_o; μ_o, Σ_oo).
Reference: Anderson (2003), An Introduction to Multivariate Statistical Analysis, §2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from verosim.data.nodes import FINITE, malformed
from verosim.data.readings import NUMBER
from verosim.densities.missing_cells import STEEP_RATIO
from verosim.densities.terms.base import Scored, Term
from verosim.kernels.constants import LOG_2PI


@dataclass(frozen=True, eq=False)
class QuadraticTerm(Term):
    """The log density of a Gaussian with one covariance per class, or one for all (S = 1)."""

    kind = "quadratic"
    takes = NUMBER
    pivot: Annotated[np.ndarray, "C", "d", FINITE]
    offset: Annotated[np.ndarray, "C", "d", FINITE]  # pivot + offset is the mean
    covariance: Annotated[np.ndarray, "S", "d", "d", FINITE] | None  # Σ; None: complete rows only
    whitener: Annotated[np.ndarray, "S", "d", "d", FINITE]  # W
    log_det: Annotated[np.ndarray, "S", FINITE]  # log|Σ|

    def __post_init__(self) -> None:
        if len(self.log_det) not in (1, len(self.pivot)):
            raise malformed(f"{len(self.pivot)} classes have {len(self.log_det)} covariances")

    def of_classes(self, at: np.ndarray) -> QuadraticTerm:
        """The term with the Gaussian at[k] for class k."""
        own = at if len(self.log_det) > 1 else np.zeros(1, dtype=np.intp)
        return replace(
            self, pivot=self.pivot[at], offset=self.offset[at],
            covariance=None if self.covariance is None else self.covariance[own],
            whitener=self.whitener[own], log_det=self.log_det[own],
        )  # fmt: skip

    def for_complete_rows(self) -> QuadraticTerm:
        """The term without the covariances, which only rows with missing cells need."""
        return replace(self, covariance=None)

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        X = np.stack(values, axis=1)  # (n, d)
        scores, size = (np.zeros((len(X), len(self.pivot))) for _ in range(2))
        patterns, which = np.unique(np.isnan(X), axis=0, return_inverse=True)
        for p, missing in enumerate(patterns):
            at, seen = np.flatnonzero(which.reshape(-1) == p), np.flatnonzero(~missing)
            marginals = [self._marginal(s, missing) for s in range(len(self.log_det))]
            for c in range(len(self.pivot)):
                whitener, log_det, loss = marginals[c if len(marginals) > 1 else 0]
                away, offset = X[np.ix_(at, seen)] - self.pivot[c, seen], self.offset[c, seen]
                white = (away - offset) @ whitener.T
                most = (np.abs(away) + np.abs(offset)) @ np.abs(whitener.T)
                level = len(seen) * LOG_2PI + log_det
                scores[at, c] = -0.5 * (level + (white**2).sum(axis=1))
                size[at, c] = 0.5 * loss * (1 + np.abs(level) + (most**2).sum(axis=1))
        return scores, size

    def _marginal(self, s: int, missing: np.ndarray) -> tuple[np.ndarray, float, float]:
        """V (·, o) with ‖V z_o‖² = z_oᵀ Σ_oo⁻¹ z_o, and log|Σ_oo|, for the columns o with values.

        If few columns are missing, the missing part of z that gives the least ‖W z‖ is filled in.
        Otherwise, or if W has lost digits in these columns, Σ_oo is factored. The third value is
        the size of the products in the factor, relative to their sum; 1 without a factor.
        """
        W, seen = self.whitener[s], ~missing
        if not missing.any():
            return W, float(self.log_det[s]), 1.0
        if self.covariance is None:
            return W[:, seen], np.nan, 1.0
        sigma = self.covariance[s]
        precision = W.T @ W
        steepness = (sigma.diagonal() * precision.diagonal())[missing].max()
        if missing.sum() <= seen.sum() and steepness <= STEEP_RATIO:
            inner = precision[np.ix_(missing, missing)]
            fill = np.linalg.solve(inner, precision[np.ix_(missing, seen)])
            log_det = self.log_det[s] + np.linalg.slogdet(inner)[1]
            return W[:, seen] - W[:, missing] @ fill, float(log_det), 1.0
        part = sigma[np.ix_(seen, seen)]
        unit = np.sqrt(part.diagonal())  # (o,)
        root = np.linalg.cholesky(part / (unit[:, None] * unit))
        inverse = np.linalg.inv(root)
        log_det = 2 * np.log(root.diagonal() * unit).sum()
        return inverse / unit, float(log_det), float((inverse**2).sum(axis=0).max(initial=1.0))
