"""Columns as cells: every value of a column has a small number, chosen without labels.

A number has the number of its bin, a category the number of its value, and a group of exclusive
0/1 columns the number of the column that is 1. The last cell means missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes.value_hashes import HashedText
from verosim.cached import cached_property

MOST_NUMBER_CELLS = 240  # 5 and 12 divide it, so coarser bins are unions of cells
MOST_CATEGORY_CELLS = 250


@dataclass(frozen=True)
class CellColumn:
    """One column of cells, and how its cells are found."""

    name: str
    columns: tuple[str, ...]  # of the table: several for a group of exclusive 0/1 columns
    part: str  # the part of the row that has its values; "" for such a group
    edges: tuple[float, ...] = ()  # of the bins of a number, outer edges included
    values: tuple[HashedText, ...] = ()  # of a category; a hash if its rows were forgotten
    declared: bool = False  # whether the user has declared the values

    @property
    def is_number(self) -> bool:
        """Whether cells are bins of numbers, in their order."""
        return bool(self.edges)

    @cached_property
    def known(self) -> int:
        """The number of cells, without those for other values and for missing ones."""
        if self.is_number:
            return max(len(self.edges) - 1, 1)
        return len(self.values) if self.part else len(self.columns)

    @cached_property
    def size(self) -> int:
        """The number of cells. Values that were not listed have one, missing values the last."""
        return self.known + (1 if self.is_number else 2)

    @cached_property
    def widths(self) -> np.ndarray:
        """(size,) the widths of the bins of a number, 0 for missing and for other cells."""
        out = np.zeros(self.size)
        if len(self.edges) > 1:
            out[:-1] = np.diff(self.edges)
        return out


@dataclass(frozen=True)
class Structure:
    """What a model of dependent columns settles before it counts: bins and parents."""

    bins: tuple[tuple[int, ...], ...]  # for every column, the code of each of its cells
    parents: tuple[tuple[int, ...], ...] = ()  # for every column, the numbers of its parents

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Structure:
        return cls(*(tuple(tuple(one) for one in raw[name]) for name in ("bins", "parents")))
