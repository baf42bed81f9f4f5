"""A wrapper predicts by the rule of a model and by what it learnt from held-out rows.

    wrapper = model ∘ data,  prediction = thresholds ∘ rule(model)

The model stays a function of its statistics: merge, forget and the rest are methods of `model_`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from verosim.bayes.rule import Rule
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier, NotFitted, ScoreMixin, table_accuracy
from verosim.estimators.predictions import prediction_reader
from verosim.folds import HeldOutEngine, inputs_of
from verosim.folds.inputs import no_more_folds_than_rows, without_split_columns
from verosim.models import Inputs, Spec, State
from verosim.models.opening import open_table_to_score


def has_decision_function(wrapper: Wrapper) -> bool:
    """Whether the model has a decision function; some have one only once they are fitted."""
    return hasattr(vars(wrapper).get("model_", wrapper.model), "decision_function")


class Wrapper(ScoreMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """What calibrated, conformal, rejecting and semi-supervised classifiers share."""

    model: Any
    model_: Any  # fitted

    @abstractmethod
    def rule_of(self, rule: Rule) -> Rule:
        """The rule that predicts, given the model's."""

    # The model inside -----------------------------------------------------------------------

    def checked_model(self) -> Any:
        """The fitted model."""
        if "model_" not in vars(self):
            raise NotFitted.of(self)
        return self.model_

    def checked_state(self) -> State:
        """The state of the innermost model, which reads rows."""
        state: State = self.checked_model().checked_state()
        return state

    def rule(self) -> Rule:
        """The rule that predicts."""
        inner = self.checked_model()
        return self.rule_of(inner.rule() if isinstance(inner, Wrapper) else inner.state_.rule)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    @property
    def classes_(self) -> np.ndarray:  # type: ignore[override]
        return self._fitted("classes_").classes_

    @property
    def n_features_in_(self) -> int:
        return int(self._fitted("n_features_in_").n_features_in_)

    @property
    def feature_names_in_(self) -> np.ndarray:
        return self._fitted("feature_names_in_").feature_names_in_

    def _fitted(self, name: str) -> Any:
        if "model_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        return self.model_

    @property
    def answers(self) -> np.ndarray:
        """What the numbers of `Rule.decide` stand for: the classes, and other predictions."""
        return self.classes_

    # Predicting -----------------------------------------------------------------------------

    def opened_to_score(self, X: Any) -> tuple[Any, Any]:
        rule, rows = self.checked_model().opened_to_score(X)
        return self.rule_of(rule), rows

    @available_if(has_decision_function)
    def decision_function(self, X: Any) -> np.ndarray:
        """(n, C) scores of the classes, up to a term all share; of two classes their difference."""
        return super().decision_function(X)

    def log_density(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of the model."""
        return self.evaluate(X, lambda rule, rows: rule.evidence(rows))

    def predict_table(self, source: Any, keep: Any = ()) -> Any:
        """A record-batch reader that predicts as it is read, as a model's own `predict_table`."""
        opened = open_table_to_score(self.checked_state(), source)
        return prediction_reader(self.rule(), self.classes_, opened, keep)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; y may name the target column, and sample_weight the column of weights."""
        if not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        state = self.checked_state()
        return table_accuracy(state, X, y, sample_weight, self.rule(), self.answers)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.model)
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        return tags


def generative(model: Any, what: str) -> GenerativeClassifier:
    """The generative classifier inside a model, fitted or not."""
    inner = model
    while isinstance(inner, Wrapper):
        inner = inner.model
    if not isinstance(inner, GenerativeClassifier):
        raise VerosimError(
            f"{what} needs a generative classifier of verosim, not {type(inner).__name__}.",
            "NaiveBayes(), LDA(), TextNB() …",
        )
    return inner


# Fitting -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Training:
    """What a wrapper is fitted on: rows, and the folds in which they are held out."""

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
        groups: Any = None,
    ) -> Training:
        """The arguments of a wrapper's `fit`, checked; columns that split the rows are left out."""
        spec = generative(wrapper.model, type(wrapper).__name__).spec()
        inputs = inputs_of(X, y, sample_weight, schema, na)
        inputs = without_split_columns(spec, inputs, wrapper.cv, groups)
        return cls(spec, inputs, wrapper.cv, groups)

    def engine(self) -> HeldOutEngine:
        """The held-out engine of the innermost model."""
        cv = no_more_folds_than_rows(self.cv, self.inputs)
        return HeldOutEngine([self.spec], self.inputs, cv, self.groups)


def fit_model(model: Any, inputs: Inputs) -> Any:
    """A copy of a model, wrapper or not, fitted."""
    return clone(model).fit(
        inputs.X, inputs.y, inputs.sample_weight, schema=inputs.schema, na=inputs.na
    )
