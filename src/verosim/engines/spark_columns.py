"""How the columns of a Spark frame travel to Python.

    to workers:      double x, double y, int a, …  →  array(x, y), a, …  →  x, y, a, …
    to this process: the first rows, without a worker

Spark sends each cell of a column to Python by a call of its own, and a cell of an array by a
cheaper one. Columns of one number type are therefore sent as one array. Java then needs about a
quarter less time for 40 columns of float64, and 40 % less for int32.

The first rows are few, and come without a worker, because Spark ends a worker that has not read
its whole partition. The next worker would import everything again, which costs more than the rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from verosim.data.clusters import partition_origin
from verosim.data.libraries import pa
from verosim.data.tables import Rows, numbered

SentColumns = list[list[str]]  # the names of the columns that each sent column has

NUMBER_TYPES = ("byte", "short", "integer", "long", "float", "double")
LEAST_PACKED = 4  # columns of one type; an array of fewer saves nothing
MOST_COLUMNS_LOOKED = 200  # tables with more columns send their first rows from a worker
ROW_BITS = 33  # of a row's number inside its partition, in monotonically_increasing_id()

# Python would get a date or a time as an object, which is slow and can lose the time zone.
TIME_AS_NUMBER = "timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', {})"

NESTED_CELLS = pa.list_(
    pa.int32()
)  # what a first look gets for a column of arrays, maps or structs
NO_CELLS = "CAST(NULL AS array<int>)"


def packed_groups(types: dict[str, str], names: Sequence[str]) -> SentColumns:
    """The names of the columns that travel together, from the name of each column's type."""
    by_type = defaultdict(list)
    for name in names:
        by_type[types[name]].append(name)
    alone: SentColumns = []
    packed: SentColumns = []
    for type_, some in by_type.items():
        if type_ in NUMBER_TYPES and len(some) >= LEAST_PACKED:
            packed.append(some)
        else:
            alone += [[name] for name in some]
    return packed + alone


def packed_frame(frame: Any, place: dict[str, str], groups: SentColumns) -> Any:
    """The frame with one column for each group. `place` is the name of each column in the frame."""
    return frame.selectExpr(*(
        f"array({', '.join(place[name] for name in group)}) AS g{at}"
        if len(group) > 1 else f"{place[group[0]]} AS g{at}"
        for at, group in enumerate(groups)
    ))  # fmt: skip


def unpacked_batches(
    batches: Iterable[pa.RecordBatch], groups: SentColumns
) -> Iterator[pa.RecordBatch]:
    """The batches with one column for each name again."""
    names = [name for group in groups for name in group]
    for batch in batches:
        arrays: list[pa.Array] = []
        for group, column in zip(groups, batch.columns, strict=True):
            arrays += [column] if len(group) == 1 else _columns(column, len(group))
        yield pa.RecordBatch.from_arrays(arrays, names=names)


def _columns(lists: pa.ListArray, count: int) -> list[pa.Array]:
    """The columns of arrays that all have `count` cells."""
    cells, n = lists.flatten(), len(lists)
    if not n:
        return [cells] * count
    raw = np.frombuffer(cells.buffers()[1], dtype=cells.type.to_pandas_dtype())
    start = cells.offset
    turned = np.ascontiguousarray(raw[start : start + n * count].reshape(n, count).T)
    if not cells.null_count:
        return [pa.array(column) for column in turned]
    missing = np.asarray(cells.is_null()).reshape(n, count).T
    return [pa.array(column, mask=mask) for column, mask in zip(turned, missing, strict=True)]


# The first rows ----------------------------------------------------------------------------------


def first_frame(frame: Any, place: dict[str, str], schema: pa.Schema) -> Any:
    """The columns of the schema as values that Python gets without loss, and the row's number."""
    plain = (
        _as_number(field.type).format(place[field.name]) + f" AS {place[field.name]}"
        for field in schema
    )
    return frame.selectExpr(*plain, "monotonically_increasing_id() AS row")


def rows_of_first_frame(found: Sequence[Sequence[Any]], schema: pa.Schema) -> Iterator[Rows]:
    """Rows of `first_frame` in the order of their partitions."""
    if not found:
        return
    *columns, ids = zip(*found, strict=True)
    arrays = [_array(cells, field.type) for cells, field in zip(columns, schema, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    numbers = np.array(ids, dtype=np.int64)
    partitions = numbers >> ROW_BITS
    starts = [0, *(np.flatnonzero(np.diff(partitions)) + 1).tolist(), len(numbers)]
    for start, stop in pairwise(starts):
        before = int(numbers[start]) & ((1 << ROW_BITS) - 1)
        origin = partition_origin(int(partitions[start]))
        for rows in numbered([batch.slice(start, stop - start)], origin):
            yield replace(rows, start=rows.start + before)


def _as_number(type_: pa.DataType) -> str:
    if pa.types.is_date32(type_):
        return "unix_date({})"
    if pa.types.is_timestamp(type_):
        return TIME_AS_NUMBER if type_.tz is None else "unix_micros({})"
    return NO_CELLS if pa.types.is_list(type_) else "{}"


def _array(cells: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_date32(type_):
        return pa.array(cells, pa.int32()).cast(type_)
    if pa.types.is_timestamp(type_):
        return pa.array(cells, pa.int64()).cast(type_)
    return pa.array(cells, type_)
