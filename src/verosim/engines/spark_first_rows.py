"""The first rows of a Spark frame, which come to this process without a Python worker.

    a frame of several files      the files one after the other, in the order of their names
    a frame that is only read     one task reads the partitions one after the other, and stops
    a frame without an order      the rows with the smallest hashes, from all partitions
    any other frame               take(n), which reads more and more partitions at once

A frame has no order after a shuffle, or if it takes some rows of several files.

Spark itself begins with the largest file. In the order of the names, the first rows are those that
other engines see too. One task sends its rows as Arrow, which needs less than half of the CPU time
of `take`. It would be slow for a filter that leaves few rows, so Spark's plan is asked first. The
second and the last way give the same rows.

A worker would cost more than the rows: Spark ends a worker that has not read its whole partition,
and the next one imports everything again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np

from verosim.data.clusters import partition_origin
from verosim.data.libraries import pa
from verosim.data.tables import Rows, numbered

MOST_COLUMNS_TAKEN = 200  # `take` is slow for more
ROW_BITS = 33  # of a row's number inside its partition, in monotonically_increasing_id()

# The steps of a plan that keep all rows of what they read.
READING_STEP = re.compile(
    r"(\*\(\d+\) )?(Project|ColumnarToRow|FileScan|LocalTableScan|Range|InMemoryTableScan"
    r"|InMemoryRelation)\b"
)

# Python would get a date or a time as an object, which is slow and can lose the time zone.
TIME_AS_NUMBER = "timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', {})"

# What a first look gets for a column of arrays, maps or structs.
NESTED_CELLS = pa.list_(pa.int32())
NO_CELLS = "CAST(NULL AS array<int>)"


def plan_text(frame: Any) -> str:
    """The steps by which Spark computes the frame. Nothing is computed."""
    return str(frame.sparkSession.sql("EXPLAIN SELECT * FROM {frame}", frame=frame).first()[0])


def is_only_read(plan: str) -> bool:
    """Whether a plan reads stored rows only, without a filter, a join or an unknown step."""
    steps = [line.lstrip(" :+-") for line in plan.splitlines() if line.strip()]
    return len(steps) > 1 and all(READING_STEP.match(step) for step in steps[1:])


def files_by_name(frame: Any, plan: str) -> list[str]:
    """The files of a frame that only reads several files, in the order of their names; or none."""
    if not is_only_read(plan) or "FileScan" not in plan or "InMemoryTableScan" in plan:
        return []
    files = sorted(set(frame.inputFiles()), key=_parts_of_path)
    return files if len(files) > 1 else []


def _parts_of_path(uri: str) -> tuple[str, ...]:
    """The folders and the name of a file, which are compared as those of local files are."""
    return PurePosixPath(unquote(uri)).parts


def of_files(frame: Any, files: Sequence[str]) -> Any:
    """The rows of some files of a frame, in the order of these files."""
    # Spark writes file:/… in one place and file:///… in another.
    names = [name for uri in files for name in (uri, uri.replace("file:///", "file:/", 1))]
    written = ", ".join(
        "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'" for name in names
    )
    some = frame.where(f"_metadata.file_path IN ({written})")
    if len(files) == 1:
        return some
    place = f"array_position(array({written}), _metadata.file_path)"
    ordered = some.selectExpr("*", f"{place} AS file", "monotonically_increasing_id() AS place")
    return ordered.orderBy("file", "place").drop("file", "place")


def with_row_numbers(frame: Any) -> Any:
    """The frame and the number of each row, which has the number of its partition."""
    return frame.selectExpr("*", "monotonically_increasing_id() AS row")


def rows_of_one_task(frame: Any, schema: pa.Schema, count: int) -> tuple[pa.Table, np.ndarray]:
    """The first `count` rows of a frame, which one task reads, and their numbers."""
    found = with_row_numbers(frame).coalesce(1).limit(count).toArrow().combine_chunks()
    *columns, numbers = found.columns
    return pa.Table.from_arrays(columns, schema.names).cast(schema), np.asarray(numbers)


def rows_of_several_files(frame: Any, schema: pa.Schema, count: int) -> tuple[pa.Table, np.ndarray]:
    """The first `count` rows of a frame that is sorted by files, and their numbers."""
    *columns, numbers = with_row_numbers(frame.limit(count)).toArrow().combine_chunks().columns
    return pa.Table.from_arrays(columns, schema.names).cast(schema), np.asarray(numbers)


def rows_of_take(frame: Any, schema: pa.Schema, count: int) -> tuple[pa.Table, np.ndarray]:
    """The first `count` rows of any frame, and their numbers."""
    return rows_of_plain_values(_plain_frame(frame, schema).take(count), schema)


def rows_of_plain_values(
    found: Sequence[Sequence[Any]], schema: pa.Schema
) -> tuple[pa.Table, np.ndarray]:
    """Rows that Spark has sent as Python values, and their numbers."""
    *columns, numbers = zip(*found, strict=True) if found else [()] * (len(schema) + 1)
    arrays = [_array(cells, field.type) for cells, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema), np.array(numbers, dtype=np.int64)


def _plain_frame(frame: Any, schema: pa.Schema) -> Any:
    """The frame as values that Python gets from `take` without loss, and the row's number."""
    plain = (
        f"{_as_number(field.type).format(name)} AS {name}"
        for field, name in zip(schema, frame.columns, strict=True)
    )
    return with_row_numbers(frame.selectExpr(*plain))


def begins_in_order(numbers: np.ndarray) -> bool:
    """Whether the first partition comes first. One task begins with partitions that are near it."""
    return bool(len(numbers) and numbers[0] == 0 and (np.diff(numbers) > 0).all())


def in_partitions(table: pa.Table, numbers: np.ndarray) -> Iterator[Rows]:
    """The rows by partition. `numbers` are those of the rows."""
    partitions = numbers >> ROW_BITS
    starts = [0, *(np.flatnonzero(np.diff(partitions)) + 1).tolist(), len(numbers)]
    for start, stop in pairwise(starts):
        if stop == start:
            continue
        before = int(numbers[start]) & ((1 << ROW_BITS) - 1)
        origin = partition_origin(int(partitions[start]))
        for rows in numbered(table.slice(start, stop - start).to_batches(), origin):
            yield replace(rows, start=rows.start + before)


def _as_number(type_: pa.DataType) -> str:
    if pa.types.is_date32(type_):
        return "unix_date({})"
    if pa.types.is_timestamp(type_):
        return TIME_AS_NUMBER if type_.tz is None else "unix_micros({})"
    return "{}"


def _array(cells: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_date32(type_):
        return pa.array(cells, pa.int32()).cast(type_)
    if pa.types.is_timestamp(type_):
        return pa.array(cells, pa.int64()).cast(type_)
    return pa.array(cells, type_)
