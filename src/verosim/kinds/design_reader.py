"""Reads a table as a design matrix: (n, p) numbers, for models of numbers.

    age, age is missing, city = Lima, city = Quito, …

The columns are read by their kinds, as for `NaiveBayes`: a date gives a number, an hour, a weekday
and a month. Texts are not read. A missing number is 0, which is its mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.axes import Columns
from verosim.axes.capped_categories import CodedColumns
from verosim.axes.value_hashes import ValueIndex
from verosim.cached import cached_property
from verosim.data.design_columns import FLAG_COLUMN, NUMBER_COLUMN, SCORE, STANDARD, DesignColumn
from verosim.data.readings import CellReading
from verosim.data.schema import Schema
from verosim.data.sources import Parts
from verosim.errors import VerosimError
from verosim.kinds.base import Part
from verosim.kinds.converted_reader import ConvertedReader
from verosim.kinds.design_readings import design_readings, normal_scores

Place = tuple[Any, int]  # a block of a part, and the number of a column in it


class DesignReader(ConvertedReader):
    """Blocks of a design matrix, by the `design` of a schema.

    `forms` are the forms of numbers: "standard", "score" or both. With `every`, also the most
    frequent value of a category has a column. Without it, that value is the one with zeros, so that
    the columns are linearly independent.
    """

    def __init__(
        self, schema: Schema, forms: tuple[str, ...] = (STANDARD,), every: bool = False
    ) -> None:
        super().__init__(schema)
        if not schema.design:
            raise VerosimError(
                "This schema has no design matrix.",
                "Use the schema_ of a model that was fitted with encode='onehot'.",
            )
        self.forms, self.every = forms, every

    @cached_property
    def columns(self) -> Columns:
        names = [n for one in self.schema.design for n in one.names(self.forms, self.every)]
        return Columns(len(names), tuple(names))

    @property
    def owners(self) -> tuple[str, ...]:
        forms, every = self.forms, self.every
        return tuple(one.column for one in self.schema.design for _ in one.names(forms, every))

    @property
    def readings(self) -> tuple[CellReading, ...]:
        parts = self.mixed.parts
        names = (name for part in parts for name in part.columns)
        found = dict(zip(names, self.mixed.readings, strict=True))
        return tuple(
            reading
            for one in self.schema.design
            for reading in design_readings(one, found[one.name], self.forms, self.every)
        )

    @property
    def players(self) -> tuple[str, ...]:
        return self.owners  # the columns of one category have a meaning only together

    def room(self, n: int) -> np.ndarray:
        return np.zeros((n, len(self.columns)))

    def convert(self, block: Parts, out: np.ndarray) -> None:
        place = placed(self.mixed.parts, block)
        fill_design(out, self.schema.design, place, self.forms, self.every)


def placed(parts: tuple[Part, ...], block: Parts) -> dict[str, Place]:
    """Where the cells of each column are, by its name."""
    return {name: (block[p.name], j) for p in parts for j, name in enumerate(p.columns)}


def design_rows(
    design: tuple[DesignColumn, ...],
    place: dict[str, Place],
    n: int,
    forms: tuple[str, ...] = (STANDARD,),
    every: bool = False,
) -> np.ndarray:
    """(n, p) the rows of the design matrix."""
    out = np.zeros((n, sum(len(one.names(forms, every)) for one in design)))
    fill_design(out, design, place, forms, every)
    return out


def fill_design(
    out: np.ndarray,
    design: tuple[DesignColumn, ...],
    place: dict[str, Place],
    forms: tuple[str, ...],
    every: bool,
) -> None:
    """Write the rows of the design matrix (n, p) into zeros."""
    widths = [len(one.names(forms, every)) for one in design]
    first = 0
    for one, width in zip(design, widths, strict=True):
        part = out[:, first : first + width]
        if one.kind == NUMBER_COLUMN:
            _fill_number(part, one, *place[one.name], forms)
        elif one.kind == FLAG_COLUMN:
            _fill_flag(part, one, *place[one.name])
        else:
            _fill_category(part, one, *place[one.name], every)
        first += width


def _fill_number(
    out: np.ndarray, one: DesignColumn, block: np.ndarray, j: int, forms: tuple[str, ...]
) -> None:
    x = block[:, j]
    gone = np.isnan(x)
    for at, form in enumerate(forms):
        z = normal_scores(x, one.quantiles) if form == SCORE else (x - one.mean) / one.deviation
        out[:, at] = np.where(gone, 0.0, z)
    if one.missing:
        out[:, -1] = gone


def _fill_flag(out: np.ndarray, one: DesignColumn, block: np.ndarray, j: int) -> None:
    gone = np.isnan(block[:, j])
    out[:, 0] = np.where(gone, 0.0, block[:, j])
    if one.missing:
        out[:, -1] = gone


def _fill_category(
    out: np.ndarray, one: DesignColumn, block: CodedColumns, j: int, every: bool
) -> None:
    """1 in the column of the value. A value without a column leaves zeros."""
    index = ValueIndex(one.shown(every))
    nowhere = out.shape[1]
    reference = ValueIndex(() if every else one.values[:1])
    other = len(index) if one.others else nowhere
    missing = nowhere - 1 if one.missing else nowhere
    table = [
        missing if t is None else nowhere if t in reference else index.get(t, other)
        for t in block.texts[j]
    ]
    code = np.array(table, dtype=np.intp)[block.indexes[j]]
    rows = np.flatnonzero(code < nowhere)
    out[rows, code[rows]] = 1.0
