"""The settings of a classifier as one immutable value, a spec.

    how rows are read → the zero statistic → the density → the priors → the decision rule

An estimator builds its spec from its parameters. All functions that learn, validate or explain
work with the spec. Two specs with equal `statistic_key` share one pass over the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from verosim.arguments import finite
from verosim.axes import Axes, Columns, Groups
from verosim.bayes.class_weights import class_factors
from verosim.bayes.priors import log_priors
from verosim.bayes.rule import Decision, Rule
from verosim.cached import cached_property
from verosim.data import as_matrix
from verosim.data.schema import Schema
from verosim.data.source import RowSource
from verosim.data.stream import TableChunk, rows_of_table
from verosim.data.tables import Table
from verosim.densities import Density
from verosim.errors import VerosimError
from verosim.models.settings import equal_positions, same
from verosim.stats import Statistic

if TYPE_CHECKING:
    from verosim.data.readers import Reader
    from verosim.data.readings import CellReading
    from verosim.kinds.first_rows import FirstRows

CHOSEN = "cv"  # with this value, `fit` chooses the setting on held-out rows
TUNABLE = ("shrinkage", "pooling", "alpha", "penalty")


@cache
def _tunable(spec: type[Spec]) -> tuple[str, ...]:
    """The settings of a class of specs that can have the value "cv"."""
    names = {field.name for field in fields(spec)}
    return tuple(name for name in TUNABLE if name in names)


@dataclass(frozen=True)
class LabelledTable:
    """A table, and where its labels and weights are."""

    table: Table
    labels: Any  # the name of the target column, or encoded labels
    weights: Any  # the name of a column, (n,) weights, or None
    # The rows as the model reads them, if `Spec.settled` has read them all: no second reading.
    ready: list[TableChunk] = field(default_factory=list)

    @cached_property
    def first(self) -> FirstRows:
        """The first rows, which are read once for all choices without labels."""
        from verosim.kinds.first_rows import FirstRows  # a model of arrays does not need it

        return FirstRows(self.table, self.weights)

    def read_as(self, reading: str, reader: Reader) -> RowSource:
        """All rows, as a reader reads them."""
        return rows_of_table(self.table, reader, self.labels, self.weights)

    def as_cells(self, reader: Reader) -> RowSource:
        """The same rows, which are kept for counting if they are in memory."""
        from verosim.models.structure import converted  # most models do not need it

        source = converted(self.read_as("cells", reader))
        self.ready.extend(source.ready)
        return source

    @property
    def target(self) -> str | None:
        return self.labels if isinstance(self.labels, str) else None

    @property
    def weight(self) -> str | None:
        return self.weights if isinstance(self.weights, str) else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Spec(ABC):
    """How a classifier uses rows. Each subclass has the settings of one family of models."""

    name: str  # the name of the classifier, for messages
    priors: Any = None
    class_weight: Any = None  # a setting of estimation: the statistic does not depend on it

    reads_values: ClassVar[bool] = False  # whether cells may have any values, not only numbers
    reads_sparse: ClassVar[bool] = False
    reads_only_tables: ClassVar[bool] = False
    reads_texts: ClassVar[bool] = False  # whether a row of an array is one text
    may_wait: ClassVar[bool] = False  # whether the density may be estimated at its first use
    widest: ClassVar[bool] = True  # whether its statistic can be used by every spec of its family

    @property
    def allows_missing(self) -> bool:
        """Whether rows may have missing cells."""
        return True

    # Reading rows --------------------------------------------------------------------------

    def matrix(self, X: Any, names: Any) -> Any:
        """Check rows that are given as an array."""
        return as_matrix(X, sparse_allowed=self.reads_sparse, values=self.reads_values, names=names)

    def value_matrix(self, X: Any) -> np.ndarray:
        """Check rows that are given as an array to a model that was fitted on a table."""
        rows = as_matrix(X, values=True)
        assert isinstance(rows, np.ndarray)
        return rows

    def look(self, table: Table, target: str | None, **given: Any) -> Schema:
        """Look at the first rows of a table, if no schema is given."""
        from verosim.kinds.look import full_look  # a model of arrays does not need it

        return full_look(table, target, **given)

    # What a model must choose before it counts, in three stages. Most models choose nothing. `rows`
    # is a LabelledTable, or another value with `read_as`.

    def look_closer(self, schema: Schema, first: FirstRows) -> Schema:
        """The schema with what the first rows choose, without labels."""
        return schema

    def complete(self, schema: Schema, rows: Any) -> Schema:
        """The schema with what all rows choose, without labels."""
        return schema

    def choose(self, schema: Schema, rows: Any) -> Schema:
        """The schema with what labels choose. Folds repeat this choice without held-out rows."""
        return schema

    def settled(self, schema: Schema, rows: LabelledTable) -> Schema:
        """The schema after all three stages."""
        schema = self.look_closer(schema, rows.first)
        return self.choose(self.complete(schema, rows), rows)

    @property
    def chooses_by_labels(self) -> bool:
        """Whether labels choose something before counting, such as bins and parents."""
        return False

    def fixed_by_first_rows(self, schema: Schema) -> str:
        """What the first rows of a stream have chosen, for a message; "" if they chose nothing."""
        return ""

    @property
    def reading(self) -> str:
        """The way in which a table is read. Models with the same way can share the reading."""
        return self.family

    def reader(self, schema: Schema) -> Reader:
        """The reader of the rows of a table."""
        from verosim.data.readers import NumberReader  # a model of arrays does not need it

        return NumberReader(schema, self.name)

    def columns_read(self, schema: Schema) -> set[str]:
        """The columns of a table that the model uses."""
        return set(self.reader(schema).names)

    def reader_of_arrays(self, schema: Schema) -> Reader:
        """The reader of a table, for a model that was fitted on arrays."""
        return self.reader(schema)

    def array_readings(self, columns: Columns) -> tuple[CellReading, ...]:
        """How the cells of an array are read by a program, one reading per column."""
        from verosim.data.readings import NumberReading, ValueReading  # only for programs

        reading = ValueReading if self.reads_values else NumberReading
        return tuple(reading(name) for name in columns)

    # Counting and estimating ---------------------------------------------------------------

    @abstractmethod
    def plan(self, axes: Axes, source: RowSource) -> Statistic:
        """The zero statistic. It may depend on the first rows of the source, for example bins."""

    @property
    @abstractmethod
    def density(self) -> Density:
        """The density for these settings. Wrong settings raise an error here."""

    def estimate(self, statistic: Statistic) -> Any:
        """The parameters of the density."""
        return self.density.estimate(statistic)

    def estimates_later(self, statistic: Statistic, streaming: bool) -> bool:
        """Check the settings and the sums. True if `estimate` can then neither fail nor warn."""
        if not self.may_wait or not self.density.checks(statistic):
            return False
        self.prior_of(statistic, streaming)
        return True

    def estimate_quietly(self, statistic: Statistic) -> Any:
        """The parameters, without warnings about singular covariances."""
        return self.estimate(statistic)

    def view(self, statistic: Statistic) -> Statistic:
        """The statistic in the form that these settings need. Nothing is copied."""
        return statistic

    def with_class_weights(self, statistic: Statistic, streaming: bool = False) -> Statistic:
        """The statistic with the sums of each class multiplied by its class weight."""
        if self.class_weight is None:
            return statistic
        classes, weight = statistic.axes.groups.classes, statistic.weight.sum(axis=1)
        return statistic.with_class_weights(self.factors_of(classes, weight, streaming))

    def factors_of(
        self, classes: np.ndarray, weight: np.ndarray, streaming: bool = True
    ) -> np.ndarray:
        """(C,) the class weights of classes with these weights of rows."""
        return class_factors(self.class_weight, classes, weight, streaming)

    def counted_rows(self, source: RowSource, groups: Groups) -> RowSource:
        """The rows to learn from: all rows, unless the model leaves some out."""
        return source

    @property
    def needs_rows(self) -> bool:
        """Whether `found_in_rows` finds something, so that sums are not enough."""
        return False

    def found_in_rows(self, source: RowSource, statistic: Statistic) -> dict[str, Any]:
        """Fitted values that are not functions of sums, by name. Most models have none.

        `resolved` receives these values. A model that has some cannot add or remove rows.
        """
        return {}

    def rule(self, params: Any, statistic: Statistic, streaming: bool = False) -> Decision:
        """The decision rule: Bayes' rule."""
        return Rule(self.prior_of(statistic, streaming), params, statistic.axes.columns)

    def prior_of(self, statistic: Statistic, streaming: bool) -> np.ndarray:
        """(C,) log π_k, from the weights of the classes."""
        weight, rows = statistic.weight[:, 0], statistic.rows[:, 0]
        return self.log_prior(statistic.axes.groups.classes, weight, rows, streaming)

    def log_prior(
        self, classes: np.ndarray, weight: np.ndarray, rows: np.ndarray, streaming: bool
    ) -> np.ndarray:
        """(C,) log π_k of classes with these weights and numbers of rows."""
        present = (rows > 0) & (weight > 0)
        return log_priors(self.prior_setting, classes, weight, present, streaming)

    @property
    def prior_setting(self) -> Any:
        """The setting of the priors. A model may replace None by another value."""
        return self.priors

    # Settings of the statistic ----------------------------------------------------------------

    @property
    def family(self) -> str:
        """The name of the family. Models of one family have the same kind of statistic."""
        return self.name

    @property
    def statistic_settings(self) -> dict[str, Any]:
        """The settings that change the statistic, by name."""
        return {}

    @property
    def statistic_key(self) -> list[Any]:
        """Specs with equal keys can share one statistic. Compare keys with `same`."""
        return [self.family, self.reading, *self.statistic_settings.values()]

    # Settings that fit chooses ----------------------------------------------------------------

    @property
    def open_settings(self) -> list[str]:
        """The names of the settings that `fit` has to choose."""
        return [n for n in _tunable(type(self)) if str(getattr(self, n)) == CHOSEN]

    @property
    def least_count(self) -> float:
        """The count below which the model ignores a code. `Statistic.lean` receives it."""
        return 1.0

    def grid(self, name: str) -> tuple[float, ...] | None:
        """The values from which `fit` chooses a setting; None means the usual values."""
        return None

    @property
    def has_free_scale(self) -> bool:
        """Whether the scale of the scores is not that of log-probabilities.

        `fit` then compares settings by the log-loss at the best temperature.
        """
        return False

    @property
    def is_decomposable(self) -> bool:
        """Whether fitting is a sum, so that the rows of a fold can be subtracted."""
        return not self.open_settings

    def resolved(self, tuned: Mapping[str, Any]) -> Self:
        """The spec with the values that were chosen for the settings with the value "cv"."""
        chosen = {name: tuned[name] for name in self.open_settings if name in tuned}
        return replace(self, **chosen) if chosen else self

    def setting(self, name: str) -> Any:
        """The value of a setting. It must not be "cv" any more."""
        value = getattr(self, name)
        if isinstance(value, str) and value == CHOSEN:
            raise VerosimError(
                f'{name}="cv" is chosen on held-out rows, and only fit has all rows.',
                f"Call fit, or give {name} a value.",
            )
        return value

    def pseudo_count(self) -> float:
        """The pseudo-count α, checked."""
        alpha = self.setting("alpha")
        finite("alpha", alpha, least=0)
        return float(alpha)

    @property
    def learns_in_pool(self) -> bool:
        """Whether a pool must learn weights for the model on held-out rows."""
        return False

    @property
    def learns_weights(self) -> bool:
        """Whether `fit` must learn something on held-out rows that is not in the statistic."""
        return False

    def learned(self, inputs: Any, classes: Any = None) -> Any:
        """The state of all rows, with what is learned on held-out rows.

        `classes` are labels that may appear later.
        """
        raise NotImplementedError

    def updated(self, tuned: Mapping[str, Any], changed: float) -> Mapping[str, Any]:
        """What `fit` has learned, after rows of this total weight were added or removed."""
        return tuned

    def for_classes(self, tuned: Mapping[str, Any], classes: np.ndarray) -> Mapping[str, Any]:
        """What `fit` has learned, without the labels of classes that are gone."""
        return tuned

    def of_classes(self, classes: np.ndarray) -> Self:
        """The settings without the labels of classes that are gone."""
        return self

    @property
    def is_density(self) -> bool:
        """Whether the model is a density of the columns, with `log_density` and `sample`."""
        return True

    def merged(self, other: Spec, mine: float, theirs: float) -> dict[str, Any] | None:
        """What `fit` has learned in addition to sums, for the rows of two models.

        `mine` and `theirs` are the weights of their rows. None keeps what this model has.
        """
        return None

    def check_merges(self, other: Spec) -> None:  # noqa: B027  statistics are compared too
        """Raise an error if the sums of another model have another meaning."""

    def check_same(self, other: Spec, names: Sequence[str]) -> None:
        """Raise an error if a setting differs in another model, or does not exist there."""
        for name in names:
            mine, theirs = getattr(self, name), getattr(other, name, None)
            if not same(mine, theirs):
                raise VerosimError(
                    f"{name} is {mine!r} in this model and {theirs!r} in the other model.",
                    f"Fit both models with the same {name}.",
                )

    def check_updates(self, verb: str) -> None:  # noqa: B027  most models allow updates
        """Raise an error if rows cannot be added to the model or removed from it."""

    @property
    def allows_updates(self) -> bool:
        """Whether rows can be added to the model and removed from it."""
        try:
            self.check_updates("partial_fit")
        except VerosimError:
            return False
        return True


def share_statistic(specs: Sequence[Spec]) -> list[list[int]]:
    """The positions of the specs in groups. The specs of a group share one statistic."""
    return equal_positions(spec.statistic_key for spec in specs)
