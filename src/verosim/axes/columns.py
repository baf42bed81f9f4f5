"""The columns of a table, by number and, if the table has names, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verosim.axes.state_checks import is_count, require
from verosim.errors import VerosimError, listed


@dataclass(frozen=True)
class Columns:
    size: int
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[str]:
        return iter(self.names) if self.names is not None else (f"x{j}" for j in range(self.size))

    def name(self, j: int) -> str:
        return self.names[j] if self.names is not None else f"x{j}"

    def narrowed(self, at: Any) -> Columns:
        """Some of the columns, by their numbers."""
        names = None if self.names is None else tuple(self.names[int(j)] for j in at)
        return Columns(len(at), names)

    def renamed(self, names: Mapping[str, str]) -> Columns:
        """The same columns with new names of some, by the old names."""
        if self.names is None or names.keys().isdisjoint(self.names):
            return self
        return Columns(self.size, tuple(names.get(name, name) for name in self.names))

    def state(self) -> dict[str, Any]:
        return {"size": self.size, "names": None if self.names is None else list(self.names)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Columns:
        size, names = state["size"], state["names"]
        require(is_count(size), "it has no number of columns")
        if names is not None:
            require(all(type(name) is str for name in names), "the names of columns are not texts")
            require(len(names) == size, "it does not have one name per column")
        return cls(size, None if names is None else tuple(names))

    def union(self, other: Columns) -> Columns:
        """Both sides must have the same columns in the same order."""
        if self is other or self == other:
            return self
        if self.size != other.size:
            raise VerosimError(
                f"One model has {self.size} columns and the other has {other.size}.",
                "Fit both on the same columns.",
            )
        if self.names is None or other.names is None:
            return self if self.names is not None else other
        apart = [a for a, b in zip(self.names, other.names, strict=True) if a != b]
        raise VerosimError(
            f"The columns {listed(apart)} of one model are at different places in the other.",
            "Fit both on the same columns in the same order.",
        )
