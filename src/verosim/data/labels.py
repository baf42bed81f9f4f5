"""Converts labels (texts, booleans, integers or other sortable values) to class numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes.codes import is_missing
from verosim.axes.groups import as_labels, kind_of, sorted_labels, union_of_labels
from verosim.errors import VerosimError

FEW_LABELS = 8  # so few labels are coded one by one
LABEL_TABLE_SPAN = 1 << 20  # the widest range of integer labels that is coded with a table
MISSING_LABEL_HINT = 'Leave these rows out with unlabelled="skip", or use them with SemiSupervised.'


def label_array(y: Any, name: str = "y") -> np.ndarray:
    """Labels as an array of any number of dimensions."""
    try:
        return np.asarray(y)
    except ValueError:  # lists of different lengths
        raise VerosimError(
            f"{name} should be a 1d array, but some of its values are lists.",
            "Give one value per row.",
        ) from None


def encode_labels(y: Any, known: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(codes (n,) int32, sorted labels): the labels of y and those in `known`."""
    y = label_array(y)
    if not y.dtype.isnative:
        y = y.astype(y.dtype.newbyteorder("="))
    if y.dtype.kind == "f":
        _check_float_labels(y)
    if y.dtype.kind in "iub" and len(y) > FEW_LABELS:
        found, codes = _encode_integers(y)
    else:
        found, codes = _encode_any(y)
    if known is None or np.array_equal(known, found):
        return codes, found if known is None or known.dtype != found.dtype else known
    place = {label: i for i, label in enumerate(known.tolist())}
    labels = known
    if known.dtype != found.dtype or any(label not in place for label in found.tolist()):
        labels = union_of_labels(known, found)
        place = {label: i for i, label in enumerate(labels.tolist())}
    position = np.array([place[label] for label in found.tolist()], dtype=np.int32)
    return position[codes], labels


def _encode_integers(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    flags = y.view(np.uint8) if y.dtype.kind == "b" else y
    low, high = int(flags.min()), int(flags.max())
    if high - low >= LABEL_TABLE_SPAN or high >= 1 << 63:
        found, inverse = np.unique(y, return_inverse=True)
        return found, inverse.astype(np.int32)
    present = np.zeros(high - low + 1, dtype=np.bool_)
    kernels.mark_integers(flags, low, present)
    position = present.cumsum(dtype=np.int32) - np.int32(1)
    codes = np.empty(len(y), dtype=np.int32)
    kernels.code_integers(flags, low, position, codes)
    return (present.nonzero()[0] + low).astype(y.dtype), codes


def _encode_any(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = y.tolist()
    missing = [i for i, v in enumerate(values if y.dtype.kind != "U" else ()) if is_missing(v)]
    if missing:
        raise VerosimError(
            f"Input y contains NaN or None: the label of row {missing[0]} is missing"
            f"{_and_more(len(missing), len(y))}.",
            MISSING_LABEL_HINT,
        )
    try:
        distinct = set(values)
    except TypeError:
        raise VerosimError(
            "The labels y should be a 1d array, but some labels are lists or other objects.",
            "Give one text, boolean or integer per row.",
        ) from None
    kinds = {type(value) for value in distinct}
    if str in kinds and len(kinds) > 1:
        raise VerosimError(
            f"The labels mix text and other types: {sorted(k.__name__ for k in kinds)}.",
            "Give all labels as text, or all as numbers.",
        )
    labels = sorted_labels(distinct)
    place = {label: i for i, label in enumerate(labels)}
    codes = np.fromiter(map(place.__getitem__, values), dtype=np.int32, count=len(values))
    return as_labels(labels, y.dtype), codes


def _check_float_labels(y: np.ndarray) -> None:
    if not np.isfinite(y).all():
        wrong = np.flatnonzero(~np.isfinite(y))
        raise VerosimError(
            f"Input y contains NaN or infinity: the label of row {wrong[0]} is {y[wrong[0]]}"
            f"{_and_more(len(wrong), len(y))}.",
            MISSING_LABEL_HINT,
        )
    broken = np.flatnonzero(y != np.floor(y))
    if len(broken):
        raise continuous_label(f"the label of row {broken[0]} is {y[broken[0]]}")


def _and_more(missing: int, n: int) -> str:
    """The end of a sentence about the first row without a label: how many others there are."""
    return f", and {missing - 1:,} more of the {n:,} labels" if missing > 1 else ""


def missing_labels(target: str, place: str, missing: int, n: int) -> VerosimError:
    """The error for rows of a table without a label."""
    more = f" and in {missing - 1:,} more of the {n:,} rows read with it" if missing > 1 else ""
    return VerosimError(f"The target {target!r} is missing in {place}{more}.", MISSING_LABEL_HINT)


def continuous_label(what: str) -> VerosimError:
    """The error for a label that is not a whole number."""
    return VerosimError(
        f"Unknown label type: continuous; {what}, which is not a whole number.",
        "Divide a regression target into classes first.",
    )


def positions(labels: Any, classes: np.ndarray) -> np.ndarray:
    """(n,) the position of each label in the classes, −1 for an unknown label."""
    codes, found = encode_labels(labels)
    place = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([place.get(label, -1) for label in found.tolist()], dtype=np.intp)[codes]


def values_of_classes(values: np.ndarray, known: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """(C,) the values of some classes, 0 for a class that is not known. `values` has one value for
    each known class."""
    out = np.zeros(len(classes))
    at = positions(known, classes)
    out[at[at >= 0]] = values[at >= 0]
    return out


def check_known(labels: np.ndarray, known: np.ndarray) -> None:
    """Raise an error if a label is not one of the known classes."""
    classes = known.tolist()
    unknown = [label for label in labels.tolist() if label not in classes]
    if unknown:
        raise VerosimError(
            f"The label {unknown[0]!r} is not one of the model's classes.",
            f"Use one of the classes {known.tolist()[:10]} (of type {kind_of(known)}).",
        )


def labels_of(y: Any, n: int) -> np.ndarray:
    """The labels of n rows as a vector (n,)."""
    y = label_array(y)
    if y.ndim != 1:
        raise VerosimError(
            f"The labels y should be a 1d array, got an array of shape {y.shape} instead.",
            "Give one label per row.",
        )
    if len(y) != n:
        raise VerosimError(
            f"X has {n} rows and y has {len(y)} labels: inconsistent lengths.",
            "Give one label per row.",
        )
    return y


def encode_counted(
    y: np.ndarray, weights: np.ndarray, known: np.ndarray | None, declared: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Class numbers (n,), and the classes: known, declared, and those of rows with a weight."""
    if declared is not None:
        declared = encode_labels(declared)[1]
        known = declared if known is None else union_of_labels(known, declared)
    if not len(weights) or weights.all():
        return encode_labels(y, known)
    kept = np.flatnonzero(weights)  # rows of zero weight add no class
    found, labels = encode_labels(y[kept], known)
    codes = np.zeros(len(y), dtype=np.int32)
    codes[kept] = found
    return codes, labels
