"""Chooses the rows that are held out, the same in memory, from files and on a cluster.

    of class k, the m_k different rows with the smallest hashes are candidates
    of c equal candidates   q are held out,   q ~ Binomial(c, s),   s = m_k / (candidate rows)

The hash of a row depends on its cells, its class, its weight and the seed. A second hash takes the
place of the random number. If all rows differ, s = 1, and the held-out rows are those with the
smallest hashes. Otherwise some copies of a row are held out and the others are in the rest, as in a
random sample. The choice depends neither on the order of the rows nor on their partitions.
Reference: Cohen & Kaplan (2007), Summarizing data using bottom-k sketches, PODC 2007, 225–234.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import bdtr, bdtrik

from verosim import engines
from verosim.axes.groups import union_of_labels
from verosim.data.batch import UNWEIGHTED
from verosim.data.folds import as_shares, with_numbers, with_weights
from verosim.data.labels import positions
from verosim.data.libraries import pa
from verosim.data.readers import Reader
from verosim.data.schema import Schema
from verosim.data.source import RowSource
from verosim.data.stream import EncodedLabels, TableChunk
from verosim.data.tables import Rows
from verosim.data.visits import Visit
from verosim.models.learning import no_weighted_rows
from verosim.pool.rows import HashReader, HeldOutPart, PoolReader, PoolRows, joined

CANDIDATES_AT_ONCE = 8  # candidates of chunks

# (C,) the number of rows of each class → (C,) how many of them are held out
RowsPerClass = Callable[[np.ndarray], np.ndarray]


def held_positions(rows: PoolRows, per_class: RowsPerClass) -> np.ndarray:
    """(m,) the positions of the rows in memory that are held out, by their hashes."""
    assert rows.hashes is not None
    codes = rows.source.groups
    wanted = per_class(np.bincount(codes, minlength=len(rows.groups.classes)))
    hashes = with_numbers(rows.hashes, codes)
    order = np.argsort(hashes)
    small = np.int16 if len(wanted) < 1 << 15 else np.int32  # small numbers are sorted faster
    order = order[np.argsort(codes[order].astype(small), kind="stable")]
    codes, hashes = codes[order], hashes[order]
    first, count = _different(codes, hashes, np.ones(len(codes), dtype=np.int64), wanted)
    at = _ranges(first, _copies(codes[first], hashes[first], count, wanted))
    return order[at[np.lexsort((codes[at], hashes[at]))]]


def held_out_part(source: RowSource, per_class: RowsPerClass, seed: int) -> HeldOutPart:
    """The rows of a large file or of a cluster that are held out, in memory, and all others.

    One pass counts the rows of each class, and one pass finds the smallest hashes.
    """
    assert isinstance(source.reader, PoolReader)
    reader = source.reader.hashed(seed)
    few = _FewCells(reader.schema, isinstance(source.target, str))
    classes, count = engines.reduce(source.read_by(few), _ClassCounts())
    if not len(classes):
        raise no_weighted_rows()
    wanted = per_class(count)
    found = engines.reduce(source.read_by(HashReader(reader)), _SmallestHashes(classes, wanted))
    held = found.held_out(source, classes, wanted)
    rows = joined([chunk.batch() for chunk in held.chunks()]).with_classes(classes)
    rest = PoolRows(source.without(held), rows.groups)
    return HeldOutPart(rows.take(found.order(wanted)), rest, int(count.sum()))


def _different(
    codes: np.ndarray, hashes: np.ndarray, count: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """At most wanted[k] different rows of each class k, of rows sorted by class and hash.

    Returns the position of the first of equal rows, and the sum of their counts.
    """
    new = np.ones(len(codes), dtype=bool)
    new[1:] = (codes[1:] != codes[:-1]) | (hashes[1:] != hashes[:-1])
    first = np.flatnonzero(new)
    if not len(first):
        return first, count
    many, of_class = np.add.reduceat(count, first), codes[first]
    rank = np.arange(len(first)) - np.searchsorted(of_class, of_class)
    kept = rank < wanted[of_class]
    return first[kept], many[kept]


def _copies(
    codes: np.ndarray, hashes: np.ndarray, count: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """(u,) how many of the rows equal to each candidate are held out."""
    total = np.bincount(codes, count, len(wanted))
    share = np.minimum(1.0, wanted / np.maximum(total, 1.0))
    u, of_row = as_shares(hashes), share[codes]
    found = (u >= 1 - of_row).astype(np.int64)  # of one row
    some = np.flatnonzero(count > 1)
    found[some] = _binomial(u[some], count[some], of_row[some])
    return found


def _binomial(u: np.ndarray, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The smallest k at which the distribution function of Binomial(n, p) reaches u."""
    k = np.clip(np.nan_to_num(np.ceil(bdtrik(u, n, p))), 0, n)
    below = np.maximum(k - 1, 0)
    return np.where(bdtr(below, n, p) >= u, below, k)


def _ranges(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """first[0], first[0] + 1, … (count[0] numbers), first[1], …"""
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))


# Where the rows are -------------------------------------------------------------------------------


class _FewCells(Reader):
    """Reads no cells, for a pass over labels and weights."""

    def __init__(self, schema: Schema, named: bool) -> None:
        super().__init__(schema)
        self.named = named  # whether the labels are a column of the table

    @property
    def names(self) -> tuple[str, ...]:
        return () if self.named else super().names[:1]  # a file is read with at least one column

    def block(self, rows: Rows) -> np.ndarray:
        return np.empty((len(rows), 0))


