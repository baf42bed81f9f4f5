"""Models in which every column has a few parent columns, chosen before the rows are counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verosim.arguments import finite, one_of
from verosim.axes import Axes, ContextCodes
from verosim.cached import cached_property
from verosim.densities.context_tables import ContextDensity
from verosim.estimators.coded import CodedSpec
from verosim.models import State
from verosim.stats import Contexts

SMOOTHINGS = ("backoff", "laplace")


@dataclass(frozen=True, eq=False, kw_only=True)
class ContextSpec(CodedSpec):
    """The settings of a model in which columns have parents."""

    smoothing: str = "backoff"
    m: Any = 20.0
    alpha: Any = 1.0

    def plan(self, axes: Axes, source: Any) -> Contexts:
        schema = source.reader.schema
        parents = self.structure(schema).parents or ((),) * len(schema.cells)
        return Contexts(axes.with_codes(ContextCodes(self.codes(schema), parents)))

    @cached_property
    def density(self) -> ContextDensity:
        one_of("smoothing", self.smoothing, SMOOTHINGS)
        finite("m", self.m, least=0)
        return ContextDensity(self.smoothing, float(self.m), self.pseudo_count())


def named_parents(state: State) -> dict[str, tuple[str, ...]]:
    """The names of the parents of each column, most informative first."""
    columns = state.statistic.axes.columns
    contexts: Any = state.statistic.axes.codes
    return {
        columns.name(j): tuple(columns.name(i) for i in found)
        for j, found in enumerate(contexts.parents)
    }
