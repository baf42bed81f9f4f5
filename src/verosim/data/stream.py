"""A table as a source of batches: rows with their classes and weights, one chunk at a time.

The classes of a stream are not known before it is read. Every batch has its own labels, and the
statistic that absorbs the batch adds the new classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeGuard

import numpy as np

from verosim.axes.groups import kind_of
from verosim.axes.state_checks import LARGEST_INTEGER
from verosim.data import cells
from verosim.data.batch import UNWEIGHTED, Batch
from verosim.data.declared_values import check_declared
from verosim.data.labels import array_of_labels, continuous_label, missing_labels
from verosim.data.schema import Schema
from verosim.data.source import MANY, Chunk, RowSource
from verosim.data.tables import FIRST_LOOK_ROWS, Rows, Table
from verosim.data.weights import WEIGHTS_HINT, WRITTEN_WEIGHTS_HINT
from verosim.errors import VerosimError

if TYPE_CHECKING:
    from verosim.data.blocks import Folds
    from verosim.data.clusters import Cluster
    from verosim.data.readers import Reader

LABEL_HINT = "Use texts, whole numbers or booleans as labels."


@dataclass(frozen=True, eq=False)
class TableSource(RowSource):
    """The rows of a table, read by a reader.

    `target` is the name of a column, or one label per row. `weights` is the name of a column, or
    one weight per row. With `folds`, the groups are class × fold.
    """

    table: Table
    reader: Reader
    target: Any = None
    weights: Any = None
    folds: Folds | None = None
    ready: tuple[TableChunk, ...] = ()  # the rows, if they were already read and converted
    left_out: TableSource | None = None  # rows of the table that sums leave out
    keep: tuple[str, ...] = ()  # columns that are read in addition
    with_cells: bool = True  # False if the columns of the reader are not read

    X = None

    def __post_init__(self) -> None:
        for given, what in self._given():
            if self.rows is not None:
                check_length(len(given), self.rows, what)

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names

    @property
    def schema(self) -> Schema:
        """How the columns are read."""
        return self.reader.schema

    @property
    def owners(self) -> Any:
        """The column of the table from which each column of the model is made."""
        return self.reader.owners

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in memory, and not in a file or a query."""
        return self.table.in_memory

    @property
    def passes(self) -> int:
        return 1 if self.table.once else MANY

    @property
    def numbered(self) -> bool:
        """Rows in this process are numbered as they are read, those of a cluster are not."""
        return self.cluster is None

    @property
    def cluster(self) -> Cluster | None:
        """Where the rows are; None if they are in this process."""
        return None if self.ready else self.table.cluster

    def folded(self, folds: Folds) -> Self:
        """The same rows with folds."""
        return replace(self, folds=folds, ready=())

    def report(self) -> None:
        """Warn about values that the model had not seen, after a pass."""
        if self.reader.watch is not None:
            self.reader.watch.report()

    def without(self, part: TableSource | None) -> Self:
        """The same rows, of which sums leave out a part."""
        return replace(self, left_out=part)

    def read_by(self, reader: Reader) -> Self:
        """The same rows, which another reader reads."""
        return replace(self, reader=reader)

    def keeping(self, column: str) -> Self:
        """The same rows with one more column, which the model does not read."""
        return replace(self, keep=(*self.keep, column))

    def _given(self) -> Iterator[tuple[Any, str]]:
        """The arrays that were given next to the table, with one entry per row."""
        for given, what in (
            (self.target, "labels"), (self.weights, "weights"), (self.folds, "fold numbers"),
        ):  # fmt: skip
            if _row_by_row(given):
                yield given, what

    @property
    def rows(self) -> int | None:
        return self.table.rows

    def wanted(self) -> set[str]:
        """The columns that are read."""
        named = {name for name in (self.target, self.weights) if isinstance(name, str)}
        if self.folds is not None:
            named |= set(self.folds.columns)
        return {*(self.reader.names if self.with_cells else ()), *named, *self.keep}

    def only(self, column: str) -> Self:
        """The same rows with one column next to the labels and weights, for a pass over it."""
        return replace(self.bare(), keep=(column,))

    def bare(self) -> Self:
        """The same rows with their labels and weights only."""
        return replace(self, keep=(), with_cells=False, folds=None, ready=(), left_out=None)

    def elsewhere(self) -> TableSource:
        """The same source without its rows, for a worker that has the rows of a partition."""
        for _, what in self._given():
            assert self.table.cluster is not None
            raise VerosimError(
                f"The {what} are an array, but the rows are on {self.table.cluster.name}, where "
                "they have no numbers.",
                f"Give the {what} as a column of the table.",
            )
        return replace(self, table=self.table.elsewhere(), ready=(), left_out=None)

    def first(self, rows: int) -> list[TableChunk]:
        """The first rows as chunks. They can be read again."""
        return list(self._cut(self.table.head(rows)))

    def readable_again(self) -> Self:
        """The source itself, or its first rows if it can be read only once."""
        if not self.table.once:
            return self
        return self.holding(chunk.converted() for chunk in self.first(FIRST_LOOK_ROWS))

    def held(self) -> Self:
        """The same rows in memory, with the columns that are read."""
        target = self.target if isinstance(self.target, str) else None
        read = list(self.table.batches(self.wanted(), target))
        table = replace(
            self.table, read=lambda _: iter(read), rows=sum(map(len, read)), resumes=False,
            once=False, _looked=None,
        )  # fmt: skip
        return replace(self, table=table)

    def weighted(self, weights: np.ndarray) -> Self:
        """The same rows with other weights."""
        return replace(self, weights=weights)

    @property
    def cells(self) -> float | None:
        """The number of cells, if it is known before they are read."""
        return None if self.rows is None else self.rows * len(self.reader.columns)

    def with_rows(self, batches: list[Any], target: Any, weights: Any) -> Self:
        """A source like this one, of some of its rows, with their labels and weights."""
        return type(self)(self.table.holding(batches), self.reader, target, weights)

    def holding(self, chunks: Iterable[TableChunk]) -> Self:
        """The same source with its rows in memory, as these chunks."""
        return replace(self, ready=tuple(chunks))

    def chunks(self) -> Iterator[TableChunk]:
        """The chunks of the table. They are read here and converted when `batch` is called."""
        if self.ready:
            yield from self.ready
            return
        done = 0
        for chunk in self.pieces(self.wanted()):
            done += len(chunk)
            yield chunk
        for given, what in self._given():
            check_length(len(given), done, what)

    def pieces(self, columns: set[str]) -> Iterator[TableChunk]:
        """The chunks with the given columns only."""
        target = self.target if isinstance(self.target, str) else None
        return self._cut(self.table.batches(columns, target))

    def _cut(self, pieces: Iterable[Rows]) -> Iterator[TableChunk]:
        done = 0
        for rows in pieces:
            n = len(rows)
            labels, weights, folds = (
                given[done : done + n] if _row_by_row(given) else given
                for given in (self.target, self.weights, self.folds)
            )
            if n:
                yield TableChunk(rows, self.reader, labels, weights, folds, done)
            done += n


