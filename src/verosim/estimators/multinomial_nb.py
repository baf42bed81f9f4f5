"""Naive Bayes for counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from verosim.axes import Axes
from verosim.cached import cached_property
from verosim.densities import Multinomial
from verosim.estimators.count_classifier import CountClassifier, decision_function_once_fitted
from verosim.models import Spec
from verosim.stats import Counts

if TYPE_CHECKING:
    from verosim.typing import Priors


@dataclass(frozen=True, eq=False, kw_only=True)
class MultinomialSpec(Spec):
    """The settings of a model of counts."""

    alpha: Any = 1.0

    reads_sparse = True
    may_wait = True

    def plan(self, axes: Axes, source: Any) -> Counts:
        return Counts(axes, what="amount")

    @cached_property
    def density(self) -> Any:
        return Multinomial(self.pseudo_count())


class MultinomialNB(CountClassifier):
    """Naive Bayes for counts, such as the counts of words in documents.

    Use it when every column counts something and the amounts matter. A column with the count zero
    adds nothing to the score. The log discriminant of class k is:

        δ_k(x) = log π_k + Σ_i x_i log φ_ik,   φ_ik = (n_ik + α) / (n_k + α d)

    Here π_k is the prior of class k, x_i is the count in column i, n_ik is the sum of column i over
    the rows of class k, n_k is the sum of all columns over these rows, and d is the number of
    columns. p(x | k) is the probability of the counted items in a fixed order. `sample` draws the
    total count of a row from a Poisson distribution with the mean total of the class. Missing
    values (NaN) are skipped. Sparse matrices are read without making them dense.

    Parameters
    ----------
    alpha : float or "cv", default=1.0
        The pseudo-count that is added to the count of every column. "cv" chooses it by the log-loss
        on held-out rows, see `alpha_`.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
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
        log φ_ik, the log share of column i in class k.
    feature_count_ : ndarray of shape (C, d)
        The sum of each column in each class.
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
    ComplementNB : For counts in classes of very different sizes.
    BernoulliNB : For presence and absence.
    TextNB : Counts the words of texts itself.

    References
    ----------
    McCallum & Nigam (1998), A comparison of event models for naive Bayes text classification,
    AAAI-98 Workshop on Learning for Text Categorization, 41–48.

    Examples
    --------
    >>> model = MultinomialNB().fit([[3, 0], [2, 1], [0, 4]], ["a", "a", "b"])
    >>> model.predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        alpha: float | Literal["cv"] = 1.0,
        priors: Priors = None,
    ) -> None:
        self.alpha = alpha
        self.priors = priors

    def spec(self) -> MultinomialSpec:
        return MultinomialSpec(**self.settings(MultinomialSpec))

    counts_only = True
    decision_function = property(decision_function_once_fitted)
