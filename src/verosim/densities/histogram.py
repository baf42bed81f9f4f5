"""Histograms as densities: the smoothed share of a bin or joint cell, divided by its volume.

    p(x_j | k) = (n_bjk + α) / (n_jk + α B_j) / width_b          one column
    p(x | k)   = (n_ck + α) / (n_k + α B^d) / volume_c           all columns together

b is the bin of x_j and c the joint cell of x. The first and the last bin also take all values
outside the range, but their width is that of the bin.
Reference: Scott (2015), Multivariate Density Estimation, §3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes import Bins, Columns, JointBins
from verosim.data.code_readings import BinReading
from verosim.data.readings import CellReading
from verosim.data.sources import as_block
from verosim.densities.attribution import Attribution, AttributionRequest, summed_by_owner
from verosim.densities.base import Params, equal_parts, no_contributions
from verosim.densities.discrete import Categorical, CodeParams
from verosim.densities.estimates import HEIGHTS_TABLE, Estimates
from verosim.densities.shapley import MOST_EXACT_PLAYERS, shapley_weights, subset_members
from verosim.densities.smoothing import log_of
from verosim.errors import VerosimError
from verosim.stats import Counts

if TYPE_CHECKING:
    from verosim.densities.conditionals import BinConditionals
    from verosim.densities.features import Expansion
    from verosim.densities.terms import Term


@dataclass(frozen=True)
class BinParams(CodeParams):
    """Histograms per column; the table has log share − log width of each bin."""

    has_compiled_ratio = True

    def read(self, rows: Any) -> Any:
        return as_block(rows)

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = super().log_density(block, out)
        infinite = np.isinf(block)
        if infinite.any():
            out[infinite.any(axis=1)] = np.nan  # `check` raises the error
        return out

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        Params.check(self, block, scores, columns, start)

    def log_mass(self) -> np.ndarray:
        assert isinstance(self.codes, Bins)
        return super().log_mass() + log_widths(self.codes)[:, None]

    def values(self, drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        assert isinstance(self.codes, Bins)
        low, high = (edge[drawn] for edge in self.codes.bounds())
        return low + (high - low) * rng.random(low.shape)

    @property
    def conditionals(self) -> BinConditionals:
        from verosim.densities.conditionals import BinConditionals

        return BinConditionals(self)

    def estimates(self, statistic: Counts, j: int, most: int) -> Estimates:
        """The height of the density in each bin. The outer bins also take values outside."""
        assert isinstance(self.codes, Bins)
        bins = slice(self.codes.first[j], self.codes.first[j + 1])
        low, high = (edge[bins].tolist() for edge in self.codes.bounds())
        heads = tuple(
            f"[{a:g}, {b:g})" if b > a else f"{a:g}" for a, b in zip(low, high, strict=True)
        )
        count = statistic.arrays["count"][:, 0, bins]
        height = np.exp(CodeParams.log_mass(self)[bins]).T
        edges = (*low, *high[-1:])
        return Estimates(HEIGHTS_TABLE, heads, height, count.sum(axis=1), count, edges=edges)


@dataclass(frozen=True)
class CellParams(CodeParams):
    """A joint histogram; the table has the log share of each cell.

    The volume is that of the cell of the row, even if no training row is in that cell.
    """

    codes: JointBins

    def read(self, rows: Any) -> Any:
        return as_block(rows)

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = super().log_density(block, out)
        bins = self.codes.bins
        out -= log_widths(bins)[bins.encode(block)[0]].sum(axis=1)[:, None]
        out[~np.isfinite(block).all(axis=1)] = np.nan  # `check` raises the error
        return out

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        Params.check(self, block, scores, columns, start)

    def readings(self, block: tuple[CellReading, ...]) -> tuple[CellReading, ...]:
        """The bins in place of the numbers."""
        edges = zip(block, self.codes.bins.edges, strict=True)
        return tuple(BinReading(one, tuple(cuts[1:-1].tolist())) for one, cuts in edges)

    def terms(self) -> tuple[Term, ...]:
        from verosim.densities.terms import CombinationTerm, WidthTerm

        bins, size, C = self.codes.bins, self.codes.size, self.table.shape[1]
        counts, widths = bins.counts(), np.split(log_widths(bins), bins.first[1:-1])
        keys = tuple(int(key) for key in self.codes.occupied.values[0])
        return (
            CombinationTerm(
                tuple(range(len(counts))), tuple(self.codes.strides.tolist()), keys,
                self.table[:size], tuple((counts + 1).tolist()), self.table[size],
            ),
            *(
                WidthTerm.of(j, np.append(width, 0.0), C)
                for j, width in enumerate(widths)
            ),
        )  # fmt: skip

    def contributions(self, block: Any) -> np.ndarray:
        """(n, C, d) equal parts for all columns, because a joint cell has no parts."""
        return equal_parts(self.log_density(block), block.shape[1])

    @property
    def conditionals(self) -> None:
        """None: joint cells are not split by column."""
        return None

    def attribution(self, block: Any, request: AttributionRequest) -> Attribution:
        """Shapley values of v(S) = log p(x_S | k), where the other columns are summed out."""
        if block.shape[1] > MOST_EXACT_PLAYERS:
            raise no_contributions(f"A joint histogram of more than {MOST_EXACT_PLAYERS} columns")
        bins, (n, d), C = self.codes.bins, block.shape, self.table.shape[1]
        places = bins.encode(block)[0]  # (n, d)
        values = np.stack([self._marginal(places, member) for member in subset_members(d)])
        total = values[-1]
        values[values == -np.inf] = 0.0  # a probability of 0 has no Shapley value
        found = shapley_weights(d).T @ values.reshape(1 << d, n * C)
        parts = np.moveaxis(found.reshape(d, n, C), 0, 2)
        parts = parts - log_widths(bins)[places][:, None, :]
        parts[total == -np.inf] = -np.inf
        return Attribution(summed_by_owner(parts, request.owner))

    def _marginal(self, places: np.ndarray, member: np.ndarray) -> np.ndarray:
        """(n, C) log of the share of the bins of some columns, for rows with bins (n, d)."""
        bins = self.codes.bins
        if not member.any():
            return np.zeros((len(places), self.table.shape[1]))
        rows = (places - bins.first[:-1])[:, member]
        every = np.concatenate([self.codes.cell_bins()[:, member], rows])
        names, which = np.unique(every, axis=0, return_inverse=True)
        own, at = np.split(which.reshape(-1), [self.codes.size])
        mass = np.exp(self.log_mass())  # (K, C)
        found = np.stack([np.bincount(own, column, len(names)) for column in mass.T], axis=1)
        empty = float(bins.counts()[~member].prod()) - np.bincount(own, minlength=len(names))
        if self.skipped is None:  # a cell without rows has a share too
            found += empty[:, None] * np.exp(self.table[self.codes.size])
        out = log_of(found)
        out[(out == -np.inf).all(axis=1)] = 0.0  # no class has the value: it is skipped
        return out[at]

    def values(self, drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        low, high = (corner[drawn[:, 0]] for corner in self.codes.corners())
        return low + (high - low) * rng.random(low.shape)

    def estimates(self, statistic: Counts, j: int, most: int) -> None:
        return None  # a joint cell has no parts

    def log_likelihood(self, statistic: Counts) -> np.ndarray:
        low, high = self.codes.corners()
        volume = np.log(np.where(high > low, high - low, 1.0)).sum(axis=1)
        count = statistic.arrays["count"][:, 0]
        scores = (self.log_mass() - volume[:, None]).T
        return (count * np.where(count > 0, scores, 0.0)).sum(axis=1)

    def expansion(self, statistic: Counts) -> Expansion:
        raise VerosimError(
            "A joint histogram has no discriminative twin, because logistic regression on its "
            "cells is the same model.",
            "Use the twin of HistogramNB, which regresses on the bins of each column.",
        )


@dataclass(frozen=True)
class Histogram(Categorical):
    """One histogram per column."""

    fixed_values = True

    def log_volume(self, codes: Bins, block: Any, at: np.ndarray) -> np.ndarray:
        return np.where(at >= 0, log_widths(codes)[at], 0.0).sum(axis=1)

    def estimate(self, statistic: Counts) -> BinParams:
        codes = statistic.axes.codes
        assert isinstance(codes, Bins)
        kinds = codes.counts().astype(float)  # (d,) all bins, also those without rows
        log_mass = log_of(self.shares(statistic, codes, kinds))
        log_mass[:, : codes.size] -= log_widths(codes)
        params: BinParams = self.params(BinParams, codes, log_mass, kinds)
        return params


@dataclass(frozen=True)
class JointHistogramDensity(Categorical):
    """One histogram over all columns; the smoothing is spread over all B^d cells."""

    has_independent_columns = False

    fixed_values = True

    def log_volume(self, codes: JointBins, block: Any, at: np.ndarray) -> np.ndarray:
        return log_widths(codes.bins)[codes.bins.encode(block)[0]].sum(axis=1)

    def estimate(self, statistic: Counts) -> CellParams:
        codes = statistic.axes.codes
        assert isinstance(codes, JointBins)
        kinds = np.array([codes.possible])
        log_mass = log_of(self.shares(statistic, codes, kinds))
        params: CellParams = self.params(CellParams, codes, log_mass, kinds)
        return params


def log_widths(bins: Bins) -> np.ndarray:
    """(K,) log width of each bin; the single bin of a constant column has width 1."""
    low, high = bins.bounds()
    return np.log(np.where(high > low, high - low, 1.0))
