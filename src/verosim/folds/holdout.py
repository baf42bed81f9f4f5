"""Rows in folds, and the statistic outside each fold, from one pass over the data.

    T(outside fold f) = Σ_{g ≠ f} T(fold g)

Reference: Stone (1974), Cross-validatory choice and assessment of statistical predictions, Journal
of the Royal Statistical Society B 36, 111–147.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verosim.cached import cached_property
from verosim.data import ArraySource, cells
from verosim.data.blocks import BlockFolds, RowBlocks, blocks_of_pairs
from verosim.data.clusters import ArraysThere, needs_all_rows
from verosim.data.labels import positions
from verosim.data.sources import cells_per_row, take_rows
from verosim.data.stream import Chunk, TableSource, weights_of
from verosim.data.tables import Rows
from verosim.engines import (
    LEAST_CELLS_FOR_THREADS,
    ChunkWork,
    cluster_of,
    map_chunks,
    reduce_chunks,
    summarise,
)
from verosim.errors import VerosimError
from verosim.folds.scores import Predictions
from verosim.folds.splits import TrainTestPairs, array_folds, table_folds
from verosim.models import Inputs, Spec, open_rows
from verosim.stats import Statistic
from verosim.stats.statistic import sums_of_others

MOST_CELLS_IN_MEMORY = 1 << 23  # of a fold that is in memory together with others: 64 MB
BUDGET = 1 << 25  # numbers in the statistics of all folds; with more, rows are read fold by fold


@dataclass(frozen=True)
class HeldOutRows:
    """Some rows of one fold."""

    fold: int
    rows: np.ndarray  # (m,) the row numbers
    block: Any
    labels: np.ndarray  # (m,)
    codes: np.ndarray  # (m,) class numbers; −1 if no row of the class has a positive weight
    weights: np.ndarray  # (m,), empty if all weights are 1
    # (m,) the group of each row for scores by group; empty if it follows from the row numbers
    groups: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def counted(self) -> np.ndarray | None:
        """The positions of the rows with positive weight, or None if all rows have one."""
        if not len(self.weights) or self.weights.all():
            return None
        return np.flatnonzero(self.weights)

    def predictions(self, log_proba: np.ndarray, classes: np.ndarray) -> Predictions:
        """The predictions for the rows with positive weight; log_proba is (m, C) for all rows."""
        at = self.counted()
        all_rows = Predictions(log_proba, self.codes, self.weights, classes, self.rows, self.groups)
        return all_rows if at is None else all_rows.taken(at)


def not_a_partition(cv: Any) -> VerosimError:
    """The error where each row must be held out exactly once."""
    given = f"cv={cv!r} does" if isinstance(cv, str) else "These folds do"
    return VerosimError(
        f"{given} not hold out each row exactly once.",
        "Use a number of folds, or a splitter such as KFold.",
    )


def _are_sets(pairs: TrainTestPairs) -> bool:
    """Whether each row occurs at most once among the training rows of each fold."""
    return all(len(np.unique(train)) == len(train) for train, _ in pairs)


@dataclass(frozen=True)
class ColumnGroups:
    """The group of each row by a column: the position of its text."""

    column: str
    na: frozenset[str]
    places: dict[str | None, int]  # None is a missing cell

    def of(self, rows: Rows) -> np.ndarray:
        """(n,) the groups of some rows."""
        index, texts = cells.keys(rows.batch.column(self.column), self.na)
        places = [self.places.get(text, -1) for text in texts]  # some texts may have no rows
        return np.array(places, dtype=np.intp)[index]


VisitRows = Callable[[HeldOutRows, Any], Any]


class ReducingVisit(ABC):
    """A visit with results that can be joined, so that workers of a cluster reduce their rows.

    It is pickled for the workers.
    """

    @abstractmethod
    def __call__(self, held: HeldOutRows, known: Any) -> Any:
        """The result of some rows of a fold."""

    @abstractmethod
    def joined(self, found: Sequence[Any]) -> Any:
        """The result of all rows of several results, at least one."""

    def packed(self, found: Any) -> Any:
        """The result as plain data."""
        return found

    def unpacked(self, plain: Any) -> Any:
        """The result, from plain data."""
        return plain


@dataclass(frozen=True)
class HeldOutPieces:
    """Cuts a chunk of a table into the rows of each fold."""

    classes: np.ndarray  # (C,)
    given: np.ndarray | None = None  # (n,) the labels, if they are not a column
    blocks: BlockFolds | None = None  # if a row is not held out exactly once
    by: ColumnGroups | None = None  # of rows on a cluster, for scores by group
    only: int | None = None  # the fold to use, if not all

    def of(self, chunk: Chunk, block: Any) -> Iterator[HeldOutRows]:
        """The rows of one piece of a table, fold by fold."""
        assert chunk.folds is not None
        fold_of = chunk.folds.of(chunk.rows, block)
        codes, own = chunk.labels()
        place = positions(own, self.classes)[codes]
        weights = weights_of(chunk.weights, chunk.rows)
        groups = np.empty(0, dtype=np.intp) if self.by is None else self.by.of(chunk.rows)
        for f, at in self._held_at(fold_of):
            if self.only not in (None, f):
                continue
            rows = at + chunk.first
            labels = own[codes[at]] if self.given is None else self.given[rows]
            some, group = (array[at] if len(array) else array for array in (weights, groups))
            yield HeldOutRows(f, rows, take_rows(block, at), labels, place[at], some, group)

    def _held_at(self, fold_of: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Each fold that holds out some rows, and their positions, from folds or blocks (n,)."""
        if self.blocks is None:
            yield from ((f, np.flatnonzero(fold_of == f)) for f in np.unique(fold_of).tolist())
            return
        for f, held in enumerate(self.blocks.tests):
            at = np.flatnonzero(held[fold_of])
            if len(at):
                yield f, at


