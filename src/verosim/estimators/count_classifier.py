"""The attributes and methods that classifiers of presence and of counts share."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.distance import signed_distance
from verosim.estimators.scikit_names import class_log_prior, feature_count


class CountClassifier(GenerativeClassifier):
    """A classifier of presence or of counts. Sparse rows are read without making them dense."""

    counts_only = False  # whether negative cells are an error

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """(C, d) log φ, the log probability of each column in each class."""
        return self.fitted("feature_log_prob_").params.log_mass.T

    class_log_prior_ = property(class_log_prior)
    feature_count_ = property(feature_count)

    @property
    def boundary_normals(self) -> np.ndarray:
        """(C, d) the weights of each class; with two classes (1, d), their difference."""
        weights = self.fitted("boundary_normals").params.table.T  # (C, d)
        return weights[1:] - weights[:1] if len(weights) == 2 else weights

    signed_distance = signed_distance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.counts_only
        tags.classifier_tags.poor_score = True  # on the continuous data of scikit-learn's checks
        return tags


# scikit-learn's check of this method gives negative counts to an unfitted model, whatever its tag
# `positive_only` is. Therefore the method exists only after fit.


def decision_function_once_fitted(model: CountClassifier) -> Any:
    """The method `decision_function`, which exists only after fit."""
    model.checked_state()
    return super(CountClassifier, model).decision_function
