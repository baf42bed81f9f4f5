"""What the generative assumptions cost, or save: a model against its discriminative twin.

    KL(p ‖ q) = Σ_k p(k | x) log p(k | x)/q(k | x),   p by the twin, q by the model

judged on rows neither has seen. Where they agree, the assumptions cost nothing; where the twin
is better, they do not hold; where the model is better, they stand in for rows that are missing.
Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.data.labels import positions
from verosim.errors import VerosimError, VerosimWarning
from verosim.folds import first_warning_only
from verosim.folds.scores import is_correct, own_log_proba
from verosim.folds.splits import array_folds
from verosim.twins.comparison.resampling import pool_of, rows_of
from verosim.twins.twin import Twin, check_has_twin

TWIN_STRENGTHS = (0.01, 1.0, 100.0, 10_000.0)  # of the twin, tried in turn


@dataclass(frozen=True, eq=False)
class Gap:
    """Two posteriors of the same rows, the model's and its twin's."""

    classes: np.ndarray  # (C,)
    labels: np.ndarray = field(repr=False)  # (n,)
    generative: np.ndarray = field(repr=False)  # (n, C) log p(k | x) by the model
    discriminative: np.ndarray = field(repr=False)  # (n, C) by the twin
    model: str = "the model"
    C: float = 1.0  # of the twin

    @property
    def divergence(self) -> np.ndarray:
        """(n,) KL of the model's posterior from its twin's, for every row."""
        p = np.exp(self.discriminative)
        apart = self.discriminative - np.maximum(self.generative, np.log(np.finfo(float).tiny))
        return np.where(p > 0, p * apart, 0.0).sum(axis=1)

    @property
    def disagreement(self) -> float:
        """The share of rows the two classify differently."""
        return float(np.mean(self.generative.argmax(axis=1) != self.discriminative.argmax(axis=1)))

    @property
    def difference(self) -> float:
        """Mean of ½ Σ_k |p − q|: 0 where they agree, 1 where they exclude each other."""
        return float(
            0.5 * np.abs(np.exp(self.generative) - np.exp(self.discriminative)).sum(axis=1).mean()
        )

    def errors(self) -> tuple[float, float]:
        """The shares of rows classified wrongly, by the model and by its twin."""
        own = positions(self.labels, self.classes)
        model, other = (is_correct(p, own) for p in (self.generative, self.discriminative))
        return float(np.mean(~model)), float(np.mean(~other))

    def losses(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) −log p(y | x) by the model and by its twin, no more than −log eps."""
        own = positions(self.labels, self.classes)
        return -own_log_proba(self.generative, own), -own_log_proba(self.discriminative, own)

    def log_loss_gap(self) -> tuple[float, float]:
        """How much lower the twin's log-loss is, and the standard error of that difference."""
        model, other = self.losses()
        apart = model - other
        return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))

    @property
    def conclusion(self) -> str:
        """Which of the two a user of these rows would take."""
        gap, error = self.log_loss_gap()
        if gap > 2 * error:
            return "the twin is better: the assumptions of the model cost something here"
        if gap < -2 * error:
            return "the model is better: its assumptions stand in for rows that are missing"
        return "no difference beyond chance"

    def __str__(self) -> str:
        (e, f), (a, b) = self.errors(), (float(loss.mean()) for loss in self.losses())
        gap, error = self.log_loss_gap()
        width = max(len(self.model), len("its twin"))
        lines = [
            f"{len(self.labels):,} rows, {len(self.classes)} classes",
            f"{'':{width}}  error   log-loss",
            f"{self.model:{width}}  {e:.4f}  {a:.4f}",
            f"{'its twin':{width}}  {f:.4f}  {b:.4f}   lower by {gap:.4f} ± {error:.4f}",
            f"they differ on {self.disagreement:.1%} of the rows, posteriors by "
            f"{self.difference:.3f}, KL {self.divergence.mean():.4f} (C={self.C:g})",
            self.conclusion,
        ]
        return "\n".join(lines)

    __repr__ = __str__


def generative_gap(
    model: Any, X: Any, y: Any = None, cv: Any = 5, C: Any = TWIN_STRENGTHS, solver: str = "auto"
) -> Gap:
    """Compare the posteriors of a generative model and of its discriminative twin.

    Parameters
    ----------
    model : a generative classifier, fitted or not; it is left as it is
    X, y : rows and their labels, or a table and the name of its target
    cv : folds, as in :func:`cross_validate`: both are fitted outside a fold and judge its rows.
        None judges the rows themselves by the model as it is fitted and by its twin fitted to
        them, which tells how far apart they are, not which is better
    C : of the twin, as in :func:`twin`; of several the one whose held-out log-loss is least, so
        that the twin does not lose by a penalty alone
    solver : as there

    Returns
    -------
    Gap with the two posteriors, their `divergence` and `disagreement`, `errors()`, `losses()`
    and a `conclusion`.

    References
    ----------
    Ng & Jordan (2002), On discriminative vs. generative classifiers, NIPS 14.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from verosim import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> print(generative_gap(GaussianNB(), X, y).conclusion)
    the twin is better: the assumptions of the model cost something here
    """
    check_has_twin(model)
    pool = pool_of(X, y)
    X, labels, classes = pool.X, pool.y, pool.classes
    name = type(model).__name__
    strengths = [float(c) for c in np.atleast_1d(C)]
    if cv is None:
        model.checked_state()
        classes, every = model.classes_, np.arange(len(labels))
        splits = [(every, every)]
    else:
        folds = array_folds(cv, labels, None, X, np.empty(0))
        if isinstance(folds, list):
            raise VerosimError(
                "Every row is judged once.", "folds that part the rows, such as cv=5."
            )
        numbers, count = folds
        splits = [(np.flatnonzero(numbers != f), np.flatnonzero(numbers == f))
                  for f in range(count)]  # fmt: skip
    # By the model, then by the twin of each strength.
    log_proba = np.full((1 + len(strengths), len(labels), len(classes)), -np.inf)
    # Several strengths are tried: warnings about single ones are not shown.
    several = warnings.catch_warnings(action="ignore", category=VerosimWarning)
    with first_warning_only() if len(strengths) == 1 else several:
        for train, test in splits:
            learnt, rows = rows_of(X, train), rows_of(X, test)
            fitted = model if cv is None else clone(model).fit(learnt, labels[train])
            at = np.ix_(test, positions(fitted.classes_, classes))
            log_proba[0][at] = fitted.predict_log_proba(rows)
            for i, c in enumerate(strengths, 1):
                other = Twin(fitted, c, solver).fit(learnt, labels[train])
                log_proba[i][at] = other.predict_log_proba(rows)
    gaps = [Gap(classes, labels, log_proba[0], log_proba[i], name, c)
            for i, c in enumerate(strengths, 1)]  # fmt: skip
    return min(gaps, key=lambda gap: float(gap.losses()[1].mean()))
