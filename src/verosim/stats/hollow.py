"""A statistic without its sums: only the axes, the numbers of rows and the weights.

A model that was saved without sums has it. The model predicts, and everything that needs the sums
is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from verosim.axes import Axes
from verosim.axes.state_checks import require
from verosim.errors import VerosimError
from verosim.stats.product import Product
from verosim.stats.state import restorable
from verosim.stats.statistic import Statistic

NEEDS_SUMS = (
    "absorb", "zero", "unplaced", "copy", "align", "with_class_weights", "folded", "fold", "total",
    "complement", "without", "without_traces", "prune", "pruned", "lean", "recentred", "narrowed",
    "renamed", "__add__", "__sub__", "__iadd__", "__mul__", "__rmul__", "fingerprint",
)  # fmt: skip


class _WithoutSums(Statistic):
    """The refusals of a statistic without sums."""


def without_sums() -> VerosimError:
    """The error for a method that needs sums."""
    return VerosimError(
        "The model was saved without the sums of its training rows, so it can only predict.",
        "Save the model with statistics=True, or fit it again.",
    )


def _refusal(name: str) -> Any:
    def refused(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise without_sums()

    refused.__name__ = name
    return refused


for _name in NEEDS_SUMS:
    setattr(_WithoutSums, _name, _refusal(_name))
_WithoutSums.__abstractmethods__ = frozenset(  # type: ignore[attr-defined]
    _WithoutSums.__abstractmethods__ - set(NEEDS_SUMS)  # type: ignore[attr-defined]
)


@restorable
class Hollow(_WithoutSums):
    """Axes, numbers of rows and weights, without sums."""

    complete = None
    has_sums = False
    has_values = True  # the refusal of prune is that of the sums

    def __init__(self, axes: Axes, rows: np.ndarray, weight: np.ndarray, sums_of: str) -> None:
        self.axes, self._rows, self._weight, self._sums_of = axes, rows, weight, sums_of

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
            "sums_of": self.sums_of,
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
        return cls(axes, rows, weight, state["sums_of"])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise without_sums()

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
    return Hollow(axes, rows, weight, statistic.sums_of)
