"""A kind of column is one value: how its cells are read, counted, described and simulated.

    column → kind → views → parts of a Product → density

A part is a block of the rows with one statistic and one density; a kind says into which parts its
columns go. Most go into one, which all columns of the kind share. A date goes into two: as a
number beside the Gaussian columns, and as hour, weekday and month beside the categories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes import Axes
from verosim.data.column_kinds import ColumnKind
from verosim.data.libraries import pa
from verosim.data.schema import Column, Schema
from verosim.data.tables import Rows
from verosim.densities.base import Density
from verosim.stats import Statistic

Read = Callable[["pa.Array", frozenset[str]], Any]  # (cells, texts that mean missing)


@dataclass(frozen=True)
class Settings:
    """The settings of the densities; they have no influence on what is counted."""

    alpha: float = 1.0  # pseudo-count of every category, bin and token
    covariance: str = "mle"  # or "unbiased"
    floor: float = 1e-9  # least variance, in parts of the column's total variance


@dataclass(frozen=True)
class Member:
    """A column of the table in a part: under its own name, or in pieces with names of their own."""

    column: Column
    names: tuple[str, ...]
    read: Read | None  # None where the part is made from the blocks of the others
    in_pieces: bool = False  # then `read` gives the cells of every piece


@dataclass(frozen=True)
class Part:
    """Columns that share a block, a statistic and a density."""

    name: str
    kind: PartKind
    members: tuple[Member, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the block."""
        return tuple(name for member in self.members for name in member.names)

    @property
    def owners(self) -> tuple[str, ...]:
        """The column of the table that each of them belongs to."""
        return tuple(member.column.name for member in self.members for _ in member.names)


@dataclass(frozen=True, kw_only=True)
class PartKind:
    """What parts of one kind have in common."""

    name: str
    block: Callable[[Sequence[Any], int], Any]  # (cells of each column, n) → what is absorbed
    missing: Callable[[Any, int], np.ndarray]  # (block, j) → (n,) where column j is missing
    zero: Callable[[Axes, Part, Schema], Statistic]  # before the first row
    seen: Callable[[Any], np.ndarray | None]  # statistic → (C, d) weight of the cells there were
    density: Callable[[Settings], Density]
    check: Callable[[Part, Rows, Any], None] | None = None  # of the cells in the block
    alone: bool = False  # whether every column has a part to itself
    label: str = "{}"  # what a column of the part is called beside those of other parts


@dataclass(frozen=True)
class View:
    """What of a column goes into a part: its cells, or pieces made of them."""

    part: PartKind
    read: Read
    pieces: tuple[str, ...] = ()  # 'hour', 'weekday' …; none if the cells go in as they are


@dataclass(frozen=True, kw_only=True)
class Kind(ColumnKind):
    """A kind of column."""

    views: tuple[View, ...]
    sample: Callable[[Column, np.ndarray, np.ndarray | None], pa.Array]
    """(column, drawn cells, where to leave them empty) → a column in the type of the source."""
