"""Pool: several generative experts, combined by weights that are learned on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from verosim.errors import FITTED_SCHEMA_HINT, ONE_SCHEMA_HINT, VerosimError
from verosim.estimators.checked_method import RowUpdate
from verosim.estimators.coded import CodedClassifier
from verosim.estimators.one_state import reads, updates
from verosim.folds import inputs_of
from verosim.models import Inputs, State
from verosim.pool.mixing import Mixing
from verosim.pool.result import Candidates, ExpertScores
from verosim.pool.spec import LIKE_HINT, PoolSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from verosim.data.schema import Schema
    from verosim.estimators.base import GenerativeClassifier, StatisticClassifier
    from verosim.typing import (
        CV,
        ColumnKind,
        FileOptions,
        Labels,
        MissingMarks,
        Priors,
        RandomState,
        Source,
        Weights,
    )


class Pool(CodedClassifier):
    """Several generative classifiers, combined by weights that are learned on held-out rows.

    Use it when accuracy matters more than a simple model. It reads numbers, categories, dates and
    missing values. Every expert is fitted to the same rows and predicts rows that it was not fitted
    on. These predictions give the weights of the experts, and experts of weight 0 are dropped:

        log p(k | x) = b_k + Σ_e w_e ℓ_e(k) − log Σ_l exp(b_l + Σ_e w_e ℓ_e(l)),   w_e ≥ 0

        ℓ_e(k) = max( log softmax_k(τ_e log p_e(k | x)), −6 − log C )

    Here p_e(k | x) is the posterior of expert e, τ_e its temperature, w_e its weight, b_k an offset
    of class k, and C the number of classes. The temperatures maximise the likelihood of the
    held-out rows. The weights and offsets minimise

        − Σ v log p(y | x) + 8 Σ_e (w_e − 1/E)² + Σ_k b_k²

    where the first sum is over the held-out rows with their weights v, and E is the number of
    experts. Weights v that are whole numbers count rows. Others are rescaled, so that they sum to
    the number of held-out rows.

    With fewer than 10,000 rows, each row is held out once, in one of five folds (three from 2,000
    rows on). Bins and parents
    are chosen again without each fold, so that the held-out labels do not influence them. With
    more rows, one part of the rows is held out. A file that does not fit into memory is read
    several times.

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
        first rows. Columns of text are not read, and `table_` names them.
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

    # Learning --------------------------------------------------------------------------------

    @updates
    def fit_like(
        self, inputs: Inputs, like: Pool | None = None, groups: ArrayLike | str | None = None
    ) -> Self:
        """Fit with the schema and the experts of another pool. `auto` calls this method.

        Parameters
        ----------
        inputs : Inputs
            The arguments of `fit` as one value.
        like : Pool or None, default=None
            A fitted pool. Both pools can then be merged. None chooses the experts for these rows.
        groups : array-like of shape (n,), str or None, default=None
            The group of each row, or the name of a column. Rows of one group are in the same fold.

        Returns
        -------
        Self
            The fitted pool itself.
        """
        from verosim.pool.learning import learn_pool

        known = None if like is None else like.checked_state()
        return self.set_state(learn_pool(self.spec(), inputs, groups, known))

    @RowUpdate
    def partial_fit(
        self,
        X: Source,
        y: Labels | None = None,
        classes: ArrayLike | None = None,
        sample_weight: Weights | None = None,
        *,
        schema: Schema | None = None,
        na: MissingMarks = (),
        read: FileOptions | None = None,
        unlabelled: Literal["error", "skip"] = "error",
    ) -> Self:
        """Add training rows to the pool, in place.

        The first call chooses the experts and learns their weights, so it should have as many rows
        as possible. Later calls add rows to the sums of all experts, and the weights stay. The
        order and the size of later calls do not matter. New classes may appear in any call.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to add.
        y : array-like of shape (n,) or str or None, default=None
            The labels, or the name of the target column of a table. None is allowed if the model
            or `schema` knows the name of the target.
        classes : array-like of shape (C,) or None, default=None
            Labels that may appear later. This argument is optional in every call.
        sample_weight : array-like of shape (n,) or str or None, default=None
            Non-negative weights of the rows, or the name of a column of weights. None gives every
            row the weight 1.
        schema : Schema or None, default=None
            How each column of a table is read, for the first call. None means that the first call
            looks at its rows itself.
        na : iterable of str, default=()
            Texts that mean "missing" in a table, in addition to the empty cell, for the first
            call.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.
        unlabelled : {"error", "skip"}, default="error"
            What to do with rows without a label. "error" raises an error that counts them. "skip"
            leaves them out.

        Returns
        -------
        Self
            The updated pool itself.
        """
        updated: Self = super().partial_fit(
            X, y, classes, sample_weight, schema=schema, na=na, read=read, unlabelled=unlabelled
        )
        return updated

    def merge(self, other: StatisticClassifier) -> Self:
        """Combine two fitted pools into a new pool of the rows of both.

        `a + b` and `sum(pools)` do the same. The two pools stay unchanged. They must have the same
        schema and the same experts: `auto(X, y, like=pool)` fits such a pool. The sums are exact.
        The weights, temperatures and offsets are means, weighted by the rows of the two pools,
        until `reweigh` learns them again.

        Parameters
        ----------
        other : Pool
            A fitted pool with the same schema and the same experts.

        Returns
        -------
        Self
            A new fitted pool with the parameters of this pool.
        """
        try:
            return super().merge(other)
        except VerosimError as error:
            if error.hint in (ONE_SCHEMA_HINT, FITTED_SCHEMA_HINT):
                raise VerosimError(error.what, LIKE_HINT) from None
            raise

    @updates
    def reweigh(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        counted: bool = True,
    ) -> Self:
        """Learn new weights of the experts, in place. The sums stay as they are.

        Use it after many rows were added or removed, or after `merge`. Experts that were dropped
        at `fit` do not come back.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to learn the weights from. A sample of recent rows is enough.
        y : array-like of shape (n,) or str or None, default=None
            Their labels, or the name of the target column of a table. None is allowed if the model
            knows the name of the target.
        sample_weight : array-like of shape (n,) or str or None, default=None
            Non-negative weights of the rows, or the name of a column of weights. If the rows are
            counted, these must be the weights with which they were added. None gives every row the
            weight 1.
        counted : bool, default=True
            Whether the pool was fitted on these rows. Each fold of them is then subtracted from the
            sums before it is predicted. False uses the sums as they are.

        Returns
        -------
        Self
            The updated pool itself.
        """
        from verosim.pool.learning import reweighed

        state = self.checked_state()
        self.check_columns(X)
        inputs = inputs_of(X, y, sample_weight)
        return self.set_state(reweighed(self.spec(), state, inputs, counted))

    # The experts -----------------------------------------------------------------------------

    @property
    def table_(self) -> Candidates:
        """The experts with their scores on held-out rows, weights, times and sizes."""
        report: Candidates = self.fitted("table_").tuned["report"]
        return report

    @property
    def weights_(self) -> dict[str, float]:
        """The weight w_e of each expert, by name."""
        mixing = _mixing(self.fitted("weights_"))
        return dict(zip(mixing.names, mixing.weights.tolist(), strict=True))

    @property
    def rows_since_weights_(self) -> float:
        """The weight of the rows added or removed since the weights were learned."""
        return _mixing(self.fitted("rows_since_weights_")).since

    @property
    def reweigh_after_(self) -> float:
        """The weight of changed rows after which the weights should be learned again."""
        return _mixing(self.fitted("reweigh_after_")).rows

    @reads
    def expert_scores(self, X: Source) -> ExpertScores:
        """Compute what each expert adds to the scores of the classes.

            log p(k | x) / p(l | x) = b_k − b_l + Σ_e w_e (ℓ_e(k) − ℓ_e(l))

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to score.

        Returns
        -------
        ExpertScores
            The offsets b_k, and the parts w_e ℓ_e(k) of the experts.
        """
        state = self.checked_state()
        parts = self.evaluate(X, lambda rule, rows: rule.params.parts(rows).transpose(1, 0, 2))
        offsets = state.params.offsets(state.rule.log_prior)
        names = _mixing(state).names
        return ExpertScores(names, state.classes, offsets, parts.transpose(1, 0, 2))

    # The mixture of the experts that are densities -------------------------------------------

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

    def sample(
        self, n: int = 1, y: Labels | None = None, random_state: RandomState = None
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

        Returns
        -------
        rows : table
            The simulated rows, as the kind of table that the model was fitted on. A number is
            uniform within its bin. A cell is missing as often as in the training rows.
        labels : ndarray of shape (n,)
            Their classes.
        """
        return super().sample(n, y, random_state)


def _mixing(state: State) -> Mixing:
    """The mixing of a fitted pool."""
    found: Mixing = state.tuned["mixing"]
    return found
