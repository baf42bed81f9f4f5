"""Some labelled rows of a source in memory, in the form in which a model reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data import as_matrix
from verosim.data.adapters import is_stream, open_table
from verosim.data.label_match import matched_labels
from verosim.data.labels import label_array, positions
from verosim.data.libraries import pa
from verosim.data.stream import check_length
from verosim.errors import VerosimError
from verosim.folds.inputs import target_of
from verosim.folds.labelled_rows import has_label
from verosim.kinds.look import check_columns


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Rows with their labels: y is an array, or the name of a column of X."""

    X: Any  # an Arrow table, an array, a sparse matrix or a list of texts
    y: Any

    def __len__(self) -> int:
        return self.X.num_rows if isinstance(self.X, pa.Table) else int(_length(self.X))

    def take(self, at: np.ndarray) -> SomeRows:
        """The rows with these numbers."""
        y = self.y if isinstance(self.y, str) else label_array(self.y)[at]
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
        return label_array(self.y)

    def codes(self, classes: np.ndarray) -> np.ndarray:
        """(n,) the position of each label among the classes, −1 for a label that is missing."""
        out = np.full(len(self), -1)
        if self.y is not None:
            labels = self.labels
            known = has_label(labels)
            out[known] = positions(matched_labels(labels[known], classes), classes)
        return out


def _length(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return len(X) if shape is None else shape[0]


def labelled_rows(model: Any, source: Any, y: Any, most: int | None = None) -> SomeRows:
    """The rows of a source, at equal steps if there are more than `most`."""
    inner = innermost(model)
    target = target_of(inner, y)
    if is_stream(source) or hasattr(source, "columns") or isinstance(source, dict):
        table = open_table(source)
        batches = [rows.batch for rows in table.batches(None)]
        if not batches:
            raise VerosimError("The source has no rows.", "Use a source with rows.")
        check_columns(table.names, target if isinstance(target, str) else None, None, "auto")
        whole = SomeRows(pa.Table.from_batches(batches), target)
        if state_of(model) is None:
            whole = _numbers(inner, whole)
    else:
        X = source if hasattr(source, "shape") else list(source)
        if isinstance(X, list) and X and not isinstance(X[0], str) and X[0] is not None:
            X = as_matrix(X, values=True)
        whole = SomeRows(X, target)
    if target is not None and not isinstance(target, str):
        check_length(len(whole.labels), len(whole), "labels")
    if most is None or len(whole) <= most:
        return whole
    return whole.take(np.linspace(0, len(whole) - 1, most).astype(np.int64))


def _numbers(model: Any, rows: SomeRows) -> SomeRows:
    """The rows of a table as an array, for a model that reads only arrays."""
    names = [name for name in rows.X.column_names if name != rows.y]
    names = [str(name) for name in getattr(model, "feature_names_in_", names)]
    columns = [rows.X.column(name).to_numpy(zero_copy_only=False) for name in names]
    return SomeRows(np.column_stack(columns).astype(np.float64), rows.labels)


def innermost(model: Any) -> Any:
    """The model inside of all wrappers, which has the sums."""
    while hasattr(model, "model_"):
        model = model.model_
    return model


def state_of(model: Any) -> Any:
    """The state of the innermost model; None if it has no sums, as a linear classifier."""
    inner = innermost(model)
    return inner.checked_state() if hasattr(inner, "checked_state") else None


def has_covariance(model: Any) -> bool:
    """Whether one Gaussian with a full covariance describes all columns."""
    state = state_of(model)
    return state is not None and getattr(state.params, "covariance_form", "") == "full"


def complete_rows(rows: SomeRows) -> np.ndarray:
    """The numbers of the rows without missing cells."""
    X = rows.X
    known = np.ones(len(rows), dtype=bool)
    if isinstance(X, pa.Table):
        for column in X.columns:
            if column.null_count:
                known &= column.is_valid().to_numpy(zero_copy_only=False)
            if pa.types.is_floating(column.type):
                known &= ~np.isnan(column.to_numpy(zero_copy_only=False))
    elif isinstance(X, np.ndarray) and X.dtype.kind == "f":
        known &= ~np.isnan(X).any(axis=1)
    return np.flatnonzero(known)
