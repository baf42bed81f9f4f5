"""A wrapper answers by a model's rule and by thresholds of its own.

    wrapper = model ∘ data,  answer = thresholds ∘ rule(model)

The model stays a function of its statistics: merge, forget and the rest are had on `model_`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags

from verosim.bayes.rule import Rule
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier, NotFitted, ScoreMixin, table_accuracy
from verosim.estimators.predictions import prediction_reader
from verosim.models import Inputs, State
from verosim.models.opening import open_table_to_score


class Wrapper(ScoreMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """What calibrated, conformal and rejecting classifiers share."""

    model: Any
    model_: Any  # fitted

    @abstractmethod
    def rule_of(self, rule: Rule) -> Rule:
        """The rule that answers, given the model's."""

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
        """The rule that answers."""
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
        """What `Rule.decide` numbers: the classes, and whatever else may be answered."""
        return self.classes_

    # Predicting -----------------------------------------------------------------------------

    def opened_to_score(self, X: Any) -> tuple[Any, Any]:
        rule, rows = self.checked_model().opened_to_score(X)
        return self.rule_of(rule), rows

    def predict(self, X: Any) -> np.ndarray:
        """The answer for every row."""
        decided = self.evaluate(X, lambda rule, rows: rule.decide(rows))
        return self.answers[decided]

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, C) p(k | x), classes in the order of `classes_`."""
        return self.evaluate(X, lambda rule, rows: rule.posterior(rows))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(n, C) log p(k | x)."""
        return self.evaluate(X, lambda rule, rows: rule.log_posterior(rows))

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
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.model).input_tags
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


def fit_model(model: Any, inputs: Inputs) -> Any:
    """A copy of a model, wrapper or not, fitted."""
    return clone(model).fit(
        inputs.X, inputs.y, inputs.sample_weight, schema=inputs.schema, na=inputs.na
    )