@dataclass
class _ClassCounts(Visit):
    """The classes of the rows with positive weight, and the number of rows of each."""

    def nothing(self) -> tuple[np.ndarray, np.ndarray]:
        return np.empty(0), np.zeros(0, dtype=np.int64)

    def absorb(self, chunk: TableChunk) -> None:
        for batch in chunk.batches():
            assert batch.labels is not None
            count = np.bincount(batch.groups, minlength=len(batch.labels))
            self._add(batch.labels[count > 0], count[count > 0])

    def _add(self, labels: np.ndarray, count: np.ndarray) -> None:
        if not len(labels):
            return
        before, known = self.found
        classes = union_of_labels(before, labels)
        total = np.zeros(len(classes), dtype=np.int64)
        for some, each in ((before, known), (labels, count)):
            total[positions(some, classes)] += each
        self.found = classes, total

    def merge(self, other: Self) -> None:
        self._add(*other.found)


@dataclass(frozen=True)
class _Candidates:
    """Different rows with small hashes, and how many rows are equal to each."""

    codes: np.ndarray  # (u,) int32
    hashes: np.ndarray  # (u,) uint64
    count: np.ndarray  # (u,) int64
    weights: np.ndarray  # (u,), empty if all are one
    batches: list[pa.RecordBatch]  # the u rows

    def take(self, at: np.ndarray, count: np.ndarray) -> _Candidates:
        """Some rows in increasing order, with new counts."""
        start, batches = 0, []
        for batch in self.batches:
            stop = start + batch.num_rows
            inside = at[np.searchsorted(at, start) : np.searchsorted(at, stop)]
            if len(inside):
                batches.append(batch.take(inside - start))
            start = stop
        weights = self.weights[at] if len(self.weights) else self.weights
        return _Candidates(self.codes[at], self.hashes[at], count, weights, _joined(batches))

    def copies(self, wanted: np.ndarray) -> np.ndarray:
        """(u,) how many rows of each kind are held out."""
        return _copies(self.codes, self.hashes, self.count, wanted)

    def order(self, wanted: np.ndarray) -> np.ndarray:
        """(m,) the order of the held-out rows by their hashes."""
        copies = self.copies(wanted)
        return np.lexsort((np.repeat(self.codes, copies), np.repeat(self.hashes, copies)))

    def held_out(self, source: RowSource, classes: np.ndarray, wanted: np.ndarray) -> RowSource:
        """The held-out rows as a table in memory, with their labels and weights."""
        copies = self.copies(wanted)
        at = np.repeat(np.arange(len(copies)), copies)
        some = self.take(at, self.count[at])
        weights = some.weights if len(some.weights) else None
        return source.with_rows(some.batches, EncodedLabels(some.codes, classes), weights)


@dataclass
class _SmallestHashes(Visit):
    """The different rows of each class with the smallest hashes."""

    classes: np.ndarray  # (C,)
    wanted: np.ndarray  # (C,) different rows

    def nothing(self) -> list[_Candidates]:
        return []

    def absorb(self, chunk: TableChunk) -> None:
        batch = chunk.batch()
        assert batch.labels is not None
        codes = positions(batch.labels, self.classes)[batch.groups].astype(np.int32)
        rows = chunk.rows.batch.select(list(chunk.reader.names))
        if len(codes) < rows.num_rows:
            rows = rows.take(chunk.kept())
        hashes = with_numbers(with_weights(batch.block[:, 0], batch.weights), codes)
        count = np.ones(len(codes), dtype=np.int64)
        self._add([self._smallest(_Candidates(codes, hashes, count, batch.weights, [rows]))])

    def _add(self, found: list[_Candidates]) -> None:
        self.found = [*self.found, *(one for one in found if len(one.codes))]
        if len(self.found) >= CANDIDATES_AT_ONCE:
            self.found = [self.finish()]

    def merge(self, other: Self) -> None:
        self._add(other.found)

    def finish(self) -> _Candidates:
        if not self.found:
            return _Candidates(np.empty(0, np.int32), np.empty(0, np.uint64),
                               np.empty(0, np.int64), UNWEIGHTED, [])  # fmt: skip
        return self._smallest(
            _Candidates(
                np.concatenate([one.codes for one in self.found]),
                np.concatenate([one.hashes for one in self.found]),
                np.concatenate([one.count for one in self.found]),
                np.concatenate([one.weights for one in self.found]),
                [batch for one in self.found for batch in one.batches],
            )
        )

    def _smallest(self, every: _Candidates) -> _Candidates:
        order = np.lexsort((every.hashes, every.codes))
        count = every.count[order]
        first, count = _different(every.codes[order], every.hashes[order], count, self.wanted)
        at = order[first]
        back = np.argsort(at)  # the rows stay in their batches, which may have different types
        return every.take(at[back], count[back])

    def packed(self) -> Any:
        found = self.finish()
        return {
            "codes": found.codes, "hashes": found.hashes, "count": found.count,
            "weights": found.weights, "rows": [_to_bytes(batch) for batch in found.batches],
        }  # fmt: skip

    def unpacked(self, plain: Any) -> list[_Candidates]:
        batches = [_from_bytes(raw) for raw in plain["rows"]]
        found = _Candidates(
            plain["codes"], plain["hashes"], plain["count"], plain["weights"], batches
        )
        return [found] if len(found.codes) else []


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The same rows in fewer batches: neighbours of one type are one batch."""
    same: list[list[pa.RecordBatch]] = []
    for batch in batches:
        if same and same[-1][0].schema.equals(batch.schema):
            same[-1].append(batch)
        else:
            same.append([batch])
    return [some[0] if len(some) == 1 else pa.concat_batches(some) for some in same]


def _to_bytes(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    raw: bytes = sink.getvalue().to_pybytes()
    return raw


def _from_bytes(raw: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(raw) as stream:
        return stream.read_next_batch()
