"""Cross-validation without refitting.

    T(outside fold f) = T(all) − T(fold f)

One pass over the rows gives the statistics of every class and fold, algebra the model that never
saw each fold, and a second pass its scores of the rows held out. With one row a fold (`cv="loo"`)
the model without each row has a closed form.
References: Stone (1974), Cross-validatory choice and assessment of statistical predictions;
Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis (leave-one-out).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from verosim.data.labels import positions
from verosim.data.stream import TableSource
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier, StatisticClassifier, has_probabilities
from verosim.folds import HeldOutEngine, HoldOut, first_warning_only, inputs_of
from verosim.folds.evaluation import OutOfFold, score_specs
from verosim.folds.leave_one_out import leave_one_out
from verosim.folds.scores import (
    LOG_LOSS,
    Confusion,
    Predictions,
    Score,
    Sums,
    scores_by_name,
)
from verosim.validate.reliability import Reliability, ReliabilityBins

LOO = "loo"  # every row its own fold


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What a model says of rows it never saw, and how well."""

    scores: dict[str, np.ndarray]  # (F,) by name; one number for leave-one-out
    classes: np.ndarray  # (C,)
    rows: int  # n
    confusion: np.ndarray = field(repr=False)  # (C, C) weights by class and predicted class
    reliability: Reliability | None = field(repr=False)  # of the posteriors, where there are any
    out_of_fold: OutOfFold | None = field(repr=False, default=None)  # where rows were kept
    timings: dict[str, float] = field(default_factory=dict)  # seconds

    @property
    def log_proba(self) -> np.ndarray:
        """(n, C) log p(k | x) out of fold, rows in their order."""
        return self._kept.scores

    @property
    def labels(self) -> np.ndarray:
        """(n,) the rows' own labels."""
        return self._kept.labels

    @property
    def folds(self) -> np.ndarray:
        """(n,) the fold of each row; empty where folds overlap."""
        return self._kept.folds

    @property
    def weights(self) -> np.ndarray:
        """(n,) the rows' weights, empty if every row counts once."""
        return self._kept.weights

    @property
    def _kept(self) -> OutOfFold:
        if self.out_of_fold is None:
            raise VerosimError(
                "The out-of-fold rows of a file are not kept.", "cross_validate(…, keep_rows=True)."
            )
        return self.out_of_fold

    @property
    def predictions(self) -> np.ndarray:
        """(n,) the most probable class of every row, out of fold."""
        never = np.isnan(self.log_proba).any(axis=1)
        if never.any():
            raise VerosimError(
                f"Row {int(np.flatnonzero(never)[0])}, and {int(never.sum()) - 1} more, were never "
                "held out, so nothing is known of them.",
                "folds that part the rows, such as cv=10; `log_proba` is nan for those rows.",
            )
        return self.classes[self.log_proba.argmax(axis=1)]

    @property
    def proba(self) -> np.ndarray:
        """(n, C) out-of-fold posteriors."""
        return np.exp(self.log_proba)

    def mean(self, name: str) -> float:
        """The mean of a score over the folds that have one."""
        return float(np.nanmean(self.scores[name]))

    def error(self, name: str) -> float:
        """The standard error of that mean; nan with one fold."""
        found = self.scores[name][~np.isnan(self.scores[name])]
        if len(found) < 2:
            return float("nan")
        return float(found.std(ddof=1) / np.sqrt(len(found)))

    def __str__(self) -> str:
        folds = len(next(iter(self.scores.values())))
        kept = self.out_of_fold
        alone = folds == 1 and kept is not None and len(np.unique(kept.folds)) == self.rows
        how = "leave-one-out" if alone else f"{folds} folds"
        lines = [f"{self.rows:,} rows, {len(self.classes)} classes, {how}"]
        width = max(map(len, self.scores))
        for name in self.scores:
            error = self.error(name)
            spread = "" if np.isnan(error) else f" ± {error:.4f}"
            lines.append(f"{name.ljust(width)}  {self.mean(name):.4f}{spread}")
        return "\n".join(lines)

    __repr__ = __str__


