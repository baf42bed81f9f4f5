"""A tempered log-posterior: the part of a calibrated model, or of an expert of a pool.

    w · max( log softmax_k(τ m^(−c) max(log p(k | x), a)), f )

    log p(k | x) = δ_k(x) − log Σ_j exp δ_j(x),   δ_k(x) = log π_k + Σ_t s_tk(x)

The inner terms t with the priors π are a program of their own. τ is the temperature, m the length
of the row plus 1, c its exponent, w the weight, and a and f are limits.
Reference: Genest & Zidek (1986), Combining probability distributions: a critique and an annotated
bibliography, Statistical Science 1, 114–135.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from verosim.data.nodes import malformed
from verosim.data.readings import CellReading, check_gives
from verosim.densities.terms.base import Scored, Term
from verosim.densities.terms.composed import at_least, check_inner, log_sum_exp, total
from verosim.densities.terms.lengths import RowLength


@dataclass(frozen=True, eq=False)
class TemperedTerm(Term):
    """The tempered log-posterior of inner terms, times a weight."""

    kind = "tempered"
    name: str  # of the expert; empty if there is only one model
    terms: tuple[Term, ...]
    log_prior: Annotated[np.ndarray, "C"]  # log π
    temperature: float  # τ
    weight: float = 1.0  # w
    lowest: float | None = None  # a
    floor: float | None = None  # f
    exponent: float = 0.0  # c
    length: RowLength | None = None  # m − 1; None if c = 0

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        n = len(values[0])
        scores, size = log_posterior(*total(self.terms, values, self.log_prior, n), self.log_prior)
        scale = np.full((n, 1), self.temperature)
        if self.length is not None:
            lengths = self.length.measure([values[j] for j in self.length.reads])
            scale = scale * np.exp(-self.exponent * np.log1p(lengths))[:, None]
        scores, size = at_least(scores, size, self.lowest)
        scores, size = normalised_scores(scale * scores, scale * size)
        scores, size = at_least(scores, size, self.floor)
        return self.weight * scores, self.weight * size

    def check(self, readings: int, classes: int) -> None:
        super().check(readings, classes)
        check_inner(self.terms, len(self.reads), classes)
        used = () if self.length is None else self.length.reads
        if not all(0 <= j < len(self.reads) for j in used) or not self.reads:
            raise malformed("the length of a row has other readings than its term")
        if not (self.temperature >= 0 and self.weight >= 0):
            raise malformed("a temperature or a weight is negative")

    def check_values(self, given: Sequence[CellReading]) -> None:
        super().check_values(given)
        if self.length is not None:
            for j in self.length.reads:
                check_gives(given[self.reads[j]], self.length.takes)


def log_posterior(scores: np.ndarray, size: np.ndarray, log_prior: np.ndarray) -> Scored:
    """(n, C) log p(k | x) from the scores δ_k(x), and their size.

    A row with the probability 0 in every class has the priors.
    """
    nowhere = np.isneginf(scores).all(axis=1, keepdims=True)
    found, size = normalised_scores(np.where(nowhere, 0.0, scores), size)
    return np.where(nowhere, log_prior, found), size


def normalised_scores(scores: np.ndarray, size: np.ndarray) -> Scored:
    """(n, C) δ_k − log Σ_j exp δ_j. An error of δ_j changes the sum by p_j times as much."""
    found = scores - log_sum_exp(scores, axis=1)[:, None]
    mean = (np.exp(found) * size).sum(axis=1, keepdims=True)
    return found, size + mean
