"""Columns that depend on the class and on a few parent columns, with backed-off shares.

    p(x | k) = Π_j p(x_j | k, parents of j)

    p_{−1}(x)      = (N(x) + ½) / (N + ½ B)
    p_0(x | k)     = (N(x, k) + m_0 p_{−1}(x)) / (N(k) + m_0),   m_0 = min(m, 1)
    p_t(x | k, c_t) = (N(x, k, c_t) + m p_{t−1}(x | k, c_{t−1})) / (N(k, c_t) + m)

c_t are the first t parents, and p of all parents is used. With `m` = 0 these are plain shares of
the rows. Smoothing "laplace" takes (N(x, k, c) + α) / (N(k, c) + α B) instead. B is the number of
values of the column. A value that no row had adds nothing.
References: Friedman, Geiger & Goldszmidt (1997), Bayesian network classifiers; Petitjean et al.
(2018), Accurate parameter estimation for Bayesian network classifiers using hierarchical Dirichlet
processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes import ContextCodes
from verosim.axes.contexts import filled_slots
from verosim.cached import cached_property
from verosim.densities.attribution import (
    CHAIN,
    SHAPLEY,
    Attribution,
    AttributionRequest,
    summed_by_owner,
)
from verosim.densities.base import Density, into
from verosim.densities.coded_rows import CodedRowParams, drawn_positions
from verosim.densities.estimates import Estimates
from verosim.densities.smoothing import log_of
from verosim.densities.terms import ContextTerm, Term
from verosim.errors import VerosimError
from verosim.kernels.constants import ALL_PARENTS, ANY, CODE_BITS, COLUMN_SHIFT
from verosim.stats import Contexts
from verosim.stats.growing import by_code

LEAST_SHARE = 1e-30  # no logarithm is infinite


@dataclass(frozen=True)
class ContextParams(CodedRowParams):
    """log p_t of every seen code and context, and log of the factor of every seen context."""

    contexts: ContextCodes
    keys: np.ndarray  # (K,) of codes in contexts of all levels, and of contexts alone
    table: np.ndarray  # (K, C)
    n_parameters: int
    backs_off: bool

    @cached_property
    def _slots(self) -> np.ndarray:
        return filled_slots(self.keys, len(self.keys))

    def log_mass(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return self._score(block, np.arange(len(self.contexts.parents)), out)

    def _score(
        self, block: np.ndarray, columns: np.ndarray, out: np.ndarray | None = None
    ) -> np.ndarray:
        out = into(out, (len(block), self.table.shape[1]))
        kernels.score_contexts(
            block, self.codes.maps, self.contexts.parent_table, self.contexts.depth, columns,
            self.backs_off, self.keys, self._slots, self.table, out,
        )  # fmt: skip
        return out

    def terms(self) -> tuple[Term, ...]:
        """A table for each column and its parents, and the widths of bins."""
        column = self.keys >> np.int64(COLUMN_SHIFT)
        key = self.keys & np.int64(ALL_PARENTS | ANY)
        found = []
        for j, parents in enumerate(self.contexts.parents):
            mine = column == j
            found.append(
                ContextTerm(
                    (j, *parents), tuple(key[mine].tolist()), self.table[mine], self.backs_off
                )
            )
        return (*found, *self.width_terms(self.table.shape[1]))

    def contributions(self, block: Any) -> np.ndarray:
        parts = [self._score(block, np.array([j])) for j in range(block.shape[1])]
        widths = self.codes.log_widths[self.codes.encode(block)[0]]  # (n, d)
        return np.stack(parts, axis=2) - widths[:, None, :]

    def attribution(self, block: Any, request: AttributionRequest) -> Attribution:
        """The terms log p(x_j | k, parents of j). Without parents they are Shapley values."""
        kind = CHAIN if self.contexts.depth.max(initial=0) > 0 else SHAPLEY
        return Attribution(summed_by_owner(self.contributions(block), request.owner), kind)

    def sample_codes(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Columns one after another, each given its parents."""
        n, sizes = len(classes), self.codes.sizes
        out = np.zeros((n, len(sizes)), dtype=np.intp)
        block = np.zeros((n, len(sizes)), dtype=np.uint8)  # any cell of every code
        rows = np.arange(n)
        for j in _order(self.contexts.parents):
            mass = np.zeros((n, sizes[j]))
            first = [int(np.argmax(self.codes.maps[j] == code)) for code in range(sizes[j])]
            for code, cell in enumerate(first):
                if self._seen(j, code):
                    block[:, j] = cell
                    mass[:, code] = np.exp(self._score(block, np.array([j]))[rows, classes])
            out[:, j] = drawn_positions(mass, rng)
            block[:, j] = np.array(first)[out[:, j]]
        return out

    def _seen(self, j: int, code: int) -> bool:
        """Whether some row had a code."""
        return bool((self.keys == (j << COLUMN_SHIFT | ALL_PARENTS | code)).any())

    def estimates(self, statistic: Any, j: int, most: int) -> Estimates:
        """The share of each code in each class, over all values of the parents."""
        counts: Contexts = statistic
        mine = np.flatnonzero(counts.codes.column_of() == j)
        code, count = counts.codes.keys[mine] & ANY, counts.arrays["count"][:, 0][:, mine]
        size = self.codes.sizes[j]
        total = np.array([np.bincount(code, one, size) for one in count])  # (C, B)
        return self.of_codes(j, total / np.maximum(total.sum(axis=1, keepdims=True), 1e-300), total)

    def log_likelihood(self, statistic: Any) -> np.ndarray:
        counts: Contexts = statistic
        at = np.empty(counts.codes.size, dtype=np.int64)
        kernels.find_keys(counts.codes.keys, self.keys, self._slots, at)
        if (at < 0).any():
            raise VerosimError(
                "The statistic has contexts that the parameters were not estimated from.",
                "Use the statistic of the model itself.",
            )
        count = counts.arrays["count"][:, 0]
        widths = self.codes.log_widths[
            self.codes.first[counts.codes.column_of()] + (counts.codes.keys & ANY)
        ]
        return (count * (self.table[at].T - widths)).sum(axis=1)


