"""Averaged one-dependence estimators: every column is once the parent of all others.

    p(x | k) = Σ_i v_i p(x_i | k) Π_{j≠i} p(x_j | k, x_i),   v_i ∝ I(x_i; y)

    p(x_j | k, x_i) = (N(k, x_i, x_j) + p(x_j | k)) / (N(k, x_i) + 1)
    p(x_j | k)      = (N(k, x_j) + 1/B_j) / (N(k) + 1)

B_j is the number of values of column j that rows have or that were declared. Any other value adds
nothing, and its column is not a parent.
References: Webb, Boughton & Wang (2005), Not so naive Bayes: aggregating one-dependence
estimators; Jiang & Zhang (2006), Weightily averaged one-dependence estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim import kernels
from verosim.data.batch import BLOCK_CELLS
from verosim.densities.attribution import CHAIN, Attribution, AttributionRequest, summed_by_owner
from verosim.densities.base import Density, equal_parts, into
from verosim.densities.coded_rows import CodedRowParams, drawn_positions
from verosim.densities.dependence import information
from verosim.densities.estimates import Estimates
from verosim.densities.terms import AverageTerm, CodeTerm, PairTerm, SumTerm, Term
from verosim.errors import VerosimError
from verosim.stats import Pairs


@dataclass(frozen=True)
class OneDependenceParams(CodedRowParams):
    """The tables of an averaged one-dependence estimator. J is the number of codes."""

    log_parent: np.ndarray  # (J, C) log p(x_i | k), −inf for codes that no row has
    log_child: np.ndarray  # (J, J, C) log p(x_j | k, x_i); 0 if x_j = x_i or no row has x_j
    log_weight: np.ndarray  # (d,) log v_i
    known: np.ndarray  # (J,) whether some row has the code

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        column = self.codes.column_of()[self.known]
        free = np.bincount(column, minlength=len(self.codes.sizes)) - 1  # shares sum to one
        return int(self.log_parent.shape[1] * (free.sum() ** 2 - (free**2).sum() + free.sum()))

    def log_mass(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        out = into(out, (len(block), self.log_parent.shape[1]))
        kernels.score_one_dependence(
            block, self.codes.places, self.log_parent, self.log_child, self.log_weight, out
        )
        return out

    def terms(self) -> tuple[Term, ...]:
        """The average over the parents, and the widths of bins."""
        d, C = len(self.codes.sizes), self.log_parent.shape[1]
        each, at = tuple(range(d)), [self.rows_of(j) for j in range(d)]
        parts = [
            SumTerm(
                each,
                (
                    CodeTerm((i,), self.log_parent[at[i]]),
                    *(PairTerm((i, j), self.log_child[at[i], at[j]]) for j in each if j != i),
                ),
                np.zeros(C),
            )
            for i in each
        ]
        weight = np.repeat(self.log_weight[:, None], C, axis=1)
        return (AverageTerm(each, tuple(parts), weight), *self.width_terms(C))

    def contributions(self, block: Any) -> np.ndarray:
        """A sum over parents does not split by column: every column gets the same part."""
        return equal_parts(self.log_density(block), block.shape[1])

    def attribution(self, block: Any, request: AttributionRequest) -> Attribution:
        """The terms given their parents, weighted by the responsibility r_i of each parent i.

            φ_j = r_j log p(x_j | k) + Σ_{i ≠ j} r_i log p(x_j | k, x_i)
            log p(x | k) = Σ_j φ_j + Σ_i r_i (log v_i − log r_i)

        r_i is the share of parent i in the sum p(x | k). The last sum is a line of its own.
        """
        at = self.codes.encode(block)[0]  # (n, d)
        (n, d), C = at.shape, self.log_parent.shape[1]
        parts, rest = np.empty((n, C, d)), np.empty((n, C))
        step = max(1, BLOCK_CELLS // (d * d * C))
        own = np.arange(d)
        for start in range(0, n, step):
            a = at[start : start + step]
            each = self.log_child[a[:, :, None], a[:, None, :]]  # (rows, parent, child, C)
            each[:, own, own] = self.log_parent[a]
            score = self.log_weight[:, None] + each.sum(axis=2)  # (rows, parent, C)
            top = score.max(axis=1, keepdims=True)
            share = np.exp(score - np.where(np.isfinite(top), top, 0.0))
            total = share.sum(axis=1, keepdims=True)
            share = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
            each[~(share > 0)[:, :, None, :].repeat(d, axis=2)] = 0.0  # 0 · (−∞)
            parts[start : start + step] = np.einsum("nic,nijc->ncj", share, each)
            log_share = np.log(share, out=np.zeros_like(share), where=share > 0)
            level = np.where(share > 0, self.log_weight[:, None] - log_share, 0.0)
            rest[start : start + step] = (share * level).sum(axis=1)
        parts -= self.codes.log_widths[at][:, None, :]
        return Attribution(
            summed_by_owner(parts, request.owner), CHAIN, {"averaging of parents": rest}
        )

    def sample_codes(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """First the parent column by its weight, then its code, then the codes of the others."""
        n, d, first = len(classes), len(self.codes.sizes), self.codes.first
        out = np.empty((n, d), dtype=np.intp)
        weight = np.exp(self.log_weight)
        parent = rng.choice(d, size=n, p=weight / weight.sum())
        for i in range(d):
            rows = np.flatnonzero(parent == i)
            mass = np.exp(self.log_parent[first[i] : first[i + 1]])[:, classes[rows]].T
            out[rows, i] = drawn_positions(mass, rng)
            at = first[i] + out[rows, i]
            for j in range(d):
                if j != i:
                    table = self.log_child[at, first[j] : first[j + 1]]  # (rows, B_j, C)
                    mass = np.exp(table[np.arange(len(rows)), :, classes[rows]])
                    out[rows, j] = drawn_positions(mass * self.known[first[j] : first[j + 1]], rng)
        return out

    def estimates(self, statistic: Any, j: int, most: int) -> Estimates:
        """The share of each code in each class, which the other columns are conditioned on."""
        at = slice(self.codes.first[j], self.codes.first[j + 1])
        return self.of_codes(j, np.exp(self.log_parent[at]).T, statistic.single()[:, 0, at])

    def log_likelihood(self, statistic: Any) -> np.ndarray:
        raise VerosimError(
            "The likelihood of averaged one-dependence estimators needs the rows, and the "
            "statistic has only counts of pairs.",
            "Compare models by their predictions of held-out rows: cross_validate(model, X, y).",
        )


def log_code_shares(pairs: Pairs) -> np.ndarray:
    """(J, C) log p(x_j | k), 0 for codes that are not known."""
    single = pairs.single()[:, 0].T  # (J, C)
    single = np.maximum(single, 0.0)
    out: np.ndarray = np.log((single + _first_share(pairs)[:, None]) / (pairs.weight[:, 0] + 1.0))
    out[~known_codes(pairs)] = 0.0
    return out


def known_codes(pairs: Pairs) -> np.ndarray:
    """(J,) bool: the codes that some row has or that were declared."""
    out: np.ndarray = (pairs.arrays["cells"][0] > 0) | pairs.codes.declared
    return out


def _first_share(pairs: Pairs) -> np.ndarray:
    """(J,) 1/B_j for every code of column j, with B_j the number of its known codes."""
    column, known = pairs.codes.column_of(), known_codes(pairs)
    out: np.ndarray = 1.0 / np.maximum(np.bincount(column[known], minlength=column[-1] + 1), 1)
    return out[column]


@dataclass(frozen=True)
class OneDependence(Density):
    """Averaged one-dependence estimators; `weighted` by the information about the class."""

    weighted: bool = True

    def estimate(self, statistic: Any) -> OneDependenceParams:
        pairs: Pairs = statistic
        codes, weight = pairs.codes, pairs.weight[:, 0]  # (C,)
        known = known_codes(pairs)  # (J,)
        share = _first_share(pairs)
        log_parent = np.full((codes.size, len(weight)), -np.inf)
        log_child = np.zeros((codes.size, codes.size, len(weight)))
        for c, table in enumerate(pairs.table()[:, 0]):  # (J, J)
            np.maximum(table, 0.0, out=table)
            single = np.diagonal(table)  # (J,)
            alone = (single + share) / (weight[c] + 1.0)
            log_parent[known, c] = np.log(alone[known])
            log_child[:, :, c] = np.log((table + alone) / (single[:, None] + 1.0))
        log_child[:, ~known] = 0.0
        every = np.arange(codes.size)
        log_child[every, every] = 0.0  # a column is not a child of itself
        return OneDependenceParams(codes, log_parent, log_child, self._log_weight(pairs), known)

    def _log_weight(self, pairs: Pairs) -> np.ndarray:
        d = len(pairs.codes.sizes)
        value = information(pairs).with_class if self.weighted else np.ones(d)
        value = value / value.sum() if value.sum() > 0 else np.full(d, 1.0 / d)
        with np.errstate(divide="ignore"):
            out: np.ndarray = np.log(value)
        return out
