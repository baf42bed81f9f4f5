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
from verosim.estimators.arrays import check_features
from verosim.estimators.distance import Distances
from verosim.estimators.fitted import NotFitted
from verosim.estimators.judge import Judge
from verosim.twins.labelled import Labelled, check_two_classes, labelled


class LinearTwin(Distances, Judge, ClassifierMixin, BaseEstimator):
    """Base of the classifiers whose weights are fitted to tell classes apart.

    One that gives probabilities is a `Posterior` as well: class Twin(Posterior, LinearTwin).
    """

    classes_: np.ndarray  # (C,)
    coef_: np.ndarray  # (C, d); (1, d) for two classes
    intercept_: np.ndarray  # (C,) or (1,)
    n_features_in_: int
    feature_names_in_: np.ndarray
    _decision: Decision
    _sparse = True  # reads sparse rows

    # Learning ------------------------------------------------------------------------------

    def _opened(self, X: Any, y: Any, sample_weight: Any = None, declared: Any = None) -> Labelled:
        """The rows to learn from, of two classes or more; `declared` classes may still come."""
        rows = labelled(self, X, y, sample_weight, declared=declared, sparse=self._sparse)
        if declared is None:
            check_two_classes(rows, type(self).__name__)
        return rows

    def _settle(self, rows: Labelled, coef: np.ndarray, intercept: np.ndarray) -> Self:
        """Take weights (1 or C, d) and intercepts (1 or C,) as fitted."""
        self.classes_ = rows.classes
        self._reads(rows.columns)
        self.coef_, self.intercept_ = coef, intercept
        scores = LinearScores.of(coef, intercept)
        self._decision = Decision(np.zeros(len(rows.classes)), scores, rows.columns)
        return self

    def _reads(self, columns: Columns) -> None:
        """Take these as the columns of X."""
        self.n_features_in_ = len(columns)
        if columns.names is not None:
            self.feature_names_in_ = np.array(columns.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # Predicting ------------------------------------------------------------------------------

    def _ready(self, X: Any) -> tuple[Decision, Any]:
        if not self.__sklearn_is_fitted__():
            raise NotFitted(
                f"This {type(self).__name__} instance is not fitted yet.", "call fit(X, y) first."
            )
        check_features(self, X)
        names = self._decision.columns.names
        return self._decision, as_matrix(X, sparse_allowed=self._sparse, names=names)

    def __sklearn_is_fitted__(self) -> bool:
        return "_decision" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        return tags