@dataclass(frozen=True)
class ContextDensity(Density):
    """Shares of codes given the class and the parents."""

    smoothing: str = "backoff"  # or "laplace"
    m: float = 20.0  # rows that the next lower level counts for
    alpha: float = 1.0  # pseudo-count of "laplace"

    def estimate(self, statistic: Any) -> ContextParams:
        counts: Contexts = statistic
        codes, weight = counts.codes, counts.weight[:, 0]  # (C,)
        count = by_code(counts.arrays["count"][:, :1])  # (K, C)
        count = np.maximum(count, 0.0)
        levels = _levels(codes, count)
        d = len(codes.parents)
        seen = np.bincount(levels[0].column, minlength=d).astype(float)  # (d,) values, B_j
        backs_off = self.smoothing == "backoff"
        tables = (
            _backed_off(levels, seen, weight, self.m)
            if backs_off
            else _laplace(levels, codes.depth, seen, self.alpha)
        )
        keys, table = (np.concatenate(parts) for parts in zip(*tables, strict=True))
        # In every context of a class the shares sum to one.
        contexts = sum(int((level.depth_left == 0).sum()) for level in levels)
        free = (codes.size - contexts) * len(weight)
        return ContextParams(codes.cells, codes, keys, table, free, backs_off)


@dataclass(frozen=True)
class _Level:
    """The contexts of level t: a code with the first t of its parents."""

    keys: np.ndarray  # (K,)
    count: np.ndarray  # (K, C)
    below: np.ndarray  # (K,) the number of the same code on level t − 1
    context: np.ndarray  # (K,) the number of its context
    context_keys: np.ndarray  # (M,)
    context_count: np.ndarray  # (M, C)

    depth_left: np.ndarray  # (M,) how many more parents the column of a context has

    @property
    def column(self) -> np.ndarray:
        return self.keys >> np.int64(COLUMN_SHIFT)


def _levels(codes: ContextCodes, count: np.ndarray) -> list[_Level]:
    """The counts of all levels, 0 first. A column with fewer parents stops at its own depth."""
    depth = int(codes.depth.max(initial=0))
    keys, rest = codes.keys, count
    out: list[_Level] = []
    lower: list[tuple[np.ndarray, np.ndarray]] = [(keys, rest)]
    for t in range(depth, 0, -1):
        numbers, keys = _numbered(keys | np.int64(ANY << (CODE_BITS * t)))
        rest = _added(numbers, rest, len(keys))
        lower.append((keys, rest))
    lower.reverse()  # level 0 first
    lower[0] = _with_declared(codes, *lower[0])
    for t, (own, counted) in enumerate(lower):
        deep = codes.depth[own >> np.int64(COLUMN_SHIFT)] >= t
        own, counted = own[deep], counted[deep]
        below = np.arange(len(own))  # level 0: the share in all classes
        if t:
            found = np.empty(len(own), dtype=np.int64)
            last = out[-1].keys
            kernels.find_keys(own | np.int64(ANY << (CODE_BITS * t)), last,
                              filled_slots(last, len(last)), found)  # fmt: skip
            below = found
        context, context_keys = _numbered(own | np.int64(ANY))
        inside = _added(context, counted, len(context_keys))
        left = codes.depth[context_keys >> np.int64(COLUMN_SHIFT)] - t
        out.append(_Level(own, counted, below, context, context_keys, inside, left))
    return out


