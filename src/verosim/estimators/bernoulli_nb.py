"""Naive Bayes for columns that are present or absent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from verosim.arguments import finite
from verosim.axes import Axes
from verosim.cached import cached_property
from verosim.data import SparseRows
from verosim.densities import Bernoulli
from verosim.errors import VerosimError
from verosim.estimators.count_classifier import CountClassifier
from verosim.models import Spec
from verosim.stats import Counts

if TYPE_CHECKING:
    from verosim.typing import ClassWeight, Priors


@dataclass(frozen=True, eq=False, kw_only=True)
class BernoulliSpec(Spec):
    """The settings of a model of present and absent columns."""

    alpha: Any = 1.0
    binarize: float | None = 0.0

    reads_sparse = True
    may_wait = True

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {"binarize": self.binarize}

    def matrix(self, X: Any, names: Any) -> Any:
        rows = super().matrix(X, names)
        if isinstance(rows, SparseRows) and (self.binarize or 0) < 0:
            raise VerosimError(
                f"binarize must be zero or more for sparse rows; got {self.binarize:g}.",
                "Use X.toarray(), or a threshold of zero or more.",
            )
        return rows

    def plan(self, axes: Axes, source: Any) -> Counts:
        threshold = 0.0 if self.binarize is None else self.binarize
        finite("binarize", threshold)
        return Counts(axes, what="presence", threshold=float(threshold))

    @cached_property
    def density(self) -> Bernoulli:
        return Bernoulli(self.pseudo_count())


class BernoulliNB(CountClassifier):
    """Naive Bayes for columns that are present or absent.

    Use it for columns of 0 and 1, or for short texts in which only the presence of a word matters.
    An absent column is evidence too. The model assumes that the columns are independent within
    each class. The log discriminant of class k is:

        δ_k(x) = log π_k + Σ_i [ x_i log φ_ik + (1 − x_i) log(1 − φ_ik) ]
        φ_ik = (n_ik + α) / (n_k + 2α)

    Here π_k is the prior of class k, x_i is 1 if column i is present and 0 if not, n_ik is the
    number of rows of class k in which column i is present, and n_k is the number of rows of class
    k. Missing values (NaN) are skipped at fit, and predictions use the values that a row has.
    Sparse matrices are read without making them dense.

    Parameters
    ----------
    alpha : float or "cv", default=1.0
        The pseudo-count α, for presence and for absence. "cv" chooses α by the log-loss on
        held-out rows, see `alpha_`.
    binarize : float or None, default=0.0
        A column is present if its value is greater than this threshold. None is for data that are
        already 0 and 1.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.
    class_weight : dict, "balanced" or None, default=None
        Factors of the classes at estimation. The sums of class k are multiplied by w_k, as if each
        row of the class had the weight w_k, so a prior n_k/n becomes w_k n_k / Σ_j w_j n_j. A dict
        maps labels to factors, and the classes that it does not name have the factor 1. "balanced"
        uses w_k = n/(C n_k), which gives all classes the same weight. None uses 1 for all classes.
        The stored sums and `class_count_` stay the same, so it can change after the fit.

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
        log φ_ik, the log probability that column i is present in class k.
    feature_count_ : ndarray of shape (C, d)
        The weight of the rows of each class in which each column is present.
    n_parameters_ : int
        The number of free parameters: C d probabilities, and C − 1 priors if they are estimated.
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
    MultinomialNB : For counts, in which amounts matter.
    TextNB : For texts, with model="bernoulli".

    References
    ----------
    McCallum & Nigam (1998), A comparison of event models for naive Bayes text classification,
    AAAI-98 Workshop on Learning for Text Categorization, 41–48.

    Examples
    --------
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> model.predict([[1, 0]]).tolist()
    ['spam']
    """

    def __init__(
        self,
        alpha: float | Literal["cv"] = 1.0,
        binarize: float | None = 0.0,
        priors: Priors = None,
        class_weight: ClassWeight = None,
    ) -> None:
        self.alpha = alpha
        self.binarize = binarize
        self.priors = priors
        self.class_weight = class_weight

    def spec(self) -> BernoulliSpec:
        return BernoulliSpec(**self.settings(BernoulliSpec))
