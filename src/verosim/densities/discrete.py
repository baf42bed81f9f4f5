"""Densities of codes and counts, smoothed by α pseudo-counts.

    categorical   φ_ij|k = (n_ijk + α) / (n_ik + α B_i)
    Bernoulli     φ_i|k  = (n_ik + α) / (n_k + 2α)              absent columns count
    multinomial   φ_i|k  = (ñ_ik + α) / (ñ_k + α V)             absent columns do not
    complement    as multinomial, from the counts of all other classes

References: McCallum & Nigam (1998), A comparison of event models for naive Bayes text
classification; Rennie et al. (2003), Tackling the poor assumptions of naive Bayes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes import Bins, Categories, Cells, Codes
from verosim.data import SparseRows
from verosim.data.sources import as_block
from verosim.densities.base import Density, Params, into
from verosim.errors import VerosimError
from verosim.linalg import padded
from verosim.stats import Counts

LEAST_ALPHA = 1e-10  # smoothing of presence and amounts never vanishes: log 0 decides nothing
NEVER = 1e-3  # what α = 0 gives a value a class never had, as e1071's `threshold` does


# Codes: one category, bin or cell a column ---------------------------------------------------


@dataclass(frozen=True)
class CodeParams(Params):
    codes: Codes
    table: np.ndarray  # (K + columns, C) log φ of every code, then of an unseen value
    columns: np.ndarray  # the columns of X it reads
    n_parameters: int
    level: np.ndarray  # (K + columns,) log width of each code's cell: density = mass / width

    def read(self, rows: Any) -> Any:
        return rows if isinstance(self.codes, Categories) else as_block(rows)

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        codes, _ = self.codes.encode(block)
        out = into(out, (len(block), self.table.shape[1]))
        kernels.score_codes(codes, self._lanes, out)
        if not isinstance(self.codes, Categories):
            odd = np.isinf(block) if isinstance(self.codes, Bins) else ~np.isfinite(block)
            out[odd.any(axis=1)] = np.nan  # reported by `check`
        return out

    @cached_property
    def _lanes(self) -> np.ndarray:
        return padded(self.table)

    def contributions(self, block: Any) -> np.ndarray:
        codes, _ = self.codes.encode(block)
        parts = np.where(codes[..., None] >= 0, self.table[codes], 0.0)
        return np.swapaxes(parts, 1, 2)

    def probabilities(self) -> np.ndarray:
        """(C, K) the smoothed mass of every code."""
        K = self.codes.size
        return np.exp(self.table[:K] + self.level[:K, None]).T

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        first, mass = self.codes.first, self.probabilities()
        drawn = np.empty((len(classes), len(first) - 1), dtype=np.intp)
        for c in np.unique(classes):
            at = np.flatnonzero(classes == c)
            for j in range(len(first) - 1):
                share = mass[c, first[j] : first[j + 1]]
                drawn[at, j] = first[j] + rng.choice(len(share), len(at), p=share / share.sum())
        return self._values(drawn, rng)

    def _values(self, drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        codes = self.codes
        if isinstance(codes, Categories):
            flat = [v for values in codes.values for v in values]
            if all(isinstance(v, int | float) for v in flat):
                return np.array(flat)[drawn]
            out = np.empty(len(flat), dtype=object)
            out[:] = flat
            return out[drawn]
        if isinstance(codes, Bins):
            low, high = (edge[drawn] for edge in codes.bounds())
        else:
            assert isinstance(codes, Cells)
            low, high = (edge[drawn[:, 0]] for edge in codes.corners())
        return low + (high - low) * rng.random(low.shape)

    def marginal(self, columns: np.ndarray) -> CodeParams:
        if isinstance(self.codes, Cells):
            raise VerosimError("A joint histogram has no cheap marginal.", "use HistogramNB.")
        codes, first = self.codes, self.codes.first
        at = np.concatenate([np.arange(first[j], first[j + 1]) for j in columns])
        at = np.concatenate([at, codes.size + np.asarray(columns)])
        narrowed: Codes = (
            Categories(codes.values[j] for j in columns)
            if isinstance(codes, Categories)
            else Bins(codes.edges[j] for j in columns)  # type: ignore[attr-defined]
        )
        return replace(self, codes=narrowed, table=self.table[at], level=self.level[at])

    def log_likelihood(self, statistic: Counts) -> np.ndarray:
        wider = statistic.align(statistic.axes.with_codes(self.codes))
        count = wider.arrays["count"][:, 0]
        log_mass = self.table[: self.codes.size].T
        return np.where(count > 0, count * log_mass, 0.0).sum(axis=1)


@dataclass(frozen=True)
class Categorical(Density):
    """Smoothed shares of categories. A value never seen has its α share, in every class."""

    alpha: float = 1.0

    def estimate(self, statistic: Counts) -> CodeParams:
        codes = statistic.axes.codes
        assert codes is not None
        count = np.maximum(statistic.arrays["count"][:, 0], 0.0)  # (C, K)
        existing = self.exists(statistic)  # (K,)
        column = codes.column_of()
        d = len(codes.first) - 1
        total = np.add.reduceat(
            np.concatenate([count, np.zeros((len(count), 1))], axis=1), codes.first[:-1], axis=1
        )  # (C, d)
        total[:, np.diff(codes.first) == 0] = 0.0
        kinds = self.kinds(codes, existing)  # (d,)
        denominator = total + self.alpha * kinds
        mass = np.concatenate([(count + self.alpha), np.full((len(count), d), self.alpha)], axis=1)
        where = np.concatenate([column, np.arange(d)])
        with np.errstate(divide="ignore", invalid="ignore"):
            mass = mass / denominator[:, where]
        # A class that never showed the column says nothing about it: uniform.
        blank = ~(denominator > 0)
        mass = np.where(blank[:, where], 1 / np.maximum(kinds, 1)[where], mass)
        mass = np.where(mass > 0, mass, NEVER)
        level = self.level(codes)
        free = len(count) * int(np.maximum(kinds - 1, 0).sum())
        return CodeParams(
            codes, np.ascontiguousarray((np.log(mass) - level).T), np.arange(d), free, level
        )

    def exists(self, statistic: Counts) -> np.ndarray:
        return statistic.arrays["cells"].sum(axis=0) > 0

    def kinds(self, codes: Codes, existing: np.ndarray) -> np.ndarray:
        """(d,) how many values a column has, B_i."""
        return np.bincount(codes.column_of()[existing], minlength=len(codes.first) - 1).astype(
            float
        )

    def level(self, codes: Codes) -> np.ndarray:
        return np.zeros(codes.size + len(codes.first) - 1)


@dataclass(frozen=True)
class Histogram(Categorical):
    """Smoothed shares of bins over their widths: a density. Open end bins are as wide as drawn."""

    def exists(self, statistic: Counts) -> np.ndarray:
        assert statistic.axes.codes is not None
        return np.ones(statistic.axes.codes.size, dtype=bool)

    def level(self, codes: Codes) -> np.ndarray:
        assert isinstance(codes, Bins)
        low, high = codes.bounds()
        width = np.where(high > low, high - low, 1.0)
        return np.concatenate([np.log(width), np.zeros(len(codes.first) - 1)])


@dataclass(frozen=True)
class JointHistogramDensity(Categorical):
    """Smoothed shares of the cells of a joint histogram; all B^d of them share the smoothing."""

    def kinds(self, codes: Codes, existing: np.ndarray) -> np.ndarray:
        assert isinstance(codes, Cells)
        return np.array([codes.possible])

    def level(self, codes: Codes) -> np.ndarray:
        assert isinstance(codes, Cells)
        low, high = codes.corners()
        widths = np.where(high > low, high - low, 1.0)
        edges = codes.bins.edges
        typical = [(e[-1] - e[0]) / (len(e) - 1) if len(e) > 1 else 1.0 for e in edges]
        empty = float(np.log(np.where(np.array(typical) > 0, typical, 1.0)).sum())
        return np.append(np.log(widths).sum(axis=1), empty)


# Columns: presence or amount -----------------------------------------------------------------


@dataclass(frozen=True)
class ColumnParams(Params):
    """Scores that are linear in the presence, or the amount, of each column."""

    table: np.ndarray  # (d, C) per unit, or when present less when absent
    absent: np.ndarray  # (d, C) when absent; (0, C) for amounts, where absence says nothing
    presence: bool
    threshold: float
    n_parameters: int
    length: np.ndarray  # (C,) mean row total, for sampling amounts

    @property
    def log_mass(self) -> np.ndarray:
        """(d, C) log φ."""
        return self.table + self.absent if self.presence else self.table

    @cached_property
    def base(self) -> np.ndarray:
        """(C,) the score of a row with nothing in it."""
        return self.absent.sum(axis=0)

    @cached_property
    def _lanes(self) -> np.ndarray:
        return padded(self.table)

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = into(out, (len(block), self.table.shape[1]))
        if isinstance(block, SparseRows):
            kernels.score_sparse(
                block.data, block.indices, block.indptr, self.presence, self.threshold,
                self._lanes, self.absent, self.base, out,
            )  # fmt: skip
            return out
        amounts = (block > self.threshold).astype(np.float64) if self.presence else block
        holes = np.isnan(block)
        if holes.any():
            amounts = np.where(holes, 0.0, amounts)
        np.matmul(amounts, self.table, out=out)
        out += self.base
        if self.presence:
            if holes.any():
                out -= holes @ self.absent
            out[np.isinf(block).any(axis=1)] = np.nan  # reported by `check`
        return out

    def contributions(self, block: np.ndarray) -> np.ndarray:
        amounts = (block > self.threshold) if self.presence else block
        parts = amounts[:, None, :] * self.table.T
        if self.presence:
            parts = parts + self.absent.T
        return np.where(np.isnan(block)[:, None, :], 0.0, parts)

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        mass = np.exp(self.log_mass)
        if self.presence:
            chance = mass.T[classes]
            return (rng.random(chance.shape) < chance).astype(np.float64)
        lengths = rng.poisson(self.length[classes])
        share = mass / mass.sum(axis=0)
        return rng.multinomial(lengths, share.T[classes]).astype(np.float64)

    def marginal(self, columns: np.ndarray) -> ColumnParams:
        absent = self.absent[columns] if self.presence else self.absent
        return replace(self, table=self.table[columns], absent=absent)

    def log_likelihood(self, statistic: Counts) -> np.ndarray:
        count = statistic.arrays["count"][:, 0]
        score = (count * self.table.T).sum(axis=1)
        if self.presence:
            seen = statistic.arrays["weight"][:, 0, None] - statistic.arrays["missing"][:, 0]
            score += (seen * self.absent.T).sum(axis=1)
        return score


@dataclass(frozen=True)
class ComplementParams(ColumnParams):
    """Decides by complement scores; p(x | k) is the multinomial of the same counts."""

    own: np.ndarray  # (d, C) log φ of that multinomial

    @property
    def log_mass(self) -> np.ndarray:
        return self.own

    @cached_property
    def generative(self) -> ColumnParams:  # type: ignore[override]
        return ColumnParams(
            self.own, self.absent, self.presence, self.threshold, self.n_parameters, self.length
        )

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.generative.sample(classes, rng)

    def marginal(self, columns: np.ndarray) -> ComplementParams:
        return replace(self, table=self.table[columns], own=self.own[columns])

    def log_likelihood(self, statistic: Counts) -> np.ndarray:
        return self.generative.log_likelihood(statistic)


def _column_fields(
    statistic: Counts, table: np.ndarray, free: int, absent: np.ndarray | None = None
) -> dict[str, Any]:
    """(C, d) tables to the fields of ColumnParams."""
    count = statistic.arrays["count"][:, 0]
    weight = statistic.arrays["weight"][:, 0]
    return {
        "table": np.ascontiguousarray(table.T),
        "absent": np.empty((0, len(table))) if absent is None else np.ascontiguousarray(absent.T),
        "presence": statistic.what == "presence",
        "threshold": statistic.threshold,
        "n_parameters": free,
        "length": np.maximum(count.sum(axis=1), 0) / np.where(weight > 0, weight, 1.0),
    }


def _log_shares(statistic: Counts, alpha: float) -> np.ndarray:
    """(C, d) log of the smoothed share of every column in its class's total."""
    count = np.maximum(statistic.arrays["count"][:, 0], 0.0) + max(alpha, LEAST_ALPHA)
    return np.log(count) - np.log(count.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Bernoulli(Density):
    """Presence or absence of every column."""

    alpha: float = 1.0

    def estimate(self, statistic: Counts) -> ColumnParams:
        count = np.maximum(statistic.arrays["count"][:, 0], 0.0)
        seen = statistic.arrays["weight"][:, 0, None] - statistic.arrays["missing"][:, 0]
        alpha = max(self.alpha, LEAST_ALPHA)
        mass = (count + alpha) / (np.maximum(seen, 0.0) + 2 * alpha)
        present, absent = np.log(mass), np.log1p(-mass)
        return ColumnParams(**_column_fields(statistic, present - absent, mass.size, absent))


@dataclass(frozen=True)
class Multinomial(Density):
    """A sequence of tokens: p(x | k) = Π φ_i^x_i, the chance of the row's tokens in their order."""

    alpha: float = 1.0

    def estimate(self, statistic: Counts) -> ColumnParams:
        shares = _log_shares(statistic, self.alpha)
        C, d = shares.shape
        return ColumnParams(**_column_fields(statistic, shares, C * (d - 1)))


@dataclass(frozen=True)
class Complement(Density):
    """Scores from the counts of all other classes: −log φ̃_i|k, normalised if `norm`."""

    alpha: float = 1.0
    norm: bool = False

    def estimate(self, statistic: Counts) -> ComplementParams:
        count = np.maximum(statistic.arrays["count"][:, 0], 0.0)
        rest = count.sum(axis=0) - count + max(self.alpha, LEAST_ALPHA)
        log_rest = np.log(rest / rest.sum(axis=1, keepdims=True))
        score = log_rest / log_rest.sum(axis=1, keepdims=True) if self.norm else -log_rest
        own = np.ascontiguousarray(_log_shares(statistic, self.alpha).T)
        C, d = score.shape
        return ComplementParams(**_column_fields(statistic, score, C * (d - 1)), own=own)
