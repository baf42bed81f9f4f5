"""Imputed values as new cells of a table, in the types of its columns.

A text, and a date without a trend, have no value to fill in: the model of a date has no year.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from verosim.data import cells
from verosim.data.cell_formats import Read, by_format
from verosim.data.filled_cells import NewCells
from verosim.data.libraries import pa
from verosim.data.readers import READ, Reader
from verosim.data.schema_columns import Column
from verosim.data.tables import Rows
from verosim.densities.conditionals import MEAN
from verosim.kinds.arrow import arrow_type
from verosim.kinds.missing import MISSING
from verosim.kinds.reader import MixedReader
from verosim.kinds.registry import column_kinds


def new_cells(
    reader: Reader, rows: Rows, missing: Any, values: Any, how: str
) -> tuple[dict[str, NewCells], set[str]]:
    """The new cells of each column of some rows, and the columns that stay missing.

    `missing` and `values` are (n, d) arrays, or dicts of them by the names of parts.
    """
    sample = {kind.name: kind.sample for kind in column_kinds()}
    out: dict[str, NewCells] = {}
    kept: set[str] = set()
    for column, read, gone, found in _columns(reader, missing, values):
        at = np.flatnonzero(gone)
        present = rows.batch.schema.get_field_index(column.name)
        if not len(at) or present < 0 or column.name in out:
            continue
        made = None
        if found is not None:
            drawn = found[at]
            exact = how == MEAN and column.role == "number" and not _is_duration(column)
            made = pa.array(drawn) if exact else sample[column.density](column, drawn, None)
            made = _as_written(column, read, made, rows.batch.column(present))
        if made is None:
            kept.add(column.name)
        else:
            out[column.name] = NewCells(at, made)
    return out, kept


def _is_duration(column: Column) -> bool:
    type_ = arrow_type(column.type)
    return type_ is not None and pa.types.is_duration(type_)


def _columns(
    reader: Reader, missing: Any, values: Any
) -> Iterator[tuple[Column, Read | None, np.ndarray, np.ndarray | None]]:
    """For each column: how it is read, its missing cells (n,), and its values or None."""
    if not isinstance(reader, MixedReader):
        for j, column in enumerate(reader.schema.used):
            read = by_format(column, READ[column.role]) if column.role in READ else None
            yield column, read, missing[:, j], values[:, j]
        return
    for part in reader.parts:
        if part.kind == MISSING or missing[part.name] is None:
            continue
        j = 0
        for member in part.members:
            gone = missing[part.name][:, j]
            found = None if member.in_pieces else values[part.name][:, j]
            yield member.column, member.read, gone, found
            j += len(member.names)


def _as_written(
    column: Column, read: Read | None, made: pa.Array, present: pa.Array
) -> pa.Array | None:
    """The values as texts if the column has texts; None if they cannot be written in its format."""
    present = cells.without_dictionary(present)
    if cells.kind_of_type(present.type) != "text" or cells.kind_of_type(made.type) == "text":
        return made
    assert read is not None
    if pa.types.is_boolean(made.type):
        return _truths(read, made, present)
    texts = made.cast(pa.string())
    wanted = np.asarray(read(made, frozenset()), dtype=np.float64)
    with_comma = pa.array([text.replace(".", ",") for text in texts.to_pylist()])
    for written in (texts, with_comma):
        try:
            again = np.asarray(read(written, frozenset()), dtype=np.float64)
        except cells.Unreadable:
            continue
        if np.allclose(again, wanted, rtol=1e-12, atol=0):
            return written
    return None


def _truths(read: Read, made: pa.Array, present: pa.Array) -> pa.Array:
    """Truth values in the words of the column."""
    known = present.drop_null()
    flags = np.asarray(read(known, frozenset()))
    words = {True: "True", False: "False"}
    for truth in (True, False):
        at = np.flatnonzero(flags == float(truth))
        if len(at):
            words[truth] = known[int(at[0])].as_py()
    return pa.array([words[truth] for truth in made.to_pylist()])
