"""Naive Bayes that also counts pairs of columns, for a calibration that uses them.

The density and the predictions are those of `NaiveBayes`. The counts of pairs are one more part of
its statistic, so they are added, subtracted and put into folds with the other sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from verosim import kinds
from verosim.axes import Axes
from verosim.cached import cached_property
from verosim.data.schema import Schema
from verosim.data.sources import CELLS_PART
from verosim.densities.interactions import PairedDensity
from verosim.estimators.table import NaiveBayes
from verosim.estimators.table_spec import TableSpec
from verosim.kinds.cell_look import with_cells
from verosim.kinds.cell_reader import CellReader
from verosim.kinds.paired_reader import PairedReader
from verosim.kinds.text import TEXT
from verosim.models.structure import CellRows, cell_codes
from verosim.stats import Pairs, Product

if TYPE_CHECKING:
    from verosim.kinds.first_rows import FirstRows
    from verosim.typing import ClassWeight, Priors

STRUCTURE = "pairs"  # the bins of the pairs, among the structures of a schema


@dataclass(frozen=True, eq=False, kw_only=True)
class PairedSpec(TableSpec):
    """The settings of naive Bayes, and the largest number of pairs."""

    pairs: int = 60

    may_wait = False  # the weights of pairs are estimated at fit

    def look_closer(self, schema: Schema, first: FirstRows) -> Schema:
        schema = super().look_closer(schema, first)
        if schema.cells or len(schema.of(TEXT.name)) == len(schema.used):
            return schema
        return with_cells(schema, first)

    def choose(self, schema: Schema, rows: Any) -> Schema:
        schema = super().choose(schema, rows)
        if STRUCTURE in dict(schema.structures) or len(schema.of(TEXT.name)) == len(schema.used):
            return schema
        source = rows.read_as("cells", CellReader(schema))
        found = CellRows.of_table(schema.cells, source).bins_for_pairs()
        return replace(schema, structures=(*schema.structures, (STRUCTURE, found)))

    def reader(self, schema: Schema) -> kinds.MixedReader:
        plain = super().reader(schema)
        return PairedReader(schema, plain.gaps) if schema.cells else plain

    def plan(self, axes: Axes, source: Any) -> Product:
        plain, schema = super().plan(axes, source), source.reader.schema
        if not schema.cells:
            return plain
        codes = cell_codes(schema.cells, dict(schema.structures)[STRUCTURE].bins)
        pairs = Pairs(Axes(axes.groups, CellReader(schema).columns, codes))
        return Product({**plain.parts, CELLS_PART: pairs}, plain.kinds)

    @cached_property
    def density(self) -> PairedDensity:
        return PairedDensity(self.column_densities().parts, self.pairs)

    @property
    def family(self) -> str:
        return STRUCTURE


class PairedNaiveBayes(NaiveBayes):
    """Naive Bayes that also counts pairs of columns."""

    def __init__(
        self,
        columns: Any = "auto",
        alpha: Any = 1.0,
        priors: Priors = None,
        covariance: Any = "mle",
        missing: Any = "skip",
        max_categories: int = 1000,
        floor: float = 1e-9,
        never: float = 0.0,
        class_weight: ClassWeight = None,
        pairs: int = 60,
    ) -> None:
        super().__init__(
            columns, alpha, priors, covariance, missing, max_categories, floor, never, class_weight
        )
        self.pairs = pairs

    @classmethod
    def of(cls, model: NaiveBayes, pairs: int) -> Self:
        """The same model with counts of pairs."""
        return cls(**model.get_params(deep=False), pairs=pairs)

    def spec(self) -> PairedSpec:
        return PairedSpec(**{**self.settings(PairedSpec), "name": NaiveBayes.__name__})
