"""Counts of contexts: the codes of columns together with the codes of their parents.

    count_k(x_j, parents of j) = Σ w over the rows of class k that have these codes

Contexts are the code axis. It grows as rows are read, and two of them are merged by key.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes, ContextCodes
from verosim.axes.contexts import filled_slots
from verosim.data import Batch
from verosim.stats.arrays import ArrayStatistic
from verosim.stats.fields import BASE_FIELDS, Field, G
from verosim.stats.forgetting import existing_codes, settle_cells
from verosim.stats.state import restorable

CONTEXT_FIELDS = {
    **BASE_FIELDS,
    "count": Field((*G, "code")),
    # Whole rows beside the weights: they decide whether a context exists.
    "cells": Field(("fold", "code"), "rows"),
}
FIRST_ROOM = 1 << 12  # contexts


@restorable
class Contexts(ArrayStatistic):
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

    def _zeros(self, axes: Axes) -> dict[str, np.ndarray]:
        arrays = super()._zeros(axes)
        # The counts of one context are next to each other: rows find them there.
        C, F, K = (axes.size(dim) for dim in ("class", "fold", "code"))
        arrays["count"] = np.zeros((K, C, F)).transpose(1, 2, 0)
        arrays["cells"] = np.zeros((K, F), dtype=np.int64).T
        return arrays

    def copy(self) -> Self:
        arrays = {name: array.copy(order="K") for name, array in self.arrays.items()}
        return self.like(self.axes, arrays, {})

    def unplaced(self) -> Self:
        return self.like(self.axes.with_codes(self.codes.with_keys(np.empty(0, dtype=np.int64))))

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        codes, groups = self.codes, self.axes.groups
        C, F, size, row = len(groups.classes), groups.folds, codes.size, 0
        room = _Room(codes.keys, by_code(self.arrays["count"]), self.arrays["cells"].T, size)
        room.grow(min(len(batch) * len(codes.parents), FIRST_ROOM))
        while row < len(batch):
            row, size = kernels.count_contexts(
                batch.block, codes.cells.maps, codes.parent_table, row, batch.groups,
                batch.weights, F, room.keys, room.slots, size, room.count, room.whole,
            )  # fmt: skip
            room.size = size
            if row < len(batch):
                room.grow(max(size, len(codes.parents)))
        self.axes = self.axes.with_codes(codes.with_keys(room.keys[:size]))
        self.arrays["count"] = room.count[:size].reshape(size, C, F).transpose(1, 2, 0)
        self.arrays["cells"] = room.whole[:size].T
        self.count_rows(batch)

    def settle_rows(self, before: Self) -> None:
        super().settle_rows(before)
        settle_cells(self, before)

    def cleared(self) -> Self:
        out = super().cleared()
        kept = existing_codes(out)
        return out if kept.all() else out.keep("code", kept)


class _Room:
    """Keys and counts in arrays that are longer than they need to be."""

    def __init__(self, keys: np.ndarray, count: np.ndarray, whole: np.ndarray, size: int) -> None:
        self.keys, self.count, self.whole, self.size = keys, count, whole, size
        self.slots = np.empty(0, dtype=np.int64)

    def grow(self, more: int) -> None:
        """Make room for so many more keys."""
        length = self.size + more
        self.keys, self.count, self.whole = (
            _longer(array[: self.size], length) for array in (self.keys, self.count, self.whole)
        )
        self.slots = filled_slots(self.keys, self.size, length)


def by_code(count: np.ndarray) -> np.ndarray:
    """(K, C · F) the counts (C, F, K) with those of one code next to each other."""
    C, F, K = count.shape
    return np.ascontiguousarray(count.transpose(2, 0, 1)).reshape(K, C * F)


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    out = np.zeros((length, *array.shape[1:]), dtype=array.dtype)
    out[: len(array)] = array
    return out
