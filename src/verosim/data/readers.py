"""Readers convert the rows of a table to the block that a statistic absorbs, by the schema.

    numbers  (n, d) float64        categories  CodedColumns        texts  Documents

If the table does not have a column, all its cells are missing. `verosim.kinds.reader` reads tables
with several kinds of columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from verosim.axes import Columns
from verosim.axes.capped_categories import CodedColumns
from verosim.cached import cached_property
from verosim.data import cells
from verosim.data.cell_formats import by_format, missing_texts, other_format_hint
from verosim.data.libraries import pa
from verosim.data.nodes import PROGRAM_HINT, no_program
from verosim.data.readings import (
    CellReading,
    DocumentReading,
    FlagReading,
    KeyReading,
    NumberReading,
)
from verosim.data.schema import Schema
from verosim.data.schema_columns import Column
from verosim.data.tables import Rows
from verosim.data.text import Documents
from verosim.errors import VerosimError

NOT_SUPPORTED = "is not supported"  # the end of the reason why a type is ignored
STRIP = 1 << 15  # cells
READ = {"number": cells.numbers, "boolean": cells.flags}  # the roles read as numbers
READINGS = {"number": NumberReading, "boolean": FlagReading}


class Watch(Protocol):
    """Counts cells to warn about while a table is read."""

    def see(self, name: str, index: np.ndarray, texts: list[str | None]) -> None: ...

    def see_numbers(self, name: str, array: pa.Array, numbers: np.ndarray) -> None: ...

    def report(self) -> None: ...

    def summed(self) -> dict[str, Any]:
        """The counts by column as plain data, which a worker of a cluster sends."""

    def take(self, found: Mapping[str, Any]) -> None:
        """Add the counts of workers."""


class ReadColumn(Protocol):
    """A column, and the function that reads its cells."""

    @property
    def column(self) -> Column: ...

    @property
    def read(self) -> Any: ...


class OneReading(NamedTuple):
    """A column, and the function that reads its cells."""

    column: Column
    read: Any


class NumberColumns:
    """Columns that are read as one block of numbers."""

    def __init__(self, columns: Sequence[ReadColumn]) -> None:
        self.columns = columns
        # The positions and the names of those that are plain numbers.
        self.plain = [i for i, one in enumerate(columns) if one.read is cells.numbers]
        self.names = tuple(columns[i].column.name for i in self.plain)


class Reader(ABC):
    """Reads the columns of a schema from a table."""

    watch: Watch | None = None
    reads_only_numbers = False  # whether the blocks have numbers only

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.na = frozenset(schema.na)
        if not schema.used:
            raise no_columns(schema)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        return self.schema.used_names

    @property
    def columns(self) -> Columns:
        """The columns of the block."""
        names = self.names
        return Columns(len(names), names)

    @property
    def owners(self) -> tuple[str, ...]:
        """The column of the table that each column of the block belongs to."""
        return self.names

    @property
    def readings(self) -> tuple[CellReading, ...]:
        """How each column of the block is made from typed cells, for a program."""
        raise no_program("its reader does not state its readings", PROGRAM_HINT)

    @property
    def players(self) -> tuple[str, ...]:
        """The name that an explanation gives to each column of the block.

        Columns of the block with the same name are explained together.
        """
        return tuple(self.columns)

    @property
    def players_inside(self) -> Mapping[str, tuple[str, ...]]:
        """The same for each block, if the rows are read in several ways."""
        return {}

    @abstractmethod
    def block(self, rows: Rows) -> Any: ...

    def cells_of(
        self, rows: Rows, column: Column, read: Callable[[pa.Array, frozenset[str]], Any]
    ) -> Any:
        """read(array), or None if the table lacks the column. Errors name the column and row."""
        at = rows.batch.schema.get_field_index(column.name)
        if at < 0:
            return None
        try:
            array = rows.batch.column(at)
            found = read(array, self.na | missing_texts(column, array))
        except cells.Unreadable as error:
            hint = other_format_hint(column, error.value) or (
                f"Use na=[{str(error.value)!r}] if it means missing, or fit "
                f"{self.other_way(column)}"
            )
            hint = cells.HINTS.get(error.wanted, hint)
            place = f"Column {column.name!r}, {rows.place(error.row)}"
            raise error.named(place, hint) from None
        if self.watch is not None and column.role == "category":
            self.watch.see(column.name, *found)
        elif (
            self.watch is not None
            and column.format
            and cells.is_text(array.type)
            and isinstance(found, np.ndarray)  # not read as values
        ):
            self.watch.see_numbers(column.name, array, found)
        return found

    def watched(self, watch: Watch | None) -> Self:
        """The reader itself, which from now on shows the values of categories to `watch`."""
        self.watch = watch
        return self

    def numbers_of(self, rows: Rows, wanted: NumberColumns) -> np.ndarray:
        """(n, d) the cells of columns that are numbers."""
        n, columns, at = len(rows), wanted.columns, wanted.plain
        if at:
            found, matrix = rows.number_block(wanted.names, self.na)
            if len(found) == len(columns):
                return matrix
            at = np.array(at)[found].tolist()
        rest = sorted({*range(len(columns))} - {*at})
        others = as_numbers(
            [self.cells_of(rows, columns[i].column, columns[i].read) for i in rest], n
        )
        if not at:
            return others
        out = np.empty((n, len(columns)))
        out[:, at], out[:, rest] = matrix, others
        return out

    def other_way(self, column: Column) -> str:
        """The end of a hint: how to fit so that the column is read in another way."""
        return f"with {ignored(column)} to ignore the column."


def ignored(column: Column) -> str:
    """The argument of `fit` that leaves a column out."""
    return f"schema=verosim.look(…).edit({{{column.name!r}: 'ignore'}})"


def as_numbers(columns: Sequence[np.ndarray | None], n: int) -> np.ndarray:
    """(n, d) float64 from the cells of each column, NaN where missing."""
    out = np.empty((n, len(columns)))
    step = max(1, STRIP // max(len(columns), 1))
    for a in range(0, n, step):  # a strip of rows stays in the cache
        for j, column in enumerate(columns):
            out[a : a + step, j] = np.nan if column is None else column[a : a + step]
    return out


def as_coded_columns(
    columns: Sequence[tuple[np.ndarray, list[str | None]] | None], n: int
) -> CodedColumns:
    """The texts of each column, and the index of each row into them."""
    nothing: tuple[np.ndarray, list[str | None]] = np.zeros(n, dtype=np.int32), [None]
    found = [nothing if column is None else column for column in columns]
    return CodedColumns(tuple(index for index, _ in found), tuple(texts for _, texts in found), n)


def as_documents(columns: Sequence[Documents | None], n: int) -> Documents:
    """The texts of a single column."""
    (column,) = columns
    return Documents.from_arrow(pa.nulls(n)) if column is None else column


def documents(array: pa.Array, na: frozenset[str] = frozenset()) -> Documents:
    """The cells as texts. A missing cell is an empty text."""
    if cells.kind_of_type(array.type) not in ("text", "nothing"):
        array = pa.array([cells.text_of(v) for v in array.to_pylist()], pa.large_string())
    return Documents.from_arrow(array)


class NumberReader(Reader):
    """Reads a table for a model of numbers. Every column must be a number."""

    reads_only_numbers = True

    def __init__(self, schema: Schema, model: str) -> None:
        super().__init__(schema)
        for column in schema.used:
            if column.role not in READ:
                raise VerosimError(
                    f"Column {column.name!r} is {a(column.role)} ({column.reason}), but {model} "
                    "needs numbers.",
                    "Use NaiveBayes, which reads all kinds of columns, or ignore the column: "
                    f"{ignored(column)}.",
                )

    @property
    def readings(self) -> tuple[CellReading, ...]:
        return tuple(READINGS[column.role](column.name) for column in self.schema.used)

    def block(self, rows: Rows) -> np.ndarray:
        return self.numbers_of(rows, self._reads)

    @cached_property
    def _reads(self) -> NumberColumns:
        return NumberColumns([OneReading(c, by_format(c, READ[c.role])) for c in self.schema.used])


class CategoryReader(Reader):
    """Reads a table for a model of categories. Every column is read as a category."""

    @property
    def readings(self) -> tuple[CellReading, ...]:
        return tuple(KeyReading(name) for name in self.names)

    def block(self, rows: Rows) -> CodedColumns:
        found = [self.cells_of(rows, column, cells.keys) for column in self.schema.used]
        return as_coded_columns(found, len(rows))


class ValueReader(Reader):
    """Reads a table for a model of categories that was fitted on an array: the raw values."""

    def block(self, rows: Rows) -> np.ndarray:
        out = np.empty((len(rows), len(self.names)), dtype=object)
        for j, name in enumerate(self.names):
            out[:, j] = rows.batch.column(name).to_pylist()
        return out


class TextReader(Reader):
    """Reads a table for a model of one text column. Several columns are read as one text."""

    @property
    def columns(self) -> Columns:
        return Columns(1, (" + ".join(self.names),))

    @property
    def readings(self) -> tuple[CellReading, ...]:
        return (DocumentReading(self.names),)

    def block(self, rows: Rows) -> Documents:
        found = [self.cells_of(rows, column, documents) for column in self.schema.used]
        if len(found) == 1:
            return as_documents(found, len(rows))
        return Documents.side_by_side([column for column in found if column is not None])


def a(role: str) -> str:
    """The role with its article, for messages."""
    return {"category": "a category", "text": "a text", "date/time": "a date"}.get(role, role)


def no_columns(schema: Schema) -> VerosimError:
    """The error for a schema in which every column is ignored."""
    why = "; ".join(f"{c.name}: {c.reason}" for c in schema.columns[:5])
    hint = "Give a table with other columns than its target."
    if schema.columns:
        unsupported = schema.columns[0].reason.endswith(NOT_SUPPORTED)
        hint = cells.CONVERT_HINT if unsupported else (
            f"Set how a column is read, such as columns={{{schema.columns[0].name!r}: 'category'}}."
        )  # fmt: skip
    return VerosimError(
        f"The model has no column to learn from ({why or 'the table has only its target'}).", hint
    )
