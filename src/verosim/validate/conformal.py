"""Sets of classes that contain the true class with a given probability, for any model.

    p_k(x) = (1 + #{i : s_i ≥ s_k(x)}) / (m + 1),    set(x) = {k : p_k(x) > α},    α = 1 − coverage

s_i are the scores of m labelled rows that the model was not fitted on. s_k(x) is the score of row x
if its class is k. If x and these rows are exchangeable, the probability of p_y(x) ≤ α is at most α
for the true class y. A class without training rows has the highest score. A class that no row has
cannot be in a set, so the guarantee is about the other classes. The score is s = −log-odds of the
label. It orders rows as −log p(y | x) does. It also orders rows with a posterior that rounds to 1,
which are common in naive Bayes.
Reference: Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

import numpy as np
from sklearn.base import clone

from verosim.arguments import checked, one_of, share
from verosim.axes.groups import union_of_labels
from verosim.bayes.rule import Rule, spread, widened
from verosim.data.clusters import check_is_here
from verosim.data.labels import encode_labels, positions
from verosim.errors import VerosimError, VerosimWarning, listed, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.checks import generator
from verosim.estimators.one_state import reads, updates
from verosim.folds import HoldOut, reweighted
from verosim.folds.evaluation import out_of_fold
from verosim.folds.inputs import target_of, without_ignored_columns
from verosim.folds.splits import number_of_folds, row_labels, row_weights
from verosim.models import open_rows
from verosim.validate.calibration_maps import MOST_LOG_ODDS, log_odds
from verosim.validate.nonconformity import NonconformityScores
from verosim.validate.wrapper import Training, Wrapper, fit_model

if TYPE_CHECKING:
    from verosim.data.schema import Schema
    from verosim.typing import CV, FileOptions, Labels, MissingMarks, RandomState, Source, Weights

# Share of 1 − coverage above which rows of classes that the table does not have are reported.
RARE_SHARE = 0.1


class ConformalSettings(TypedDict, total=False):
    """The parameters of `Conformal` that `conformal` passes on."""

    coverage: float
    method: Literal["split", "cross"]
    cv: CV
    size: float
    by_class: bool
    random_state: RandomState


class Conformal(Wrapper):
    """A classifier that predicts sets of classes with a guaranteed coverage.

    `predict_set` returns, for each row, a set that contains the true class for a share `coverage`
    of new rows, if their classes are in the table. Use it if one wrong prediction is expensive and
    several candidates are acceptable.

        p_k(x) = (1 + #{i : s_i ≥ s_k(x)}) / (m + 1),    set(x) = {k : p_k(x) > 1 − coverage}

    where s_i are the scores of the m held-out rows, and s_k(x) is the score of the new row x if its
    class is k. A score is high if the row is unusual for the class.

    With `method="split"`, some rows are held out and the model is fitted on the other rows. Let x
    be a new row with the true class y, exchangeable with the held-out rows. For any model and any
    number of rows, on average over tables, splits and new rows,

        P(y ∈ set(x), or no row of the table has class y) ≥ coverage

    If no scores are equal, it is at most coverage + 1/(m + 1). The set therefore contains the true
    class with probability coverage − u or more, where u is the probability that a new row has a
    class that the table does not have. u is zero if all classes are in the table. Otherwise the
    share of rows that are the only row of their class estimates it (Good 1953). `fit` warns if this
    share is more than a tenth of 1 − coverage.

    With `by_class=True` the guarantee holds within each class k of the table:

        P(k ∈ set(x) | y = k) ≥ coverage

    A class with fewer than 1/(1 − coverage) − 1 held-out rows is in every set, because so few rows
    cannot exclude it. With coverage 0.95 these are classes with fewer than 19 held-out rows.

    With `method="cross"`, each row is held out once, and a new row is scored by the models of all F
    folds. The model is fitted on all n rows. The guarantee is weaker: with random folds of equal
    size, P ≥ 1 − 2 (1 − coverage) − 2 (1 − 1/F)/(n/F + 1) in place of P ≥ coverage. In practice the
    coverage is close to `coverage`.

    A set can be empty. Then the row is unusual for every class. A row with weight w counts as w
    equal rows, and the guarantees are about equal weights.

    Parameters
    ----------
    model : GenerativeClassifier or Calibrated
        The model, fitted or not. A copy of it is fitted. A `Calibrated` model needs
        `method="split"`.
    coverage : float, default=0.9
        The share of new rows with a set that contains the true class, between 0 and 1. Rows with a
        class that no row of the table has are not counted.
    method : {"split", "cross"}, default="split"
        "split" holds out some rows once. "cross" holds out every row once, in folds.
    cv : int, splitter, array-like, str or iterable, default=10
        The folds: a number of folds, a scikit-learn splitter, the fold of each row, the name of a
        column of folds, or pairs of training and test positions. With `method="cross"` each row
        must be held out once. With `method="split"` the first split or fold is held out; if cv is a
        number, `size` is used instead.
    size : float or int, default=0.5
        The share or the number of the rows that `method="split"` holds out at random.
    by_class : bool, default=False
        True gives the coverage within each class (the Mondrian form): each class is compared with
        its own held-out rows, and the same share of each class is held out. False gives the
        coverage over all rows together.
    random_state : int, Generator, RandomState or None, default=0
        The randomness that chooses the held-out rows.

    Attributes
    ----------
    model_ : GenerativeClassifier or Calibrated
        The fitted model. With `method="split"`, it is fitted on the rows that are not held out.
    rules_ : list of Rule
        The rules of the fold models, with `method="cross"`. Otherwise an empty list.
    scores_ : list of list of NonconformityScores
        The sorted scores of the held-out rows, by fold and class. With `method="split"` there is
        one fold. With `by_class=False` there is one entry for all classes.
    classes_ : ndarray of shape (C,)
        The class labels of all rows, sorted. A class without training rows has the posterior 0.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns, if X had column names that are texts.

    References
    ----------
    Papadopoulos, Proedrou, Vovk & Gammerman (2002), Inductive confidence machines for regression,
    ECML.
    Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world, Springer.
    Lei, G'Sell, Rinaldo, Tibshirani & Wasserman (2018), Distribution-free predictive inference for
    regression, JASA 113.
    Vovk (2015), Cross-conformal predictors, Annals of Mathematics and Artificial Intelligence 74.
    Barber, Candès, Ramdas & Tibshirani (2021), Predictive inference with the jackknife+, Annals of
    Statistics 49.
    Good (1953), The population frequencies of species and the estimation of population parameters,
    Biometrika 40.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import Conformal, LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Conformal(LDA(), method="cross").fit(X, y)
    >>> model.predict_set(X[[0, 70]], coverage=0.99, labels=True)
    [array([0]), array([1, 2])]
    """

    def __init__(
        self,
        model: GenerativeClassifier | Wrapper,
        coverage: float = 0.9,
        method: Literal["split", "cross"] = "split",
        cv: CV = 10,
        size: float = 0.5,
        by_class: bool = False,
        random_state: RandomState = 0,
    ) -> None:
        self.model = model
        self.coverage = coverage
        self.method = method
        self.cv = cv
        self.size = size
        self.by_class = by_class
        self.random_state = random_state

    @updates
    def fit(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        schema: Schema | None = None,
        na: MissingMarks = (),
        read: FileOptions | None = None,
        unlabelled: Literal["error", "skip"] = "error",
    ) -> Self:
        """Fit the model, and score the held-out rows.

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
        Conformal
            The fitted object itself.
        """
        check_is_here(X, "Conformal")
        one_of("method", self.method, ("split", "cross"))
        share("coverage", self.coverage)
        training = Training.of(self, X, y, sample_weight, schema, na, unlabelled, read=read)
        if self.method == "split":
            self._fit_split(training)
        else:
            self._fit_cross(training)
        return self

    def _fit_split(self, training: Training) -> None:
        inputs = training.inputs
        source = open_rows(training.spec, inputs).source
        labels = row_labels(source, inputs.y)
        weights = row_weights(source, len(labels))
        learnt, held = self._split(training, labels, weights > 0)
        some = reweighted(inputs, np.where(learnt, weights, 0.0))
        model = fit_model(self.model, without_ignored_columns(training.spec, some))
        counted = weights > 0
        lost = np.setdiff1d(np.unique(labels[counted]), model.classes_)
        if len(lost):
            names = listed([str(label) for label in lost.tolist()])
            warn(
                f"No training rows are left for the classes {names}, so these classes are in every "
                "set or in none. Hold out fewer rows with size=, or use by_class=True.",
                VerosimWarning,
            )
        classes = union_of_labels(model.classes_, lost)
        places = positions(model.classes_, classes)
        log_p = spread(model.predict_log_proba(inputs.X)[held], places, len(classes))
        fold = np.zeros(len(log_p), dtype=int)
        self._warn_of_new_classes(labels[counted])
        self._keep(model, classes, {}, log_p, labels[held], weights[held], fold)

    def _warn_of_new_classes(self, labels: np.ndarray) -> None:
        """Warn if many new rows will have a class that no row has.

        Their share is about that of the classes with one row: labels (n,) has all rows.
        """
        codes, classes = encode_labels(labels)
        single = classes[np.bincount(codes) == 1]
        share = len(single) / len(labels)
        if share <= RARE_SHARE * (1 - self.coverage):
            return
        names = listed([str(label) for label in single.tolist()])
        warn(
            f"The classes {names} have one row each in {len(labels)} rows, so about {share:.1%} of "
            "new rows may have a class that no row has, which no set contains, and the coverage "
            f"may be only about {max(self.coverage - share, 0):.3g}. Add rows of rare classes, "
            "or join rare classes.",
            VerosimWarning,
        )

    def _split(
        self, training: Training, labels: np.ndarray, counted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n,) the training rows and (n,) the held-out rows."""
        if number_of_folds(self.cv) is not None:
            strata = labels if self.by_class else np.zeros(len(labels))
            held = _held_out_at_random(strata, counted, self.size, generator(self.random_state))
            return ~held, held
        rows = HoldOut(training.spec, training.inputs, self.cv)
        numbers = rows.folds_by_row()
        held = np.zeros(len(labels), dtype=bool)
        held[rows.folds.tested(0, numbers)] = True
        return rows.folds.trained(0, numbers), held & counted

    def _fit_cross(self, training: Training) -> None:
        if not isinstance(self.model, GenerativeClassifier):
            raise VerosimError(
                f"method='cross' needs a generative classifier of verosim; got "
                f"{type(self.model).__name__}.",
                "Use method='split', or the generative classifier inside the wrapper.",
            )
        engine = training.engine()
        found, rules = out_of_fold(engine, lambda rule, rows: rule.log_posterior(rows))
        model = clone(self.model).set_state(engine.state(0))
        self._warn_of_new_classes(found.labels[found.row_weights > 0])
        self._keep(
            model, model.classes_, rules, found.scores, found.labels, found.row_weights, found.folds
        )

    def _keep(
        self,
        model: Any,
        classes: np.ndarray,
        rules: dict[int, Rule],
        log_p: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        folds: np.ndarray,
    ) -> None:
        """Store the model, the rules of the folds, and the sorted scores of the held-out rows."""
        at = positions(labels, classes)
        own = np.take_along_axis(log_odds(log_p), np.maximum(at, 0)[:, None], axis=1)[:, 0]
        score = np.where(at >= 0, -own, MOST_LOG_ODDS)  # no training rows: highest
        cell = at if self.by_class else np.zeros_like(at)
        scores = [
            [
                NonconformityScores.of(score[some], weights[some])
                for k in range(len(classes) if self.by_class else 1)
                for some in [(folds == f) & (cell == k)]
            ]
            for f in rules or [0]
        ]
        self.model_, self.rules_, self.scores_ = model, list(rules.values()), scores
        self._classes = classes

    @property
    def classes_(self) -> np.ndarray:  # type: ignore[override]
        """(C,) the class labels of all rows, sorted."""
        self._fitted("classes_")
        return self._classes

    def rule_of(self, rule: Rule) -> Rule:
        """The rule that predicts: that of the model. Classes without training rows have p = 0.

        Parameters
        ----------
        rule : Rule
            The rule of the model.

        Returns
        -------
        Rule
            The same rule, over all classes.
        """
        places = positions(self.model_.classes_, self._classes)
        found: Any = widened(rule, places, len(self._classes))
        return found

    # Sets -------------------------------------------------------------------------------------

    @reads
    def p_values(self, X: Source) -> np.ndarray:
        """The p-value of each class for each row.

            p_k(x) = (1 + #{i : s_i ≥ s_k(x)}) / (m + 1)

        where s_i are the scores of the m held-out rows, and s_k(x) is the score of row x if its
        class is k. A low value means that class k is unlikely for the row.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows.

        Returns
        -------
        ndarray of shape (n, C)
            The p-values, with classes in the order of `classes_`.
        """
        self.checked_model()
        total = np.sum([[cell.above[0] for cell in fold] for fold in self.scores_], axis=0)

        def of_rows(rule: Rule, rows: Any) -> np.ndarray:
            count = np.zeros((rows.shape[0], len(self.classes_)))
            for fold_rule, cells in zip(self.rules_ or [rule], self.scores_, strict=True):
                s = -log_odds(fold_rule.log_posterior(rows))
                if len(cells) == 1:
                    count += cells[0].at_least(s)
                else:
                    for k, cell in enumerate(cells):
                        count[:, k] += cell.at_least(s[:, k])
            return (1 + count) / (1 + total)

        return self.evaluate(X, of_rows)

    @reads
    def predict_set(
        self, X: Source, coverage: float | None = None, labels: bool = False
    ) -> np.ndarray | list[np.ndarray]:
        """The set of classes of each row.

            set(x) = {k : p_k(x) > 1 − coverage}

        where p_k(x) is the p-value of class k. A set can be empty, or contain all classes.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The rows.
        coverage : float or None, default=None
            The coverage, between 0 and 1. None uses the parameter `coverage`. Any value is possible
            without a new fit.
        labels : bool, default=False
            Whether to return the labels of each set.

        Returns
        -------
        ndarray of shape (n, C), or list of n arrays
            True where the class is in the set of the row. With `labels=True`, a list with the
            labels of each set.
        """
        coverage = self.coverage if coverage is None else coverage
        share("coverage", coverage)
        inside = self.p_values(X) > 1 - coverage + 1e-12  # in floats, 1 − 0.9 < 0.1
        return [self.classes_[row] for row in inside] if labels else inside


def _held_out_at_random(
    strata: np.ndarray, counted: np.ndarray, size: float, rng: np.random.Generator
) -> np.ndarray:
    """(n,) the held-out rows: the same share of each stratum, at random."""
    n = int(counted.sum())
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    part = size / max(n, 1) if whole else size
    if not isinstance(part, float) or not 0 < part < 1 or not 0 < round(part * n) < n:
        raise VerosimError(
            f"size={size!r} cannot be held out, because there are n_samples={n} rows.",
            "Use a share between 0 and 1, or a number smaller than the number of rows.",
        )
    held = np.zeros(len(strata), dtype=bool)
    for stratum in np.unique(strata):
        at = rng.permutation(np.flatnonzero((strata == stratum) & counted))
        held[at[: min(max(round(part * len(at)), 1), len(at) - 1)]] = True
    return held


@checked
def conformal(
    model: GenerativeClassifier | Wrapper,
    X: Source,
    y: Labels | None = None,
    *,
    sample_weight: Weights | None = None,
    schema: Schema | None = None,
    na: MissingMarks = (),
    read: FileOptions | None = None,
    unlabelled: Literal["error", "skip"] = "error",
    **settings: Unpack[ConformalSettings],
) -> Conformal:
    """Fit a model that predicts sets of classes with a guaranteed coverage.

    This is `Conformal(clone(model), **settings).fit(X, y)`. The set of a row x is

        set(x) = {k : p_k(x) > 1 − coverage},    p_k(x) = (1 + #{i : s_i ≥ s_k(x)}) / (m + 1)

    where s_i are the scores of the m held-out rows, and s_k(x) is the score of row x if its class
    is k. The set contains the true class for a share `coverage` of new rows, except rows with a
    class that no row of the table has. :class:`Conformal` states the exact guarantee.

    Parameters
    ----------
    model : GenerativeClassifier or Calibrated
        The model, fitted or not. A copy of it is fitted.
    X : array-like of shape (n, d), sparse matrix or table
        The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a path
        to a file or a folder, or an iterable of tables.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column of a table. None uses the target of `schema`.
    sample_weight : array-like of shape (n,), str or None, default=None
        The weight of each row, or the name of a column of weights.
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
        The parameters `coverage`, `method`, `cv`, `size`, `by_class` and `random_state` of
        :class:`Conformal`.

    Returns
    -------
    Conformal
        The fitted classifier, with the method `predict_set`.

    Raises
    ------
    VerosimError
        If the model is not a generative classifier of verosim, or if there are too few rows to
        hold some of them out.

    References
    ----------
    Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world, Springer.

    Examples
    --------
    >>> import verosim
    >>> from sklearn.datasets import load_iris
    >>> from verosim import conformal
    >>> X, y = load_iris(return_X_y=True)
    >>> model = conformal(verosim.GaussianNB(), X, y, coverage=0.95)
    >>> model.predict_set(X[[0, 52]]).tolist()
    [[True, False, False], [False, True, True]]
    >>> model.predict_set(X[[0, 52]], labels=True)
    [array([0]), array([1, 2])]
    """
    wrapper = Conformal(clone(model), **settings)
    y = target_of(model, y)
    return wrapper.fit(X, y, sample_weight, schema=schema, na=na, read=read, unlabelled=unlabelled)
