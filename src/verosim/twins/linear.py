"""What every classifier by linear functions shows: weights, decisions, distances.

    y_k(x) = w_kᵀx + b_k,   predict = argmax_k y_k(x),   r(x) = y(x)/‖w‖

Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.1.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from verosim.axes import Columns
from verosim.bayes.linear import LinearScores
from verosim.bayes.rule import Decision
from verosim.data import as_matrix
from verosim.estimators.base import NotFitted, ScoreMixin
from verosim.estimators.checks import check_features
from verosim.estimators.distance import signed_distance
from verosim.twins.training_rows import TrainingRows, check_two_classes, training_rows


class LinearClassifier(ScoreMixin, ClassifierMixin, BaseEstimator):
    """Base of the classifiers whose weights are fitted to tell classes apart."""

    coef_: np.ndarray  # (C, d); (1, d) for two classes
    intercept_: np.ndarray  # (C,) or (1,)
    n_features_in_: int
    feature_names_in_: np.ndarray
    gives_probabilities = False
    _decision: Decision

    signed_distance = signed_distance

    # Learning ------------------------------------------------------------------------------

    def training_rows(self, X: Any, y: Any, sample_weight: Any = None) -> TrainingRows:
        """The rows to learn from, of two classes or more."""
        rows = training_rows(self, X, y, sample_weight)
        check_two_classes(type(self).__name__, rows.codes, rows.classes)
        return rows

    def set_weights(
        self, classes: np.ndarray, columns: Columns, coef: np.ndarray, intercept: np.ndarray
    ) -> Self:
        """Take weights (1 or C, d) and intercepts (1 or C,) as fitted."""
        self.classes_ = classes
        self.set_columns(columns)
        self.coef_, self.intercept_ = coef, intercept
        self._decision = Decision(np.zeros(len(classes)), LinearScores.of(coef, intercept), columns)
        return self

    def set_columns(self, columns: Columns) -> None:
        """Take these as the columns of X."""
        self.n_features_in_ = len(columns)
        if columns.names is not None:
            self.feature_names_in_ = np.array(columns.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # Predicting ------------------------------------------------------------------------------

    def opened_to_score(self, X: Any) -> tuple[Decision, Any]:
        if not self.__sklearn_is_fitted__():
            raise NotFitted.of(self)
        check_features(self, X)
        names = self._decision.columns.names
        return self._decision, as_matrix(X, sparse_allowed=True, names=names)

    def __sklearn_is_fitted__(self) -> bool:
        return "_decision" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
