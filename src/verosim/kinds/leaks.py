"""Finds columns that give the label away: one value of the column for each class, and no other.

Such a column is often the target itself, under its own name or another one. The model then predicts
its training rows without error and new rows badly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from verosim.cached import cached_property
from verosim.data import cells
from verosim.data.libraries import pa
from verosim.errors import VerosimWarning, listed, warn

LEAST_ROWS_OF_LEAK = 20  # with fewer rows, a column may equal the target by chance
SAMPLED_ROWS = 64  # rows that are compared first; they refute nearly all columns
GIVES_LABEL_AWAY = "The column has one value for each class, so it gives the label away."


class LabelLeaks:
    """Finds the columns of a table whose values correspond one to one to the labels (n,)."""

    def __init__(self, labels: np.ndarray, na: frozenset[str]) -> None:
        self.labels, self.na = labels, na
        self.some = range(len(labels))[_spread(len(labels))]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """A few pairs of rows with the same label: other values there refute most columns."""
        last: dict[Any, int] = {}
        found = []
        for i in self.some:
            label = self.labels[i].item()
            if label in last:
                found.append((last[label], i))
            last[label] = i
        return found[:3]

    def gives_away(self, array: pa.Array) -> bool:
        """Whether a column has one value for each class."""
        if len(self.labels) < LEAST_ROWS_OF_LEAK:
            return False
        for i, j in self.pairs:
            one, other = array[i].as_py(), array[j].as_py()
            if one is not None and other is not None and one != other:
                return False
        some = ((array[i].as_py(), self.labels[i].item()) for i in self.some)
        if not _could_be_one_to_one(some):
            return False
        try:
            index, texts = cells.keys(array, self.na)
        except cells.Unreadable:
            return False
        place: dict[str | None, int] = {}
        codes = np.array([place.setdefault(text, len(place)) for text in texts])[index]
        present = ~cells.is_gone(index, texts)
        return one_to_one(codes[present], self.labels[present])


def columns_that_give_label_away(X: Any, codes: np.ndarray) -> list[int]:
    """The numbers of such columns of an array (n, d), for the classes (n,) of its rows."""
    n = len(codes)
    if n < LEAST_ROWS_OF_LEAK or not isinstance(X, np.ndarray) or X.ndim != 2:
        return []
    rows, labels = X[_spread(n)], codes[_spread(n)]
    if not _could_agree(rows, labels):
        return []
    two = (rows[labels == k] for k in (labels[0], labels[np.argmax(labels != labels[0])]))
    (low, high), (least, most) = map(_limits, two)
    found = np.flatnonzero((low == high) & (least == most) & (low != least)).tolist()
    present = {j: X[:, j] == X[:, j] for j in found}
    return [j for j in found if one_to_one(X[present[j], j], codes[present[j]])]


def _could_agree(rows: np.ndarray, labels: np.ndarray) -> bool:
    """Whether two rows of one class have the same value in some column, or one without a value.

    Two rows of numbers refute nearly all columns at once.
    """
    same = (labels == labels[0]).nonzero()[0]
    if rows.dtype.kind not in "fiub" or len(same) < 2:
        return True
    one, other = rows[same[0]], rows[same[-1]]
    return bool(((one == other) | (one != one) | (other != other)).any())


def _limits(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two values of each column, which are equal if the column has one value.

    fmin and fmax leave missing numbers out. A column without values is NaN, which equals nothing.
    """
    if rows.dtype.kind in "fiub":
        return np.fmin.reduce(rows), np.fmax.reduce(rows)
    other = rows[0].astype(object)
    other[~(rows == rows[0]).all(axis=0)] = None
    return rows[0], other


def one_to_one(values: np.ndarray, labels: np.ndarray) -> bool:
    """Whether n values and n labels correspond one to one, with at least two of each."""
    if len(values) < LEAST_ROWS_OF_LEAK or not np.array_equal(
        values == values[0], labels == labels[0]
    ):
        return False
    pairs = set(zip(values.tolist(), labels.tolist(), strict=True))
    return len(pairs) == len({v for v, _ in pairs}) == len({k for _, k in pairs}) >= 2


def warn_of_leaks(names: Sequence[str]) -> None:
    """Warn about columns that give the label away."""
    if not names:
        return
    one = f"column {names[0]!r} has"
    several = f"columns {listed(list(names))} have"
    warn(
        f"The {one if len(names) == 1 else several} one value for each class, so the label is "
        "given away. Leave such a column out if it is not known before the label.",
        VerosimWarning,
    )


def _spread(n: int) -> slice:
    """Rows that are spread over n rows."""
    return slice(None, None, max(1, n // SAMPLED_ROWS))


def _could_be_one_to_one(pairs: Iterable[tuple[Any, Any]]) -> bool:
    label_of: dict[Any, Any] = {}
    value_of: dict[Any, Any] = {}
    for value, label in pairs:
        key = str(value)  # a value may be a list
        if value is not None and (
            label_of.setdefault(key, label) != label or value_of.setdefault(label, key) != key
        ):
            return False
    return True
