"""The rows of a table, read once in all the ways that the experts of a pool need.

    table in memory, or a file that fits      every block is kept
    larger files, tables on a cluster         rows are read again for each pass

Each row has a hash of the cells that the experts read. `held_out` chooses rows by their hashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from verosim import engines
from verosim.axes import Groups
from verosim.data import Batch
from verosim.data.batch import UNWEIGHTED
from verosim.data.blocks import Folds
from verosim.data.folds import row_hashes, with_copies, with_numbers, with_weights
from verosim.data.labels import encode_labels, positions
from verosim.data.readers import Reader, Watch
from verosim.data.schema import Schema
from verosim.data.source import RowSource
from verosim.data.sources import Parts, rows_in_memory
from verosim.data.tables import Rows
from verosim.errors import VerosimError
from verosim.kinds.converted_reader import ConvertedReader
from verosim.models.learning import no_weighted_rows

MOST_BYTES = 1 << 30  # of all blocks that are kept
HASHES = "hashes"  # the block with the hash of each row
AFTER_CLASSES = np.int64(1) << 32  # the number of the first group, larger than that of any class


class PoolReader(Reader):
    """Reads a table in all the ways that the experts need, each once.

    With a seed there is one more block, the hashes (n, 1) of the rows.
    """

    def __init__(
        self, schema: Schema, readers: Mapping[str, Reader], seed: int | None = None
    ) -> None:
        super().__init__(schema)
        self.readers = dict(readers)
        self.seed = seed

    def hashed(self, seed: int) -> PoolReader:
        """The same reader, which also gives the hashes of the rows."""
        return PoolReader(self.schema, self.readers, seed)

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for some in self.players_inside.values() for name in some))

    @property
    def owners(self) -> tuple[str, ...]:
        return self.players

    @property
    def players_inside(self) -> dict[str, tuple[str, ...]]:
        """The column of the table for each column of a block; several texts are one column."""
        found = {}
        for name, reader in self.readers.items():
            same = len(reader.owners) == len(reader.players)
            found[name] = reader.owners if same else reader.players
        return found

    def watched(self, watch: Watch | None) -> Self:
        shared = [one for one in self.readers.values() if isinstance(one, ConvertedReader)]
        (*shared, *self.readers.values())[0].watched(watch)  # each cell is counted once
        return super().watched(watch)

    def block(self, rows: Rows) -> Parts:
        return self.filled(rows, self.room(len(rows)))

    def room(self, n: int) -> dict[str, np.ndarray]:
        """Arrays for the blocks of n rows, of the readers that fill arrays."""
        return {
            name: reader.room(n)
            for name, reader in self.readers.items()
            if isinstance(reader, ConvertedReader)
        }

    def filled(self, rows: Rows, room: Mapping[str, np.ndarray]) -> Parts:
        """The blocks of some rows, written into the room for them."""
        parts: Parts | None = None
        for name, out in room.items():  # these readers share the reading of the parts
            reader: Any = self.readers[name]
            parts = reader.parts_of(rows) if parts is None else parts
            reader.convert(parts, out)
        blocks = {
            name: room[name] if name in room else reader.block(rows)
            for name, reader in self.readers.items()
        }
        if self.seed is not None:
            apart = [block for name, block in blocks.items() if name not in room]
            blocks[HASHES] = self._hashes(rows, parts, apart)
        return Parts(blocks)

    def hashes(self, rows: Rows) -> np.ndarray:
        """(n, 1) the hashes of some rows. Their blocks are not made."""
        converted = [one for one in self.readers.values() if isinstance(one, ConvertedReader)]
        parts = converted[0].parts_of(rows) if converted else None
        others = [one for one in self.readers.values() if not isinstance(one, ConvertedReader)]
        return self._hashes(rows, parts, [reader.block(rows) for reader in others])

    def _hashes(self, rows: Rows, parts: Parts | None, apart: Sequence[Any]) -> np.ndarray:
        """(n, 1) the hashes of all cells: those that readers convert, and those of other readers.

        Converted numbers are not hashed, because their last digits may depend on the machine.
        """
        assert self.seed is not None
        read = apart if parts is None else [parts, *apart]
        return row_hashes(read, len(rows), self.seed)[:, None]


class HashReader(Reader):
    """Reads only the hashes (n, 1) of the rows, of the cells that a pool reads."""

    def __init__(self, reader: PoolReader) -> None:
        super().__init__(reader.schema)
        self.reader = reader

    def block(self, rows: Rows) -> np.ndarray:
        return self.reader.hashes(rows)


class WholeTableReader(PoolReader):
    """Writes the blocks of a table in memory into one array each, so nothing is copied again."""

    def __init__(self, reader: PoolReader, n: int) -> None:
        super().__init__(reader.schema, reader.readers, reader.seed)
        self.whole = reader.room(n)

    @property
    def fills_all(self) -> bool:
        """Whether all blocks are arrays."""
        return self.whole.keys() == self.readers.keys()

    def block(self, rows: Rows) -> Parts:
        at = slice(rows.start, rows.start + len(rows))
        return self.filled(rows, {name: array[at] for name, array in self.whole.items()})


@dataclass(frozen=True)
class Reading:
    """What a spec needs to know of a source to plan its statistic."""

    reader: Reader

    @property
    def schema(self) -> Schema:
        return self.reader.schema

    def first(self, rows: int) -> Any:
        """The rows, which a pool does not show before it counts."""
        raise VerosimError(
            "Its bins are fixed by the first rows, but an expert must count without them.",
            "Use NaiveBayes('histogram'), whose bins are part of the schema.",
        )


@dataclass(frozen=True, eq=False)
class PoolRows:
    """Rows with a block for each way of reading, and the groups of their classes."""

    source: Any  # a source of Parts in memory, or one that is read again for each pass
    groups: Groups
    together: np.ndarray | None = None  # (n,) rows with the same number are in the same fold
    are_folds: bool = False  # whether these numbers are the folds
    hashes: np.ndarray | None = None  # (n,) uint64; equal rows have equal hashes
    held: np.ndarray | None = None  # (m,) the positions of the rows that are held out, if chosen

    def read_as(self, reading: str, reader: Reader) -> Any:
        """The same rows, read in one way."""
        if self.source.takes_rows:
            return replace(self.source, X=self.source.X[reading])
        return self.source.read_by(reader)

    def only(self, reading: str) -> PoolRows:
        """The same rows in memory, with one block."""
        block = Parts({reading: self.source.X[reading]})
        return replace(self, source=replace(self.source, X=block))

    @property
    def count(self) -> int:
        """The number of rows in memory."""
        return len(self.source)

    def order(self) -> np.ndarray:
        """(n,) the positions of the rows in an order that does not depend on their order here.

        It is the order of their hashes. Equal rows are far apart, as in a random order.
        """
        assert self.hashes is not None
        hashes = with_numbers(self.hashes, self.source.groups)
        if self.together is not None:
            hashes = with_numbers(hashes, self.together + AFTER_CLASSES)
        return np.argsort(with_copies(hashes))

    def in_order(self) -> PoolRows:
        """The same rows in the order of their hashes, so that even sums are the same."""
        assert self.hashes is not None
        at = self.order()
        together = None if self.together is None else self.together[at]
        source = self.source.take(at)
        return replace(self, source=source, together=together, hashes=self.hashes[at])

    def take(self, rows: np.ndarray) -> PoolRows:
        """Some rows, if they are in memory."""
        return PoolRows(self.source.take(rows), self.groups)

    def subset(self, rows: np.ndarray) -> PoolRows:
        """Some rows, if they are in memory. They are copied one block at a time."""
        return PoolRows(self.source.subset(rows), self.groups)

    def with_classes(self, classes: np.ndarray) -> PoolRows:
        """The same rows in memory, with more classes."""
        places = positions(self.groups.classes, classes).astype(np.int32)
        source = replace(self.source, groups=places[self.source.groups])
        return PoolRows(source, Groups(classes))


def read_rows(source: RowSource, seed: int = 0) -> PoolRows | None:
    """The rows in memory with their hashes, or None if their blocks do not fit.

    If the source has folds, rows of one fold stay together.
    """
    if not source.numbered:
        return None
    batches, size = [], 0
    whole = None
    source = hashed(source, seed)
    if source.in_memory and source.rows and isinstance(source.reader, PoolReader):
        whole = WholeTableReader(source.reader, source.rows)
        source = source.read_by(whole)
    for batch in engines.map(source, lambda chunk: chunk.batch()):
        batches.append(batch)
        size += batch.block.nbytes
        if size > MOST_BYTES and not source.in_memory:
            if source.folds is not None:
                raise VerosimError(
                    "The table does not fit into memory, and groups or the folds of cv need all of "
                    "its rows.",
                    "Leave groups and cv out, or use a sample of the groups or folds.",
                )
            return None
    return joined(batches, source.folds, whole)


def hashed(source: RowSource, seed: int) -> RowSource:
    """The same source, with a block of hashes."""
    assert isinstance(source.reader, PoolReader)
    return source.read_by(source.reader.hashed(seed))


def joined(
    batches: Sequence[Batch],
    folds: Folds | None = None,
    whole: WholeTableReader | None = None,
) -> PoolRows:
    """The rows of some batches, in memory, with the folds of their source.

    `whole` has all blocks already, if no row was left out.
    """
    batches = [batch for batch in batches if len(batch)]
    if not batches:
        raise no_weighted_rows()
    together = None
    if folds is not None and folds.count > 1:
        together = np.concatenate([batch.groups % folds.count for batch in batches])
        batches = [replace(batch, groups=batch.groups // folds.count) for batch in batches]
    classes = encode_labels(np.concatenate([seen_labels(batch) for batch in batches]))[1]
    groups = [positions(batch.labels, classes)[batch.groups] for batch in batches]
    weights = np.concatenate([batch.weights for batch in batches])
    rows = sum(map(len, batches))
    hashes = None
    if HASHES in batches[0].block:
        hashes = np.concatenate([
            with_weights(batch.block[HASHES][:, 0], batch.weights) for batch in batches
        ])  # fmt: skip
    if whole is not None and whole.fills_all and all(len(a) == rows for a in whole.whole.values()):
        blocks = Parts(whole.whole)
    else:
        blocks = Parts.joined([batch.block for batch in batches])
        blocks.pop(HASHES, None)
    source = rows_in_memory(
        blocks, np.concatenate(groups).astype(np.int32), weights if len(weights) else UNWEIGHTED,
        raw=True,
    )  # fmt: skip
    return PoolRows(source, Groups(classes), together, hashes=hashes)


def seen_labels(batch: Batch) -> np.ndarray:
    """The labels of a batch that some row has."""
    assert batch.labels is not None
    return batch.labels[np.unique(batch.groups)]


@dataclass(frozen=True, eq=False)
class HeldOutPart:
    """One part of the rows in memory, and all other rows."""

    held: PoolRows
    rest: PoolRows
    count: int  # rows

    @property
    def groups(self) -> Groups:
        return self.held.groups
