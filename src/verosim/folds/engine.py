"""The held-out engine: for each fold and each spec, the rule of the rows outside the fold.

    (fold, its rows, one rule per spec over all classes)

Specs that share a statistic share one pass. If fitting is a sum, the rows of a fold are subtracted
from the total. Other specs are fitted again outside each fold. All validation uses this engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from verosim.data.blocks import Folds
from verosim.data.folds import GivenFolds, RowFolds
from verosim.data.labels import encode_counted, positions
from verosim.data.tables import Rows, Table
from verosim.errors import VerosimError
from verosim.folds.fitting import fit
from verosim.folds.holdout import FoldVisit, HoldOut
from verosim.folds.rules import FoldRules, Visited, visits_by_sums
from verosim.folds.splits import row_labels, row_weights
from verosim.models import Inputs, Spec, State, share_statistic
from verosim.models.learning import derived_from
from verosim.models.opening import read_by_state


class HeldOutEngine:
    """A list of specs, and rows in folds. `visits` calls a function for each fold.

    `keep_priors` uses the priors of all rows in every fold. `look_again` fits each spec again
    outside each fold, including the first look at the table.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        inputs: Inputs,
        cv: Any = 10,
        groups: Any = None,
        keep_priors: bool = False,
        look_again: bool = False,
    ) -> None:
        self.specs, self.keep_priors, self.look_again = list(specs), keep_priors, look_again
        self.finished: set[int] = set()  # the specs for which all rows were visited
        self.holdouts: list[tuple[list[int], HoldOut]] = []
        for group in share_statistic(self.specs):
            widest = [self.specs[i] for i in group if self.specs[i].widest]
            reader = widest[0] if widest else self.specs[group[0]]
            self.holdouts.append((group, HoldOut(reader, inputs, cv, groups)))

    @property
    def rows(self) -> HoldOut:
        """The rows in their folds, as the first group of specs reads them."""
        return self.holdouts[0][1]

    def visits(self, visit: FoldVisit) -> Iterator[Visited]:
        """The visit of the rows of each fold, for a few specs at a time."""
        for group, holdout in self.holdouts:
            sums = [i for i in group if self._is_sum(i)]
            if sums:
                specs = [self.specs[i] for i in sums]
                yield from visits_by_sums(specs, sums, holdout, visit, self.keep_priors)
                self.finished |= set(sums)
            for i in group:
                if i not in sums:
                    yield from self._visits_by_refits(i, holdout, visit)
                    self.finished.add(i)

    def state(self, i: int) -> State:
        """The state of spec i on all rows, from the sums that are already computed."""
        holdout = next(holdout for group, holdout in self.holdouts if i in group)
        if not self._is_sum(i):
            return fit(self.specs[i], holdout.inputs)
        return derived_from(self.specs[i], holdout.total, holdout.schema)

    def _is_sum(self, i: int) -> bool:
        """Whether the rows of a fold can be subtracted for spec i."""
        return self.specs[i].is_decomposable and not self.look_again

    def _visits_by_refits(self, i: int, holdout: HoldOut, visit: FoldVisit) -> Iterator[Visited]:
        """The visit of each fold with the rules of spec i, which is fitted again outside it."""
        spec = self.specs[i]
        if self.keep_priors:
            raise VerosimError(
                f"{spec.name} is fitted again for each fold, so it estimates the priors again.",
                'Use fold_priors="fit".',
            )
        for f, state in refits(spec, holdout):
            classes = holdout.classes
            rules = FoldRules(state.rules, positions(state.classes, classes), classes)
            found = holdout.visited(visit, {f: rules}, read_by_state(state, holdout.source))
            for size, value in found.values():
                yield Visited(f, size, [i], value)


def refits(spec: Spec, holdout: HoldOut) -> Iterator[tuple[int, State]]:
    """For each fold, the state of a fit outside it, including the first look at the rows.

    Rows inside the fold get the weight zero if rows have numbers; otherwise workers leave them out.
    """
    source = holdout.source
    if not source.numbered:
        total = holdout.total  # the classes of all rows
        holdout.classes = total.axes.groups.classes[total.rows.sum(axis=1) > 0]
        if isinstance(holdout.folds, RowFolds):  # each fit may read the cells differently
            holdout.folds = replace(holdout.folds, reader=holdout.folds.reader or source.reader)
        for f in range(holdout.count):
            rows = source.table.filtered(OutsideFold(holdout.folds, f))
            yield f, fit(spec, replace(holdout.inputs, X=rows))
        return
    labels = row_labels(source, holdout.inputs.y)
    weights = row_weights(source, len(labels))
    numbers = holdout.folds_by_row()
    if isinstance(holdout.folds, RowFolds):
        holdout.folds = GivenFolds(numbers, holdout.count)
    holdout.classes = encode_counted(labels, weights, None, None)[1]
    for f in range(holdout.count):
        learnt = holdout.folds.trained(f, numbers)
        yield f, fit(spec, reweighted(holdout.inputs, np.where(learnt, weights, 0.0)))


@dataclass(frozen=True)
class OutsideFold:
    """Reads the rows of a table that train the model of a fold."""

    folds: Folds
    fold: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are needed to find the fold of a row."""
        return self.folds.columns

    def __call__(self, table: Table, columns: Iterable[str] | None) -> Iterator[Rows]:
        read = table.batches(None if columns is None else {*columns, *self.columns})
        return map(partial(_outside, self.folds, self.fold), read)


def _outside(folds: Folds, f: int, rows: Rows) -> Rows:
    kept = np.flatnonzero(folds.trained(f, folds.of(rows, None)))
    return rows if len(kept) == len(rows) else rows.take(kept)


def reweighted(inputs: Inputs, weights: np.ndarray) -> Inputs:
    """The same rows with other weights. The old column of weights is not used for learning."""
    name = inputs.sample_weight
    ignored = (*inputs.ignored, name) if isinstance(name, str) else inputs.ignored
    return replace(inputs, sample_weight=weights, ignored=ignored)
