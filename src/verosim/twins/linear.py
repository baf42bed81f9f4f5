"""The base of the linear classifiers: weights, decisions and distances to the boundary.

    y_k(x) = w_kᵀx + b_k,   predict = argmax_k y_k(x),   r(x) = y(x)/‖w‖

Here y_k is the score of class k with weights w_k and intercept b_k, and r is the signed distance to
the boundary of two classes.
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from verosim.axes import Columns
from verosim.bayes.linear import LinearScores
from verosim.bayes.program import POSTERIOR_OUTPUT, SCORES_OUTPUT, Program
from verosim.bayes.rule import Decision
from verosim.data import as_matrix
from verosim.data.readings import NumberReading
from verosim.data.sources import unlabelled
from verosim.densities.terms import Term
from verosim.estimators.base import NotFitted, ScoreMixin
from verosim.estimators.checks import check_features
from verosim.estimators.distance import signed_distance
from verosim.estimators.one_state import reads
from verosim.twins.training_rows import TrainingRows, check_two_classes, training_rows

if TYPE_CHECKING:
    from verosim.typing import Labels, Source, Weights


class LinearClassifier(ScoreMixin, ClassifierMixin, BaseEstimator):
    """Base of the classifiers that fit linear scores directly to the labels."""

    coef_: np.ndarray  # (C, d); (1, d) for two classes
    intercept_: np.ndarray  # (C,) or (1,)
    n_features_in_: int
    feature_names_in_: np.ndarray
    gives_probabilities = False
    _decision: Decision

    signed_distance = signed_distance

    # Learning ------------------------------------------------------------------------------

    def training_rows(
        self, X: Source, y: Labels, sample_weight: Weights | None = None
    ) -> TrainingRows:
        """Check the training rows and prepare them for the kernels.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            The training rows. All values must be finite numbers.
        y : array-like of shape (n,)
            The labels, of at least two classes.
        sample_weight : array-like of shape (n,) or None, default=None
            The weights of the rows. None gives each row the weight 1.

        Returns
        -------
        TrainingRows
            The rows, class numbers and weights, without the rows of weight zero.
        """
        rows = training_rows(self, X, y, sample_weight)
        check_two_classes(type(self).__name__, rows.codes, rows.classes)
        return rows

    def set_weights(
        self,
        classes: np.ndarray,
        columns: Columns,
        coef: np.ndarray,
        intercept: np.ndarray,
        mean: np.ndarray | None = None,
    ) -> Self:
        """Store weights and intercepts as the fitted model.

        Parameters
        ----------
        classes : ndarray of shape (C,)
            The class labels, sorted.
        columns : Columns
            The columns that the weights belong to.
        coef : ndarray of shape (C, d), or (1, d) for two classes
            The weights.
        intercept : ndarray of shape (C,), or (1,) for two classes
            The intercepts.
        mean : ndarray of shape (d,) or None, default=None
            The mean of the training rows, from which `explain` measures contributions.

        Returns
        -------
        LinearClassifier
            The model itself.
        """
        self.classes_ = classes
        self.set_columns(columns)
        self.coef_, self.intercept_ = coef, intercept
        scores = LinearScores.of(coef, intercept, mean)
        self._decision = Decision(np.zeros(len(classes)), scores, columns)
        return self

    def set_columns(self, columns: Columns) -> None:
        """Store the number and the names of the columns of X.

        Parameters
        ----------
        columns : Columns
            The columns of X.
        """
        self.n_features_in_ = len(columns)
        if columns.names is not None:
            self.feature_names_in_ = np.array(columns.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # Predicting ------------------------------------------------------------------------------

    def opened_to_score(self, X: Source) -> tuple[Decision, Any]:
        """Check X and prepare its rows for the decision rule.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        decision : Decision
            The decision rule of the fitted model.
        rows : source
            The rows that the rule scores.
        """
        if not self.__sklearn_is_fitted__():
            raise NotFitted.of(self)
        check_features(self, X)
        names = self._decision.columns.names
        return self._decision, unlabelled(as_matrix(X, sparse_allowed=True, names=names))

    @reads
    def program(self) -> Program:
        """Write the scores of the model down as data: readings of cells, and linear terms.

            y_k(x) = w_kᵀx + b_k

        With two classes, the score of the first class is 0.

        Returns
        -------
        Program
            The program. Its `evaluate` gives `predict_log_proba`. For a model without
            probabilities it gives the scores y_k, and the class with the largest score is
            predicted.

        Raises
        ------
        VerosimError
            If the model cannot be written as a program.
        """
        if not self.__sklearn_is_fitted__():
            raise NotFitted.of(self)
        columns, terms = self.program_terms()
        return Program(
            tuple(self.classes_.tolist()), self._decision.log_prior,
            tuple(NumberReading(name) for name in columns), terms,
            POSTERIOR_OUTPUT if self.gives_probabilities else SCORES_OUTPUT,
        )  # fmt: skip

    def program_terms(self) -> tuple[Columns, tuple[Term, ...]]:
        """The columns that the program reads, and its terms.

        Returns
        -------
        columns : Columns
            The columns of X.
        terms : tuple of Term
            The terms.
        """
        return self._decision.columns, self._decision.params.terms()

    def __sklearn_is_fitted__(self) -> bool:
        return "_decision" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
