"""The fitted state of a model: a statistic, its schema, and the rule derived from them.

    derive(spec, statistic, schema) → State

The statistic is all that was learnt. The rule that predicts follows from it and from the settings,
at fit and whenever a setting changes, never at predict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from verosim.bayes.rule import Decision
from verosim.data.schema import Column, Schema
from verosim.densities import estimate_all
from verosim.models.settings import same
from verosim.models.spec import Spec
from verosim.stats import Statistic


@dataclass(frozen=True, eq=False)
class State:
    """One immutable value: everything a fitted model knows."""

    spec: Spec  # with the values chosen for its open settings
    statistic: Statistic
    schema: Schema | None  # None if the rows came as an array
    rule: Any  # a Decision; a Rule where the model has densities
    tuned: Mapping[str, Any] = field(default_factory=dict)  # what was chosen for "cv" settings

    @property
    def params(self) -> Any:
        """The parameters that the statistic and the settings give."""
        return self.rule.params

    def rules(self) -> list[Decision]:
        """The rule, where a list of them is asked for."""
        return [self.rule]

    @property
    def current(self) -> Statistic:
        """The statistic as the settings read it."""
        return self.spec.view(self.statistic)

    @property
    def classes(self) -> np.ndarray:
        """(C,) the labels."""
        return self.statistic.axes.groups.classes

    @property
    def class_weight(self) -> np.ndarray:
        """(C,) the weight of every class."""
        weight: np.ndarray = self.statistic.weight[:, 0]
        return weight

    @property
    def columns_in(self) -> tuple[Column, ...]:
        """The columns of the table that X must have; all of them where y came beside it."""
        assert self.schema is not None
        return self.schema.columns if self.schema.target is None else self.schema.used

    @property
    def names_in(self) -> tuple[str, ...] | None:
        """The names of the columns of X; None where it had none."""
        if self.schema is None:
            return self.statistic.axes.columns.names
        return tuple(c.name for c in self.columns_in) if self.schema.named else None

    @property
    def width(self) -> int:
        """How many columns X has."""
        return len(self.statistic.axes.columns if self.schema is None else self.columns_in)

    def stale(self, spec: Spec) -> list[str]:
        """The settings of the spec that change what is counted, and differ from those used."""
        wanted, used = spec.statistic_settings, self.spec.statistic_settings
        return [name for name, value in used.items() if not same(value, wanted[name])]


def derive(
    spec: Spec,
    statistic: Statistic,
    schema: Schema | None = None,
    tuned: Mapping[str, Any] | None = None,
    streaming: bool = False,
) -> State:
    """The state that a statistic gives under these settings.

    With `streaming`, classes may come and go: priors given to absent classes are shared out.
    """
    tuned = {} if tuned is None else tuned
    spec = spec.resolved(tuned)
    seen = spec.view(statistic)
    rule = spec.rule(spec.estimate(seen), seen, streaming)
    return State(spec, statistic, schema, rule, tuned)


def derive_rules(specs: Sequence[Spec], statistic: Statistic) -> list[Decision]:
    """The rules of several settings from one statistic; what they share is worked out once."""
    seen = specs[0].view(statistic)  # specs that share a statistic view it alike
    estimates = estimate_all([spec.density for spec in specs], seen)
    return [
        spec.rule(params, seen, streaming=True)
        for spec, params in zip(specs, estimates, strict=True)
    ]
