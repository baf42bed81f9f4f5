"""The classifiers that fit the columns, and one set of folds for all of them.

    numbers      GaussianNB and NaiveLDA share one statistic; LDA, QDA and RDA share another
    any table    NaiveBayes with the kinds of the first look, Gaussians only, or histograms only

The folds of a table come from a hash of the values that one model reads. All candidates use these
folds, because only scores on the same held-out rows can be compared.
Reference: Friedman (1989), Regularized discriminant analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.data.blocks import BlockFolds
from verosim.data.folds import RowFolds
from verosim.data.same_rows import reason_to_leave_out
from verosim.data.schema import Schema
from verosim.data.sources import ArraySource
from verosim.data.stream import Chunk
from verosim.engines import ChunkWork, reduce_chunks
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

    folds: Any  # (n,) the fold of each row, pairs of training and test rows, or a rule for a table
    rows: int  # n
    has_missing: bool  # whether some number is missing

    @classmethod
    def of(cls, spec: Spec, inputs: Inputs, cv: Any, groups: Any) -> FoldPlan:
        rows = HoldOut(spec, inputs, cv, groups)
        source = rows.source
        if isinstance(source, ArraySource):
            dense = isinstance(source.X, np.ndarray) and source.X.dtype.kind == "f"
            numbers = rows.numbers if rows.pairs is None else rows.pairs
            return cls(numbers, len(source), dense and bool(np.isnan(source.X).any()))

        found = reduce_chunks(_RowFacts(), source)
        folds = rows.folds
        if isinstance(folds, RowFolds):  # other candidates read the rows differently
            folds = replace(folds, reader=source.reader)
        return cls(folds, *found)

    @property
    def is_partition(self) -> bool:
        return not isinstance(self.folds, list | BlockFolds)


class _RowFacts(ChunkWork):
    """The number of rows, and whether some number is missing."""

    def __call__(self, chunk: Chunk) -> tuple[int, bool]:
        block = chunk.block()
        numbers = isinstance(block, np.ndarray)
        return len(chunk), numbers and bool(np.isnan(block).any())

    def joined(self, found: Sequence[tuple[int, bool]]) -> tuple[int, bool]:
        return sum(n for n, _ in found), any(missing for _, missing in found)


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
