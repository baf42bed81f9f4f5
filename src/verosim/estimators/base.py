"""The thin scikit-learn classes around a spec and a state.

    predict = argmax_k δ_k(x),   p(k | x) = exp δ_k / Σ_j exp δ_j

`ScoreMixin` predicts, `StatisticClassifier` learns by sums, `GenerativeClassifier` adds what a
model with densities can do. What they do is done by the functions of `models/` and `folds/`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import fields
from functools import cache, update_wrapper
from inspect import signature
from types import MethodType
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from verosim.bayes.priors import free_priors
from verosim.bayes.rule import Rule
from verosim.data import as_weights, encode_labels
from verosim.data.adapters import is_stream
from verosim.data.labels import check_known, positions
from verosim.data.schema import Schema
from verosim.data.stream import TableSource
from verosim.engines import map_chunks
from verosim.errors import VerosimError
from verosim.estimators.checks import check_features, generator
from verosim.estimators.predictions import accuracy, prediction_reader
from verosim.folds.inputs import inputs_of
from verosim.folds.tuning import fit
from verosim.models import (
    Spec,
    State,
    add_rows,
    decay,
    derive,
    forget_rows,
    merge,
    open_to_score,
)
from verosim.models.opening import open_table_to_score
from verosim.stats import Statistic


class NotFitted(VerosimError, NotFittedError):
    """The model has no statistics yet."""

    @classmethod
    def of(cls, model: Any) -> NotFitted:
        return cls(f"This {type(model).__name__} instance is not fitted yet.",
                   "call fit(X, y) first.")  # fmt: skip


def has_probabilities(model: Any) -> bool:
    """Whether the scores of a model are log-posteriors up to a constant."""
    return bool(model.gives_probabilities)


class ScoreMixin:
    """Predictions from a score for each class."""

    classes_: np.ndarray
    gives_probabilities = True

    @abstractmethod
    def opened_to_score(self, X: Any) -> tuple[Any, Any]:
        """The decision, and the rows it is to score: an array, or a source that streams."""

    def evaluate(self, X: Any, score: Callable[[Any, Any], np.ndarray]) -> np.ndarray:
        """score(decision, rows), a piece at a time where X streams."""
        rule, rows = self.opened_to_score(X)
        if not isinstance(rows, TableSource):
            return score(rule, rows)
        parts = list(map_chunks(lambda chunk: score(rule, chunk.block()), rows))
        if not parts:
            raise VerosimError("The table has no rows.", "there is nothing to predict.")
        return np.concatenate(parts)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row: argmax_k δ_k(x)."""
        decided = self.evaluate(X, lambda rule, rows: rule.decide(rows))
        return self.classes_[decided]

    def decision_function(self, X: Any) -> np.ndarray:
        """Discriminants δ_k(x), (n, C), up to a term all classes share; of two classes δ_1 − δ_0.

        The linear models leave out the quadratic term their classes share, as their `coef_` do;
        `log_joint` has it.
        """
        scores = self.evaluate(X, lambda rule, rows: rule.discriminants(rows))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, C) posteriors p(k | x), classes in the order of `classes_`."""
        return self.evaluate(X, lambda rule, rows: rule.posterior(rows))

    @available_if(has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(n, C) log p(k | x)."""
        return self.evaluate(X, lambda rule, rows: rule.log_posterior(rows))


