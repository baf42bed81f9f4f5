"""Counts of contexts: the codes of columns together with the codes of their parents.

    count_k(x_j, parents of j) = Σ w over the rows of class k that have these codes

Contexts are the code axis. It grows as rows are read, and two of them are merged by key.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from verosim import kernels
from verosim.axes import ContextCodes
from verosim.axes.contexts import filled_slots
from verosim.data import Batch
from verosim.kernels.constants import CODE_BITS
from verosim.stats.fields import BASE_FIELDS, Field, G
from verosim.stats.growing import GrowingCounts, GrowingTable, by_code, longer
from verosim.stats.state import restorable

CONTEXT_FIELDS = {
    **BASE_FIELDS,
    "count": Field((*G, "code")),
    # Whole rows beside the weights: they decide whether a context exists.
    "cells": Field(("fold", "code"), "rows"),
}
FIRST_ROOM = 1 << 12  # contexts


@restorable
class Contexts(GrowingCounts):
    """Counts of the contexts of all columns."""

    sums_of = "contexts"

    @property
    def fields(self) -> dict[str, Field]:
        return CONTEXT_FIELDS

    @property
    def codes(self) -> ContextCodes:
        assert isinstance(self.axes.codes, ContextCodes)
        return self.axes.codes

    @property
    def grows(self) -> bool:
        return True

    def rows_with_cells(self) -> dict[str, np.ndarray]:
        """Every row has exactly one context of each column."""
        cells = self.codes.cells
        rows = np.zeros(cells.size, dtype=np.int64)  # (J,)
        np.add.at(rows, self._own_codes(), self.arrays["cells"].sum(axis=0))
        return {
            name: rows[cells.first[j] + cells.maps[j]] for j, name in enumerate(self.axes.columns)
        }

    def _own_codes(self) -> np.ndarray:
        """(K,) for each context, the code of its column, without those of the parents."""
        codes = self.codes
        own = codes.keys & np.int64((1 << CODE_BITS) - 1)
        return np.asarray(codes.cells.first[codes.column_of()] + own)

    def single(self) -> np.ndarray:
        """(C, F, J) the counts of single codes."""
        C, F = (self.axes.size(dim) for dim in ("class", "fold"))
        out = np.zeros((self.codes.cells.size, C, F))
        np.add.at(out, self._own_codes(), self.arrays["count"].transpose(2, 0, 1))
        return out.transpose(1, 2, 0)

    def unplaced(self) -> Self:
        return self.like(self.axes.with_codes(self.codes.with_keys(np.empty(0, dtype=np.int64))))

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        codes = self.codes
        table = self.growing()
        if table is None:
            count, cells = by_code(self.arrays["count"]), self.arrays["cells"].T
            table = ContextTable(codes.keys, count, np.ascontiguousarray(cells))
        row = 0
        while row < len(batch):
            row = table.read(batch, row, codes, self.axes.groups.folds)
        if codes.size != table.size:
            self.axes = self.axes.with_codes(codes.with_keys(table.keys[: table.size]))
        C, F, K = (self.axes.size(dim) for dim in ("class", "fold", "code"))
        self.arrays["count"] = table.count[:K].reshape(K, C, F).transpose(1, 2, 0)
        self.show(table)
        self.count_rows(batch)


class ContextTable(GrowingTable):
    """The keys of contexts, where they are found, and their counts."""

    def __init__(self, keys: np.ndarray, count: np.ndarray, cells: np.ndarray) -> None:
        super().__init__(cells)
        self.count = count
        self.keys, self._size = keys, len(keys)
        self.slots = np.empty(0, dtype=np.int32)

    @property
    def size(self) -> int:
        return self._size

    def read(self, batch: Batch, row: int, codes: ContextCodes, folds: int) -> int:
        """Count rows from this one on until there is no room. Returns the next row."""
        d = len(codes.parents)
        if self._size + d > len(self.keys) or not len(self.slots):
            self._grow(max(self._size, d, min(len(batch) * d, FIRST_ROOM)))
        row, self._size = kernels.count_contexts(
            batch.block, codes.cells.maps, codes.parent_table, row, batch.groups, batch.weights,
            folds, self.keys, self.slots, self._size, self.count, self.cells,
        )  # fmt: skip
        return row

    def _grow(self, more: int) -> None:
        """Make room for so many more keys."""
        length = self._size + more
        self.keys, self.count, self.cells = (
            longer(array[: self._size], length) for array in (self.keys, self.count, self.cells)
        )
        self.slots = filled_slots(self.keys, self._size, length)
