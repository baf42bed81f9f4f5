"""Sampled cells as a table: numbers are uniform within their cell, categories are texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from verosim.axes.capped_categories import OTHER
from verosim.data.cell_columns import CellColumn
from verosim.data.libraries import pa
from verosim.data.schema import Schema
from verosim.kinds.registry import column_kinds
from verosim.kinds.sampling import as_native


def table_of_cells(schema: Schema, cells: np.ndarray, rng: np.random.Generator) -> Any:
    """The table of (n, d) cells, with the columns that the cells were read from."""
    sample = {kind.name: kind.sample for kind in column_kinds()}
    arrays = {}
    for j, column in enumerate(schema.cells):
        gone = cells[:, j] == column.size - 1
        if not column.part:
            for at, name in enumerate(column.columns):
                arrays[name] = pa.array((cells[:, j] == at).astype(np.int64), mask=gone)
            continue
        (owner,) = column.columns
        if owner in arrays:  # the number of a date comes first, then hour, weekday and month
            continue
        if column.name == owner:
            drawn = _values(column, cells[:, j], rng)
        else:
            pieces = _pieces(schema.cells, owner)
            found = [_values(schema.cells[i], cells[:, i], rng) for i in pieces]
            drawn = np.column_stack(found)
        arrays[owner] = sample[schema[owner].density](schema[owner], drawn, gone)
    names = [column.name for column in schema.used if column.name in arrays]
    return as_native(pa.table({name: arrays[name] for name in names}), schema.native)


def _pieces(columns: Sequence[CellColumn], owner: str) -> list[int]:
    """The positions of the hour, the weekday and the month of a date."""
    return [i for i, column in enumerate(columns) if column.columns == (owner,)]


def _values(column: CellColumn, cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if not column.is_number:
        texts = [value if isinstance(value, str) else OTHER for value in column.values]
        return np.array([*texts, OTHER, None], dtype=object)[cells]
    edges = np.array(column.edges)
    at = np.minimum(cells, column.known - 1)
    if len(edges) < 2:
        return edges[np.zeros(len(cells), dtype=np.intp)]
    return edges[at] + (edges[at + 1] - edges[at]) * rng.random(len(cells))
