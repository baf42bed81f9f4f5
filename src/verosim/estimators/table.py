"""Naive Bayes for the table as it is: every column by a density of its own kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verosim import kinds
from verosim.axes import Axes
from verosim.data.labels import positions
from verosim.data.schema import Schema, as_kind
from verosim.data.tables import Table
from verosim.densities import ProductDensity
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.checks import generator
from verosim.kinds.look import look
from verosim.models import Spec
from verosim.models.settings import finite, one_of, whole
from verosim.stats import Product


@dataclass(frozen=True, eq=False, kw_only=True)
class TableSpec(Spec):
    """Independent columns of any kinds."""

    columns: Any = "auto"
    alpha: Any = 1.0
    covariance: str = "mle"
    missing: str = "skip"
    max_categories: int = 1000
    floor: float = 1e-9

    reads_values = True
    reads_only_tables = True

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {
            "columns": self.columns, "missing": self.missing,
            "max_categories": self.max_categories,
        }  # fmt: skip

    def look(self, table: Table, target: str | None, **given: Any) -> Schema:
        whole("max_categories", self.max_categories, least=1)
        most = int(self.max_categories)
        return look(table, target, columns=self.columns, max_categories=most, **given)

    def reader(self, schema: Schema) -> kinds.MixedReader:
        one_of("missing", self.missing, ("skip", "category"))
        for name, density in {} if isinstance(self.columns, str) else dict(self.columns).items():
            found = next((c.density for c in schema if c.name == name), None)
            if found is not None and as_kind(density, name).name != found:
                raise VerosimError(
                    f"Column {name!r} is {found} in the schema and {density} in columns=.",
                    f"schema.edit({{{name!r}: {density!r}}}), or leave it out of columns=.",
                )
        return kinds.MixedReader(schema, gaps=self.missing == "category")

    def plan(self, axes: Axes, source: Any) -> Product:
        return kinds.plan(source.reader, axes.groups)

    @cached_property
    def density(self) -> ProductDensity:
        settings = kinds.Settings(self.pseudo_count(), self.covariance, self.floor)
        finite("floor", self.floor, least=0)
        one_of("covariance", self.covariance, ("mle", "unbiased"))
        return kinds.density(settings)


class NaiveBayes(GenerativeClassifier):
    """Naive Bayes for a table of any kinds of columns: numbers, categories, dates, text, holes.

    log p(x | k) = Σ_j log p_j(x_j | k), with p_j a Gaussian, a histogram, a Poisson, smoothed
    shares of categories, or a multinomial of the words of a text

    What each column is, the first look decides and `schema_` shows; `columns` overrides it by
    name. Missing cells are skipped at fit and marginalised at predict; so is a column the table to
    predict does not have. A date counts by its hour, weekday, month, and as a number.

    Parameters
    ----------
    columns : "auto"; "gaussian" or "histogram" for all numbers; or {name: density} for some
        columns: "gaussian", "histogram", "category", "boolean", "poisson", "date", "text" or
        "ignore"
    alpha : pseudo-count of every category, bin and token; rows of the overall mean for a Poisson;
        or "cv": chosen by held-out log-loss, see `alpha_`
    priors : None (n_k/n), "laplace", "uniform", array in the order of classes_, or dict by label
    covariance : "mle" divides a Gaussian's squares by n_k, "unbiased" by n_k − 1
    missing : "skip", or "category" where absence itself tells classes apart: then p_j has a chance
        of being missing in each class too
    max_categories : values a category column keeps; the rest share the bucket '‹other›'. A schema
        given to `fit` brings its own
    floor : least variance of a Gaussian in parts of the column's total variance

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.0, 1.2, 3.1, None], "hue": ["red", None, "blue", "blue"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> model = verosim.NaiveBayes().fit(table, "kind")
    >>> model.predict({"size": [1.1, None], "hue": ["green", "blue"]}).tolist()
    ['a', 'b']
    >>> model.predict_proba({"hue": ["red"]}).round(2)
    array([[0.73, 0.27]])
    """

    def __init__(
        self,
        columns: str | Mapping[str, str] = "auto",
        alpha: float | str = 1.0,
        priors: Any = None,
        covariance: str = "mle",
        missing: str = "skip",
        max_categories: int = 1000,
        floor: float = 1e-9,
    ) -> None:
        self.columns = columns
        self.alpha = alpha
        self.priors = priors
        self.covariance = covariance
        self.missing = missing
        self.max_categories = max_categories
        self.floor = floor

    def spec(self) -> TableSpec:
        return TableSpec(**self.settings(TableSpec))

    def sample(
        self, n: int = 1, y: Any = None, random_state: Any = None, missing: bool = False
    ) -> tuple[Any, np.ndarray]:
        """Simulate n rows: k ~ Cat(π), then each column from its own density.

        Returns a table of the kind and types the model was fitted on, and the labels. With
        `missing`, cells are left empty as often as the class leaves them.
        """
        rng = generator(random_state)
        drawn, labels = super().sample(n, y, rng)
        statistic: Any = self.stats_
        reader = self.spec().reader(self.schema_)
        gone: dict[str, np.ndarray] = {}
        if missing:
            at = positions(labels, self.classes_)
            rates = kinds.gap_rates(reader, statistic)
            gone = {name: rng.random(len(at)) < rate[at] for name, rate in rates.items()}
        parts: Any = drawn
        return kinds.as_table(reader, parts, gone, self.schema_.native), labels
