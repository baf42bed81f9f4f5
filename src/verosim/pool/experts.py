"""The experts of a pool: which models, for which table and which effort."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

from verosim.data.schema import Schema
from verosim.estimators import AODE, KDB, LDA, MDA, RDA, LiftedLDA, NaiveBayes
from verosim.estimators.text import DocumentSpec
from verosim.kinds.density_choice import NUMBER_KINDS
from verosim.kinds.text import TEXT
from verosim.models import Spec
from verosim.models.spec import share_statistic
from verosim.pool.pool_statistic import PartKey
from verosim.pool.text_experts import text_experts
from verosim.pool.weighted_pairs import WeightedPairs

ROWS_FOR_CUTS = 1_000  # with fewer rows, bins chosen by the labels are worse than equal bins
MANY_ROWS = 10_000  # with more rows, one lifted statistic is enough
FEATURES = 14_000  # the square of the number of random features for one column and one class
FEWEST_LIFTED, MOST_LIFTED = 256, 640
LIFT_BUDGET = 4 * 10**7  # products of random features of all rows, for one column and one class
VERY_WIDE = 500  # columns from which pairs of columns often need too much memory
MOST_FOR_ALL_COUNTS = 500  # columns × classes; with more, counts of pairs in folds are expensive
WIDE = 100  # columns from which only one parent is used
AS_CELLS = "cells"  # the way of reading of models of codes


@dataclass(frozen=True, eq=False)
class Expert:
    """One model of a pool, and the name of the statistic that it uses."""

    name: str
    model: Any
    spec: Spec
    statistic: str  # the name of the first expert that counts the same

    @property
    def reading(self) -> str:
        """The way in which it reads a table."""
        return self.spec.reading

    @property
    def part(self) -> PartKey:
        """The key of its statistic in the statistic of a pool."""
        return self.reading, self.statistic

    @property
    def is_density(self) -> bool:
        """Whether it is a density of the columns that the pool can use."""
        return is_pool_density(self.spec)


def is_pool_density(spec: Spec) -> bool:
    """Whether a model is a density of the columns that a pool can use."""
    return spec.reading == AS_CELLS and spec.is_density


@dataclass(frozen=True, eq=False)
class ExpertGroup:
    """Experts that share one statistic."""

    experts: tuple[Expert, ...]

    @property
    def spec(self) -> Any:
        """The settings of the first expert, which decide how rows are counted."""
        return self.experts[0].spec

    @property
    def name(self) -> str:
        """The name of the statistic."""
        return self.experts[0].statistic

    def without(self, names: Container[str]) -> ExpertGroup:
        """The group without some experts. They still share the same statistic."""
        return ExpertGroup(tuple(expert for expert in self.experts if expert.name not in names))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(expert.name for expert in self.experts)

    @property
    def reading(self) -> str:
        return self.experts[0].reading

    @property
    def part(self) -> PartKey:
        """The key of the shared statistic in the statistic of a pool."""
        return self.experts[0].part


def grouped(experts: Sequence[Expert]) -> list[ExpertGroup]:
    """The experts in groups that share a statistic."""
    found: dict[str, list[Expert]] = {}
    for expert in experts:
        found.setdefault(expert.statistic, []).append(expert)
    return [ExpertGroup(tuple(group)) for group in found.values()]


def as_experts(models: Sequence[Any]) -> tuple[Expert, ...]:
    """The models as experts. Models that count the same share their statistic.

    A model without given priors gets those of Laplace, so that a class with few rows stays possible
    in every fold. A model of texts reads all columns of texts.
    """
    specs = [
        replace(spec, priors="laplace") if spec.prior_setting is None else spec
        for spec in map(_spec, models)
    ]
    specs = [replace(s, joins=True) if isinstance(s, DocumentSpec) else s for s in specs]
    names = [one_line(model) for model in models]
    first = {i: group[0] for group in share_statistic(specs) for i in group}
    return tuple(
        Expert(name, model, spec, names[first[i]])
        for i, (name, model, spec) in enumerate(zip(names, models, specs, strict=True))
    )


def one_line(model: Any) -> str:
    """The name of an expert: its `repr` in one line."""
    return " ".join(repr(model).split())


def _spec(model: Any) -> Spec:
    spec: Spec = model.spec()
    return spec


def experts_for(
    effort: str, rows: int, classes: int, schema: Schema, text: float = 0.0
) -> list[Any]:
    """The models of a pool, for a table with so many rows and classes and these columns.

    Cheap experts come first, so that a time limit leaves out the expensive ones. `text` is the mean
    number of bytes of the texts.
    """
    return [
        *_counts(effort, rows, len(schema.used), classes),
        *_moments(),
        *([NaiveBayes()] if len(schema.used) >= VERY_WIDE else ()),
        *(text_experts(effort, rows, text) if schema.of(TEXT.name) else ()),
        *(() if effort == "fast" else _lifted(effort, rows, len(schema.used) * classes)),
        *([MDA()] if effort == "max" and _only_numbers(schema) else ()),
    ]


def _only_numbers(schema: Schema) -> bool:
    return all(column.density in NUMBER_KINDS for column in schema.used)


def _counts(effort: str, rows: int, columns: int, classes: int) -> list[Any]:
    """Models of bins and categories. Counts of pairs grow with the square of the bins."""
    wide = columns >= WIDE
    if not wide and columns * classes > MOST_FOR_ALL_COUNTS and rows < MANY_ROWS:
        return [AODE(5), KDB(3, 5) if rows < ROWS_FOR_CUTS else KDB(5, "mdl", m=2.0)]
    found: list[Any] = [AODE(5), KDB(1, 5) if wide else KDB(3, 12)]
    if rows >= ROWS_FOR_CUTS:
        found += [AODE("mdl"), KDB(1 if wide else 3, "mdl")]
    if rows >= ROWS_FOR_CUTS and not wide:
        found += [KDB(5, "mdl"), KDB(5, "mdl", m=2.0)]
    if effort == "max":
        found.append(AODE(12))
    return found if effort == "fast" else [*found, WeightedPairs(5)]


def _moments() -> list[Any]:
    """Gaussian models of the design matrix."""
    return [
        LDA(shrinkage=0.02, encode="normal"),
        RDA(0.3, 0.1, encode="normal"),
        RDA(0.05, 0.02, encode="normal"),
    ]


def _lifted(effort: str, rows: int, size: int) -> list[Any]:
    """Gaussian models of random features; those with the same scale share their sums.

    The number of features grows with the size of the problem, columns × classes. It is limited by
    the cost of their products, and by the number of rows.
    """
    cost = LIFT_BUDGET * max(size, 100) // max(rows, 1)
    most = min(isqrt(cost), MOST_LIFTED, max(rows // 2, FEWEST_LIFTED))
    features = max(FEWEST_LIFTED, min(isqrt(FEATURES * size), most))
    settings = [(1.5, 0.3), (1.5, 0.01), (1.5, 0.001)]
    if rows <= MANY_ROWS or effort == "max":
        settings.append((0.1, 0.03))
    if effort == "max":
        settings += [(0.3, 0.01), (5.0, 0.001)]
    return [LiftedLDA(features, scale, ridge) for scale, ridge in settings]
