"""Reads a table by the kinds of its columns, and as cells from the same reading."""

from __future__ import annotations

from verosim.cached import cached_property
from verosim.data.sources import CELLS_PART, Parts
from verosim.data.tables import Rows
from verosim.kinds.cell_reader import CellFinder
from verosim.kinds.missing import MISSING
from verosim.kinds.reader import MixedReader


class PairedReader(MixedReader):
    """Blocks of all parts, and the cells of the rows as one more part."""

    @cached_property
    def _finder(self) -> CellFinder:
        parts = tuple(part for part in self.parts if part.kind != MISSING)
        return CellFinder(self.schema.cells, parts)

    def block(self, rows: Rows) -> Parts:
        out = super().block(rows)
        out[CELLS_PART] = self._finder.cells(out, len(rows))
        return out
