"""A table as a stream of Arrow record batches, whose columns have names.

    pandas, polars, Arrow, DuckDB, a query, files, a folder, an iterable of batches
        → names, then batches of rows

No more than a few batches are in memory at a time. `adapters` and `files` make them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from verosim.data.libraries import pa
from verosim.errors import VerosimError, listed

BATCH_ROWS = 1 << 15


@dataclass(frozen=True)
class Rows:
    """A few rows on their way: an Arrow record batch, and where it was read."""

    batch: pa.RecordBatch
    start: int  # number of the first row in its file or table
    origin: str = ""  # ' of part-1.csv', for messages
    numbers: np.ndarray | None = None  # of the rows, where some were left out

    def place(self, row: int) -> str:
        number = self.start + row if self.numbers is None else int(self.numbers[row])
        return f"row {number}{self.origin}"


@dataclass
class Table:
    """Names of the columns and a way to read them.

    `read(columns)` starts reading, with None for all columns. Where starting is dear, or can be
    done only once, a pass goes on from where the first look stopped. `read` is a value that holds
    the source: a table pickles if its source does.
    """

    names: tuple[str, ...]
    read: Callable[[Iterable[str] | None], Iterator[Rows]] = field(repr=False)
    rows: int | None = None  # where known
    native: str = "arrow"  # what `sample` gives back: pandas, polars, arrow or array
    typed: bool = True  # False where all cells are text, as in CSV
    coded: bool = False  # whether words come as dictionaries that only the reader made
    resumes: bool = False
    once: bool = False  # and cannot be read again
    in_memory: bool = False  # whether the source holds all rows already
    _begun: bool = False
    _looked: tuple[list[Rows], Iterator[Rows]] | None = None

    def __post_init__(self) -> None:
        check_names(self.names)

    def batches(self, columns: Iterable[str] | None = None) -> Iterator[Rows]:
        """The rows, in order. `columns` leaves the others unread where the source allows it."""
        if self._looked is not None:
            (seen, rest), self._looked = self._looked, None
            return chain(seen, rest)
        if self.once and self._begun:
            raise VerosimError(
                "This source can be read only once, and it was.",
                "open it again: a generator, a reader or a cursor runs out.",
            )
        self._begun = True
        return self.read(None if columns is None else [n for n in self.names if n in columns])

    def __getstate__(self) -> dict[str, Any]:
        if self.once:
            raise VerosimError(
                "This table can be read only once, so it cannot be pickled.",
                "write it to a file, or make a pandas, polars or Arrow table of it.",
            )
        if self._looked is not None:
            raise VerosimError(
                "The first rows of this table were read and the rest is still open, so it cannot "
                "be pickled.",
                "open the source again, and pickle the table before it is read.",
            )
        return vars(self).copy()

    def head(self, rows: int) -> list[Rows]:
        """The first rows, without losing them."""
        batches = self.batches()
        out: list[Rows] = []
        count = 0
        for part in batches:
            out.append(part)
            count += part.batch.num_rows
            if count >= rows:
                break
        if self.resumes or self.once:
            self._looked = out, batches
        return out


def numbered(batches: Iterable[pa.RecordBatch], origin: str = "") -> Iterator[Rows]:
    """Record batches cut to size, their rows counted from the first."""
    start = 0
    for batch in batches:
        for at in range(0, batch.num_rows, BATCH_ROWS):
            part = batch.slice(at, BATCH_ROWS)
            yield Rows(part, start, origin)
            start += part.num_rows


def check_names(names: Iterable[str]) -> None:
    names = list(names)
    for j, name in enumerate(names):
        if not str(name).strip():
            raise VerosimError(
                f"Column {j + 1} of {len(names)} has an empty name.",
                "name every column; a pandas index saved to CSV has none: to_csv(…, index=False).",
            )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise VerosimError(
            f"The column names {listed(twice)} occur more than once.", "rename the second one."
        )
