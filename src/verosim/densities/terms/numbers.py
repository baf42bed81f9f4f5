"""Terms of one number: a Gaussian, a Poisson variable, a bin of a histogram, present or absent.

A missing number has the score 0 in every class, which is the marginal without this column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import gammaln

from verosim.data.nodes import FINITE, malformed
from verosim.data.readings import NUMBER
from verosim.densities.terms.base import Scored, Term, finite_part


@dataclass(frozen=True, eq=False)
class GaussianTerm(Term):
    """c_k − ½ p_k z²,   z = (x − pivot_k) − offset_k."""

    kind = "gaussian"
    takes = NUMBER
    arity = 1
    pivot: Annotated[np.ndarray, "C", FINITE]
    offset: Annotated[np.ndarray, "C", FINITE]  # pivot + offset is the mean
    precision: Annotated[np.ndarray, "C", FINITE]  # p = 1/σ²
    constant: Annotated[np.ndarray, "C", FINITE]  # c = −½ log 2πσ²

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        x = values[0][:, None]
        away = x - self.pivot
        z = away - self.offset
        size = 0.5 * self.precision * (np.abs(away) + np.abs(self.offset)) ** 2
        return _seen(x, self.constant - 0.5 * self.precision * z * z, np.abs(self.constant) + size)


@dataclass(frozen=True, eq=False)
class PoissonTerm(Term):
    """x log λ_k − λ_k − log x!."""

    kind = "poisson"
    takes = NUMBER
    arity = 1
    rate: Annotated[np.ndarray, "C", FINITE]  # λ

    def __post_init__(self) -> None:
        if not (self.rate > 0).all():
            raise malformed("a rate is not above 0")

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        x = values[0][:, None]
        first, last = x * np.log(self.rate), gammaln(x + 1.0)
        return _seen(x, first - self.rate - last, np.abs(first) + self.rate + np.abs(last))


@dataclass(frozen=True, eq=False)
class BinsTerm(Term):
    """table[b], where b is the number of inner edges ≤ x. The first and last bin are open."""

    kind = "bins"
    takes = NUMBER
    arity = 1
    edges: Annotated[np.ndarray, "E", FINITE]  # the inner edges are all but the first and the last
    table: Annotated[np.ndarray, "K", "C"]  # log density in each bin

    def __post_init__(self) -> None:
        if len(self.table) != max(len(self.edges) - 1, 1):
            raise malformed(f"{len(self.edges)} edges have {len(self.table)} bins")

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        inner = self.edges[1:-1]
        scores = self.table[np.searchsorted(inner, np.nan_to_num(values[0]), side="right")]
        return _seen(values[0][:, None], scores, np.abs(scores))


@dataclass(frozen=True, eq=False)
class PresenceTerm(Term):
    """present_k if x > threshold, else absent_k."""

    kind = "presence"
    takes = NUMBER
    arity = 1
    threshold: float
    present: Annotated[np.ndarray, "C"]
    absent: Annotated[np.ndarray, "C"]

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        x = values[0][:, None]
        scores = np.where(x > self.threshold, self.present, self.absent)
        return _seen(x, scores, np.abs(scores) + np.abs(finite_part(self.absent)))


def _seen(x: np.ndarray, scores: np.ndarray, size: np.ndarray) -> Scored:
    """The scores, with 0 where x (n, 1) is missing."""
    missing = np.isnan(x)
    return np.where(missing, 0.0, scores), np.where(missing, 0.0, size)
