"""Cross-validation without refitting.

    T(outside fold f) = T(all) − T(fold f)

One pass over the rows gives the statistics of every class and fold, algebra the model that never
saw each fold, and a second pass its judgement of the rows held out. With one row a fold
(`cv="loo"`) the model without each row has a closed form.
References: Stone (1974), Cross-validatory choice and assessment of statistical predictions;
Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis (leave-one-out).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.data.labels import positions
from verosim.data.sources import take_rows
from verosim.data.stream import TableSource
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.holdout import Holdout, Judged
from verosim.estimators.summed import Summed
from verosim.validate.left_out import judged_one_by_one
from verosim.validate.scoring import LOG_LOSS, has_posteriors, scorers

ALONE = "loo"  # every row its own fold


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What a model says of rows it never saw, and how well."""

    scores: dict[str, np.ndarray]  # (F,) by name; one number for leave-one-out
    log_proba: np.ndarray = field(repr=False)  # (n, C) out of fold, rows in their order
    classes: np.ndarray  # (C,)
    labels: np.ndarray = field(repr=False)  # (n,) the rows' own
    folds: np.ndarray = field(repr=False)  # (n,) the fold of each
    weights: np.ndarray = field(repr=False)  # (n,), empty if every row counts once
    timings: dict[str, float] = field(default_factory=dict)  # seconds

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
        rows, folds = len(self.labels), len(next(iter(self.scores.values())))
        alone = folds == 1 and len(np.unique(self.folds)) == rows
        how = "leave-one-out" if alone else f"{folds} folds"
        lines = [f"{rows:,} rows, {len(self.classes)} classes, {how}"]
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
    priors: str = "fit",
    schema: Any = None,
    na: Any = (),
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
    priors : "fit" estimates the priors outside each fold; "keep" keeps those of all rows, as
        MASS's `CV=TRUE` does
    schema, na : as in `fit`

    Returns
    -------
    CrossValidation with `scores` by name and fold, `log_proba` (n, C) out of fold in the order of
    the rows, `predictions`, `classes`, `labels`, `folds` and `timings`. A row that is held out
    several times has the mean of its posteriors, and one that never is has nan.

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
    check_sums(model)
    keep = keeps_priors(priors)
    probable = has_posteriors(model)
    if scoring is None:
        scoring = ("accuracy", LOG_LOSS) if probable else ("accuracy",)
    score_by = scorers(scoring, probable)
    given: dict[str, Any] = {"sample_weight": sample_weight, "schema": schema, "na": na}
    start = time.perf_counter()
    timings: dict[str, float] = {}
    scores: dict[str, list[float]] = {name: [] for name in score_by}
    with one_warning():
        if isinstance(cv, str) and cv == ALONE:
            no_groups_alone(groups)
            log_proba, labels, classes, weights = judged_one_by_one(
                clone(model), X, y, keep_priors=keep, **given
            )
            timings["judge"] = time.perf_counter() - start
            for name, score in score_by.items():
                scores[name].append(score(labels, log_proba, classes, weights))
            folds = np.arange(len(labels), dtype=np.int32)
        else:
            holdout = Holdout(model, X, y, cv, groups, **given)
            judged = list(judge(holdout, [clone(model)], keep, X))
            timings["judge"] = time.perf_counter() - start
            classes, labels, folds = holdout.classes, holdout.labels, holdout.numbers
            weights = holdout.weights
            log_proba = np.full((len(labels), len(classes)), np.nan)
            times = np.zeros(len(labels))
            for part in judged:  # held out more than once, a row has the mean of its posteriors
                fresh, before = part.log_proba[0], log_proba[part.rows]
                seen = times[part.rows, None]
                with np.errstate(divide="ignore", invalid="ignore"):
                    both = np.logaddexp(before + np.log(seen), fresh) - np.log(seen + 1)
                log_proba[part.rows] = np.where(seen > 0, both, fresh)
                times[part.rows] += 1
                for name, found in scored(part, 0, holdout, score_by).items():
                    scores[name].append(found)
    timings["all"] = time.perf_counter() - start
    return CrossValidation(
        {name: np.array(found) for name, found in scores.items()},
        log_proba, classes, labels, folds, weights, timings,
    )  # fmt: skip


