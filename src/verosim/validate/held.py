"""What fold models say of the rows they never saw, and the rules they say it by.

    score(rule of the other folds' sums, x),  x in fold f

Cross-validation asks for posteriors alone; thresholds also want log p(x), and the fold models
themselves to judge new rows with. Reference: Stone (1974), Cross-validatory choice and assessment
of statistical predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.bayes.rule import Rule
from verosim.data.labels import positions
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.holdout import Holdout, Judged
from verosim.stats import Statistic
from verosim.validate.cross import one_warning, refitted

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
    if holdout.pairs is not None:
        raise VerosimError(
            "These folds do not hold every row out just once.",
            "a number of folds, or a splitter that parts the rows, such as KFold.",
        )
    rules: list[Rule] = []

    def derive(models: Any, training: Statistic) -> Rule:
        rule = model._derive(training, streaming=True)
        rule = _widened(rule, training.axes.groups.classes, holdout.classes)
        rules.extend([rule] if keep_rules else [])
        return rule

    def look(rule: Rule, rows: Any) -> list[np.ndarray]:
        return [score(rule, rows)]

    with one_warning():
        if model._is_sum:
            judged = list(holdout.by_fold([model], derive, look))
        else:
            judged = []
            for f, (rows, block, fitted) in enumerate(refitted(model, holdout, X)):
                rules.append(_widened(fitted._rule, fitted.classes_, holdout.classes))
                judged.append(Judged(f, rows, look(rules[-1], block)))
    first = judged[0].log_proba[0]
    scores = np.empty((len(holdout.labels), *first.shape[1:]))
    for part in judged:
        scores[part.rows] = part.log_proba[0]
    weights = holdout.weights if len(holdout.weights) else np.ones(len(holdout.labels))
    return Held(scores, holdout.labels, weights, holdout.numbers, holdout.classes, rules)


def _widened(rule: Rule, known: np.ndarray, classes: np.ndarray) -> Rule:
    if len(known) == len(classes):
        return rule
    places = positions(known, classes)
    return WiderRule(rule.log_prior, rule.params, rule.columns, rule, places, len(classes))
