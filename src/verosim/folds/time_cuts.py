"""Folds in the order of time of rows on a cluster: the times between the blocks, exactly.

    block of time t = number of cuts below t,   cut b = time of row ⌈b n / B⌉ in the order of time

n is the number of rows with a positive weight and B is the number of blocks. The order of the 64
bits of a time is the order of time. Each of four passes over the column counts the rows by the next
16 bits, so the cuts are exact and the replies do not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data.blocks import CutBlocks, one_after_the_other
from verosim.data.stream import Chunk, TableSource
from verosim.data.tables import Rows
from verosim.engines import ChunkWork, reduce_chunks
from verosim.folds.time_blocks import check_values, times_of

BITS = 16  # that one pass finds
TIME_BINS = 1 << BITS
SIGN = np.uint64(1 << 63)


def blocks_there(source: TableSource, column: str, count: int) -> CutBlocks:
    """The blocks of rows on a cluster by the values of a column."""
    times, only = times_of(source, column), source.only(column)
    blocks = count + 1
    first = reduce_chunks(_Counting(times, np.zeros(1, dtype=np.uint64), 0, blocks + 1), only)
    check_values(column, len(first.values))
    if len(first.values) <= blocks:  # one block for each value
        cuts = first.values[:-1]
    else:
        total = int(first.counts.sum())
        ranks = np.array([-(-b * total // blocks) - 1 for b in range(1, blocks)])
        found = [_Search(int(rank)) for rank in ranks]
        counts = first
        for level in range(64 // BITS):
            if level:
                prefixes = np.unique([one.prefix for one in found]).astype(np.uint64)
                counts = reduce_chunks(_Counting(times, prefixes, level, 0), only)
            found = [one.narrowed(counts) for one in found]
        cuts = np.unique(_times_of_keys(np.array([one.prefix for one in found], dtype=np.uint64)))
        cuts = cuts[cuts < first.last]  # no block is empty
    return CutBlocks(*one_after_the_other(len(cuts) + 1), column, cuts, times)


def _keys(times: np.ndarray) -> np.ndarray:
    """(n,) uint64 keys with the order of the times."""
    bits = (times + 0.0).view(np.uint64)  # −0 becomes 0
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def _times_of_keys(keys: np.ndarray) -> np.ndarray:
    """(n,) the times of keys."""
    return np.where(keys & SIGN, keys ^ SIGN, ~keys).view(np.float64)


@dataclass(frozen=True)
class _Counts:
    """Rows by the next bits of their keys, for each prefix."""

    prefixes: np.ndarray  # (P,) uint64, sorted
    counts: np.ndarray  # (P, TIME_BINS)
    values: np.ndarray  # the smallest different times, at most so many as wanted, sorted
    last: float  # the largest time


@dataclass(frozen=True)
class _Search:
    """The search for the row with this rank among the rows whose keys begin with the prefix."""

    rank: int  # from 0
    prefix: int = 0

    def narrowed(self, found: _Counts) -> _Search:
        """The same with the next bits of the prefix."""
        at = int(np.searchsorted(found.prefixes, np.uint64(self.prefix)))
        until = np.cumsum(found.counts[at])
        bin_ = int(np.searchsorted(until, self.rank, side="right"))
        below = int(until[bin_ - 1]) if bin_ else 0
        return _Search(self.rank - below, (self.prefix << BITS) | bin_)


@dataclass(frozen=True)
class _Counting(ChunkWork):
    """Counts the rows of each prefix by their next bits."""

    times: Callable[[Rows], np.ndarray]
    prefixes: np.ndarray
    level: int  # the number of bits of a prefix, divided by BITS
    most: int  # different values to keep

    def __call__(self, chunk: Chunk) -> _Counts:
        times = self.times(chunk.rows)[chunk.kept()]
        keys = _keys(times)
        shift = np.uint64(64 - BITS * (self.level + 1))
        head, bins = (keys >> shift) >> np.uint64(BITS), (keys >> shift) & np.uint64(TIME_BINS - 1)
        at = np.minimum(np.searchsorted(self.prefixes, head), len(self.prefixes) - 1)
        here = self.prefixes[at] == head
        size = len(self.prefixes) * TIME_BINS
        flat = np.bincount(at[here] * TIME_BINS + bins[here].astype(np.intp), minlength=size)
        values = np.unique(times)[: self.most] if self.most else np.empty(0)
        last = float(times.max(initial=-np.inf))
        return _Counts(self.prefixes, flat.reshape(-1, TIME_BINS), values, last)

    def joined(self, found: Sequence[_Counts]) -> _Counts:
        counts = np.zeros((len(self.prefixes), TIME_BINS), dtype=np.int64)
        for one in found:
            counts += one.counts
        values = np.unique(np.concatenate([np.empty(0), *(one.values for one in found)]))
        last = max((one.last for one in found), default=-np.inf)
        return _Counts(self.prefixes, counts, values[: self.most], last)

    def packed(self, found: _Counts) -> Any:
        return [found.counts, found.values, found.last]

    def unpacked(self, plain: Any) -> _Counts:
        return _Counts(self.prefixes, *plain)
