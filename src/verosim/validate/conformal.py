"""Sets of classes that hold the true one as often as promised, whatever the model is worth.

    p_k(x) = (1 + #{i : s_i ≥ s_k(x)}) / (m + 1),    set(x) = {k : p_k(x) > α},    α = 1 − coverage

s_i are the scores of m labelled rows the model did not learn from, and s_k(x) is the score row x
would have if it were of class k. If x and those rows could have come in any order, the chance that
p_y(x) ≤ α is at most α. The score is s = −log-odds of the label, which orders rows as 1 − p(y | x)
and −log p(y | x) do but never saturates: naive Bayes gives thousands of rows a posterior of 1.0,
and rows that tie cannot be told apart.
Reference: Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from verosim.bayes.rule import Rule
from verosim.data.labels import positions
from verosim.errors import VerosimError, VerosimWarning, listed, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.checks import generator
from verosim.folds import HeldOutEngine, inputs_of, reweighted
from verosim.folds.evaluation import out_of_fold
from verosim.folds.splits import row_labels, row_weights
from verosim.models import Inputs, open_rows
from verosim.models.settings import one_of
from verosim.validate.calibration import FAR, log_odds
from verosim.validate.wrapper import Wrapper, fit_model, generative

SAME_SCORE = 1e-9  # relative: what blocks of rows round differently is the same score


@dataclass(frozen=True)
class Scores:
    """Scores of labelled rows, sorted, and the weight of those at or above each."""

    sorted: np.ndarray  # (m,)
    above: np.ndarray  # (m + 1,)

    @classmethod
    def of(cls, scores: np.ndarray, w: np.ndarray) -> Scores:
        order = np.argsort(scores, kind="stable")
        tail = np.cumsum(w[order][::-1])[::-1]
        return cls(scores[order], np.append(tail, 0.0))

    def at_least(self, s: np.ndarray) -> np.ndarray:
        """The weight of the rows that score s or more."""
        return self.above[np.searchsorted(self.sorted, s - SAME_SCORE * np.maximum(np.abs(s), 1.0))]


class Conformal(Wrapper):
    """A classifier that also answers with sets of classes; :func:`conformal` makes one.

    Attributes
    ----------
    model_ : the model; with method="split", of the rows that were not held out
    rules_ : the rules of the fold models, with method="cross"
    scores_ : the :class:`Scores` of the rows held out, fold by fold and class by class; one fold
        with method="split", one class for all unless `by_class`
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
        """Fit the model, and score the rows it did not learn from."""
        one_of("method", self.method, ("split", "cross"))
        _check_share("coverage", self.coverage)
        inputs = inputs_of(X, y, sample_weight, schema, na)
        if self.method == "split":
            self._fit_split(inputs)
        else:
            self._fit_cross(inputs)
        return self

    def _fit_split(self, inputs: Inputs) -> None:
        source = open_rows(generative(self.model, "This").spec(), inputs).source
        labels = row_labels(source, inputs.y)
        weights = row_weights(source, len(labels))
        strata = labels if self.by_class else np.zeros(len(labels))
        held = _chosen(strata, weights > 0, self.size, generator(self.random_state))
        model = fit_model(self.model, _subset(self.model, inputs, np.where(held, 0.0, weights)))
        lost = np.setdiff1d(np.unique(labels[weights > 0]), model.classes_)
        if len(lost):
            warn(
                f"{len(lost)} classes, {listed([str(c) for c in lost.tolist()])} among them, have "
                "no row left to learn from, so no set ever holds them and the promise cannot be "
                "kept. Hold out fewer rows (size=), or by_class=True, which splits every class.",
                VerosimWarning,
            )
        log_p = model.predict_log_proba(inputs.X)[held]
        fold = np.zeros(len(log_p), dtype=int)
        self._keep(model, {}, log_p, labels[held], weights[held], fold)

    def _fit_cross(self, inputs: Inputs) -> None:
        if not isinstance(self.model, GenerativeClassifier):
            raise VerosimError(
                f"method='cross' has no fold models of {type(self.model).__name__}.",
                "method='split', or the generative classifier inside it.",
            )
        engine = HeldOutEngine([self.model.spec()], inputs, self.cv)
        found, rules = out_of_fold(engine, lambda rule, some: rule.log_posterior(some))
        model = clone(self.model).set_state(engine.state(0))
        weights = found.row_weights
        self._keep(model, rules, found.scores, found.labels, weights, found.folds)

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
        score = np.where(at >= 0, -own, FAR)  # of a class none but rows held out have: the worst
        cell = at if self.by_class else np.zeros_like(at)
        scores = [
            [
                Scores.of(score[some], weights[some])
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
        """(n, C) how well each class fits each row: the share of rows that fit theirs no better."""
        self.checked_model()
        total = np.sum([[cell.above[0] for cell in fold] for fold in self.scores_], axis=0)

        def judged(rule: Rule, rows: Any) -> np.ndarray:
            count = np.zeros((rows.shape[0], len(self.classes_)))
            for held, cells in zip(self.rules_ or [rule], self.scores_, strict=True):
                s = -log_odds(held.log_posterior(rows))
                if len(cells) == 1:
                    count += cells[0].at_least(s)
                else:
                    for k, cell in enumerate(cells):
                        count[:, k] += cell.at_least(s[:, k])
            return (1 + count) / (1 + total)

        return self.evaluate(X, judged)

    def predict_set(
        self, X: Any, coverage: float | None = None, labels: bool = False
    ) -> np.ndarray | list[np.ndarray]:
        """(n, C) whether each class is in the set of each row; with `labels`, a list of the sets.

        `coverage` may be another than the one at fit: the scores serve them all. A set may be
        empty, where the row fits no class as well as the promise asks, and may hold every class.
        """
        coverage = self.coverage if coverage is None else coverage
        _check_share("coverage", coverage)
        inside = self.p_values(X) > 1 - coverage + 1e-12  # 1 − 0.9 is a little below 0.1
        return [self.classes_[row] for row in inside] if labels else inside


def _subset(model: Any, inputs: Inputs, weights: np.ndarray) -> Inputs:
    """The rows that have a weight, as `fit` takes them: rows of zero weight do not exist."""
    some = reweighted(inputs, weights)
    if not some.ignored:
        return some
    schema = open_rows(generative(model, "This").spec(), some).schema
    return replace(some, schema=schema, na=())


def _chosen(
    strata: np.ndarray, counted: np.ndarray, size: float, rng: np.random.Generator
) -> np.ndarray:
    """(n,) the rows to hold out: the same share of every stratum, at random."""
    n = int(counted.sum())
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    share = size / n if whole else size
    if not isinstance(share, float) or not 0 < share < 1 or not 0 < round(share * n) < n:
        raise VerosimError(
            f"size={size!r} of {n} rows to hold out.",
            "a share between 0 and 1, or fewer rows than there are.",
        )
    held = np.zeros(len(strata), dtype=bool)
    for stratum in np.unique(strata):
        at = rng.permutation(np.flatnonzero((strata == stratum) & counted))
        held[at[: min(max(round(share * len(at)), 1), len(at) - 1)]] = True
    return held


def _check_share(name: str, value: Any) -> None:
    if not isinstance(value, float | np.floating) or not 0 < value < 1:
        raise VerosimError(f"{name}={value!r}: a share above 0 and below 1 is needed.")


def conformal(
    model: Any,
    X: Any,
    y: Any = None,
    coverage: float = 0.9,
    method: str = "split",
    cv: Any = 10,
    *,
    size: float = 0.5,
    by_class: bool = False,
    random_state: Any = 0,
    sample_weight: Any = None,
    schema: Any = None,
    na: Any = (),
) -> Conformal:
    """A classifier whose `predict_set` holds the true class of a share `coverage` of new rows.

    p_k(x) = (1 + #{i : s_i ≥ s_k(x)}) / (m + 1),    set(x) = {k : p_k(x) > 1 − coverage}

    split : a random part of the rows is held out and scored by the model of the others, which is
        kept. If new rows come as these did, P(y ∈ set) ≥ coverage exactly, for every sample size
        and any model, on average over splits and new rows; and ≤ coverage + 1/(m + 1) where no
        scores tie.
    cross : every row is scored by the model of the other folds, and a new row by all fold models.
        No row is lost to the model. In theory P(y ∈ set) ≥ 1 − 2 (1 − coverage), or nearly;
        in practice it is about `coverage`.

    A set may be empty: the row fits no class, and each is as strange as the 1 − coverage strangest
    rows were. Weights count as that many equal rows.

    Parameters
    ----------
    model : a generative classifier, fitted or not: it is fitted anew
    X, y : as for `fit`: arrays, or a table and the name of its target
    coverage : the share of new rows whose set is to hold their class
    method : "split" or "cross"
    cv : folds of method="cross", as in `cross_validate`
    size : share or number of rows that method="split" holds out
    by_class : keep the promise within every class, not only over all (the Mondrian form): each
        class is compared with its own rows, and the same share of each is held out. Otherwise
        rows are held out by chance alone, as the proof wants them
    random_state : which rows are held out
    sample_weight, schema, na : as for `fit`

    References
    ----------
    Papadopoulos, Proedrou, Vovk & Gammerman (2002), Inductive confidence machines for regression.
    Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world.
    Lei, G'Sell, Rinaldo, Tibshirani & Wasserman (2018), Distribution-free predictive inference for
    regression. Vovk (2015), Cross-conformal predictors.

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
    wrapper = Conformal(clone(model), coverage, method, cv, size, by_class, random_state)
    return wrapper.fit(X, y, sample_weight, schema=schema, na=na)
