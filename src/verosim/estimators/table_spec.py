"""The settings of naive Bayes for tables.

This file does not need scikit-learn, so a model file can be used for predictions without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verosim import kinds
from verosim.arguments import finite, one_of, whole
from verosim.axes import Axes
from verosim.cached import cached_property
from verosim.data.schema import Schema
from verosim.data.schema_columns import SET_BY_USER
from verosim.data.tables import Table
from verosim.densities import ProductDensity
from verosim.errors import listed
from verosim.kinds.density_choice import NUMBER_KINDS
from verosim.kinds.look import check_same_kinds, full_look
from verosim.models import Spec
from verosim.stats import Product


@dataclass(frozen=True, eq=False, kw_only=True)
class TableSpec(Spec):
    """The settings of a model of independent columns of any kind."""

    columns: Any = "auto"
    alpha: Any = 1.0
    covariance: str = "mle"
    missing: str = "skip"
    max_categories: int = 1000
    floor: float = 1e-9
    never: float = 0.0

    reads_values = True
    reads_only_tables = True
    may_wait = True

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {
            "columns": self.columns, "missing": self.missing,
            "max_categories": self.max_categories,
        }  # fmt: skip

    def look(self, table: Table, target: str | None, **given: Any) -> Schema:
        whole("max_categories", self.max_categories, least=1)
        most = int(self.max_categories)
        return full_look(table, target, columns=self.columns, max_categories=most, **given)

    def fixed_by_first_rows(self, schema: Schema) -> str:
        numbers = [c.name for c in schema.of(*NUMBER_KINDS) if c.reason != SET_BY_USER]
        return f"the kinds of the columns {listed(numbers)}" if numbers else ""

    def reader(self, schema: Schema) -> kinds.MixedReader:
        one_of("missing", self.missing, ("skip", "category"))
        check_same_kinds(schema, self.columns)
        return kinds.MixedReader(schema, gaps=self.missing == "category")

    def plan(self, axes: Axes, source: Any) -> Product:
        return kinds.plan(source.reader, axes.groups)

    @cached_property
    def density(self) -> ProductDensity:
        return self.column_densities()

    def column_densities(self) -> ProductDensity:
        """The density of each kind of column, after a check of the settings."""
        settings = kinds.Settings(
            self.pseudo_count(), self.covariance, self.floor, float(self.never)
        )
        finite("floor", self.floor, least=0)
        finite("never", self.never, least=0, most=1)
        one_of("covariance", self.covariance, ("mle", "unbiased"))
        return kinds.density(settings)
