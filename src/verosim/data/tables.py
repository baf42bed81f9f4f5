"""A table as a stream of Arrow record batches with named columns.

    pandas, polars, Arrow, DuckDB, a query, files, a folder, an iterable of batches
        → names, then batches of rows

Only a few batches are in memory at a time. `adapters` and `files` make tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Protocol

import numpy as np

from verosim.cached import cached_property
from verosim.data import cells
from verosim.data.clusters import Cluster, check_same_columns, needs_all_rows
from verosim.data.exact_numbers import large_columns, may_round
from verosim.data.libraries import pa
from verosim.data.number_blocks import number_block
from verosim.data.same_rows import PassCounts
from verosim.errors import VerosimError, listed

BATCH_ROWS = 1 << 15
FIRST_LOOK_ROWS = 50_000
BATCH_CELLS = 1 << 23  # wide tables have fewer rows per batch, so that memory is bounded


@dataclass(frozen=True)
class Rows:
    """An Arrow record batch and the place where it was read."""

    batch: pa.RecordBatch
    start: int  # number of the first row in its file or table
    origin: str = ""  # for messages, such as ' of part-1.csv'
    numbers: np.ndarray | None = None  # the numbers of the rows, if some rows were left out
    share: float = 0.0  # the share of the source that was read so far, 0 if unknown

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        names: list[str] = self.batch.schema.names
        return names

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns by name."""
        schema = self.batch.schema
        return dict(zip(schema.names, schema.types, strict=True))

    def select(self, columns: list[str]) -> Rows:
        """The same rows with some columns."""
        return replace(self, batch=self.batch.select(columns))

    def first(self, most: int) -> Rows:
        """At most so many of the rows, from the first on."""
        return self if len(self) <= most else replace(self, batch=self.batch.slice(0, most))

    def take(self, at: np.ndarray) -> Rows:
        """Some of the rows. They keep their numbers."""
        return replace(self, batch=self.batch.take(at), numbers=self._numbers(at))

    def _numbers(self, at: np.ndarray) -> np.ndarray:
        return at + self.start if self.numbers is None else self.numbers[at]

    def number_block(
        self, names: Sequence[str], na: frozenset[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(positions among the names, (n, k) numbers) of the columns that are plain numbers."""
        return number_block(self.batch, names, na)

    def place(self, row: int) -> str:
        """The place of a row, for messages."""
        number = self.start + row if self.numbers is None else int(self.numbers[row])
        return f"row {number}{self.origin}"


class NumberRows(Rows):
    """Rows of an array of numbers. They become an Arrow batch only if it is needed."""

    X: np.ndarray  # (n, d) integers or floats
    columns: tuple[str, ...]

    def __init__(
        self,
        X: np.ndarray,
        columns: tuple[str, ...],
        start: int,
        numbers: np.ndarray | None = None,
    ) -> None:
        fields = vars(self)  # the value is frozen
        fields.update(X=X, columns=columns, start=start, origin="", numbers=numbers, share=0.0)

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """The rows as an Arrow batch."""
        n = len(self.X)
        cells = pa.array(np.ascontiguousarray(self.X.T).ravel(), from_pandas=True)
        arrays = [cells.slice(j * n, n) for j in range(len(self.columns))]
        return pa.record_batch(arrays, names=list(self.columns))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    @property
    def types(self) -> dict[str, pa.DataType]:
        return dict.fromkeys(self.columns, pa.from_numpy_dtype(self.X.dtype))

    def select(self, columns: list[str]) -> Rows:
        _, at = _places(tuple(columns), self.columns)
        X = self.X if at is None else self.X.take(at, axis=1)
        return NumberRows(X, tuple(columns), self.start, self.numbers)

    def first(self, most: int) -> Rows:
        if len(self) <= most:
            return self
        return NumberRows(self.X[:most], self.columns, self.start, self.numbers)

    def take(self, at: np.ndarray) -> Rows:
        return NumberRows(self.X[at], self.columns, self.start, self._numbers(at))

    def number_block(
        self, names: Sequence[str], na: frozenset[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        found, at = _places(tuple(names), self.columns)
        X = self.X if at is None else self.X.take(at, axis=1)  # the rows stay contiguous
        whole = X.dtype.kind in "iu" and may_round(X)
        X = np.asarray(X, dtype=np.float64, order="C")
        if whole:  # a closer look at the columns that a double may round
            closer = large_columns(X)
            found, X = found[~closer], X[:, ~closer]
        return found, cells.without_marks(X, na)


@lru_cache(maxsize=16)  # a model finds the same columns in the rows of every call
def _places(
    names: tuple[str, ...], columns: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray | None]:
    """The positions among the names that are columns, and their positions among the columns.

    The second is None if they are all columns in order.
    """
    if names == columns:
        return np.arange(len(names)), None
    place = {name: j for j, name in enumerate(columns)}
    at = np.array([place.get(name, -1) for name in names], dtype=np.intp)
    found = np.flatnonzero(at >= 0)
    return found, at[found]


@dataclass(frozen=True)
class NumberedColumns:
    """The columns of a table that was an array X with its labels and weights."""

    names: tuple[str, ...]  # of the columns of X, in order
    target: str
    target_type: str  # of the labels: "text", "integer" or "boolean"
    weight: str | None


@dataclass
class Table:
    """The names of the columns and a function that reads the rows.

    `read(columns)` starts to read; None means all columns. If starting is expensive, or possible
    only once, a pass continues after the rows that `head` has read. `read` contains the source, so
    a table can be pickled if its source can be pickled.
    """

    names: tuple[str, ...]
    read: Callable[[Iterable[str] | None], Iterator[Rows]] = field(repr=False)
    rows: int | None = None  # the number of rows, if known
    native: str = "arrow"  # the kind of table that `sample` returns: pandas, polars, arrow or array
    typed: bool = True  # False if all cells are text, as in CSV
    coded: bool = False  # whether the reader made dictionaries of texts that are not categories
    resumes: bool = False  # whether a pass continues after the rows that `head` has read
    once: bool = False  # whether the source can be read only once
    in_memory: bool = False  # whether all rows are already in memory
    dialect: str = ""  # what was found out about the files, such as "delimiter ';'"
    na: tuple[str, ...] = ()  # texts that mean missing here, in addition to those of the fit
    # About this number of rows from all parts of the source, if that is faster than a pass.
    read_spread: Callable[[int], Iterator[Rows]] | None = field(default=None, repr=False)
    cluster: Cluster | None = None  # where the rows are, if they are not in this process
    array: NumberedColumns | None = None  # if its columns have numbers, and not names
    # The rows of the first pass, if every pass runs a query or a stream again.
    passes: PassCounts | None = field(default=None, repr=False)
    steps: tuple[
        RowFilter, ...
    ] = ()  # what a worker does with the rows of a partition before all else
    _begun: bool = False
    _looked: tuple[list[Rows], Iterator[Rows]] | None = None
    _whole: list[Rows] | None = None  # all rows, if `head` has read them
    _first: list[Rows] = field(default_factory=list, repr=False)  # of a table in memory

    def __post_init__(self) -> None:
        check_names(self.names)

    def batches(
        self, columns: Iterable[str] | None = None, target: str | None = None
    ) -> Iterator[Rows]:
        """The rows in order. Other columns than `columns` are not read if the source allows it.

        With a target, the rows of each class are compared with those of the pass before.
        """
        rows = self._batches(columns)
        return rows if self.passes is None else self.passes.checked(rows, target)

    def _batches(self, columns: Iterable[str] | None) -> Iterator[Rows]:
        if self.cluster is not None:
            raise needs_all_rows(self.cluster)
        if self._looked is not None:
            (seen, rest), self._looked, self._whole = self._looked, None, None
            return chain(seen, rest)
        if self._whole is not None:
            whole, self._whole = self._whole, None
            return iter(whole)
        if self.once and self._begun:
            raise VerosimError(
                "This source can be read only once, and it was already read.",
                "Open the source again.",
            )
        self._begun = True
        wanted = None if columns is None else [n for n in self.names if n in columns]
        if self._first and _count(self._first) == self.rows:  # nothing is converted again
            kept = self._first if wanted is None else [rows.select(wanted) for rows in self._first]
            return iter(kept)
        return self.read(wanted)

    def __getstate__(self) -> dict[str, Any]:
        if self.once:
            raise VerosimError(
                "This table can be read only once, so it cannot be pickled.",
                "Write it to a file, or convert it to a pandas, polars or Arrow table.",
            )
        if self._looked is not None:
            raise VerosimError(
                "The first rows of this table were read and its source is still open, so it cannot "
                "be pickled.",
                "Open the source again, and pickle the table before it is read.",
            )
        return {**vars(self), "_whole": None, "_first": []}

    def spread(self, rows: int) -> list[Rows]:
        """At most this number of rows, taken from all parts of the table at equal distances.

        A part is a partition of a cluster or a row group of a file. Other tables are read once.
        """
        if self.cluster is not None:
            return _thinned(list(self.cluster.spread_rows(rows)), rows)
        if self.read_spread is not None:
            return _thinned(list(self.read_spread(rows)), rows)
        kept: list[Rows] = []
        step, done = max(1, -(-(self.rows or 0) // rows)), 0
        for part in self.batches():
            n = len(part)
            kept.append(part.take(np.arange(-done % step, n, step)))
            done += n
            while _count(kept) > 2 * rows:  # the number of rows was not known
                kept = [one.take(np.arange(0, len(one), 2)) for one in kept]
                step *= 2
        return _thinned(kept, rows)

    def filtered(self, step: RowFilter) -> Table:
        """The table without some rows. Of a table on a cluster, workers leave them out."""
        steps = self.steps if self.cluster is None else (*self.steps, step)
        # The first rows of a cluster are filtered here.
        before = self if self.cluster is None else replace(self, cluster=None)
        return replace(self.unread(), read=partial(step, before), rows=None, steps=steps)

    def unread(self) -> Table:
        """A copy of the table that has not begun to read."""
        return replace(
            self, _begun=False, _looked=None, _whole=None, _first=[], read_spread=None, passes=None
        )

    def first_of(self, name: str) -> Table:
        """The table of one column, from which a look takes the first rows."""
        return Table(
            (name,), partial(_one_column, self, name), native=self.native, typed=self.typed,
            coded=self.coded,
        )  # fmt: skip

    @property
    def place(self) -> str:
        """The engine that has the rows, or had them, for messages."""
        return "a cluster" if self.cluster is None else self.cluster.name

    def check_looked(self, names: Iterable[str]) -> None:
        """Raise an error if a column that is looked at has a type that is not supported there."""
        if self.cluster is not None:
            self.cluster.check_looked(names)

    def brought_if_small(self, most: int) -> Table:
        """The table itself, or its rows in this process if it is on a cluster and has few rows."""
        if self.cluster is None:
            return self
        first = self.head(most + 1)
        if self._whole is None:
            return self
        return self.holding([rows.batch for rows in first])

    def holding(self, batches: list[pa.RecordBatch]) -> Table:
        """The table of some of its rows, which are in this process."""
        return replace(
            self, read=partial(_selected_batches, batches), read_spread=None,
            rows=sum(batch.num_rows for batch in batches), in_memory=True, resumes=False,
            once=False, cluster=None, passes=None, steps=(), _begun=False, _looked=None,
            _whole=None, _first=[],
        )  # fmt: skip

    def elsewhere(self) -> Table:
        """The same table without its rows, for a worker that has the rows of a partition."""
        return replace(
            self, read=_rows_are_elsewhere, rows=None, in_memory=False, resumes=False, once=False,
            cluster=None, _looked=None, _whole=None, _first=[],
        )  # fmt: skip

    def with_rows(self, batches: Iterable[pa.RecordBatch], origin: str) -> Table:
        """The table of some rows, which are read once, after the steps of the table."""
        table = replace(self, read=partial(_given_batches, batches, origin), once=True, steps=())
        for step in self.steps:
            table = replace(table, read=partial(step, table), _begun=False)
        return table

    @property
    def first_by_hash(self) -> bool:
        """Whether the first rows are those with the smallest hashes of all partitions."""
        return self.cluster is not None and not self.cluster.has_order

    def head(self, rows: int) -> list[Rows]:
        """The first rows. The next pass still starts with them."""
        if self._first and _count(self._first) >= min(rows, self.rows or rows):
            return self._first
        if self.cluster is not None and self._whole is not None:
            return self._whole
        batches = self._batches(None) if self.cluster is None else self.read(None)
        out: list[Rows] = []
        for part in batches:
            if self.cluster is not None:
                check_same_columns(part.batch.schema.names, self.names, part.origin)
            out.append(part)
            if _count(out) >= rows:
                break
        else:  # these are all rows, so the next pass does not read them again
            self._whole = None if self.in_memory else out
        if self.resumes or self.once:
            self._looked = out, batches
        elif self.in_memory or self.cluster is not None:
            self._first = out
        return out


def _thinned(parts: list[Rows], most: int) -> list[Rows]:
    """The rows, or `most` of them at equal distances if there are more."""
    total, done, out = _count(parts), 0, []
    if total <= most:
        return parts
    for part in parts:
        at = np.arange(done, done + len(part))
        out.append(part.take(np.flatnonzero((at + 1) * most // total > at * most // total)))
        done += len(at)
    return out


class RowFilter(Protocol):
    """Reads the rows of a table and leaves some out. It goes to workers, so it can be pickled."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs."""

    def __call__(self, table: Table, columns: Iterable[str] | None) -> Iterator[Rows]: ...


def _one_column(table: Table, name: str, columns: Iterable[str] | None) -> Iterator[Rows]:
    if table.cluster is not None:  # the first rows
        return table.read([name])
    return (rows.select([name]) for rows in table.batches({name}))


def _rows_are_elsewhere(columns: Iterable[str] | None) -> Iterator[Rows]:
    raise AssertionError("a table without rows was read")


def _selected_batches(
    batches: list[pa.RecordBatch], columns: Iterable[str] | None
) -> Iterator[Rows]:
    wanted = None if columns is None else list(columns)
    return numbered(batch if wanted is None else batch.select(wanted) for batch in batches)


def _given_batches(
    batches: Iterable[pa.RecordBatch], origin: str, columns: Iterable[str] | None
) -> Iterator[Rows]:
    return numbered(batches, origin)


def _count(parts: Iterable[Rows]) -> int:
    """The number of rows."""
    return sum(map(len, parts))


def numbered(batches: Iterable[pa.RecordBatch], origin: str = "") -> Iterator[Rows]:
    """The record batches in slices of `rows_of_batch` rows, with the number of the first row."""
    start = 0
    for batch in batches:
        step = rows_of_batch(batch.num_columns)
        for at in range(0, batch.num_rows, step):
            part = batch.slice(at, step)
            yield Rows(part, start, origin)
            start += part.num_rows


def rows_of_batch(columns: int) -> int:
    """The largest number of rows of a batch with so many columns."""
    return min(BATCH_ROWS, max(1, BATCH_CELLS // max(columns, 1)))


def is_open_file(source: Any) -> bool:
    """Whether a source is an open file, in text or binary mode."""
    return callable(getattr(source, "read", None)) and not isinstance(source, Table) and (
        hasattr(source, "readline") or hasattr(source, "readable")
    )  # fmt: skip


def can_rewind(source: Any) -> bool:
    """Whether a source is an open file that can be read again."""
    return is_open_file(source) and hasattr(source, "seekable") and bool(source.seekable())


def check_names(names: Iterable[str]) -> None:
    """Raise an error if a name is empty or occurs twice."""
    names = list(names)
    if all(map(str.strip, names)) and len(set(names)) == len(names):
        return
    for j, name in enumerate(names):
        if not name.strip():
            raise VerosimError(
                f"Column {j + 1} of {len(names)} has an empty name.",
                "Give every column a name; write CSV files with to_csv(…, index=False).",
            )
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise VerosimError(
            f"The column names {listed(twice)} occur more than once.",
            "Give every column its own name.",
        )
