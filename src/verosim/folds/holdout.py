"""Rows in folds, and the statistic outside each fold, from one pass over the data.

    T(outside fold f) = Σ_{g ≠ f} T(fold g)

Reference: Stone (1974), Cross-validatory choice and assessment of statistical predictions, Journal
of the Royal Statistical Society B 36, 111–147.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from verosim import engines
from verosim.cached import cached_property
from verosim.data import cells
from verosim.data.blocks import BlockFolds, RowBlocks, RowPairs
from verosim.data.clusters import Cluster
from verosim.data.folds import GivenFolds, Partition
from verosim.data.labels import positions
from verosim.data.source import Chunk, RowSource
from verosim.data.sources import take_rows
from verosim.data.tables import Rows
from verosim.data.visits import Visit
from verosim.engines import LEAST_CELLS_FOR_THREADS, summarise
from verosim.errors import VerosimError
from verosim.folds.scores import Predictions
from verosim.folds.splits import folds_of_source
from verosim.models import Inputs, Spec, open_rows
from verosim.stats import Statistic
from verosim.stats.statistic import sums_of_others

MOST_CELLS_IN_MEMORY = 1 << 23  # of a fold that is in memory together with others: 64 MB
JOINED_AT_ONCE = 8  # results of pieces of a fold
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


class FoldVisit(ABC):
    """What is computed from the held-out rows of a fold, in parts that are joined."""

    @abstractmethod
    def __call__(self, held: HeldOutRows, known: Any) -> Any:
        """The result of some rows of a fold. `known` belongs to the fold, such as its rules."""

    @abstractmethod
    def joined(self, found: Sequence[Any]) -> Any:
        """The result of all rows of several results, at least one."""

    def packed(self, found: Any) -> Any:
        """The result as plain data."""
        return found

    def unpacked(self, plain: Any) -> Any:
        """The result, from plain data."""
        return plain

    def there(self, cluster: Cluster) -> Self:
        """The visit as workers of a cluster run it. It is an error if it needs all rows here."""
        return self


@dataclass(frozen=True)
class HeldOutPieces:
    """Cuts a chunk into the rows of each fold."""

    classes: np.ndarray  # (C,)
    given: np.ndarray | None = None  # (n,) the labels, if they are not a column
    by: ColumnGroups | None = None  # for scores by group

    def of(self, chunk: Any, folds: Mapping[int, Any]) -> Iterator[HeldOutRows]:
        """The rows of a chunk that some folds hold out, fold by fold."""
        block = chunk.block()
        fold_of = chunk.folds_of(block)
        codes, own = chunk.labels()
        places = positions(own, self.classes)
        weights, numbers = chunk.row_weights(), chunk.numbers
        groups = np.empty(0, dtype=np.intp) if self.by is None else self.by.of(chunk.rows)
        for f in folds:
            at: Any = chunk.folds.tested(f, fold_of)
            if not len(at):
                continue
            if len(at) == len(chunk):  # all rows, and nothing is copied
                at = slice(None)
            own_codes, rows = codes[at], numbers[at]
            labels = own[own_codes] if self.given is None else self.given[rows]
            place = np.where(own_codes < 0, -1, places[own_codes])
            some, group = (array[at] if len(array) else array for array in (weights, groups))
            held = block if isinstance(at, slice) else take_rows(block, at)
            yield HeldOutRows(f, rows, held, labels, place, some, group)


@dataclass
class _EachFold(Visit):
    """A fold visit of the rows of some folds: {fold: (number of rows, [results])}."""

    visit: FoldVisit
    known: Mapping[int, Any]  # by fold
    pieces: HeldOutPieces

    def nothing(self) -> dict[int, tuple[int, list[Any]]]:
        return {}

    def absorb(self, chunk: Chunk) -> None:
        for held in self.pieces.of(chunk, self.known):
            self._add(held.fold, len(held.rows), [self.visit(held, self.known[held.fold])])

    def _add(self, f: int, n: int, values: list[Any]) -> None:
        before, found = self.found.get(f, (0, []))
        found = [*found, *values]
        if len(found) >= JOINED_AT_ONCE:
            found = [self.visit.joined(found)]
        self.found[f] = before + n, found

    def merge(self, other: Self) -> None:
        for f, (n, values) in other.found.items():
            self._add(f, n, values)

    def finish(self) -> dict[int, tuple[int, Any]]:
        """For each fold with rows, their number and the joined result."""
        return {f: (n, self.visit.joined(found)) for f, (n, found) in sorted(self.found.items())}

    def packed(self) -> Any:
        return [[f, n, self.visit.packed(value)] for f, (n, value) in self.finish().items()]

    def unpacked(self, plain: Any) -> dict[int, tuple[int, list[Any]]]:
        return {f: (n, [self.visit.unpacked(value)]) for f, n, value in plain}

    def there(self, cluster: Cluster) -> Self:
        return replace(self, visit=self.visit.there(cluster))


class HoldOut:
    """Rows in folds, as one spec reads them.

    `classes`, `class_weight` and `class_rows` exist after `trainings` has started.
    """

    classes: np.ndarray  # (C,)
    class_weight: np.ndarray  # (C,) of all rows
    class_rows: np.ndarray  # (C,)

    def __init__(self, spec: Spec, inputs: Inputs, cv: Any = 10, groups: Any = None) -> None:
        split_by = tuple(name for name in (cv, groups) if isinstance(name, str))
        self.inputs = replace(inputs, ignored=inputs.ignored + split_by)
        opened = open_rows(spec, self.inputs)
        self.plan, self.schema, self.cv = opened.plan, opened.schema, cv
        # Keep the given labels: a row of weight zero has a label, but no class number.
        self.given = None if isinstance(opened.source.target, str) else np.asarray(inputs.y)
        self.folds = folds_of_source(cv, opened.source, self.given, groups, inputs.X)
        self.source = opened.source
        self.by: ColumnGroups | None = None  # for scores by group

    @property
    def count(self) -> int:
        """The number of folds."""
        return self.folds.folds

    @property
    def is_partition(self) -> bool:
        """Whether every row is held out exactly once."""
        return isinstance(self.folds, Partition)

    def check_partition(self) -> None:
        """Raise an error unless each row is held out exactly once."""
        if not self.is_partition:
            raise not_a_partition(self.cv)

    # The statistics outside the folds --------------------------------------------------------

    def trainings(self, least_count: float = 1.0) -> Iterator[Statistic]:
        """For each fold, the statistic of its training rows.

        Codes with a smaller count than `least_count` in all rows may be left out.
        """
        folds, source = self.folds, self.source
        if isinstance(folds, BlockFolds) and (self._sums_blocks() or not source.takes_rows):
            yield from self._of_blocks(folds)
        elif isinstance(folds, BlockFolds | RowPairs):
            self._known_classes(self.total)
            for f in range(self.count):
                yield summarise(source.take(folds.training_rows(f)), self.plan).prune()
        elif source.takes_rows and self._large():
            self._known_classes(self.total)
            total = self.total.lean(least_count)
            for f in range(self.count):
                yield total.without(summarise(self.rows_of(f), total.zero()))
        else:
            yield from self._outside()

    def _outside(self) -> Iterator[Statistic]:
        """For each fold, the sum of the statistics of the other folds."""
        statistic = self._in_folds(self.folds)
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
        few = isinstance(self.folds, BlockFolds) and self.folds.are_few
        return few and not (self.source.takes_rows and self._large())

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
        statistic = self._in_folds(blocks)
        self.total = statistic.total("fold")
        return [statistic.fold(b) for b in range(blocks.count)]

    def nested_trainings(self, aside: Sequence[int]) -> Iterator[tuple[int, Statistic]]:
        """Each fold that is not set aside, and the statistic outside it and outside `aside`.

        A fold is left out if no other row would remain.
        """
        rest = [f for f in range(self.count) if f not in aside]
        others = sums_of_others([self._by_fold[f] for f in rest])
        for f, training in zip(rest, others, strict=True):
            if training.rows.any():
                yield f, training.prune()

    @cached_property
    def _by_fold(self) -> list[Statistic]:
        statistic = self._in_folds(self.folds)
        return [statistic.fold(f) for f in range(self.count)]

    def _in_folds(self, folds: Any) -> Statistic:
        """The statistic of each class and fold."""
        statistic = summarise(self.source.folded(folds), self.plan.folded(folds.count))
        self._known_classes(statistic)
        return statistic

    def _known_classes(self, statistic: Statistic) -> None:
        self.classes = statistic.axes.groups.classes
        self.class_weight = statistic.weight.sum(axis=1)
        self.class_rows = statistic.rows.sum(axis=1)

    @cached_property
    def total(self) -> Statistic:
        """The statistic of all rows."""
        return summarise(self.source, self.plan)

    def _large(self) -> bool:
        """Whether the statistics of all folds together are large or of unknown size."""
        grows = any(leaf.grows for leaf in self.plan.leaves())
        return grows or self.plan.size * self.count > BUDGET

    # The rows of the folds -------------------------------------------------------------------

    @property
    def rounds(self) -> list[range]:
        """The folds that are visited together: all of them in one pass over the rows, or one after
        the other if the rows of a fold can be taken without a pass."""
        if self.source.takes_rows:
            return [range(f, f + 1) for f in range(self.count)]
        return [range(self.count)]

    @property
    def has_small_folds(self) -> bool:
        """Whether the rows of several folds can be in memory, and each is worth a thread."""
        if not self.source.takes_rows or self._large():
            return False
        return (
            LEAST_CELLS_FOR_THREADS <= (self.source.cells or 0) / self.count <= MOST_CELLS_IN_MEMORY
        )

    def rows_of(self, f: int) -> Any:
        """The rows that fold f holds out, of a source from which rows can be taken."""
        return self.source.subset(self.folds.tested(f, self.folds.numbers))

    def visited(
        self, visit: FoldVisit, known: Mapping[int, Any], source: RowSource | None = None
    ) -> dict[int, tuple[int, Any]]:
        """For each of the known folds with rows, their number and the joined visit.

        Each block is dropped after its visit, so memory does not grow with the number of rows.
        `source` reads the same rows in another way.
        """
        work = _EachFold(visit, known, HeldOutPieces(self.classes, self.given, self.by))
        source = self.source if source is None else source
        if source.takes_rows and len(known) == 1:
            (fold,) = known
            some = self.rows_of(fold)
            only = GivenFolds(np.full(len(some), fold, dtype=np.int32), self.count)
            return engines.reduce(some.folded(only), work)
        source = source.folded(self.folds)
        if self.by is not None:
            source = source.keeping(self.by.column)
        found: dict[int, tuple[int, Any]] = engines.reduce(source, work)
        return found

    def folds_by_row(self) -> np.ndarray:
        """(n,) the fold of each row, or its block."""
        if isinstance(self.folds, RowPairs):
            return self.folds.numbers
        found = engines.map(
            self.source.folded(self.folds), lambda chunk: chunk.folds_of(chunk.block())
        )
        return np.concatenate(list(found))
