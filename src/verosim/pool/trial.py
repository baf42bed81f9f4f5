"""A trial: experts predict rows that they were not fitted on, and count all rows.

A choice that has seen the labels of a held-out row, such as bins and parents, would make its
predictions look better than those of new rows. Everything that uses labels is therefore chosen from
other rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from verosim.axes import Axes, Groups
from verosim.bayes.rule import Rule, spread
from verosim.bayes.stacked import log_posteriors
from verosim.data.labels import positions
from verosim.data.same_rows import reason_to_leave_out
from verosim.data.schema import Schema
from verosim.errors import VerosimError
from verosim.models import Spec, derive_rules
from verosim.models.structure import CellRows
from verosim.pool.experts import AS_CELLS, Expert, ExpertGroup, is_pool_density
from verosim.pool.rows import PoolRows, Reading
from verosim.stats import Statistic
from verosim.validate.weight_likelihood import Evidence

MOST_NUMBERS = 1 << 26  # of one statistic with all its folds


class Counted(NamedTuple):
    """What experts with one statistic have counted and predicted."""

    statistic: Statistic  # of all rows
    log_p: list[np.ndarray]  # for each expert, (m, C) log-posteriors of the held-out rows
    specs: list[Spec]  # the settings of each expert, with the weights that were learned
    log_density: list[np.ndarray | None]  # for each density (m,) log p(x) of the held-out rows


class Predicted(NamedTuple):
    """What one expert predicts for held-out rows."""

    log_p: np.ndarray  # (m, C) log p(k | x) over all classes
    log_density: np.ndarray | None  # (m,) log p(x), if the pool can use it as a density

    @classmethod
    def joined(cls, parts: Sequence[Predicted]) -> Predicted:
        """The predictions of several folds, one after the other."""
        densities = [part.log_density for part in parts if part.log_density is not None]
        every = len(densities) == len(parts)
        return cls(
            np.concatenate([part.log_p for part in parts]),
            np.concatenate(densities) if every else None,
        )


class Trial(ABC):
    """Held-out rows and their labels. `count` lets experts predict them."""

    schema: Schema  # with everything that the experts have chosen
    left_out: dict[str, str]  # experts that cannot be used, with the reason
    classes: np.ndarray  # (C,)
    codes: np.ndarray  # (m,) class numbers of the held-out rows
    lengths: dict[str, np.ndarray | None]  # by reading, (m,) log m of texts; None if no texts
    weights: np.ndarray  # (m,), empty if all are 1

    @abstractmethod
    def count(self, group: ExpertGroup) -> Counted:
        """The statistic that these experts share, and their predictions of the held-out rows."""

    def log_lengths(self, experts: Sequence[Expert]) -> list[np.ndarray | None]:
        """For each expert (m,) log of the lengths of the held-out texts, or None if it reads
        none."""
        return [self.lengths.get(expert.reading) for expert in experts]

    @property
    def row_weights(self) -> np.ndarray:
        """(m,) the weights of the held-out rows."""
        return self.weights if len(self.weights) else np.ones(len(self.codes))


# Choosing and fitting ----------------------------------------------------------------------------


def choose_by_labels(
    groups: Sequence[ExpertGroup], schema: Schema, rows: PoolRows
) -> tuple[Schema, dict[str, str]]:
    """The schema with what the experts choose by labels, and the experts that cannot be used."""
    left_out: dict[str, str] = {}
    some = [group.spec for group in groups if group.reading == AS_CELLS]
    if not some:
        return schema, left_out
    reader = some[0].reader(schema)
    source, axes = rows.read_as(AS_CELLS, reader), Axes(rows.groups, reader.columns)
    cells = CellRows(schema.cells, source, axes)
    cells.count_pairs(spec.bins for spec in some if spec.parents is not None)
    for group in (group for group in groups if group.reading == AS_CELLS):
        try:
            schema = group.spec.choose(schema, cells)
        except VerosimError as error:
            left_out |= dict.fromkeys(group.names, reason_to_leave_out(error))
    return schema, left_out


def plan_of(group: ExpertGroup, schema: Schema, classes: Groups, folds: int = 1) -> Statistic:
    """The zero statistic of some experts, if it is not too large for so many folds."""
    reader = group.spec.reader(schema)
    plan: Statistic = group.spec.plan(Axes(classes, reader.columns), Reading(reader))
    if plan.size * folds > MOST_NUMBERS:
        raise VerosimError(
            f"Its sums of {len(classes.classes)} classes and {folds} parts of the rows need "
            f"{plan.size * folds:,} numbers, and at most {MOST_NUMBERS:,} are allowed."
        )
    return plan


def least_count(specs: Iterable[Spec]) -> float:
    """The count below which all of these experts ignore a code."""
    return min(spec.least_count for spec in specs)


def predicted(specs: Sequence[Spec], training: Statistic, block: Any) -> list[Predicted]:
    """For each expert with this statistic, its predictions of held-out rows.

    They are over all classes of the statistic. Everything that the experts share is done once.
    """
    if not specs:
        return []
    every = training.axes.groups.classes
    seen = training
    if not any(spec.needs_rows for spec in specs):
        seen = training.lean(least_count(specs)).prune()
    rules = derive_rules(specs, seen, quiet=True)
    places = positions(seen.axes.groups.classes, every)
    return [
        Predicted(
            spread(log_p, places, len(every)),
            rule.evidence(block) if isinstance(rule, Rule) and is_pool_density(spec) else None,
        )
        for spec, rule, log_p in zip(specs, rules, log_posteriors(rules, block), strict=True)
    ]


def evidence_of(expert: Expert, training: Statistic, block: Any) -> Evidence:
    """The evidence of held-out rows for an expert with weights."""
    found: Evidence = expert.spec.estimate(training).evidence(block)
    return found
