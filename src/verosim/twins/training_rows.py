"""Rows a discriminative classifier learns from: read where they lie, checked once.

Unlike sums, a fit of this kind goes over the rows again and again, so they are made ready for
the kernels before it starts: C-ordered floats, or CSR, without the rows of zero weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from verosim.axes import Columns
from verosim.data import SparseRows, as_matrix, as_weights
from verosim.data.adapters import is_stream
from verosim.data.labels import encode_counted, labels_of
from verosim.data.names import feature_names
from verosim.data.sources import as_block, ready, take_rows
from verosim.densities import not_a_number
from verosim.engines import map_rows
from verosim.errors import VerosimError
from verosim.estimators.checks import only_one_class
from verosim.folds.inputs import one_column

LARGEST_FEATURE = 1e145  # squares of larger values overflow, or their sums do


@dataclass(frozen=True)
class TrainingRows:
    """n rows, their classes and weights."""

    X: np.ndarray | SparseRows  # (n, d)
    codes: np.ndarray  # (n,) int32
    weights: np.ndarray  # (n,), empty if every row counts once
    classes: np.ndarray  # (C,)
    columns: Columns

    def __len__(self) -> int:
        return len(self.codes)


def training_rows(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    known: np.ndarray | None = None,
    declared: Any = None,
) -> TrainingRows:
    """The rows as `model` is to learn them; an error names what stands in the way."""
    who = type(model).__name__
    if isinstance(y, str) or is_stream(X):
        raise VerosimError(
            f"{who} reads arrays and data frames of numbers, over and over.",
            "for a table with a target by name: verosim.twin(NaiveBayes().fit(table, target)).",
        )
    if y is None:
        raise VerosimError(
            f"This {who} estimator requires y to be passed, but the target y is None.", "fit(X, y)."
        )
    names = feature_names(X)
    rows = as_matrix(X, sparse_allowed=True, names=names)
    n, d = rows.shape
    columns = Columns(d, None if names is None else tuple(names.tolist()))
    y = labels_of(one_column(y), n)
    weights = as_weights(sample_weight, n)
    codes, classes = encode_counted(y, weights, known, declared)
    if len(weights) and not weights.all():
        kept = np.flatnonzero(weights)
        rows, codes, weights = take_rows(rows, kept), codes[kept], weights[kept]
    rows = rows if ready(rows) else as_block(rows)
    check_finite(rows, columns)
    return TrainingRows(rows, codes, weights, classes, columns)


def row_arrays(X: np.ndarray | SparseRows) -> tuple[np.ndarray, Any, Any]:
    """Rows as kernels read them: the values, indices and indptr of CSR rows; X, None and None."""
    return (X.data, X.indices, X.indptr) if isinstance(X, SparseRows) else (X, None, None)


def check_finite(X: Any, columns: Columns) -> None:
    """Every cell is a number: a sum that is one shows it, for a whole block at a time."""

    def work(start: int, stop: int) -> None:
        block = X[start:stop]
        values = block.data[block.stored] if isinstance(block, SparseRows) else block
        with np.errstate(over="ignore", invalid="ignore"):
            total = values.sum(dtype=np.float64)
        if abs(total) > LARGEST_FEATURE and np.isfinite(values).all():
            at = int(np.abs(values).argmax())
            i, j = block.place(at) if isinstance(block, SparseRows) else divmod(at, block.shape[1])
            raise VerosimError(
                f"Input X has a value too large for its square, {values.flat[at]:g}: column "
                f"{columns.name(j)!r}, row {start + i}.",
                "give the column in a larger unit.",
            )
        if not np.isfinite(total):
            error = not_a_number(block, columns, start)
            if error is not None:
                raise VerosimError(
                    error.what, "drop the row, fill the cell, or a generative model skips it."
                )

    map_rows(work, X)


def check_two_classes(who: str, codes: np.ndarray, classes: np.ndarray) -> None:
    """There must be something to tell apart."""
    present = np.unique(codes)
    if len(present) < 2:
        raise only_one_class(who, len(codes), classes[present[0]])


def class_weights(setting: Any, rows: TrainingRows) -> np.ndarray:
    """(C,) what a class counts on top of its rows: None, "balanced", or a dict by label."""
    if setting is None:
        return np.ones(len(rows.classes))
    if isinstance(setting, str) and setting == "balanced":  # their sums of weights become alike
        weights = rows.weights if len(rows.weights) else None
        sums = np.bincount(rows.codes, weights, minlength=len(rows.classes))
        return sums.sum() / (len(sums) * np.where(sums > 0, sums, 1.0))
    try:
        found = compute_class_weight(setting, classes=rows.classes, y=rows.classes[rows.codes])
        found = found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise VerosimError(
            f"class_weight={setting!r}: {error}.",
            "None, 'balanced', or a dictionary of a weight for each class.",
        ) from None
    if not (np.isfinite(found) & (found > 0)).all():
        raise VerosimError(f"class_weight={setting!r}: every class needs a weight above zero.")
    return found
