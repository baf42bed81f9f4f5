"""Folds as unions of blocks of rows, for splits that do not hold out each row exactly once.

    T(training rows of fold f) = Σ_b [block b trains f] T(block b)

Two rows are in one block if they train the same folds and are held out by the same folds. Folds in
the order of time have one block more than folds: fold f is trained by the blocks before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data.tables import Rows


class Folds(ABC):
    """Which rows train and test each fold. A row belongs to one of `count` blocks."""

    count: int  # blocks; the folds themselves if each row is held out exactly once
    numbers: Any  # (n,) int32 the block of each row, if rows have numbers

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that are needed to find the block of a row."""
        return ()

    @property
    def folds(self) -> int:
        """The number of folds."""
        return self.count

    @abstractmethod
    def of(self, rows: Any, block: Any) -> np.ndarray:
        """(n,) the block of each row."""

    @abstractmethod
    def trained(self, f: int, numbers: np.ndarray) -> np.ndarray:
        """(n,) whether fold f learns from rows of these blocks."""

    @abstractmethod
    def tested(self, f: int, numbers: np.ndarray) -> np.ndarray:
        """The positions of the rows that fold f holds out."""

    def training_rows(self, f: int) -> np.ndarray:
        """The numbers of the training rows of fold f, sorted."""
        return np.flatnonzero(self.trained(f, self.numbers))


@dataclass(frozen=True, eq=False)
class BlockFolds(Folds):
    """The blocks that train and test each fold. Subclasses know the block of each row."""

    trains: np.ndarray  # (F, B) whether fold f learns from block b
    tests: np.ndarray  # (F, B) whether fold f holds out block b

    @property
    def count(self) -> int:  # type: ignore[override]
        """The number of blocks."""
        return int(self.trains.shape[1])

    @property
    def folds(self) -> int:
        """The number of folds."""
        return len(self.trains)

    @property
    def are_few(self) -> bool:
        """Whether the statistics of all blocks are about as large as those of the folds."""
        return self.count <= 2 * self.folds + 1

    def trained(self, f: int, numbers: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.trains[f][numbers]
        return found

    def tested(self, f: int, numbers: np.ndarray) -> np.ndarray:
        return np.flatnonzero(self.tests[f][numbers])


@dataclass(frozen=True, eq=False)
class RowBlocks(BlockFolds):
    """The block of each row by its number. It is sliced together with the rows of a table."""

    numbers: np.ndarray  # (n,) int32, the block of each row

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, at: Any) -> RowBlocks:
        return RowBlocks(self.trains, self.tests, self.numbers[at])

    def of(self, rows: Rows, block: Any) -> np.ndarray:
        return self.numbers

    def training(self, f: int) -> RowBlocks:
        """Two blocks: block 0 has the training rows of fold f, block 1 all other rows."""
        others = (~self.trains[f][self.numbers]).astype(np.int32)
        return RowBlocks(np.array([[True, False]]), np.array([[False, True]]), others)


@dataclass(frozen=True, eq=False)
class CutBlocks(BlockFolds):
    """The block of each row by a value: block b has the values in (cuts[b − 1], cuts[b]].

    It does not need the number of a row, so workers of a cluster can use it.
    """

    column: str
    cuts: np.ndarray  # (B − 1,) sorted
    values: Callable[[Rows], np.ndarray]  # (n,) the values of some rows; it can be pickled

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def of(self, rows: Rows, block: Any) -> np.ndarray:
        return np.searchsorted(self.cuts, self.values(rows)).astype(np.int32)


def one_after_the_other(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Which blocks train and test each fold, (F, B): each block except the first is held out once,
    and the blocks before it train its model."""
    order = np.arange(count)
    folds = order[1:, None]
    return order < folds, order == folds


@dataclass(frozen=True, eq=False)
class RowPairs(Folds):
    """Training and test rows of each fold by number, if a row can occur in a fold several times."""

    pairs: Sequence[tuple[np.ndarray, np.ndarray]]
    numbers: np.ndarray  # (n,) zeros: a row has no block

    @property
    def folds(self) -> int:
        return len(self.pairs)

    def of(self, rows: Any, block: Any) -> np.ndarray:
        return self.numbers

    def trained(self, f: int, numbers: np.ndarray) -> np.ndarray:
        out = np.zeros(len(self.numbers), dtype=bool)
        out[self.pairs[f][0]] = True
        return out

    def tested(self, f: int, numbers: np.ndarray) -> np.ndarray:
        return self.pairs[f][1]

    def training_rows(self, f: int) -> np.ndarray:
        return np.sort(self.pairs[f][0])


def folds_of_pairs(pairs: Sequence[tuple[np.ndarray, np.ndarray]], n: int) -> RowBlocks | RowPairs:
    """The folds of pairs of training and test rows: blocks, if no row is in a fold twice."""
    if all(len(np.unique(rows)) == len(rows) for pair in pairs for rows in pair):
        return blocks_of_pairs(pairs, n)
    return RowPairs(pairs, np.zeros(n, dtype=np.int32))


def blocks_of_pairs(pairs: Sequence[tuple[np.ndarray, np.ndarray]], n: int) -> RowBlocks:
    """The blocks of pairs of training and test rows."""
    numbers = np.zeros(n, dtype=np.int64)
    for train, test in pairs:
        role = np.zeros(n, dtype=np.int64)
        role[train] += 1
        role[test] += 2
        numbers = np.unique(4 * numbers + role, return_inverse=True)[1]
    count = int(numbers.max(initial=-1)) + 1
    trains = np.zeros((len(pairs), count), dtype=bool)
    tests = np.zeros((len(pairs), count), dtype=bool)
    for f, (train, test) in enumerate(pairs):
        trains[f, numbers[train]] = True
        tests[f, numbers[test]] = True
    return RowBlocks(trains, tests, numbers.astype(np.int32))
