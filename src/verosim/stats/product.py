"""A product of statistics: named parts over the same rows, each part with its own columns.

    T(x₁, x₂) = (T₁(x₁), T₂(x₂))

A table with numbers and categories therefore has the same algebra as each part alone.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from verosim.axes import Axes
from verosim.axes.state_checks import require
from verosim.data import Batch
from verosim.errors import VerosimError
from verosim.stats.state import from_state, restorable
from verosim.stats.statistic import Statistic


@restorable
class Product(Statistic):
    """Statistics by name. A batch for a product has one block per part.

    `kinds` maps the name of a part to its kind. Parts of the same kind are estimated by the same
    density. The kind of a part that is not in `kinds` is its name.
    """

    sums_of = "parts"

    def __init__(
        self, parts: Mapping[str, Statistic], kinds: Mapping[str, str] | None = None
    ) -> None:
        if not parts:
            raise VerosimError(
                "A product of statistics must have at least one part; got none.",
                "Give a mapping with at least one statistic.",
            )
        self.parts = dict(parts)
        self.kinds = {name: (kinds or {}).get(name, name) for name in parts}

    @property
    def head(self) -> Statistic:
        """The first part. Rows and weights are the same in all parts and are read from it."""
        return next(iter(self.parts.values()))

    @property
    def axes(self) -> Axes:  # type: ignore[override]  # the axes of a product are never set
        return self.head.axes

    @property
    def rows(self) -> np.ndarray:
        return self.head.rows

    @property
    def weight(self) -> np.ndarray:
        return self.head.weight

    def _each(self, do: Callable[[Any], Any]) -> Self:
        return self.with_parts({name: do(part) for name, part in self.parts.items()})

    def with_parts(self, parts: Mapping[str, Statistic]) -> Self:
        """A product of other statistics with the same names and kinds."""
        return type(self)(parts, self.kinds)

    def _paired(self, other: Self, do: Callable[[Any, Any], Any]) -> Self:
        if type(other) is not type(self) or self.parts.keys() != other.parts.keys():
            raise VerosimError(
                f"The models have different kinds of columns; one of them has "
                f"{sorted(self.parts)}.",
                "Merge models that were fitted with the same columns.",
            )
        return self.with_parts(
            {name: do(part, other.parts[name]) for name, part in self.parts.items()}
        )

    def prepare(self, batch: Batch) -> None:
        for name, part in self.parts.items():
            part.prepare(batch.part(name))

    def absorb(self, batch: Batch) -> None:
        for name, part in self.parts.items():
            part.absorb(batch.part(name))

    def zero(self) -> Self:
        return self._each(lambda part: part.zero())

    def unplaced(self) -> Self:
        return self._each(lambda part: part.unplaced())

    def copy(self) -> Self:
        return self._each(lambda part: part.copy())

    def align(self, axes: Axes) -> Self:
        """Parts share groups but not columns, so only the groups of `axes` are used."""
        return self._each(lambda part: part.align(part.axes.with_groups(axes.groups)))

    def renamed(self, names: Mapping[str, str]) -> Self:
        return self._each(lambda part: part.renamed(names))

    def leaves(self) -> Iterator[Statistic]:
        for part in self.parts.values():
            yield from part.leaves()

    def named_parts(self) -> Iterator[tuple[str, Statistic]]:
        yield from self.parts.items()

    def map_parts(self, make: Callable[[str], Statistic]) -> Statistic:
        return self.with_parts({name: make(name) for name in self.parts})

    def __add__(self, other: Self) -> Self:
        return self._paired(other, operator.add)

    def __sub__(self, other: Self) -> Self:
        return self._paired(other, operator.sub)

    def __iadd__(self, other: Self) -> Self:
        return self._paired(other, operator.iadd)

    def __mul__(self, factor: float) -> Self:
        return self._each(lambda part: part * factor)

    def with_class_weights(self, factors: np.ndarray) -> Self:
        return self._each(lambda part: part.with_class_weights(factors))

    def recentred(self) -> Self:
        return self._each(lambda part: part.recentred())

    def folded(self, folds: int) -> Self:
        return self._each(lambda part: part.folded(folds))

    def fold(self, f: int) -> Self:
        return self._each(lambda part: part.fold(f))

    def total(self, dim: str = "fold") -> Self:
        return self._each(lambda part: part.total(dim))

    def complement(self, dim: str = "fold") -> Self:
        return self._each(lambda part: part.complement(dim))

    def without(self, part: Self) -> Self:
        return self._paired(part, lambda mine, theirs: mine.without(theirs))

    def pruned(self, min_count: float) -> Self:
        return self._each(lambda part: part.pruned(min_count))

    def without_traces(self) -> Self:
        return self._each(lambda part: part.without_traces())

    def prune(self) -> Self:
        return self._each(lambda part: part.prune())

    def fingerprint(self) -> str:
        parts = "".join(name + part.fingerprint() for name, part in self.parts.items())
        return hashlib.sha256(parts.encode()).hexdigest()

    def state(self) -> dict[str, Any]:
        parts = {name: part.state() for name, part in self.parts.items()}
        return {"kind": type(self).__name__, "parts": parts, "kinds": dict(self.kinds)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        parts = {name: from_state(part) for name, part in state["parts"].items()}
        kinds = state["kinds"]
        require(all(type(kind) is str for kind in kinds.values()), "a part has no kind")
        require(kinds.keys() == parts.keys(), "its parts differ in number")
        out = cls(parts, kinds)
        same = all(part.axes.groups == out.axes.groups for part in parts.values())
        require(same, "its parts have different classes")
        return out

    def __repr__(self) -> str:
        return f"Product({', '.join(f'{n}={p!r}' for n, p in self.parts.items())})"


@restorable
class Several(Product):
    """Statistics by name that all read the same block of the same rows."""

    def prepare(self, batch: Batch) -> None:
        for part in self.parts.values():
            part.prepare(batch)

    def absorb(self, batch: Batch) -> None:
        for part in self.parts.values():
            part.absorb(batch)
