"""The fold of each row of a table: given as numbers, by a column, or by a hash.

    fold = hash(cells of the row) mod F,   or   hash(group of the row) mod F

A hash depends neither on the number of rows nor on their order. A stream, a folder of files and
all workers of a cluster therefore compute the same folds. Equal rows are in the same fold.
`row_hashes` has 64 bits also of texts, so that equal hashes mean equal rows.
Reference: Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators (the mixer).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from verosim import kernels
from verosim.axes.capped_categories import CodedColumns
from verosim.axes.value_hashes import hash_of_bytes
from verosim.data import cells
from verosim.data.blocks import Folds
from verosim.data.readers import Reader
from verosim.data.sources import CELLS_PART, Parts
from verosim.data.tables import Rows
from verosim.data.text import Documents
from verosim.data.visits import Visit
from verosim.errors import VerosimError

if TYPE_CHECKING:
    from verosim.data.stream import TableChunk

INCREMENT = np.uint64(0x9E3779B97F4A7C15)  # the increment of SplitMix64
MISSING_CELL = INCREMENT


class Partition(Folds):
    """Folds that hold out each row exactly once."""

    def trained(self, f: int, numbers: np.ndarray) -> np.ndarray:
        return numbers != f

    def tested(self, f: int, numbers: np.ndarray) -> np.ndarray:
        return np.flatnonzero(numbers == f)


@dataclass(frozen=True)
class GivenFolds(Partition):
    """One fold number per row. It is sliced together with the rows."""

    numbers: np.ndarray  # (n,) int32
    count: int

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, at: Any) -> GivenFolds:
        return GivenFolds(self.numbers[at], self.count)

    def of(self, rows: Rows, block: Any) -> np.ndarray:
        return self.numbers


@dataclass(frozen=True)
class ColumnFolds(Partition):
    """Folds given by a column: each distinct value is one fold."""

    column: str
    names: tuple[str, ...]
    na: frozenset[str]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def count(self) -> int:  # type: ignore[override]
        return len(self.names)

    def of(self, rows: Rows, block: Any) -> np.ndarray:
        place = {name: f for f, name in enumerate(self.names)}
        return _by_text(self.column, rows, self.na, lambda text: place[text]).astype(np.int32)


@dataclass(frozen=True)
class GroupFolds(Partition):
    """Folds of groups: the hash of the group gives the fold, so a group is in one fold."""

    column: str
    count: int
    na: frozenset[str]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def of(self, rows: Rows, block: Any) -> np.ndarray:
        hashes = _by_text(self.column, rows, self.na, _hash_of_text)
        return (_mixed(hashes) % np.uint64(self.count)).astype(np.int32)


@dataclass(frozen=True)
class RowFolds(Partition):
    """Folds by the hash of the cells that the model reads.

    With a reader, the hash uses the cells of that reader. Models that read different columns then
    have the same folds.
    """

    count: int
    reader: Reader | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that the folds need in addition to those of the model."""
        return () if self.reader is None else self.reader.names

    def of(self, rows: Rows, block: Any) -> np.ndarray:
        if self.reader is not None:
            block = self.reader.block(rows)
        return (_hashes(block) % np.uint64(self.count)).astype(np.int32)


@dataclass
class NamesOfFolds(Visit):
    """The folds of a column: each of its values is one. There must be at least two."""

    column: str
    na: frozenset[str]

    def nothing(self) -> set[str]:
        return set()

    def absorb(self, chunk: TableChunk) -> None:
        index, texts = _keys(self.column, chunk.rows, self.na)
        self.found |= {str(texts[i]) for i in np.unique(index).tolist()}

    def merge(self, other: Self) -> None:
        self.found |= other.found

    def finish(self) -> ColumnFolds:
        if len(self.found) < 2:
            raise VerosimError(
                f"The fold column {self.column!r} must have at least 2 different values; got "
                f"{len(self.found)}.",
                "Use a column with several values, or give a number of folds.",
            )
        return ColumnFolds(self.column, tuple(sorted(self.found)), self.na)

    def packed(self) -> list[str]:
        return sorted(self.found)

    def unpacked(self, plain: list[str]) -> set[str]:
        return set(plain)


def _keys(column: str, rows: Rows, na: frozenset[str]) -> tuple[np.ndarray, list[str | None]]:
    """The texts of a column without missing cells, and the index of each row into them."""
    index, texts = cells.keys(rows.batch.column(column), na)
    missing = np.flatnonzero(cells.is_gone(index, texts))
    if len(missing):
        raise VerosimError(
            f"Column {column!r} is missing in {rows.place(int(missing[0]))}, so the row has no "
            "fold.",
            "Fill in the value, or leave the row out.",
        )
    return index, texts


