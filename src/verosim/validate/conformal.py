"""Sets of classes that hold the true class with a given probability, whatever the model.

    p_k(x) = (1 + #{i : s_i ≥ s_k(x)}) / (m + 1),    set(x) = {k : p_k(x) > α},    α = 1 − coverage

s_i are the scores of m labelled rows the model did not learn from, and s_k(x) is the score row x
would have if it were of class k. If x and those rows are exchangeable, the probability of
p_y(x) ≤ α is at most α. The score is s = −log-odds of the label, which orders rows as 1 − p(y | x)
and −log p(y | x) do but never saturates: naive Bayes gives thousands of rows a posterior of 1.0,
and by that posterior all of them would tie.
Reference: Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from verosim.bayes.rule import Rule
from verosim.data.labels import positions
from verosim.errors import VerosimError, VerosimWarning, listed, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.checks import generator
from verosim.folds import HoldOut, reweighted
from verosim.folds.evaluation import out_of_fold
from verosim.folds.inputs import without_ignored_columns
from verosim.folds.splits import number_of_folds, row_labels, row_weights
from verosim.models import open_rows
from verosim.models.settings import one_of, share
from verosim.validate.calibration_maps import MOST_LOG_ODDS, log_odds
from verosim.validate.nonconformity import NonconformityScores
from verosim.validate.wrapper import Training, Wrapper, fit_model


class Conformal(Wrapper):
    """A classifier whose `predict_set` holds the true class of a share `coverage` of new rows.

    p_k(x) = (1 + #{i : s_i ≥ s_k(x)}) / (m + 1),    set(x) = {k : p_k(x) > 1 − coverage}

    split : some rows are held out and scored by the model of the others, which is kept. If new
        rows are exchangeable with the rows held out, P(y ∈ set) ≥ coverage exactly, for every
        sample size and any model, on average over splits and new rows; and ≤ coverage + 1/(m + 1)
        where no scores tie.
    cross : every row is scored by the model of the other folds, and a new row by all fold models.
        The model learns from all rows. In theory P(y ∈ set) ≥ 1 − 2 (1 − coverage), or nearly;
        in practice it is about `coverage`.

    A set may be empty: then each class is as unusual for the row as the 1 − coverage most unusual
    rows held out. A row of weight w counts as w equal rows.

    Parameters
    ----------
    model : a generative classifier, fitted or not; a copy of it is fitted. With method="split" it
        may also be a `Calibrated` one
    coverage : the share of new rows whose set is to hold their class
    method : "split" or "cross"
    cv : folds, as in `cross_validate`. With method="cross" every row is held out once; a number of
        folds is at most the number of rows. With method="split" the first split of a splitter, of
        (train, test) pairs or of folds given for every row says which rows are held out; a number
        of folds leaves that to `size`
    size : share or number of rows that method="split" holds out, at random
    by_class : keep the coverage within every class, not only over all (the Mondrian form): each
        class is compared with its own rows, and the same share of each is held out. Otherwise
        rows are held out whatever their class, as the proof requires
    random_state : which rows are held out

    Attributes
    ----------
    model_ : the fitted model; with method="split", of the rows that were not held out
    rules_ : the rules of the fold models, with method="cross"
    scores_ : the :class:`NonconformityScores` of the rows held out, fold by fold and class by
        class; one fold with method="split", one class for all unless `by_class`
    classes_ : (C,) the labels
    n_features_in_ : number of columns of X
    feature_names_in_ : their names, where X has names

    References
    ----------
    Papadopoulos, Proedrou, Vovk & Gammerman (2002), Inductive confidence machines for regression.
    Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world.
    Lei, G'Sell, Rinaldo, Tibshirani & Wasserman (2018), Distribution-free predictive inference for
    regression. Vovk (2015), Cross-conformal predictors.

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
        model: Any,
        coverage: float = 0.9,
        method: str = "split",
        cv: Any = 10,
        size: float = 0.5,
        by_class: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.model = model
        self.coverage = coverage
        self.method = method
        self.cv = cv
        self.size = size
        self.by_class = by_class
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, schema: Any = None, na: Any = ()
    ) -> Self:
        """Fit the model, and score rows it did not learn from.

        Parameters
        ----------
        X, y, sample_weight, schema, na : as the model's own `fit` takes them
        """
        one_of("method", self.method, ("split", "cross"))
        share("coverage", self.coverage)
        training = Training.of(self, X, y, sample_weight, schema, na)
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
        lost = np.setdiff1d(np.unique(labels[weights > 0]), model.classes_)
        if len(lost):
            warn(
                f"{len(lost)} classes, {listed([str(c) for c in lost.tolist()])} among them, have "
                "no row left to learn from, so no set ever holds them and the coverage cannot be "
                "kept. Hold out fewer rows (size=), or by_class=True, which splits every class.",
                VerosimWarning,
            )
        log_p = model.predict_log_proba(inputs.X)[held]
        fold = np.zeros(len(log_p), dtype=int)
        self._keep(model, {}, log_p, labels[held], weights[held], fold)

    def _split(
        self, training: Training, labels: np.ndarray, counted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n,) the rows to learn from and those to hold out."""
        if number_of_folds(self.cv) is not None:
            strata = labels if self.by_class else np.zeros(len(labels))
            held = _held_out_at_random(strata, counted, self.size, generator(self.random_state))
            return ~held, held
        rows = HoldOut(training.spec, training.inputs, self.cv)
        if rows.pairs is not None:
            learnt, held = (np.isin(np.arange(len(labels)), part) for part in rows.pairs[0])
        else:
            held = rows.fold_numbers() == 0
            learnt = ~held
        return learnt, held & counted

    def _fit_cross(self, training: Training) -> None:
        if not isinstance(self.model, GenerativeClassifier):
            raise VerosimError(
                f"method='cross' has no fold models of {type(self.model).__name__}.",
                "method='split', or the generative classifier inside it.",
            )
        engine = training.engine()
        found, rules = out_of_fold(engine, lambda rule, rows: rule.log_posterior(rows))
        model = clone(self.model).set_state(engine.state(0))
        self._keep(model, rules, found.scores, found.labels, found.row_weights, found.folds)

    def _keep(
        self,
        model: Any,
        rules: dict[int, Rule],
        log_p: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        folds: np.ndarray,
    ) -> None:
        """Keep the model, the rules of folds, and the sorted scores of the rows held out."""
        classes = model.classes_
        at = positions(labels, classes)
        own = np.take_along_axis(log_odds(log_p), np.maximum(at, 0)[:, None], axis=1)[:, 0]
        score = np.where(at >= 0, -own, MOST_LOG_ODDS)  # the worst, of a class the model lacks
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

    def rule_of(self, rule: Rule) -> Rule:
        return rule

    # Sets -------------------------------------------------------------------------------------

    def p_values(self, X: Any) -> np.ndarray:
        """(n, C) the share of rows held out that fit their class no better than the row fits k."""
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

    def predict_set(
        self, X: Any, coverage: float | None = None, labels: bool = False
    ) -> np.ndarray | list[np.ndarray]:
        """(n, C) whether each class is in the set of each row; with `labels`, a list of the sets.

        `coverage` may be another than the one at fit: the scores serve them all. A set may be
        empty, or hold every class.
        """
        coverage = self.coverage if coverage is None else coverage
        share("coverage", coverage)
        inside = self.p_values(X) > 1 - coverage + 1e-12  # 1 − 0.9 is a little below 0.1
        return [self.classes_[row] for row in inside] if labels else inside


def _held_out_at_random(
    strata: np.ndarray, counted: np.ndarray, size: float, rng: np.random.Generator
) -> np.ndarray:
    """(n,) the rows to hold out: the same share of every stratum, at random."""
    n = int(counted.sum())
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    part = size / max(n, 1) if whole else size
    if not isinstance(part, float) or not 0 < part < 1 or not 0 < round(part * n) < n:
        raise VerosimError(
            f"size={size!r} of n_samples={n} rows cannot be held out.",
            "a share between 0 and 1, or fewer rows than there are; two rows or more.",
        )
    held = np.zeros(len(strata), dtype=bool)
    for stratum in np.unique(strata):
        at = rng.permutation(np.flatnonzero((strata == stratum) & counted))
        held[at[: min(max(round(part * len(at)), 1), len(at) - 1)]] = True
    return held


def conformal(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    schema: Any = None,
    na: Any = (),
    **settings: Any,
) -> Conformal:
    """Fit a model that predicts sets of classes: `Conformal(clone(model), **settings).fit(X, y)`.

    Parameters
    ----------
    model : a generative classifier, fitted or not; a copy of it is fitted
    X, y : as for `fit`: arrays, or a table and the name of its target
    sample_weight, schema, na : as for `fit`
    **settings : `coverage`, `method`, `cv`, `size`, `by_class` and `random_state` of
        :class:`Conformal`

    Returns
    -------
    Conformal, fitted

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
    return wrapper.fit(X, y, sample_weight, schema=schema, na=na)
