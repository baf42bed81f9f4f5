"""Readings: how the typed cells of a row become the values that the terms of a program use.

    type       cells                                       missing
    number     floats                                      NaN
    boolean    True and False                              None
    category   texts                                       None
    value      any values, compared as they are            None or NaN
    date       datetime64                                  NaT
    text       texts                                       None, the same as an empty text

A program takes typed cells. How a number is written in a file belongs to the reader of the file. A
reading gives one value per row. Readings can be nested: the flag of a missing cell reads a number.

    number   a float, NaN if it is missing         text   a text, which may be empty
    value    a value that is looked up             code   a whole number from 0
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from verosim.data.cells import text_of
from verosim.data.nodes import Node, malformed
from verosim.errors import VerosimError
from verosim.kernels.constants import DAY

Cells = Mapping[str, np.ndarray]  # the typed cells of each column
# What a reading can give.
NUMBER, VALUE, TEXT_VALUE, CODE = "number", "value", "text", "code"


@dataclass(frozen=True, eq=False)
class CellReading(Node):
    """One value per row from the cells of one or more columns."""

    gives: ClassVar[str] = NUMBER  # the type of its values

    @property
    def codes(self) -> int:
        """The number of different codes; 0 if the values are not codes."""
        return 0

    @property
    @abstractmethod
    def inputs(self) -> dict[str, str]:
        """The type of each column that is read, by the name of the column."""

    @abstractmethod
    def read(self, cells: Cells) -> np.ndarray:
        """(n,) the value of each row."""


@dataclass(frozen=True, eq=False)
class _OneColumn(CellReading):
    """A reading of one column."""

    type: ClassVar[str]
    column: str

    @property
    def inputs(self) -> dict[str, str]:
        return {self.column: self.type}

    def read(self, cells: Cells) -> np.ndarray:
        return cells[self.column]


@dataclass(frozen=True, eq=False)
class NumberReading(_OneColumn):
    """The number in the cell; NaN if it is missing."""

    kind = "number"
    type = "number"


@dataclass(frozen=True, eq=False)
class FlagReading(_OneColumn):
    """1 for true, 0 for false, NaN if the cell is missing."""

    kind = "flag"
    type = "boolean"


@dataclass(frozen=True, eq=False)
class KeyReading(_OneColumn):
    """The text of a category; None if the cell is missing."""

    kind = "key"
    gives = VALUE
    type = "category"


@dataclass(frozen=True, eq=False)
class ValueReading(_OneColumn):
    """The value in the cell, of any type; None or NaN if it is missing."""

    kind = "value"
    gives = VALUE
    type = "value"


@dataclass(frozen=True, eq=False)
class DaysReading(_OneColumn):
    """The days since 1970-01-01 00:00; NaN if the date is missing."""

    kind = "days"
    type = "date"

    def read(self, cells: Cells) -> np.ndarray:
        found = cells[self.column]
        return np.where(np.isnat(found), np.nan, found.astype(np.int64) / DAY)


@dataclass(frozen=True, eq=False)
class ClockReading(_OneColumn):
    """The hour (0 to 23), weekday (Monday is 0) or month (1 to 12) of a date, as a text."""

    kind = "clock"
    gives = VALUE
    type = "date"
    piece: str  # "hour", "weekday" or "month"

    def __post_init__(self) -> None:
        if self.piece not in ("hour", "weekday", "month"):
            raise malformed(f"{self.piece!r} is not a piece of a date")

    def read(self, cells: Cells) -> np.ndarray:
        found = cells[self.column]
        micros = found.astype(np.int64)  # // rounds down, also before 1970
        if self.piece == "hour":
            number = micros // (DAY // 24) % 24
        elif self.piece == "weekday":
            number = (micros // DAY + 3) % 7
        else:
            number = found.astype("datetime64[M]").astype(np.int64) % 12 + 1
        out = number.astype(str).astype(object)
        out[np.isnat(found)] = None
        return out


@dataclass(frozen=True, eq=False)
class DocumentReading(CellReading):
    """The texts of one or more columns, with a space between two columns."""

    kind = "document"
    gives = TEXT_VALUE
    columns: tuple[str, ...]

    @property
    def inputs(self) -> dict[str, str]:
        return dict.fromkeys(self.columns, "text")

    def read(self, cells: Cells) -> np.ndarray:
        found = [cells[name] for name in self.columns]
        if len(found) == 1:
            return found[0]
        return np.array([" ".join(row) for row in zip(*found, strict=True)], dtype=object)


@dataclass(frozen=True, eq=False)
class MissingReading(CellReading):
    """1 where another reading is missing, 0 elsewhere. An empty text is missing."""

    kind = "missing"
    of: CellReading

    @property
    def inputs(self) -> dict[str, str]:
        return self.of.inputs

    def read(self, cells: Cells) -> np.ndarray:
        return is_gap(self.of.read(cells)).astype(np.float64)


def check_gives(of: CellReading, wanted: str) -> None:
    """Raise an error if an inner reading does not give values of a type."""
    if of.gives != wanted:
        raise malformed(f"the reading {of.kind!r} gives a {of.gives}, and a {wanted} is needed")


def is_gap(values: np.ndarray) -> np.ndarray:
    """(n,) bool: where the values of a reading are missing."""
    if values.dtype == object:
        return np.array([value is None or value == "" for value in values], dtype=bool)
    return np.isnan(values)


# Typed cells --------------------------------------------------------------------------------------


def typed_column(name: str, type_: str, values: Any, n: int) -> np.ndarray:
    """(n,) the cells of a column in the form that readings use. None is a column of gaps."""
    if type_ not in CONVERT:
        raise VerosimError(
            f"Column {name!r} of the program has the unknown type {type_!r}.",
            f"Use one of {sorted(CONVERT)}.",
        )
    given = np.full(n, None, dtype=object) if values is None else np.asarray(values)
    if given.shape != (n,):
        raise VerosimError(
            f"Column {name!r} must have {n} cells, one per row; got the shape {given.shape}.",
            "Give one-dimensional columns of the same length.",
        )
    try:
        out = CONVERT[type_](given)
    except (TypeError, ValueError):
        raise VerosimError(
            f"Column {name!r} must have cells of the type {type_!r}; got {given[:3]!r:.60}.",
            "Convert the cells before they are given to the program.",
        ) from None
    if type_ == "number" and np.isinf(out).any():
        raise VerosimError(
            f"Column {name!r} contains infinity in row {int(np.argmax(np.isinf(out)))}.",
            "Replace the value by a finite number, or by a missing value.",
        )
    return out


def _numbers(given: np.ndarray) -> np.ndarray:
    return given.astype(np.float64)  # None becomes NaN


def _flags(given: np.ndarray) -> np.ndarray:
    out = _numbers(given)
    if not np.isin(out[~np.isnan(out)], (0.0, 1.0)).all():
        raise ValueError
    return out


def _keys(given: np.ndarray) -> np.ndarray:
    out = np.empty(len(given), dtype=object)
    out[:] = [text_of(value) for value in given.tolist()]
    return out


def _dates(given: np.ndarray) -> np.ndarray:
    return given.astype("datetime64[us]")


def _texts(given: np.ndarray) -> np.ndarray:
    out = np.empty(len(given), dtype=object)
    out[:] = [v if isinstance(v, str) else text_of(v) or "" for v in given.tolist()]
    return out


CONVERT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "number": _numbers,
    "boolean": _flags,
    "category": _keys,
    "value": lambda given: given,
    "date": _dates,
    "text": _texts,
}
