"""Folds in the order of time: each block of rows is predicted by the model of all rows before it.

    cv="time:when"      eleven blocks of about equal size by the column `when`: ten folds
    cv="time:when:5"    five folds

Rows with the same time are in the same block. The first block is never predicted.
Reference: Bergmeir & Benítez (2012), On the use of cross-validation for time series predictor
evaluation, Information Sciences 191, 192–213.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from verosim.data import cells
from verosim.data.blocks import RowBlocks, blocks_in_order
from verosim.data.cell_formats import FORMATTED_ROLES, Read, by_format
from verosim.data.libraries import pa
from verosim.data.near_names import near
from verosim.data.schema_columns import Column
from verosim.data.stream import TableSource
from verosim.data.tables import Rows, Table
from verosim.errors import VerosimError

IN_TIME = "time:"
FOLDS_IN_TIME = 10


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


def time_blocks(source: TableSource, column: str, count: int, weights: np.ndarray) -> RowBlocks:
    """The blocks of rows by the values of a column. Rows of weight zero do not move their edges.

    Dates and numbers are read by the format of the schema.
    """
    read = times_of(source, column)
    found = [read(rows) for rows in source.table.batches({column})]
    times = np.concatenate(found) if found else np.empty(0)
    counted = times[weights > 0] if len(weights) == len(times) else times
    values, mass = np.unique(counted, return_counts=True)
    check_values(column, len(values))
    blocks = _blocks_of_values(mass, count + 1)
    at = np.minimum(np.searchsorted(values, times), len(values) - 1)
    return blocks_in_order(blocks[at], int(blocks[-1]) + 1)


def times_of(source: TableSource, column: str) -> Callable[[Rows], np.ndarray]:
    """A function that reads the times of some rows. It can be pickled."""
    read = by_format(_column_of(source, column), _dates_or_numbers)
    return partial(_times, column, read, source.reader.na)


def check_values(column: str, count: int) -> None:
    """Raise an error if the column of time has fewer than two values."""
    if count < 2:
        raise VerosimError(
            f"The column of time {column!r} must have at least 2 different values; got {count}.",
            "Use a column with several values, or give a number of folds.",
        )


def _blocks_of_values(mass: np.ndarray, count: int) -> np.ndarray:
    """(values,) the block of each value, from the number of rows of each value, in order.

    There are as many blocks as values if there are fewer values than blocks.
    """
    before = np.cumsum(mass) - mass
    blocks = (before * count) // mass.sum()  # the block in which the first row of the value falls
    if len(mass) <= count:
        blocks = np.arange(len(mass))
    return np.unique(blocks, return_inverse=True)[1]


def _column_of(source: TableSource, name: str) -> Column:
    """How the column of time is read. If the model ignores it, a first look at it decides."""
    schema = source.reader.schema
    if name in schema.names and schema[name].role in FORMATTED_ROLES:
        return schema[name]
    table = source.table
    read = partial(_only, table, name)
    alone = Table((name,), read, native=table.native, typed=table.typed, coded=table.coded)
    from verosim.kinds.look import look

    return look(alone, na=source.reader.na)[name]


def _only(table: Table, name: str, columns: Iterable[str] | None) -> Iterator[Rows]:
    """The rows of a table with one column."""
    if table.cluster is not None:  # the first rows
        return table.read([name])
    return (rows.select([name]) for rows in table.batches({name}))


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