def scored(part: Judged, which: int, holdout: Holdout, score_by: Any) -> dict[str, float]:
    """The scores of one model on one fold; nan where the fold has no row that counts."""
    labels, log_proba = holdout.labels[part.rows], part.log_proba[which]
    weights = holdout.weights[part.rows] if len(holdout.weights) else holdout.weights
    if len(weights):
        there = weights > 0
        labels, log_proba, weights = labels[there], log_proba[there], weights[there]
    if not len(labels):
        return dict.fromkeys(score_by, float("nan"))
    return {
        name: score(labels, log_proba, holdout.classes, weights)
        for name, score in score_by.items()
    }  # fmt: skip


def judge(holdout: Holdout, models: list[Any], keep: bool, X: Any) -> Iterator[Judged]:
    """Held-out judgements; models that are no sum of their rows are refitted for every fold."""
    if all(model._is_sum for model in models):
        yield from holdout.judged(models, keep)
        return
    if keep:
        raise VerosimError(
            f"{models[0]!r} is fitted anew for each fold, and estimates its own priors.",
            'priors="fit".',
        )
    for i, model in enumerate(models):
        for f, (rows, block, fitted) in enumerate(refitted(model, holdout, X)):
            out = np.full((len(rows), len(holdout.classes)), -np.inf)
            at = positions(fitted.classes_, holdout.classes)
            out[:, at] = fitted._rule.log_posterior(block)
            yield Judged(f, rows, [out], i)


def refitted(model: Any, holdout: Holdout, X: Any) -> Iterator[tuple[np.ndarray, Any, Any]]:
    """The numbers of every fold's rows, the rows, and the model fitted on the others: they alone
    have weight."""
    if isinstance(holdout.source, TableSource):
        raise VerosimError(
            f"{model!r} is fitted anew for each fold, which takes arrays.", "give X and y as such."
        )
    weights = holdout.weights if len(holdout.weights) else np.ones(len(holdout.labels))
    for f in range(holdout.count):
        rows = holdout.rows_of(f)
        learnt = np.ones(len(weights), dtype=bool)
        learnt[rows] = False
        if holdout.pairs is not None:
            learnt[:] = False
            learnt[holdout.pairs[f][0]] = True
        fitted = clone(model).fit(X, holdout.labels, np.where(learnt, weights, 0.0))
        yield rows, take_rows(holdout.source.X, rows), fitted


def parting_aside(
    model: Any, X: Any, y: Any, cv: Any, groups: Any, given: dict[str, Any]
) -> dict[str, Any]:
    """What `fit` takes, so that the model learns as little as the folds do from the columns that
    part the rows."""
    aside = [name for name in (cv, groups) if isinstance(name, str) and name != ALONE]
    if not aside:
        return given
    return {**given, "schema": clone(model)._opened(X, y, aside=aside, **given)[2], "na": ()}


def no_groups_alone(groups: Any) -> None:
    if groups is not None:
        raise VerosimError(
            'cv="loo" leaves out one row at a time, whatever its group.',
            "a number of folds keeps groups together; one group a fold: cv=groups.",
        )


def check_sums(model: Any, kind: type = Summed) -> None:
    """Only sums can be taken apart."""
    if isinstance(model, type):
        raise VerosimError(f"{model.__name__} is a class.", f"{model.__name__}(), a model of it.")
    if not isinstance(model, kind):
        raise VerosimError(
            f"{type(model).__name__} is no generative classifier of verosim, and only sums can be "
            "taken apart.",
            "scikit-learn's cross_validate refits any model.",
        )


def check_model(model: Any) -> None:
    """A generative classifier: sums, and posteriors from them."""
    check_sums(model, GenerativeClassifier)


def keeps_priors(priors: Any) -> bool:
    if priors not in ("fit", "keep"):
        raise VerosimError(
            f"priors={priors!r} is not known.",
            '"fit" estimates them outside each fold, "keep" keeps those of all rows; the priors '
            "themselves are a setting of the model.",
        )
    return bool(priors == "keep")


@contextmanager
def one_warning() -> Iterator[None]:
    """Of what the models of many folds would warn about, the first, once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    ours = [w for w in caught if issubclass(w.category, VerosimWarning)]
    for other in caught:
        if not issubclass(other.category, VerosimWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if ours:
        more = f" (and {len(ours) - 1} more such warnings in other folds)" if len(ours) > 1 else ""
        warn(f"{ours[0].message}{more}", ours[0].category)
