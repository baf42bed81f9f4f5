"""Terms that are linear in a block of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from verosim.data.nodes import FINITE
from verosim.data.readings import NUMBER
from verosim.densities.terms.base import Scored, Term, products


@dataclass(frozen=True, eq=False)
class LinearTerm(Term):
    """b_k + Σ_j w_kj ((x_j − pivot_j) − centre_j). The block must be complete."""

    kind = "linear"
    takes = NUMBER
    pivot: Annotated[np.ndarray, "d", FINITE]
    centre: Annotated[np.ndarray, "d", FINITE]
    coef: Annotated[np.ndarray, "C", "d", FINITE]  # w
    bias: Annotated[np.ndarray, "C", FINITE]  # b

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        away = np.stack(values, axis=1) - self.pivot
        size = (np.abs(away) + np.abs(self.centre)) @ np.abs(self.coef.T)
        return (away - self.centre) @ self.coef.T + self.bias, size + np.abs(self.bias)


@dataclass(frozen=True, eq=False)
class AmountsTerm(Term):
    """Σ_j x_j s_jk. A missing amount is 0, and 0 times −∞ is 0."""

    kind = "amounts"
    takes = NUMBER
    table: Annotated[np.ndarray, "d", "C"]  # s

    def by_column(self) -> tuple[Term, ...]:
        rows = zip(self.reads, self.table, strict=True)
        return tuple(AmountsTerm((j,), row[None]) for j, row in rows)

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        return products(np.nan_to_num(np.stack(values, axis=1), nan=0.0), self.table)
