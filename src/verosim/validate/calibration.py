"""Over-confident posteriors are calibrated by a map that is fitted on held-out rows.

    temperature   log p̂(k | x) = τ log p(k | x) − log Σ_l p(l | x)^τ      one number τ for all
    isotonic      p̂(k | x) ∝ g_k(log-odds of k),  g_k increasing          one map for each class
    length        p̂(k | x) ∝ exp(b_k + t ℓ^(−c) s_k(x))                   a τ for each length ℓ
    columns       p̂(k | x) ∝ exp(b_k + Σ_j w_j log p_j(x_j | k))          one weight for each column
    pairs         the same, with Σ_ij u_ij s_ij(k) added                  and one for pairs of them

Naive Bayes counts correlated columns as if each were new evidence, so τ is usually below 1. The
maps are in `calibration_maps`, `length_map` and `column_weights`. Reference: Guo, Pleiss, Sun &
Weinberger (2017), On calibration of modern neural networks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from verosim.arguments import checked, one_of, whole
from verosim.axes import Groups
from verosim.bayes.program import Program
from verosim.bayes.rule import Rule
from verosim.data import encode_labels
from verosim.data.clusters import check_is_here
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.one_state import reads, shallow, snapshot, updates
from verosim.estimators.paired import PairedNaiveBayes
from verosim.estimators.table import NaiveBayes
from verosim.folds.inputs import target_of
from verosim.models import derive
from verosim.validate.calibration_maps import Isotonic, Map, Temperature
from verosim.validate.column_weights import ColumnWeights
from verosim.validate.cross_validation import LOO, check_generative, is_leave_one_out
from verosim.validate.held_out_maps import MOST_MAPS, MapType, fitted_map
from verosim.validate.length_map import LengthMap
from verosim.validate.reliability import Reliability, reliability
from verosim.validate.temperature_rounds import temperature_by_rounds
from verosim.validate.wrapper import Training, Wrapper, fit_model, generative

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.data.schema import Schema
    from verosim.estimators.base import GenerativeClassifier
    from verosim.typing import CV, FileOptions, Labels, MissingMarks, Source, Weights

METHODS: dict[str, MapType] = {
    "temperature": Temperature,
    "isotonic": Isotonic,
    "length": LengthMap,
    "columns": ColumnWeights,
    "pairs": ColumnWeights,
}
NO_LEAVE_ONE_OUT = ("length", "columns", "pairs")  # they need more than posteriors
Method = Literal["temperature", "isotonic", "length", "columns", "pairs"]


class CalibratedSettings(TypedDict, total=False):
    """The parameters of `Calibrated` that `calibrate` passes on."""

    cv: CV
    method: Method
    bins: int
    pairs: int


def _can_update(wrapper: Calibrated) -> bool:
    """Whether rows can be added to the model inside; the error of the model if not."""
    generative(wrapper.model, "Calibrated").spec().check_updates("partial_fit")
    return True


def _with_classes(model: GenerativeClassifier, classes: Any) -> GenerativeClassifier:
    """The fitted model with more classes, which have no rows yet."""
    state = model.checked_state()
    axes = state.statistic.axes
    wider = axes.groups.union(Groups(encode_labels(classes)[1]))
    statistic = state.statistic.align(axes.with_groups(wider))
    derived = derive(model.spec(), statistic, state.schema, state.tuned, streaming=True)
    return snapshot(model).set_state(derived)


class Calibrated(Wrapper):
    """A classifier with posteriors that are calibrated on held-out rows.

    Use it if the posteriors are too confident, as those of naive Bayes often are. The map from
    posteriors to calibrated posteriors has one of five forms:

        temperature   log p̂(k | x) = τ log p(k | x) − log Σ_l p(l | x)^τ
        isotonic      p̂(k | x) ∝ g_k(log-odds of k),  g_k increasing
        length        p̂(k | x) ∝ exp(b_k + t ℓ^(−c) s_k),  s_k = log p(k | x) − mean_j log p(j | x)
        columns       p̂(k | x) ∝ exp(b_k + Σ_j w_j log p_j(x_j | k))
        pairs         p̂(k | x) ∝ exp(b_k + Σ_j w_j log p_j(x_j | k) + Σ_ij u_ij s_ij(k))

        s_ij(k) = log p(x_i, x_j | k) / (p(x_i | k) p(x_j | k))

    where p(k | x) is the posterior of the model, τ is one number for all classes, g_k is a function
    for each class, w_j is a weight for each column, b_k is an offset for each class, and
    p_j(x_j | k) is the density of column j in class k. ℓ is the length of the row plus 1: the
    number of words of a text, or the sum of counts. t and c are two numbers for all classes. u_ij
    is a weight for a pair of columns, and s_ij(k) is the interaction of the pair: the part of their
    joint distribution in class k that independent columns do not have.

    τ, t, c, w_j and u_ij minimise the log-loss of the held-out rows, and g_k minimises the squared
    error. The weights are at least 0. A temperature does not change the predictions. Isotonic maps
    can have any increasing shape, need about a thousand rows, and can change predictions. A map of
    the length is for texts: words repeat each other, so the evidence of a text grows more slowly
    than its length, and c is above 0. Column weights reduce the effect of columns that repeat each
    other, and often improve the predictions. Pairs also use columns that have information about the
    class only together.

    Parameters
    ----------
    model : GenerativeClassifier
        The model to calibrate, fitted or not. A copy of it is fitted on all rows.
    cv : int, "loo", splitter, array-like, str or iterable, default=10
        The folds: a number of folds, "loo" for leave-one-out, a scikit-learn splitter, the fold of
        each row, the name of a column of folds, or pairs of training and test positions. Each row
        must be held out once. A number of folds larger than the number of rows is reduced. With a
        number of folds, rows are put into the folds at random, always in the same way.
    method : {"temperature", "isotonic", "length", "columns", "pairs"}, default="temperature"
        The form of the map. "length" needs a model of texts or of counts: `TextNB`,
        `MultinomialNB`, `ComplementNB` or `BernoulliNB`. "columns" needs a model with independent
        columns: `GaussianNB`, `NaiveLDA`, `CategoricalNB`, `HistogramNB`, `BernoulliNB` or
        `NaiveBayes`. "pairs" needs `NaiveBayes`.
    bins : int, default=15
        The number of bins of the reliability curves `before_` and `after_`.
    pairs : int, default=60
        The largest number of pairs of columns for `method="pairs"`. There is also at most one pair
        for 30 rows. The pairs with the most information about the class are used. With 0,
        `method="pairs"` is the same as `method="columns"`.

    Attributes
    ----------
    model_ : GenerativeClassifier
        The model fitted on all rows, without calibration. With `method="pairs"` it also counts
        pairs of columns, which it can add, merge and forget.
    map_ : Temperature, Isotonic, LengthMap or ColumnWeights
        The fitted map. A temperature has `map_.tau`. Isotonic maps have `map_.knots`. A map of the
        length has `map_.scale`, `map_.exponent` and `map_.offsets`, which are t, c and b. Column
        weights have `map_.weights` and `map_.offsets`. The names of the pairs are `map_.pairs`,
        and their weights are `map_.pair_weights`.
    before_ : Reliability
        The reliability of the held-out posteriors before calibration.
    after_ : Reliability
        The reliability of the held-out posteriors after calibration. The map of each fold is fitted
        on the other folds, so this is the reliability to expect for new rows.
    rows_since_map_ : float
        The weight of the rows that were added, removed or merged since the map was fitted.
    refit_after_ : float
        The weight of the rows that the map was fitted on. After more changed rows than this, fit
        the calibrated model again. One warning is issued at that point.
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns, if X had column names that are texts.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML.
    Zadrozny & Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates, KDD.
    Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute independence
    assumption by attribute weighting, JMLR 14.
    Zaidi, Webb, Carman, Petitjean, Buntine, Hynes & De Sterck (2017), Efficient parameter learning
    of Bayesian network classifiers, Machine Learning 106.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from verosim import Calibrated, GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> weighted = Calibrated(GaussianNB(), method="columns").fit(X, y)
    >>> round(weighted.before_.log_loss, 3), round(weighted.after_.log_loss, 3)
    (0.668, 0.095)
    >>> len(weighted.map_.weights)
    30
    """

    map_: Map
    before_: Reliability
    after_: Reliability
    rows_since_map_: float
    refit_after_: float

    def __init__(
        self,
        model: GenerativeClassifier,
        cv: CV = 10,
        method: Method = "temperature",
        bins: int = 15,
        pairs: int = 60,
    ) -> None:
        self.model = model
        self.cv = cv
        self.method = method
        self.bins = bins
        self.pairs = pairs

    @updates
    def fit(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        groups: Labels | None = None,
        schema: Schema | None = None,
        na: MissingMarks = (),
        read: FileOptions | None = None,
        unlabelled: Literal["error", "skip"] = "error",
    ) -> Self:
        """Fit the model on all rows, and the map on the held-out rows.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path
            to a file or a folder, or an iterable of tables.
        y : array-like of shape (n,), str or None, default=None
            The labels, or the name of the target column of a table. None uses the target of
            `schema`.
        sample_weight : array-like of shape (n,), str or None, default=None
            The weight of each row, or the name of a column of weights.
        groups : array-like of shape (n,), str or None, default=None
            The group of each row, or the name of a column of groups. All rows of a group are in the
            same fold.
        schema : Schema or None, default=None
            The kinds of the columns, from `verosim.look`. None finds them from the table.
        na : iterable of str, default=()
            Texts that mean a missing value in a table, in addition to the empty cell.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.
        unlabelled : {"error", "skip"}, default="error"
            What to do with rows without a label. "error" raises an error that counts them. "skip"
            leaves them out.

        Returns
        -------
        Calibrated
            The fitted object itself.
        """
        one_of("method", self.method, tuple(METHODS))
        if self.method != "temperature" or (isinstance(self.cv, str) and self.cv == LOO):
            check_is_here(
                X, f"Calibrated(method={self.method!r})",
                'Use method="temperature" with a number of folds, which runs there.',
            )  # fmt: skip
        training = Training.of(
            self, X, y, sample_weight, schema, na, unlabelled, groups, read
        ).shuffled()
        check_generative(self.model, "Calibrated")
        model: Any = self.model
        if METHODS[self.method] is ColumnWeights:
            _check_columns(self.model, self.method)
        if METHODS[self.method] is LengthMap:
            _check_lengths(self.model)
        if self.method in NO_LEAVE_ONE_OUT and isinstance(self.cv, str) and self.cv == LOO:
            raise VerosimError(
                f'method="{self.method}" cannot be used with cv="loo".',
                "Use a number of folds, such as cv=10.",
            )
        whole("pairs", self.pairs, least=0)
        if self.method == "pairs" and self.pairs:
            model = PairedNaiveBayes.of(self.model, int(self.pairs))
            training = training.of_spec(model.spec())
        model = fit_model(model, training.inputs)
        engine = None if is_leave_one_out(training.cv, groups) else training.engine()
        if engine is not None and not engine.rows.source.numbered:
            self.map_, self.before_, self.after_ = temperature_by_rounds(
                engine, self.bins, MOST_MAPS
            )
            return self._keep_first(model)
        found = fitted_map(METHODS[self.method], training, engine, model.state_.tuned)
        self.map_ = found.map
        self.before_, self.after_ = (
            reliability(
                found.classes[found.codes], log_proba=log_p, classes=found.classes, bins=self.bins,
                sample_weight=found.weights,
            )
            for log_p in (found.before, found.after)
        )  # fmt: skip
        return self._keep_first(model)

    def _keep_first(self, model: Any) -> Self:
        """Keep the model of a first fit."""
        self.model_ = model
        self.rows_since_map_, self.refit_after_ = 0.0, float(model.class_count_.sum())
        return self

    # Updates: the model changes exactly, and the map stays ---------------------------------------

    @available_if(_can_update)
    @updates
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
        """Add training rows to the model inside, in place. The map stays.

        The first call is `fit`, so it should have as many rows as possible. A later call can have
        new classes, which isotonic maps refuse. `before_` and `after_` stay those of the fit.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows to add.
        y : array-like of shape (n,), str or None, default=None
            The labels, or the name of the target column of a table. None uses the target of the
            fit or of `schema`.
        classes : array-like of shape (C,) or None, default=None
            Labels that may appear later. This argument is optional in every call.
        sample_weight : array-like of shape (n,), str or None, default=None
            The weight of each row, or the name of a column of weights.
        schema : Schema or None, default=None
            The kinds of the columns, for the first call.
        na : iterable of str, default=()
            Texts that mean a missing value in a table, in addition to the empty cell, for the
            first call.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.
        unlabelled : {"error", "skip"}, default="error"
            What to do with rows without a label. "error" raises an error that counts them. "skip"
            leaves them out.

        Returns
        -------
        Calibrated
            The updated object itself.
        """
        given: dict[str, Any] = {
            "schema": schema, "na": na, "read": read, "unlabelled": unlabelled
        }  # fmt: skip
        if not self.__sklearn_is_fitted__():
            self.fit(X, y, sample_weight, **given)
            if classes is not None:
                self._keep(_with_classes(self.model_, classes))
            return self
        model = snapshot(self.checked_model())
        return self._keep(model.partial_fit(X, y, classes, sample_weight, **given))

    @available_if(_can_update)
    @updates
    def forget(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        read: FileOptions | None = None,
    ) -> Self:
        """Remove training rows from the model inside, in place. The map stays.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows to remove. The model must have been fitted on them.
        y : array-like of shape (n,), str or None, default=None
            Their labels, or the name of the target column of a table.
        sample_weight : array-like of shape (n,), str or None, default=None
            The weights that the rows had when they were added. None means the weight 1.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        Calibrated
            The updated object itself.
        """
        model = snapshot(self.checked_model())
        return self._keep(model.forget(X, y, sample_weight, read=read))

    @available_if(_can_update)
    @updates
    def prune(self, min_count: float) -> Self:
        """Remove rare categories and tokens from the model inside permanently, in place.

        The map stays.

        Parameters
        ----------
        min_count : float
            Values with a smaller total count are removed.

        Returns
        -------
        Calibrated
            The updated object itself.
        """
        model = snapshot(self.checked_model())
        return self._keep(model.prune(min_count))

    @reads
    def merge(self, other: Calibrated) -> Self:
        """Combine two calibrated models into a new one of the rows of both.

        `a + b` and `sum(models)` do the same. The two models stay unchanged. The new object has the
        parameters, the map and the reliability of the first.

        Parameters
        ----------
        other : Calibrated
            A fitted, calibrated model with a model inside of the same kind.

        Returns
        -------
        Calibrated
            The new fitted object.
        """
        if not isinstance(other, Calibrated):
            raise VerosimError(
                "A calibrated model can be merged only with another calibrated model; got "
                f"{type(other).__name__}.",
                "Calibrate both models, or merge the models inside, `model_`.",
            )
        merged = shallow(self)
        return merged._keep(self.checked_model().merge(other.checked_model()))

    def __add__(self, other: Calibrated) -> Self:
        return self.merge(other)

    def __radd__(self, other: Any) -> Self:
        """0 + model, so that sum(models) is the model of all their rows."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _keep(self, model: Any) -> Self:
        """Take an updated model, count the changed rows, and warn once if they are many."""
        known, now = self.model_, float(model.class_count_.sum())
        before, changed = self.rows_since_map_, abs(now - float(known.class_count_.sum()))
        self.map_ = self.map_.for_classes(known.classes_, model.classes_)
        self.model_, self.rows_since_map_ = model, before + changed
        if before <= self.refit_after_ < self.rows_since_map_:
            warn(
                f"Rows with a total weight of {self.rows_since_map_:,.0f} were added or removed "
                f"since the calibration map was fitted on {self.refit_after_:,.0f}. Fit the "
                "calibrated model again.",
                VerosimWarning,
            )
        return self

    @reads
    def program(self) -> Program:
        """Write the calibrated posteriors down as data: priors, readings of cells, and terms.

        Returns
        -------
        Program
            The program. Its `evaluate` gives `predict_log_proba`.

        Raises
        ------
        VerosimError
            If the calibration is isotonic, or if the model inside cannot be written as a program.
        """
        model = self.checked_model()
        return self.map_.program(model.program(), model.checked_state())

    def rule_of(self, rule: Rule) -> Rule:
        """The rule with calibrated posteriors.

        Parameters
        ----------
        rule : Rule
            The rule of the model.

        Returns
        -------
        Rule
            The rule with the calibration map.
        """
        return self.map_.rule(rule)


