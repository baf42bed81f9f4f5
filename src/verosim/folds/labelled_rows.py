"""Leaves the rows without a label out, if the user asks for it with `unlabelled="skip"`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from verosim.arguments import one_of
from verosim.axes.codes import is_missing
from verosim.data import as_weights, cells
from verosim.data.adapters import is_stream, open_table
from verosim.data.labels import array_of_labels
from verosim.data.schema import Schema
from verosim.data.tables import Rows, Table
from verosim.errors import VerosimError
from verosim.kinds.missing_marks import as_na
from verosim.models import Inputs

UNLABELLED = ("error", "skip")


def with_labels(inputs: Inputs, unlabelled: str, known: Schema | None = None) -> Inputs:
    """The inputs, without the rows that have no label if `unlabelled` is "skip".

    `known` is the schema of a fitted model, which has the target and the missing marks.
    """
    one_of("unlabelled", unlabelled, UNLABELLED)
    if unlabelled == "error":
        return inputs
    schema, target = inputs.schema if known is None else known, inputs.y
    if target is None and isinstance(schema, Schema):
        target = schema.target
    if isinstance(target, str):
        na = frozenset(schema.na if isinstance(schema, Schema) else as_na(inputs.na))
        na |= frozenset(getattr(inputs.X, "na", ()))
        return _of_column(inputs, target, na)
    return inputs if target is None else _of_labels(inputs)


def _of_column(inputs: Inputs, target: str, na: frozenset[str]) -> Inputs:
    """The rows of a table with a label in the target column."""
    table, weights = open_table(inputs.X), inputs.sample_weight
    if target not in table.names:  # opening the rows raises the error
        return inputs
    rows, given = None, weights is not None and not isinstance(weights, str)
    if (given or table.in_memory) and not table.once:
        found = [_has_label(part, target, na) for part in table.batches([target])]
        kept = np.concatenate([np.empty(0, dtype=bool), *found])
        if kept.all():
            return replace(inputs, X=table)
        rows = int(kept.sum())
        weights = as_weights(weights, len(kept))[kept] if given else weights
    elif given:
        raise VerosimError(
            'With unlabelled="skip", a source that can be read only once cannot have an array of '
            "weights.",
            "Give the weights as a column of the table.",
        )
    kept_rows = replace(table.filtered(OnlyLabelled(target, na)), rows=rows)
    return replace(inputs, X=kept_rows, sample_weight=weights)


@dataclass(frozen=True)
class OnlyLabelled:
    """Reads the rows of a table with a label."""

    target: str
    na: frozenset[str]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.target,)

    def __call__(self, table: Table, columns: Iterable[str] | None) -> Iterator[Rows]:
        for rows in table.batches(None if columns is None else {*columns, self.target}):
            kept = np.flatnonzero(_has_label(rows, self.target, self.na))
            yield rows if len(kept) == len(rows) else rows.take(kept)


def _has_label(rows: Rows, target: str, na: frozenset[str]) -> np.ndarray:
    """(n,) whether each cell of the target column has a value."""
    try:
        return ~cells.is_gone(*cells.keys(rows.batch.column(target), na, exact=True))
    except cells.Unreadable:  # reading the labels raises the error
        return np.ones(len(rows), dtype=bool)


def _of_labels(inputs: Inputs) -> Inputs:
    """The rows with a label, for labels in an array."""
    y, X = inputs.y, inputs.X
    kept = np.flatnonzero(has_label(y))
    if len(kept) == len(y):
        return inputs
    rows: Any
    if is_stream(X):
        table = open_table(X)
        rows = replace(table.unread(), read=partial(_given_rows, table, kept), rows=len(kept))
    else:
        rows = _taken(X, kept)
    weights = inputs.sample_weight
    if weights is not None and not isinstance(weights, str):
        weights = as_weights(weights, len(y))[kept]
    return replace(inputs, X=rows, y=_plain_labels(y[kept]), sample_weight=weights)


def has_label(y: np.ndarray) -> np.ndarray:
    """(n,) whether each label of an array has a value."""
    missing = [is_missing(label) or (isinstance(label, str) and not label) for label in y.tolist()]
    return ~np.array(missing, dtype=bool)


def _taken(X: Any, kept: np.ndarray) -> Any:
    """The given rows of an array, a sparse matrix, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[kept]
    if isinstance(X, list | tuple):
        return [X[i] for i in kept.tolist()]
    return X.tocsr()[kept] if hasattr(X, "tocsr") else X[kept]


def _given_rows(table: Table, kept: np.ndarray, columns: Iterable[str] | None) -> Iterator[Rows]:
    """The rows of a table with the given numbers, which are sorted."""
    first = 0
    for rows in table.batches(columns):
        after = first + len(rows)
        at = kept[(kept >= first) & (kept < after)] - first
        yield rows.take(at)
        first = after


def _plain_labels(y: np.ndarray) -> np.ndarray:
    """The labels in the type that they had before some of them were missing."""
    if y.dtype.kind == "f" and (y == np.floor(y)).all():
        return y.astype(np.int64)
    return array_of_labels(y.tolist()) if y.dtype == object else y
