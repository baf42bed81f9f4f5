"""Codes number the values of columns: categories, bins, or cells of a joint histogram.

All columns share one flat code axis: column j's codes start at `first[j]`. Encoding gives
−1 for a missing cell; a value that was never seen gets `size + j`, one spare code a column,
so that estimation can give it its smoothed share.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes.columns import Columns
from verosim.axes.groups import plain, sorted_labels
from verosim.errors import VerosimError

TABLE_SPAN = 1 << 16  # widest range of whole numbers looked up by table


class Codes(ABC):
    """A flat axis of codes over columns."""

    size: int
    first: np.ndarray  # (columns + 1,) where each column's codes begin

    @abstractmethod
    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        """(n, d) values to (n, columns) int32 codes, and whether any value was strange."""

    @abstractmethod
    def union(self, other: Any, columns: Columns) -> Any: ...

    @abstractmethod
    def positions(self, wider: Any) -> np.ndarray | None: ...

    def widened(self, block: np.ndarray) -> Codes:
        """These codes and those of the values first met in this block."""
        return self

    def keep(self, kept: np.ndarray) -> Codes:
        """Only the marked codes; fixed codes stay."""
        return self

    @abstractmethod
    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        """Column name and value of a code, for messages."""

    @abstractmethod
    def state(self) -> Any:
        """What tells these codes from all others, as plain values."""

    def counts(self) -> np.ndarray:
        return np.diff(self.first)

    def column_of(self) -> np.ndarray:
        """(K,) the column each code belongs to."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))


def is_missing(value: Any) -> bool:
    """None, NaN, and pandas' NA, whose comparisons are themselves NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def is_whole(value: float) -> bool:
    return math.isfinite(value) and value == int(value)


class Categories(Codes):
    """Per column the values met so far, in order of arrival: the axis only grows at the end
    of a column's list, and alignment puts two lists together by value."""

    def __init__(self, values: Iterable[tuple[Any, ...]]) -> None:
        self.values = tuple(values)
        self.first = np.concatenate([[0], np.cumsum([len(v) for v in self.values])]).astype(np.intp)
        self.size = int(self.first[-1])

    @classmethod
    def empty(cls, d: int) -> Categories:
        return cls(((),) * d)

    @cached_property
    def index(self) -> tuple[dict[Any, int], ...]:
        return tuple({v: i for i, v in enumerate(values)} for values in self.values)

    @cached_property
    def table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Lookup by whole number for all columns at once, if every value allows it."""
        lows, offsets, tables = [], [0], []
        for j, values in enumerate(self.values):
            if not all(isinstance(v, int | float) and is_whole(v) for v in values):
                return None
            low = int(min(values, default=0))
            span = int(max(values, default=-1)) - low + 1
            if span > TABLE_SPAN or abs(low) > 1 << 52:
                return None
            table = np.full(span, -2, dtype=np.int32)
            table[[int(v) - low for v in values]] = np.arange(len(values)) + self.first[j]
            lows.append(low)
            tables.append(table)
            offsets.append(offsets[-1] + span)
        flat = np.concatenate(tables) if tables else np.empty(0, np.int32)
        return np.array(lows, dtype=np.int64), np.array(offsets, dtype=np.int64), flat

    @cached_property
    def _sorted(self) -> tuple[tuple[np.ndarray, np.ndarray] | None, ...]:
        """Per column (sorted numbers, their codes), None where a value is not a number."""
        out: list[tuple[np.ndarray, np.ndarray] | None] = []
        for values in self.values:
            if all(isinstance(v, int | float) for v in values):
                numbers = np.array(values)
                order = np.argsort(numbers)
                out.append((numbers[order], order))
            else:
                out.append(None)
        return tuple(out)

    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        codes, strange = self._raw(block)
        if strange:
            spare = self.size + np.arange(codes.shape[1], dtype=np.int32)
            codes = np.where(codes == -2, spare, codes)
        return codes, strange

    def _raw(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        """Codes with −2 for values not on the axis, and whether there is one."""
        codes = np.empty(block.shape, dtype=np.int32)
        if block.dtype.kind in "iufb":
            if self.table is not None:
                return codes, kernels.find_codes(block, *self.table, codes)
            for j in range(block.shape[1]):
                codes[:, j] = self._search(j, block[:, j])
            return codes, bool((codes == -2).any())
        for j in range(block.shape[1]):
            get, start = self.index[j].get, int(self.first[j])
            try:
                column = [-1 if is_missing(v) else get(v, -2) for v in block[:, j].tolist()]
            except TypeError as error:
                raise VerosimError(
                    f"Column {j} holds something that cannot be a category: {error}.",
                    "categories are strings, numbers, bools, or tuples of them.",
                ) from None
            found = np.array(column, dtype=np.int32)
            codes[:, j] = np.where(found >= 0, found + start, found)
        return codes, bool((codes == -2).any())

    def _search(self, j: int, column: np.ndarray) -> np.ndarray:
        known = self._sorted[j]
        # Unlike kinds would be compared as floats, which above 2⁵³ are not exact.
        if known is None or known[0].dtype.kind != column.dtype.kind:
            get = self.index[j].get
            at = np.array([get(v, -2) for v in column.tolist()], dtype=np.int64)
            hit = at >= 0
        else:
            numbers, order = known
            if not len(numbers):
                return np.where(column == column, -2, -1)
            place = np.minimum(np.searchsorted(numbers, column), len(numbers) - 1)
            hit, at = numbers[place] == column, order[place]
        return np.where(hit, at + self.first[j], np.where(column == column, -2, -1))

    def widened(self, block: np.ndarray) -> Categories:
        codes, strange = self._raw(block)
        if not strange:
            return self
        values = list(self.values)
        for j in np.flatnonzero((codes == -2).any(axis=0)):
            known = self.index[j]
            column = block[:, j]
            present = np.unique(column).tolist() if column.dtype.kind in "iufb" else column.tolist()
            fresh = {plain(v) for v in present if not is_missing(v) and v not in known}
            values[j] = values[j] + tuple(sorted_labels(fresh))
        return Categories(values)

    def union(self, other: Categories, columns: Columns) -> Categories:
        if self.values == other.values:
            return self
        return Categories(
            mine + tuple(v for v in theirs if v not in index)
            for mine, theirs, index in zip(self.values, other.values, self.index, strict=True)
        )

    def positions(self, wider: Categories) -> np.ndarray | None:
        if self.values == wider.values:
            return None
        return np.array(
            [
                wider.index[j][v] + wider.first[j]
                for j, values in enumerate(self.values)
                for v in values
            ],
            dtype=np.intp,
        )

    def keep(self, kept: np.ndarray) -> Categories:
        return Categories(
            tuple(v for i, v in enumerate(values) if kept[self.first[j] + i])
            for j, values in enumerate(self.values)
        )

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        j = int(np.searchsorted(self.first, code, side="right")) - 1
        return columns.name(j), repr(self.values[j][code - self.first[j]])

    def state(self) -> Any:
        return self.values


class Bins(Codes):
    """Per column the edges of its bins. The end bins are open: every number has a bin."""

    def __init__(self, edges: Iterable[np.ndarray]) -> None:
        self.edges = tuple(np.asarray(e, dtype=np.float64) for e in edges)
        counts = [max(len(e) - 1, 1) for e in self.edges]
        self.first = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        self.size = int(self.first[-1])

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
                    f"Column {columns.name(j)!r}: bins {short(mine)} here, {short(theirs)} in the "
                    "other model.",
                    "fit both with the same edges, `bins=[edges of each column]`.",
                )
        return self

    def positions(self, wider: Bins) -> None:
        return None

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        j = int(np.searchsorted(self.first, code, side="right")) - 1
        return columns.name(j), f"bin {code - self.first[j]}"

    def state(self) -> Any:
        return [edges.tolist() for edges in self.edges]

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(K,) lower and upper edge of every bin; open ends close at the outer edge."""
        low = np.concatenate([e[:-1] if len(e) > 1 else e[:1] for e in self.edges])
        high = np.concatenate([e[1:] if len(e) > 1 else e[:1] for e in self.edges])
        return low, high


