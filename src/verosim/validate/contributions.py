"""Every column's part of log p(x | k), of rows held out.

    log p(x | k) = Σ_j log p_j(x_j | k),   p_j by the sums of the other folds

Where columns are independent within a class, one look at the held-out rows gives the parts, and
which columns to keep, or how far to believe each, is algebra from there.
Reference: Domingos & Pazzani (1997), On the optimality of the simple Bayesian classifier.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from verosim.bayes.rule import Rule
from verosim.data import SparseRows
from verosim.data.labels import positions
from verosim.densities import (
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    JointHistogramDensity,
    ProductDensity,
)
from verosim.densities.product import ProductParams
from verosim.errors import VerosimError
from verosim.estimators.holdout import Holdout
from verosim.kinds import labels_of
from verosim.stats import Statistic
from verosim.validate.cross import refitted

MOST = 1 << 27  # numbers kept at a time: a gigabyte


@dataclass(frozen=True)
class Contributions:
    """What each column says of each row; rows of a fold stand together."""

    parts: np.ndarray  # (n, C, d) log p_j(x_j | k)
    log_prior: np.ndarray  # (n, C) by the row's fold; −inf for a class unknown outside it
    own: np.ndarray  # (n,) the class of each row
    weights: np.ndarray  # (n,)
    folds: np.ndarray  # (n,)
    names: tuple[str, ...]  # (d,)


def sums_over_columns(density: Any) -> bool:
    """Whether log p(x | k) is a sum over columns."""
    return isinstance(
        density, ProductDensity | DiagonalGaussian | Categorical | Bernoulli
    ) and not isinstance(density, JointHistogramDensity)


def additive(density: Any) -> bool:
    """Whether log p(x | k) is a sum over columns, each by its own column's sums alone."""
    return sums_over_columns(density) and getattr(density, "shrinkage", None) is None


def names_of(rule: Rule) -> tuple[str, ...]:
    """(d,) what each part of a score is of: a column, an hour of a date, a gap."""
    if not isinstance(rule.params, ProductParams):
        return tuple(rule.columns)
    return tuple(
        label
        for part, columns in rule.params.columns.items()
        for label in labels_of(rule.params.kinds[part], columns)
    )


def dense(block: Any) -> Any:
    return block.take(np.arange(len(block))) if isinstance(block, SparseRows) else block


def held_out_contributions(model: Any, holdout: Holdout, X: Any, hint: str) -> Contributions:
    """The parts of every held-out row; `hint` says what to do where they do not fit in memory."""
    size, lock = 0, Lock()
    names: tuple[str, ...] = ()

    def derive(models: Any, training: Statistic) -> tuple[Rule, np.ndarray]:
        at = positions(training.axes.groups.classes, holdout.classes)
        return model._derive(training, streaming=True), at

    def look(known: tuple[Rule, np.ndarray], rows: Any) -> list[np.ndarray]:
        nonlocal size, names
        rule, at = known
        names = names_of(rule)
        found = rule.params.contributions(dense(rule.params.read(rows)))
        n, _, d = found.shape
        with lock:  # chunks of a table are looked at side by side
            size += n * len(holdout.classes) * d
        if size > MOST:
            raise VerosimError(
                "The held-out contributions of all columns do not fit in memory.", hint
            )
        parts = np.zeros((n, len(holdout.classes), d))
        log_prior = np.full(parts.shape[:2], -np.inf)
        parts[:, at], log_prior[:, at] = found, rule.log_prior
        return [parts, log_prior]

    seen: list[tuple[int, np.ndarray, list[np.ndarray]]] = []
    if model._is_sum:
        for judged in holdout.by_fold([model], derive, look):
            seen.append((judged.fold, judged.rows, judged.log_proba))
    else:
        for f, (rows, block, fitted) in enumerate(refitted(model, holdout, X)):
            at = positions(fitted.classes_, holdout.classes)
            seen.append((f, rows, look((fitted._rule, at), block)))
    rows = np.concatenate([rows for _, rows, _ in seen])
    folds = np.repeat([f for f, _, _ in seen], [len(rows) for _, rows, _ in seen])
    weights = holdout.weights[rows] if len(holdout.weights) else np.ones(len(rows))
    parts, log_prior = (np.concatenate([found[i] for _, _, found in seen]) for i in range(2))
    there = weights > 0  # rows of zero weight do not exist
    if not there.all():
        rows, folds, weights = rows[there], folds[there], weights[there]
        parts, log_prior = parts[there], log_prior[there]
    own = positions(holdout.labels[rows], holdout.classes)
    return Contributions(parts, log_prior, own, weights, folds, names)
