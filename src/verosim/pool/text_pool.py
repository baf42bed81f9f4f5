"""TextPool: several models of texts, combined by weights that are learned on held-out texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from verosim.estimators.text_classifier import check_several_texts, tags_of_texts
from verosim.pool.pool_classifier import PoolClassifier
from verosim.pool.text_spec import TextPoolSpec

if TYPE_CHECKING:
    from verosim.estimators.base import GenerativeClassifier
    from verosim.typing import CV, Priors, RandomState, Source


class TextPool(PoolClassifier):
    """Several models of texts, combined by weights that are learned on held-out texts.

    Use it to classify texts if accuracy and good probabilities matter more than a simple model. X
    is a list, an array, a series or a column of strings, or a table, a file or a folder with one
    column of texts. The experts are naive Bayes on words, on words and pairs of words, and on
    characters if the texts are short, and a ridge regression on the leading words and pairs. They
    are sums over texts, so the pool merges and forgets. Each text is divided into words once for
    all experts.

        log p(k | x) = b_k + Σ_e w_e ℓ_e(k) − log Σ_l exp(b_l + Σ_e w_e ℓ_e(l)),   w_e ≥ 0

        ℓ_e(k) = max( log softmax_k(τ_e m^(−c_e) log p_e(k | x)), −6 − log C )

    Here p_e(k | x) is the posterior of expert e, τ_e its temperature, m the number of words of the
    text plus 1, c_e an exponent, w_e the weight of the expert, b_k an offset of class k, and C the
    number of classes. The temperatures and exponents maximise the likelihood of texts that the
    experts were not fitted on. The weights and offsets minimise

        − Σ v log p(y | x) + 8 Σ_e (w_e − 1/E)² + Σ_k b_k²

    where the first sum is over the held-out texts with their weights v, and E is the number of
    experts. The leading words are chosen without labels.

    Parameters
    ----------
    experts : sequence of generative classifiers or None, default=None
        The models to combine, such as `TextNB` and `TextRidge`. None chooses them.
    effort : {"fast", "default", "max"}, default="default"
        Which models are used if `experts` is None. "fast" uses naive Bayes on single words only.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors. With other
        priors than n_k/n, the difference of the logarithms is added to the offsets b_k.
    keep : {"used", "all"}, default="used"
        Which experts are kept: those with a positive weight, or all.
    time_limit : float or None, default=None
        The time in seconds after which no other expert is tried. At least one is tried. None means
        no limit.
    cv : int, splitter, array-like, iterable of pairs, str or None, default=None
        The folds: a number of folds, a scikit-learn splitter, the fold of each text, pairs of
        training and test positions, or the name of a column of folds. Each text must be held out
        exactly once. None uses five folds, three from 2,000 texts on, or one held-out part from
        10,000 on. They are made by the hashes of the texts, so they do not depend on the order of
        the texts, and are the same for lists, tables, files, Dask and Spark.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the held-out texts. None gives other texts in each fit.

    Attributes
    ----------
    table_ : Candidates
        The pool and its experts with the log-loss and accuracy on held-out texts, weights, times
        and sizes. It also states which experts were left out, and why. The first row is the pool.
        After `merge` it is the table of the first pool. After `reweigh` it has the scores of the
        experts that the pool has now.
    weights_ : dict
        The weight w_e of each expert, by name.
    rows_since_weights_ : float
        The weight of the texts that were added or removed since the weights were learned.
    reweigh_after_ : float
        The weight of the texts that the weights were learned on. After more changed texts than
        this, call `reweigh`. One warning is issued at that point.
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    class_count_ : ndarray of shape (C,)
        The total weight of the texts of each class.
    class_prior_ : ndarray of shape (C,)
        The class priors π_k in use.
    n_parameters_ : int
        The number of free parameters of all experts, and C − 1 priors if they are estimated.
    n_features_in_ : int
        The number of columns of X at fit, which is 1 for a sequence of texts.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns of X at fit. It exists only if X had column names.
    schema_ : Schema
        How the table is read, with the leading words. `auto(…, like=pool)` uses it for a pool that
        can be merged with this one.
    stats_ : Statistic
        The sums over the training texts, for all experts.

    See Also
    --------
    TextNB : One of the experts: naive Bayes for texts.
    TextRidge : One of the experts: ridge regression on the leading terms.
    Pool : A pool of models of tables.
    auto : Fits a pool to texts or to a table.

    Notes
    -----
    `partial_fit`, `forget`, `decay` and `merge` change the sums of all experts exactly. The
    weights, temperatures and offsets stay until `reweigh` learns them again. A pool of texts is
    not a density, so `log_density`, `log_joint` and `sample` are not available.

    References
    ----------
    Genest & Zidek (1986), Combining probability distributions: a critique and an annotated
    bibliography, Statistical Science 1, 114–135.

    Rennie, Shih, Teevan & Karger (2003), Tackling the poor assumptions of naive Bayes text
    classifiers, ICML 2003, 616–623.

    Wolpert (1992), Stacked generalization, Neural Networks 5, 241–259.

    Examples
    --------
    >>> from verosim import TextPool
    >>> texts = ["win cash now", "cash prize", "win a prize", "lunch at noon", "see you at noon"]
    >>> labels = ["spam", "spam", "spam", "ham", "ham"]
    >>> model = TextPool().fit(texts * 10, labels * 10)
    >>> model.predict(["a cash prize", "noon?"]).tolist()
    ['spam', 'ham']
    >>> model.score(texts, labels)
    1.0
    """

    def __init__(
        self,
        experts: Sequence[GenerativeClassifier] | None = None,
        effort: Literal["fast", "default", "max"] = "default",
        priors: Priors = None,
        keep: Literal["used", "all"] = "used",
        time_limit: float | None = None,
        cv: CV | None = None,
        random_state: RandomState = 0,
    ) -> None:
        self.experts = experts
        self.effort = effort
        self.priors = priors
        self.keep = keep
        self.time_limit = time_limit
        self.cv = cv
        self.random_state = random_state

    def spec(self) -> TextPoolSpec:
        known = self.state_.tuned["members"] if self.__sklearn_is_fitted__() else ()
        return TextPoolSpec(**self.settings(TextPoolSpec), given=self.experts, fitted_members=known)

    def check_columns(self, X: Source) -> None:
        check_several_texts(X)  # the columns of a table are found by name

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())
