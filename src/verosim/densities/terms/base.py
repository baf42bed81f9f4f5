"""A term of a program: a function of the values of some readings, with one score per class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np

from verosim.data.nodes import Node, malformed
from verosim.data.readings import CellReading
from verosim.errors import VerosimError

# (n, C) the scores, and (n, C) the sum of the absolute values of all products that were added.
# Two ways to compute a score may differ by a small multiple of eps times this sum.
Scored = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Term(Node):
    """A part of the score of each class, from the values of the readings `reads`."""

    takes: ClassVar[str | None] = None  # what its readings must give; None if it may be anything
    arity: ClassVar[int | None] = None  # how many readings it has; None for at least one
    reads: tuple[int, ...]  # the numbers of the readings, d in total

    @abstractmethod
    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        """The scores from the values (n,) of each reading of `reads`."""

    def moved(self, places: Sequence[int] | Mapping[int, int]) -> Self:
        """The same term for other numbers of the readings: j becomes places[j]."""
        return replace(self, reads=tuple(int(places[j]) for j in self.reads))

    def by_column(self) -> tuple[Term, ...]:
        """The terms of one reading each that have the same sum, if columns are independent."""
        return (self,)

    def check(self, readings: int, classes: int) -> None:
        """Raise an error if the term does not fit this number of readings and of classes."""
        if not all(0 <= j < readings for j in self.reads):
            raise VerosimError(
                f"A term of the kind {self.kind!r} reads {list(self.reads)}, but the program has "
                f"{readings} readings.",
                "Use the numbers of the readings, from 0.",
            )
        if len(self.reads) != (self.arity or max(len(self.reads), 1)):
            raise malformed(f"a term of the kind {self.kind!r} has {len(self.reads)} readings")
        self.check_shapes({"C": classes, "d": len(self.reads)})

    def check_values(self, given: Sequence[CellReading]) -> None:
        """Raise an error if the readings that are used do not give the right type of value."""
        mine = [given[j] for j in self.reads]
        for reading in mine:
            if self.takes not in (None, reading.gives):
                raise malformed(
                    f"the term {self.kind!r} needs a {self.takes}, and the reading "
                    f"{reading.kind!r} gives a {reading.gives}"
                )
        for one in fields(self):
            value = getattr(self, one.name)
            for inner in value if isinstance(value, tuple) else (value,):
                if isinstance(inner, Term):
                    inner.check_values(mine)


def finite_part(table: np.ndarray) -> np.ndarray:
    """The table with 0 in place of −∞."""
    return np.where(np.isneginf(table), 0.0, table)


def products(amounts: np.ndarray, table: np.ndarray) -> Scored:
    """amounts (n, d) @ table (d, C), where an amount of 0 times −∞ is 0."""
    known = finite_part(table)
    scores = amounts @ known
    impossible = (amounts != 0) @ np.isneginf(table).astype(np.float64) > 0
    return np.where(impossible, -np.inf, scores), np.abs(amounts) @ np.abs(known)
