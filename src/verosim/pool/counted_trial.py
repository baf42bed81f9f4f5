"""Rows that a fitted pool has counted: their sums are subtracted before they are predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.data.labels import check_known
from verosim.engines import summarise
from verosim.models import State
from verosim.pool.experts import ExpertGroup
from verosim.pool.pool_statistic import part_of_pool
from verosim.pool.rows import PoolRows
from verosim.pool.texts import lengths_of
from verosim.pool.trial import Counted, Trial, evidence_of, predicted
from verosim.pool.weighted_pairs import cross_fitted_weights
from verosim.validate.weight_likelihood import Evidence

COUNTED_FOLDS = 5


class CountedTrial(Trial):
    """Rows that are predicted by the sums of a fitted pool, without the rows themselves."""

    def __init__(self, state: State, rows: PoolRows, seed: Any, counted: bool) -> None:
        assert state.schema is not None
        self.schema, self.left_out, self.state, self.counted = state.schema, {}, state, counted
        self.classes = state.classes
        check_known(rows.groups.classes, self.classes)
        self.rows = rows.with_classes(self.classes)
        self.codes, self.weights = self.rows.source.groups, self.rows.source.weights
        self.lengths = lengths_of(self.rows.source.X)
        n = len(self.codes)
        self._parts = np.random.default_rng(seed).permutation(n) % max(2, min(COUNTED_FOLDS, n))

    def count(self, group: ExpertGroup) -> Counted:
        total = part_of_pool(self.state.statistic, group.part)
        source = self.rows.read_as(group.reading, group.spec.reader(self.schema))
        log_p = [np.empty((len(self.codes), len(self.classes))) for _ in group.experts]
        densities: list[np.ndarray | None] = [
            np.empty(len(self.codes)) if expert.is_density else None for expert in group.experts
        ]
        evidence: list[Evidence] = []
        order = []
        for f in np.unique(self._parts):
            at = np.flatnonzero(self._parts == f)
            training = total
            if self.counted:
                training = total.without(summarise(source.take(at), total.zero()))
            order.append(at)
            plain = [expert.spec for expert in group.experts if not expert.spec.learns_in_pool]
            found = iter(predicted(plain, training, source.X[at]))
            for own, density, expert in zip(log_p, densities, group.experts, strict=True):
                if expert.spec.learns_in_pool:
                    evidence.append(evidence_of(expert, training, source.X[at]))
                else:
                    own[at], log_density = next(found)
                    if density is not None and log_density is not None:
                        density[at] = log_density
        specs = [expert.spec for expert in group.experts]
        at = np.concatenate(order)
        for e, expert in enumerate(group.experts):
            if expert.spec.learns_in_pool:
                weights, posteriors = cross_fitted_weights(
                    Evidence.joined(evidence), self.codes[at], self.row_weights[at],
                    self._parts[at],
                )  # fmt: skip
                log_p[e][at] = posteriors
                specs[e] = expert.spec.resolved({"weights": weights})
        return Counted(total, log_p, specs, densities)
