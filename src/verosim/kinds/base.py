"""A kind of column: one value that defines how cells are read, counted, modelled and sampled.

    column → kind → views → parts of a Product → density

A part is a block of columns with one statistic and one density. A kind defines the parts of its
columns. Most kinds have one part, which all columns of the kind share. A date with a trend has two
parts: it is a number among the Gaussian columns, and hour, weekday and month among the categories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from verosim.axes import Axes
from verosim.cached import cached_property
from verosim.data.cell_formats import Read
from verosim.data.column_kinds import KindDescription
from verosim.data.libraries import pa
from verosim.data.readers import NumberColumns
from verosim.data.readings import CellReading
from verosim.data.schema import Schema
from verosim.data.schema_columns import Column
from verosim.data.tables import Rows
from verosim.densities.base import Density
from verosim.stats import Statistic


@dataclass(frozen=True)
class Settings:
    """The settings of the densities. They do not change the statistics."""

    alpha: float = 1.0  # pseudo-count of every category, bin and token
    covariance: str = "mle"  # or "unbiased"
    floor: float = 1e-9  # minimum variance, as a fraction of the total variance of the column
    never: float = 0.0  # with α = 0, the share of a category that a class never had


class Member(NamedTuple):
    """A column of the table in a part: under its own name, or as pieces with other names."""

    column: Column
    names: tuple[str, ...]
    read: Read | None  # None if the part is made from the blocks of other parts
    in_pieces: bool = False  # if True, `read` gives the cells of every piece
    view: View | None = None

    @property
    def readings(self) -> tuple[CellReading, ...] | None:
        """How typed cells become the cells of each name, for a program. The kind may have none."""
        if self.view is None or self.view.readings is None:
            return None
        return self.view.readings(self.column.name)


@dataclass(frozen=True)
class Part:
    """Columns that share a block, a statistic and a density."""

    name: str
    kind: PartKind
    members: tuple[Member, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the block."""
        return tuple(name for member in self.members for name in member.names)

    @cached_property
    def numbers(self) -> NumberColumns:
        """The columns of a block of numbers."""
        return NumberColumns(self.members)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """The column of the table for each column of the block."""
        return tuple(member.column.name for member in self.members for _ in member.names)


@dataclass(frozen=True, kw_only=True)
class PartKind:
    """The functions that all parts of one kind share."""

    name: str
    block: Callable[[Sequence[Any], int], Any]  # (cells of each column, n) → block
    missing: Callable[[Any, int], np.ndarray]  # (block, j) → (n,) where column j is missing
    zero: Callable[[Axes, Part, Schema], Statistic]  # the statistic before the first row
    seen: Callable[[Any], np.ndarray | None]  # statistic → (C, d) weight of the present cells
    density: Callable[[Settings], Density]
    check: Callable[[Part, Rows, Any], None] | None = None  # a check of the cells of the block
    alone: bool = False  # whether every column has its own part
    label: str = "{}"  # the name of a column of the part, next to the columns of other parts


@dataclass(frozen=True)
class View:
    """The data of a column in one part: its cells, or pieces that are computed from them."""

    part: PartKind
    read: Read
    pieces: tuple[str, ...] = ()  # 'hour', 'weekday' …; empty if the cells are used directly
    # The name of a column → how its typed cells become the cells of each piece, for a program.
    readings: Callable[[str], tuple[CellReading, ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class Kind(KindDescription):
    """A kind of column."""

    views: tuple[View, ...]
    sample: Callable[[Column, np.ndarray, np.ndarray | None], pa.Array]
    """(column, sampled cells, where cells are missing) → a column in the type of the source."""
