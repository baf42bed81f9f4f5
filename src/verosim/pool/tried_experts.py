"""Experts with their predictions of held-out rows, and the weights that these give.

Experts are tried one group after the other, until the time is over or the user interrupts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import logsumexp

from verosim.data.same_rows import reason_to_leave_out
from verosim.engines import one_blas_thread
from verosim.errors import VerosimError
from verosim.folds.log_densities import LogDensities
from verosim.folds.scores import LOG_LOSS
from verosim.pool.experts import Expert, ExpertGroup
from verosim.pool.mixing import ExpertScore, HeldOutFeatures, Mixing
from verosim.pool.params import density_weights
from verosim.pool.pool_statistic import PartKey, pool_statistic
from verosim.pool.result import Candidate, Candidates
from verosim.pool.spec import PoolSpec
from verosim.pool.trial import Trial
from verosim.stats import Product, Statistic

ALMOST_ZERO = 0.002  # log-loss in nats


@dataclass(eq=False)
class TriedExperts:
    """Experts with their predictions of held-out rows, and the statistic of all rows."""

    trial: Trial
    experts: list[Expert] = field(default_factory=list)
    log_p: list[np.ndarray] = field(default_factory=list)  # for each expert, (m, C)
    log_density: dict[str, np.ndarray] = field(default_factory=dict)  # (m,) of each density
    seconds: dict[str, float] = field(default_factory=dict)  # by the name of the expert
    left_out: dict[str, str] = field(default_factory=dict)  # reasons by name
    parts: dict[PartKey, Statistic] = field(default_factory=dict)
    complete: bool = True

    def count(self, group: ExpertGroup) -> None:
        """Let some experts predict the held-out rows, and count all rows."""
        start = time.perf_counter()
        counted = self.trial.count(group)
        took = (time.perf_counter() - start) / len(group.experts)
        self.parts[group.part] = counted.statistic
        self.log_p += counted.log_p
        for expert, found in zip(group.experts, counted.log_density, strict=True):
            if found is not None:
                self.log_density[expert.name] = found
        for expert, spec in zip(group.experts, counted.specs, strict=True):
            known = spec.resolved({"classes": self.trial.classes})
            self.experts.append(replace(expert, spec=known))
            self.seconds[expert.name] = took

    @property
    def loss(self) -> float:
        """The smallest log-loss of an expert, before its temperature."""
        codes, weights = self.trial.codes, self.trial.row_weights
        rows = np.arange(len(codes))
        return min(
            (-float(weights @ log_p[rows, codes]) / weights.sum() for log_p in self.log_p),
            default=np.inf,
        )

    def size(self, expert: Expert) -> int:
        """The bytes of the statistic of an expert, divided among those that share it."""
        users = sum(other.statistic == expert.statistic for other in self.experts)
        return 8 * self.parts[expert.part].size // users

    def statistic(self, members: Sequence[Expert]) -> Product:
        """The statistic of some experts."""
        return pool_statistic({expert.part: self.parts[expert.part] for expert in members})


def try_experts(
    tried: TriedExperts,
    every: Sequence[ExpertGroup],
    until: float | None = None,
    chosen: bool = False,
) -> None:
    """Let the experts predict held-out rows, until the time is over or the user interrupts.

    If verosim has `chosen` the experts, those that cannot improve the others are left out.
    """
    for group in every:
        if not group.experts:
            continue
        if until is not None and tried.experts and time.perf_counter() > until:
            tried.left_out |= dict.fromkeys(group.names, "The time limit was reached.")
            continue
        if chosen and tried.loss < ALMOST_ZERO:
            tried.left_out |= dict.fromkeys(group.names, "Other experts make almost no errors.")
            continue
        try:
            tried.count(group)
        except VerosimError as error:
            tried.left_out |= dict.fromkeys(group.names, reason_to_leave_out(error))
        except KeyboardInterrupt:
            if not tried.experts:
                raise
            tried.complete = False
            rest = [name for group in every for name in group.names]
            for name in rest:
                if name not in tried.seconds:
                    tried.left_out.setdefault(name, "The fit was interrupted before this expert.")
            return
    if not tried.experts:
        raise no_expert(tried.left_out)


def learn_mixing(
    spec: PoolSpec,
    tried: TriedExperts,
    asked: Sequence[Expert],
    not_read: Mapping[str, str],
) -> tuple[Mixing, Candidates]:
    """The mixing of all experts, and the table of the scores of all that were asked for."""
    trial = tried.trial
    names = [expert.name for expert in tried.experts]
    with one_blas_thread:
        lengths = trial.log_lengths(tried.experts)
        held = HeldOutFeatures(tried.log_p, trial.codes, trial.row_weights, lengths)
        rows = float(tried.statistic(tried.experts).weight.sum())
        mixing = held.mixing(names, trial.classes, rows)
        scores, own = held.scores(), held.score()
    lines = [
        _line(expert, score, weight, tried)
        for expert, score, weight in zip(tried.experts, scores, mixing.weights, strict=True)
    ]
    lines.sort(key=lambda line: -line.weight)
    models = {expert.name: expert.model for expert in asked}
    untried = [
        Candidate(models[name], np.nan, np.nan, np.nan, why)
        for name, why in tried.left_out.items()
        if name in models
    ]
    total = Candidate(
        spec.as_model(), own.loss, own.error, own.accuracy, seconds=sum(tried.seconds.values()),
        size=sum(tried.size(expert) for expert in tried.experts),
    )  # fmt: skip
    report = Candidates([total, *lines, *untried], LOG_LOSS, tried.complete, dict(not_read))
    return mixing, report


def with_log_density(
    report: Candidates, tried: TriedExperts, members: Sequence[Expert], mixing: Mixing
) -> Candidates:
    """The table with the mean and the deviation of log p(x) of the held-out rows by the pool."""
    some = [expert for expert in members if expert.name in tried.log_density]
    if not some:
        return report
    weights = density_weights(some, mixing)
    each = np.stack([tried.log_density[expert.name] for expert in some], axis=1)  # (m, M)
    found = LogDensities.of(logsumexp(each, axis=1, b=weights), tried.trial.row_weights)
    total, *rest = report.rows
    total = replace(total, log_density=found.mean_and_deviation)
    return replace(report, rows=[total, *rest])


def _line(expert: Expert, score: ExpertScore, weight: float, tried: TriedExperts) -> Candidate:
    return Candidate(
        expert.model, *score, weight=float(weight), seconds=tried.seconds[expert.name],
        size=tried.size(expert), needs_all_rows=not expert.spec.allows_updates,
    )  # fmt: skip


def no_expert(left_out: Mapping[str, str]) -> VerosimError:
    """The error for a table to which no expert can be fitted."""
    name, why = next(iter(left_out.items()))
    return VerosimError(
        f"No expert can be fitted to these rows; {name}: {why}",
        "Change the table, or give other models as experts.",
    )
