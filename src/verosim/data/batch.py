"""A batch: some rows with their groups and weights. Statistics absorb batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

BLOCK_CELLS = 1 << 18  # cells per block: 2 MB of float64, which stays in the cache
LEAST_BLOCK_ROWS = 1024  # rows per block, if that is not many times as many cells
UNWEIGHTED = np.empty(0)  # kernels read an empty array as: every weight is one


def rows_per_block(cells: float) -> int:
    """The rows of a block, by the number of cells of a row. It is the same for all memory orders.

    Sums over blocks therefore do not depend on whether an array had to be converted.
    """
    cells = max(cells, 1)
    return max(1, int(BLOCK_CELLS / cells), min(LEAST_BLOCK_ROWS, int(16 * BLOCK_CELLS / cells)))


@dataclass(frozen=True)
class Batch:
    """Rows in a form that kernels read: C-ordered numbers, sparse rows or raw values."""

    block: Any  # (n, d), or `Parts` with one such block for each part of a Product
    groups: np.ndarray  # (n,) int32, class · folds + fold
    weights: np.ndarray = field(default_factory=lambda: UNWEIGHTED)  # (n,), empty if all are one
    numbers: range | np.ndarray = range(0)  # the numbers of the rows in the user's table
    labels: np.ndarray | None = None  # the classes of `groups`, if the batch has its own classes
    origin: str = ""  # for messages, such as ' of part-1.csv'

    def __len__(self) -> int:
        return len(self.groups)

    def row(self, i: int) -> int:
        """The number in the user's table of the i-th row of the batch."""
        return int(self.numbers[i]) if len(self.numbers) else i

    def place(self, i: int) -> str:
        """The place of the i-th row, for messages."""
        return f"row {self.row(i)}{self.origin}"

    def regrouped(self, place: np.ndarray | None, folds: int) -> Batch:
        """The same rows with other class numbers: class k becomes place[k]."""
        if place is None:
            return replace(self, labels=None)
        groups = place[self.groups // folds] * folds + self.groups % folds
        return replace(self, groups=groups.astype(np.int32), labels=None)

    def cut(self, start: int, stop: int) -> Batch:
        return replace(
            self, block=self.block[start:stop], groups=self.groups[start:stop],
            weights=self.weights[start:stop], numbers=self.numbers[start:stop],
        )  # fmt: skip

    def blocks(self) -> Iterable[Batch]:
        """The rows in the pieces in which an array arrives that has to be converted."""
        n = len(self.groups)
        step = rows_per_block(self.block.shape[1]) if isinstance(self.block, np.ndarray) else n
        if n <= step:
            return (self,)
        return (self.cut(start, min(n, start + step)) for start in range(0, n, step))

    def part(self, name: str) -> Batch:
        """The rows of one part of a Product."""
        return Batch(
            self.block[name], self.groups, self.weights, self.numbers, self.labels, self.origin
        )
