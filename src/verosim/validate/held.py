"""What fold models say of the rows they never saw, and the rules they say it by.

    score(rule of the other folds' sums, x),  x in fold f

Cross-validation asks for posteriors alone; thresholds also want log p(x), and the fold models
themselves to judge new rows with. Reference: Stone (1974), Cross-validatory choice and assessment
of statistical predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.bayes.rule import Rule
from verosim.data.labels import positions
from verosim.data.sources import take_rows
from verosim.data.stream import Chunk, TableSource, weights_of
from verosim.engines import map_chunks
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.holdout import Holdout
from verosim.validate.cross import one_warning

Score = Callable[[Rule, Any], np.ndarray]


@dataclass(frozen=True)
class WiderRule(Rule):
    """A rule that has heard of classes it never saw: they are impossible."""

    inner: Rule
    places: np.ndarray  # where the classes it saw stand among all
    classes: int  # C

    def log_posterior(self, X: Any) -> np.ndarray:
        known = self.inner.log_posterior(X)
        out = np.full((len(known), self.classes), -np.inf)
        out[:, self.places] = known
        return out


@dataclass(frozen=True)
class Held:
    """Scores of held-out rows, and what is known of those rows, in their order."""

    scores: np.ndarray  # (n, …)
    labels: np.ndarray  # (n,)
    weights: np.ndarray  # (n,)
    folds: np.ndarray  # (n,)
    classes: np.ndarray  # (C,)
    rules: list[Rule]  # (F,) over all C classes, where they were asked for


def held_out(
    model: GenerativeClassifier,
    X: Any,
    y: Any,
    cv: Any,
    score: Score,
    groups: Any = None,
    keep_rules: bool = False,
    **given: Any,
) -> Held:
    """score(rule, rows) of the rows of each fold by the rule of the others, in two passes."""
    model = clone(model)
    holdout = Holdout(model, X, y, cv, groups, **given)
    source = holdout.source
    if holdout.pairs is not None:
        raise VerosimError(
            "These folds do not hold every row out just once.",
            "a number of folds, or a splitter that parts the rows, such as KFold.",
        )
    with one_warning():
        rules = _fold_rules(model, holdout, X)
        if isinstance(source, TableSource):
            known = list(rules)
            parts = list(map_chunks(_judge(known, score), source.folded(holdout.folds)))
            scores, folds, labels, weights = (
                np.concatenate(part) for part in zip(*parts, strict=True)
            )
        else:
            labels, folds, weights = holdout.labels, holdout.numbers, holdout.weights
            known, scores = [], np.empty(0)
            for f, rule in enumerate(rules):
                rows = np.flatnonzero(folds == f)
                found = score(rule, take_rows(source.X, rows))
                scores = scores if f else np.empty((len(folds), *found.shape[1:]))
                scores[rows] = found
                known += [rule] if keep_rules else []
    weights = weights if len(weights) else np.ones(len(labels))
    return Held(scores, labels, weights, folds, holdout.classes, known)


def _judge(rules: list[Rule], score: Score) -> Callable[[Chunk], tuple[np.ndarray, ...]]:
    def judge(chunk: Chunk) -> tuple[np.ndarray, ...]:
        block = chunk.block()
        assert chunk.folds is not None
        folds = chunk.folds.of(chunk.rows, block)
        parts = [np.flatnonzero(folds == f) for f in range(len(rules))]
        found = [
            score(rule, take_rows(block, at)) for rule, at in zip(rules, parts, strict=True)
            if len(at)
        ]  # fmt: skip
        codes, labels = chunk.labels()
        back = np.argsort(np.concatenate(parts))
        weights = weights_of(chunk.weights, chunk.rows)
        return np.concatenate(found)[back], folds, labels[codes], weights

    return judge


def _fold_rules(model: GenerativeClassifier, holdout: Holdout, X: Any) -> Iterator[Rule]:
    """The rule of all rows outside each fold."""
    if model._is_sum:
        for training in holdout.trainings():
            rule = model._derive(training, streaming=True)
            yield _widened(rule, training.axes.groups.classes, holdout.classes)
        return
    if isinstance(holdout.source, TableSource):
        raise VerosimError(
            f"{model!r} is fitted anew for each fold, which takes arrays.", "give X and y as such."
        )
    weights = holdout.weights if len(holdout.weights) else np.ones(len(holdout.labels))
    for f in range(holdout.count):
        outside = np.where(holdout.numbers == f, 0.0, weights)
        fitted = clone(model).fit(X, holdout.labels, outside)
        yield _widened(fitted._rule, fitted.classes_, holdout.classes)


def _widened(rule: Rule, known: np.ndarray, classes: np.ndarray) -> Rule:
    if len(known) == len(classes):
        return rule
    places = positions(known, classes)
    return WiderRule(rule.log_prior, rule.params, rule.columns, rule, places, len(classes))
