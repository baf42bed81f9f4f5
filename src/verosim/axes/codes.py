"""Codes are numbers for the values of columns: categories, bins, or cells of a joint histogram.

All columns share one flat axis of codes, and the codes of column j start at `first[j]`. A missing
cell has the code −1. A value that was not seen before has the code `size + j`, one extra code per
column, so that estimation can give it a smoothed share.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes.columns import Columns
from verosim.axes.groups import plain_label, sorted_labels
from verosim.axes.state_checks import check_distinct
from verosim.cached import cached_property
from verosim.errors import VerosimError

CODE_TABLE_SPAN = 1 << 16  # largest range of whole numbers that a table looks up
MOST_DISTINCT_SLOTS = 1 << 20  # slots of all columns for which distinct integers are counted


class Codes(ABC):
    """A flat axis of codes over all columns."""

    size: int
    first: np.ndarray  # (columns + 1,) the first code of each column
    fixed: bool = False  # whether the codes are given and rows add none

    @abstractmethod
    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        """(n, d) values to (n, columns) int32 codes, and whether a value was unknown."""

    @abstractmethod
    def union(self, other: Any, columns: Columns) -> Any: ...

    @abstractmethod
    def positions(self, wider: Any) -> np.ndarray | None: ...

    def widened(self, block: np.ndarray) -> Codes:
        """These codes, and codes for the new values of this block."""
        return self

    def keep(self, kept: np.ndarray) -> Codes:
        """Only the marked codes. Fixed codes all stay."""
        return self

    def alone(self) -> Codes:
        """The same codes, without a reference to others of which they are a part."""
        return self

    def narrowed(self, columns: np.ndarray) -> Codes:
        """The codes of some of the columns."""
        raise NotImplementedError(f"{type(self).__name__} cannot be split by column")

    @abstractmethod
    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        """The column name and the value of a code, for messages."""

    @abstractmethod
    def state(self) -> Any:
        """These codes as plain data."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Any) -> Codes:
        """The codes that `state` described."""

    @property
    def is_bucket(self) -> np.ndarray:
        """(K,) bool: codes that several values share, so that they are not a value of their own."""
        return np.zeros(self.size, dtype=bool)

    def in_order(self) -> tuple[np.ndarray, Any]:
        """(K,) the codes in an order that depends on the values alone, and what they are.

        This is for fingerprints. Codes are in the order in which rows brought them, and equal rows
        in other pieces bring them in another order. Codes that are given have one order.
        """
        return np.arange(self.size), self.state()

    def columns_of(self) -> int:
        """The number of columns that have these codes."""
        return len(self.first) - 1

    def counts(self) -> np.ndarray:
        return np.diff(self.first)

    @cached_property
    def declared(self) -> np.ndarray:
        """(K,) bool: the codes that exist also if no row has them."""
        return np.zeros(self.size, dtype=bool)

    def column_of(self) -> np.ndarray:
        """(K,) the column of each code."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or NA of pandas. A comparison with NA gives NA again."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def is_whole(value: float) -> bool:
    return math.isfinite(value) and value == int(value)


def are_plain_integers(block: Any) -> bool:
    """Whether compiled loops can read a block as int64: C-ordered integers below 2⁶³."""
    return (
        isinstance(block, np.ndarray)
        and block.dtype.kind in "iu"
        and block.dtype != np.uint64
        and block.dtype.isnative
        and block.flags.c_contiguous
    )


def _distinct(block: np.ndarray) -> Iterator[list[Any]]:
    """The sorted distinct numbers of each column. Small integers are counted instead of sorted."""
    if are_plain_integers(block):
        low, high = (edge(axis=0).astype(np.float64) for edge in (block.min, block.max))
        if (high - low).sum() < MOST_DISTINCT_SLOTS and np.abs([low, high]).max() < 1 << 52:
            low = low.astype(np.int64)
            offset = np.concatenate([[0], np.cumsum(high.astype(np.int64) - low + 1)])
            rows, tally = np.zeros(1, np.int64), np.zeros((1, offset[-1]), np.int32)
            one_group = np.zeros(len(block), np.int32)
            kernels.tally_integers(block, low, offset, one_group, 0, rows, tally)
            for j in range(len(low)):
                seen = np.flatnonzero(tally[0, offset[j] : offset[j + 1]])
                yield (seen + low[j]).tolist()
            return
    for j in range(block.shape[1]):
        yield np.unique(block[:, j]).tolist()


class Categories(Codes):
    """The values of each column, in the order in which they were seen.

    New values are added at the end of the list of a column. Two lists are merged by value. Longer
    lists take over what is known about shorter ones, so that growing costs little for old values.
    """

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
        """A table from whole numbers to codes for all columns, if all values are whole numbers."""
        lows, offsets, tables = [], [0], []
        for j, values in enumerate(self.values):
            if {type(v) for v in values} - {int} and not all(
                isinstance(v, int | float) and is_whole(v) for v in values
            ):
                return None
            low = int(min(values, default=0))
            span = int(max(values, default=-1)) - low + 1
            if span > CODE_TABLE_SPAN or abs(low) > 1 << 52:
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
        """(sorted numbers, their codes) of each column; None if a value is not a number."""
        out: list[tuple[np.ndarray, np.ndarray] | None] = []
        for values in self.values:
            if all(isinstance(v, int | float) for v in values):
                numbers = np.array(values)
                if numbers.dtype.kind == "f" and numbers.tolist() != list(values):
                    out.append(None)  # a float does not hold a whole number beside it
                    continue
                order = np.argsort(numbers)
                out.append((numbers[order], order))
            else:
                out.append(None)
        return tuple(out)

    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        codes, unknown = self._raw(block)
        if unknown:
            spare = self.size + np.arange(codes.shape[1], dtype=np.int32)
            codes = np.where(codes == -2, spare, codes)
        return codes, unknown

    def _raw(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        """Codes, with −2 for values that are not on the axis, and whether there is one."""
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
                    f"Column {j} has a value that cannot be a category: {error}.",
                    "Use strings, numbers, booleans, or tuples of them.",
                ) from None
            found = np.array(column, dtype=np.int32)
            codes[:, j] = np.where(found >= 0, found + start, found)
        return codes, bool((codes == -2).any())

    def _search(self, j: int, column: np.ndarray) -> np.ndarray:
        known = self._sorted[j]
        # Numbers of two types would be compared as floats, which are not exact above 2⁵³.
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
        codes, unknown = self._raw(block)
        if not unknown:
            return self
        values = list(self.values)
        new = np.flatnonzero((codes == -2).any(axis=0)).tolist()
        block = block if len(new) == block.shape[1] else np.take(block, new, axis=1)
        columns = _distinct(block) if block.dtype.kind in "iufb" else block.T.tolist()
        for j, present in zip(new, columns, strict=True):
            known = self.index[j]
            fresh = {plain_label(v) for v in present if not is_missing(v) and v not in known}
            values[j] = values[j] + tuple(sorted_labels(fresh))
        return Categories(values).grown_from(self)

    def union(self, other: Categories, columns: Columns) -> Categories:
        if self.values == other.values:
            return self
        return Categories(
            mine + tuple(v for v in theirs if v not in index)
            for mine, theirs, index in zip(self.values, other.values, self.index, strict=True)
        ).grown_from(self)

    def grown_from(self, known: Categories) -> Self:
        """These codes themselves, with the index of other codes, to which values were added."""
        index = []
        for values, old, before in zip(self.values, known.values, known.index, strict=True):
            k = len(old) if values[: len(old)] == old else 0
            more = {value: i for i, value in enumerate(values[k:], k)}
            index.append(more if not k else before | more if more else before)
        self.index = tuple(index)
        return self

    def positions(self, wider: Categories) -> np.ndarray | None:
        if self.values == wider.values:
            return None
        places = [np.empty(0, dtype=np.intp)]
        for j, (mine, theirs) in enumerate(zip(self.values, wider.values, strict=True)):
            if theirs[: len(mine)] == mine:  # values were added at the end
                places.append(np.arange(len(mine), dtype=np.intp) + wider.first[j])
            else:
                found = [wider.code_of(j, value) for value in mine]
                places.append(np.array(found, dtype=np.intp))
        return np.concatenate(places)

    def code_of(self, j: int, value: Any) -> int:
        """The code of a value of column j."""
        return int(self.first[j]) + self.index[j][value]

    def overflow(self, j: int) -> tuple[tuple[int, ...], tuple[int, int]] | None:
        """The hashes of the frequent values of column j, and the last rank that is kept.

        None without a cap.
        """
        return None

    def keep(self, kept: np.ndarray) -> Categories:
        return Categories(
            tuple(v for i, v in enumerate(values) if kept[self.first[j] + i])
            for j, values in enumerate(self.values)
        )

    def narrowed(self, columns: np.ndarray) -> Categories:
        """The codes of some of the columns."""
        return Categories(self.values[j] for j in columns)

    def in_order(self) -> tuple[np.ndarray, Any]:
        values = tuple(tuple(sorted_labels(set(some))) for some in self.values)
        order = [self.code_of(j, value) for j, some in enumerate(values) for value in some]
        return np.array(order, dtype=np.intp), values

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        j = int(np.searchsorted(self.first, code, side="right")) - 1
        return columns.name(j), repr(self.values[j][code - self.first[j]])

    def state(self) -> Any:
        return self.values

    @classmethod
    def from_state(cls, state: Any) -> Categories:
        for values in state:
            check_distinct(values, "the values of a column")
        return cls(tuple(values) for values in state)
