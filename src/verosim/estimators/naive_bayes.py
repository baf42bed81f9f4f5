"""Naive Bayes for categories, presence and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.axes import Axes, Categories
from verosim.axes.groups import sorted_labels
from verosim.data import SparseRows
from verosim.densities import Bernoulli, Categorical, Complement, Multinomial
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.distance import Distances
from verosim.estimators.parameters import finite
from verosim.stats import Counts


class CategoricalNB(GenerativeClassifier):
    """Naive Bayes for categories: codes, strings or any mix of values in the cells.

    φ_ij|k = (n_ijk + α) / (n_ik + α B_i), B_i the number of values column i has shown

    A value never seen at fit gets its smoothed share, α / (n_ik + α B_i). Missing cells (NaN,
    None) are skipped at fit and marginalised at predict.

    Parameters
    ----------
    alpha : pseudo-count of every value; with 0, a value a class never had counts as 0.001;
        or "cv": chosen by held-out log-loss, see `alpha_`
    priors : None (n_k/n), "laplace", "uniform", array in the order of classes_, or dict by label

    Examples
    --------
    >>> model = CategoricalNB().fit([["red", 1], ["red", 2], ["blue", 2]], ["a", "a", "b"])
    >>> model.predict([["blue", 2], ["green", None]]).tolist()
    ['b', 'a']
    """

    _values = True

    def __init__(self, alpha: float | str = 1.0, priors: Any = None) -> None:
        self.alpha = alpha
        self.priors = priors

    def _plan(self, axes: Axes, X: Any, weights: np.ndarray) -> Counts:
        return Counts(axes.with_codes(Categories.empty(axes.size("column"))), what="codes")

    def _density(self) -> Categorical:
        return Categorical(self._alpha())

    @property
    def categories_(self) -> list[list[Any]]:
        """The values seen in every column, sorted."""
        codes = self._fitted("categories_").axes.codes
        assert isinstance(codes, Categories)
        return [sorted_labels(values) for values in codes.values]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class _ColumnClassifier(Distances, GenerativeClassifier):
    """Counts of columns rather than of codes; sparse rows are read as they are."""

    alpha: float | str
    _sparse = True

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """(C, d) log φ."""
        self._fitted("feature_log_prob_")
        return self._params.log_mass.T

    @property
    def _normals(self) -> np.ndarray:
        weights = self._params.table.T  # (C, d)
        return weights[1:] - weights[:1] if len(weights) == 2 else weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on the continuous blobs of the checks
        return tags


class BernoulliNB(_ColumnClassifier):
    """Naive Bayes for presence and absence; a column that is absent counts too.

    φ_i|k = (n_ik + α) / (n_k + 2α),   log p(x | k) = Σ_i [x_i log φ_i|k + (1 − x_i) log(1 − φ_i|k)]

    Parameters
    ----------
    alpha : pseudo-count; or "cv": chosen by held-out log-loss, see `alpha_`
    binarize : a column is present where it exceeds this; None for data already 0 and 1
    priors : as in :class:`CategoricalNB`

    Examples
    --------
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> model.predict([[1, 0]]).tolist()
    ['spam']
    """

    _statistic_parameters = ("binarize",)

    def __init__(
        self, alpha: float | str = 1.0, binarize: float | None = 0.0, priors: Any = None
    ) -> None:
        self.alpha = alpha
        self.binarize = binarize
        self.priors = priors

    def _plan(self, axes: Axes, X: Any, weights: np.ndarray) -> Counts:
        threshold = 0.0 if self.binarize is None else self.binarize
        finite("binarize", threshold)
        return Counts(axes, what="presence", threshold=float(threshold))

    def _matrix(self, X: Any, names: Any) -> Any:
        rows = super()._matrix(X, names)
        if isinstance(rows, SparseRows) and (self.binarize or 0) < 0:
            raise VerosimError(
                f"binarize={self.binarize:g} makes every zero present; sparse rows store no zeros.",
                "X.toarray(), or a threshold of zero or more.",
            )
        return rows

    def _density(self) -> Bernoulli:
        return Bernoulli(self._alpha())


class MultinomialNB(_ColumnClassifier):
    """Naive Bayes for counts, such as tokens: amounts matter, absence does not.

    φ_i|k = (ñ_ik + α) / (ñ_k + αV),   log p(x | k) = Σ_i x_i log φ_i|k

    p(x | k) is the chance of the row's tokens in their order. `sample` draws the length of a
    row from a Poisson with the class's mean length.

    Examples
    --------
    >>> model = MultinomialNB().fit([[3, 0], [2, 1], [0, 4]], ["a", "a", "b"])
    >>> model.predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    def __init__(self, alpha: float | str = 1.0, priors: Any = None) -> None:
        self.alpha = alpha
        self.priors = priors

    def _plan(self, axes: Axes, X: Any, weights: np.ndarray) -> Counts:
        return Counts(axes, what="amount")

    def _density(self) -> Any:
        return Multinomial(self._alpha())

    @property
    def decision_function(self) -> Any:
        # There once the model is fitted: scikit-learn's check of this method gives an unfitted
        # model negative counts, whatever its positive_only tag says.
        self._current()
        return super().decision_function

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class ComplementNB(MultinomialNB):
    """Complement naive Bayes: each class is judged by the counts of all the others.

    score_k(x) = log π_k − Σ_i x_i log φ̃_i|k,   φ̃ from the rows outside class k

    Steadier than the multinomial when classes differ in size. Decisions, posteriors and
    `log_joint` come from the scores, which are no density; `log_density` and `sample` come from
    the multinomial of the same counts.

    Parameters
    ----------
    alpha : pseudo-count; or "cv": chosen by held-out log-loss, see `alpha_`
    norm : divide each class's weights by their sum
    priors : "uniform" by default, as usual for this model

    References
    ----------
    Rennie, Shih, Teevan & Karger (2003), Tackling the poor assumptions of naive Bayes text
    classifiers.

    Examples
    --------
    >>> model = ComplementNB().fit([[3, 0], [2, 1], [0, 4]], ["a", "a", "b"])
    >>> model.predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self, alpha: float | str = 1.0, norm: bool = False, priors: Any = "uniform"
    ) -> None:
        self.alpha = alpha
        self.norm = norm
        self.priors = priors

    def _density(self) -> Complement:
        return Complement(self._alpha(), self.norm)
