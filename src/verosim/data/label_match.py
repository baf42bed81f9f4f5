"""Matches true labels with the classes of a model, so that no score is wrong because of a type.

Labels that differ from the classes by their type alone are matched by the rule of tables: a text is
a number or a truth value if the value is printed as this text. If no label is a class after that,
an error shows both sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from verosim.axes.codes import is_missing
from verosim.axes.groups import LABEL_KINDS, kind_of
from verosim.data import cells
from verosim.data.labels import array_of_labels, encode_labels, label_array, not_labels
from verosim.data.schema import Schema
from verosim.data.stream import as_label, check_length, kind_of_labels, target_codes
from verosim.data.tables import Rows
from verosim.data.weights import as_weights
from verosim.errors import VerosimError

TABLE_LABELS = ("texts", "booleans", "integers", "floats")  # types that labels have in tables
SAME_LABELS_HINT = "Give the labels in the same form as at fit."


def matched_labels(y: Any, classes: np.ndarray) -> np.ndarray:
    """(n,) the labels, in the type of the classes if they differ by their type alone."""
    y = label_array(y)
    if y.ndim != 1 or not len(y):
        return y
    if y.dtype == object and kind_of(classes) == "texts":
        y = _with_texts(y)
    codes, found = encode_labels(y)
    known = set(classes.tolist())
    if not known.isdisjoint(found.tolist()):
        return y
    other = _in_type_of(found, classes)
    check_shared(other, found.tolist(), classes)
    if None not in other:
        return array_of_labels(other)[codes]
    # A label that no class can be stays as it is.
    both = zip(other, found.tolist(), strict=True)
    return _objects([old if new is None else new for new, old in both])[codes]


def accuracy_of(predicted: np.ndarray, y: np.ndarray, sample_weight: Any) -> float:
    """The weighted share of rows whose prediction equals the label, for labels of any type."""
    labels = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
    if labels.ndim != 1:
        raise not_labels()
    check_length(len(labels), len(predicted), "labels")
    right, weights = are_equal(predicted, labels), as_weights(sample_weight, len(labels))
    return float(np.average(right, weights=weights if len(weights) else None))


def are_equal(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n,) whether two labels are equal, for labels of any types."""
    if first.dtype.kind != second.dtype.kind:  # numpy compares large integers as floats
        first, second = first.astype(object), second.astype(object)
    equal: np.ndarray = first == second
    return equal


def check_shared(labels: Iterable[Any], shown: Iterable[Any], classes: np.ndarray) -> None:
    """Raise an error that shows both sets if no label is a class of the model."""
    if set(classes.tolist()).isdisjoint(labels):
        raise VerosimError(
            f"The labels {_set(shown)} share no label with the classes of the model, "
            f"{_set(classes.tolist())}.",
            SAME_LABELS_HINT,
        )


def codes_of_target(
    target: Any, rows: Rows, schema: Schema, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(codes (n,) int32, labels) of the target in a table, for a model with these classes."""
    codes, labels = target_codes(target, rows, schema)
    if kind_of(classes) in TABLE_LABELS:
        return codes, labels
    pairs = zip(_in_type_of(labels, classes), labels.tolist(), strict=True)
    return codes, _objects([old if new is None else new for new, old in pairs])


def _in_type_of(labels: np.ndarray, classes: np.ndarray) -> list[Any]:
    """The labels in the type of the classes, None for a label that no class can be."""
    if kind_of(classes) in TABLE_LABELS:
        return [_of_kind(label, kind_of_labels(classes)) for label in labels.tolist()]
    by_text = {cells.text_of(label): label for label in classes.tolist()}
    return [by_text.get(cells.text_of(label)) for label in labels.tolist()]


def _with_texts(y: np.ndarray) -> np.ndarray:
    """Labels of one type, such as times of a day, as texts: tables read them so.

    Among them are times in an hour that the clocks repeat, which are labels of tables only.
    """
    values = y.tolist()
    types = set(map(type, values)) - {type(None)}
    if types <= {*LABEL_KINDS} and (len(types) > 1 or str in types):
        return y
    return _objects([v if is_missing(v) else cells.text_of(v) for v in values])


def _objects(labels: list[Any]) -> np.ndarray:
    return np.fromiter(labels, dtype=object, count=len(labels))


def _of_kind(label: Any, kind: str) -> Any:
    """The label of another kind that is printed in the same way, or None."""
    text = cells.text_of(label)
    try:
        found = None if text is None else as_label(text, kind)
    except (ValueError, KeyError):
        return None
    return found if kind == "boolean" or str(found) == text else None


def _set(labels: Iterable[Any], most: int = 5) -> str:
    """Labels as a set: `{'no', 'yes'}`, or the first of many."""
    every = list(labels)
    shown = ", ".join(repr(label) for label in every[:most])
    return f"{{{shown}{', …' if len(every) > most else ''}}}"
