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
from verosim.data.labels import encode_labels
from verosim.data.stream import as_array, as_label, kind_of_labels
from verosim.errors import VerosimError

SAME_LABELS_HINT = "Give the labels in the same form as at fit."


def matched_labels(y: Any, classes: np.ndarray) -> np.ndarray:
    """(n,) the labels, in the type of the classes if they differ by their type alone."""
    y = np.asarray(y)
    if y.ndim != 1 or not len(y):
        return y
    codes, found = encode_labels(y)
    known = set(classes.tolist())
    if not known.isdisjoint(found.tolist()):
        return y
    other = [_of_kind(label, kind_of_labels(classes)) for label in found.tolist()]
    check_shared(other, found.tolist(), classes)
    if None not in other:
        return as_array(other)[codes]
    mixed = np.empty(len(other), dtype=object)  # a label that no class can be stays as it is
    mixed[:] = [new if new is not None else old for new, old in zip(other, found, strict=True)]
    return mixed[codes]


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
