"""One part of many rows is held out, and everything is counted once.

sums of all rows = sums of the rest + sums of the held-out part
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from verosim.data import ArraySource
from verosim.data.schema import Schema
from verosim.data.stream import TableSource
from verosim.engines import summarise
from verosim.errors import VerosimError
from verosim.pool.experts import ExpertGroup
from verosim.pool.rows import PoolReader, PoolRows
from verosim.pool.texts import lengths_of
from verosim.pool.trial import Counted, Trial, choose_by_labels, evidence_of, plan_of, predicted
from verosim.pool.weighted_pairs import cross_fitted_weights
from verosim.stats import Product, Several, Statistic

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
        self.groups, self.rest, self.held = groups, rest, held
        assert isinstance(held.source, ArraySource)
        self.codes, self.weights = held.source.groups, held.source.weights
        self.lengths = lengths_of(held.source.X)
        self.classes = held.groups.classes
        self._parts = np.random.default_rng(seed).permutation(len(self.codes)) % WEIGHT_PARTS

    def count(self, group: ExpertGroup) -> Counted:
        reader = group.spec.reader(self.schema)
        rest: Any = self.rest.read_as(group.reading, reader)
        held: Any = self.held.read_as(group.reading, reader)
        plan = plan_of(group, self.schema, self.held.groups)
        if isinstance(rest, TableSource):
            training = self._streamed.parts[group.reading].parts[group.name]
        else:
            training = summarise(rest, plan)
        log_p, specs = [], []
        for expert in group.experts:
            spec = expert.spec
            if spec.learns_in_pool:
                evidence = evidence_of(expert, training, held.X)
                weights, own = cross_fitted_weights(
                    evidence, self.codes, self.row_weights, self._parts
                )
                spec = spec.resolved({"weights": weights})
            else:
                if spec.needs_rows:
                    spec = spec.resolved(spec.found_in_rows(rest, training))
                own = predicted(replace(expert, spec=spec), training, None, held.X)
            log_p.append(own)
            specs.append(spec)
        return Counted(training + summarise(held, plan), log_p, specs)

    @cached_property
    def _streamed(self) -> Any:
        """The statistics of all experts, from one pass over a file."""
        parts: dict[str, dict[str, Statistic]] = {}
        readers = {}
        for group in self.groups:
            if not set(group.names) <= set(self.left_out):
                try:
                    plan = plan_of(group, self.schema, self.held.groups)
                except VerosimError:
                    continue  # `count` gives the reason
                readers[group.reading] = group.spec.reader(self.schema)
                parts.setdefault(group.reading, {})[group.name] = plan
        every = Product({reading: Several(plans) for reading, plans in parts.items()})
        assert isinstance(self.rest.source, TableSource)
        return summarise(replace(self.rest.source, reader=PoolReader(self.schema, readers)), every)