def cross_validate(
    model: Any,
    X: Any,
    y: Any = None,
    cv: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    *,
    sample_weight: Any = None,
    fold_priors: str = "fit",
    schema: Any = None,
    na: Any = (),
    keep_rows: bool | None = None,
) -> CrossValidation:
    """Score a classifier made of sums on rows it never saw, without fitting it again for each fold.

    T(outside fold f) = Σ of the statistics of the other folds

    The scores are those of refitting the model outside every fold (with the same schema: bins and
    roles are settled by one look at all rows, which sees no label but to choose between a Gaussian
    and a histogram in a table).

    Parameters
    ----------
    model : a generative classifier or :class:`LeastSquares`, fitted or not; it is left as it is
    X, y : rows and labels, or any table and the name of its target, as in `fit`
    cv : a number of folds, "loo", a scikit-learn splitter, (train, test) pairs, a fold for every
        row, or the name of a column of folds. Folds by number are stratified where y is an array;
        of a table with a named target they go by a hash of the row, or of its group, so that a
        stream of any length has the same folds whatever its order
    scoring : names of scikit-learn's scorings, scorers, or a dict of them; None is accuracy and,
        of a model that has probabilities, neg_log_loss
    groups : an array or the name of a column: rows of one group share a fold
    sample_weight : weights of the rows, at fit and in the scores
    fold_priors : "fit" estimates the priors outside each fold; "keep" keeps those of all rows, as
        MASS's `CV=TRUE` does
    schema, na : as in `fit`
    keep_rows : whether the out-of-fold posteriors of all rows are kept; by default where the rows
        themselves are in memory. Scores that are means over rows need none of them

    Returns
    -------
    CrossValidation with `scores` by name and fold, the `confusion` and the `reliability` over
    all folds, `log_proba` (n, C) out of fold in the order of the rows, `predictions`, `classes`,
    `labels`, `folds` and `timings`. A row that is held out several times has the mean of its
    posteriors, and one that never is has nan.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from verosim import QDA, cross_validate
    >>> X, y = load_wine(return_X_y=True)
    >>> cross_validate(QDA(), X, y)
    178 rows, 3 classes, 10 folds
    accuracy      0.9722 ± 0.0093
    neg_log_loss  -0.0394 ± 0.0133
    >>> cross_validate(QDA(), X, y, cv="loo").scores["accuracy"].round(4)
    array([0.9944])
    """
    check_statistic_classifier(model)
    keep_priors = keeps_priors(fold_priors)
    score_by = scores_of(model, scoring, ("accuracy", LOG_LOSS))
    inputs = inputs_of(X, y, sample_weight, schema, na)
    start = time.perf_counter()
    kept: OutOfFold | None
    summed: dict[str, Sums] = {"confusion": Confusion()}
    if has_probabilities(model):
        summed["reliability"] = ReliabilityBins()
    with first_warning_only():
        if is_leave_one_out(cv, groups):
            found = leave_one_out(model.spec(), inputs, keep_priors)
            scores = {name: np.array([value]) for name, value in alone(found, score_by).items()}
            timings = {"score": time.perf_counter() - start}
            rows, kept, predicted = len(found.labels), found, counted(found)
            sums = {name: one.of(predicted) for name, one in summed.items()}
        else:
            engine = HeldOutEngine([model.spec()], inputs, cv, groups, keep_priors)
            keep_rows = in_memory(engine.rows) if keep_rows is None else keep_rows
            scored = score_specs(engine, score_by, keep_rows, summed)
            timings = {"score": time.perf_counter() - start}
            scores = {name: found[0] for name, found in scored.table.items()}
            rows, kept, sums = scored.rows, scored.kept, scored.sums
    timings["all"] = time.perf_counter() - start
    classes = kept.classes if kept is not None else engine.rows.classes
    bins = sums.get("reliability")
    return CrossValidation(
        scores, classes, rows, sums["confusion"], None if bins is None else bins.reliability(),
        kept, timings,
    )  # fmt: skip


def in_memory(rows: HoldOut) -> bool:
    """Whether the rows are in memory, rather than read from a file or a query."""
    return not isinstance(rows.source, TableSource) or rows.source.table.in_memory


def scores_of(model: Any, scoring: Any, default: tuple[str, ...]) -> dict[str, Score]:
    """The scores asked for, or the first of those by default that the model can have."""
    probable = has_probabilities(model)
    if scoring is None:
        scoring = [name for name in default if probable or name != LOG_LOSS] or ["accuracy"]
    return scores_by_name(scoring, probable)


def alone(found: OutOfFold, score_by: dict[str, Score]) -> dict[str, float]:
    """The scores of leave-one-out, of all rows together."""
    rows = counted(found)
    return {name: score.value([score.part(rows)]) for name, score in score_by.items()}


def counted(found: OutOfFold) -> Predictions:
    """The out-of-fold rows that have a weight."""
    at = np.flatnonzero(found.row_weights)
    weights = found.weights[at] if len(found.weights) else found.weights
    codes = positions(found.labels[at], found.classes)
    return Predictions(found.scores[at], codes, weights, found.classes)


def is_leave_one_out(cv: Any, groups: Any) -> bool:
    """Whether cv asks for leave-one-out, which groups have no place in."""
    if not isinstance(cv, str) or cv != LOO:
        return False
    if groups is not None:
        raise VerosimError(
            'cv="loo" leaves out one row at a time, whatever its group.',
            "a number of folds keeps groups together; one group a fold: cv=groups.",
        )
    return True


def check_statistic_classifier(model: Any, kind: type = StatisticClassifier) -> None:
    """Only sums can be taken apart."""
    if isinstance(model, type):
        raise VerosimError(f"{model.__name__} is a class.", f"{model.__name__}(), a model of it.")
    if not isinstance(model, kind):
        raise VerosimError(
            f"{type(model).__name__} is no generative classifier of verosim, and only sums can be "
            "taken apart.",
            "scikit-learn's cross_validate refits any model.",
        )


def check_generative(model: Any) -> None:
    """A generative classifier: sums, and posteriors from them."""
    check_statistic_classifier(model, GenerativeClassifier)


def keeps_priors(fold_priors: Any) -> bool:
    if fold_priors not in ("fit", "keep"):
        raise VerosimError(
            f"fold_priors={fold_priors!r} is not known.",
            '"fit" estimates them outside each fold, "keep" keeps those of all rows; the priors '
            "themselves are a setting of the model.",
        )
    return bool(fold_priors == "keep")
