"""A statistic without its sums: only the axes, the numbers of rows and the weights.

A model that was saved without sums has it. The model predicts, and everything that needs the sums
is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Self, TypeVar

import numpy as np

from verosim.axes import Axes
from verosim.axes.state_checks import is_count, require
from verosim.errors import VerosimError
from verosim.stats.product import Product
from verosim.stats.state import restorable
from verosim.stats.statistic import Statistic

Called = TypeVar("Called", bound=Callable[..., Any])


class WithoutSums(VerosimError, AttributeError):
    """The error for a method or a function that needs sums, with the name of what was called.

    It is an `AttributeError`, so that `hasattr` and `dir` work for attributes that need sums.
    """

    def __init__(self, called: str = "") -> None:
        self.called = called
        without = "the model was saved without the sums of its training rows"
        super().__init__(
            f"{called} is not possible, because {without}."
            if called
            else f"{without[0].upper()}{without[1:]}, so it can only predict.",
            "Save the model with statistics=True, or fit it again.",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.called,)


def names_itself(function: Called) -> Called:
    """A function that names itself if it needs the sums of a model that has none."""
    name = "+" if function.__name__ == "__add__" else function.__name__

    @wraps(function)
    def named(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except WithoutSums as error:
            raise WithoutSums(name) from error

    return named  # type: ignore[return-value]


def check_has_sums(statistic: Statistic, called: str) -> None:
    """Raise an error that names what was called if a model has no sums."""
    if not all(leaf.has_sums for leaf in statistic.leaves()):
        raise WithoutSums(called)


@restorable
class Hollow(Statistic):
    """Axes, numbers of rows and weights, without sums."""

    complete: Any = None
    has_sums = False
    has_values = True  # the refusal of prune is that of the sums

    def __init__(
        self, axes: Axes, rows: np.ndarray, weight: np.ndarray, sums_of: str, columns: int
    ) -> None:
        self.axes, self._rows, self._weight = axes, rows, weight
        self._sums_of, self._columns = sums_of, columns

    def _refused(self, *args: Any, **kwargs: Any) -> Any:
        raise WithoutSums()

    absorb: Any = _refused
    zero: Any = _refused
    unplaced: Any = _refused
    copy: Any = _refused
    align: Any = _refused
    with_class_weights: Any = _refused
    folded: Any = _refused
    fold: Any = _refused
    total: Any = _refused
    complement: Any = _refused
    without: Any = _refused
    without_traces: Any = _refused
    prune: Any = _refused
    pruned: Any = _refused
    lean: Any = _refused
    recentred: Any = _refused
    narrowed: Any = _refused
    renamed: Any = _refused
    fingerprint: Any = _refused
    __add__: Any = _refused
    __sub__: Any = _refused
    __iadd__: Any = _refused
    __mul__: Any = _refused
    __rmul__: Any = _refused

    def with_axes(self, axes: Axes) -> Hollow:
        """The same numbers of rows with other codes."""
        return Hollow(axes, self._rows, self._weight, self._sums_of, self._columns)

    @property
    def block_columns(self) -> int:
        return self._columns

    @property
    def rows(self) -> np.ndarray:
        return self._rows

    @property
    def weight(self) -> np.ndarray:
        return self._weight

    @property
    def size(self) -> int:
        return self._rows.size + self._weight.size

    @property
    def sums_of(self) -> str:
        return self._sums_of

    def state(self) -> dict[str, Any]:
        return {
            "kind": "Hollow", "axes": self.axes.state(), "rows": self.rows, "weight": self.weight,
            "sums_of": self.sums_of, "columns": self.block_columns,
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        axes, rows, weight = Axes.from_state(state["axes"]), state["rows"], state["weight"]
        shape = (axes.size("class"), axes.size("fold"))
        require(shape[0] >= 1 and type(state["sums_of"]) is str, "it has no class")
        for array, dtype in ((rows, np.int64), (weight, np.float64)):
            fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == shape
            require(fits, "its numbers of rows have a wrong shape")
            require(np.isfinite(array).all() and (array >= 0).all(), "a number is negative")
        require(is_count(state["columns"]), "it has no number of columns")
        return cls(axes, rows, weight, state["sums_of"], state["columns"])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise WithoutSums()

    def __repr__(self) -> str:
        return f"Hollow({int(self.rows.sum())} rows, {self.axes.size('class')} classes)"


def hollow(statistic: Any) -> Any:
    """The statistic without its sums; itself if it has none."""
    if isinstance(statistic, Product):
        parts = {name: hollow(part) for name, part in statistic.parts.items()}
        if all(parts[name] is part for name, part in statistic.parts.items()):
            return statistic
        return statistic.with_parts(parts)
    if isinstance(statistic, Hollow):
        return statistic
    rows, weight = np.array(statistic.rows), np.array(statistic.weight, dtype=float)
    axes = statistic.axes
    return Hollow(axes, rows, weight, statistic.sums_of, statistic.block_columns)
