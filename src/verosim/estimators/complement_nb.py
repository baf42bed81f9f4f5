"""Complement naive Bayes: each class is scored by the counts of all other classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from verosim.cached import cached_property
from verosim.densities import Complement
from verosim.estimators.count_classifier import CountClassifier, decision_function_once_fitted
from verosim.estimators.multinomial_nb import MultinomialSpec
from verosim.estimators.scikit_names import feature_all

if TYPE_CHECKING:
    from verosim.typing import Priors


@dataclass(frozen=True, eq=False, kw_only=True)
class ComplementSpec(MultinomialSpec):
    """The settings of a model of counts that scores by the counts of the other classes."""

    norm: bool = False

    @cached_property
    def density(self) -> Complement:
        return Complement(self.pseudo_count(), self.norm)


class ComplementNB(CountClassifier):
    """Complement naive Bayes: each class is scored by the counts of all other classes.

    Use it for counts, such as word counts, when the classes differ much in size. It is more stable
    than the multinomial model in that case. The score of class k is:

        score_k(x) = log π_k − Σ_i x_i log θ_ik,   θ_ik = (m_ik + α) / (m_k + α d)

    Here π_k is the prior of class k, x_i is the count in column i, m_ik is the sum of column i over
    the rows outside class k, m_k is the sum of all columns over these rows, and d is the number of
    columns. `predict`, `predict_proba` and `log_joint` use these scores, which are not the log of a
    density. `log_density` and `sample` use the multinomial model of the same counts. Missing
    values (NaN) are skipped. Sparse matrices are read without making them dense.

    Parameters
    ----------
    alpha : float or "cv", default=1.0
        The pseudo-count that is added to the count of every column. "cv" chooses it by the log-loss
        on held-out rows, see `alpha_`.
    norm : bool, default=False
        True divides the weights of each class by their sum.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default="uniform"
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    class_count_ : ndarray of shape (C,)
        The total weight of the rows of each class.
    class_prior_ : ndarray of shape (C,)
        The class priors π_k in use.
    class_log_prior_ : ndarray of shape (C,)
        log π_k, the logarithms of the priors.
    alpha_ : float
        The pseudo-count in use: the parameter `alpha`, or the value chosen for "cv".
    feature_log_prob_ : ndarray of shape (C, d)
        The log share of column i in class k, in the multinomial model of the same counts.
    feature_count_ : ndarray of shape (C, d)
        The sum of each column in each class.
    feature_all_ : ndarray of shape (d,)
        The sum of each column over all classes.
    n_parameters_ : int
        The number of free parameters: C (d − 1) shares, and C − 1 priors if they are estimated.
    n_features_in_ : int
        The number of columns of X at fit.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns of X at fit. It exists only if X had column names.
    schema_ : Schema
        How each column of the table is read. It exists only after a fit on a table.
    stats_ : Statistic
        The sums over the training rows. The model is computed from them.

    See Also
    --------
    MultinomialNB : The multinomial model of the same counts.
    TextNB : Counts the words of texts itself, with model="complement".

    References
    ----------
    Rennie, Shih, Teevan & Karger (2003), Tackling the poor assumptions of naive Bayes text
    classifiers, Proceedings of ICML 2003, 616–623.

    Examples
    --------
    >>> model = ComplementNB().fit([[3, 0], [2, 1], [0, 4]], ["a", "a", "b"])
    >>> model.predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        alpha: float | Literal["cv"] = 1.0,
        norm: bool = False,
        priors: Priors = "uniform",
    ) -> None:
        self.alpha = alpha
        self.norm = norm
        self.priors = priors

    def spec(self) -> ComplementSpec:
        return ComplementSpec(**self.settings(ComplementSpec))

    feature_all_ = property(feature_all)
    counts_only = True
    decision_function = property(decision_function_once_fitted)