class Cells(Codes):
    """The occupied cells of a joint histogram, as one column whose categories are cell numbers."""

    def __init__(self, bins: Bins, occupied: Categories) -> None:
        self.bins, self.occupied = bins, occupied
        self.first, self.size = occupied.first, occupied.size

    @property
    def possible(self) -> float:
        """How many cells there are, occupied or not."""
        return float(np.prod(self.bins.counts().astype(np.float64)))

    @cached_property
    def _strides(self) -> np.ndarray:
        counts = self.bins.counts()
        return np.concatenate([np.cumprod(counts[::-1])[::-1][1:], [1]]).astype(np.int64)

    def _number(self, block: np.ndarray) -> np.ndarray:
        local = self.bins.encode(block)[0] - self.bins.first[:-1]
        return (local @ self._strides)[:, None]

    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        """(K, d) lower and upper corner of every occupied cell."""
        number = np.array(self.occupied.values[0], dtype=np.int64)
        local = (number[:, None] // self._strides) % self.bins.counts()
        low, high = self.bins.bounds()
        return low[local + self.bins.first[:-1]], high[local + self.bins.first[:-1]]

    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        return self.occupied.encode(self._number(block))

    def widened(self, block: np.ndarray) -> Cells:
        return Cells(self.bins, self.occupied.widened(self._number(block)))

    def union(self, other: Cells, columns: Columns) -> Cells:
        return Cells(
            self.bins.union(other.bins, columns), self.occupied.union(other.occupied, columns)
        )

    def positions(self, wider: Cells) -> np.ndarray | None:
        return self.occupied.positions(wider.occupied)

    def keep(self, kept: np.ndarray) -> Cells:
        return Cells(self.bins, self.occupied.keep(kept))

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        return "all columns", f"cell {self.occupied.values[0][code]}"

    def state(self) -> Any:
        return self.bins.state(), self.occupied.state()


def short(edges: np.ndarray) -> str:
    inside = f", {len(edges) - 1} of them" if len(edges) > 2 else ""
    return f"({edges[0]:g}, {edges[-1]:g}{inside})"