def _settled_density(model: Any) -> Any:
    """The density of a model, with any value for the settings that fit chooses."""
    spec = model.spec()
    return spec.resolved(dict.fromkeys(spec.open_settings, 0.5)).density


def _check_lengths(model: Any) -> None:
    """Raise an error if the rows of the model have no length."""
    if not _settled_density(model).has_row_lengths:
        raise VerosimError(
            f'method="length" needs a model of texts or of counts; got {type(model).__name__}.',
            'Use method="temperature" or "isotonic", or a model such as TextNB().',
        )


def _check_columns(model: Any, method: str) -> None:
    """Raise an error if the columns of the model, or pairs of them, cannot have weights."""
    if method == "pairs" and not isinstance(model, NaiveBayes):
        raise VerosimError(
            f'method="pairs" needs a NaiveBayes model; got {type(model).__name__}.',
            'Use NaiveBayes(), or method="temperature" or "columns".',
        )
    if not _settled_density(model).has_independent_columns:
        raise VerosimError(
            f'method="columns" needs a model with independent columns; got {type(model).__name__}.',
            'Use method="temperature" or "isotonic", or a model such as GaussianNB().',
        )


@checked
def calibrate(
    model: GenerativeClassifier,
    X: Source,
    y: Labels | None = None,
    *,
    sample_weight: Weights | None = None,
    groups: Labels | None = None,
    schema: Schema | None = None,
    na: MissingMarks = (),
    read: FileOptions | None = None,
    unlabelled: Literal["error", "skip"] = "error",
    **settings: Unpack[CalibratedSettings],
) -> Calibrated:
    """Fit a model and calibrate its posteriors on held-out rows.

    This is `Calibrated(clone(model), **settings).fit(X, y)`. By default, the map is a temperature:

        log p̂(k | x) = τ log p(k | x) − log Σ_l p(l | x)^τ

    where p(k | x) is the posterior of the model, and τ is the number with the lowest log-loss of
    the held-out rows. τ below 1 means that the model is too confident.

    Parameters
    ----------
    model : GenerativeClassifier
        The model to calibrate, fitted or not. A copy of it is fitted on all rows.
    X : array-like of shape (n, d), sparse matrix or table
        The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path
        to a file or a folder, or an iterable of tables.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column of a table. None uses the target of `schema`.
    sample_weight : array-like of shape (n,), str or None, default=None
        The weight of each row, or the name of a column of weights.
    groups : array-like of shape (n,), str or None, default=None
        The group of each row, or the name of a column of groups. All rows of a group are in the
        same fold.
    schema : Schema or None, default=None
        The kinds of the columns, from `verosim.look`. None finds them from the table.
    na : iterable of str, default=()
        Texts that mean a missing value in a table, in addition to the empty cell.
    read : dict or None, default=None
        Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
        `verosim.read`. None means that the files are examined.
    unlabelled : {"error", "skip"}, default="error"
        What to do with rows without a label. "error" raises an error that counts them. "skip"
        leaves them out.
    **settings : keyword arguments
        The parameters `cv`, `method`, `bins` and `pairs` of :class:`Calibrated`.

    Returns
    -------
    Calibrated
        The fitted, calibrated classifier.

    Raises
    ------
    VerosimError
        If the model is not a generative classifier of verosim, or if the folds do not hold out
        each row once.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> import verosim
    >>> from sklearn.datasets import load_breast_cancer
    >>> from verosim import calibrate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = calibrate(verosim.GaussianNB(), X, y)
    >>> model.before_
    Reliability(error=0.0646, classwise_error=0.0652, log_loss=0.6684, brier=0.1272)
    >>> model.after_
    Reliability(error=0.0182, classwise_error=0.0315, log_loss=0.1501, brier=0.0911)
    >>> model.map_.tau < 0.3          # the columns repeat each other
    True
    >>> (model.predict(X) == model.model_.predict(X)).all()
    np.True_
    """
    wrapper = Calibrated(clone(model), **settings)
    y = target_of(model, y)
    return wrapper.fit(
        X, y, sample_weight, groups=groups, schema=schema, na=na, read=read, unlabelled=unlabelled
    )