def rows_of_table(
    table: Table,
    reader: Reader,
    target: Any = None,
    weights: Any = None,
    ready: tuple[TableChunk, ...] = (),
    keep: tuple[str, ...] = (),
) -> RowSource:
    """The source of the rows of a table.

    `target` and `weights` are names of columns or have one value per row. `ready` are the rows, if
    they were already converted, and `keep` are columns that are read in addition.
    """
    return TableSource(table, reader, target, weights, ready=ready, keep=keep)


def _row_by_row(given: Any) -> TypeGuard[Any]:
    """Whether an argument has one entry per row; the others are names or rules."""
    return not isinstance(given, str) and hasattr(given, "__len__")


@dataclass(frozen=True)
class TableChunk(Chunk):
    """Some rows of a table, to be converted to a batch by a worker."""

    rows: Rows
    reader: Reader
    target: Any
    weights: Any
    folds: Folds | None = None
    first: int = 0  # the number of its first row in the table
    made: Batch | None = None  # the batch, if it was already made

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def numbers(self) -> np.ndarray:
        return np.arange(self.first, self.first + len(self))

    @property
    def share(self) -> float:
        """The share of the source that was read so far, 0 if unknown."""
        return self.rows.share

    def batches(self) -> Iterator[Batch]:
        yield self.batch()

    def block(self) -> Any:
        return self.reader.block(self.rows)

    def row_weights(self) -> np.ndarray:
        """(n,) the weights of all rows; empty if all are 1."""
        return weights_of(self.weights, self.rows)

    def folds_of(self, block: Any) -> np.ndarray:
        """(n,) the fold of each row, or its block of folds."""
        assert self.folds is not None
        return self.folds.of(self.rows, block)

    def converted(self) -> TableChunk:
        """The chunk with its batch."""
        return replace(self, made=self.batch())

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """(codes (n,), sorted labels) of all rows of the chunk."""
        return target_codes(self.target, self.rows, self.reader.schema)

    def batch(self) -> Batch:
        """The rows as a batch with its own labels. Rows of zero weight are left out."""
        if self.made is not None:
            return self.made
        rows, target, folds = self.rows, self.target, self.folds
        weights = self.row_weights()
        numbers: range | np.ndarray = range(rows.start, rows.start + len(self))
        kept = self.kept(weights)
        if len(kept) < len(self):
            numbers = kept + rows.start
            rows = rows.take(kept)
            target = target if isinstance(target, str) else target[kept]
            folds = folds[kept] if _row_by_row(folds) else folds
            weights = weights[kept] if len(weights) else weights
        codes, labels = target_codes(target, rows, self.reader.schema)
        block = self.reader.block(rows)
        check_declared(rows, self.reader.schema)
        groups = codes if folds is None else codes * np.int32(folds.count) + folds.of(rows, block)
        return Batch(block, groups, weights, numbers, labels, rows.origin)


