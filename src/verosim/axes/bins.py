"""Bins of numbers: one histogram per column, or the occupied cells of a joint histogram."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes.codes import Categories, Codes
from verosim.axes.columns import Columns
from verosim.axes.state_checks import is_count, require
from verosim.cached import cached_property
from verosim.errors import VerosimError


def edges_of(
    values: np.ndarray, weights: np.ndarray, bins: int, strategy: str = "quantile"
) -> np.ndarray:
    """The edges of the bins of some numbers. A weight of 2 counts as the number twice."""
    distinct, mass = distinct_values(values, weights)
    if strategy == "uniform" and len(distinct):
        return np.unique(np.linspace(distinct[0], distinct[-1], bins + 1))
    return quantile_edges(distinct, mass, bins)


def distinct_values(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different finite numbers of positive weight, sorted, and the weight of each."""
    if not len(weights):
        return np.unique(values[np.isfinite(values)], return_counts=True)
    kept = np.isfinite(values) & (weights > 0)
    distinct, where = np.unique(values[kept], return_inverse=True)
    return distinct, np.bincount(where, weights[kept], len(distinct))


def quantile_edges(distinct: np.ndarray, mass: np.ndarray, bins: int) -> np.ndarray:
    """The edges of bins of about equal weight, from sorted numbers and their weights."""
    if not len(distinct):
        return np.zeros(1)
    # An edge is halfway between two neighbouring values, so equal values share a bin.
    reached = np.cumsum(mass)
    steps = np.linspace(0, reached[-1], bins + 1)[1:-1]
    below = np.searchsorted(reached, steps * (1 - 1e-12))
    below = below[below < len(distinct) - 1]
    inner = distinct[below] / 2 + distinct[below + 1] / 2
    return np.unique(np.concatenate([distinct[:1], inner, distinct[-1:]]))


class Bins(Codes):
    """The edges of the bins of each column. The end bins are open, so every number has a bin."""

    def __init__(self, edges: Iterable[np.ndarray]) -> None:
        self.edges = tuple(np.asarray(e, dtype=np.float64) for e in edges)
        counts = [max(len(e) - 1, 1) for e in self.edges]
        self.first = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        self.size = int(self.first[-1])

    fixed = True

    @cached_property
    def _inner(self) -> tuple[np.ndarray, np.ndarray]:
        inner = [e[1:-1] for e in self.edges]
        offset = np.concatenate([[0], np.cumsum([len(e) for e in inner])]).astype(np.int64)
        return np.concatenate([*inner, np.empty(0)]), offset

    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        codes = np.empty(block.shape, dtype=np.int32)
        kernels.find_bins(block, *self._inner, self.first, codes)
        return codes, False

    def union(self, other: Bins, columns: Columns) -> Bins:
        for j, (mine, theirs) in enumerate(zip(self.edges, other.edges, strict=True)):
            if not np.array_equal(mine, theirs):
                raise VerosimError(
                    f"Column {columns.name(j)!r} has the bins {short(mine)} in one model and "
                    f"{short(theirs)} in the other.",
                    "Fit both with the same edges: bins=[edges of each column].",
                )
        return self

    def positions(self, wider: Bins) -> None:
        return None

    def narrowed(self, columns: np.ndarray) -> Bins:
        """The bins of some of the columns."""
        return Bins(self.edges[j] for j in columns)

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        j = int(np.searchsorted(self.first, code, side="right")) - 1
        return columns.name(j), f"bin {code - self.first[j]}"

    def state(self) -> Any:
        return [edges.tolist() for edges in self.edges]

    @classmethod
    def from_state(cls, state: Any) -> Bins:
        for edges in state:
            array = np.array(edges, dtype=np.float64)
            require(array.ndim == 1 and len(array), "a column has no bins")
            require(np.isfinite(array).all() and (np.diff(array) > 0).all(), "bins do not increase")
        return cls(state)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(K,) lower and upper edge of every bin. An open bin ends at the outermost edge."""
        low = np.concatenate([e[:-1] if len(e) > 1 else e[:1] for e in self.edges])
        high = np.concatenate([e[1:] if len(e) > 1 else e[:1] for e in self.edges])
        return low, high


class JointBins(Codes):
    """The occupied cells of a joint histogram: one column with cell numbers as categories."""

    def __init__(self, bins: Bins, occupied: Categories) -> None:
        self.bins, self.occupied = bins, occupied
        self.first, self.size = occupied.first, occupied.size

    @property
    def possible(self) -> float:
        """The number of cells, occupied or empty."""
        return float(np.prod(self.bins.counts().astype(np.float64)))

    @cached_property
    def strides(self) -> np.ndarray:
        """(d,) the number of a cell is the sum of its bins times these."""
        counts = self.bins.counts()
        return np.concatenate([np.cumprod(counts[::-1])[::-1][1:], [1]]).astype(np.int64)

    def _number(self, block: np.ndarray) -> np.ndarray:
        local = self.bins.encode(block)[0] - self.bins.first[:-1]
        return (local @ self.strides)[:, None]

    def columns_of(self) -> int:
        return len(self.bins.edges)

    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        """(K, d) lower and upper corner of every occupied cell."""
        local = self.cell_bins()
        low, high = self.bins.bounds()
        return low[local + self.bins.first[:-1]], high[local + self.bins.first[:-1]]

    def cell_bins(self) -> np.ndarray:
        """(K, d) the bin of every occupied cell in each column."""
        number = np.array(self.occupied.values[0], dtype=np.int64)
        return (number[:, None] // self.strides) % self.bins.counts()

    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        return self.occupied.encode(self._number(block))

    def widened(self, block: np.ndarray) -> JointBins:
        return JointBins(self.bins, self.occupied.widened(self._number(block)))

    def union(self, other: JointBins, columns: Columns) -> JointBins:
        return JointBins(
            self.bins.union(other.bins, columns), self.occupied.union(other.occupied, columns)
        )

    def positions(self, wider: JointBins) -> np.ndarray | None:
        return self.occupied.positions(wider.occupied)

    def keep(self, kept: np.ndarray) -> JointBins:
        return JointBins(self.bins, self.occupied.keep(kept))

    def in_order(self) -> tuple[np.ndarray, Any]:
        order, occupied = self.occupied.in_order()
        return order, (self.bins.state(), occupied)

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        return "all columns", f"cell {self.occupied.values[0][code]}"

    def state(self) -> Any:
        return self.bins.state(), self.occupied.state()

    @classmethod
    def from_state(cls, state: Any) -> JointBins:
        bins, occupied = Bins.from_state(state[0]), Categories.from_state(state[1])
        require(len(occupied.values) == 1 and len(bins.edges), "it has no cells")
        most = math.prod(bins.counts().tolist())
        require(all(is_count(one, 0, most - 1) for one in occupied.values[0]), "a cell is unknown")
        return cls(bins, occupied)


def short(edges: np.ndarray) -> str:
    inside = f", {len(edges) - 1} of them" if len(edges) > 2 else ""
    return f"({edges[0]:g}, {edges[-1]:g}{inside})"
