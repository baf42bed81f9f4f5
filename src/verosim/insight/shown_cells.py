"""The cells of explained rows, as a person would write them.

The rows stay in the form in which they were read. A cell is converted only when it is shown.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes.capped_categories import CodedColumns
from verosim.data import Documents, SparseRows
from verosim.data.readers import Reader
from verosim.data.tables import Rows
from verosim.kinds.converted_reader import ConvertedReader
from verosim.kinds.missing import MISSING
from verosim.kinds.reader import MixedReader

LONGEST_VALUE = 40  # letters
MISSING_VALUE = "missing"


def shown_value(value: Any) -> str:
    """A value as a person would write it: texts in quotation marks, numbers with few digits."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return MISSING_VALUE
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        cut = value if len(value) <= LONGEST_VALUE else value[: LONGEST_VALUE - 1] + "…"
        return f"'{cut}'"
    if isinstance(value, float):
        return f"{value:.6g}".replace("-", "−")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value).replace("-", "−")
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return str(value)


class ShownCells(ABC):
    """The cells of some rows, by the number of the row and of the player."""

    @abstractmethod
    def value(self, row: int, player: int) -> Any:
        """The value of a cell; None if it is missing."""

    @abstractmethod
    def rows(self, at: np.ndarray) -> ShownCells:
        """The cells of some of the rows."""

    @abstractmethod
    def of_columns(self, names: tuple[str, ...]) -> ShownCells:
        """The cells of columns of the table, in place of parts of columns."""


@dataclass(frozen=True, eq=False)
class ArrayCells(ShownCells):
    """The cells of rows that were given as an array."""

    block: Any  # (n, d) numbers or values, sparse rows, or texts
    at: np.ndarray  # (n,) the rows that are shown

    def value(self, row: int, player: int) -> Any:
        i = int(self.at[row])
        if isinstance(self.block, Documents):
            return document_text(self.block, i)
        if isinstance(self.block, SparseRows):
            return self.block.take(np.array([i]))[0, player]
        found = np.asarray(self.block[i]).reshape(-1)
        return found[player]

    def rows(self, at: np.ndarray) -> ArrayCells:
        return ArrayCells(self.block, self.at[at])

    def of_columns(self, names: tuple[str, ...]) -> ArrayCells:
        return self


@dataclass(frozen=True, eq=False)
class TableCells(ShownCells):
    """The cells of rows of a table, in the pieces in which it was read."""

    pieces: Sequence[Rows]
    first: np.ndarray  # (m + 1,) the number of the first row of each piece
    reader: Reader
    players: tuple[str, ...]
    owners: tuple[str, ...]  # the column of the table for each player
    at: np.ndarray  # (n,) the rows that are shown

    def value(self, row: int, player: int) -> Any:
        i = int(self.at[row])
        piece = int(np.searchsorted(self.first, i, side="right")) - 1
        rows, place = self.pieces[piece], i - int(self.first[piece])
        name = self.owners[player]
        if self.players[player] != name:
            found = self._piece(rows, place, self.players[player])
            if found is not NOT_FOUND:
                return found
        if name not in rows.batch.schema.names:
            return None
        value = rows.batch.column(name)[place].as_py()
        return None if value in self.reader.na or value == "" else value

    def _piece(self, rows: Rows, place: int, player: str) -> Any:
        """The value of a part of a column, such as the hour of a date."""
        reader = self.reader.mixed if isinstance(self.reader, ConvertedReader) else self.reader
        if not isinstance(reader, MixedReader) or player not in reader.players:
            return NOT_FOUND
        one = Rows(rows.batch.slice(place, 1), rows.start + place, rows.origin)
        block, j = reader.block(one), reader.players.index(player)
        for part in reader.parts:
            if j < len(part.columns):
                found = _cell_of(block[part.name], j)
                return bool(found) if part.kind == MISSING else found
            j -= len(part.columns)
        return NOT_FOUND

    def rows(self, at: np.ndarray) -> TableCells:
        return TableCells(
            self.pieces, self.first, self.reader, self.players, self.owners, self.at[at]
        )

    def of_columns(self, names: tuple[str, ...]) -> TableCells:
        return TableCells(self.pieces, self.first, self.reader, names, names, self.at)


NOT_FOUND = object()


def _cell_of(block: Any, j: int) -> Any:
    """The cell of column j of a block of one row."""
    if isinstance(block, CodedColumns):
        text = block.texts[j][int(block.indexes[j][0])]
        return int(text) if text is not None and text.isdecimal() else text
    if isinstance(block, np.ndarray):
        return block[0, j]
    return NOT_FOUND


def document_text(block: Documents, i: int) -> str:
    """The i-th text."""
    return bytes(block.data[block.offsets[i] : block.offsets[i + 1]]).decode(errors="replace")
