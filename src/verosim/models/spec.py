"""A classifier written down as a frozen value.

    how rows are read → the zero statistic → the density → the priors → what decides

An estimator builds its spec from its parameters; everything that learns, validates or explains
works with the spec. Two specs with equal `statistic_key` share one pass over the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from verosim.axes import Axes, Groups
from verosim.bayes.priors import log_priors
from verosim.bayes.rule import Decision, Rule
from verosim.data import ArraySource, as_matrix
from verosim.data.readers import NumberReader, Reader
from verosim.data.schema import Schema
from verosim.data.stream import TableSource
from verosim.data.tables import Table
from verosim.densities import Density
from verosim.errors import VerosimError
from verosim.kinds.look import look
from verosim.models.settings import finite, same
from verosim.stats import Statistic

CV = "cv"  # the value of a setting that `fit` chooses on held-out rows
TUNABLE = ("shrinkage", "pooling", "alpha")


@dataclass(frozen=True, eq=False, kw_only=True)
class Spec(ABC):
    """What a classifier does with rows. Subclasses hold the settings of one family."""

    name: str  # of the classifier, for messages
    priors: Any = None

    reads_values: ClassVar[bool] = False  # any values, not only numbers
    reads_sparse: ClassVar[bool] = False
    reads_only_tables: ClassVar[bool] = False
    widest: ClassVar[bool] = True  # whether its statistic serves every spec of its family

    @property
    def allows_missing(self) -> bool:
        """Whether rows may have missing cells."""
        return True

    # Reading rows --------------------------------------------------------------------------

    def matrix(self, X: Any, names: Any) -> Any:
        """Rows given as an array, checked."""
        return as_matrix(X, sparse_allowed=self.reads_sparse, values=self.reads_values, names=names)

    def value_matrix(self, X: Any) -> np.ndarray:
        """Rows given as an array, for a model that was fitted on a table."""
        rows = as_matrix(X, values=True)
        assert isinstance(rows, np.ndarray)
        return rows

    def look(self, table: Table, target: str | None, **given: Any) -> Schema:
        """The first look at a table, where no schema was given."""
        return look(table, target, **given)

    def reader(self, schema: Schema) -> Reader:
        """How rows of a table are read."""
        return NumberReader(schema, self.name)

    def reader_of_arrays(self, schema: Schema) -> Reader:
        """How a table is read by a model that was fitted on arrays."""
        return self.reader(schema)

    # Counting and estimating ---------------------------------------------------------------

    @abstractmethod
    def plan(self, axes: Axes, source: ArraySource | TableSource) -> Statistic:
        """The zero statistic; the source is there for what its first rows must settle."""

    @property
    @abstractmethod
    def density(self) -> Density:
        """The density that the settings ask for; settings that make no sense are an error."""

    def estimate(self, statistic: Statistic) -> Any:
        """The parameters of the density."""
        return self.density.estimate(statistic)

    def view(self, statistic: Statistic) -> Statistic:
        """A statistic as these settings read it; nothing is copied."""
        return statistic

    def counted_rows(
        self, source: ArraySource | TableSource, groups: Groups
    ) -> ArraySource | TableSource:
        """The rows that count: all of them, unless a model leaves some out."""
        return source

    def rule(self, params: Any, statistic: Statistic, streaming: bool = False) -> Decision:
        """What decides: Bayes' rule."""
        weight, rows = statistic.weight[:, 0], statistic.rows[:, 0]
        return Rule(self.log_prior(statistic.axes.groups.classes, weight, rows, streaming), params,
                    statistic.axes.columns)  # fmt: skip

    def log_prior(
        self, classes: np.ndarray, weight: np.ndarray, rows: np.ndarray, streaming: bool
    ) -> np.ndarray:
        """(C,) log π_k of classes of these weights and numbers of rows."""
        present = (rows > 0) & (weight > 0)
        return log_priors(self.prior_setting, classes, weight, present, streaming)

    @property
    def prior_setting(self) -> Any:
        """The setting of the priors, where None may mean something else to a model."""
        return self.priors

    # What the statistic depends on -----------------------------------------------------------

    @property
    def family(self) -> str:
        """Models of one family keep the same statistic."""
        return self.name

    @property
    def statistic_settings(self) -> dict[str, Any]:
        """By parameter, the settings that change what is counted."""
        return {}

    @property
    def statistic_key(self) -> list[Any]:
        """Specs with equal keys share their sums; compare with `same`."""
        return [self.family, *self.statistic_settings.values()]

    # Settings left to the data ---------------------------------------------------------------

    @property
    def open_settings(self) -> list[str]:
        """The settings that `fit` has to choose."""
        names = {field.name for field in fields(self)}
        return [n for n in TUNABLE if n in names and str(getattr(self, n)) == CV]

    @property
    def is_decomposable(self) -> bool:
        """Whether fitting is summing, so that folds can be taken apart."""
        return not self.open_settings

    def resolved(self, tuned: Mapping[str, Any]) -> Self:
        """The spec with the values that were chosen for its open settings."""
        chosen = {name: tuned[name] for name in self.open_settings if name in tuned}
        return replace(self, **chosen) if chosen else self

    def setting(self, name: str) -> Any:
        """A setting that must have a value by now."""
        value = getattr(self, name)
        if isinstance(value, str) and value == CV:
            raise VerosimError(
                f'{name}="cv" is chosen by held-out rows, and only fit has all rows at hand.',
                f"call fit, or give {name} a value.",
            )
        return value

    def pseudo_count(self) -> float:
        """α, checked."""
        alpha = self.setting("alpha")
        finite("alpha", alpha, least=0)
        return float(alpha)

    def check_updates(self, verb: str) -> None:  # noqa: B027  most models can
        """Raise where rows cannot be added to the model or taken out of it."""


def share_statistic(specs: Sequence[Spec]) -> list[list[int]]:
    """The numbers of the specs that share their sums, group by group."""
    groups: list[list[int]] = []
    for i, spec in enumerate(specs):
        for group in groups:
            if same(specs[group[0]].statistic_key, spec.statistic_key):
                group.append(i)
                break
        else:
            groups.append([i])
    return groups
