"""Terms of one value that is looked up in a list: categories, codes, pieces of dates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from verosim.axes.capped_categories import OTHER, Rank, overflow_rank
from verosim.axes.codes import is_missing
from verosim.cached import cached_property
from verosim.data.nodes import Node, malformed
from verosim.data.readings import VALUE
from verosim.densities.terms.base import Scored, Term


@dataclass(frozen=True, eq=False)
class UnlistedValues(Node):
    """Which values that are not in a list have the entry '‹other›'."""

    @abstractmethod
    def __contains__(self, value: object) -> bool: ...


@dataclass(frozen=True, eq=False)
class Overflow(UnlistedValues):
    """Texts with a rank above the last rank.

    The rank is (0 if the text is frequent, else 1; its hash). A hash is the first 8 bytes of
    BLAKE2b, as a number in 16 hexadecimal digits, because JSON numbers have only 53 bits.
    """

    kind = "overflow"
    frequent: tuple[str, ...]
    last: tuple[int, str]

    @classmethod
    def of(cls, frequent: Iterable[int], last: Rank) -> Overflow:
        """The overflow of a column with the hashes of these frequent values."""
        return cls(tuple(f"{number:016x}" for number in frequent), (last[0], f"{last[1]:016x}"))

    def __post_init__(self) -> None:
        _ = self._numbers

    @cached_property
    def _numbers(self) -> tuple[frozenset[int], Rank]:
        try:
            hashes = frozenset(int(digits, 16) for digits in self.frequent)
            return hashes, (self.last[0], int(self.last[1], 16))
        except ValueError:
            raise malformed("a hash is not a hexadecimal number") from None

    def __contains__(self, value: object) -> bool:
        frequent, last = self._numbers
        return isinstance(value, str) and overflow_rank(value, frequent) > last


@dataclass(frozen=True, eq=False)
class LookupTerm(Term):
    """table[v] for a listed value v; `unseen` for any other value, and `missing` for a gap."""

    kind = "lookup"
    takes = VALUE
    arity = 1
    values: tuple[Any, ...]
    table: Annotated[np.ndarray, "K", "C"]
    unseen: Annotated[np.ndarray, "C"]
    missing: Annotated[np.ndarray, "C"]
    overflow: UnlistedValues | None = None

    def __post_init__(self) -> None:
        try:
            _ = self._rows
        except TypeError:
            raise malformed("a listed value is not a plain value") from None
        if len(self.values) != len(self.table):
            raise malformed("the list of values does not fit its table")

    @cached_property
    def _rows(self) -> dict[Any, int]:
        return {value: i for i, value in enumerate(self.values)}

    def _row(self, value: Any) -> int:
        if is_missing(value):
            return len(self.values) + 1
        found = self._rows.get(value)
        if found is None and self.overflow is not None and value in self.overflow:
            found = self._rows.get(OTHER)
        return len(self.values) if found is None else found

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        every = np.vstack([self.table.reshape(-1, len(self.unseen)), self.unseen, self.missing])
        scores = every[[self._row(value) for value in values[0].tolist()]]
        return scores, np.abs(scores)
