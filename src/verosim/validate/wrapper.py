"""A wrapper judges by a model's rule and by thresholds of its own.

    wrapper = model ∘ data,  answer = thresholds ∘ rule(model)

The model stays a function of its statistics: merge, forget and the rest are had on `model_`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags

from verosim.bayes.rule import Rule
from verosim.data import as_weights
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.fitted import NotFitted
from verosim.estimators.predictions import accuracy, prediction_reader


class Wrapper(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """What calibrated, conformal and rejecting classifiers share."""

    model: Any
    model_: Any  # fitted

    def _judging(self, rule: Rule) -> Rule:
        """The rule that answers, given the model's."""
        return rule

    # The model inside -----------------------------------------------------------------------

    @property
    def _generative(self) -> GenerativeClassifier:
        """The innermost model, which reads rows."""
        inner = self._inner()
        return inner._generative if isinstance(inner, Wrapper) else inner

    def _inner(self) -> Any:
        if "model_" not in vars(self):
            raise NotFitted(
                f"This {type(self).__name__} instance is not fitted yet.", "call fit(X, y) first."
            )
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    @property
    def _rule(self) -> Rule:
        return self._judging(self._inner()._rule)

    @property
    def classes_(self) -> np.ndarray:
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
    def _answers(self) -> np.ndarray:
        """What `Rule.decide` numbers: the classes, and whatever else may be answered."""
        return self.classes_

    # Predicting -----------------------------------------------------------------------------

    def _scores(self, X: Any, score: Callable[[Any, Any], np.ndarray]) -> np.ndarray:
        """score(rule, rows), a piece at a time where X streams."""
        return self._inner()._scores(X, lambda rule, rows: score(self._judging(rule), rows))

    def predict(self, X: Any) -> np.ndarray:
        """The answer for every row."""
        decided = self._scores(X, lambda rule, rows: rule.decide(rows))
        return self._answers[decided]

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, C) p(k | x), classes in the order of `classes_`."""
        return self._scores(X, lambda rule, rows: rule.posterior(rows))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(n, C) log p(k | x)."""
        return self._scores(X, lambda rule, rows: rule.log_posterior(rows))

    def log_density(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of the model."""
        return self._scores(X, lambda rule, rows: rule.evidence(rows))

    def predict_table(self, source: Any, keep: Any = ()) -> Any:
        """A record-batch reader that predicts as it is read, as a model's own `predict_table`."""
        model = self._generative
        model._check_columns(source)
        return prediction_reader(self._rule, self.classes_, model._source(source), keep)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; y may name the target column, and sample_weight the column of weights."""
        if not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        weights = sample_weight
        if weights is not None and not isinstance(weights, str):
            weights = as_weights(weights, np.size(weights))
        return accuracy(self._rule, self._answers, self._generative._source(X, y, weights))

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
