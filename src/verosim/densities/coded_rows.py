"""Densities of rows that were read as cells: the mass of the codes over the widths of their bins.

    log p(x | k) = log P(codes of x | k) − Σ_j log width(code of x_j)

The width is 1 for categories and for missing cells. It is the same for all classes, so posteriors
do not depend on it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes import CellCodes, Columns
from verosim.data.code_readings import CodeReading
from verosim.data.readings import CellReading
from verosim.densities.base import Params
from verosim.densities.estimates import CELLS_TABLE, Estimates
from verosim.densities.terms import WidthTerm


def code_readings(codes: CellCodes, block: Sequence[CellReading]) -> tuple[CellReading, ...]:
    """The readings of codes, from those of cells: neighbouring cells of numbers have one code."""
    out = []
    for j, cells in enumerate(block):
        assert isinstance(cells, CodeReading)
        out.append(cells.merged(codes.maps[j, : codes.cells[j]].tolist()))
    return tuple(out)


@dataclass(frozen=True)
class CodedRowParams(Params):
    """Parameters of P(codes | k). Blocks are (n, d) cells."""

    codes: CellCodes

    def read(self, rows: Any) -> Any:
        return rows

    @abstractmethod
    def log_mass(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """(n, C) log P(codes of the row | k)."""

    @abstractmethod
    def sample_codes(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, d) codes drawn for each class number."""

    def log_ratio(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        return self.log_mass(block, out)

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = self.log_mass(block, out)
        at = self.codes.encode(block)[0]
        out -= self.codes.log_widths[at].sum(axis=1)[:, None]
        return out

    def readings(self, block: tuple[CellReading, ...]) -> tuple[CellReading, ...]:
        """The codes in place of the cells: neighbouring cells of numbers have one code."""
        return code_readings(self.codes, block)

    def rows_of(self, j: int) -> slice:
        """Where the codes of column j are on the flat axis of codes."""
        return slice(int(self.codes.first[j]), int(self.codes.first[j + 1]))

    def width_terms(self, classes: int) -> tuple[WidthTerm, ...]:
        """− log width of the code of each number, the same for all classes."""
        widths = [self.codes.log_widths[self.rows_of(j)] for j in range(len(self.codes.sizes))]
        return tuple(WidthTerm.of(j, one, classes) for j, one in enumerate(widths) if one.any())

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, d) one cell of the drawn code for every column."""
        drawn = self.sample_codes(classes, rng)
        return self.codes.cells_of(drawn, rng)

    def of_codes(self, j: int, share: np.ndarray, count: np.ndarray) -> Estimates:
        """The estimates of column j from shares (C, B) and counts (C, B) of its codes.

        The head of a code is the tuple of its cells, because only the schema knows their values.
        """
        cells = self.codes.maps[j, : self.codes.cells[j]]
        seen = np.flatnonzero(count.sum(axis=0) > 0)
        heads = tuple(tuple(np.flatnonzero(cells == code).tolist()) for code in seen.tolist())
        count = count[:, seen]
        return Estimates(CELLS_TABLE, heads, share[:, seen], count.sum(axis=1), count)

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        """Cells are whole numbers that the reader made, so there is nothing to check."""


def drawn_positions(mass: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n,) one position for every row of (n, B) masses, in proportion to them."""
    reached = np.cumsum(mass, axis=1)
    wanted = rng.random(len(mass)) * reached[:, -1]
    found: np.ndarray = (reached <= wanted[:, None]).sum(axis=1)
    return np.minimum(found, mass.shape[1] - 1)