@dataclass(frozen=True)
class VisitsOnCluster(ChunkWork):
    """The joined results of a visit for each fold: {fold: (number of rows, result)}."""

    visit: ReducingVisit
    known: Mapping[int, Any]  # by fold
    pieces: HeldOutPieces

    def __call__(self, chunk: Chunk) -> dict[int, tuple[int, Any]]:
        return {
            held.fold: (len(held.rows), self.visit(held, self.known[held.fold]))
            for held in self.pieces.of(chunk, chunk.block())
        }

    def joined(self, found: Sequence[dict[int, tuple[int, Any]]]) -> dict[int, tuple[int, Any]]:
        out: dict[int, tuple[int, Any]] = {}
        for f in sorted({f for one in found for f in one}):
            parts = [one[f] for one in found if f in one]
            out[f] = sum(n for n, _ in parts), self.visit.joined([value for _, value in parts])
        return out

    def packed(self, found: dict[int, tuple[int, Any]]) -> Any:
        return [[f, n, self.visit.packed(value)] for f, (n, value) in found.items()]

    def unpacked(self, plain: Any) -> dict[int, tuple[int, Any]]:
        return {f: (n, self.visit.unpacked(value)) for f, n, value in plain}


class HoldOut:
    """Rows in folds, as one spec reads them.

    For a table, `classes`, `class_weight` and `class_rows` exist after `trainings` has started.
    """

    classes: np.ndarray  # (C,)
    class_weight: np.ndarray  # (C,) of all rows
    class_rows: np.ndarray  # (C,)
    count: int  # folds

    def __init__(self, spec: Spec, inputs: Inputs, cv: Any = 10, groups: Any = None) -> None:
        split_by = tuple(name for name in (cv, groups) if isinstance(name, str))
        self.inputs = replace(inputs, ignored=inputs.ignored + split_by)
        if isinstance(inputs.X, ArraysThere):  # the folds of arrays go by row numbers
            raise needs_all_rows(inputs.X.cluster, "Cross-validation of arrays")
        opened = open_rows(spec, self.inputs)
        self.source, self.plan, self.schema = opened.source, opened.plan, opened.schema
        self.cv = cv
        self.pairs: TrainTestPairs | None = None
        self.blocks: BlockFolds | None = None  # if a row is not held out exactly once
        self.by: ColumnGroups | None = None  # of rows on a cluster, for scores by group
        if isinstance(self.source, TableSource):
            # Keep the given labels: a row of weight zero has a label, but no class number.
            self.given = None if isinstance(self.source.target, str) else inputs.y
            self.folds = table_folds(cv, self.source, self.given, groups)
            self.count = self.folds.count
            if isinstance(self.folds, BlockFolds):
                self.blocks, self.count = self.folds, self.folds.folds
            return
        source, self.labels = self.source, np.asarray(inputs.y)
        self.classes = self.plan.axes.groups.classes
        each = source.weights if len(source.weights) else None
        self.class_weight = np.bincount(source.groups, each, len(self.classes))
        counted = source.groups if each is None else source.groups[each > 0]
        self.class_rows = np.bincount(counted, minlength=len(self.classes))
        found = array_folds(cv, self.labels, groups, inputs.X, source.weights)
        if isinstance(found, list):
            self.pairs, self.count, self.numbers = found, len(found), np.empty(0, dtype=np.int32)
            self.blocks = blocks_of_pairs(found, len(source)) if _are_sets(found) else None
        else:
            self.numbers, self.count = found

    @property
    def is_partition(self) -> bool:
        """Whether every row is held out exactly once."""
        return self.pairs is None and self.blocks is None

    def check_partition(self) -> None:
        """Raise an error unless each row is held out exactly once."""
        if not self.is_partition:
            raise not_a_partition(self.cv)

    # The statistics outside the folds --------------------------------------------------------

    def trainings(self, least_count: float = 1.0) -> Iterator[Statistic]:
        """For each fold, the statistic of its training rows.

        Codes with a smaller count than `least_count` in all rows may be left out.
        """
        source = self.source
        if self.blocks is not None and (self._sums_blocks() or isinstance(source, TableSource)):
            yield from self._of_blocks(self.blocks)
        elif isinstance(source, TableSource):
            yield from self._outside(source.folded(self.folds))
        elif self.pairs is not None:
            for train, _ in self.pairs:
                yield summarise(source.take(np.sort(train)), self.plan).prune()
        elif self._large():
            total = self.total.lean(least_count)
            for f in range(self.count):
                part = source.take(np.flatnonzero(self.numbers == f))
                yield total.without(summarise(part, total.zero()))
        else:
            yield from self._outside(source.folded(self.numbers, self.count))

    def _outside(self, source: ArraySource | TableSource) -> Iterator[Statistic]:
        """For each fold, the sum of the statistics of the other folds."""
        statistic = self._in_folds(source, self.count)
        self.total = statistic.total("fold")
        for f, training in enumerate(statistic.outside()):
            if not training.rows.any():
                raise VerosimError(
                    f"All {int(self.class_rows.sum())} rows are in fold {f}, so no training rows "
                    "are left.",
                    "Use more rows, or give the fold of each row: cv=[0, 1, …].",
                )
            yield training.prune()

    def _sums_blocks(self) -> bool:
        """Whether one pass gives the statistics of all blocks."""
        is_table = isinstance(self.source, TableSource)
        return self.blocks is not None and self.blocks.are_few and (is_table or not self._large())

    def _of_blocks(self, blocks: BlockFolds) -> Iterator[Statistic]:
        """For each fold, the sum of the statistics of its blocks of training rows.

        A fold that has all blocks of the fold before adds only the new ones. If there are many
        blocks, the rows are read once for each fold.
        """
        parts = self._parts(blocks) if self._sums_blocks() else None
        known, training = np.zeros(blocks.count, dtype=bool), None
        for f, wanted in enumerate(blocks.trains):
            if parts is None:
                assert isinstance(blocks, RowBlocks)  # others are always few
                training = self._parts(blocks.training(f))[0]
            else:
                if training is None or (known & ~wanted).any():
                    training, known = parts[0].zero(), np.zeros(blocks.count, dtype=bool)
                for b in np.flatnonzero(wanted & ~known):
                    training = training + parts[b]
                known = wanted
            if not training.rows.any():
                raise VerosimError(
                    f"Fold {f} has no training rows with positive weight.",
                    "Use fewer folds, or check the weights.",
                )
            yield training.prune()

    def _parts(self, blocks: BlockFolds) -> list[Statistic]:
        """The statistic of each block."""
        source = self.source
        if isinstance(source, TableSource):
            statistic = self._in_folds(source.folded(blocks), blocks.count)
        else:
            assert isinstance(blocks, RowBlocks)
            statistic = self._in_folds(source.folded(blocks.numbers, blocks.count), blocks.count)
        self.total = statistic.total("fold")
        return [statistic.fold(b) for b in range(blocks.count)]

    def nested_trainings(self, aside: Sequence[int]) -> Iterator[tuple[int, Statistic]]:
        """Each fold that is not set aside, and the statistic outside it and outside `aside`.

        The rows must be a table. A fold is left out if no other row would remain.
        """
        rest = [f for f in range(self.count) if f not in aside]
        others = sums_of_others([self._by_fold[f] for f in rest])
        for f, training in zip(rest, others, strict=True):
            if training.rows.any():
                yield f, training.prune()

    @cached_property
    def _by_fold(self) -> list[Statistic]:
        assert isinstance(self.source, TableSource)
        statistic = self._in_folds(self.source.folded(self.folds), self.count)
        return [statistic.fold(f) for f in range(self.count)]

    def _in_folds(self, source: ArraySource | TableSource, count: int) -> Statistic:
        """The statistic of each class and fold."""
        statistic = summarise(source, self.plan.folded(count))
        self.classes = statistic.axes.groups.classes
        self.class_weight = statistic.weight.sum(axis=1)
        self.class_rows = statistic.rows.sum(axis=1)
        return statistic

    @cached_property
    def total(self) -> Statistic:
        """The statistic of all rows."""
        return summarise(self.source, self.plan)

    def _large(self) -> bool:
        """Whether the statistics of all folds together are large or of unknown size."""
        grows = any(leaf.grows for leaf in self.plan.leaves())
        return grows or self.plan.size * self.count > BUDGET

    @property
    def has_small_folds(self) -> bool:
        """Whether several folds of an array can be in memory, and each is worth a thread."""
        assert isinstance(self.source, ArraySource)
        cells = len(self.source) * cells_per_row(self.source.X) / self.count
        return not self._large() and LEAST_CELLS_FOR_THREADS <= cells <= MOST_CELLS_IN_MEMORY

    # The rows of the folds -------------------------------------------------------------------

    def rows_of(self, f: int) -> np.ndarray:
        """The numbers of the rows of an array that fold f holds out."""
        return np.flatnonzero(self.numbers == f) if self.pairs is None else self.pairs[f][1]

    def held_out(self, f: int) -> HeldOutRows:
        """The rows of an array that fold f holds out."""
        rows, source = self.rows_of(f), self.source
        assert isinstance(source, ArraySource)
        weights = source.weights[rows] if len(source.weights) else source.weights
        block = take_rows(source.X, rows)
        return HeldOutRows(f, rows, block, self.labels[rows], source.groups[rows], weights)

    def visit_cluster(self, visit: VisitRows, known: list[Any]) -> dict[int, tuple[int, Any]]:
        """The number of rows and the joined result of each fold, from where the rows are."""
        assert isinstance(self.source, TableSource)
        cluster = self.source.table.cluster
        assert cluster is not None
        if not isinstance(visit, ReducingVisit):
            raise needs_all_rows(cluster)
        work = VisitsOnCluster(
            visit,
            dict(enumerate(known)),
            HeldOutPieces(self.classes, blocks=self.blocks, by=self.by),
        )
        source = self.source.folded(self.folds)
        if self.by is not None:
            source = replace(source, keep=(*source.keep, self.by.column))
        found: dict[int, tuple[int, Any]] = reduce_chunks(work, source)
        return found

    def visit_fold_there(
        self, visit: VisitRows, known: Any, f: int, source: TableSource
    ) -> Iterator[tuple[int, Any]]:
        """The number of rows and the joined result of one fold, if it has rows.

        `known` is for this fold, and `source` reads the rows.
        """
        assert source.table.cluster is not None
        if not isinstance(visit, ReducingVisit):
            raise needs_all_rows(source.table.cluster)
        pieces = HeldOutPieces(self.classes, blocks=self.blocks, by=self.by, only=f)
        if self.by is not None:
            source = replace(source, keep=(*source.keep, self.by.column))
        found = reduce_chunks(VisitsOnCluster(visit, {f: known}, pieces), source)
        if f in found:
            yield found[f]

    @property
    def on_cluster(self) -> bool:
        """Whether the rows are on a cluster."""
        return cluster_of(self.source) is not None

    def visit_table(self, visit: VisitRows, known: list[Any]) -> Iterator[tuple[HeldOutRows, Any]]:
        """Call visit(rows, known[fold]) for each piece and fold of a table, in order.

        Each block is dropped after its visit, so memory does not grow with the number of rows.
        """
        assert isinstance(self.source, TableSource)
        pieces = HeldOutPieces(self.classes, self.given, self.blocks)

        def work(chunk: Chunk) -> list[tuple[HeldOutRows, Any]]:
            return [
                (replace(held, block=None), visit(held, known[held.fold]))
                for held in pieces.of(chunk, chunk.block())
            ]

        for found in map_chunks(work, self.source.folded(self.folds)):
            yield from found

    def masks(self, f: int, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) whether fold f learns from each row and holds it out, from its fold or block."""
        if self.blocks is not None:
            assert isinstance(self.blocks, RowBlocks)
            blocks = self.blocks.numbers
            return self.blocks.trains[f][blocks], self.blocks.tests[f][blocks]
        if self.pairs is None:
            return numbers != f, numbers == f
        learnt, held = np.zeros((2, len(self.labels)), dtype=bool)
        learnt[self.pairs[f][0]], held[self.pairs[f][1]] = True, True
        return learnt, held

    def fold_numbers(self) -> np.ndarray:
        """(n,) the fold of each row, or its block; empty if the folds of an array overlap."""
        if not isinstance(self.source, TableSource):
            return self.numbers

        def work(chunk: Chunk) -> np.ndarray:
            assert chunk.folds is not None
            return chunk.folds.of(chunk.rows, chunk.block())

        return np.concatenate(list(map_chunks(work, self.source.folded(self.folds))))
