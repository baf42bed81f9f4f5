"""A wrapper predicts with the rule of a model and with a correction from held-out rows.

    prediction(x) = correction(rule of the model, x)

The correction is a calibration map, a threshold or a set of scores. The fitted model itself is
`model_`, with all its methods, such as `merge` and `forget`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from verosim.arguments import checked
from verosim.bayes.program import POSTERIOR_OUTPUT, Program
from verosim.bayes.rule import Rule
from verosim.data.adapters import check_not_read_once, opened_as
from verosim.estimators.base import GenerativeClassifier, NotFitted, ScoreMixin, table_accuracy
from verosim.estimators.density_method import check_density
from verosim.estimators.one_state import reads
from verosim.estimators.predictions import prediction_reader, rows_to_score
from verosim.folds import HeldOutEngine, inputs_of
from verosim.folds.inputs import (
    in_random_folds,
    no_more_folds_than_rows,
    target_of,
    without_split_columns,
)
from verosim.models import Inputs, Spec, State, open_rows
from verosim.models.opening import open_table_to_score, with_marks
from verosim.validate.cross_validation import check_generative

if TYPE_CHECKING:
    from pyarrow import RecordBatchReader

    from verosim.typing import FileOptions, Labels, MissingMarks, Source, Weights


def has_decision_function(wrapper: Wrapper) -> bool:
    """Whether the model has a decision function; some models have one only after fit."""
    return hasattr(vars(wrapper).get("model_", wrapper.model), "decision_function")


class Wrapper(ScoreMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """The base class of `Calibrated`, `Conformal`, `Reject` and `SemiSupervised`."""

    model: Any
    model_: Any  # fitted

    @abstractmethod
    def rule_of(self, rule: Rule) -> Rule:
        """The rule of the wrapper.

        Parameters
        ----------
        rule : Rule
            The rule of the model inside.

        Returns
        -------
        Rule
            The rule that predicts.
        """

    # The model inside -----------------------------------------------------------------------

    def checked_model(self) -> Any:
        """The fitted model inside; an error before fit.

        Returns
        -------
        GenerativeClassifier or wrapper
            The fitted model, `model_`.
        """
        if "model_" not in vars(self):
            raise NotFitted.of(self)
        return self.model_

    @reads
    def checked_state(self) -> State:
        """The state of the innermost model, which reads the rows; an error before fit.

        Returns
        -------
        State
            The statistic, the schema and the rule of the fitted model.
        """
        state: State = self.checked_model().checked_state()
        return state

    @reads
    def rule(self) -> Rule:
        """The rule that predicts.

        Returns
        -------
        Rule
            The rule of the model inside, with the correction of this wrapper.
        """
        inner = self.checked_model()
        return self.rule_of(inner.rule() if isinstance(inner, Wrapper) else inner.state_.rule)

    @reads
    def program(self) -> Program:
        """Write the scores of the model inside down as data: priors, readings of cells, and terms.

        Returns
        -------
        Program
            The program. Its `evaluate` gives `predict_log_proba`.

        Raises
        ------
        VerosimError
            If the model cannot be written as a program.
        """
        return replace(self.checked_model().program(), output=POSTERIOR_OUTPUT)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    @property
    def classes_(self) -> np.ndarray:  # type: ignore[override]
        """(C,) the class labels, sorted."""
        return self._fitted("classes_").classes_

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X."""
        return int(self._fitted("n_features_in_").n_features_in_)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns of X."""
        return self._fitted("feature_names_in_").feature_names_in_

    def _fitted(self, name: str) -> Any:
        if "model_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        return self.model_

    @property
    def answers(self) -> np.ndarray:
        """The prediction for each number that `Rule.decide` returns."""
        return self.classes_

    # Predicting -----------------------------------------------------------------------------

    def opened_to_score(self, X: Source) -> tuple[Any, Any]:
        """Check the rows and open them for prediction.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows.

        Returns
        -------
        rule : Rule
            The rule that predicts.
        rows : source
            The rows as the rule reads them.
        """
        rule, rows = self.checked_model().opened_to_score(X)
        return self.rule_of(rule), rows

    @available_if(has_decision_function)
    @checked
    def decision_function(
        self, X: Source, *, na: MissingMarks = (), read: FileOptions | None = None
    ) -> np.ndarray:
        """The score of each class, up to a term that is the same for all classes.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n, C), or (n,) for two classes
            The scores, with classes in the order of `classes_`. For two classes, it is the score
            of the second class minus the score of the first.
        """
        return super().decision_function(X, na=na, read=read)

    @reads
    def log_density(
        self, X: Source, *, na: MissingMarks = (), read: FileOptions | None = None
    ) -> np.ndarray:
        """The log-density of each row by the model inside.

            log p(x) = log Σ_k π_k p(x | k)

        with π_k the prior and p(x | k) the density of class k.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n,)
            log p(x) of each row. A low value means an unusual row.
        """
        check_density(self._spec(), "log_density")
        return self.evaluate(opened_as(X, read), lambda rule, rows: rule.evidence(rows), na)

    @reads
    def predict_table(
        self,
        source: Source,
        keep: str | Iterable[str] = (),
        *,
        na: MissingMarks = (),
        read: FileOptions | None = None,
    ) -> RecordBatchReader:
        """Predict a table of any size, in pieces.

        The columns of the result are the columns named in `keep`, then `prediction`, one posterior
        `p_…` for each class, and `log_density` if the model is a density of the columns.

        Parameters
        ----------
        source : table
            The rows: a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path to a file
            or a folder, or an iterable of tables.
        keep : str or iterable of str, default=()
            The columns of the source to copy to the result.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        pyarrow.RecordBatchReader
            A reader that predicts the rows while it is read.
        """
        source = with_marks(opened_as(source, read), na)
        opened = open_table_to_score(self.checked_state(), source)
        density = self._spec().is_density
        return prediction_reader(self.rule(), self.classes_, opened, keep, density)

    def _spec(self) -> Spec:
        """The settings of the innermost model."""
        return generative(self.model, type(self).__name__).spec()

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
        """The accuracy: the share of rows with a correct prediction.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows.
        y : array-like of shape (n,), str or None, default=None
            The true labels, or the name of the target column of a table. None uses the target
            column of the fit.
        sample_weight : array-like of shape (n,), str or None, default=None
            The weight of each row, or the name of a column of weights.
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
        return table_accuracy(state, X, y, sample_weight, self.rule(), self.answers)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.model)
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        return tags


