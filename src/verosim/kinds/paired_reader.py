"""Reads a table by the kinds of its columns, and as cells from the same reading."""

from __future__ import annotations

from verosim.data.sources import CELLS_PART, Parts
from verosim.data.tables import Rows
from verosim.kinds.cell_reader import as_cells
from verosim.kinds.missing import MISSING
from verosim.kinds.reader import MixedReader


class PairedReader(MixedReader):
    """Blocks of all parts, and the cells of the rows as one more part."""

    def block(self, rows: Rows) -> Parts:
        out = super().block(rows)
        parts = tuple(part for part in self.parts if part.kind != MISSING)
        out[CELLS_PART] = as_cells(self.schema.cells, parts, out)
        return out
