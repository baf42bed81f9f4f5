"""Sources of batches of rows. An array in memory is sliced without a copy.

Rows that are not C-ordered floats are converted one block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from verosim.data.arrays import SparseRows
from verosim.data.batch import BLOCK_CELLS, UNWEIGHTED, Batch, rows_per_block
from verosim.data.source import Chunk, RowSource

if TYPE_CHECKING:
    from verosim.data.blocks import RowBlocks
    from verosim.data.folds import GivenFolds

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
class ArraySource(RowSource):
    """Rows in memory with their groups (n,) and weights (n,): one chunk, without a copy."""

    X: Any
    groups: np.ndarray
    weights: np.ndarray = field(default_factory=lambda: UNWEIGHTED)
    raw: bool = field(default=False, kw_only=True)  # whether values are not converted
    labels: np.ndarray = field(default_factory=lambda: UNWEIGHTED, kw_only=True)  # of the groups
    folds: GivenFolds | RowBlocks | None = field(default=None, kw_only=True)

    table = reader = None
    takes_rows = True

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def rows(self) -> int:
        return len(self.groups)

    @property
    def cells(self) -> float:
        return len(self) * cells_per_row(self.X)

    def chunks(self) -> Iterator[ArrayChunk]:
        yield self.span(0, len(self))

    def first(self, rows: int) -> list[ArrayChunk]:
        return list(self.chunks())

    def weighted(self, weights: np.ndarray) -> Self:
        return replace(self, weights=weights)

    def span(self, start: int, stop: int) -> ArrayChunk:
        """The rows from start to stop."""
        return ArrayChunk(self, start, stop)

    def folded(self, folds: Any) -> Self:
        return replace(self, folds=folds)

    def take(self, rows: np.ndarray) -> ArraySource:
        """The source of the given rows."""
        return ArraySource(take_rows(self.X, rows), **self._beside(rows))

    def subset(self, rows: np.ndarray) -> SubsetSource:
        """The source of the given rows, which are not copied yet."""
        return SubsetSource(self.X, **self._beside(rows), at=rows)

    def _beside(self, rows: np.ndarray) -> dict[str, Any]:
        """What stands beside the given rows."""
        weights = self.weights[rows] if len(self.weights) else self.weights
        folds = None if self.folds is None else self.folds[rows]
        return {
            "groups": self.groups[rows], "weights": weights, "raw": self.raw,
            "labels": self.labels, "folds": folds,
        }  # fmt: skip

    def block(self, start: int, stop: int) -> Any:
        """The cells of the rows from start to stop, as they were given."""
        return self.X if start == 0 and stop == len(self) else self.X[start:stop]

    def numbers(self, start: int, stop: int) -> np.ndarray:
        """The numbers of the rows from start to stop."""
        return np.arange(start, stop)

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """The rows from start to stop in batches: one if nothing is converted, else several."""
        stop = len(self) if stop is None else stop
        thinned = len(self.weights) > 0 and not self.weights[start:stop].all()
        whole = (self.raw or ready(self.X)) and not thinned
        step = max(stop - start, 1) if whole else rows_per_block(cells_per_row(self.X))
        for a in range(start, stop, step):
            b = min(stop, a + step)
            block, groups, weights = self.X[a:b], self.groups[a:b], self.weights[a:b]
            if self.folds is not None:
                groups = groups * np.int32(self.folds.count) + self.folds.numbers[a:b]
            numbers: range | np.ndarray = range(a, b)
            if thinned:  # rows of zero weight are left out
                kept = np.flatnonzero(weights)
                block, groups, weights = take_rows(block, kept), groups[kept], weights[kept]
                numbers = kept + a
            yield Batch(block if self.raw else as_block(block), groups, weights, numbers)


def joined_blocks(blocks: Sequence[Any]) -> Any:
    """The rows of several blocks of one kind, one after the other."""
    if len(blocks) == 1:
        return blocks[0]
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    return type(blocks[0]).joined(blocks)


@dataclass(frozen=True, eq=False)
class SubsetSource(ArraySource):
    """Some rows in memory. They are copied one block at a time, when they are read."""

    at: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # (n,) numbers in X

    def take(self, rows: np.ndarray) -> ArraySource:
        return ArraySource(take_rows(self.X, self.at[rows]), **self._beside(rows))

    def subset(self, rows: np.ndarray) -> SubsetSource:
        return SubsetSource(self.X, **self._beside(rows), at=self.at[rows])

    def block(self, start: int, stop: int) -> Any:
        return take_rows(self.X, self.at[start:stop])

    def numbers(self, start: int, stop: int) -> np.ndarray:
        return self.at[start:stop]

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        stop = len(self) if stop is None else stop
        step = max(1, int(SUBSET_CELLS / max(cells_per_row(self.X), 1)))
        for a in range(start, stop, step):
            yield from self.take(np.arange(a, min(stop, a + step))).batches()


def rows_in_memory(
    X: Any,
    groups: np.ndarray,
    weights: np.ndarray = UNWEIGHTED,
    *,
    raw: bool = False,
    labels: np.ndarray = UNWEIGHTED,
) -> RowSource:
    """The source of rows in memory, with the class number and the weight of each."""
    return ArraySource(X, groups, weights, raw=raw, labels=labels)


def unlabelled(X: Any) -> RowSource:
    """Rows to score: a source without labels."""
    return ArraySource(X, np.zeros(X.shape[0], dtype=np.int32))


class _Everywhere(ArraySource):
    """Each row in each class, weighted by its share; rows with share zero are left out."""

    def __init__(self, X: Any, share: np.ndarray, raw: bool) -> None:
        super().__init__(X, np.zeros(len(share), dtype=np.int32), raw=raw)
        vars(self)["share"] = np.ascontiguousarray(share.T)  # (C, n); the value is frozen

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        for c, weights in enumerate(vars(self)["share"]):
            one = ArraySource(self.X, self.groups + np.int32(c), weights, raw=self.raw)
            yield from one.batches(start, stop)


def rows_in_every_class(X: Any, share: np.ndarray, raw: bool) -> RowSource:
    """The source of rows that belong to each class with a share (n, C)."""
    return _Everywhere(X, share, raw)


@dataclass(frozen=True, eq=False)
class ArrayChunk(Chunk):
    """Rows of an array, one after the other."""

    source: ArraySource
    first: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first

    @property
    def numbers(self) -> np.ndarray:
        return self.source.numbers(self.first, self.stop)

    @property
    def folds(self) -> GivenFolds | RowBlocks | None:
        return self.source.folds

    def batches(self) -> Iterator[Batch]:
        return self.source.batches(self.first, self.stop)

    def block(self) -> Any:
        return self.source.block(self.first, self.stop)

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        return self.source.groups[self.first : self.stop], self.source.labels

    def row_weights(self) -> np.ndarray:
        return self.source.weights[self.first : self.stop]

    def folds_of(self, block: Any) -> np.ndarray:
        assert self.source.folds is not None
        return self.source.folds.numbers[self.first : self.stop]


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """The given rows of a block of any kind."""
    if isinstance(X, Parts):
        return Parts({name: take_rows(block, rows) for name, block in X.items()})
    if isinstance(X, SparseRows):
        some = X.as_csr()[rows]
        return SparseRows(some.data, some.indices, some.indptr, X.columns)
    return X[rows]