class RowUpdate:
    """A method that adds or removes rows; a model that cannot do so does not have it."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self.method
        model.spec().check_updates(self.method.__name__)
        return MethodType(self.method, model)


@cache
def _shared_names(estimator: type, spec: type[Spec]) -> frozenset[str]:
    """The parameters of an estimator that are fields of a spec."""
    return frozenset(signature(estimator).parameters) & {field.name for field in fields(spec)}


class StatisticClassifier(ScoreMixin, ClassifierMixin, BaseEstimator):
    """A classifier whose fitted state is a statistic of the rows."""

    state_: State  # the only fitted state

    @abstractmethod
    def spec(self) -> Spec:
        """The parameters as a frozen value that `verosim.models` works with."""

    def settings(self, spec: type[Spec]) -> dict[str, Any]:
        """The name of the class, and the parameters that are fields of a spec."""
        names = _shared_names(type(self), spec)  # type: ignore[arg-type]  # a class is hashable
        return {"name": type(self).__name__, **{name: getattr(self, name) for name in names}}

    # Learning --------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, schema: Any = None, na: Any = ()
    ) -> Self:
        """Fit from zero: one pass over the rows.

        Parameters
        ----------
        X : array of shape (n, d), or any table: a data frame, Arrow data, a DuckDB relation,
            `verosim.query`, a file, a folder or a glob of files, an iterable of tables
        y : labels of shape (n,): strings, bools or integers; or the name of the target column
        sample_weight : array of shape (n,) or the name of a column. Rows of weight zero do not
            count.
        schema : what `verosim.look` gave; models fitted from one schema merge
        na : texts that mean missing in a table, besides the empty cell
        """
        return self.set_state(fit(self.spec(), inputs_of(X, y, sample_weight, schema, na)))

    @RowUpdate
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        schema: Any = None,
        na: Any = (),
    ) -> Self:
        """Add more rows. `classes` is optional, and new classes may arrive at any time."""
        known = None
        if self.__sklearn_is_fitted__():
            self.check_columns(X)
            known = self.checked_state()
        inputs = inputs_of(X, y, sample_weight, schema, na)
        return self.set_state(add_rows(self.spec(), known, inputs, classes))

    @RowUpdate
    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out again, in place: the model of the rows that remain."""
        known = self.checked_state()
        self.check_columns(X)
        return self.set_state(forget_rows(self.spec(), known, inputs_of(X, y, sample_weight)))

    def decay(self, factor: float) -> Self:
        """Fade what was seen so far, in place: every weight × factor, 0 < factor ≤ 1."""
        return self.set_state(decay(self.spec(), self.checked_state(), factor))

    def merge(self, other: StatisticClassifier) -> Self:
        """A new model of the rows of both, with this one's parameters."""
        if not isinstance(other, StatisticClassifier):
            raise VerosimError(f"A model merges with a model, not with {type(other).__name__}.")
        state = merge(self.spec(), self.checked_state(), other.checked_state())
        return clone(self).set_state(state)

    def __add__(self, other: StatisticClassifier) -> Self:
        return self.merge(other)

    def __radd__(self, other: Any) -> Self:
        """So that sum(models) is the model of all their rows."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    # The state -------------------------------------------------------------------------------

    def set_state(self, state: State) -> Self:
        """Take a state as fitted."""
        self.state_ = state
        return self

    def checked_state(self) -> State:
        """The state, if there is one and no parameter that it was counted with has changed."""
        if not self.__sklearn_is_fitted__():
            raise NotFitted.of(self)
        stale = self.state_.stale(self.spec())
        if stale:
            raise VerosimError(
                f"{', '.join(stale)} changed after the rows were read, and what was counted "
                "depends on it.",
                "fit again.",
            )
        return self.state_

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters. On a fitted model they take effect at once, without data."""
        before = {name: getattr(self, name, None) for name in self.get_params(deep=False)}
        try:
            super().set_params(**parameters)
            if self.__sklearn_is_fitted__():
                state, spec = self.state_, self.spec()
                if not state.stale(spec):
                    self.set_state(derive(spec, state.statistic, state.schema, state.tuned))
        except Exception:  # nothing is lost
            super().set_params(**before)
            raise
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "state_" in vars(self)

    def fitted(self, attribute: str) -> State:
        """The state, for an attribute that exists only after fit."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted.")
        return self.state_

    # Fitted attributes, all read off the state -----------------------------------------------

    @property
    def stats_(self) -> Statistic:
        """The statistic of the rows."""
        return self.fitted("stats_").statistic

    @property
    def schema_(self) -> Schema:
        """How the table was read; absent where the rows came as an array."""
        schema = self.fitted("schema_").schema
        if schema is None:
            raise AttributeError(f"{type(self).__name__} was fitted on arrays: no schema_.")
        return schema

    @property
    def classes_(self) -> np.ndarray:  # type: ignore[override]
        return self.fitted("classes_").classes

    @property
    def n_features_in_(self) -> int:
        return self.fitted("n_features_in_").width

    @property
    def feature_names_in_(self) -> np.ndarray:
        names = self.fitted("feature_names_in_").names_in
        if names is None:
            raise AttributeError("X had no column names at fit.")
        return np.array(names, dtype=object)

    @property
    def class_count_(self) -> np.ndarray:
        """(C,) the weight of every class."""
        return self.fitted("class_count_").class_weight.copy()

    @property
    def n_parameters_(self) -> int:
        """Free parameters: K − 1 priors where they are estimated, and those of the densities."""
        state = self.fitted("n_parameters_")
        return state.params.n_parameters + free_priors(state.spec.prior_setting, len(state.classes))

    # Scoring rows ------------------------------------------------------------------------------

    def opened_to_score(self, X: Any) -> tuple[Any, Any]:
        state = self.checked_state()
        self.check_columns(X)
        return state.rule, open_to_score(state, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; y may name the target column, and sample_weight the column of weights."""
        if not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        return table_accuracy(self.checked_state(), X, y, sample_weight)

    def check_columns(self, X: Any) -> None:
        """X has the columns of the fit; those of a table are found by name."""
        schema = self.state_.schema
        if (schema is not None and schema.target is not None) or is_stream(X):
            return
        check_features(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        spec = self.spec()
        tags.input_tags.sparse, tags.input_tags.allow_nan = spec.reads_sparse, spec.allows_missing
        tags.input_tags.categorical = tags.input_tags.string = spec.reads_values
        return tags


def table_accuracy(
    state: State, X: Any, y: str, sample_weight: Any, rule: Any = None, answers: Any = None
) -> float:
    """Accuracy over a table whose target has a name, by the state's rule or another."""
    weights = sample_weight
    if weights is not None and not isinstance(weights, str):
        weights = as_weights(weights, np.size(weights))
    source = open_table_to_score(state, X, y, weights)
    rule = state.rule if rule is None else rule
    return accuracy(rule, state.classes if answers is None else answers, source)


class GenerativeClassifier(StatisticClassifier):
    """A classifier by priors and densities: Bayes' rule on sums."""

    def with_priors(self, priors: Any) -> Self:
        """A new model with other priors; no data needed."""
        state = self.checked_state()
        other = clone(self).set_params(priors=priors)
        return other.set_state(derive(other.spec(), state.current, state.schema, state.tuned))

    @property
    def class_prior_(self) -> np.ndarray:
        return np.exp(self.fitted("class_prior_").rule.log_prior)

    @property
    def alpha_(self) -> float:
        """The pseudo-count in use: the setting, or what `fit` chose for "cv"."""
        spec = self.fitted("alpha_").spec
        if not hasattr(spec, "alpha"):
            raise AttributeError(f"{type(self).__name__} smooths nothing.")
        return spec.pseudo_count()

    def log_joint(self, X: Any) -> np.ndarray:
        """(n, C) δ_k(x) = log π_k + log p(x | k)."""
        return self.evaluate(X, Rule.joint)

    def log_density(self, X: Any) -> np.ndarray:
        """(n,) log p(x) = log Σ_k π_k p(x | k): how ordinary each row is."""
        return self.evaluate(X, Rule.evidence)

    def predict_table(self, source: Any, keep: Any = ()) -> Any:
        """A record-batch reader that predicts as it is read: any size of table, in little memory.

        Its columns are `prediction`, one posterior `p_…` per class and `log_density`, after the
        columns of the source named in `keep`.
        """
        state = self.checked_state()
        self.check_columns(source)
        opened = open_table_to_score(state, source)
        return prediction_reader(state.rule, state.classes, opened, keep)

    def sample(
        self, n: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Simulate n rows: k ~ Cat(π), then x ~ p(x | k). `y` fixes the class, or each row's.

        Returns the rows and their labels.
        """
        state = self.checked_state()
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise VerosimError(f"sample({n!r}): a whole number of rows, zero or more, is needed.")
        rng = generator(random_state)
        classes = None
        if y is not None:
            wanted = np.full(n, y) if np.ndim(y) == 0 else np.asarray(y)
            if wanted.shape != (n,):
                raise VerosimError(f"y is one label, or one for each of the {n} rows.")
            self.check_has_rows(encode_labels(wanted)[1])
            classes = positions(wanted, self.classes_)
        rows, classes = state.rule.sample(n, classes, rng)
        return rows, self.classes_[classes]

    def check_has_rows(self, labels: np.ndarray) -> None:
        """Raise unless every label is a class of which some row was seen."""
        check_known(labels, self.classes_)
        known = self.classes_.tolist()
        for label in labels.tolist():
            if not self.class_count_[known.index(label)] > 0:
                raise VerosimError(
                    f"Class {label!r} has no rows yet, so nothing is known of it.",
                    "fit some rows of it first.",
                )
