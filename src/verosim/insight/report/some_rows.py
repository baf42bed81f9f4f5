"""Some labelled rows of a source in memory, in the form in which a model reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data.adapters import is_stream, open_table
from verosim.data.libraries import pa
from verosim.errors import VerosimError
from verosim.folds.inputs import target_of


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Rows with their labels: y is an array, or the name of a column of X."""

    X: Any  # an Arrow table, an array, a sparse matrix or a list of texts
    y: Any

    def __len__(self) -> int:
        return self.X.num_rows if isinstance(self.X, pa.Table) else int(_length(self.X))

    def take(self, at: np.ndarray) -> SomeRows:
        """The rows with these numbers."""
        y = self.y if isinstance(self.y, str) else np.asarray(self.y)[at]
        if isinstance(self.X, pa.Table):
            return SomeRows(self.X.take(pa.array(at)), y)
        if isinstance(self.X, list | tuple):
            return SomeRows([self.X[i] for i in at.tolist()], y)
        rows = self.X.tocsr() if hasattr(self.X, "tocsr") else np.asarray(self.X)
        return SomeRows(rows[at], y)

    def fit(self, model: Any) -> Any:
        """Fit a model on these rows."""
        return model.fit(self.X, self.y)

    @property
    def labels(self) -> np.ndarray:
        """(n,) the labels."""
        if isinstance(self.y, str):
            return np.array(self.X.column(self.y).to_pylist(), dtype=object)
        return np.asarray(self.y)


def _length(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return len(X) if shape is None else shape[0]


def labelled_rows(model: Any, source: Any, y: Any, most: int | None = None) -> SomeRows:
    """The rows of a source, at equal steps if there are more than `most`."""
    target = target_of(_innermost(model), y)
    if is_stream(source) or hasattr(source, "columns") or isinstance(source, dict):
        table = open_table(source)
        batches = [rows.batch for rows in table.batches(None)]
        if not batches:
            raise VerosimError("The source has no rows.", "Use a source with rows.")
        whole = SomeRows(pa.Table.from_batches(batches), target)
    else:
        X = source if hasattr(source, "shape") else list(source)
        if isinstance(X, list) and X and not isinstance(X[0], str) and X[0] is not None:
            X = np.asarray(X)
        whole = SomeRows(X, target)
    if most is None or len(whole) <= most:
        return whole
    return whole.take(np.linspace(0, len(whole) - 1, most).astype(np.int64))


def _innermost(model: Any) -> Any:
    while hasattr(model, "model_"):
        model = model.model_
    return model
