"""Pool: several generative experts, combined by weights that are learned on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.arguments import checked
from verosim.estimators.checks import generator
from verosim.kinds.cell_sampling import table_of_cells
from verosim.pool.pool_classifier import PoolClassifier
from verosim.pool.spec import PoolSpec

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from numpy.typing import ArrayLike

    from verosim.estimators.base import GenerativeClassifier
    from verosim.typing import (
        CV,
        ColumnKind,
        FileOptions,
        Priors,
        RandomState,
        Source,
    )


class Pool(PoolClassifier):
    """Several generative classifiers, combined by weights that are learned on held-out rows.

    Use it when accuracy matters more than a simple model. It reads numbers, categories, dates,
    texts and missing values. Every expert is fitted to the same rows and predicts rows that it was
    not fitted on. These predictions give the weights of the experts, and experts of weight 0 are
    dropped:

        log p(k | x) = b_k + Σ_e w_e ℓ_e(k) − log Σ_l exp(b_l + Σ_e w_e ℓ_e(l)),   w_e ≥ 0

        ℓ_e(k) = max( log softmax_k(τ_e log p_e(k | x)), −6 − log C )

    Here p_e(k | x) is the posterior of expert e, τ_e its temperature, w_e its weight, b_k an offset
    of class k, and C the number of classes. For an expert that reads texts, τ_e also depends on the
    length of the text, as in `TextPool`. The temperatures maximise the likelihood of the held-out
    rows. The weights and offsets minimise

        − Σ v log p(y | x) + 8 Σ_e (w_e − 1/E)² + Σ_k b_k²

    where the first sum is over the held-out rows with their weights v, and E is the number of
    experts. Weights v that are whole numbers count rows. Others are rescaled, so that they sum to
    the number of held-out rows.

    With fewer than 10,000 rows, each row is held out once, in one of five folds (three from 2,000
    rows on). Bins and parents are chosen again without each fold, so that the held-out labels do
    not influence them. With more rows, one part of the rows is held out. A file that does not fit
    into memory is read several times.

    Parameters
    ----------
    experts : sequence of generative classifiers or None, default=None
        The models to combine. None chooses them by the number of rows and columns. An expert that
        cannot be fitted to the table is left out, and `table_` states the reason.
    effort : {"fast", "default", "max"}, default="default"
        How many models are tried if `experts` is None. "fast" uses counts and moments only.
        "max" adds models that need all rows, so that rows cannot be added or removed.
    columns : {"auto", "gaussian", "histogram"} or dict, default="auto"
        How each column is read, by name: "gaussian", "histogram" and "poisson" are numbers.
        Others are "category", "boolean", "date", "date+trend" and "ignore". "auto" chooses by the
        first rows. "text" is a column of texts. Several columns of texts are read as one text.
        A list such as ["S", "M", "L"] is a category with exactly these possible values. `table_`
        names the columns that no expert reads.
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
        The folds: a number of folds, a scikit-learn splitter, the fold of each row, pairs of
        training and test rows, or the name of a column of folds. Each row must be held out exactly
        once. None uses five folds, three from 2,000 rows on, or one held-out part from 10,000 on.
        They are made by the hashes of the cells of the rows, so they do not depend on the order of
        the rows, and are the same for arrays, tables, files, Dask and Spark.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the held-out rows. None gives other rows in each fit.

    Attributes
    ----------
    table_ : Candidates
        The pool and its experts with the log-loss and accuracy on held-out rows, weights, times and
        sizes. It also states which experts were left out, which columns were not read, and why.
        The first row is the pool: weights from two thirds of the held-out rows predict the rest.
        After `merge` it is the table of the first pool. After `reweigh` it has the scores of the
        experts that the pool has now.
    weights_ : dict
        The weight w_e of each expert, by name.
    rows_since_weights_ : float
        The weight of the rows that were added or removed since the weights were learned.
    reweigh_after_ : float
        The weight of the rows that the weights were learned on. After more changed rows than this,
        call `reweigh`. One warning is issued at that point.
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    class_count_ : ndarray of shape (C,)
        The total weight of the rows of each class.
    class_prior_ : ndarray of shape (C,)
        The class priors π_k in use.
    n_parameters_ : int
        The number of free parameters of all experts, and C − 1 priors if they are estimated.
    n_features_in_ : int
        The number of columns of X at fit.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns of X at fit. It exists only if X had column names.
    schema_ : Schema
        How each column of the table is read, with the bins and parents of all experts.
    stats_ : Statistic
        The sums over the training rows, for all experts.

    See Also
    --------
    auto : Fits a pool, or chooses one textbook model.
    AODE : One of the experts: averaged one-dependence estimators.
    KDB : One of the experts: up to five parents per column.
    LiftedLDA : One of the experts: linear discriminant analysis of random features.

    Notes
    -----
    `log_density`, `log_joint` and `sample` use the mixture of the experts that are densities of the
    columns (AODE, KDB and TAN), with shares in proportion to their weights w_e. Its posterior is
    not the posterior of the pool, which is a weighted product of posteriors.

    `partial_fit`, `forget`, `decay` and `merge` change the sums of all experts exactly. The
    weights, temperatures and offsets stay until `reweigh` learns them again.

    References
    ----------
    Genest & Zidek (1986), Combining probability distributions: a critique and an annotated
    bibliography, Statistical Science 1, 114–135.

    Wolpert (1992), Stacked generalization, Neural Networks 5, 241–259.

    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML 2017,
    1321–1330.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import AODE, LDA, Pool
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = Pool([AODE(5), LDA(shrinkage=0.02, encode="onehot")]).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    >>> {name: round(weight, 1) for name, weight in model.weights_.items()}
    {'AODE(bins=5)': 0.4, "LDA(encode='onehot', shrinkage=0.02)": 0.7}
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0., 0.]])
    """

    def __init__(
        self,
        experts: Sequence[GenerativeClassifier] | None = None,
        effort: Literal["fast", "default", "max"] = "default",
        columns: Literal["auto", "gaussian", "histogram"] | Mapping[str, ColumnKind] = "auto",
        priors: Priors = None,
        keep: Literal["used", "all"] = "used",
        time_limit: float | None = None,
        cv: CV | None = None,
        random_state: RandomState = 0,
    ) -> None:
        self.experts = experts
        self.effort = effort
        self.columns = columns
        self.priors = priors
        self.keep = keep
        self.time_limit = time_limit
        self.cv = cv
        self.random_state = random_state

    def spec(self) -> PoolSpec:
        known = self.state_.tuned["members"] if self.__sklearn_is_fitted__() else ()
        return PoolSpec(**self.settings(PoolSpec), given=self.experts, fitted_members=known)

    # The mixture of the experts that are densities -------------------------------------------

    @checked
    def log_joint(self, X: Source, *, read: FileOptions | None = None) -> np.ndarray:
        """Compute log π_k + log p(x | k) by the mixture of the experts that are densities.

            p(x | k) = Σ_e v_e p_e(x | k),   v_e = w_e / Σ w

        The sums are over AODE, KDB and TAN. The posterior of this mixture is not `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to score.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n, C)
            The log joint densities. Columns are in the order of `classes_`.
        """
        found: np.ndarray = super().log_joint(X, read=read)
        return found

    @checked
    def log_density(self, X: Source, *, read: FileOptions | None = None) -> np.ndarray:
        """Compute the log density of each row by the mixture of the experts that are densities.

            log p(x) = log Σ_k π_k Σ_e v_e p_e(x | k),   v_e = w_e / Σ w

        The inner sum is over AODE, KDB and TAN. Low values mark rows that are unusual.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to score.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n,)
            The log densities.
        """
        found: np.ndarray = super().log_density(X, read=read)
        return found

    @checked
    def sample(
        self,
        n: int = 1,
        y: ArrayLike | Hashable | None = None,
        random_state: RandomState = None,
        given: Mapping[Any, Any] | None = None,
    ) -> tuple[Any, np.ndarray]:
        """Simulate rows from the mixture of the experts that are densities.

        First a class is drawn, then one of AODE, KDB and TAN in proportion to its weight, and then
        the columns.

        Parameters
        ----------
        n : int, default=1
            The number of rows.
        y : label, array-like of shape (n,) or None, default=None
            One class for all rows, or one class per row. None draws the classes from the priors.
        random_state : int, Generator, RandomState or None, default=None
            The seed or the generator of random numbers. None gives new random numbers at each
            call.
        given : dict or None, default=None
            Only None is allowed, because this model has no exact conditional distributions.

        Returns
        -------
        rows : table
            The simulated rows, as the kind of table that the model was fitted on. A number is
            uniform within its bin. A cell is missing as often as in the training rows.
        labels : ndarray of shape (n,)
            Their classes.
        """
        rng = generator(random_state)
        cells, labels = super().sample(n, y, rng, given)
        return table_of_cells(self.schema_, cells, rng), labels
