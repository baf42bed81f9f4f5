"""Converts labels to class numbers. Every label that comes in passes here.

Labels are texts, booleans, whole numbers, byte strings, decimals, dates, times or durations, all of
one type. They keep their values: a list is not given to numpy as it is, because numpy makes texts
of mixed lists, floats of large integers, and 'a' of 'a\\0'.
"""

from __future__ import annotations

from datetime import UTC
from decimal import Decimal
from typing import Any

import numpy as np

from verosim import kernels
from verosim.arguments import value_in_message
from verosim.axes.codes import is_missing
from verosim.axes.groups import (
    LABEL_KINDS,
    WITH_ZONE,
    are_same,
    as_labels,
    check_one_kind,
    is_exact_time,
    kind_of,
    kind_of_label,
    plain_label,
    plain_times,
    sorted_labels,
    union_of_labels,
)
from verosim.axes.state_checks import LARGEST_INTEGER
from verosim.errors import VerosimError

FEW_LABELS = 8  # so few labels are coded one by one
LABEL_TABLE_SPAN = 1 << 20  # the widest range of integer labels that is coded with a table
MISSING_LABEL_HINT = 'Leave these rows out with unlabelled="skip", or use them with SemiSupervised.'
PLAIN_LABELS = {*LABEL_KINDS, type(None)} - {Decimal}  # types that `plain_label` does not change
BOUNDED = {"integers", "decimals", WITH_ZONE}  # types with labels that are refused
LABEL_TYPE_HINT = "Use texts: y = [str(label) for label in y]."


def label_array(y: Any) -> np.ndarray:
    """Labels as an array that has exactly these labels, also missing ones."""
    if type(y) is np.ndarray and y.dtype.kind in "iubU" and y.dtype.isnative:  # which is usual
        return y
    if isinstance(y, np.ma.MaskedArray):
        y, gone = plain_times(y.data), np.ma.getmaskarray(y)
        y = np.where(gone, None, y) if gone.any() else y
    if isinstance(y, list | tuple):
        return array_of_labels(list(y))
    if not isinstance(y, np.ndarray):
        y = _array_of_column(y)
    y = np.asarray(y)
    if y.dtype.kind == "c":
        raise VerosimError(
            "Complex data not supported: the labels y are complex numbers.", LABEL_TYPE_HINT
        )
    if not y.dtype.isnative:
        y = y.astype(y.dtype.newbyteorder("="))
    if y.dtype.kind == "T":
        y = y.astype(object)
    if y.dtype == object and y.ndim == 1 and not set(map(type, y.tolist())) <= PLAIN_LABELS:
        return _as_objects(y.tolist())
    return plain_times(y)


def _array_of_column(y: Any) -> np.ndarray:
    """The labels of a Series or of a column, whose digits and time zones numpy may drop."""
    try:
        out = np.asarray(y)
    except (TypeError, ValueError):  # an object that only looks like a list
        raise not_labels() from None
    kind = y.dtype if hasattr(y, "dtype") else getattr(y, "type", None)
    to_list = getattr(y, "to_pylist", None) or getattr(y, "to_list", None)
    if out.dtype.kind not in "fUMm" or isinstance(kind, np.dtype) or to_list is None:
        return out
    return out if out.dtype.kind in "Mm" and not is_exact_time(out) else array_of_labels(to_list())


def array_of_labels(labels: list[Any]) -> np.ndarray:
    """A list of labels as an array with the type of numpy that has all of them, or of objects."""
    types = set(map(type, labels))
    of_numpy = all(issubclass(kind, np.generic) for kind in types)
    if len(types) == 1 and of_numpy and not isinstance(labels[0], np.flexible):
        return plain_times(np.array(labels))
    if not types <= PLAIN_LABELS:
        if any(isinstance(label, list | tuple | np.ndarray) for label in labels):
            return _nested(labels)
        labels = list(map(plain_label, labels))
        types = set(map(type, labels))
    if types == {str} or types == {bytes}:  # numpy removes zeros at the end
        joined = type(labels[0])().join(labels)
        zero: Any = "\0" if types == {str} else b"\0"
        if zero not in joined:
            return np.array(labels)
    elif types == {int}:
        try:
            return np.array(labels, dtype=np.int64)
        except OverflowError:
            if min(labels) >= 0 and max(labels) < 1 << 64:
                return np.array(labels, dtype=np.uint64)
    elif types <= {bool} or types == {float}:
        return np.array(labels)
    return _as_objects(labels)