def _by_text(column: str, rows: Rows, na: frozenset[str], value: Any) -> np.ndarray:
    """(n,) value(text) for the text of each row in a column."""
    index, texts = _keys(column, rows, na)
    table = np.array([0 if text is None else value(text) for text in texts], dtype=np.uint64)
    return table[index]


def _hash_of_text(text: str | None, of_bytes: Callable[[bytes], int] = zlib.crc32) -> int:
    return int(MISSING_CELL) if text is None else of_bytes(text.encode("utf-8", "replace"))


def row_hashes(blocks: Iterable[Any], n: int, seed: int) -> np.ndarray:
    """(n,) uint64 hashes of rows, of all their cells in some blocks.

    Rows with equal cells have equal hashes, and other rows have other hashes, except by an accident
    that needs billions of rows.
    """
    h = _mixed(np.full(n, seed, dtype=np.uint64))
    for block in blocks:
        h = _hashes(block, h, hash_of_bytes)
    return h


def hashes_of_numbers(numbers: np.ndarray, seed: int) -> np.ndarray:
    """(n,) uint64 hashes of row numbers."""
    return _mixed(_mixed(numbers.astype(np.uint64)) ^ np.uint64(seed))


def with_weights(hashes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n,) the hashes of rows with their weights. A weight of 1 does not change a hash."""
    if not len(weights):
        return hashes
    ones = np.ones(len(weights)).view(np.uint64)
    bits = np.asarray(weights, dtype=np.float64).view(np.uint64) ^ ones
    return hashes ^ _mixed(bits) ^ _mixed(np.zeros_like(bits))


def with_numbers(hashes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) the hashes of rows with the numbers of their classes or of their groups."""
    return hashes ^ _mixed(codes.astype(np.uint64))


def as_shares(hashes: np.ndarray) -> np.ndarray:
    """(n,) a number from 0 to 1 for each hash. It does not depend on the order of the hashes."""
    return (_mixed(hashes) >> np.uint64(11)) * 2.0**-53


def with_copies(hashes: np.ndarray) -> np.ndarray:
    """(n,) the hashes of rows with the numbers of their copies, so that equal rows differ.

    Which of equal rows has which number does not matter.
    """
    order = np.argsort(hashes)
    ordered = hashes[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    copy = (np.arange(len(order)) - start).astype(np.uint64)
    out = np.empty_like(hashes)
    out[order] = _mixed(ordered + copy * INCREMENT)
    return out


def _mixed(h: np.ndarray) -> np.ndarray:
    """Mix the bits: every bit of the result depends on every bit of h (end of SplitMix64)."""
    h = (h + INCREMENT).astype(np.uint64)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def _hashes(
    block: Any, h: np.ndarray | None = None, of_bytes: Callable[[bytes], int] = zlib.crc32
) -> np.ndarray:
    """(n,) uint64 hashes of the rows of a block, computed column by column from the hashes h."""
    if h is None:
        n = block.shape[0] if isinstance(block, Parts) else len(block)
        h = np.zeros(n, dtype=np.uint64)
    for column in _columns(block, of_bytes):
        if column.ndim == 1:
            h = _mixed(h ^ column)
        else:
            kernels.hash_cells(column, MISSING_CELL, h)
    return h


def _columns(block: Any, of_bytes: Callable[[bytes], int]) -> Iterator[np.ndarray]:
    """Each column of a block as (n,) uint64: equal cells give equal numbers.

    Columns of numbers come together, as the bits of (n, d) float64.
    """
    if isinstance(block, Parts):
        for name in sorted(block):
            if name != CELLS_PART:  # it is made from the other parts
                yield from _columns(block[name], of_bytes)
    elif isinstance(block, CodedColumns):
        for index, texts in zip(block.indexes, block.texts, strict=True):
            each = (_hash_of_text(text, of_bytes) for text in texts)
            yield np.fromiter(each, dtype=np.uint64, count=len(texts))[index]
    elif isinstance(block, Documents):
        some = (of_bytes(block.bytes(i)) for i in range(len(block)))
        yield np.fromiter(some, dtype=np.uint64, count=len(block))
    else:
        yield (np.asarray(block, dtype=np.float64) + 0.0).view(np.uint64)  # −0 becomes 0
