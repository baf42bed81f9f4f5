"""Folds of few rows: each row is held out once.

Bins and parents are chosen again outside each fold. Sums that do not depend on such a choice are
counted once for all folds, and the rows of a fold are subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations, pairwise
from operator import add
from typing import Any, TypeVar

import numpy as np

from verosim.cached import cached_property
from verosim.data.schema import Schema
from verosim.data.sources import cells_per_row
from verosim.engines import results_of, summarise
from verosim.errors import VerosimError
from verosim.models import Spec
from verosim.pool.experts import AS_CELLS, Expert, ExpertGroup
from verosim.pool.rows import PoolRows
from verosim.pool.texts import lengths_of
from verosim.pool.trial import (
    Counted,
    Predicted,
    Trial,
    choose_by_labels,
    evidence_of,
    least_count,
    plan_of,
    predicted,
)
from verosim.pool.weighted_pairs import learned_weights
from verosim.stats import Statistic
from verosim.stats.statistic import sums_of_others
from verosim.stats.term_rows import TermRows
from verosim.validate.weight_likelihood import Evidence

T = TypeVar("T")

ROWS_TO_NEST = 5_000  # with fewer rows, weights for a fold need sums without that fold


class FoldTrial(Trial):
    """Every row is held out once, or some rows of every fold if there are more than `most`."""

    def __init__(
        self,
        groups: Sequence[ExpertGroup],
        schema: Schema,
        rows: PoolRows,
        numbers: np.ndarray,
        count: int,
        most: int,
    ) -> None:
        self.groups, self.rows, self.numbers, self.count_of_folds = groups, rows, numbers, count
        self.described = schema
        self.schema, self.left_out = choose_by_labels(groups, schema, rows)
        self.classes = rows.groups.classes
        every = max(1, -(-len(numbers) // most))
        self._members = [np.flatnonzero(numbers == f) for f in range(count)]
        self.held = [members[::every] for members in self._members]
        at = np.concatenate(self.held)
        self.codes = rows.source.groups[at]
        self.weights = rows.source.weights[at] if len(rows.source.weights) else rows.source.weights
        self.lengths = lengths_of(rows.source.X, at)

    @cached_property
    def _rest(self) -> list[PoolRows]:
        """For each fold, the other rows as cells, from which bins and parents are chosen."""
        cells = self.rows.only(AS_CELLS)
        return [cells.take(np.flatnonzero(self.numbers != f)) for f in self._folds]

    @property
    def _folds(self) -> range:
        return range(self.count_of_folds)

    @cached_property
    def _choices(self) -> list[tuple[Schema, dict[str, str]]]:
        """For each fold, the schema with what the other rows choose, and experts that cannot."""
        used = [group for group in self.groups if group.spec.chooses_by_labels]
        used = [group for group in used if not set(group.names) <= set(self.left_out)]
        return self._by_fold(lambda f: choose_by_labels(used, self.described, self._rest[f]))

    def _by_fold(self, work: Callable[[int], T]) -> list[T]:
        """work(f) for each fold."""
        return results_of(work, self.count_of_folds, self._cells)

    @cached_property
    def _cells(self) -> float:
        """The number of cells of the rows, which decides whether several threads are faster."""
        return len(self.numbers) * min(map(cells_per_row, self.rows.source.X.values()))

    def count(self, group: ExpertGroup) -> Counted:
        source = self.rows.read_as(group.reading, group.spec.reader(self.schema))
        many = 1 if group.spec.chooses_by_labels else self.count_of_folds
        plan = plan_of(group, self.schema, self.rows.groups, many)
        if group.spec.chooses_by_labels:
            _ = self._choices  # all threads make them
            refits = self._by_fold(lambda f: self._refitted(group, f))
            return self._predicted(group, summarise(source, plan), refits, source)
        if isinstance(source.X, TermRows):
            total = summarise(source, plan)
            return self._predicted(group, total, self._outside(group, source, total), source)
        for batch in source.batches():
            plan.prepare(batch)  # all folds have the same pivots
            break
        each = self._by_fold(lambda f: summarise(source.take(self._members[f]), plan))
        trainings = list(sums_of_others(each))
        return self._predicted(group, each[0] + trainings[0], trainings, source, each)

    def _outside(self, group: ExpertGroup, source: Any, total: Statistic) -> Iterator[Statistic]:
        """For each fold, the statistic of the other texts, one at a time.

        Terms are very many, and sums for all folds at once would need much memory.
        """
        if not total.grows:
            for f in self._folds:
                yield total - summarise(source.take(self._members[f]), total.zero())
            return
        least = least_count(expert.spec for expert in group.experts)
        few = replace(source, X=source.X.limited(group.spec.tokenization, least))
        for f in self._folds:
            yield summarise(few.take(np.flatnonzero(self.numbers != f)), total.unplaced())

    def _refitted(self, group: ExpertGroup, f: int) -> Statistic:
        """The statistic of the rows outside a fold, with bins and parents that they choose."""
        (schema, left_out), rest = self._choices[f], self._rest[f]
        if set(group.names) <= set(left_out):
            raise VerosimError(left_out[group.names[0]])
        plan = plan_of(group, schema, self.rows.groups)
        return summarise(rest.read_as(group.reading, group.spec.reader(schema)), plan)

    def _predicted(
        self,
        group: ExpertGroup,
        total: Statistic,
        trainings: Sequence[Statistic] | Iterator[Statistic],
        source: Any,
        each: Sequence[Statistic] = (),
    ) -> Counted:
        blocks = [source.X[at] for at in self.held]
        plain = [expert for expert in group.experts if not expert.spec.learns_in_pool]

        def predict(f: int, training: Statistic) -> list[Predicted]:
            specs = [self._without_fold(expert.spec, source, training, f) for expert in plain]
            return predicted(specs, training, blocks[f])

        if isinstance(trainings, Iterator):  # each is made with all threads
            folds = [predict(f, training) for f, training in enumerate(trainings)]
            trainings = ()
        else:
            known = trainings
            folds = self._by_fold(lambda f: predict(f, known[f]))
        found = [Predicted.joined(own) for own in zip(*folds, strict=True)]
        log_p: list[np.ndarray] = []
        densities: list[np.ndarray | None] = []
        specs = []
        for expert in group.experts:
            spec = expert.spec
            if spec.learns_in_pool:
                spec, own = self._weighted(expert, trainings, each, blocks)
                density = None
            else:
                own, density = found[plain.index(expert)]
                if spec.needs_rows:
                    spec = spec.resolved(spec.found_in_rows(source, total))
            log_p.append(own)
            densities.append(density)
            specs.append(spec)
        return Counted(total, log_p, specs, densities)

    def _without_fold(self, spec: Spec, source: Any, training: Statistic, f: int) -> Spec:
        """The settings of an expert. If it needs rows, those outside a fold complete them."""
        if not spec.needs_rows:
            return spec
        rest = source.take(np.flatnonzero(self.numbers != f))
        return spec.resolved(spec.found_in_rows(rest, training))

    def _weighted(
        self,
        expert: Expert,
        trainings: Sequence[Statistic],
        each: Sequence[Statistic],
        blocks: Sequence[np.ndarray],
    ) -> tuple[Spec, np.ndarray]:
        """An expert with weights, and (m, C) its log-posteriors of the held-out rows.

        The weights for a fold come from other folds. With few rows, the sums that predict the other
        folds are also without the fold, because its labels would have an influence on the weights.
        """
        evidence = self._by_fold(lambda f: evidence_of(expert, trainings[f], blocks[f]))
        nested = self.count_of_folds > 2 and len(self.numbers) < ROWS_TO_NEST
        inner = self._without_two(expert, each, blocks) if nested else {}
        bounds = np.cumsum([0, *map(len, blocks)])
        rows = [np.arange(a, b) for a, b in pairwise(bounds.tolist())]
        v = self.row_weights
        near = learned_weights(Evidence.joined(evidence), self.codes, v)

        def predict(f: int) -> np.ndarray:
            others = [g for g in self._folds if g != f]
            known = Evidence.joined([inner[f, g] if nested else evidence[g] for g in others])
            at = np.concatenate([rows[g] for g in others])
            return learned_weights(known, self.codes[at], v[at], near=near)[0](evidence[f])

        log_p = np.concatenate(self._by_fold(predict))
        return expert.spec.resolved({"weights": near[0]}), log_p

    def _without_two(
        self, expert: Expert, each: Sequence[Statistic], blocks: Sequence[np.ndarray]
    ) -> dict[tuple[int, int], Evidence]:
        """For two folds f and g, the evidence of the rows of g by the sums without both folds."""
        two = list(combinations(self._folds, 2))

        def find(p: int) -> tuple[Evidence, Evidence]:
            f, g = two[p]
            training = reduce(add, (each[h] for h in self._folds if h not in (f, g)))
            scores = expert.spec.estimate(training)
            return scores.evidence(blocks[g]), scores.evidence(blocks[f])

        found = results_of(find, len(two), self._cells)
        return {
            key: evidence
            for (f, g), both in zip(two, found, strict=True)
            for key, evidence in zip(((f, g), (g, f)), both, strict=True)
        }
