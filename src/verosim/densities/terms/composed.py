"""Terms that are made of other terms. The inner terms read the values of the outer term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from verosim.data.nodes import malformed
from verosim.densities.terms.base import Scored, Term, finite_part

ROUNDING_SHARE = 1e-12  # of the size of a score; rounding errors are smaller


@dataclass(frozen=True, eq=False)
class SumTerm(Term):
    """b_k + Σ_t s_tk(x)."""

    kind = "sum"
    terms: tuple[Term, ...]
    bias: Annotated[np.ndarray, "C"]  # b

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        return total(self.terms, values, self.bias, len(values[0]))

    def check(self, readings: int, classes: int) -> None:
        super().check(readings, classes)
        check_inner(self.terms, len(self.reads), classes)


@dataclass(frozen=True, eq=False)
class LogSumExpTerm(Term):
    """log Σ_t exp(w_tk + s_tk(x)): a mixture of the inner terms. A weight w may be −∞."""

    kind = "logsumexp"
    terms: tuple[Term, ...]  # T of them
    log_weight: Annotated[np.ndarray, "T", "C"]  # w

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        weighted = zip(self.terms, self.log_weight, strict=True)
        parts = [total((term,), values, weight, len(values[0])) for term, weight in weighted]
        scores, sizes = (np.stack(one) for one in zip(*parts, strict=True))  # (T, n, C)
        return log_sum_exp(scores, axis=0), np.where(np.isneginf(scores), 0.0, sizes).max(axis=0)

    def check(self, readings: int, classes: int) -> None:
        super().check(readings, classes)
        check_inner(self.terms, len(self.reads), classes)
        if len(self.terms) != len(self.log_weight) or not self.terms:
            raise malformed(f"{len(self.terms)} terms have {len(self.log_weight)} weights")


def check_inner(terms: Sequence[Term], readings: int, classes: int) -> None:
    """Check terms inside another term, which has this number of readings."""
    for term in terms:
        term.check(readings, classes)


def total(terms: Sequence[Term], values: Sequence[np.ndarray], start: np.ndarray, n: int) -> Scored:
    """start (C,) plus the scores of the terms, for the values (n,) of each reading."""
    scores, size = (np.tile(one, (n, 1)) for one in (start, np.abs(finite_part(start))))
    for term in terms:
        score, more = term.evaluate([values[j] for j in term.reads])
        scores += score
        size += np.where(np.isfinite(score), more, 0.0)
    return scores, size


def log_sum_exp(scores: np.ndarray, axis: int) -> np.ndarray:
    """log Σ exp(scores) along an axis; −∞ if all scores are −∞."""
    top = scores.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        out: np.ndarray = np.log(np.exp(scores - top).sum(axis=axis)) + np.squeeze(top, axis)
    return out


def at_least(scores: np.ndarray, size: np.ndarray, least: float | None) -> Scored:
    """The scores, none below a limit. Where the limit is reached, only the limit has a size."""
    if least is None:
        return scores, size
    below = scores < least - ROUNDING_SHARE * size
    return np.maximum(scores, least), np.where(below, abs(least), size)
