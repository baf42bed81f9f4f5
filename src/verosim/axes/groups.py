"""A group is a class and a fold. A statistic keeps separate sums for each group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
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

# The types that labels can have, and their names in messages.
LABEL_KINDS: dict[type, str] = {
    str: "texts", bool: "booleans", int: "integers", float: "floats", bytes: "byte strings",
    Decimal: "decimals", datetime: "datetimes", date: "dates", timedelta: "durations",
}  # fmt: skip
WITH_ZONE = "datetimes with a time zone"
FINE_UNITS = ("ns", "ps", "fs", "as")  # of times, finer than those of Python
NUMBERS = {"integers", "floats"}  # models of integers and of floats can be merged


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
        if self is other or are_same(self.classes, other.classes):
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
            return cls(plain_times(as_labels(labels, dtype)), folds)
        except (TypeError, ValueError, OverflowError):
            raise wrong_state("its labels have a wrong type") from None

    def name(self, group: int) -> str:
        return repr(plain_label(self.classes[group // self.folds]))


def plain_label(label: Any) -> Any:
    """A label as a value of Python, and not of a subclass: 'a' and 3, not np.str_('a').

    A time with nanoseconds has no such value and stays as it is.
    """
    if isinstance(label, Decimal):
        return Decimal("NaN") if label.is_snan() else Decimal(label)
    if type(label) in LABEL_KINDS:
        return label
    if isinstance(label, np.datetime64 | np.timedelta64):
        label = np.asarray(label)
        return _in_microseconds(label).item() if is_exact_time(label) else label[()]
    if isinstance(label, np.generic):
        return label.item()
    if isinstance(label, str):
        return str.__str__(label)
    if isinstance(label, int):
        return int.__index__(label)
    if isinstance(label, float | bytes):
        return float(label) if isinstance(label, float) else bytes(label)
    if isinstance(label, datetime | timedelta) and label == label:  # NaT is a datetime too
        if getattr(label, "nanosecond", 0) or getattr(label, "nanoseconds", 0):
            return label
        if isinstance(label, datetime):
            return datetime.combine(label.date(), label.timetz())
        return timedelta(label.days, label.seconds, label.microseconds)
    return label


def label_text(label: Any) -> str:
    """A label as a text that UTF-8 can write, also if it has one half of a surrogate pair."""
    return str(plain_label(label)).encode("utf-8", "backslashreplace").decode()


def _in_microseconds(times: np.ndarray) -> np.ndarray:
    """Times of numpy in a unit that has values of Python: the same, or microseconds."""
    unit = np.datetime_data(times.dtype)[0]
    return times.astype(f"{times.dtype.kind}8[us]") if unit in FINE_UNITS else times


def is_exact_time(times: np.ndarray) -> bool:
    """Whether times of numpy have no part of a microsecond."""
    found = _in_microseconds(times)
    return found is times or bool(((found == times) | np.isnat(times)).all())


def plain_times(labels: np.ndarray) -> np.ndarray:
    """Labels with times of numpy in a unit that has values of Python. Other labels are the same."""
    if labels.dtype.kind not in "Mm" or not is_exact_time(labels):
        return labels
    return _in_microseconds(labels)


def kind_of_label(label: Any) -> str | None:
    """The name of the type of a label, or None if a label cannot have this type."""
    kind = LABEL_KINDS.get(type(label))
    return WITH_ZONE if kind == "datetimes" and label.utcoffset() is not None else kind


def kind_of(labels: np.ndarray) -> str | None:
    """The name of the type of all labels, or None if they have several types or none."""
    if labels.dtype.kind in "Ub":
        return LABEL_KINDS[str if labels.dtype.kind == "U" else bool]
    if labels.dtype.kind in "iuf":
        return "floats" if labels.dtype.kind == "f" else "integers"
    kinds = set(map(kind_of_label, labels.tolist()))
    return kinds.pop() if len(kinds) == 1 else None


def are_same(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two arrays have the same labels, also in their types: 1 is not True."""
    return np.array_equal(first, second) and kind_of(first) == kind_of(second)


def check_one_kind(labels: Iterable[Any]) -> None:
    """Raise an error if labels have several types, which may be equal, as 1 and True are."""
    first: dict[str | None, Any] = {}
    for label in labels:
        first.setdefault(kind_of_label(label), label)
    if len(first) > 1:
        shown = [f"{kind} such as {label!r}" for kind, label in first.items()]
        raise VerosimError(
            f"The labels mix {shown[0]} and {shown[1]}.", "Give all labels in one type."
        )


def union_of_labels(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """All labels of both, sorted. Labels of two types are an error, except integers and floats."""
    if not len(first) or not len(second):
        return first if len(first) else second
    kinds = {kind_of(first), kind_of(second)}
    if None not in kinds and not kinds <= NUMBERS:
        check_one_kind([first.tolist()[0], second.tolist()[0]])
    both = sorted_labels(set(first.tolist()) | set(second.tolist()))
    return as_labels(both, _common_dtype(first.dtype, second.dtype, both))


def _common_dtype(first: np.dtype[Any], second: np.dtype[Any], labels: list[Any]) -> Any:
    """The type of the union of two sorted sets of labels. Integers stay exact integers."""
    if object in (first, second):
        return object
    common = np.result_type(first, second)
    if common.kind != "f":
        return common
    # A float loses digits of integers above 2^53.
    if "f" in (first.kind, second.kind) and all(float(label) == label for label in labels):
        return common
    # numpy has no integer type for both int64 and uint64.
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
