"""Reads a table as cells: (n, d) bytes, the same for all models of dependent columns.

The columns are read by their kinds, as for `NaiveBayes`: a date gives a number, an hour, a weekday
and a month. Texts are not read. Exclusive 0/1 columns are read as one category.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from verosim.axes import Columns
from verosim.axes.capped_categories import CodedColumns
from verosim.data.cell_columns import CellColumn
from verosim.data.readers import Reader
from verosim.data.schema import Schema
from verosim.data.sources import Parts
from verosim.data.tables import Rows
from verosim.errors import VerosimError
from verosim.kinds.base import Part
from verosim.kinds.reader import MixedReader
from verosim.kinds.text import TEXT


class CellReader(Reader):
    """Blocks of cells, by the `cells` of a schema."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        if not schema.cells:
            raise VerosimError(
                "This schema has no cells.", "Use the schema_ of a fitted AODE, KDB or TAN."
            )

    @property
    def columns(self) -> Columns:
        names = tuple(column.name for column in self.schema.cells)
        return Columns(len(names), names)

    @property
    def owners(self) -> tuple[str, ...]:
        return tuple(column.columns[0] for column in self.schema.cells)

    @cached_property
    def mixed(self) -> MixedReader:
        return cellular(self.schema)

    def other_way(self, column: Any) -> str:
        return self.mixed.other_way(column)

    def block(self, rows: Rows) -> np.ndarray:
        parts = self.mixed.parts
        block = self.mixed.block(rows)
        for part in parts:
            _check_finite(part, rows, block[part.name])
        return as_cells(self.schema.cells, parts, block)


def _check_finite(part: Part, rows: Rows, block: Any) -> None:
    if isinstance(block, np.ndarray) and np.isinf(block).any():
        i, j = (int(v) for v in np.argwhere(np.isinf(block))[0])
        raise VerosimError(
            f"Input X contains infinity or a value too large: column {part.columns[j]!r}, "
            f"{rows.place(i)}.",
            "Replace it by a missing value, or drop the row.",
        )


def cellular(schema: Schema) -> MixedReader:
    """The reader of the columns that can be cells: all except texts."""
    texts = {column.name: "ignore" for column in schema.of(TEXT.name)}
    return MixedReader(schema.edit(texts) if texts else schema)


def as_cells(columns: tuple[CellColumn, ...], parts: tuple[Part, ...], block: Parts) -> np.ndarray:
    """(n, d) the cells of the rows of a block."""
    place = {name: (part.name, j) for part in parts for j, name in enumerate(part.columns)}
    out = np.empty((block.shape[0], len(columns)), dtype=np.uint8)
    for at, column in enumerate(columns):
        if not column.part:
            flags = [_numbers(block, *place[name]) for name in column.columns]
            out[:, at] = _group_cells(np.stack(flags, axis=1), column)
        elif column.is_number:
            x = _numbers(block, *place[column.name])
            inner = np.array(column.edges[1:-1])
            cell = np.searchsorted(inner, x, side="right")
            out[:, at] = np.where(np.isnan(x), column.size - 1, cell)
        else:
            part, j = place[column.name]
            out[:, at] = _category_cells(block[part], j, column)
    return out


def _numbers(block: Parts, part: str, j: int) -> np.ndarray:
    found: np.ndarray = block[part][:, j]
    return found


def _category_cells(block: CodedColumns, j: int, column: CellColumn) -> np.ndarray:
    index = {value: cell for cell, value in enumerate(column.values)}
    other, missing = column.size - 2, column.size - 1
    table = [missing if t is None else index.get(t, other) for t in block.texts[j]]
    return np.array(table, dtype=np.uint8)[block.indexes[j]]


def _group_cells(flags: np.ndarray, column: CellColumn) -> np.ndarray:
    """(n,) the number of the one column that is 1, from (n, columns) flags."""
    is_one = flags == 1.0
    cell = np.where(is_one.sum(axis=1) == 1, is_one.argmax(axis=1), column.size - 2)
    return np.where(np.isnan(flags).any(axis=1), column.size - 1, cell)
