"""A generative model against its discriminative twin: do the assumptions of the model hold?

    KL(p ‖ q) = Σ_k p(k | x) log p(k | x)/q(k | x),   p of the twin, q of the model

Both are scored on held-out rows. If the twin is better, the assumptions do not hold. If the model
is better, its assumptions help because there are few training rows.
Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from verosim.arguments import checked, number_array
from verosim.data.clusters import check_is_here
from verosim.data.labels import positions
from verosim.errors import VerosimError, VerosimWarning
from verosim.estimators.base import GenerativeClassifier
from verosim.folds import first_warning_only
from verosim.folds.scores import is_correct, own_log_proba
from verosim.folds.splits import array_folds
from verosim.terminal import in_lines
from verosim.twins.comparison.resampling import pool_of, rows_of
from verosim.twins.twin import Twin, check_has_twin

if TYPE_CHECKING:
    from verosim.twins.logistic import LogisticSolver
    from verosim.typing import CV, Labels, Source

TWIN_STRENGTHS = (0.01, 1.0, 100.0, 10_000.0)  # the values of C that are tried for the twin


@dataclass(frozen=True, eq=False)
class Gap:
    """The posteriors of a generative model and of its twin for the same rows.

    :func:`generative_gap` returns it. `print` shows the errors, the log-losses and a conclusion.
    The divergence of the model from its twin for one row is

        KL(p ‖ q) = Σ_k p(k | x) log p(k | x)/q(k | x)

    where p is the posterior of the twin and q is the posterior of the model.

    Attributes
    ----------
    classes : ndarray of shape (C,)
        The class labels, sorted.
    labels : ndarray of shape (n,)
        The true labels of the rows.
    generative : ndarray of shape (n, C)
        The values log p(k | x) of the model.
    discriminative : ndarray of shape (n, C)
        The values log p(k | x) of the twin.
    model : str
        The name of the class of the model.
    C : float
        The inverse strength of the penalty that was used for the twin.
    divergence : ndarray of shape (n,)
        The Kullback–Leibler divergence of the model from its twin, for each row.
    disagreement : float
        The share of rows for which the two predict different classes.
    difference : float
        The mean of ½ Σ_k |p(k | x) − q(k | x)| over the rows. It is 0 if the posteriors are equal
        and 1 if they have no class in common.
    conclusion : str
        Which of the two has the lower log-loss, if the difference is more than two standard errors.

    References
    ----------
    Ng & Jordan (2002), On discriminative vs. generative classifiers: a comparison of logistic
    regression and naive Bayes, NIPS 14.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, generative_gap
    >>> X, y = load_iris(return_X_y=True)
    >>> gap = generative_gap(LDA(), X, y)
    >>> gap.generative.shape, gap.C
    ((150, 3), 100.0)
    >>> gap.conclusion
    'no significant difference'
    """

    classes: np.ndarray  # (C,)
    labels: np.ndarray = field(repr=False)  # (n,)
    generative: np.ndarray = field(repr=False)  # (n, C) log p(k | x) by the model
    discriminative: np.ndarray = field(repr=False)  # (n, C) by the twin
    model: str = "the model"
    C: float = 1.0

    @property
    def divergence(self) -> np.ndarray:
        """(n,) the Kullback–Leibler divergence of the model from its twin, for each row."""
        p = np.exp(self.discriminative)
        apart = self.discriminative - np.maximum(self.generative, np.log(np.finfo(float).tiny))
        return np.where(p > 0, p * apart, 0.0).sum(axis=1)

    @property
    def disagreement(self) -> float:
        """The share of rows for which the two predict different classes."""
        return float(np.mean(self.generative.argmax(axis=1) != self.discriminative.argmax(axis=1)))

    @property
    def difference(self) -> float:
        """The mean of ½ Σ_k |p − q|: 0 for equal posteriors, 1 for posteriors without overlap."""
        return float(
            0.5 * np.abs(np.exp(self.generative) - np.exp(self.discriminative)).sum(axis=1).mean()
        )

    def errors(self) -> tuple[float, float]:
        """Shares of rows with a wrong prediction.

        Returns
        -------
        model : float
            The error of the model.
        twin : float
            The error of its twin.
        """
        own = positions(self.labels, self.classes)
        model, other = (is_correct(p, own) for p in (self.generative, self.discriminative))
        return float(np.mean(~model)), float(np.mean(~other))

    def losses(self) -> tuple[np.ndarray, np.ndarray]:
        """Log-loss −log p(y | x) of each row, at most −log of the machine epsilon.

        Returns
        -------
        model : ndarray of shape (n,)
            The losses of the model.
        twin : ndarray of shape (n,)
            The losses of its twin.
        """
        own = positions(self.labels, self.classes)
        return -own_log_proba(self.generative, own), -own_log_proba(self.discriminative, own)

    def log_loss_gap(self) -> tuple[float, float]:
        """Mean log-loss of the model minus that of its twin, with a standard error.

        Returns
        -------
        gap : float
            The mean difference. It is positive if the twin is better.
        error : float
            The standard error of the mean difference.
        """
        model, other = self.losses()
        apart = model - other
        return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))

    @property
    def conclusion(self) -> str:
        """Which of the two is better, if the difference is more than two standard errors."""
        gap, error = self.log_loss_gap()
        if gap > 2 * error:
            return "the twin is better: the assumptions of the model do not hold here"
        if gap < -2 * error:
            return "the model is better: its assumptions help with this number of rows"
        return "no significant difference"

    def __str__(self) -> str:
        (e, f), (a, b) = self.errors(), (float(loss.mean()) for loss in self.losses())
        gap, error = self.log_loss_gap()
        width = max(len(self.model), len("its twin"))
        lines = [
            f"{len(self.labels):,} rows, {len(self.classes)} classes",
            f"{'':{width}}  error   log-loss",
            f"{self.model:{width}}  {e:.4f}  {a:.4f}",
            f"{'its twin':{width}}  {f:.4f}  {b:.4f}   lower by {gap:.4f} ± {error:.4f}",
            f"different predictions: {self.disagreement:.1%} of the rows (twin with C={self.C:g})",
            f"posteriors: mean difference {self.difference:.3f}, mean KL divergence "
            f"{self.divergence.mean():.4f}",
            self.conclusion,
        ]
        return in_lines(lines)

    __repr__ = __str__


@checked
def generative_gap(
    model: GenerativeClassifier,
    X: Source,
    y: Labels | None = None,
    cv: CV | None = 5,
    C: float | Sequence[float] = TWIN_STRENGTHS,
    solver: LogisticSolver = "auto",
) -> Gap:
    """Compare a generative model with its discriminative twin on held-out rows.

    The twin is logistic regression on the features in which the model is linear. Both models have
    the same form, so the comparison shows what the assumptions of the generative model cost or
    gain. The result holds the posteriors of both and their divergence for each row,

        KL(p ‖ q) = Σ_k p(k | x) log p(k | x)/q(k | x)

    where p is the posterior of the twin and q is the posterior of the model.

    Parameters
    ----------
    model : generative classifier
        A generative classifier of verosim, fitted or not. It is not changed.
    X : array-like or table of shape (n, d)
        The rows, or a table that contains the target column.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column of X.
    cv : int, splitter, array-like or None, default=5
        The folds: a number of stratified folds, a scikit-learn splitter, or the fold of each row.
        Each row must be held out exactly once. Both models are fitted on the other folds and score
        the held-out rows. None scores all rows with the fitted model and with a twin that is fitted
        on the same rows. This shows how much the two differ, but not which one is better.
    C : float or sequence of float, default=(0.01, 1.0, 100.0, 10000.0)
        The inverse strength of the penalty of the twin. If several values are given, the one with
        the lowest log-loss is used, so that the twin is not worse because of the penalty alone.
    solver : {"auto", "newton", "lbfgs", "sgd"}, default="auto"
        The solver of the logistic regression. "auto" chooses between "newton" and "lbfgs" by cost.
        "sgd" is stochastic gradient descent.

    Returns
    -------
    Gap
        The two posteriors, with `divergence`, `disagreement`, `errors()`, `losses()` and a
        `conclusion`.

    Raises
    ------
    VerosimError
        If the model is not a generative classifier of verosim, or if the folds do not hold out each
        row exactly once.

    References
    ----------
    Ng & Jordan (2002), On discriminative vs. generative classifiers: a comparison of logistic
    regression and naive Bayes, NIPS 14.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from verosim import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> print(generative_gap(GaussianNB(), X, y).conclusion)
    the twin is better: the assumptions of the model do not hold here
    """
    check_is_here(X, "The function generative_gap")
    check_has_twin(model)
    pool = pool_of(X, y)
    X, labels, classes = pool.X, pool.y, pool.classes
    name = type(model).__name__
    strengths = [float(c) for c in number_array("C", np.atleast_1d(C), 1)]
    if not strengths:
        raise VerosimError("C must have at least one value; got an empty list.")
    if cv is None:
        model.checked_state()
        classes, every = model.classes_, np.arange(len(labels))
        splits = [(every, every)]
    else:
        folds = array_folds(cv, labels, None, X, np.empty(0))
        if isinstance(folds, list):
            raise VerosimError(
                "cv must hold out each row exactly once; got other splits.",
                "Use a partition of the rows into folds, such as cv=5.",
            )
        numbers, count = folds
        splits = [(np.flatnonzero(numbers != f), np.flatnonzero(numbers == f))
                  for f in range(count)]  # fmt: skip
    # First the model, then one twin for each value of C.
    log_proba = np.full((1 + len(strengths), len(labels), len(classes)), -np.inf)
    # If several values of C are tried, warnings about single fits are not shown.
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
