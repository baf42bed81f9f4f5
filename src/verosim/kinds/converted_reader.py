"""Readers that convert the parts of a table to one block of numbers or bytes.

Two of them with the same columns can share the reading of the parts.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np

from verosim.cached import cached_property
from verosim.data.column_kinds import IGNORE
from verosim.data.readers import Reader, Watch
from verosim.data.schema import Schema
from verosim.data.sources import Parts
from verosim.data.tables import Rows
from verosim.errors import VerosimError
from verosim.kinds.base import Part
from verosim.kinds.reader import MixedReader
from verosim.kinds.text import TEXT
from verosim.stats.bad_cell import INFINITE_CELL_HINT


class ConvertedReader(Reader):
    """Reads the columns that are not texts by their kinds, and converts them to one block."""

    @cached_property
    def mixed(self) -> MixedReader:
        """The reader of the parts."""
        return without_texts(self.schema)

    def watched(self, watch: Watch | None) -> Self:
        self.mixed.watched(watch)
        return super().watched(watch)

    def other_way(self, column: Any) -> str:
        return self.mixed.other_way(column)

    def block(self, rows: Rows) -> np.ndarray:
        out = self.room(len(rows))
        self.convert(self.parts_of(rows), out)
        return out

    def parts_of(self, rows: Rows) -> Parts:
        """The parts of some rows, without infinite numbers."""
        block = self.mixed.block(rows)
        for part in self.mixed.parts:
            _check_finite(part, rows, block[part.name])
        return block

    @abstractmethod
    def room(self, n: int) -> np.ndarray:
        """An array for the block of n rows. It has no values, or zeros."""

    @abstractmethod
    def convert(self, block: Parts, out: np.ndarray) -> None:
        """Write the block of some rows, from their parts."""


def without_texts(schema: Schema) -> MixedReader:
    """The reader of all columns except texts."""
    why = f"{TEXT.name} is not read by models of dependent columns"
    columns = tuple(
        replace(column, density=IGNORE.name, reason=why) if column.density == TEXT.name else column
        for column in schema.columns
    )
    return MixedReader(replace(schema, columns=columns))


def _check_finite(part: Part, rows: Rows, block: Any) -> None:
    """Raise an error that names the first infinite cell of a block of numbers."""
    if not isinstance(block, np.ndarray):
        return
    with np.errstate(over="ignore"):
        some_odd = not np.isfinite(block.sum())
    if some_odd and np.isinf(block).any():
        i, j = (int(v) for v in np.argwhere(np.isinf(block))[0])
        raise VerosimError(
            f"Input X contains infinity in column {part.columns[j]!r}, {rows.place(i)}.",
            INFINITE_CELL_HINT,
        )
