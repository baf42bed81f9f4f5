"""A table as a source of batches: rows, their classes and their weights, a piece at a time.

The classes of a stream are not known beforehand: every batch brings the labels it has, and the
statistic that absorbs it makes room for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np

from verosim.data import cells
from verosim.data.batch import UNWEIGHTED, Batch
from verosim.data.folds import GivenFolds, TableFolds
from verosim.data.readers import Reader
from verosim.data.schema import Schema
from verosim.data.tables import Rows, Table
from verosim.errors import VerosimError


@dataclass(frozen=True, eq=False)
class TableSource:
    """Rows of a table as a reader reads them.

    `target` is the name of a column or one label a row; so are `weights`. With `folds`, groups
    are class × fold.
    """

    table: Table
    reader: Reader
    target: Any = None
    weights: Any = None
    folds: TableFolds | None = None

    def __post_init__(self) -> None:
        for given, what in self._given():
            if self.rows is not None:
                check_length(len(given), self.rows, what)

    def folded(self, folds: TableFolds) -> TableSource:
        """The same rows, each in its fold."""
        return replace(self, folds=folds)

    def _given(self) -> Iterator[tuple[Any, str]]:
        """What came beside the table, one for each row."""
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
        return {*self.reader.names, *named}

    def first(self, rows: int) -> list[Chunk]:
        """The first rows, without losing them."""
        return list(self._cut(self.table.head(rows)))

    def chunks(self) -> Iterator[Chunk]:
        """Pieces of the table, read here and converted wherever `batch` is called."""
        done = 0
        for chunk in self.pieces(self.wanted()):
            done += len(chunk)
            yield chunk
        for given, what in self._given():
            check_length(len(given), done, what)

    def pieces(self, columns: set[str]) -> Iterator[Chunk]:
        """Pieces of some columns only."""
        return self._cut(self.table.batches(columns))

    def _cut(self, pieces: Iterable[Rows]) -> Iterator[Chunk]:
        done = 0
        for rows in pieces:
            n = rows.batch.num_rows
            labels, weights, folds = (
                given[done : done + n] if _row_by_row(given) else given
                for given in (self.target, self.weights, self.folds)
            )
            if n:
                yield Chunk(rows, self.reader, labels, weights, folds, done)
            done += n


def _row_by_row(given: Any) -> TypeGuard[Any]:
    """Whether something came with one entry for each row, rather than as a name or a rule."""
    return not isinstance(given, str) and hasattr(given, "__len__")


@dataclass(frozen=True)
class Chunk:
    """A piece of a table on its way to a worker."""

    rows: Rows
    reader: Reader
    target: Any
    weights: Any
    folds: TableFolds | None = None
    first: int = 0  # the number of its first row among all

    def __len__(self) -> int:
        return int(self.rows.batch.num_rows)

    def block(self) -> Any:
        return self.reader.block(self.rows)

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """(codes (n,), sorted labels) of all its rows."""
        return target_codes(self.target, self.rows, self.reader.schema)

    def batch(self) -> Batch:
        """The rows as a batch that brings its own labels; rows of zero weight are left out."""
        rows, target, folds = self.rows, self.target, self.folds
        weights = weights_of(self.weights, rows)
        numbers: range | np.ndarray = range(rows.start, rows.start + len(self))
        if len(weights) and not weights.all():
            kept = np.flatnonzero(weights)
            numbers = kept + rows.start
            rows = Rows(rows.batch.take(kept), rows.start, rows.origin, numbers)
            target = target if isinstance(target, str) else target[kept]
            folds = folds[kept] if isinstance(folds, GivenFolds) else folds
            weights = weights[kept]
        codes, labels = target_codes(target, rows, self.reader.schema)
        block = self.reader.block(rows)
        groups = codes if folds is None else codes * np.int32(folds.count) + folds.of(rows, block)
        return Batch(block, groups, weights, numbers, labels, rows.origin)


def check_length(given: int, rows: int, what: str) -> None:
    if given != rows:
        raise VerosimError(f"X has {rows} rows and there are {given} {what}: inconsistent lengths.")


def target_codes(target: Any, rows: Rows, schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """(codes (n,) int32, sorted labels) of some rows."""
    if not isinstance(target, str):  # encoded beforehand: (codes, all labels)
        return target.codes, target.labels
    try:
        index, texts = cells.keys(rows.batch.column(target), frozenset(schema.na), exact=True)
    except cells.Unreadable as error:
        hint = "labels are strings, whole numbers or booleans."
        raise error.named(f"The target {target!r}, {rows.place(error.row)}", hint) from None
    missing = np.flatnonzero(cells.is_gone(index, texts))
    if len(missing):
        raise VerosimError(
            f"The target {target!r} is missing in {rows.place(int(missing[0]))}.",
            "leave rows without a label out, or fill them in.",
        )
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
    labels, inverse = np.unique(as_array(found), return_inverse=True)
    table = np.zeros(len(texts), dtype=np.int32)
    table[at] = inverse
    return table[index], labels


def kind_of_labels(classes: np.ndarray) -> str:
    """integer, boolean or text."""
    kind = classes.dtype.kind
    return "boolean" if kind == "b" else "integer" if kind in "iuf" else "text"


def as_array(labels: list[Any]) -> np.ndarray:
    """Labels of one kind; whole numbers stay whole however large."""
    if labels and isinstance(labels[0], int) and not isinstance(labels[0], bool):
        wide = max(labels) >= 2**63
        return np.array(labels, dtype=np.uint64 if wide and min(labels) >= 0 else np.int64)
    return np.array(labels)


def as_label(text: str, kind: str) -> Any:
    if kind == "integer":
        whole = cells.WHOLE_PATTERN.fullmatch(text)
        label = int(whole[1] if whole else text)
        if not -(2**63) <= label < 2**64:
            raise ValueError(text)
        return label
    if kind == "boolean":
        return {"True": True, "False": False, "1": True, "0": False}[text]
    return text


def _unreadable_label(target: str, text: Any, place: str, schema: Schema) -> VerosimError:
    fraction = cells.NUMBER_PATTERN.fullmatch(str(text)) and float(str(text)) % 1
    if schema.target_type == "integer" and fraction:
        return VerosimError(
            f"Unknown label type: continuous. The target {target!r} is {text} in {place}; "
            "classes are not fractions.",
            "for a regression target, cut it into classes first.",
        )
    return VerosimError(
        f"The target {target!r} is {text!r} in {place}, and the first {schema.looked:,} rows were "
        f"all {schema.target_type}s.",
        f"schema=verosim.look(…, columns={{{target!r}: 'category'}}) keeps the labels as text.",
    )


def weights_of(weights: Any, rows: Rows) -> np.ndarray:
    """(n,) weights of some rows, checked; empty if every row counts once."""
    if weights is None:
        return UNWEIGHTED
    if not isinstance(weights, str):
        return weights
    try:
        out = cells.numbers(rows.batch.column(weights))
    except cells.Unreadable as error:
        raise VerosimError(
            f"The weight {weights!r} is {error.value!r} in {rows.place(error.row)}, not a number."
        ) from None
    bad = np.flatnonzero(~np.isfinite(out) | (out < 0))
    if len(bad):
        i = int(bad[0])
        raise VerosimError(
            f"The weight {weights!r} is {out[i]:g} in {rows.place(i)}.",
            "weights are finite numbers, zero or more; to take rows out, use forget.",
        )
    return out


@dataclass(frozen=True)
class Labels:
    """Labels given beside the table, encoded once, cut as the rows are."""

    codes: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, at: Any) -> Labels:
        return Labels(self.codes[at], self.labels)
