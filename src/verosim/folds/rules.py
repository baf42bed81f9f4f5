"""The decision rules of models without a fold, derived from the sums of the other folds.

    (fold, its rows, one rule per spec over all classes)

A class that has no rows outside the fold gets the probability zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any, Self

import numpy as np

from verosim.bayes.rule import Decision, spread, widened
from verosim.bayes.stacked import log_posteriors, score_sums
from verosim.cached import cached_property
from verosim.data.clusters import Cluster, needs_all_rows
from verosim.data.labels import positions
from verosim.engines import one_blas_thread, work_in_order
from verosim.folds.holdout import FoldVisit, HeldOutRows, HoldOut
from verosim.models import Spec, derive_rules
from verosim.stats import Statistic

AT_ONCE = 16  # number of models with scores in memory at a time


@dataclass(frozen=True)
class FoldRules:
    """The rules of some specs for one fold, over all classes. They do not use the fold."""

    derive: Callable[[], list[Decision]]
    places: np.ndarray  # the positions of the classes outside the fold among all classes
    classes: np.ndarray  # (C,) all classes
    training: Statistic | None = None  # the statistic outside the fold, if the rules share it
    deriving: Lock = field(default_factory=Lock)  # pieces of a table are scored in parallel

    @cached_property
    def seen(self) -> list[Decision]:
        """The rules over the classes outside the fold. They are derived at the first use."""
        with self.deriving, one_blas_thread:  # many small matrices
            return vars(self).get("seen") or self.derive()

    def __reduce__(self) -> Any:
        """The rules themselves go to the workers of a cluster, without the sums."""
        return _known_rules, (self.seen, self.places, self.classes)

    @property
    def rules(self) -> list[Decision]:
        """One rule per spec. A class that is only in the fold gets the probability zero."""
        return [widened(rule, self.places, len(self.classes)) for rule in self.seen]

    def log_posteriors(self, block: Any) -> list[np.ndarray]:
        """For each rule, (m, C) log p(k | x)."""
        found = log_posteriors(self.seen, block)
        return [spread(one, self.places, len(self.classes)) for one in found]

    def score_sums(self, held: HeldOutRows, with_loss: bool) -> np.ndarray | None:
        """(R, 3) for each rule, Σ w [argmax = y], Σ w log p(y | x) and Σ w.

        None if these sums cannot be computed without the posteriors.
        """
        if len(self.places) < len(self.classes) or held.counted() is not None:
            return None
        sums = score_sums(self.seen, held.block, held.codes, held.weights, with_loss)
        weight = float(held.weights.sum()) if len(held.weights) else float(len(held.rows))
        return None if sums is None else np.column_stack([sums, np.full(len(sums), weight)])


def _known_rules(seen: list[Decision], places: np.ndarray, classes: np.ndarray) -> FoldRules:
    return FoldRules(partial(list, seen), places, classes)


@dataclass(frozen=True)
class Visited:
    """The joined result of a visit to the rows of a fold."""

    fold: int
    size: int  # rows
    numbers: Sequence[int]  # the positions of the specs
    value: Any


def visits_by_sums(
    specs: Sequence[Spec],
    numbers: Sequence[int],
    holdout: HoldOut,
    visit: FoldVisit,
    keep_priors: bool = False,
) -> Iterator[Visited]:
    """The visit of the rows of each fold, for a few specs at a time if a fold is visited alone.

    All specs share one statistic. `keep_priors` uses the priors of all rows in every fold.
    """
    trainings = holdout.trainings(min(spec.least_count for spec in specs))
    if len(specs) <= AT_ONCE and holdout.has_small_folds:

        def derived() -> Iterator[dict[int, FoldRules]]:
            for f, training in enumerate(trainings):
                rules = fold_rules(specs, holdout, training, keep_priors)
                _ = rules.seen  # in this thread, because of its warnings
                yield {f: rules}

        for found in work_in_order(partial(holdout.visited, visit), derived()):
            for f, (size, value) in found.items():
                yield Visited(f, size, numbers, value)
        return
    for folds in holdout.rounds:
        some = dict(zip(folds, trainings, strict=False))
        step = AT_ONCE if len(folds) == 1 else len(specs)
        for at in range(0, len(specs), step):
            known = {
                f: fold_rules(specs[at : at + step], holdout, training, keep_priors)
                for f, training in some.items()
            }
            for f, (size, value) in holdout.visited(visit, known).items():
                yield Visited(f, size, numbers[at : at + step], value)


def visited_rows(found: Iterable[Visited]) -> list[tuple[HeldOutRows, Any]]:
    """The rows of each piece, without their cells, and what a `PerRow` visit found in them.

    The pieces are in the order of the folds and of the rows, with any number of threads.
    """
    pieces = [piece for one in found for piece in one.value]
    return sorted(pieces, key=lambda piece: (piece[0].fold, piece[0].rows[0]))


@dataclass(frozen=True)
class PerRow(FoldVisit):
    """Keeps something of each row: function(rows, known). So the rows must be in this process."""

    function: Callable[[HeldOutRows, Any], Any]

    def __call__(self, held: HeldOutRows, known: Any) -> list[tuple[HeldOutRows, Any]]:
        return [(replace(held, block=None), self.function(held, known))]

    def joined(self, found: Sequence[list[Any]]) -> list[tuple[HeldOutRows, Any]]:
        return [piece for pieces in found for piece in pieces]

    def there(self, cluster: Cluster) -> Self:
        raise needs_all_rows(cluster)


def fold_rules(
    specs: Sequence[Spec], holdout: HoldOut, training: Statistic, keep_priors: bool
) -> FoldRules:
    """The rules that follow from the statistic outside a fold."""
    classes = holdout.classes
    places = positions(training.axes.groups.classes, classes)

    def derive() -> list[Decision]:
        rules = derive_rules(specs, training)
        if not keep_priors:
            return rules
        weight, rows = holdout.class_weight, holdout.class_rows
        return [
            replace(
                rule,
                log_prior=spec.log_prior(
                    classes, weight * spec.factors_of(classes, weight), rows, True
                )[places],
            )
            for spec, rule in zip(specs, rules, strict=True)
        ]

    return FoldRules(derive, places, classes, training)
