"""Codes of a table that was read as cells: bins of numbers, categories, and missing.

A cell is a small number that the schema gives every value of a column, without using labels. A
map per column turns cells into the codes of a model: fewer bins, or bins chosen by the labels. So
several models can share one reading of the table.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from verosim.axes.codes import Codes
from verosim.axes.columns import Columns
from verosim.errors import VerosimError

CELLS = 256  # cells of a column at most: they are bytes


class CellCodes(Codes):
    """A map from cells to codes for every column. The last code of a column means missing."""

    fixed = True

    def __init__(self, maps: np.ndarray, sizes: np.ndarray) -> None:
        self.maps = np.ascontiguousarray(maps, dtype=np.uint8)  # (d, CELLS)
        self.sizes = np.asarray(sizes, dtype=np.int64)  # (d,) codes of every column
        self.first = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        self.size = int(self.first[-1])

    @cached_property
    def places(self) -> np.ndarray:
        """(d, CELLS) the place of every cell on the flat axis of codes."""
        return (self.maps + self.first[:-1, None]).astype(np.int32)

    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        return self.places[np.arange(block.shape[1]), block], False

    def union(self, other: CellCodes, columns: Columns) -> CellCodes:
        same = (self.sizes == other.sizes) & (self.maps == other.maps).all(axis=1)
        if not same.all():
            raise VerosimError(
                f"Column {columns.name(int(np.argmin(same)))!r} has different bins or categories "
                "in the two models.",
                "Fit both with one schema: model.fit(…), then other.fit(…, schema=model.schema_).",
            )
        return self

    def positions(self, wider: CellCodes) -> None:
        return None

    def narrowed(self, columns: np.ndarray) -> CellCodes:
        return CellCodes(self.maps[columns], self.sizes[columns])

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        j = int(np.searchsorted(self.first, code, side="right")) - 1
        at = int(code - self.first[j])
        return columns.name(j), "missing" if at == self.sizes[j] - 1 else f"code {at}"

    def state(self) -> Any:
        return [self.sizes.tolist(), [row.tobytes() for row in self.maps]]

    @classmethod
    def from_state(cls, state: Any) -> CellCodes:
        sizes, maps = state
        rows = [np.frombuffer(row, dtype=np.uint8) for row in maps]
        return cls(np.array(rows).reshape(len(sizes), CELLS), np.array(sizes))
