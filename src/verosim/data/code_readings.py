"""Readings that give a code: the number of a bin, of a listed value, or of the flag that is 1.

    known codes 0, 1, …;   then one code for other values, except for bins;   the last code: missing

A code is a whole number from 0, so that a term can use it as the row of a table.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verosim.axes.value_hashes import HashedText, ValueIndex
from verosim.cached import cached_property
from verosim.data.nodes import malformed
from verosim.data.readings import CODE, NUMBER, VALUE, CellReading, Cells, check_gives


@dataclass(frozen=True, eq=False)
class CodeReading(CellReading):
    """A code of another reading, or of several."""

    gives = CODE

    @abstractmethod
    def merged(self, codes: Sequence[int]) -> CodeReading:
        """The reading with the code codes[i] in place of i, where neighbours may be merged."""


@dataclass(frozen=True, eq=False)
class BinReading(CodeReading):
    """The number of cuts that are at most x; the number of all cuts + 1 means missing."""

    kind = "bin"
    of: CellReading
    cuts: tuple[float, ...]

    def __post_init__(self) -> None:
        check_gives(self.of, NUMBER)
        if any(b < a for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise malformed("the cuts of bins do not increase")

    @property
    def inputs(self) -> dict[str, str]:
        return self.of.inputs

    @property
    def codes(self) -> int:
        return len(self.cuts) + 2

    def read(self, cells: Cells) -> np.ndarray:
        x = self.of.read(cells)
        return np.where(
            np.isnan(x), self.codes - 1, np.searchsorted(np.array(self.cuts), x, side="right")
        )

    def merged(self, codes: Sequence[int]) -> BinReading:
        kept = (cut for i, cut in enumerate(self.cuts) if codes[i] != codes[i + 1])
        return BinReading(self.of, tuple(kept))


@dataclass(frozen=True, eq=False)
class PlaceReading(CodeReading):
    """The place of a text in a list; the next code for other texts, the last one if it is missing.

    If the rows with a value were forgotten, only its hash is known: 16 hexadecimal digits.
    """

    kind = "place"
    of: CellReading
    values: tuple[str, ...]
    hashed: tuple[int, ...] = ()  # the places of the values that are hashes

    @classmethod
    def of_values(cls, of: CellReading, values: Sequence[HashedText]) -> PlaceReading:
        """The places of texts and of hashes."""
        shown = (value if isinstance(value, str) else f"{value:016x}" for value in values)
        hashed = (i for i, value in enumerate(values) if not isinstance(value, str))
        return cls(of, tuple(shown), tuple(hashed))

    def __post_init__(self) -> None:
        check_gives(self.of, VALUE)
        _ = self._index

    @property
    def inputs(self) -> dict[str, str]:
        return self.of.inputs

    @property
    def codes(self) -> int:
        return len(self.values) + 2

    @cached_property
    def _index(self) -> ValueIndex:
        found: list[HashedText] = list(self.values)
        try:
            for i in self.hashed:
                found[i] = int(self.values[i], 16)
        except (IndexError, ValueError):
            raise malformed("a hash is not a hexadecimal number") from None
        return ValueIndex(found)

    def read(self, cells: Cells) -> np.ndarray:
        other, missing = len(self.values), len(self.values) + 1
        texts = self.of.read(cells).tolist()
        found = {
            text: missing if text is None else self._index.get(text, other) for text in {*texts}
        }
        return np.array([found[text] for text in texts], dtype=np.int64)

    def merged(self, codes: Sequence[int]) -> PlaceReading:
        return self  # values are not merged


@dataclass(frozen=True, eq=False)
class WhichReading(CodeReading):
    """The number of the one reading that is 1; the next code if it is not one of them.

    The last code means that one of them is missing.
    """

    kind = "which"
    of: tuple[CellReading, ...]

    def __post_init__(self) -> None:
        if not self.of:
            raise malformed("a group has no columns")
        for reading in self.of:
            check_gives(reading, NUMBER)

    @property
    def inputs(self) -> dict[str, str]:
        return {name: type_ for one in self.of for name, type_ in one.inputs.items()}

    @property
    def codes(self) -> int:
        return len(self.of) + 2

    def read(self, cells: Cells) -> np.ndarray:
        x = np.stack([one.read(cells) for one in self.of], axis=1)  # (n, p)
        ones = x == 1.0
        found = np.where(ones.sum(axis=1) == 1, ones.argmax(axis=1), len(self.of))
        return np.where(np.isnan(x).any(axis=1), len(self.of) + 1, found)

    def merged(self, codes: Sequence[int]) -> WhichReading:
        return self
