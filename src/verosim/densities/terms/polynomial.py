"""Numbers and their products: the scores of logistic regression on these features.

    Σ_j w_kj z_j + Σ_{i ≤ j} q_kij z_i z_j + Σ_j [x_j is missing] m_kj,   z = (x − pivot) − centre

A missing number has z = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from verosim.data.nodes import FINITE, malformed
from verosim.data.readings import NUMBER
from verosim.densities.terms.base import Scored, Term


@dataclass(frozen=True, eq=False)
class PolynomialTerm(Term):
    """A polynomial of the second degree of a block of numbers."""

    kind = "polynomial"
    takes = NUMBER
    pivot: Annotated[np.ndarray, "d", FINITE]
    centre: Annotated[np.ndarray, "d", FINITE]
    coef: Annotated[np.ndarray, "C", "d", FINITE]  # w
    products: Annotated[np.ndarray, "C", "P", FINITE] | None = None  # q of (0, 0), (0, 1), …
    missing: Annotated[np.ndarray, "C", "d", FINITE] | None = None  # m

    def __post_init__(self) -> None:
        d = len(self.pivot)
        if self.products is not None and self.products.shape[-1] != d * (d + 1) // 2:
            raise malformed(f"a polynomial of {d} numbers has {self.products.shape[-1]} products")

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        X = np.stack(values, axis=1)
        gaps = np.isnan(X)
        away = X - self.pivot
        z = np.where(gaps, 0.0, away - self.centre)
        most = np.where(gaps, 0.0, np.abs(away) + np.abs(self.centre))
        scores, size = z @ self.coef.T, most @ np.abs(self.coef.T)
        if self.products is not None:
            i, j = np.triu_indices(len(self.pivot))
            scores = scores + (z[:, i] * z[:, j]) @ self.products.T
            size = size + (most[:, i] * most[:, j]) @ np.abs(self.products.T)
        if self.missing is not None:
            scores, size = scores + gaps @ self.missing.T, size + gaps @ np.abs(self.missing.T)
        elif gaps.any():
            scores = np.where(gaps.any(axis=1, keepdims=True), np.nan, scores)
        return scores, size
