"""Converts array-like input to a matrix, without copying all rows.

A whole number that a double would round is refused here, because the statistics would see only the
rounded number. They read every other cell and report a bad one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from verosim import kernels
from verosim.axes.codes import is_missing
from verosim.data.exact_numbers import HELD, first_lost, is_held, may_round, rounded, what_is_lost
from verosim.data.libraries import nw
from verosim.errors import VerosimError


@dataclass(frozen=True)
class SparseRows:
    """Rows of a CSR matrix. A slice does not copy: `indptr` points into the whole `data`."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.columns

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice) -> SparseRows:
        start, stop, _ = rows.indices(len(self))
        return SparseRows(
            self.data, self.indices, self.indptr[start : max(stop, start) + 1], self.columns
        )

    @property
    def stored(self) -> slice:
        """The positions of these rows in `data`."""
        return slice(int(self.indptr[0]), int(self.indptr[-1]))

    def as_csr(self) -> sparse.csr_array:
        """The same rows as a scipy matrix. Cells are copied only if this is a part of `data`."""
        parts = (
            self.data[self.stored], self.indices[self.stored], self.indptr - self.indptr[0]
        )  # fmt: skip
        return sparse.csr_array(parts, self.shape)

    @property
    def has_holes(self) -> bool:
        return bool(np.isnan(self.data[self.stored]).any())

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The given rows as a dense array."""
        return self.as_csr()[rows].toarray().astype(np.float64, copy=False)

    def dense_blocks(self, cells: int = 1 << 18) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows as dense blocks of at most `cells` cells."""
        step = max(1, cells // self.columns)
        for start in range(0, len(self), step):
            rows = slice(start, min(len(self), start + step))
            yield rows, self[rows].as_csr().toarray().astype(np.float64, copy=False)

    def place(self, t: int) -> tuple[int, int]:
        """Row and column of the t-th stored cell of these rows."""
        at = t + int(self.indptr[0])
        row = int(np.searchsorted(self.indptr, at, side="right")) - 1
        return row, int(self.indices[at])


Matrix = np.ndarray | SparseRows


def as_matrix(
    X: Any, *, sparse_allowed: bool = False, values: bool = False, names: Any = None
) -> Matrix:
    """X as a two-dimensional array of numbers, or of any values if `values` is True."""
    if type(X) is not np.ndarray:
        if sparse.issparse(X):
            return _as_sparse_rows(X, sparse_allowed)
        X = _as_array(X, values)
        if isinstance(X, np.ma.MaskedArray):
            X = _without_mask(X)
    if X.dtype.kind == "c":
        raise VerosimError(
            f"Complex data not supported: X has dtype {X.dtype}.",
            "Give the real and the imaginary parts as two columns.",
        )
    if X.ndim != 2:
        raise VerosimError(
            f"Expected 2D array, got {X.ndim}D array instead (shape={X.shape}).",
            "Reshape your data: use X.reshape(-1, 1) for a single column, "
            "X.reshape(1, -1) for a single row.",
        )
    if 0 in X.shape:
        what = "feature(s)" if X.shape[0] else "sample(s)"
        raise VerosimError(
            f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required.",
            "Give at least one row and one column.",
        )
    if X.dtype.kind not in "fiub":
        return X if values else _as_numbers(X, names)
    if X.dtype.kind in "iu" and not values and may_round(X):
        _check_held(X, names)
    if values and (not X.dtype.isnative or X.dtype in (np.float16, np.longdouble)):
        X = X.astype(np.float64 if X.dtype.kind == "f" else X.dtype.newbyteorder("="))
    return X


def _as_array(X: Any, values: bool) -> np.ndarray:
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        return _from_frame(X, values)
    if isinstance(X, np.ma.MaskedArray):
        return X
    try:
        if isinstance(X, list | tuple) and values and _holds_text(X):
            return np.asarray(X, dtype=object)
        found = np.asarray(X)
        given = isinstance(X, list | tuple) and found.dtype.kind == "f"
        if given and (np.abs(found) >= HELD).any():  # beside a fraction, numpy rounds whole numbers
            cells = np.asarray(X, dtype=object)
            return found if first_lost(cells.ravel().tolist()) is None else cells
        return found
    except ValueError as error:
        raise VerosimError(
            f"X cannot be read as a table: {error}.", "Give every row the same number of cells."
        ) from None


def _from_frame(X: Any, values: bool) -> np.ndarray:
    """A data frame as an array, without a copy if all columns have the same type."""
    try:
        frame = nw.from_native(X, eager_only=True)
    except Exception as error:  # two columns have one name, or narwhals cannot read the frame
        hint = "Give every column its own name."
        raise VerosimError(f"X cannot be read as a table: {error}", hint) from None
    if not values:
        found = frame.to_numpy()
        types = map(str, set(getattr(X, "dtypes", ("unknown",))))
        floats = found.dtype.kind != "f" or all(one.lower().startswith("float") for one in types)
        if floats or not (np.abs(found) >= HELD).any():
            return found  # else it may have rounded the whole numbers of some columns
    # In a table of categories each cell keeps its own type.
    out = np.empty(frame.shape, dtype=object)
    for j, column in enumerate(frame.iter_columns()):
        out[:, j] = [None if is_missing(v) else v for v in column.to_list()]
    if {type(v) for v in out.ravel().tolist()} <= {int, bool}:
        small = all(abs(int(v)) < 1 << 62 for v in (out.min(), out.max()))
        return out.astype(np.int64) if small else out
    return out


def _holds_text(X: Any) -> bool:
    """Whether a cell is not a number; np.asarray would convert [1, 'a'] to text."""
    return any(
        not isinstance(cell, int | float)
        for row in X
        if isinstance(row, list | tuple)
        for cell in row
    )


def _without_mask(X: np.ma.MaskedArray[Any, Any]) -> np.ndarray:
    """The cells of a masked array. A masked cell is missing."""
    missing = np.ma.getmaskarray(X)
    numeric = X.dtype.kind in "fb" or (X.dtype.kind in "iu" and not may_round(X.data[~missing]))
    cells = np.array(X.data, dtype=np.float64 if numeric else object)
    cells[missing] = np.nan if numeric else None
    return cells


def _check_held(X: np.ndarray, names: Any) -> None:
    """Raise an error for the first cell of an array that a double would round."""
    if X.dtype.kind in "iu":
        places = np.argwhere(rounded(X))
    else:
        places = np.argwhere([[not is_held(cell) for cell in row] for row in X.tolist()])
    if len(places):
        i, j = places[0].tolist()
        raise not_held(f"Column {_name(names, j)!r}, row {i}", X[i, j])


def not_held(place: str, cell: Any) -> VerosimError:
    """The error for a number that a double does not hold."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return VerosimError(
        f"{place}: {cell!r} is not {what_is_lost(cell)}.",
        "Subtract a constant from the column, or leave it out if it is an identifier.",
    )


def _name(names: Any, j: int) -> str:
    return str(names[j]) if names is not None else f"x{j}"


def _as_numbers(X: np.ndarray, names: Any) -> np.ndarray:
    try:
        found = X.astype(np.float64)
    except OverflowError:  # a whole number beyond the largest double
        _check_held(X, names)
        raise
    except (TypeError, ValueError):
        for i, j in np.ndindex(*X.shape):
            if is_missing(X[i, j]):
                continue
            try:
                float(X[i, j])
            except (TypeError, ValueError) as error:
                cell = X[i, j].item() if isinstance(X[i, j], np.generic) else X[i, j]
                place = f"Column {_name(names, j)!r}, row {i}"
                if isinstance(error, TypeError):  # check_estimator looks for "argument must be …"
                    raise _WrongType(
                        f"{place}: {cell!r} is not a number; the argument must be a string of "
                        "digits or a number.",
                        "Replace the cell by a number, or by NaN if it is missing.",
                    ) from None
                raise VerosimError(
                    f"{place}: {cell!r} is not a number.",
                    "Encode the column, or use CategoricalNB for tables of categories.",
                ) from None
        found = np.array(
            [[np.nan if is_missing(v) else float(v) for v in row] for row in X], dtype=np.float64
        )
    if ((found == 0) | (np.abs(found) >= HELD)).any():
        _check_held(X, names)
    return found


class _WrongType(VerosimError, TypeError):
    """A `VerosimError` that is also a `TypeError`, as scikit-learn expects for a wrong type."""


def _as_sparse_rows(X: Any, allowed: bool) -> SparseRows:
    if not allowed:
        raise _WrongType(
            "X is a sparse matrix, but this model needs dense rows.",
            "Use X.toarray(), or use GaussianNB, MultinomialNB, BernoulliNB or ComplementNB, "
            "which read sparse input.",
        )
    if X.dtype.kind == "c":
        raise VerosimError(
            f"Complex data not supported: X has dtype {X.dtype}.",
            "Give the real and the imaginary parts as two columns.",
        )
    if X.ndim != 2:
        raise VerosimError(
            f"Expected 2D array, got {X.ndim}D sparse array instead.",
            "Give a sparse matrix with rows and columns.",
        )
    _check_places(X)
    rows = X.tocsr()
    if not rows.has_canonical_format and _stores_twice(rows):  # the order of cells does not matter
        rows = rows.copy()
        rows.sum_duplicates()
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise VerosimError(
            f"Found array with 0 sample(s) or 0 feature(s) (shape={rows.shape}) "
            "while a minimum of 1 is required.",
            "Give at least one row and one column.",
        )
    data = rows.data
    if data.dtype.kind in "iu" and may_round(data):
        at = np.flatnonzero(rounded(data))
        if len(at):
            i, j = SparseRows(data, rows.indices, rows.indptr, rows.shape[1]).place(int(at[0]))
            raise not_held(f"Column 'x{j}', row {i}", data[at[0]])
    if data.dtype.kind not in "fi" or data.dtype.itemsize < 4 or data.dtype.itemsize > 8:
        data = data.astype(np.float64)
    return SparseRows(data, rows.indices, rows.indptr, rows.shape[1])


def _stores_twice(rows: Any) -> bool:
    """Whether a row of a CSR matrix has two stored cells in one column, which must be added up."""
    seen = np.zeros(rows.shape[1], dtype=np.uint8)
    return bool(kernels.stores_twice(rows.indptr, rows.indices, seen))


def _check_places(X: Any) -> None:
    """Raise an error if a stored cell of a sparse matrix is outside the matrix.

    Compiled code does not check these numbers: a wrong one would read or write other memory.
    """
    if X.format == "coo":
        for axis, places in enumerate((X.row, X.col)):
            bad = _outside(places, X.shape[axis])
            if bad is not None:
                what = ("row", "column")[axis]
                raise _bad_place(f"its stored cell {bad} has the {what} index {places[bad]}", X)
    if X.format not in ("csr", "csc"):
        return
    starts, places = X.indptr, X.indices
    major, minor = X.shape if X.format == "csr" else X.shape[::-1]
    stored = min(len(places), len(X.data))
    broken = len(starts) != major + 1 or starts[0] != 0 or int(starts[-1]) > stored
    if broken or (np.diff(starts) < 0).any():
        raise _bad_place("its indptr does not describe its rows", X)
    bad = _outside(places[: int(starts[-1])], minor)
    if bad is None:
        return
    at = int(np.searchsorted(starts, bad, side="right")) - 1
    one, other = ("row", "column") if X.format == "csr" else ("column", "row")
    raise _bad_place(f"{one} {at} has the {other} index {places[bad]}", X)


def _outside(places: np.ndarray, size: int) -> int | None:
    """The position of the first number that is not in 0 … size − 1; None if all are."""
    if not len(places):
        return None
    if places.dtype.kind == "i":  # one pass: as an unsigned number, a negative number is too large
        most = int(places.view(f"u{places.dtype.itemsize}").max())
        if most < size:
            return None
    elif int(places.max()) < size:
        return None
    return int(np.flatnonzero((places < 0) | (places >= size))[0])


def _bad_place(what: str, X: Any) -> VerosimError:
    return VerosimError(
        f"The sparse matrix of shape {X.shape} is damaged: {what}.",
        "Build the matrix again; X.check_format() of scipy finds such errors.",
    )
