"""A group is a class and a fold. A statistic keeps separate sums for each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes.state_checks import (
    MOST_FOLDS,
    check_distinct,
    check_label_type,
    is_count,
    require,
    wrong_state,
)
from verosim.errors import VerosimError


@dataclass(frozen=True, eq=False)
class Groups:
    """The sorted class labels and the number of folds. Group number = class · folds + fold."""

    classes: np.ndarray  # (C,) labels
    folds: int = 1

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Groups)
            and self.folds == other.folds
            and np.array_equal(self.classes, other.classes)
        )

    __hash__ = None  # type: ignore[assignment]

    def union(self, other: Groups) -> Groups:
        if self.folds != other.folds:
            raise VerosimError(
                f"One statistic has {self.folds} folds and the other has {other.folds}.",
                "Use the same folds for both, or add the folds first with `total('fold')`.",
            )
        if self is other or np.array_equal(self.classes, other.classes):
            return self
        return Groups(union_of_labels(self.classes, other.classes), self.folds)

    def positions(self, wider: Groups) -> np.ndarray | None:
        if self is wider or np.array_equal(self.classes, wider.classes):
            return None
        place = {label: i for i, label in enumerate(wider.classes.tolist())}
        return np.array([place[label] for label in self.classes.tolist()], dtype=np.intp)

    def keep(self, kept: np.ndarray) -> Groups:
        return Groups(self.classes[kept], self.folds)

    def state(self) -> dict[str, Any]:
        labels = {"labels": self.classes.tolist(), "dtype": self.classes.dtype.str}
        return {**labels, "folds": self.folds}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Groups:
        labels, dtype, folds = state["labels"], state["dtype"], state["folds"]
        check_label_type(dtype)
        check_distinct(labels, "the labels")
        require(is_count(folds, 1, MOST_FOLDS), "it has no folds")
        try:
            return cls(as_labels(labels, dtype), folds)
        except (TypeError, ValueError, OverflowError):
            raise wrong_state("its labels have a wrong type") from None

    def name(self, group: int) -> str:
        return repr(plain_label(self.classes[group // self.folds]))


def plain_label(label: Any) -> Any:
    """A label as a Python value: 'a' and 3 instead of np.str_('a') and np.int64(3)."""
    return label.item() if isinstance(label, np.generic) else label


def kind_of(labels: np.ndarray) -> str:
    """'text', 'number' or 'object'. Labels of one kind can be sorted together."""
    if labels.dtype.kind in "US":
        return "text"
    if labels.dtype.kind in "biuf":
        return "number"
    kinds = {type(label) for label in labels.tolist()}
    if kinds <= {str}:
        return "text"
    if kinds <= {int, float, bool}:
        return "number"
    return "object"


def union_of_labels(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """All labels of both, sorted. Text and numbers together are an error."""
    if not len(first) or not len(second):
        return first if len(first) else second
    kinds = kind_of(first), kind_of(second)
    dates = {first.dtype.kind, second.dtype.kind} & {"M", "m"} and first.dtype != second.dtype
    if dates or ("object" not in kinds and kinds[0] != kinds[1]):
        odd = plain_label(second[0])
        raise VerosimError(
            f"The label {odd!r} is a {kinds[1]}, but the labels before, such as "
            f"{plain_label(first[0])!r}, are {kinds[0]}s.",
            "Use only text or only numbers as labels.",
        )
    both = sorted_labels(set(first.tolist()) | set(second.tolist()))
    return as_labels(both, _common_dtype(first.dtype, second.dtype, both))


def _common_dtype(first: np.dtype[Any], second: np.dtype[Any], labels: list[Any]) -> Any:
    """The type of the union of two sorted sets of labels. Integers stay exact integers."""
    if object in (first, second):
        return object
    common = np.result_type(first, second)
    if common.kind != "f" or "f" in (first.kind, second.kind):
        return common
    # numpy has no integer type for both int64 and uint64, and a float loses digits above 2^53.
    if int(labels[-1]) < 1 << 63:
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if int(labels[0]) >= 0 else object


def as_labels(labels: list[Any], dtype: Any) -> np.ndarray:
    out = np.empty(len(labels), dtype=dtype)
    out[:] = labels
    return out


def sorted_labels(labels: Any) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))
