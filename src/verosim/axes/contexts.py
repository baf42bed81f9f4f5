"""Contexts: which values columns have together with the values of their parents.

A context of column j is the code of j and the codes of its parents in one row. Contexts are added
as rows show them, and two sets of contexts are merged by their keys. The key of a context does not
depend on the order of the rows, and nothing is ever dropped, so chunks and merges agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes.cell_codes import CELLS, CellCodes
from verosim.axes.codes import Codes
from verosim.axes.columns import Columns
from verosim.axes.hash_keys import CONTEXT_KEY
from verosim.axes.state_checks import check_whole, require
from verosim.cached import cached_property
from verosim.errors import FITTED_SCHEMA_HINT, VerosimError
from verosim.kernels.constants import COLUMN_SHIFT, CONTEXT_KEY_PARTS

MOST_PARENTS = 5  # a key has one byte for each of them


class ContextCodes(Codes):
    """The contexts that were seen, in the order in which they were seen."""

    def __init__(
        self, cells: CellCodes, parents: tuple[tuple[int, ...], ...], keys: np.ndarray | None = None
    ) -> None:
        self.cells, self.parents = cells, parents
        self.keys = np.empty(0, dtype=np.int64) if keys is None else keys  # (K,)
        self.size = len(self.keys)
        self.first = np.array([0, self.size], dtype=np.intp)

    @cached_property
    def parent_table(self) -> np.ndarray:
        """(d, MOST_PARENTS) the parents of every column, −1 where there are fewer."""
        out = np.full((len(self.parents), MOST_PARENTS), -1, dtype=np.int64)
        for j, parents in enumerate(self.parents):
            out[j, : len(parents)] = parents
        return out

    @cached_property
    def depth(self) -> np.ndarray:
        """(d,) the number of parents of every column."""
        return np.array([len(parents) for parents in self.parents], dtype=np.int64)

    @cached_property
    def slots(self) -> np.ndarray:
        """The hash table of the keys."""
        return filled_slots(self.keys, self.size)

    def with_keys(self, keys: np.ndarray) -> ContextCodes:
        return ContextCodes(self.cells, self.parents, keys)

    def columns_of(self) -> int:
        return len(self.parents)

    def column_of(self) -> np.ndarray:
        return self.keys >> np.int64(COLUMN_SHIFT)

    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        raise TypeError("A row has contexts of many columns. The statistic Contexts counts them.")

    def union(self, other: ContextCodes, columns: Columns) -> ContextCodes:
        self.cells.union(other.cells, columns)
        for j, (mine, theirs) in enumerate(zip(self.parents, other.parents, strict=True)):
            if mine != theirs:
                raise VerosimError(
                    f"Column {columns.name(j)!r} has different parents in the two models.",
                    FITTED_SCHEMA_HINT,
                )
        new = other.keys[self.find(other.keys) < 0]
        return self if not len(new) else self.with_keys(np.concatenate([self.keys, new]))

    def find(self, keys: np.ndarray) -> np.ndarray:
        """(m,) the codes of some keys; −1 for keys that were not seen."""
        out = np.empty(len(keys), dtype=np.int64)
        kernels.find_keys(keys, self.keys, self.slots, out)
        return out

    def positions(self, wider: ContextCodes) -> np.ndarray | None:
        if self.size == wider.size and np.array_equal(self.keys, wider.keys):
            return None
        return wider.find(self.keys)

    def keep(self, kept: np.ndarray) -> ContextCodes:
        return self.with_keys(self.keys[kept])

    def in_order(self) -> tuple[np.ndarray, Any]:
        order = np.argsort(self.keys)
        return order, self.with_keys(self.keys[order]).state()

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        key = int(self.keys[code])
        return columns.name(key >> COLUMN_SHIFT), f"code {key & 255} with its parents"

    def state(self) -> Any:
        return [self.cells.state(), [list(one) for one in self.parents], self.keys.tobytes()]

    @classmethod
    def from_state(cls, state: Any) -> ContextCodes:
        cells, parents, raw = state
        codes, keys = CellCodes.from_state(cells), np.frombuffer(raw, dtype=np.int64).copy()
        d = len(codes.sizes)
        require(len(parents) == d, "its columns differ in number")
        for j, one in enumerate(parents):
            whole = isinstance(one, list) and all(type(parent) is int for parent in one)
            require(whole, "a parent is not a number")
            check_whole(one, 0, d - 1, "a parent is not a column")
            require(len(one) <= MOST_PARENTS and j not in one, "a column has wrong parents")
        left = set(range(d))
        while first := {j for j in left if not left.intersection(parents[j])}:
            left -= first
        require(not left, "a column is among the parents of its parents")
        column = keys >> np.int64(COLUMN_SHIFT)
        check_whole(column, 0, d - 1, "a context is not of a column")
        require((keys & np.int64(CELLS - 1) < codes.sizes[column]).all(), "a context has no code")
        require(len(np.unique(keys)) == len(keys), "a context occurs twice")
        return cls(codes, tuple(tuple(one) for one in parents), keys)


def filled_slots(
    keys: np.ndarray, size: int, room: int = 0, secret: np.ndarray = CONTEXT_KEY
) -> np.ndarray:
    """A hash table of the first `size` keys, at most half full when `room` keys are in it.

    The key of the hash is at its end.
    """
    count = 4
    while count < 2 * max(size, room) + 2:
        count *= 2
    slots = np.full(count + CONTEXT_KEY_PARTS, -1, dtype=np.int32)
    slots[count:] = secret.astype("<u8").view("<i4")
    kernels.fill_key_slots(keys[:size], slots)
    return slots
