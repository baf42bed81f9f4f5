"""Classifiers that learn by sums.

    fit = Σ over rows,   partial_fit = +,   forget = −,   decay = ×,   merge = +

The fitted state is a statistic of the training rows. The methods here call the functions of
`models/` and `folds/`, which do the work.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from inspect import signature
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from verosim.arguments import check_settings
from verosim.bayes.priors import free_priors
from verosim.data.adapters import is_stream, opened_as
from verosim.data.schema import Schema
from verosim.errors import VerosimError
from verosim.estimators.checked_method import RowUpdate
from verosim.estimators.checks import check_features, check_width
from verosim.estimators.one_state import reads, updates
from verosim.estimators.predictions import rows_to_score, table_accuracy
from verosim.estimators.score_mixin import NotFitted, ScoreMixin
from verosim.folds.fitting import fit
from verosim.folds.inputs import inputs_of
from verosim.models import (
    Spec,
    State,
    add_rows,
    decay,
    derive,
    forget_rows,
    merge,
    open_to_score,
    prune,
)
from verosim.models.opening import few_numbers_to_score, with_marks
from verosim.stats import Statistic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.bayes import Program
    from verosim.typing import FileOptions, Labels, MissingMarks, Source, Weights


@cache
def _shared_names(estimator: type, spec: type[Spec]) -> tuple[str, ...]:
    """The parameters of an estimator that are fields of a spec."""
    known = {field.name for field in fields(spec)}
    return tuple(name for name in signature(estimator).parameters if name in known)


@cache
def _all_settings(estimator: type) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives the values of all parameters of an estimator."""
    names = tuple(signature(estimator).parameters)
    return (
        attrgetter(*names) if len(names) > 1 else lambda model: tuple(vars(model)[n] for n in names)
    )


