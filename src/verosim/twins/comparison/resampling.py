"""Paired resampling: each repeat has one order of the rows, and its first rows are for training.

    key(i-th row of class c, in random order) = i / n_c,   train(m) = rows with the m smallest keys

The last rows are the test rows. They are the same for all models and sizes of a repeat, and larger
training sets contain the smaller ones. Sorting by these keys is the apportionment of Adams: each
class has its share of the first m rows up to one row, and each class has a first row before any
class has a second. Reference: Balinski & Young (1982), Fair representation, on Adams's method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.arguments import is_number
from verosim.data import as_matrix
from verosim.data.adapters import is_frame, is_stream, open_table
from verosim.data.cells import label_column, numbers
from verosim.data.labels import encode_labels, label_array, labels_of
from verosim.data.stream import as_label
from verosim.errors import VerosimError, listed
from verosim.kinds.look import look

SIZES_BY_DEFAULT = 10  # number of sizes if the user gives none
SMALLEST_SIZE = 10  # the smallest of these sizes, in rows


@dataclass(frozen=True, eq=False)
class RowsToCompare:
    """All rows, in the form given by the user, and their labels."""

    X: Any
    y: np.ndarray  # (n,)
    codes: np.ndarray  # (n,) int32
    classes: np.ndarray  # (C,)

    def __len__(self) -> int:
        return len(self.y)

    def order(self, seed: np.random.SeedSequence) -> np.ndarray:
        """(n,) the row numbers in a random order, stratified by class; the last are test rows."""
        rng = np.random.default_rng(seed)
        lot = rng.permutation(len(self))
        by_class = lot[np.argsort(self.codes[lot], kind="stable")]
        count = np.bincount(self.codes, minlength=len(self.classes))  # (C,)
        first = np.concatenate([[0], np.cumsum(count)[:-1]])
        own = self.codes[by_class]
        key = (np.arange(len(self)) - first[own]) / count[own]
        return by_class[np.lexsort((rng.random(len(self)), key))]


def pool_of(X: Any, y: Any) -> RowsToCompare:
    """The rows and labels of the user: arrays, sparse rows, texts, or a table and its target."""
    if isinstance(y, str):
        X, y = _parted(X, y)
    elif y is None:
        raise VerosimError(
            "The labels are missing: y is None.",
            "Pass y, or pass a table and the name of its target column as y.",
        )
    elif is_stream(X):
        X = _in_memory(X)
    if hasattr(X, "tocsr"):
        X = X.tocsr()
    elif isinstance(X, list | tuple):
        X = list(X) if len(X) and isinstance(X[0], str) else as_matrix(X, values=True)
    y = label_array(y)
    n = len(X) if not hasattr(X, "shape") else X.shape[0]
    y = labels_of(y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y, n)
    codes, classes = encode_labels(y)
    if len(classes) < 2:
        raise VerosimError(
            f"All {n} rows are of class {classes.tolist()[0]!r}." if n else "X has no rows.",
            "Give rows of two or more classes.",
        )
    return RowsToCompare(X, y, codes, classes)


def in_rows(X: Any) -> Any:
    """X with its cells in row order in memory, so that equal arrays have equal hashes."""
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X


def rows_of(X: Any, at: Any) -> Any:
    """Some rows of X, by their numbers or a slice, in the same type as X."""
    if hasattr(X, "iloc"):
        return X.iloc[at]
    if isinstance(at, slice):
        return X[at]
    if isinstance(X, list):
        return [X[i] for i in at.tolist()]
    return X.take(at) if hasattr(X, "column_names") else X[at]


def _parted(X: Any, target: str) -> tuple[Any, Any]:
    if not is_frame(X):
        X = _in_memory(X, target)
    names = [str(name) for name in getattr(X, "column_names", X.columns)]
    if target not in names:
        raise VerosimError(
            f"The table has no column {target!r}.", f"Use one of its columns: {listed(names)}."
        )
    if hasattr(X, "iloc"):
        at = names.index(target)
        return X.drop(columns=X.columns[at]), X[X.columns[at]]
    rest = X.drop_columns(target) if hasattr(X, "column_names") else X.drop(target)
    return rest, X[target]


def _in_memory(X: Any, target: str | None = None) -> Any:
    """A streamed table as one Arrow table in memory, because its rows are read in any order."""
    import pyarrow as pa

    table = open_table(X)
    batches = [rows.batch for rows in table.batches()]
    if not batches:
        raise VerosimError("The table has no rows.", "Give a table with at least one row.")
    found = pa.Table.from_batches(batches)
    if table.typed:
        return found
    # The cells of a CSV file are text. The first look finds the columns of numbers.
    schema = look(table, target)
    for column in schema.columns:
        if column.role == "number":
            at = found.column_names.index(column.name)
            cells = pa.array(numbers(found.column(at).combine_chunks()), from_pandas=True)
            found = found.set_column(at, column.name, cells)
    if target is not None:
        at = found.column_names.index(target)
        labels = [
            None if v is None else as_label(v, schema.target_type)
            for v in found.column(at).to_pylist()
        ]
        found = found.set_column(at, target, label_column(labels))
    return found


def number_of_test_rows(test_size: Any, n: int) -> int:
    """The number of test rows, from a number or a share."""
    good = is_number(test_size) and math.isfinite(test_size)
    whole = good and isinstance(test_size, int | np.integer)
    t = int(test_size) if whole else round(float(test_size) * n) if good else 0
    if not 1 <= t <= n - 2:
        raise VerosimError(
            f"test_size={test_size!r} gives {t} test rows of {n} rows.",
            "Use a share between 0 and 1 or a number of rows, and leave at least 2 training rows.",
        )
    return t


def training_sizes(sizes: Any, n: int, classes: int) -> np.ndarray:
    """(S,) the training sizes in increasing order, up to n rows; shares refer to n."""
    if sizes is None:
        low = min(max(SMALLEST_SIZE, 2 * classes), n)
        return np.unique(np.geomspace(low, n, SIZES_BY_DEFAULT).round().astype(np.int64))
    found = []
    for size in np.atleast_1d(np.asarray(sizes, dtype=object)).tolist():
        good = isinstance(size, int | float | np.number) and not isinstance(size, bool)
        whole = good and (isinstance(size, int | np.integer) or (size > 1 and size % 1 == 0))
        m = int(size) if whole else round(float(size) * n) if good and 0 < size <= 1 else 0
        if not 2 <= m <= n:
            raise VerosimError(
                f"Each training size must be from 2 to {n} rows; got {size!r}.",
                f"Use whole numbers from 2 to {n}, or shares of {n} rows up to 1.0.",
            )
        found.append(m)
    if not found:
        raise VerosimError(
            "sizes must not be empty.", "Use a list such as sizes=[10, 100, 1000], or None."
        )
    return np.unique(np.array(found, dtype=np.int64))
