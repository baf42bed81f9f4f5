"""Codes of a table that was read as cells: bins of numbers, categories, and missing.

A cell is a small number that the schema gives every value of a column, without using labels. A
map per column turns cells into the codes of a model: fewer bins, or bins chosen by the labels. So
several models can share one reading of the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes.codes import Codes
from verosim.axes.columns import Columns
from verosim.axes.state_checks import check_whole, require
from verosim.cached import cached_property
from verosim.errors import FITTED_SCHEMA_HINT, VerosimError

CELLS = 256  # cells of a column at most: they are bytes


class CellCodes(Codes):
    """A map from cells to codes for every column. The last code of a column means missing."""

    fixed = True

    def __init__(
        self,
        maps: np.ndarray,
        sizes: np.ndarray,
        log_widths: np.ndarray | None = None,
        cells: np.ndarray | None = None,
        listed: np.ndarray | None = None,
    ) -> None:
        self.maps = np.ascontiguousarray(maps, dtype=np.uint8)  # (d, CELLS)
        self.sizes = np.asarray(sizes, dtype=np.int64)  # (d,) codes of every column
        self.first = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        self.size = int(self.first[-1])
        # (J,) log width of the bin of every code, 0 for categories and missing
        self.log_widths = np.zeros(self.size) if log_widths is None else log_widths
        # (d,) how many cells every column has
        self.cells = np.full(len(self.sizes), CELLS) if cells is None else np.asarray(cells)
        # (d,) how many codes of every column are declared values: the first ones
        self.listed = np.zeros(len(self.sizes), np.int64) if listed is None else listed

    @cached_property
    def declared(self) -> np.ndarray:
        within = np.arange(self.size) - np.repeat(self.first[:-1], self.sizes)
        out: np.ndarray = within < np.repeat(self.listed, self.sizes)
        return out

    @cached_property
    def places(self) -> np.ndarray:
        """(d, CELLS) the place of every cell on the flat axis of codes."""
        return (self.maps + self.first[:-1, None]).astype(np.int32)

    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        codes = np.empty(block.shape, dtype=np.int32)
        kernels.encode_cells(block, self.places, codes)
        return codes, False

    def union(self, other: CellCodes, columns: Columns) -> CellCodes:
        same = (self.sizes == other.sizes) & (self.cells == other.cells)
        same &= (self.maps == other.maps).all(axis=1)
        if not same.all():
            raise VerosimError(
                f"Column {columns.name(int(np.argmin(same)))!r} has different bins or categories "
                "in the two models.",
                FITTED_SCHEMA_HINT,
            )
        return self

    def positions(self, wider: CellCodes) -> None:
        return None

    def narrowed(self, columns: np.ndarray) -> CellCodes:
        at = np.concatenate([np.arange(self.first[j], self.first[j + 1]) for j in columns])
        return CellCodes(
            self.maps[columns], self.sizes[columns], self.log_widths[at], self.cells[columns],
            self.listed[columns],
        )  # fmt: skip

    def cells_of(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, d) for every code (n, d) one of its cells, drawn at random."""
        out = np.empty(codes.shape, dtype=np.uint8)
        for j in range(codes.shape[1]):
            found = self.maps[j, : self.cells[j]]
            order = np.argsort(found, kind="stable")
            start = np.searchsorted(found[order], np.arange(self.sizes[j] + 1))
            low, high = start[codes[:, j]], start[codes[:, j] + 1]
            out[:, j] = order[low + (rng.random(len(codes)) * (high - low)).astype(np.intp)]
        return out

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        j = int(np.searchsorted(self.first, code, side="right")) - 1
        at = int(code - self.first[j])
        return columns.name(j), "missing" if at == self.sizes[j] - 1 else f"code {at}"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle, also an older one, in which no values are declared."""
        self.__dict__.update({"listed": np.zeros(len(state["sizes"]), np.int64)} | state)

    def state(self) -> Any:
        state = [
            self.sizes.tolist(), self.maps.tobytes(), self.log_widths.tolist(), self.cells.tolist(),
        ]  # fmt: skip
        return [*state, self.listed.tolist()] if self.listed.any() else state

    @classmethod
    def from_state(cls, state: Any) -> CellCodes:
        sizes, maps, widths, cells, *listed = state
        d = len(sizes)
        check_whole(sizes, 1, CELLS, "a column has no codes")
        check_whole(cells, 0, CELLS, "a column has too many cells")
        for one in listed:
            check_whole(one, 0, CELLS, "a column has too many declared values")
        require(len(maps) == d * CELLS, "the codes of cells have a wrong length")
        require(all(len(one) == d for one in (cells, *listed)), "its columns differ in number")
        require(len(widths) == sum(sizes), "it does not have one width per code")
        require(np.isfinite(np.array(widths, dtype=float)).all(), "a width is not finite")
        table = np.frombuffer(maps, dtype=np.uint8).reshape(d, CELLS).copy()
        for map_, size, count in zip(table, sizes, cells, strict=True):
            known = len(np.union1d(map_[:count], size - 1)) == size > map_.max()
            require(known, "a column has a code without a cell, or a cell without a code")
        return cls(
            table, np.array(sizes), np.array(widths, dtype=float), np.array(cells),
            np.array(listed[0]) if listed else None,
        )  # fmt: skip
