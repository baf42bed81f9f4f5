"""Folds of few rows: each row is held out once.

Bins and parents are chosen again outside each fold. Sums that do not depend on such a choice are
counted once for all folds, and the rows of a fold are subtracted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from verosim.data import ArraySource
from verosim.data.schema import Schema
from verosim.engines import summarise
from verosim.errors import VerosimError
from verosim.models import Spec
from verosim.pool.experts import AS_CELLS, Expert, ExpertGroup
from verosim.pool.rows import PoolRows
from verosim.pool.texts import lengths_of
from verosim.pool.trial import Counted, Trial, choose_by_labels, evidence_of, plan_of, predicted
from verosim.pool.weighted_pairs import learned_weights
from verosim.stats import Statistic
from verosim.stats.statistic import sums_of_others
from verosim.stats.term_rows import TermRows
from verosim.validate.weight_likelihood import Evidence

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
        assert isinstance(rows.source, ArraySource)
        self.classes = rows.groups.classes
        every = max(1, -(-len(numbers) // most))
        self.held = [np.flatnonzero(numbers == f)[::every] for f in range(count)]
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
        return [choose_by_labels(used, self.described, rest) for rest in self._rest]

    def count(self, group: ExpertGroup) -> Counted:
        source = self.rows.read_as(group.reading, group.spec.reader(self.schema))
        assert isinstance(source, ArraySource)
        many = 1 if group.spec.chooses_by_labels else self.count_of_folds
        plan = plan_of(group, self.schema, self.rows.groups, many)
        if group.spec.chooses_by_labels:
            refits = [self._refitted(group, f) for f in self._folds]
            return self._predicted(group, summarise(source, plan), refits, source)
        if isinstance(source.X, TermRows):
            total = summarise(source, plan)
            return self._predicted(group, total, self._outside(group, source, total), source)
        folded = summarise(
            source.folded(self.numbers, self.count_of_folds), plan.folded(self.count_of_folds)
        )
        each = [folded.fold(f) for f in self._folds]
        return self._predicted(
            group, folded.total("fold"), list(sums_of_others(each)), source, each
        )

    def _outside(
        self, group: ExpertGroup, source: ArraySource, total: Statistic
    ) -> Iterator[Statistic]:
        """For each fold, the statistic of the other texts, one at a time.

        Terms are very many, and sums for all folds at once would need much memory.
        """
        if not total.grows:
            for f in self._folds:
                yield total - summarise(
                    source.take(np.flatnonzero(self.numbers == f)), total.zero()
                )
            return
        few = replace(source, X=source.X.limited(group.spec.tokenizer, group.spec.least_count))
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
        trainings: Iterable[Statistic],
        source: ArraySource,
        each: Sequence[Statistic] = (),
    ) -> Counted:
        blocks = [source.X[at] for at in self.held]
        learn = [expert for expert in group.experts if expert.spec.learns_in_pool]
        trainings = list(trainings) if learn else trainings
        found: dict[str, list[np.ndarray]] = {expert.name: [] for expert in group.experts}
        for f, training in enumerate(trainings):
            for expert in group.experts:
                if not expert.spec.learns_in_pool:
                    rows = self._training_rows(expert, source, f)
                    found[expert.name].append(predicted(expert, training, rows, blocks[f]))
        specs = {expert.name: expert.spec for expert in group.experts}
        for expert in group.experts:
            if expert.spec.learns_in_pool:
                assert isinstance(trainings, list)
                specs[expert.name], own = self._weighted(expert, trainings, each, blocks)
                found[expert.name].append(own)
            elif expert.spec.needs_rows:
                more = expert.spec.found_in_rows(source, total)
                specs[expert.name] = expert.spec.resolved(more)
        return Counted(total, [np.concatenate(own) for own in found.values()], list(specs.values()))

    def _training_rows(self, expert: Expert, source: ArraySource, f: int) -> Any:
        """The rows outside a fold, for experts that need more than their sums."""
        if not expert.spec.needs_rows:
            return None
        return source.take(np.flatnonzero(self.numbers != f))

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
        evidence = [
            evidence_of(expert, training, block)
            for training, block in zip(trainings, blocks, strict=True)
        ]
        bounds = np.cumsum([0, *map(len, blocks)])
        rows = [slice(a, b) for a, b in pairwise(bounds.tolist())]
        v, own = self.row_weights, []
        for f in self._folds:
            others = [g for g in self._folds if g != f]
            inner = evidence[:f] + evidence[f + 1 :]
            if len(others) > 1 and len(self.numbers) < ROWS_TO_NEST:
                rest = sums_of_others([each[g] for g in others])
                inner = [
                    evidence_of(expert, training, blocks[g])
                    for g, training in zip(others, rest, strict=True)
                ]
            codes = np.concatenate([self.codes[rows[g]] for g in others])
            weight = np.concatenate([v[rows[g]] for g in others])
            own.append(learned_weights(Evidence.joined(inner), codes, weight)(evidence[f]))
        weights = learned_weights(Evidence.joined(evidence), self.codes, v)
        return expert.spec.resolved({"weights": weights}), np.concatenate(own)
