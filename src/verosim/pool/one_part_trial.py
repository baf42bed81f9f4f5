"""One part of many rows is held out, and everything is counted once.

    sums of all rows = sums of the rest + sums of the held-out part

The experts learn from the rest and predict the held-out part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.cached import cached_property
from verosim.data.clusters import NeedsAllRows, check_is_here
from verosim.data.schema import Schema
from verosim.engines import summarise
from verosim.errors import VerosimError
from verosim.pool.experts import ExpertGroup
from verosim.pool.pool_statistic import part_of_pool, pool_statistic
from verosim.pool.rows import PoolReader, PoolRows
from verosim.pool.texts import lengths_of
from verosim.pool.trial import Counted, Trial, choose_by_labels, evidence_of, plan_of, predicted
from verosim.pool.weighted_pairs import cross_fitted_weights
from verosim.stats import Statistic

WEIGHT_PARTS = 3  # of the held-out rows, each predicted by weights of the others


class OnePartTrial(Trial):
    """One part of the rows is held out, and the experts learn from all others."""

    def __init__(
        self,
        groups: Sequence[ExpertGroup],
        schema: Schema,
        rest: PoolRows,
        held: PoolRows,
        seed: Any,
    ) -> None:
        self.schema, self.left_out = choose_by_labels(groups, schema, rest)
        self.left_out |= _without_rows(groups, rest)
        self.groups, self.rest, self.held = groups, rest, held
        self.codes, self.weights = held.source.groups, held.source.weights
        self.lengths = lengths_of(held.source.X)
        self.classes = held.groups.classes
        self._parts = np.random.default_rng(seed).permutation(len(self.codes)) % WEIGHT_PARTS

    def count(self, group: ExpertGroup) -> Counted:
        reader = group.spec.reader(self.schema)
        rest: Any = self.rest.read_as(group.reading, reader)
        held: Any = self.held.read_as(group.reading, reader)
        plan = plan_of(group, self.schema, self.held.groups)
        if rest.takes_rows:
            training = summarise(rest, plan)
        else:
            training = part_of_pool(self._streamed, group.part)
        specs = [
            expert.spec.resolved(expert.spec.found_in_rows(rest, training))
            if expert.spec.needs_rows
            else expert.spec
            for expert in group.experts
        ]
        plain = [spec for spec in specs if not spec.learns_in_pool]
        found = iter(predicted(plain, training, held.X))
        log_p: list[np.ndarray] = []
        densities: list[np.ndarray | None] = []
        for e, expert in enumerate(group.experts):
            if expert.spec.learns_in_pool:
                weights, own = cross_fitted_weights(
                    evidence_of(expert, training, held.X), self.codes, self.row_weights, self._parts
                )
                specs[e] = expert.spec.resolved({"weights": weights})
                density = None
            else:
                own, density = next(found)
            log_p.append(own)
            densities.append(density)
        return Counted(training + summarise(held, plan), log_p, specs, densities)

    @cached_property
    def _streamed(self) -> Statistic:
        """The statistics of all experts, from one pass over a file or a cluster."""
        plans, readers = {}, {}
        for group in self.groups:
            if not set(group.names) <= set(self.left_out):
                try:
                    plans[group.part] = plan_of(group, self.schema, self.held.groups)
                except VerosimError:
                    continue  # `count` gives the reason
                readers[group.reading] = group.spec.reader(self.schema)
        source = replace(self.rest.source, reader=PoolReader(self.schema, readers))
        return summarise(source, pool_statistic(plans))


def _without_rows(groups: Sequence[ExpertGroup], rest: PoolRows) -> dict[str, str]:
    """The experts that need the rows themselves, which are not in memory, with the reason."""
    if rest.source.takes_rows:
        return {}
    why = "{} needs all rows in memory, and the table is too large."
    try:
        check_is_here(rest.source, "{}")
    except NeedsAllRows as error:
        why = error.what
    every = (expert for group in groups for expert in group.experts)
    return {expert.name: why.format(expert.name) for expert in every if expert.spec.needs_rows}
