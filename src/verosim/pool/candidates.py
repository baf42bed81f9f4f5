"""The classifiers that fit the columns, and one set of folds for all of them.

    numbers      GaussianNB and NaiveLDA share one statistic; LDA, QDA and RDA share another
    any table    NaiveBayes with the kinds of the first look, Gaussians only, or histograms only

The folds of a table come from a hash of the values that one model reads. All candidates use these
folds, because only scores on the same held-out rows can be compared.
Reference: Friedman (1989), Regularized discriminant analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from verosim import engines
from verosim.data.folds import Partition, RowFolds
from verosim.data.same_rows import reason_to_leave_out
from verosim.data.schema import Schema
from verosim.data.source import Chunk
from verosim.data.visits import Visit
from verosim.errors import VerosimError
from verosim.estimators import LDA, QDA, RDA, GaussianNB, NaiveBayes, NaiveLDA
from verosim.folds import HoldOut
from verosim.kinds.density_choice import NUMBER_KINDS
from verosim.kinds.histogram import HISTOGRAM
from verosim.models import Inputs, Spec, open_rows

POOLING = (0.1, 0.5, 0.9)
SHRINKAGE = (0.0, 1e-3, 0.1)


@dataclass(frozen=True)
class Entry:
    """A candidate and its schema. The schema is None for arrays or if the model makes a look."""

    model: Any
    schema: Schema | None = None
    why: str = ""  # the reason why it cannot read these rows

    def inputs(self, inputs: Inputs) -> Inputs:
        """The rows with the schema of the model."""
        return inputs if self.schema is None else replace(inputs, schema=self.schema, na=())


@dataclass(frozen=True)
class FoldPlan:
    """The folds of all candidates, and the facts about the rows that decide the candidates."""

    folds: Any
    rows: int  # n
    has_missing: bool  # whether some number is missing

    @classmethod
    def of(cls, spec: Spec, inputs: Inputs, cv: Any, groups: Any) -> FoldPlan:
        rows = HoldOut(spec, inputs, cv, groups)
        found = engines.reduce(rows.source, _RowFacts())
        folds: Any = rows.folds
        if isinstance(folds, RowFolds):  # other candidates read the rows differently
            folds = replace(folds, reader=rows.source.reader)
        return cls(folds, *found)

    @property
    def is_partition(self) -> bool:
        return isinstance(self.folds, Partition)


@dataclass
class _RowFacts(Visit):
    """The number of rows, and whether some number is missing."""

    def nothing(self) -> tuple[int, bool]:
        return 0, False

    def absorb(self, chunk: Chunk) -> None:
        block = chunk.block()
        floats = isinstance(block, np.ndarray) and block.dtype.kind == "f"
        self._add(len(chunk), floats and bool(np.isnan(block).any()))

    def _add(self, rows: int, missing: bool) -> None:
        self.found = self.found[0] + rows, self.found[1] or missing

    def merge(self, other: Self) -> None:
        self._add(*other.found)


def candidates(inputs: Inputs, cv: Any, groups: Any, named: bool) -> tuple[list[Entry], FoldPlan]:
    """The models to try and the folds. Models that cannot read these rows have a reason."""
    sparse = hasattr(inputs.X, "tocsr")
    schema = None if sparse else open_rows(NaiveBayes().spec(), inputs).schema
    by = replace(inputs, schema=schema, na=()) if named else inputs
    try:
        plan, why = FoldPlan.of(GaussianNB().spec(), by, cv, groups), ""
    except VerosimError as error:
        if schema is None:
            raise
        plan, why = FoldPlan.of(NaiveBayes().spec(), by, cv, groups), reason_to_leave_out(error)
    read_by = schema if named else None
    models = [*_full(plan.has_missing), GaussianNB(), NaiveLDA()]
    entries = [Entry(model, read_by, why) for model in models]
    if schema is None:
        return entries, plan
    entries.append(Entry(NaiveBayes(), schema))
    # With numbers only, NaiveBayes with Gaussians is the same as GaussianNB.
    twin = not why and all(c.density in NUMBER_KINDS for c in schema.used)
    density: Any
    for density in (HISTOGRAM.name,) if twin else NUMBER_KINDS:
        numbers = {c.name: density for c in schema.used if c.density in NUMBER_KINDS}
        if any(schema[name].density != density for name in numbers):
            entries.append(Entry(NaiveBayes(density), schema.edit(numbers)))
    return entries, plan


def _full(has_missing: bool) -> list[Any]:
    """The Gaussian models with full covariances, which share one statistic."""
    settings: dict[str, Any] = {"missing": "marginalise"} if has_missing else {}
    square = [RDA(pooling, shrinkage, **settings) for pooling in POOLING for shrinkage in SHRINKAGE]
    return [LDA(**settings), QDA(**settings), *square]
