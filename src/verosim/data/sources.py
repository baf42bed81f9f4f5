"""Sources of batches of rows. An array in memory is sliced without a copy.

Rows that are not C-ordered floats are converted one block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verosim.data.arrays import SparseRows
from verosim.data.batch import BLOCK_CELLS, UNWEIGHTED, Batch, rows_per_block

SUBSET_CELLS = 4 * BLOCK_CELLS  # cells that are copied at a time
KERNEL_TYPES = (np.dtype(np.float64), np.dtype(np.float32))  # in the byte order of the machine
CELLS_PART = "cells"  # a part that is made from the others: the rows as cells, for pairs


class Parts(dict[str, Any]):
    """One block per part of a Product, by the name of the part. All have the same rows."""

    @property
    def shape(self) -> tuple[int, int]:
        n = width = 0
        for block in self.values():
            n, columns = block.shape
            width += columns
        return n, width

    @property
    def cells_per_row(self) -> float:
        return sum(map(cells_per_row, self.values()))

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self.values())

    @classmethod
    def joined(cls, blocks: Sequence[Parts]) -> Parts:
        """The rows of several blocks, one after the other."""
        return cls({name: joined_blocks([block[name] for block in blocks]) for name in blocks[0]})

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, str):
            return super().__getitem__(at)
        return Parts({name: block[at] for name, block in self.items()})


def ready(X: Any) -> bool:
    """Whether kernels can read X without a copy."""
    if isinstance(X, np.ndarray):
        return X.dtype in KERNEL_TYPES and X.flags.c_contiguous
    return all(ready(block) for block in X.values()) if isinstance(X, Parts) else True


def cells_per_row(X: Any) -> float:
    """The number of cells per row: the columns, or the mean number of stored cells."""
    if type(X) is np.ndarray:
        return float(X.shape[1])
    if isinstance(X, SparseRows):
        return float(X.indptr[-1] - X.indptr[0]) / max(len(X), 1)
    own = getattr(X, "cells_per_row", None)
    return float(X.shape[1] if own is None else own)


def as_block(X: Any) -> Any:
    """Rows that kernels can read: X itself, or a C-ordered float copy."""
    if ready(X):
        return X
    if isinstance(X, Parts):
        return Parts({name: as_block(block) for name, block in X.items()})
    if X.dtype.kind not in "fiub":  # values that are not numbers are kept unchanged
        return X
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    return np.ascontiguousarray(X, dtype=dtype)


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Rows in memory with their groups (n,) and weights (n,)."""

    X: Any
    groups: np.ndarray
    weights: np.ndarray = field(default_factory=lambda: UNWEIGHTED)
    raw: bool = field(default=False, kw_only=True)  # whether values are not converted

    def __len__(self) -> int:
        return len(self.groups)

    def folded(self, numbers: np.ndarray, count: int) -> ArraySource:
        """The same rows with folds: the groups become class × fold."""
        groups = self.groups * np.int32(count) + numbers.astype(np.int32)
        return replace(self, groups=groups)

    def take(self, rows: np.ndarray) -> ArraySource:
        """The source of the given rows."""
        weights = self.weights[rows] if len(self.weights) else self.weights
        return ArraySource(take_rows(self.X, rows), self.groups[rows], weights, raw=self.raw)

    def subset(self, rows: np.ndarray) -> SubsetSource:
        """The source of the given rows, which are not copied yet."""
        weights = self.weights[rows] if len(self.weights) else self.weights
        return SubsetSource(self.X, self.groups[rows], weights, raw=self.raw, at=rows)

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """The rows from start to stop in batches: one if nothing is converted, else several."""
        stop = len(self) if stop is None else stop
        thinned = len(self.weights) > 0 and not self.weights[start:stop].all()
        whole = (self.raw or ready(self.X)) and not thinned
        step = max(stop - start, 1) if whole else rows_per_block(cells_per_row(self.X))
        for a in range(start, stop, step):
            b = min(stop, a + step)
            block, groups, weights = self.X[a:b], self.groups[a:b], self.weights[a:b]
            numbers: range | np.ndarray = range(a, b)
            if thinned:  # rows of zero weight are left out
                kept = np.flatnonzero(weights)
                block, groups, weights = take_rows(block, kept), groups[kept], weights[kept]
                numbers = kept + a
            yield Batch(block if self.raw else as_block(block), groups, weights, numbers)


def joined_blocks(blocks: Sequence[Any]) -> Any:
    """The rows of several blocks of one kind, one after the other."""
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    return type(blocks[0]).joined(blocks)


@dataclass(frozen=True, eq=False)
class SubsetSource(ArraySource):
    """Some rows in memory. They are copied one block at a time, when they are read."""

    at: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # (n,) numbers in X

    def take(self, rows: np.ndarray) -> ArraySource:
        weights = self.weights[rows] if len(self.weights) else self.weights
        block = take_rows(self.X, self.at[rows])
        return ArraySource(block, self.groups[rows], weights, raw=self.raw)

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        stop = len(self) if stop is None else stop
        step = max(1, int(SUBSET_CELLS / max(cells_per_row(self.X), 1)))
        for a in range(start, stop, step):
            yield from self.take(np.arange(a, min(stop, a + step))).batches()


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """The given rows of a block of any kind."""
    if isinstance(X, Parts):
        return Parts({name: take_rows(block, rows) for name, block in X.items()})
    if isinstance(X, SparseRows):
        some = X.as_csr()[rows]
        return SparseRows(some.data, some.indices, some.indptr, X.columns)
    return X[rows]
