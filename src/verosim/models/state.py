"""The fitted state of a model: a statistic, its schema, and the decision rule.

    derive(spec, statistic, schema) → State

The model learns only the statistic. The decision rule follows from the statistic and the settings.
It is computed at fit and when a setting changes. If nothing can be wrong with it, it is computed
when it is first used, so that a stream of small updates computes only the sums. The table of the
scores of tokens is always made when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any

import numpy as np

from verosim.axes import CappedCategories
from verosim.bayes.rule import Decision
from verosim.cached import cached_property
from verosim.data.schema import Schema, over_cap_only
from verosim.data.schema_columns import Column
from verosim.densities import estimate_all
from verosim.models.settings import equal_positions, same
from verosim.models.spec import Spec
from verosim.stats import Statistic

UNCHANGING = {type(None), bool, int, float, str}  # values of these types never change


@dataclass(frozen=True, eq=False)
class State:
    """The complete state of a fitted model, as one immutable value."""

    spec: Spec  # with the values that were chosen for "cv"
    statistic: Statistic
    schema: Schema | None  # None if the rows were given as an array
    made: Any  # the rule, or None if it is computed when it is first used
    # The values that were chosen for "cv", and fitted values that are not functions of sums.
    tuned: Mapping[str, Any] = field(default_factory=dict)
    streaming: bool = False  # whether classes may have no rows

    @cached_property
    def rule(self) -> Any:
        """The decision rule: a Decision, or a Rule if the model has densities."""
        if self.made is not None:
            return self.made
        seen = self.spec.with_class_weights(self.current, self.streaming)
        return self.spec.rule(self.spec.estimate(seen), seen, self.streaming)

    @cached_property
    def reader(self) -> Any:
        """The reader of a table like that of the fit. Nothing watches what it reads."""
        assert self.schema is not None
        return self.spec.reader(self.schema)

    @property
    def params(self) -> Any:
        """The estimated parameters."""
        return self.rule.params

    def rules(self) -> list[Decision]:
        """The rule as a list, for functions that work with several rules."""
        return [self.rule]

    @property
    def current(self) -> Statistic:
        """The statistic in the form that the settings need."""
        return self.spec.view(self.statistic)

    @property
    def classes(self) -> np.ndarray:
        """(C,) the class labels."""
        return self.statistic.axes.groups.classes

    @property
    def class_weight(self) -> np.ndarray:
        """(C,) the total weight of each class."""
        weight: np.ndarray = self.statistic.weight[:, 0]
        return weight

    @property
    def columns_in(self) -> tuple[Column, ...]:
        """The columns that X must have: all of the table if the labels were given as an array."""
        assert self.schema is not None
        return self.schema.columns if self.schema.target is None else self.schema.used

    @property
    def names_in(self) -> tuple[str, ...] | None:
        """The names of the columns of X, or None if X had no names."""
        if self.schema is None:
            return self.statistic.axes.columns.names
        return tuple(c.name for c in self.columns_in) if self.schema.named else None

    @property
    def width(self) -> int:
        """The number of columns of X."""
        return len(self.statistic.axes.columns if self.schema is None else self.columns_in)

    def was_checked_for(self, settings: tuple[Any, ...]) -> bool:
        """Whether `note_checked` was called with exactly these settings."""
        known = vars(self).get("checked_for", ())
        return len(known) == len(settings) > 0 and all(map(is_, known, settings))

    def note_checked(self, settings: tuple[Any, ...]) -> None:
        """Remember settings that fit the statistic, so that no prediction compares them again."""
        if all(type(value) in UNCHANGING for value in settings):
            vars(self)["checked_for"] = settings

    def __getstate__(self) -> dict[str, Any]:
        dropped = ("checked_for", "reader")
        return {name: value for name, value in vars(self).items() if name not in dropped}

    def stale(self, spec: Spec) -> list[str]:
        """The settings that change the statistic and have changed since the rows were read."""
        wanted, used = spec.statistic_settings, self.spec.statistic_settings
        return [name for name, value in used.items() if not same(value, wanted[name])]


def derive(
    spec: Spec,
    statistic: Statistic,
    schema: Schema | None = None,
    tuned: Mapping[str, Any] | None = None,
    streaming: bool = False,
    quiet: bool = False,
) -> State:
    """The state for a statistic and these settings.

    With `streaming`, classes may appear and disappear. The given priors of classes without rows
    are then divided among the other classes. With `quiet`, singular covariances give no warning.
    """
    tuned = {} if tuned is None else tuned
    spec = spec.resolved(tuned)
    seen = spec.with_class_weights(spec.view(statistic), streaming)
    rule = None
    if not spec.estimates_later(seen, streaming):
        params = spec.estimate_quietly(seen) if quiet else spec.estimate(seen)
        rule = spec.rule(params, seen, streaming)
    schema = None if schema is None else over_cap_only(schema, _overflown(statistic))
    return State(spec, statistic, schema, rule, tuned, streaming)


def _overflown(statistic: Statistic) -> dict[str, tuple[int, ...]]:
    """The category columns with too many values, and the hashes of those that are kept first."""
    found: dict[str, tuple[int, ...]] = {}
    for leaf in statistic.leaves():
        if isinstance(leaf.axes.codes, CappedCategories):
            found |= leaf.axes.codes.overflown(leaf.axes.columns)
    return found


def derive_rules(
    specs: Sequence[Spec], statistic: Statistic, quiet: bool = False
) -> list[Decision]:
    """The rules of several specs from one statistic. Shared work is done once.

    With `quiet`, singular covariances give no warning.
    """
    seen = specs[0].view(statistic)  # specs that share a statistic use the same form
    rules: dict[int, Decision] = {}
    for at in equal_positions(spec.class_weight for spec in specs):
        weighted = specs[at[0]].with_class_weights(seen, streaming=True)
        estimates = estimate_all([specs[i].density for i in at], weighted, quiet)
        for i, params in zip(at, estimates, strict=True):
            rules[i] = specs[i].rule(params, weighted, streaming=True)
    return [rules[i] for i in range(len(specs))]