class StatisticClassifier(ScoreMixin, ClassifierMixin, BaseEstimator):
    """A classifier with a statistic of the training rows as its fitted state."""

    state_: State  # the only fitted state

    @abstractmethod
    def spec(self) -> Spec:
        """Collect the parameters in one immutable value. The library uses it internally.

        Returns
        -------
        Spec
            The settings of the model.
        """

    def settings(self, spec: type[Spec]) -> dict[str, Any]:
        """List the parameters that a class of settings has. `spec` calls this method.

        Parameters
        ----------
        spec : type
            The class of settings.

        Returns
        -------
        dict
            The name of the estimator under "name", and the values of the shared parameters.

        Raises
        ------
        VerosimError
            If the annotation of a parameter does not allow its value.
        """
        check_settings(self)
        names = _shared_names(type(self), spec)  # type: ignore[arg-type]  # a class is hashable
        return {"name": type(self).__name__, **{name: getattr(self, name) for name in names}}

    # Learning --------------------------------------------------------------------------------

    @updates
    def fit(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        schema: Schema | None = None,
        na: MissingMarks = (),
        read: FileOptions | None = None,
        unlabelled: Literal["error", "skip"] = "error",
    ) -> Self:
        """Fit the model to training rows. Earlier rows are discarded.

        The rows are read once. A setting with the value "cv" needs a second pass.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The training rows. A table is a data frame, Arrow data, a DuckDB relation,
            `verosim.query(...)`, a mapping of columns, the path of a file or a folder, or an
            iterable of tables.
        y : array-like of shape (n,) or str or None, default=None
            The labels: strings, booleans or integers. A string is the name of the target column
            of a table. None is allowed if `schema` names the target.
        sample_weight : array-like of shape (n,) or str or None, default=None
            Non-negative weights of the rows, or the name of a column of weights. Rows of weight
            zero are ignored. None gives every row the weight 1.
        schema : Schema or None, default=None
            How each column of a table is read, from `verosim.look`. None means that `fit` looks
            at the first rows itself. Models that are fitted with the same schema can be merged.
        na : iterable of str, default=()
            Texts that mean "missing" in a table, in addition to the empty cell.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.
        unlabelled : {"error", "skip"}, default="error"
            What to do with rows without a label. "error" raises an error that counts them. "skip"
            leaves them out.

        Returns
        -------
        Self
            The fitted model itself.
        """
        inputs = inputs_of(opened_as(X, read), y, sample_weight, schema, na, unlabelled)
        return self.set_state(fit(self.spec(), inputs))

    @RowUpdate
    @updates
    def partial_fit(
        self,
        X: Source,
        y: Labels | None = None,
        classes: ArrayLike | None = None,
        sample_weight: Weights | None = None,
        *,
        schema: Schema | None = None,
        na: MissingMarks = (),
        read: FileOptions | None = None,
        unlabelled: Literal["error", "skip"] = "error",
    ) -> Self:
        """Add training rows to the model, in place.

        The result is the same as one `fit` on all rows. New classes may appear in any call.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to add.
        y : array-like of shape (n,) or str or None, default=None
            The labels, or the name of the target column of a table. None is allowed if the model
            or `schema` knows the name of the target.
        classes : array-like of shape (C,) or None, default=None
            Labels that may appear later. This argument is optional in every call.
        sample_weight : array-like of shape (n,) or str or None, default=None
            Non-negative weights of the rows, or the name of a column of weights. None gives every
            row the weight 1.
        schema : Schema or None, default=None
            How each column of a table is read, for the first call. None means that the first call
            looks at its rows itself.
        na : iterable of str, default=()
            Texts that mean "missing" in a table, in addition to the empty cell, for the first
            call.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.
        unlabelled : {"error", "skip"}, default="error"
            What to do with rows without a label. "error" raises an error that counts them. "skip"
            leaves them out.

        Returns
        -------
        Self
            The updated model itself.
        """
        known = None
        X = opened_as(X, read)
        if self.__sklearn_is_fitted__():
            self.check_columns(X)
            known = self.checked_state()
        fixed = None if known is None else known.schema
        inputs = inputs_of(X, y, sample_weight, schema, na, unlabelled, fixed)
        return self.set_state(add_rows(self.spec(), known, inputs, classes))

    @RowUpdate
    @updates
    def forget(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        read: FileOptions | None = None,
        unlabelled: Literal["error", "skip"] = "error",
    ) -> Self:
        """Remove training rows from the model, in place.

        The result is the model of the remaining rows. The removed rows must be rows that the
        model was fitted on.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to remove.
        y : array-like of shape (n,) or str or None, default=None
            Their labels, or the name of the target column of a table.
        sample_weight : array-like of shape (n,) or str or None, default=None
            The weights that the rows had when they were added. None means the weight 1.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.
        unlabelled : {"error", "skip"}, default="error"
            What to do with rows without a label. "error" raises an error that counts them. "skip"
            leaves them out.

        Returns
        -------
        Self
            The updated model itself.
        """
        known = self.checked_state()
        X = opened_as(X, read)
        self.check_columns(X)
        inputs = inputs_of(X, y, sample_weight, unlabelled=unlabelled, known=known.schema)
        return self.set_state(forget_rows(self.spec(), known, inputs))

    @updates
    def decay(self, factor: float) -> Self:
        """Multiply the weight of all earlier training rows by a factor, in place.

        Call it before each `partial_fit` so that recent rows count more than old rows.

        Parameters
        ----------
        factor : float
            A number above 0 and at most 1.

        Returns
        -------
        Self
            The updated model itself.
        """
        return self.set_state(decay(self.spec(), self.checked_state(), factor))

    @updates
    def prune(self, min_count: float) -> Self:
        """Remove rare categories and tokens from the model permanently, in place.

        The model, its schema and its pickles no longer contain these values. A token is removed as
        if it had not occurred, and a cell with a removed category counts as missing. If such a
        value occurs again later, its count starts at zero. Rows that have removed values can still
        be forgotten, except with `TextRidge`. Models that read a table as cells or as a design
        matrix (`AODE`, `KDB`, `TAN`, `LiftedLDA`, and LDA, QDA and RDA with `encode`) keep the sums
        of a rare value, and only its name is replaced by a hash. Their predictions do not change.

        Parameters
        ----------
        min_count : float
            Values with a smaller total count are removed. A count is a sum of weights. It is a
            number of rows for `AODE`, `KDB`, `TAN`, `TextRidge`, and `TextNB(weighting="l2")`.

        Returns
        -------
        Self
            The updated model itself.

        Raises
        ------
        VerosimError
            If the model has no categories and no tokens, or if its tokens were given by
            `vocabulary` or `hashed`.
        """
        return self.set_state(prune(self.spec(), self.checked_state(), min_count))

    @reads
    def merge(self, other: StatisticClassifier) -> Self:
        """Combine two fitted models into a new model of the rows of both.

        `a + b` and `sum(models)` do the same. The two models stay unchanged.

        Parameters
        ----------
        other : fitted classifier
            A fitted model of the same kind.

        Returns
        -------
        Self
            A new fitted model with the parameters of this model.
        """
        if not isinstance(other, StatisticClassifier):
            raise VerosimError(
                f"A model can be merged only with another model; got {type(other).__name__}.",
                "Give a fitted model of the same kind.",
            )
        state = merge(self.spec(), self.checked_state(), other.checked_state())
        return clone(self).set_state(state)

    def __add__(self, other: StatisticClassifier) -> Self:
        return self.merge(other)

    def __radd__(self, other: Any) -> Self:
        """0 + model, so that sum(models) is the model of all their rows."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    # The state -------------------------------------------------------------------------------

    def set_state(self, state: State) -> Self:
        """Set the fitted state. The library uses this method internally.

        Parameters
        ----------
        state : State
            The fitted state.

        Returns
        -------
        Self
            The model itself.
        """
        self.state_ = state
        return self

    @reads
    def checked_state(self) -> State:
        """Return the fitted state after two checks. The library uses this method internally.

        Returns
        -------
        State
            The fitted state.

        Raises
        ------
        VerosimError
            If the model is not fitted, or if a parameter that affects the sums was changed after
            the rows were read.
        """
        if not self.__sklearn_is_fitted__():
            raise NotFitted.of(self)
        state, kind = self.state_, type(self)
        settings = _all_settings(kind)(self)  # type: ignore[arg-type]  # a class is hashable
        if state.was_checked_for(settings):
            return state
        stale = state.stale(self.spec())
        if stale:
            raise VerosimError(
                f"{', '.join(stale)} changed after the rows were read, and the stored sums depend "
                "on it.",
                "Fit the model again.",
            )
        state.note_checked(settings)
        return state

    @updates
    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of the model.

        On a fitted model a new value takes effect at once, without the training rows. Parameters
        that change how rows are counted need a new `fit`.

        Parameters
        ----------
        **parameters : Any
            The new values, by name.

        Returns
        -------
        Self
            The model itself.
        """
        super().set_params(**parameters)
        if self.__sklearn_is_fitted__():
            state, spec = self.state_, self.spec()
            if not state.stale(spec):
                self.set_state(derive(spec, state.statistic, state.schema, state.tuned))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "state_" in vars(self)

    def fitted(self, attribute: str) -> State:
        """Return the fitted state for a fitted attribute. The library uses this method internally.

        Parameters
        ----------
        attribute : str
            The name of the attribute, for the error message.

        Returns
        -------
        State
            The fitted state.

        Raises
        ------
        AttributeError
            If the model is not fitted.
        """
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted.")
        return self.state_

    # Fitted attributes: all of them are computed from the state --------------------------------

    @property
    def stats_(self) -> Statistic:
        """The statistic of the training rows."""
        return self.fitted("stats_").statistic

    @property
    def schema_(self) -> Schema:
        """How each column of the table is read. It does not exist after a fit on arrays."""
        schema = self.fitted("schema_").schema
        if schema is None:
            raise AttributeError(
                f"{type(self).__name__} has no schema_, because it was fitted on arrays."
            )
        return schema

    @property
    def classes_(self) -> np.ndarray:  # type: ignore[override]
        """(C,) the class labels, sorted."""
        return self.fitted("classes_").classes

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X at fit."""
        return self.fitted("n_features_in_").width

    @property
    def feature_names_in_(self) -> np.ndarray:
        """(d,) the names of the columns of X at fit. It exists only if X had column names."""
        names = self.fitted("feature_names_in_").names_in
        if names is None:
            raise AttributeError("X had no column names at fit.")
        return np.array(names, dtype=object)

    @property
    def class_count_(self) -> np.ndarray:
        """(C,) the total weight of the rows of each class."""
        return self.fitted("class_count_").class_weight.copy()

    @property
    def n_parameters_(self) -> int:
        """The number of free parameters: C − 1 estimated priors, and those of the densities."""
        state = self.fitted("n_parameters_")
        return state.params.n_parameters + free_priors(state.spec.prior_setting, len(state.classes))

    # Scoring rows ------------------------------------------------------------------------------

    def opened_to_score(self, X: Source) -> tuple[Any, Any]:
        state = self.checked_state()
        self.check_columns(X)
        return state.rule, open_to_score(state, X)

    def _opened_to_evaluate(self, X: Source) -> tuple[Any, Any]:
        state = self.checked_state()
        self.check_columns(X)
        found = few_numbers_to_score(state, X)
        return state.rule, open_to_score(state, X) if found is None else found

    @reads
    def score(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        na: MissingMarks = (),
        read: FileOptions | None = None,
        unlabelled: Literal["error", "skip"] = "error",
    ) -> float:
        """Compute the accuracy: the share of rows with a correct prediction.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to classify.
        y : array-like of shape (n,) or str or None, default=None
            The true labels, or the name of the target column of a table. None uses the target
            column of the fit.
        sample_weight : array-like of shape (n,) or str or None, default=None
            Weights of the rows, or the name of a column of weights. None gives every row the
            weight 1.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.
        unlabelled : {"error", "skip"}, default="error"
            What to do with rows without a label. "error" raises an error that counts them. "skip"
            leaves them out.

        Returns
        -------
        float
            The accuracy, from 0 to 1.
        """
        state = self.checked_state()
        X = with_marks(opened_as(X, read), na)
        X, y, sample_weight = rows_to_score(state, X, y, sample_weight, unlabelled)
        if not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        return table_accuracy(state, X, y, sample_weight)

    @reads
    def program(self) -> Program:
        """Write the scores of the model down as data: priors, readings of cells, and terms.

            δ_k(x) = log π_k + Σ_t s_tk(x)

        Returns
        -------
        Program
            The program. Its `evaluate` gives `log_joint`, or `predict_log_proba` if the model is
            not a density of the columns. Without probabilities it gives the scores that decide.

        Raises
        ------
        VerosimError
            If the model cannot be written as a program.
        """
        from verosim.models.program import program_of

        return program_of(self.checked_state(), self.gives_probabilities)

    def check_columns(self, X: Source) -> None:
        """Check that X has the columns of the training rows. Predicting methods call this.

        The columns of a table are found by name, so their order does not matter.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to check.
        """
        state, schema = self.state_, self.state_.schema
        if type(X) is np.ndarray and state.names_in is None:
            check_width(self, X, state.width)  # there is nothing else to check
            return
        if (schema is not None and schema.target is not None) or is_stream(X):
            return
        check_features(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        spec = self.spec()
        tags.input_tags.sparse, tags.input_tags.allow_nan = spec.reads_sparse, spec.allows_missing
        tags.input_tags.categorical = tags.input_tags.string = spec.reads_values
        return tags