def _as_objects(labels: list[Any]) -> np.ndarray:
    return np.fromiter(map(plain_label, labels), dtype=object, count=len(labels))


def _nested(labels: list[Any]) -> np.ndarray:
    """Lists of labels: a matrix, which the caller refuses, or lists of different lengths."""
    try:
        return np.asarray(labels)
    except ValueError:
        raise not_labels() from None


def not_labels() -> VerosimError:
    return VerosimError(
        "The labels y should be a 1d array, but some labels are lists or other objects.",
        "Give one text, boolean or integer per row.",
    )


def encode_labels(y: Any, known: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(codes (n,) int32, sorted labels): the labels of y and those in `known`."""
    y = label_array(y)
    if y.ndim != 1:
        raise not_labels()
    if y.dtype.kind == "f":
        _check_float_labels(y)
    if y.dtype.kind in "iub" and len(y) > FEW_LABELS:
        found, codes = _encode_integers(y)
    else:
        found, codes = _encode_any(y)
    if known is None or (known.dtype == found.dtype and are_same(known, found)):
        return codes, found if known is None else known
    place = {label: i for i, label in enumerate(known.tolist())}
    labels, is_new = known, any(label not in place for label in found.tolist())
    if is_new or known.dtype != found.dtype or kind_of(known) != kind_of(found):
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
    try:
        missing = [i for i, v in enumerate(values if y.dtype.kind != "U" else ()) if is_missing(v)]
    except ValueError:  # a label is an array, which has no one truth value
        raise not_labels() from None
    if missing:
        raise VerosimError(
            f"Input y contains NaN or None: the label of row {missing[0]} is missing"
            f"{_and_more(len(missing), len(y))}.",
            MISSING_LABEL_HINT,
        )
    try:
        distinct = set(values)
    except TypeError:
        raise not_labels() from None
    if y.dtype.kind != "U":
        _check_types(values, distinct, y)
    labels = sorted_labels(distinct)
    place = {label: i for i, label in enumerate(labels)}
    codes = np.fromiter(map(place.__getitem__, values), dtype=np.int32, count=len(values))
    return as_labels(labels, y.dtype), codes


def _check_types(values: list[Any], distinct: set[Any], y: np.ndarray) -> None:
    """Raise an error unless all labels have one type, which works in every method."""
    times, kinds = y.dtype.kind in "Mm", set(map(kind_of_label, distinct))
    if None in kinds or (times and "integers" in kinds):
        wrong = (type(v) is int if times else kind_of_label(v) is None for v in values)
        i = next(i for i, one in enumerate(wrong) if one)
        fine = times or hasattr(values[i], "nanosecond") or hasattr(values[i], "nanoseconds")
        why = "is not an exact time of Python, for example because of nanoseconds"
        why = why if fine else f"has the type {type(y[i]).__name__}"
        raise VerosimError(f"The label of row {i} is {y[i]!r}, which {why}.", LABEL_TYPE_HINT)
    if "floats" in kinds and y.dtype == object:
        _check_float_labels(np.array([v if type(v) is float else 0.0 for v in values]))
    if len(kinds) > 1 or len(set(map(type, values))) > 1:
        check_one_kind(values)  # not only of `distinct`, because 1 and True are equal
    for label in distinct if kinds & BOUNDED else ():
        problem = _problem(label)
        if problem:
            raise VerosimError(f"The label {label!r} {problem}.", LABEL_TYPE_HINT)


def _problem(label: Any) -> str:
    """Why a label of a type with bounds cannot be a class; empty if it can."""
    if type(label) is int:
        return "is a whole number of more than 128 bits" if abs(label) >= LARGEST_INTEGER else ""
    if type(label) is Decimal:
        return "" if label.is_finite() else "is not finite"
    try:
        in_zone = label == label.astimezone(UTC)
    except OverflowError:
        in_zone = False
    return "" if in_zone else "is not one moment in UTC, because of its time zone"


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
    classes = set(known.tolist())  # pandas.NA has no ==, and a set compares hashes first
    unknown = [label for label in labels.tolist() if label not in classes]
    if unknown:
        raise VerosimError(
            f"The label {value_in_message(unknown[0])} is not one of the model's classes.",
            f"Use one of the classes {known.tolist()[:10]}, which are {kind_of(known)}.",
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
