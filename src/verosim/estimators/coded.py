"""Models of dependent columns: how they read tables, and how they draw samples.

All of them read a table as cells, choose bins and parents before they count, and keep both in the
schema. Two models with one schema can be merged.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked, whole
from verosim.axes import CellCodes
from verosim.data.cell_columns import Structure
from verosim.data.schema import Schema
from verosim.data.tables import Table
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.checks import generator
from verosim.kinds.cell_look import with_cells
from verosim.kinds.cell_reader import CellReader
from verosim.kinds.cell_sampling import table_of_cells
from verosim.kinds.first_rows import FirstRows
from verosim.kinds.look import check_same_kinds, full_look
from verosim.models import Spec
from verosim.models.spec import LabelledTable
from verosim.models.structure import (
    AUTO,
    MDL,
    CellRows,
    ChooseParents,
    cell_codes,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.typing import RandomState

MOST_BINS = 240


@dataclass(frozen=True, eq=False, kw_only=True)
class CodedSpec(Spec):
    """The settings of a model of codes: bins of numbers, and categories."""

    columns: Any = "auto"
    bins: Any = AUTO

    reads_values = True
    reads_only_tables = True

    @property
    def structure_key(self) -> str:
        """The settings on which bins and parents depend."""
        return f"bins={self.bins if isinstance(self.bins, str) else int(self.bins)}"

    @property
    def parents(self) -> ChooseParents | None:
        """How the parents of every column are chosen; None if the model chooses no parents."""
        return None

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {"columns": self.columns, "bins": self.bins}

    def check_bins(self) -> None:
        """Raise an error unless `bins` is a number, "mdl" or "auto"."""
        if isinstance(self.bins, str) and self.bins not in (AUTO, MDL):
            raise VerosimError(
                f"bins must be a whole number, {MDL!r} or {AUTO!r}; got {self.bins!r}.",
                "Use bins=12.",
            )
        if not isinstance(self.bins, str):
            whole("bins", self.bins, 2, MOST_BINS)

    def look(self, table: Table, target: str | None, **given: Any) -> Schema:
        return full_look(table, target, columns=self.columns, **given)

    @property
    def reading(self) -> str:
        return "cells"

    @property
    def chooses_by_labels(self) -> bool:
        return self.parents is not None or isinstance(self.bins, str)

    def look_closer(self, schema: Schema, first: FirstRows) -> Schema:
        self.check_bins()
        return schema if schema.cells else with_cells(schema, first)

    def settled(self, schema: Schema, rows: LabelledTable) -> Schema:
        check_same_kinds(schema, self.columns)
        return super().settled(schema, rows)

    def choose(self, schema: Schema, rows: Any) -> Schema:
        if self.structure_key in dict(schema.structures):
            return schema
        if not isinstance(rows, CellRows):  # several models share the counts of cells
            rows = CellRows.of_table(schema.cells, rows.as_cells(CellReader(schema)))
        found = rows.structure(self.bins, self.parents)
        return replace(schema, structures=(*schema.structures, (self.structure_key, found)))

    def reader(self, schema: Schema) -> CellReader:
        return CellReader(schema)

    def columns_read(self, schema: Schema) -> set[str]:
        return {name for column in schema.cells for name in column.columns}

    def structure(self, schema: Schema) -> Structure:
        """The bins and parents of these settings in a schema."""
        return dict(schema.structures)[self.structure_key]

    def codes(self, schema: Schema) -> CellCodes:
        """The codes of the columns of a schema."""
        return cell_codes(schema.cells, self.structure(schema).bins)


class CodedClassifier(GenerativeClassifier):
    """A classifier that reads tables as cells."""

    @checked
    def sample(
        self,
        n: int = 1,
        y: ArrayLike | Hashable | None = None,
        random_state: RandomState = None,
        given: Mapping[Any, Any] | None = None,
    ) -> tuple[Any, np.ndarray]:
        """Simulate rows from the model: first a class, then the columns given their parents.

        Parameters
        ----------
        n : int, default=1
            The number of rows.
        y : label, array-like of shape (n,) or None, default=None
            One class for all rows, or one class per row. None draws the classes from the priors.
        random_state : int, Generator, RandomState or None, default=None
            The seed or the generator of random numbers. None gives new random numbers at each
            call.
        given : dict or None, default=None
            Only None is allowed, because this model has no exact conditional distributions.

        Returns
        -------
        rows : table
            The simulated rows, as the kind of table that the model was fitted on. A number is
            uniform within its bin. A cell is missing as often as in the training rows.
        labels : ndarray of shape (n,)
            Their classes.
        """
        rng = generator(random_state)
        cells, labels = super().sample(n, y, rng, given)
        return table_of_cells(self.schema_, cells, rng), labels