def check_length(given: int, rows: int, what: str) -> None:
    """Raise an error if there is not one entry per row."""
    if given != rows:
        raise VerosimError(
            f"X has {rows} rows and there are {given} {what}: inconsistent lengths.",
            f"Give {what} for all rows of X and for no others.",
        )


def target_codes(target: Any, rows: Rows, schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """(codes (n,) int32, sorted labels) of some rows."""
    if not isinstance(target, str):  # the labels are already encoded
        return target.codes, target.labels
    try:
        index, texts = cells.keys(rows.batch.column(target), frozenset(schema.na), exact=True)
    except cells.Unreadable as error:
        raise error.named(f"The target {target!r}, {rows.place(error.row)}", LABEL_HINT) from None
    missing = np.flatnonzero(cells.is_gone(index, texts))
    if len(missing):
        raise missing_labels(target, rows.place(int(missing[0])), len(missing), len(index))
    present = np.zeros(len(texts), dtype=bool)
    present[index] = True
    at = np.flatnonzero(present)
    found = []
    for i in at:
        try:
            found.append(as_label(str(texts[i]), schema.target_type))
        except (ValueError, KeyError):
            place = rows.place(int(np.argmax(index == i)))
            raise _unreadable_label(target, texts[i], place, schema) from None
    labels, inverse = np.unique(array_of_labels(found), return_inverse=True)
    table = np.zeros(len(texts), dtype=np.int32)
    table[at] = inverse
    return table[index], labels


def kind_of_labels(classes: np.ndarray) -> str:
    """The type that labels have in a table: "integer", "boolean" or "text"."""
    kinds = {"booleans": "boolean", "integers": "integer", "floats": "integer"}
    return kinds.get(kind_of(classes) or "", "text")


def as_label(text: str, kind: str) -> Any:
    """The label that a text means: an integer, a boolean or the text."""
    if kind == "integer":
        whole = cells.WHOLE_PATTERN.fullmatch(text)
        written = whole[1] if whole else text
        label = int(written)
        if str(label) != written or abs(label) >= LARGEST_INTEGER:  # 007 is not the label 7
            raise ValueError(text)
        return label
    if kind == "boolean":
        return {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}[
            text
        ]
    return text


class UnreadableLabel(VerosimError):
    """A label cannot have the type of the labels that were seen first."""


def _unreadable_label(target: str, text: Any, place: str, schema: Schema) -> VerosimError:
    fraction = cells.NUMBER_PATTERN.fullmatch(str(text)) and float(str(text)) % 1
    if schema.target_type == "integer" and fraction:
        return continuous_label(f"the target {target!r} is {text} in {place}")
    return UnreadableLabel(
        f"The target {target!r} is {text!r} in {place}, but it is {schema.target_type} in all of "
        f"the first {schema.looked:,} rows.",
        f"Read the labels as text: schema=verosim.look(…, columns={{{target!r}: 'category'}}).",
    )


def weights_of(weights: Any, rows: Rows) -> np.ndarray:
    """(n,) weights of some rows, after a check; empty if all weights are one."""
    if weights is None:
        return UNWEIGHTED
    if not isinstance(weights, str):
        return weights
    try:
        out = cells.numbers(rows.batch.column(weights), near=True)
    except cells.Unreadable as error:
        raise VerosimError(
            f"The weight {weights!r} is {error.value!r} in {rows.place(error.row)}, which is not a "
            "number.",
            WRITTEN_WEIGHTS_HINT,
        ) from None
    bad = np.flatnonzero(~np.isfinite(out) | (out < 0))
    if len(bad):
        i = int(bad[0])
        raise VerosimError(
            f"The weight {weights!r} is {out[i]:g} in {rows.place(i)}.",
            WEIGHTS_HINT,
        )
    return out


@dataclass(frozen=True)
class EncodedLabels:
    """Labels that were given next to the table. They are sliced together with the rows."""

    codes: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, at: Any) -> EncodedLabels:
        return EncodedLabels(self.codes[at], self.labels)
