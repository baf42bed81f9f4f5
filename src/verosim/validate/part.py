"""A part of the rows of any source: those whose weight is above zero.

    fit(part) = fit(all rows, weights × [row in part])

Rows of zero weight do not exist, not even for the first look at a table, so a part needs no copy of
its rows, and a file or a query can be parted as well as an array.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.data.adapters import open_table
from verosim.data.sources import ArraySource
from verosim.data.stream import TableSource, weights_of
from verosim.data.tables import Table
from verosim.estimators.folds import labels_of_table
from verosim.validate.wrapper import generative


@dataclass(frozen=True)
class Labelled:
    """Rows, and the class and weight of each."""

    X: Any
    y: Any
    labels: np.ndarray  # (n,)
    weights: np.ndarray  # (n,)
    weight: str | None  # the column of weights, which is no feature
    schema: Any
    na: Any

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any, schema: Any, na: Any) -> Labelled:
        """Read the labels and weights of a source, as the model would."""
        reader = clone(generative(model, "This"))
        source, plan, _ = reader._opened(X, y, sample_weight, schema=schema, na=na)
        if isinstance(source, ArraySource):
            labels, weights = plan.axes.groups.classes[source.groups], source.weights
        else:
            labels, weights = _of_table(source)
        weights = weights if len(weights) else np.ones(len(labels))
        name = sample_weight if isinstance(sample_weight, str) else None
        return cls(X, y, labels, weights, name, schema, na)

    def fit(self, model: Any, kept: np.ndarray) -> Any:
        """The model of the rows kept alone."""
        weights = np.where(kept, self.weights, 0.0)
        schema, na = self.schema, self.na
        if schema is None and self.weight is not None:
            reader = clone(generative(model, "This"))
            table = _without(open_table(self.X), self.weight)
            schema, na = reader._look(table, self.y, na=na, weights=weights), ()
        return clone(model).fit(self.X, self.y, weights, schema=schema, na=na)


def _of_table(source: TableSource) -> tuple[np.ndarray, np.ndarray]:
    """(n,) labels and weights, each read from its column alone."""
    weights = source.weights
    if isinstance(weights, str):
        parts = [weights_of(weights, rows) for rows in source.table.batches({weights})]
        weights = np.concatenate(parts)
    return labels_of_table(source), np.empty(0) if weights is None else weights


def _without(table: Table, column: str) -> Table:
    """The table less a column."""
    names = tuple(name for name in table.names if name != column)

    def read(columns: Iterable[str] | None) -> Any:
        return table.read(names if columns is None else columns)

    return replace(table, names=names, read=read)
