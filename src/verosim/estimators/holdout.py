"""Held-out rows judged by models that never saw them, from two passes over the data.

    statistics outside fold f = Σ of the other folds' statistics      (first pass)
    log p(k | x), x in fold f, by the model derived from them         (second pass)

No row is fitted twice: a model for each fold, and for every setting one cares to ask about, is
derived from sums. Reference: Stone (1974), Cross-validatory choice and assessment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.bayes.priors import log_priors
from verosim.bayes.rule import Rule, log_posteriors
from verosim.data import ArraySource
from verosim.data.labels import positions
from verosim.data.sources import take_rows
from verosim.data.stream import Chunk, TableSource, weights_of
from verosim.engines import map_chunks, one_blas_thread, summarise
from verosim.errors import VerosimError
from verosim.estimators.arrays import one_column
from verosim.estimators.door import Door
from verosim.estimators.fitted import derive_all
from verosim.estimators.folds import Pairs, array_folds, table_folds
from verosim.stats import ArrayStatistic, Statistic, Tokens

AT_ONCE = 16  # models whose judgements are held at a time
BUDGET = 1 << 25  # numbers in the statistics of all folds; above it rows are read fold by fold


@dataclass(frozen=True)
class Judged:
    """One fold: its rows and, by some of the models, log p(k | x) by what the other folds say."""

    fold: int
    rows: np.ndarray  # (m,) their numbers
    log_proba: list[np.ndarray]  # (m, C) each, or whatever else was looked at
    first: int = 0  # the number of the first of these models


class Holdout:
    """Rows in folds, opened by the model that is to read them.

    After `judged` has run, `labels`, `weights` and `numbers` hold the rows' own in their order.
    """

    classes: np.ndarray  # (C,)
    class_weight: np.ndarray  # (C,) of all rows
    class_rows: np.ndarray  # (C,)
    labels: np.ndarray  # (n,)
    weights: np.ndarray  # (n,), empty if every row counts once
    numbers: np.ndarray  # (n,) the fold of each row; empty where folds overlap
    count: int  # folds

    def __init__(
        self,
        model: Door,
        X: Any,
        y: Any = None,
        cv: Any = 10,
        groups: Any = None,
        *,
        sample_weight: Any = None,
        schema: Any = None,
        na: Any = (),
    ) -> None:
        model = clone(model)
        aside = [name for name in (cv, groups) if isinstance(name, str)]
        source, self.plan, self.schema = model._opened(
            X, y, sample_weight, schema=schema, na=na, aside=aside
        )
        self.source = source
        self.pairs: Pairs | None = None
        if isinstance(source, TableSource):
            self.weights = np.empty(0)
            # The labels as given: a row without weight has no code, and yet a label.
            self.given = None if isinstance(source.target, str) else one_column(y)
            self.folds = table_folds(cv, source, self.given, groups)
            self.count = self.folds.count
            return
        self.labels = one_column(y)
        self.classes, self.weights = self.plan.axes.groups.classes, source.weights
        each = source.weights if len(source.weights) else None
        self.class_weight = np.bincount(source.groups, each, len(self.classes))
        counted = source.groups if each is None else source.groups[each > 0]
        self.class_rows = np.bincount(counted, minlength=len(self.classes))
        found = array_folds(cv, self.labels, groups, X, source.weights)
        if isinstance(found, list):
            self.pairs, self.count, self.numbers = found, len(found), np.empty(0, dtype=np.int32)
        else:
            self.numbers, self.count = found

    def rows_of(self, f: int) -> np.ndarray:
        """The numbers of the rows that fold f holds out."""
        return np.flatnonzero(self.numbers == f) if self.pairs is None else self.pairs[f][1]

    # First pass ----------------------------------------------------------------------------

    def trainings(self) -> Iterator[Statistic]:
        """For every fold the statistic of the rows that may be learnt from."""
        source = self.source
        if isinstance(source, TableSource):
            yield from self._outside(source.folded(self.folds))
        elif self.pairs is not None:
            for train, _ in self.pairs:
                yield summarise(source.take(np.sort(train)), self.plan).prune()
        elif self._large():
            for f in range(self.count):
                part = source.take(np.flatnonzero(self.numbers == f))
                yield self.total.without(summarise(part, self.total.zero()))
        else:
            yield from self._outside(source.folded(self.numbers, self.count))

    def _outside(self, source: ArraySource | TableSource) -> Iterator[Statistic]:
        statistic = summarise(source, self.plan.folded(self.count))
        self.classes = statistic.axes.groups.classes
        self.class_weight, self.class_rows = (
            a.sum(axis=1) for a in (statistic.weight, statistic.rows)
        )
        self.total = statistic.total("fold")
        for f, training in enumerate(statistic.outside()):
            if not training.rows.any():
                raise VerosimError(
                    f"All {int(self.class_rows.sum())} rows are in fold {f}: nothing is left to "
                    "learn from.",
                    "fewer folds, more rows, or a fold for every row: cv=[0, 1, …].",
                )
            yield training.prune()

    @cached_property
    def total(self) -> Statistic:
        """The statistic of all rows."""
        return summarise(self.source, self.plan)

    def _large(self) -> bool:
        """Whether the statistics of all folds at once would be large, or nobody knows yet."""
        size = 0
        for leaf in self.plan.leaves():
            if isinstance(leaf, Tokens) and not leaf.codes.fixed:
                return True
            if isinstance(leaf, ArrayStatistic):
                size += sum(array.size for array in (*leaf.arrays.values(), *leaf.lows.values()))
        return size * self.count > BUDGET

    # Second pass ---------------------------------------------------------------------------

    def judged(self, models: Sequence[Door], keep_priors: bool = False) -> Iterator[Judged]:
        """Fold by fold, the held-out rows judged by every model's settings."""

        def derive(some: Sequence[Door], training: Statistic) -> _Seen:
            return _Seen.by(self, some, training, keep_priors)

        yield from self.by_fold(models, derive, _Seen.judge)

    def by_fold(
        self,
        models: Sequence[Door],
        derive: Callable[[Sequence[Door], Statistic], Any],
        look: Callable[[Any, Any], list[np.ndarray]],
    ) -> Iterator[Judged]:
        """look(derive(models, statistic outside the fold), rows of the fold), an array a model."""
        if isinstance(self.source, TableSource):
            yield from self._by_fold_of_table(self.source, models, derive, look)
            return
        for f, training in enumerate(self.trainings()):
            rows = self.rows_of(f)
            block = take_rows(self.source.X, rows)
            for at in range(0, len(models), AT_ONCE):
                known = derive(models[at : at + AT_ONCE], training)
                yield Judged(f, rows, look(known, block), at)

    def _by_fold_of_table(
        self, source: TableSource, models: Sequence[Door], derive: Any, look: Any
    ) -> Iterator[Judged]:
        known = [derive(models, training) for training in self.trainings()]

        def judge(chunk: Chunk) -> tuple[Any, ...]:
            block = chunk.block()
            assert chunk.folds is not None
            fold_of = chunk.folds.of(chunk.rows, block)
            out: list[np.ndarray] = []
            for f in np.unique(fold_of).tolist():
                at = np.flatnonzero(fold_of == f)
                found = look(known[f], take_rows(block, at))
                out = out or [np.empty((len(chunk), *some.shape[1:])) for some in found]
                for whole, some in zip(out, found, strict=True):
                    whole[at] = some
            codes, labels = chunk.labels()
            return fold_of, labels[codes], weights_of(chunk.weights, chunk.rows), out

        parts = list(map_chunks(judge, source.folded(self.folds)))
        self.numbers, self.labels, self.weights = (
            np.concatenate([part[i] for part in parts]) for i in range(3)
        )
        self.labels = self.labels if self.given is None else self.given
        every = [np.concatenate(some) for some in zip(*(part[3] for part in parts), strict=True)]
        for f in range(self.count):
            rows = np.flatnonzero(self.numbers == f)
            yield Judged(f, rows, [found[rows] for found in every])