def _with_declared(
    codes: ContextCodes, keys: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The keys and counts of level 0, and a count of zero for declared values that no row has."""
    at = np.flatnonzero(codes.cells.declared)
    column = codes.cells.column_of()[at]
    every = (column.astype(np.int64) << np.int64(COLUMN_SHIFT)) | np.int64(ALL_PARENTS)
    every |= at - codes.cells.first[column]
    new = every[~np.isin(every, keys)]
    return np.concatenate([keys, new]), np.pad(count, ((0, len(new)), (0, 0)))


LogTables = list[tuple[np.ndarray, np.ndarray]]  # keys (K,) and their logarithms (K, C)


def _backed_off(levels: list[_Level], seen: np.ndarray, weight: np.ndarray, m: float) -> LogTables:
    """log p_t of the codes of all levels, and log m / (N + m) of the contexts."""
    tables: LogTables = []
    share = np.empty((0, len(weight)))
    for t, level in enumerate(levels):
        if t == 0:
            overall = (level.count.sum(axis=1) + 0.5) / (weight.sum() + 0.5 * seen[level.column])
            lower, towards = np.repeat(overall[:, None], len(weight), axis=1), min(m, 1.0)
        else:
            lower, towards = share, m
            inside = level.context_count + m
            factor = np.divide(m, inside, out=np.ones_like(inside), where=inside > 0)
            tables.append((level.context_keys, np.log(np.maximum(factor, LEAST_SHARE))))
        share, log_share = np.empty(level.count.shape), np.empty(level.count.shape)
        kernels.back_off(
            level.count, level.below, level.context, level.context_count, lower, towards,
            LEAST_SHARE, share, log_share,
        )  # fmt: skip
        tables.append((level.keys, log_share))
    return tables


def _laplace(levels: list[_Level], depth: np.ndarray, seen: np.ndarray, alpha: float) -> LogTables:
    """log (N + α) / (N_context + α B) of the codes and, with N = 0, of the contexts."""
    tables: LogTables = []
    for t, level in enumerate(levels):
        last = depth[level.column] == t
        column, context = level.column[last], level.context[last]
        inside = level.context_count[context] + alpha * seen[column][:, None]
        tables.append(
            (level.keys[last], _log_share(level.count[last] + alpha, inside, column, seen))
        )
        if t == 0:
            continue
        own = level.depth_left == 0
        column = level.context_keys[own] >> np.int64(COLUMN_SHIFT)
        inside = level.context_count[own] + alpha * seen[column][:, None]
        nothing = np.full(inside.shape, alpha)
        tables.append((level.context_keys[own], _log_share(nothing, inside, column, seen)))
        # The kernel asks on level 0 whether a value was ever seen.
        deeper = depth[levels[0].column] == t
        known = levels[0].keys[deeper]
        tables.append((known, np.zeros((len(known), inside.shape[1]))))
    return tables


def _log_share(
    count: np.ndarray, inside: np.ndarray, column: np.ndarray, seen: np.ndarray
) -> np.ndarray:
    """log of count / inside; a class without the context has equal shares."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(inside > 0, count / inside, 1.0 / seen[column][:, None])
    out = log_of(share)
    out[(out == -np.inf).all(axis=1)] = 0.0  # no class has the value: it is skipped
    return out


def _numbered(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(number of every key among the different ones, the different keys)."""
    out = np.empty(len(keys), dtype=np.int64)
    found = np.empty(len(keys), dtype=np.int64)
    size = kernels.number_keys(keys, found, filled_slots(found, 0, len(keys)), 0, out)
    return out, found[:size].copy()


def _added(numbers: np.ndarray, count: np.ndarray, size: int) -> np.ndarray:
    """(size, C) the sums of the rows of (K, C) counts with the same number."""
    columns = [np.bincount(numbers, column, size) for column in count.T]
    return np.stack(columns, axis=1) if columns else np.zeros((size, 0))


def _order(parents: tuple[tuple[int, ...], ...]) -> list[int]:
    """Columns such that parents come first."""
    done: list[int] = []
    left = set(range(len(parents)))
    while left:
        ready = [j for j in sorted(left) if all(i not in left for i in parents[j])]
        done += ready
        left -= set(ready)
    return done
