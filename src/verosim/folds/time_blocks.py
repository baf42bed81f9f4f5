"""Folds in the order of time: each block of rows is predicted by the model of all rows before it.

    cv="time:when"      eleven blocks of about equal size by the column `when`: ten folds
    cv="time:when:5"    five folds

    block of time t = number of cuts below t,   cut b = time of row ⌈b n / B⌉ in the order of time

n is the number of rows with a positive weight and B is the number of blocks. Rows with the same
time are in the same block, and the first block is never predicted. If there are too many different
times to keep, four passes over the column find the cuts: the order of the 64 bits of a time is the
order of time, and each pass counts the rows by the next 16 bits. So the cuts are always exact.
Reference: Bergmeir & Benítez (2012), On the use of cross-validation for time series predictor
evaluation, Information Sciences 191, 192–213.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from verosim import engines
from verosim.data import cells
from verosim.data.blocks import CutBlocks, one_after_the_other
from verosim.data.cell_formats import FORMATTED_ROLES, Read, by_format
from verosim.data.libraries import pa
from verosim.data.near_names import near
from verosim.data.schema_columns import Column
from verosim.data.source import RowSource
from verosim.data.stream import TableChunk
from verosim.data.tables import Rows
from verosim.data.visits import Visit
from verosim.errors import VerosimError

IN_TIME = "time:"
FOLDS_IN_TIME = 10
MOST_DIFFERENT_TIMES = 1 << 20  # different times that one pass keeps
BITS = 16  # of a time that one more pass finds
TIME_BINS = 1 << BITS
SIGN = np.uint64(1 << 63)


def time_column(cv: Any, names: tuple[str, ...]) -> tuple[str, int] | None:
    """The column and the number of folds of cv="time:…", or None if cv is something else."""
    if not isinstance(cv, str) or not cv.startswith(IN_TIME) or cv in names:
        return None
    column, count = cv.removeprefix(IN_TIME), FOLDS_IN_TIME
    head, _, tail = column.rpartition(":")
    if column not in names and tail.isdecimal() and head:
        column, count = head, int(tail)
    if column not in names:
        raise VerosimError(
            f"The column of time {column!r} is not in the table.", near(column, names)
        )
    if count < 1:
        raise VerosimError(
            f"cv={cv!r} must have at least 1 fold; got {count}.", f"Use cv='{IN_TIME}{column}:5'."
        )
    return column, count


def time_blocks(source: RowSource, column: str, count: int) -> CutBlocks:
    """The blocks of rows by the values of a column. Rows of weight zero do not move their edges.

    Dates and numbers are read by the format of the schema.
    """
    read = by_format(_column_of(source, column), _dates_or_numbers)
    times = partial(_times, column, read, source.reader.na)
    cuts = engines.iterate(source.only(column), _cuts(times, column, count + 1))
    return CutBlocks(*one_after_the_other(len(cuts) + 1), column, cuts, times)


def _cuts(
    times: Callable[[Rows], np.ndarray], column: str, blocks: int
) -> Generator[Visit, Any, np.ndarray]:
    """(B − 1,) the last time of each block but the last one. No block is empty."""
    seen = yield _Times(times)
    if seen.total < 2 or len(seen.values) == 1:
        raise VerosimError(
            f"The column of time {column!r} must have at least 2 different values; got "
            f"{min(seen.total, 1)}.",
            "Use a column with several values, or give a number of folds.",
        )
    if 0 < len(seen.values) <= blocks:  # one block for each value
        return np.array(seen.values[:-1])
    ranks = [-(-b * seen.total // blocks) - 1 for b in range(1, blocks)]
    if len(seen.values):
        cuts = seen.values[np.searchsorted(np.cumsum(seen.counts), ranks, side="right")]
    else:
        found = [_Search(rank) for rank in ranks]
        for level in range(64 // BITS):
            prefixes = np.unique([one.prefix for one in found]).astype(np.uint64)
            counts = yield _Prefixes(times, prefixes, level)
            found = [one.narrowed(prefixes, counts) for one in found]
        cuts = _times_of_keys(np.array([one.prefix for one in found], dtype=np.uint64))
    cuts = np.unique(cuts)
    return np.array(cuts[cuts < seen.last])


@dataclass(frozen=True)
class _Seen:
    """The times of some rows."""

    values: np.ndarray  # the different times, sorted; empty if they are too many
    counts: np.ndarray  # the rows of each
    total: int  # rows
    last: float  # the largest time

    def joined(self, other: _Seen) -> _Seen:
        total, last = self.total + other.total, max(self.last, other.last)
        if any(one.total and not len(one.values) for one in (self, other)):
            return _Seen(np.empty(0), np.empty(0), total, last)
        values, at = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        if len(values) > MOST_DIFFERENT_TIMES:
            return _Seen(np.empty(0), np.empty(0), total, last)
        return _Seen(values, np.bincount(at, [*self.counts, *other.counts]), total, last)


@dataclass
class _Times(Visit):
    """The different times with their numbers of rows, if they are not too many."""

    times: Callable[[Rows], np.ndarray]

    def nothing(self) -> _Seen:
        return _Seen(np.empty(0), np.empty(0), 0, -np.inf)

    def absorb(self, chunk: TableChunk) -> None:
        times = self.times(chunk.rows)[chunk.kept()] + 0.0  # −0 becomes 0
        values, counts = np.unique(times, return_counts=True)
        if len(values):
            self.found = self.found.joined(_Seen(values, counts, len(times), float(values[-1])))

    def merge(self, other: Self) -> None:
        self.found = self.found.joined(other.found)

    def packed(self) -> Any:
        return [self.found.values, self.found.counts, self.found.total, self.found.last]

    def unpacked(self, plain: Any) -> _Seen:
        return _Seen(*plain)


@dataclass
class _Prefixes(Visit):
    """(P, TIME_BINS) the rows of each prefix of a key, by the next bits."""

    times: Callable[[Rows], np.ndarray]
    prefixes: np.ndarray  # (P,) uint64, sorted
    level: int  # the number of bits of a prefix, divided by BITS

    def nothing(self) -> np.ndarray:
        return np.zeros((len(self.prefixes), TIME_BINS), dtype=np.int64)

    def absorb(self, chunk: TableChunk) -> None:
        keys = _keys(self.times(chunk.rows)[chunk.kept()])
        shifted = keys >> np.uint64(64 - BITS * (self.level + 1))
        head, bins = shifted >> np.uint64(BITS), shifted & np.uint64(TIME_BINS - 1)
        at = np.minimum(np.searchsorted(self.prefixes, head), len(self.prefixes) - 1)
        here = self.prefixes[at] == head
        np.add.at(self.found, (at[here], bins[here].astype(np.intp)), 1)

    def merge(self, other: Self) -> None:
        self.found += other.found


@dataclass(frozen=True)
class _Search:
    """The search for the row with this rank among the rows whose keys begin with the prefix."""

    rank: int  # from 0
    prefix: int = 0

    def narrowed(self, prefixes: np.ndarray, counts: np.ndarray) -> _Search:
        """The same with the next bits of the prefix."""
        until = np.cumsum(counts[int(np.searchsorted(prefixes, np.uint64(self.prefix)))])
        bin_ = int(np.searchsorted(until, self.rank, side="right"))
        below = int(until[bin_ - 1]) if bin_ else 0
        return _Search(self.rank - below, (self.prefix << BITS) | bin_)


def _keys(times: np.ndarray) -> np.ndarray:
    """(n,) uint64 keys with the order of the times."""
    bits = (times + 0.0).view(np.uint64)  # −0 becomes 0
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def _times_of_keys(keys: np.ndarray) -> np.ndarray:
    """(n,) the times of keys."""
    return np.where(keys & SIGN, keys ^ SIGN, ~keys).view(np.float64)


def _column_of(source: RowSource, name: str) -> Column:
    """How the column of time is read. If the model ignores it, a first look at it decides."""
    schema = source.reader.schema
    if name in schema.names and schema[name].role in FORMATTED_ROLES:
        return schema[name]
    from verosim.kinds.look import look

    return look(source.table.first_of(name), na=source.reader.na)[name]


def _times(column: str, read: Read, na: frozenset[str], rows: Rows) -> np.ndarray:
    """(n,) the times of some rows as numbers."""
    array = cells.without_dictionary(rows.batch.column(column))
    try:
        times = read(array, na)
    except cells.Unreadable as error:
        raise VerosimError(
            f"Column {column!r}, {rows.place(error.row)}: {error.value!r} is not a date or a "
            "number.",
            "Use a column of dates or numbers to order the rows in time.",
        ) from None
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad):
        raise VerosimError(
            f"Column {column!r} is missing in {rows.place(int(bad[0]))}, so the row has no place "
            "in time.",
            "Fill in the value, or leave the row out.",
        )
    return times


def _dates_or_numbers(array: pa.Array, na: frozenset[str]) -> np.ndarray:
    """Days of dates, also of texts of dates; otherwise numbers."""
    if cells.kind_of_type(array.type) == "text":
        try:
            return cells.numbers(array, na, near=True)
        except cells.Unreadable:
            return cells.days(array, na)
    return cells.numbers(array, na, near=True)  # nanoseconds since 1970 have more digits
