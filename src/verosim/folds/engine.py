"""The held-out engine: for each fold and each spec, the rule of the rows outside the fold.

    (fold, its rows, one rule per spec over all classes)

Specs that share a statistic share one pass. If fitting is a sum, the rows of a fold are subtracted
from the total. Other specs are fitted again outside each fold. All validation uses this engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.data.labels import positions
from verosim.data.sources import take_rows
from verosim.data.stream import TableSource
from verosim.errors import VerosimError
from verosim.folds.fitting import fit
from verosim.folds.holdout import HeldOutRows, HoldOut
from verosim.folds.refits_there import visits_of_refits_there
from verosim.folds.rules import FoldRules, Visit, Visited, visits_by_sums
from verosim.folds.splits import row_labels, row_weights
from verosim.models import Inputs, Spec, State, open_to_score, share_statistic
from verosim.models.learning import derived_from


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

    def visits(self, visit: Visit) -> Iterator[Visited]:
        """Call visit(rows, rules) for the rows of each fold and for a few specs at a time."""
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

    def _visits_by_refits(self, i: int, holdout: HoldOut, visit: Visit) -> Iterator[Visited]:
        """Call visit(rows, rules) for spec i, which is fitted again for each fold."""
        spec = self.specs[i]
        if self.keep_priors:
            raise VerosimError(
                f"{spec.name} is fitted again for each fold, so it estimates the priors again.",
                'Use fold_priors="fit".',
            )
        if holdout.on_cluster:
            for f, size, value in visits_of_refits_there(spec, holdout, visit):
                yield Visited(f, size, [i], value)
            return
        for state, held, classes in refits(spec, holdout):
            rules = FoldRules(state.rules, positions(state.classes, classes), classes)
            yield Visited.of(replace(held, block=None), [i], visit(held, rules))


def refits(spec: Spec, holdout: HoldOut) -> Iterator[tuple[State, HeldOutRows, np.ndarray]]:
    """For each fold, the state fitted outside it, the rows of the fold, and all classes.

    Rows inside the fold get the weight zero. The rows of a table are read in pieces.
    """
    labels = row_labels(holdout.source, holdout.inputs.y)
    weights = row_weights(holdout.source, len(labels))
    folds = holdout.fold_numbers()
    is_table = isinstance(holdout.source, TableSource)
    if is_table:
        holdout.classes = np.unique(labels[weights > 0])
    classes = holdout.classes
    for f in range(holdout.count):
        learnt, held = holdout.masks(f, folds)
        state = fit(spec, reweighted(holdout.inputs, np.where(learnt, weights, 0.0)))
        if not is_table:
            yield state, holdout.held_out(f), classes
            continue
        for chunk in open_to_score(state, holdout.inputs.X).chunks():
            rows = np.arange(chunk.first, chunk.first + len(chunk))
            rows = rows[held[rows]]
            if len(rows):
                yield state, HeldOutRows(
                    f, rows, take_rows(chunk.block(), rows - chunk.first), labels[rows],
                    positions(labels[rows], classes), weights[rows],
                ), classes  # fmt: skip


def reweighted(inputs: Inputs, weights: np.ndarray) -> Inputs:
    """The same rows with other weights. The old column of weights is not used for learning."""
    name = inputs.sample_weight
    ignored = (*inputs.ignored, name) if isinstance(name, str) else inputs.ignored
    return replace(inputs, sample_weight=weights, ignored=ignored)
