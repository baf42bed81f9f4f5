"""Matches true labels with the classes of a model, so that no score is wrong because of a type.

Labels that differ from the classes by their type alone are matched by the rule of tables: a text is
a number or a truth value if the value is printed as this text. If no label is a class after that,
an error shows both sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from verosim.data import cells
from verosim.data.labels import array_of_labels, encode_labels, label_array
from verosim.data.stream import as_label, check_length, kind_of_labels
from verosim.data.weights import as_weights
from verosim.errors import VerosimError

SAME_LABELS_HINT = "Give the labels in the same form as at fit."


def matched_labels(y: Any, classes: np.ndarray) -> np.ndarray:
    """(n,) the labels, in the type of the classes if they differ by their type alone."""
    y = label_array(y)
    if y.ndim != 1 or not len(y):
        return y
    codes, found = encode_labels(y)
    known = set(classes.tolist())
    if not known.isdisjoint(found.tolist()):
        return y
    other = [_of_kind(label, kind_of_labels(classes)) for label in found.tolist()]
    check_shared(other, found.tolist(), classes)
    if None not in other:
        return array_of_labels(other)[codes]
    mixed = np.empty(len(other), dtype=object)  # a label that no class can be stays as it is
    mixed[:] = [new if new is not None else old for new, old in zip(other, found, strict=True)]
    return mixed[codes]


def accuracy_of(predicted: np.ndarray, y: np.ndarray, sample_weight: Any) -> float:
    """The weighted share of rows whose prediction equals the label, for labels of any type."""
    labels = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
    check_length(len(labels), len(predicted), "labels")
    if predicted.dtype.kind != labels.dtype.kind:  # numpy compares large integers as floats
        predicted, labels = predicted.astype(object), labels.astype(object)
    weights = as_weights(sample_weight, len(labels))
    return float(np.average(predicted == labels, weights=weights if len(weights) else None))


def check_shared(labels: Iterable[Any], shown: Iterable[Any], classes: np.ndarray) -> None:
    """Raise an error that shows both sets if no label is a class of the model."""
    if set(classes.tolist()).isdisjoint(labels):
        raise VerosimError(
            f"The labels {_set(shown)} share no label with the classes of the model, "
            f"{_set(classes.tolist())}.",
            SAME_LABELS_HINT,
        )


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
