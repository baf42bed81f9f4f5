"""Reads a table as cells: (n, d) bytes, the same for all models of dependent columns.

The columns are read by their kinds, as for `NaiveBayes`: a date gives a number, an hour, a weekday
and a month. Texts are not read. Exclusive 0/1 columns are read as one category.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from verosim import kernels
from verosim.axes import Columns
from verosim.axes.capped_categories import CodedColumns
from verosim.axes.value_hashes import ValueIndex
from verosim.cached import cached_property
from verosim.data.cell_columns import CellColumn
from verosim.data.code_readings import BinReading, PlaceReading, WhichReading
from verosim.data.readings import CellReading
from verosim.data.schema import Schema
from verosim.data.sources import Parts
from verosim.errors import VerosimError
from verosim.kinds.base import Part
from verosim.kinds.converted_reader import ConvertedReader


class CellReader(ConvertedReader):
    """Blocks of cells, by the `cells` of a schema."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        if not schema.cells:
            raise VerosimError(
                "This schema has no cells.", "Use the schema_ of a fitted AODE, KDB or TAN."
            )

    @property
    def names(self) -> tuple[str, ...]:
        found = [name for column in self.schema.cells for name in column.columns]
        return tuple(dict.fromkeys(found))  # a date has several columns of cells

    @property
    def columns(self) -> Columns:
        names = tuple(column.name for column in self.schema.cells)
        return Columns(len(names), names)

    @property
    def owners(self) -> tuple[str, ...]:
        return tuple(column.columns[0] for column in self.schema.cells)

    @property
    def readings(self) -> tuple[CellReading, ...]:
        names = (name for part in self.mixed.parts for name in part.columns)
        found = dict(zip(names, self.mixed.readings, strict=True))
        return tuple(_reading(column, found) for column in self.schema.cells)

    @cached_property
    def _finder(self) -> CellFinder:
        return CellFinder(self.schema.cells, self.mixed.parts)

    def room(self, n: int) -> np.ndarray:
        return np.empty((n, len(self.schema.cells)), dtype=np.uint8)

    def convert(self, block: Parts, out: np.ndarray) -> None:
        self._finder.fill(block, out)


def _reading(column: CellColumn, found: Mapping[str, CellReading]) -> CellReading:
    """How the cells of a column are made from the readings of the columns of the parts."""
    if not column.part:
        return WhichReading(tuple(found[name] for name in column.columns))
    if column.is_number:
        return BinReading(found[column.name], column.edges[1:-1])
    return PlaceReading.of_values(found[column.name], column.values)


# How cells are found in the blocks of the parts ---------------------------------------------------


@dataclass(frozen=True)
class _Numbers:
    """Numbers of one part: the cell is the number of inner edges up to the value."""

    part: str
    columns: np.ndarray  # (p,) in the block of the part
    edges: np.ndarray  # the inner edges of all of them
    offset: np.ndarray  # (p + 1,) where those of each column begin
    places: np.ndarray  # (p,) in the block of cells

    def find(self, block: Parts, out: np.ndarray) -> None:
        kernels.find_number_cells(
            block[self.part], self.columns, self.edges, self.offset, self.places, out
        )


@dataclass(frozen=True)
class _Category:
    """One column of texts: listed values, other values, missing."""

    part: str
    column: int
    index: ValueIndex
    place: int

    def find(self, block: Parts, out: np.ndarray) -> None:
        coded: CodedColumns = block[self.part]
        other, missing = len(self.index), len(self.index) + 1
        texts = coded.texts[self.column]
        table = [missing if text is None else self.index.get(text, other) for text in texts]
        out[:, self.place] = np.array(table, dtype=np.uint8)[coded.indexes[self.column]]


@dataclass(frozen=True)
class _Flags:
    """Exclusive 0/1 columns: the cell is the number of the column that is 1."""

    columns: tuple[tuple[str, int], ...]  # the part of each, and where it is there
    place: int

    def find(self, block: Parts, out: np.ndarray) -> None:
        parts = {part for part, _ in self.columns}
        if len(parts) == 1:
            flags, at = block[parts.pop()], np.array([j for _, j in self.columns])
        else:
            flags = np.stack([block[part][:, j] for part, j in self.columns], axis=1)
            at = np.arange(len(self.columns))
        kernels.find_group_cells(flags, at, self.place, out)


class CellFinder:
    """Finds the cells of rows in the blocks of their parts."""

    def __init__(self, columns: tuple[CellColumn, ...], parts: tuple[Part, ...]) -> None:
        self.width = len(columns)
        self._finders = list(_finders(columns, parts))

    def cells(self, block: Parts, n: int) -> np.ndarray:
        """(n, d) the cells of n rows."""
        out = np.empty((n, self.width), dtype=np.uint8)
        self.fill(block, out)
        return out

    def fill(self, block: Parts, out: np.ndarray) -> None:
        """Write the cells of some rows."""
        for finder in self._finders:
            finder.find(block, out)


def _finders(
    columns: tuple[CellColumn, ...], parts: tuple[Part, ...]
) -> Iterator[_Numbers | _Category | _Flags]:
    where = {name: (part.name, j) for part in parts for j, name in enumerate(part.columns)}
    numbers: dict[str, list[tuple[int, int, np.ndarray]]] = {}
    for place, column in enumerate(columns):
        if not column.part:
            yield _Flags(tuple(where[name] for name in column.columns), place)
            continue
        part, j = where[column.name]
        if column.is_number:
            numbers.setdefault(part, []).append((j, place, np.array(column.edges[1:-1])))
        else:
            yield _Category(part, j, ValueIndex(column.values), place)
    for part, found in numbers.items():
        at, places, edges = zip(*found, strict=True)
        offset = np.concatenate([[0], np.cumsum([len(e) for e in edges])])
        yield _Numbers(
            part, np.array(at), np.concatenate([*edges, np.empty(0)]), offset, np.array(places)
        )
