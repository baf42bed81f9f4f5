"""The columns of a design matrix as readings: numbers, flags and indicators, without gaps.

    standard  (x − mean)/deviation       score  Φ⁻¹(F(x))       filled  x
    one_of    1 for one value            others 1 for all values that are not listed

A missing cell gives 0. It has a column of its own, the flag of a missing cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from verosim.data.design_columns import FLAG_COLUMN, NUMBER_COLUMN, SCORE, DesignColumn
from verosim.data.readings import CellReading, Cells, MissingReading

CLIP = 0.005  # normal scores are those of the levels from 0.005 to 0.995


@dataclass(frozen=True, eq=False)
class _Design(CellReading):
    """A column of a design matrix from another reading."""

    of: CellReading

    @property
    def inputs(self) -> dict[str, str]:
        return self.of.inputs


@dataclass(frozen=True, eq=False)
class StandardReading(_Design):
    """(x − mean) / deviation; 0 if x is missing."""

    kind = "standard"
    mean: float
    deviation: float

    def read(self, cells: Cells) -> np.ndarray:
        return np.nan_to_num((self.of.read(cells) - self.mean) / self.deviation, nan=0.0)


@dataclass(frozen=True, eq=False)
class ScoreReading(_Design):
    """The normal score of x; 0 if x is missing."""

    kind = "score"
    quantiles: tuple[float, ...]

    def read(self, cells: Cells) -> np.ndarray:
        return np.nan_to_num(normal_scores(self.of.read(cells), self.quantiles), nan=0.0)


@dataclass(frozen=True, eq=False)
class FilledReading(_Design):
    """The number itself; 0 if it is missing."""

    kind = "filled"

    def read(self, cells: Cells) -> np.ndarray:
        return np.nan_to_num(self.of.read(cells), nan=0.0)


@dataclass(frozen=True, eq=False)
class OneOfReading(_Design):
    """1 for one text, 0 for all others."""

    kind = "one_of"
    value: str

    def read(self, cells: Cells) -> np.ndarray:
        return np.array([text == self.value for text in self.of.read(cells)], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class OthersReading(_Design):
    """1 for each text that is not listed, 0 for the listed ones and for a missing cell."""

    kind = "others"
    values: tuple[str, ...]

    def read(self, cells: Cells) -> np.ndarray:
        listed = {None, *self.values}
        return np.array([text not in listed for text in self.of.read(cells)], dtype=np.float64)


def design_readings(
    one: DesignColumn, of: CellReading, forms: tuple[str, ...], every: bool
) -> Iterator[CellReading]:
    """The readings of the columns that one column becomes, in the order of their names."""
    if one.kind == NUMBER_COLUMN:
        for form in forms:
            yield (
                ScoreReading(of, one.quantiles)
                if form == SCORE
                else StandardReading(of, one.mean, one.deviation)
            )
    elif one.kind == FLAG_COLUMN:
        yield FilledReading(of)
    else:
        yield from (OneOfReading(of, value) for value in one.shown(every))
        if one.others:
            yield OthersReading(of, one.values)
    if one.missing:
        yield MissingReading(of)


def normal_scores(x: np.ndarray, quantiles: tuple[float, ...]) -> np.ndarray:
    """(n,) Φ⁻¹(F(x)), with F the distribution that the quantiles describe.

    Equal quantiles are one value with the mean of their levels. The levels are clipped at 0.005
    and 0.995.
    """
    values, first = np.unique(np.array(quantiles), return_index=True)
    last = np.append(first[1:], len(quantiles)) - 1
    level = (first + last) / 2 / max(len(quantiles) - 1, 1)
    out: np.ndarray = ndtri(np.clip(np.interp(x, values, level), CLIP, 1 - CLIP))
    return out
