"""Readers turn the rows of a table into the block a statistic absorbs, as the schema says.

    numbers  (n, d) float64        words  Coded columns        mixed  Parts of a Product

A column the table does not have is read as missing all over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes import Columns
from verosim.axes.words import Coded
from verosim.data import cells
from verosim.data.schema import Column, Schema
from verosim.data.sources import Parts
from verosim.data.tables import Rows
from verosim.data.text import Documents
from verosim.errors import VerosimError

if TYPE_CHECKING:
    import pyarrow as pa

STRIP = 1 << 15  # cells
READ = {"date": cells.days, "boolean": cells.flags}  # all else is numbers
CLOCK = {"hour": range(24), "weekday": range(7), "month": range(1, 13)}


class Reader(ABC):
    """What of a table is read, and how."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.na = frozenset(schema.na)
        if not schema.used:
            raise no_columns(schema)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        return tuple(column.name for column in self.schema.used)

    @property
    def columns(self) -> Columns:
        """The columns of the block."""
        return Columns(len(self.names), self.names)

    @abstractmethod
    def block(self, rows: Rows) -> Any: ...

    def _array(self, rows: Rows, name: str) -> pa.Array | None:
        at = rows.batch.schema.get_field_index(name)
        return None if at < 0 else rows.batch.column(at)

    def _cells(self, rows: Rows, column: Column, read: Callable[[Any, frozenset[str]], Any]) -> Any:
        """read(array), with errors that name the column and the row; None if it is not there."""
        array = self._array(rows, column.name)
        if array is None:
            return None
        try:
            return read(array, self.na)
        except cells.Unreadable as error:
            hint = f"na=[{str(error.value)!r}] if it means missing, or " + self.other_way(column)
            raise VerosimError(
                f"Column {column.name!r}, {rows.place(error.row)}: {error.value!r} is not "
                f"{error.wanted}.",
                "write the file as UTF-8." if error.wanted == "valid UTF-8" else hint,
            ) from None

    def other_way(self, column: Column) -> str:
        """What else can be done about a column that cannot be read."""
        return f"leave it out: schema=verosim.look(…).edit({{{column.name!r}: 'ignore'}})."

    def matrix(self, rows: Rows, columns: tuple[Column, ...]) -> np.ndarray:
        """(n, d) float64, NaN where missing."""
        n = rows.batch.num_rows
        out = np.empty((n, len(columns)))
        read = []
        for column in columns:
            found = self._cells(rows, column, READ.get(column.density, cells.numbers))
            read.append(np.full(n, np.nan) if found is None else found)
        step = max(1, STRIP // max(len(columns), 1))
        for a in range(0, n, step):  # strip by strip, which stays in cache
            for j, column_cells in enumerate(read):
                out[a : a + step, j] = column_cells[a : a + step]
        return out

    def words(self, rows: Rows, columns: tuple[Column, ...]) -> Coded:
        indexes, texts = [], []
        for column in columns:
            read = self._cells(rows, column, cells.keys)
            index, found = read if read is not None else _nothing(rows.batch.num_rows)
            indexes.append(index)
            texts.append(found)
        return Coded(tuple(indexes), tuple(texts), rows.batch.num_rows)

    def documents(self, rows: Rows, column: Column) -> Documents:
        import pyarrow as pa

        array = self._array(rows, column.name)
        if array is None:
            array = pa.nulls(rows.batch.num_rows)
        if cells.kind_of_type(array.type) not in ("text", "nothing"):
            array = pa.array([cells.text_of(v) for v in array.to_pylist()], pa.large_string())
        return Documents.from_arrow(array)


def _nothing(n: int) -> tuple[np.ndarray, list[str | None]]:
    return np.zeros(n, dtype=np.int32), [None]


class NumberReader(Reader):
    """For models of numbers: every column must be one."""

    def __init__(self, schema: Schema, model: str) -> None:
        super().__init__(schema)
        for column in schema.used:
            if column.role not in ("number", "boolean"):
                raise VerosimError(
                    f"Column {column.name!r} is {a(column.role)} ({column.reason}), and {model} "
                    "needs numbers.",
                    "NaiveBayes reads tables of any kind; or leave the column out: "
                    f"schema=verosim.look(…).edit({{{column.name!r}: 'ignore'}}).",
                )

    def block(self, rows: Rows) -> np.ndarray:
        return self.matrix(rows, self.schema.used)


class WordReader(Reader):
    """For models of categories: every column is one, whatever its type."""

    def block(self, rows: Rows) -> Coded:
        return self.words(rows, self.schema.used)


class ValueReader(Reader):
    """For models of categories fitted on arrays: the values as they are."""

    def block(self, rows: Rows) -> np.ndarray:
        out = np.empty((rows.batch.num_rows, len(self.names)), dtype=object)
        for j, name in enumerate(self.names):
            out[:, j] = rows.batch.column(name).to_pylist()
        return out


class TextReader(Reader):
    """For models of one text."""

    def block(self, rows: Rows) -> Documents:
        return self.documents(rows, self.schema.used[0])


class MixedReader(Reader):
    """For naive Bayes on a table: each column to the part that has its density."""

    def __init__(self, schema: Schema, gaps: bool = False) -> None:
        super().__init__(schema)
        self.gaps = gaps  # whether what is missing is read as a column of its own
        dates = schema.of("date")
        self.numeric = {
            name: schema.of(name) + (dates if name == "gaussian" else ())
            for name in ("gaussian", "histogram", "poisson")
        }
        self.flags = schema.of("boolean")
        self.categories = schema.of("category")
        self.dates = dates
        self.texts = schema.of("text")

    def other_way(self, column: Column) -> str:
        return f"columns={{{column.name!r}: 'category'}}."

    @cached_property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The names of the columns in every part."""
        out = {name: tuple(c.name for c in columns) for name, columns in self.numeric.items()}
        out["category"] = tuple(c.name for c in self.categories) + tuple(
            self._piece(c.name, piece) for c in self.dates for piece in CLOCK
        )
        out["boolean"] = tuple(c.name for c in self.flags)
        out |= {f"text {c.name}": (c.name,) for c in self.texts}
        if self.gaps:
            out["missing"] = self.names
        return {name: columns for name, columns in out.items() if columns}

    def _piece(self, name: str, piece: str) -> str:
        """'when.hour', or another name if the table has a column of that one."""
        made = f"{name}.{piece}"
        return made if made not in self.schema.names else f"{made} of {name}"

    def block(self, rows: Rows) -> Parts:
        blocks: dict[str, Any] = {}
        for name, columns in self.numeric.items():
            if columns:
                blocks[name] = self.matrix(rows, columns)
        if "poisson" in blocks:
            self._check_counts(rows, blocks["poisson"])
        if self.categories or self.dates:
            blocks["category"] = self._categories(rows)
        if self.flags:
            blocks["boolean"] = self.matrix(rows, self.flags)
        for column in self.texts:
            blocks[f"text {column.name}"] = self.documents(rows, column)
        if self.gaps:
            blocks["missing"] = self._gaps(rows, blocks)
        return Parts({name: blocks[name] for name in self.parts})

    def _check_counts(self, rows: Rows, block: np.ndarray) -> None:
        wrong = np.argwhere((block < 0) | (block != np.floor(block)) & ~np.isnan(block))
        if len(wrong):
            i, j = (int(v) for v in wrong[0])
            name = self.numeric["poisson"][j].name
            raise VerosimError(
                f"Column {name!r}, {rows.place(i)}: {block[i, j]:g} is no count, and a Poisson "
                "column counts 0, 1, 2 …",
                f"columns={{{name!r}: 'gaussian'}} or 'histogram'.",
            )

    def _categories(self, rows: Rows) -> Coded:
        coded = self.words(rows, self.categories)
        indexes, texts = list(coded.indexes), list(coded.texts)
        for column in self.dates:
            parts = self._cells(rows, column, cells.clock)
            for piece, span in CLOCK.items():
                index, found = _nothing(rows.batch.num_rows)
                if parts is not None:
                    index = parts[piece] - np.int32(span.start)
                    index[parts[piece] < 0] = len(span)
                    found = [*map(str, span), None]
                indexes.append(index)
                texts.append(found)
        return Coded(tuple(indexes), tuple(texts), rows.batch.num_rows)

    def _gaps(self, rows: Rows, blocks: dict[str, Any]) -> np.ndarray:
        """(n, d) 1.0 where a cell is missing."""
        out = np.zeros((rows.batch.num_rows, len(self.schema.used)))
        words = {c.name: j for j, c in enumerate(self.categories)}
        for at, column in enumerate(self.schema.used):
            if column.density == "text":  # a missing text and an empty one are the same
                out[:, at] = np.diff(blocks[f"text {column.name}"].offsets) == 0
            elif column.density == "category":
                coded, j = blocks["category"], words[column.name]
                gone = np.array([text is None for text in coded.texts[j]])
                out[:, at] = gone[coded.indexes[j]]
            else:
                part = "gaussian" if column.density == "date" else column.density
                names = self.parts[part]
                out[:, at] = np.isnan(blocks[part][:, names.index(column.name)])
        return out


def a(role: str) -> str:
    return {"category": "a category", "text": "a text", "date/time": "a date"}.get(role, role)


def no_columns(schema: Schema) -> VerosimError:
    why = "; ".join(f"{c.name}: {c.reason}" for c in schema.columns[:5])
    return VerosimError(
        f"No column is left to learn from ({why or 'the table has only its target'}).",
        "columns={…} says how a column is to be read.",
    )