def generative(model: Any, caller: str) -> GenerativeClassifier:
    """The generative classifier inside a model, fitted or not."""
    inner = model
    while isinstance(inner, Wrapper):
        inner = inner.model
    check_generative(inner, caller)
    found: GenerativeClassifier = inner
    return found


# Fitting -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Training:
    """The rows that a wrapper is fitted on, and the folds in which they are held out."""

    spec: Spec  # of the innermost model
    inputs: Inputs
    cv: Any
    groups: Any = None

    @classmethod
    def of(
        cls,
        wrapper: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        schema: Any,
        na: Any,
        unlabelled: str = "error",
        groups: Any = None,
        read: Any = None,
    ) -> Training:
        """The checked arguments of `fit`; columns of folds or groups are not used as features."""
        check_not_read_once(X, type(wrapper).__name__)
        spec = generative(wrapper.model, type(wrapper).__name__).spec()
        inputs = inputs_of(
            opened_as(X, read), target_of(wrapper.model, y), sample_weight, schema, na, unlabelled
        )
        inputs = without_split_columns(spec, inputs, wrapper.cv, groups)
        return cls(spec, inputs, wrapper.cv, groups)

    def of_spec(self, spec: Spec) -> Training:
        """The same rows for another model, which looks at the table only once."""
        schema = open_rows(spec, self.inputs).schema
        return replace(self, spec=spec, inputs=replace(self.inputs, schema=schema, na=()))

    def shuffled(self) -> Training:
        """The same rows in random folds, if cv is a number and the labels are an array.

        The folds of a table with a target column are random already.
        """
        return replace(self, cv=in_random_folds(self.cv, self.inputs, self.groups))

    def engine(self) -> HeldOutEngine:
        """The held-out engine of the innermost model."""
        cv = no_more_folds_than_rows(self.cv, self.inputs)
        return HeldOutEngine([self.spec], self.inputs, cv, self.groups)


def fit_model(model: Any, inputs: Inputs) -> Any:
    """A fitted copy of a model or of a wrapper."""
    return clone(model).fit(
        inputs.X, inputs.y, inputs.sample_weight, schema=inputs.schema, na=inputs.na
    )