@dataclass(frozen=True)
class _Seen:
    """What is known without a fold: a rule for every model, and the classes they know."""

    rules: list[Rule]
    places: np.ndarray  # (classes known,) where they stand among all
    classes: int  # C

    @classmethod
    def by(
        cls,
        holdout: Holdout,
        models: Sequence[Door],
        training: Statistic,
        keep_priors: bool,
    ) -> _Seen:
        at = positions(training.axes.groups.classes, holdout.classes)
        with one_blas_thread:  # many small matrices
            rules = derive_all(models, training)
        if keep_priors:
            weight, rows = holdout.class_weight, holdout.class_rows
            present = (rows > 0) & (weight > 0)
            rules = [
                Rule(log_priors(m._priors, holdout.classes, weight, present, True)[at],
                     rule.params, rule.columns)
                for m, rule in zip(models, rules, strict=True)
            ]  # fmt: skip
        return cls(rules, at, len(holdout.classes))

    def judge(self, rows: Any) -> list[np.ndarray]:
        """(m, C) log p(k | x) by every rule; a class none of them knows is impossible."""
        found = log_posteriors(self.rules, rows)
        if len(self.places) == self.classes:
            return found
        out = []
        for log_proba in found:
            whole = np.full((len(log_proba), self.classes), -np.inf)
            whole[:, self.places] = log_proba
            out.append(whole)
        return out
