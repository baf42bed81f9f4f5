"""The classifiers the columns allow, and one set of folds for all of them.

    numbers      GaussianNB, NaiveLDA (share their sums) · LDA, QDA, RDA (share theirs)
    any table    NaiveBayes as the first look has it, with Gaussians alone, with histograms alone

Folds of a table go by a hash of what a model reads, so one model's serve all: only scores of the
same held-out rows compare. Reference: Friedman (1989), Regularized discriminant analysis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data.schema import Schema
from verosim.data.sources import ArraySource
from verosim.data.stream import Chunk
from verosim.engines import map_chunks
from verosim.errors import VerosimError
from verosim.estimators import LDA, QDA, RDA, GaussianNB, NaiveBayes, NaiveLDA
from verosim.estimators.holdout import Holdout
from verosim.kinds.density_choice import NUMBERS
from verosim.kinds.histogram import HISTOGRAM

POOLING = (0.1, 0.5, 0.9)
SPHERICITY = (0.0, 1e-3, 0.1)


@dataclass(frozen=True)
class Entry:
    """A model and the schema it reads the rows by: None where it takes arrays or looks itself."""

    model: Any
    schema: Schema | None = None
    why: str = ""  # it cannot read these rows


@dataclass(frozen=True)
class Survey:
    """What has to be known of the rows beforehand."""

    folds: Any  # (n,) their numbers, or pairs of training and test rows
    rows: int  # n
    holes: bool  # whether a number is missing

    @classmethod
    def by(cls, model: Any, X: Any, y: Any, cv: Any, groups: Any, given: dict[str, Any]) -> Survey:
        holdout = Holdout(model, X, y, cv, groups, **given)
        source = holdout.source
        if isinstance(source, ArraySource):
            dense = isinstance(source.X, np.ndarray) and source.X.dtype.kind == "f"
            folds = holdout.numbers if holdout.pairs is None else holdout.pairs
            return cls(folds, len(source), dense and bool(np.isnan(source.X).any()))

        def read(chunk: Chunk) -> tuple[np.ndarray, bool]:
            block = chunk.block()
            assert chunk.folds is not None
            numbers = isinstance(block, np.ndarray)
            return chunk.folds.of(chunk.rows, block), numbers and bool(np.isnan(block).any())

        parts = list(map_chunks(read, source.folded(holdout.folds)))
        found = np.concatenate([fold for fold, _ in parts])
        return cls(found, len(found), any(holes for _, holes in parts))


def candidates(
    X: Any, y: Any, cv: Any, groups: Any, given: dict[str, Any], named: bool
) -> tuple[list[Entry], Survey]:
    """The models to try, those that cannot read these rows with the reason, and the folds."""
    sparse = hasattr(X, "tocsr")
    schema = None if sparse else NaiveBayes()._opened(X, y, **given)[2]
    by = {**given, "schema": schema, "na": ()} if named else given
    try:
        survey, why = Survey.by(GaussianNB(), X, y, cv, groups, by), ""
    except VerosimError as error:
        if schema is None:
            raise
        survey, why = Survey.by(NaiveBayes(), X, y, cv, groups, by), error.what
    read_by = schema if named else None
    models = [*_full(survey.holes), GaussianNB(), NaiveLDA()]
    entries = [Entry(model, read_by, why) for model in models]
    if schema is None:
        return entries, survey
    entries.append(Entry(NaiveBayes(), schema))
    twin = not why and all(c.density in NUMBERS for c in schema.used)  # GaussianNB
    for density in (HISTOGRAM.name,) if twin else NUMBERS:
        numbers = {c.name: density for c in schema.used if c.density in NUMBERS}
        if any(schema[name].density != density for name in numbers):
            entries.append(Entry(NaiveBayes(density), schema.edit(numbers)))  # as its look would
    return entries, survey


def _full(holes: bool) -> list[Any]:
    """The Gaussians with full covariances, which share one statistic."""
    settings: dict[str, Any] = {"missing": "marginalise"} if holes else {}
    square = [
        RDA(pooling, sphericity, **settings) for pooling in POOLING for sphericity in SPHERICITY
    ]
    return [LDA(**settings), QDA(**settings), *square]
