"""The training rows of a discriminative classifier, checked once before the fit.

These fits read the rows many times. So the rows are prepared for the kernels before the fit starts:
as C-ordered floats or CSR rows, without the rows of weight zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes import Columns
from verosim.bayes.class_weights import class_factors
from verosim.data import SparseRows, as_matrix, as_weights
from verosim.data.adapters import is_stream
from verosim.data.labels import encode_counted, labels_of
from verosim.data.names import feature_names
from verosim.data.sources import as_block, ready, take_rows
from verosim.densities import not_a_number
from verosim.engines import map_rows
from verosim.errors import VerosimError
from verosim.estimators.checks import needs_numbers, only_one_class
from verosim.folds.inputs import one_column
from verosim.kinds.leaks import columns_that_give_label_away, warn_of_leaks

LARGEST_FEATURE = 1e145  # the squares of larger values, or sums of the squares, overflow
LARGEST_PRODUCT = 1e300  # of squares and weights; a few times more overflows


@dataclass(frozen=True)
class TrainingRows:
    """n rows, their classes and weights."""

    X: np.ndarray | SparseRows  # (n, d)
    codes: np.ndarray  # (n,) int32
    weights: np.ndarray  # (n,), empty if every row has weight 1
    classes: np.ndarray  # (C,)
    columns: Columns

    def __len__(self) -> int:
        return len(self.codes)

    def mean(self) -> np.ndarray:
        """(d,) the weighted mean of the rows."""
        weights = self.weights if len(self.weights) else np.ones(len(self))
        if isinstance(self.X, SparseRows):
            of_row = np.repeat(weights, np.diff(self.X.indptr))
            stored = self.X.stored
            total = np.bincount(self.X.indices[stored], of_row * self.X.data[stored],
                                minlength=self.X.shape[1])  # fmt: skip
        else:
            total = weights @ self.X
        found: np.ndarray = total / weights.sum()
        return found


def training_rows(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    known: np.ndarray | None = None,
    declared: Any = None,
) -> TrainingRows:
    """Check the input of `fit` and prepare the training rows for the kernels."""
    who = type(model).__name__
    if isinstance(y, str) or is_stream(X):
        raise needs_numbers(who)
    if y is None:
        raise VerosimError(
            f"This {who} estimator requires y to be passed, but the target y is None.",
            "Call fit(X, y).",
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
    if known is None:
        warn_of_leaks([columns.name(j) for j in columns_that_give_label_away(rows, codes)])
    return TrainingRows(rows, codes, weights, classes, columns)


def row_arrays(X: np.ndarray | SparseRows) -> tuple[np.ndarray, Any, Any]:
    """The arrays that kernels read: values, indices and indptr of CSR rows, or X, None, None."""
    return (X.data, X.indices, X.indptr) if isinstance(X, SparseRows) else (X, None, None)


def check_finite(X: Any, columns: Columns) -> None:
    """Check that every cell is finite. A finite sum shows it for a whole block of rows at once."""

    def work(start: int, stop: int) -> None:
        block = X[start:stop]
        values = block.data[block.stored] if isinstance(block, SparseRows) else block
        with np.errstate(over="ignore", invalid="ignore"):
            total = values.sum(dtype=np.float64)
        if abs(total) > LARGEST_FEATURE and np.isfinite(values).all():
            at = int(np.abs(values).argmax())
            i, j = block.place(at) if isinstance(block, SparseRows) else divmod(at, block.shape[1])
            raise VerosimError(
                f"Input X has the value {values.flat[at]:g} in column {columns.name(j)!r}, row "
                f"{start + i}, and its square is too large for a float.",
                "Use a larger unit for the column.",
            )
        if not np.isfinite(total):
            error = not_a_number(block, columns, start)
            if error is not None:
                raise VerosimError(
                    error.what,
                    "Drop the row, fill the cell, or use a generative model that reads missing "
                    "values.",
                )

    map_rows(work, X)


def check_products(rows: TrainingRows, cost: np.ndarray, norms: np.ndarray) -> None:
    """Raise an error if the squared gradient of a hinge loss can overflow.

    With costs c (n,) and squared norms ‖x‖² (n,), each w that is not worse than zero has

        ‖Σ 2c max(0, 1 − m) x‖² ≤ 4 Σ c max(0, 1 − m)² Σ c ‖x‖² ≤ 4 Σc Σ c ‖x‖²
    """
    with np.errstate(over="ignore"):
        squares = cost * norms
        largest = squares.sum() * max(float(cost.sum()), 1.0)
    if largest <= LARGEST_PRODUCT:
        return
    i = int(squares.argmax())
    row = rows.X.take(np.array([i])) if isinstance(rows.X, SparseRows) else rows.X[i : i + 1]
    j = int(np.abs(row[0]).argmax())
    raise VerosimError(
        f"Column {rows.columns.name(j)!r} has the value {row[0, j]:g} in a row of weight "
        f"{cost[i]:g} (with C and class_weight), and the products of squares and weights are too "
        "large for floating-point numbers.",
        "Divide the columns or the weights by a constant.",
    )


def check_two_classes(who: str, codes: np.ndarray, classes: np.ndarray) -> None:
    """Raise an error unless the rows have at least two classes."""
    present = np.unique(codes)
    if len(present) < 2:
        raise only_one_class(who, len(codes), classes[present[0]])


def class_weights(setting: Any, rows: TrainingRows) -> np.ndarray:
    """(C,) the factor for the weights of the rows of each class, by the setting `class_weight`."""
    weights = rows.weights if len(rows.weights) else None
    sums = np.bincount(rows.codes, weights, minlength=len(rows.classes))
    return class_factors(setting, rows.classes, sums)
