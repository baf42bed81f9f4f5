"""The columns of a design matrix as readings: numbers, flags and indicators, without gaps.

    standard  (x − mean)/deviation       score  Φ⁻¹(F(x))       filled  x
    one_of    1 for one value            others 1 for all values that are not listed

A missing cell gives 0. It has a column of its own, the flag of a missing cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from verosim.axes.value_hashes import value_hash
from verosim.data.design_columns import FLAG_COLUMN, NUMBER_COLUMN, SCORE, DesignColumn
from verosim.data.nodes import malformed
from verosim.data.readings import (
    NUMBER,
    VALUE,
    CellReading,
    Cells,
    MissingReading,
    check_gives,
)

CLIP = 0.005  # normal scores are those of the levels from 0.005 to 0.995


@dataclass(frozen=True, eq=False)
class _Design(CellReading):
    """A column of a design matrix from another reading."""

    takes: ClassVar[str] = NUMBER  # what the other reading must give
    of: CellReading

    def __post_init__(self) -> None:
        check_gives(self.of, self.takes)

    @property
    def inputs(self) -> dict[str, str]:
        return self.of.inputs


@dataclass(frozen=True, eq=False)
class StandardReading(_Design):
    """(x − mean) / deviation; 0 if x is missing."""

    kind = "standard"
    mean: float
    deviation: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.deviation > 0:
            raise malformed(f"the deviation {self.deviation} is not above 0")

    def read(self, cells: Cells) -> np.ndarray:
        return np.nan_to_num((self.of.read(cells) - self.mean) / self.deviation, nan=0.0)


@dataclass(frozen=True, eq=False)
class ScoreReading(_Design):
    """The normal score of x; 0 if x is missing."""

    kind = "score"
    quantiles: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.quantiles:
            raise malformed("a normal score has no quantiles")

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
    """1 for one text, 0 for all others. If its rows were forgotten, only its hash is known."""

    kind = "one_of"
    takes = VALUE
    value: str
    hashed: bool = False

    def read(self, cells: Cells) -> np.ndarray:
        texts = self.of.read(cells)
        found = (_hash(text) for text in texts) if self.hashed else texts
        return np.array([text == self.value for text in found], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class OthersReading(_Design):
    """1 for each text that is not listed, 0 for the listed ones and for a missing cell."""

    kind = "others"
    takes = VALUE
    values: tuple[str, ...]
    hashes: tuple[str, ...] = ()  # of listed texts, the rows of which were forgotten

    def read(self, cells: Cells) -> np.ndarray:
        listed = {None, *self.values}
        found = [
            text not in listed and _hash(text) not in self.hashes for text in self.of.read(cells)
        ]
        return np.array(found, dtype=np.float64)


def _hash(text: str | None) -> str:
    """The hash of a text in 16 hexadecimal digits; an empty text for a missing cell."""
    return "" if text is None else f"{value_hash(text):016x}"


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
        for value in one.shown(every):
            if isinstance(value, str):
                yield OneOfReading(of, value)
            else:
                yield OneOfReading(of, f"{value:016x}", hashed=True)
        if one.others:
            texts = tuple(value for value in one.values if isinstance(value, str))
            hashes = tuple(f"{value:016x}" for value in one.values if not isinstance(value, str))
            yield OthersReading(of, texts, hashes)
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
