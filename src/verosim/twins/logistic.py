"""Logistic regression: the posterior that Gaussians of one covariance imply, fitted directly.

    p(k | x) = exp(w_kᵀx + b_k) / Σ_c exp(w_cᵀx + b_c)
    min  C Σ_i w_i (−log p(y_i | x_i)) + ½ ‖W‖²

References: Cox (1958), The regression analysis of binary sequences; Ng & Jordan (2002).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from verosim.data.labels import check_known
from verosim.errors import ConvergenceWarning, VerosimError, VerosimWarning, warn
from verosim.estimators.checks import generator
from verosim.linalg import EPS
from verosim.models.settings import finite, one_of, whole
from verosim.twins.linear import LinearClassifier
from verosim.twins.solvers.newton import Minimum
from verosim.twins.solvers.softmax import Softmax, column_squares
from verosim.twins.solvers.solve import gap_at, minimise
from verosim.twins.solvers.start import middle
from verosim.twins.solvers.stochastic import (
    Schedule,
    Visits,
    first_rate,
    one_pass,
    stochastic_descent,
)
from verosim.twins.training_rows import (
    TrainingRows,
    check_two_classes,
    class_weights,
    training_rows,
)

SOLVERS = ("auto", "newton", "lbfgs", "sgd")
TOLERANCE, SGD_TOLERANCE = 1e-9, 1e-4
SLIGHT = 1e-6  # of the narrowest column's squares: the penalty that separable rows are given
UNREPORTED_GAP = 0.25  # share of the objective above its minimum that descent may leave in silence
SEPARATED_LOSS = 1e-4  # mean loss below which a weak penalty has let the weights grow large


def _steps(model: LogisticRegression) -> bool:
    """Only stochastic descent learns from some rows at a time."""
    if model.solver != "sgd":
        raise AttributeError(
            f"solver={model.solver!r} needs all rows at once. "
            'Hint: solver="sgd" steps after every row; partial_fit of LDA is exact.'
        )
    return True


class LogisticRegression(LinearClassifier):
    """Logistic regression, of two classes or several (softmax).

    min  C Σ_i w_i (−log p(y_i | x_i)) + ½ ‖W‖²,   p(k | x) ∝ exp(w_kᵀx + b_k)

    The intercepts are not penalised. Two classes have one weight vector, of the second against the
    first. Starts from LDA's weights; any start leads to the same minimum.

    Parameters
    ----------
    C : weight of the rows against the penalty; `inf` for no penalty
    solver : "newton" (exact Hessians), "lbfgs" (one pass of gradients a step), "auto" for the
        cheaper of them, or "sgd" (a step after every row, or `batch_size` of them)
    tol : how far above its minimum the objective may be left, relative to it; 1e-9 by default.
        "sgd" stops when five passes have not lowered the loss by that share of it; 1e-4
    max_iter : steps at most; passes over the rows for "sgd"
    batch_size : rows a step, "sgd" only
    learning_rate : η₀ of "sgd", or "auto", 1/(1 + mean ‖x‖²)
    decay : "sgd" takes steps η₀ (1 + rows seen/n)^−decay; 0 keeps η₀
    warm_start : `fit` begins from the weights of the last one
    fit_intercept : whether the scores have intercepts
    class_weight : None, "balanced" (n / (C n_k)), or a dict of weights by class
    random_state : the order of rows for "sgd"

    Attributes
    ----------
    coef_, intercept_ : (C, d) and (C,); (1, d) and (1,) for two classes
    n_iter_ : steps taken over all rows
    objective_ : C Σ w loss + ½ ‖W‖² at the weights (without C, where it is infinite)
    gap_ : how far above its minimum the objective is estimated to be, relative to it
    regularisation_ : λ = 1/C as used; separable data with C=inf are given a slight one
    loss_curve_, norm_curve_ : "sgd": mean loss met in each pass, and ‖W‖ after it

    References
    ----------
    Bishop (2006), Pattern recognition and machine learning, §4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> int((model.predict(X) != y).sum()), model.coef_.shape
    (4, (3, 4))
    >>> model.predict_proba(X[:1]).round(3)
    array([[0.982, 0.018, 0.   ]])
    """

    gives_probabilities = True
    n_iter_: int
    objective_: float
    gap_: float
    regularisation_: float
    loss_curve_: list[float]
    norm_curve_: list[float]

    def __init__(
        self,
        C: float = 1.0,
        solver: str = "auto",
        tol: float | None = None,
        max_iter: int = 1000,
        batch_size: int = 1,
        learning_rate: float | str = "auto",
        decay: float = 0.75,
        warm_start: bool = False,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.decay = decay
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state

    # Learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit from zero, or with `warm_start` from the last weights.

        Parameters
        ----------
        X : (n, d) array, data frame or sparse matrix
        y : (n,) labels
        sample_weight : (n,) weights; rows of weight zero do not count
        """
        self._check()
        rows = self.training_rows(X, y, sample_weight)
        objective = self._objective(rows, centred=self.solver != "sgd")
        B = self._warm(rows, objective)
        if self.solver == "sgd":
            return self._descend(rows, objective, B)
        for name in ("loss_curve_", "norm_curve_", "_seen"):
            if hasattr(self, name):
                delattr(self, name)
        tol = TOLERANCE if self.tol is None else float(self.tol)
        found = minimise(objective, self.solver, tol, int(self.max_iter), B)
        if objective.separated(found.value):
            objective = self._slightly_penalised(objective)
            found = minimise(objective, self.solver, tol, int(self.max_iter), None)
        elif not found.converged:
            self._warn_unfinished(found, tol)
        self._warn_if_certain(objective, found)
        return self._found(rows, objective, found)

    @available_if(_steps)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One pass over these rows, in their order, from the weights so far; solver "sgd" only.

        `classes` names all there will be, if the first rows do not show them.
        """
        self._check()
        known = self.classes_ if self.__sklearn_is_fitted__() else None
        rows = training_rows(self, X, y, sample_weight, known, classes)
        if known is not None:
            check_known(rows.classes, known)
            self._check_same_columns(rows)
        elif len(rows.classes) < 2:
            check_two_classes(type(self).__name__, rows.codes, rows.classes)
        objective = self._objective(rows, centred=False)
        B = np.zeros(objective.shape) if known is None else self._weights()
        visits = Visits.of(objective)
        seen = 0 if known is None else getattr(self, "_seen", 0)
        self._seen = seen + len(visits)
        # The penalty is shared out over all rows seen, so that it counts once in all.
        share = objective.penalty * len(visits) / self._seen
        objective = replace(objective, penalty=share)
        schedule = self._schedule(rows, visits, seen > 0)
        loss = one_pass(objective, B, schedule, seen, np.sort(visits.rows), visits.weights)
        self._check_steps(B, loss)
        before = (getattr(self, "loss_curve_", []), getattr(self, "norm_curve_", []))
        self.loss_curve_ = [*before[0], loss]
        self.norm_curve_ = [*before[1], float(np.linalg.norm(B[:-1]))]
        self.n_iter_ = len(self.loss_curve_)
        self.regularisation_ = self._penalty
        return self._taken(rows, B, objective.pivot)

    def _descend(self, rows: TrainingRows, objective: Softmax, B: np.ndarray | None) -> Self:
        tol = SGD_TOLERANCE if self.tol is None else float(self.tol)
        B = np.zeros(objective.shape) if B is None else np.ascontiguousarray(B)
        rng = generator(self.random_state)
        visits = Visits.of(objective)
        schedule = self._schedule(rows, visits, going_on=False)
        course = stochastic_descent(objective, B, visits, schedule, tol, int(self.max_iter), rng)
        self._check_steps(course.B, course.losses[-1])
        self.loss_curve_, self.norm_curve_ = course.losses, course.norms
        self.n_iter_ = len(course.losses)
        self._seen = self.n_iter_ * len(visits)
        left = gap_at(objective, course.B)
        if not course.converged:
            change = 1 - course.losses[-1] / course.losses[-2] if self.n_iter_ > 1 else 1.0
            warn(
                f"Stochastic descent was stopped after {self.n_iter_} passes: the last one still "
                f"changed the mean loss by {abs(change):.1e} of it. Raise max_iter or tol, or let "
                'solver="auto" go to the minimum.',
                ConvergenceWarning,
            )
        elif left > UNREPORTED_GAP:
            warn(
                f"Stochastic descent settled with the objective {min(left, 10):.0%} above its "
                "minimum, or about so: one step does not suit columns this different in scale. "
                'Scale them, or let solver="auto" go to the minimum.',
                ConvergenceWarning,
            )
        self.regularisation_ = objective.penalty
        self.objective_, self.gap_ = self._unscaled(objective.value(course.B)[0]), left
        return self._taken(rows, course.B, objective.pivot)

    # The pieces --------------------------------------------------------------------------------

    def _check(self) -> None:
        number = isinstance(self.C, int | float | np.number) and not isinstance(self.C, bool)
        if not number or not self.C > 0:
            raise VerosimError(f"C={self.C!r}: a number above 0 is needed, or inf for no penalty.")
        one_of("solver", self.solver, SOLVERS)
        if self.tol is not None:
            finite("tol", self.tol, least=0)
        whole("max_iter", self.max_iter, least=1)
        finite("batch_size", self.batch_size, least=1)
        finite("decay", self.decay, least=0)
        if self.learning_rate != "auto":
            finite("learning_rate", self.learning_rate, least=0)

    @property
    def _penalty(self) -> float:
        return 1.0 / float(self.C)

    def _objective(self, rows: TrainingRows, centred: bool) -> Softmax:
        weights = rows.weights
        if self.class_weight is not None:
            favour = class_weights(self.class_weight, rows)
            weights = favour[rows.codes] * (weights if len(weights) else 1.0)
        pivot = np.zeros(rows.X.shape[1])
        if centred and self.fit_intercept:
            pivot = middle(rows.X)
        return Softmax(
            rows.X, rows.codes, weights, len(rows.classes), self._penalty, pivot,
            bool(self.fit_intercept),
        )  # fmt: skip

    def _schedule(self, rows: TrainingRows, visits: Visits, going_on: bool) -> Schedule:
        """The first rows choose the rate, and later ones keep to it."""
        rate = self.learning_rate
        if rate == "auto":
            if not going_on or not hasattr(self, "_rate"):
                self._rate = first_rate(rows.X, visits)
            rate = self._rate
        return Schedule(float(rate), float(self.decay), int(self.batch_size))

    def _weights(self) -> np.ndarray:
        """(d + 1, K) as they were settled."""
        return np.ascontiguousarray(np.vstack([self.coef_.T, self.intercept_[None]]))

    def _warm(self, rows: TrainingRows, objective: Softmax) -> np.ndarray | None:
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        B = self._weights()
        if B.shape != objective.shape or not np.array_equal(self.classes_, rows.classes):
            return None
        B[-1] += objective.pivot @ B[:-1]
        if not self.fit_intercept:
            B[-1] = 0.0
        return B

    def _check_same_columns(self, rows: TrainingRows) -> None:
        if len(rows.columns) != self.n_features_in_:
            raise VerosimError(
                f"X has {len(rows.columns)} features, but LogisticRegression is expecting "
                f"{self.n_features_in_} features as input.",
                "give the same columns as before.",
            )

    def _found(self, rows: TrainingRows, objective: Softmax, found: Minimum) -> Self:
        self.n_iter_ = found.steps
        self.regularisation_ = objective.penalty
        self.objective_ = self._unscaled(found.value)
        self.gap_ = found.gap / found.value if found.value > 0 else 0.0
        return self._taken(rows, objective.centred(found.B), objective.pivot)

    def _taken(self, rows: TrainingRows, B: np.ndarray, pivot: np.ndarray) -> Self:
        coef = np.ascontiguousarray(B[:-1].T)
        intercept = B[-1] - coef @ pivot
        if not self.fit_intercept:
            intercept = np.zeros(len(coef))
        return self.set_weights(rows.classes, rows.columns, coef, intercept)

    def _unscaled(self, value: float) -> float:
        """The objective as its formula has it, rows times C, of one whose penalty is 1/C."""
        return value / self._penalty if self._penalty else value

    # What is worth saying ----------------------------------------------------------------------

    def _slightly_penalised(self, objective: Softmax) -> Softmax:
        """Separable rows without a penalty: the weights would grow for ever."""
        squares = column_squares(objective)  # (d,)
        wide = squares[squares > EPS * squares.max(initial=0.0)]
        penalty = SLIGHT * float(wide.min()) if len(wide) else SLIGHT
        warn(
            "A hyperplane parts the classes without a mistake, so without a penalty (C=inf) the "
            f"weights have no limit: they were given the slight one λ = {penalty:.3g}, as of "
            f"C={1 / penalty:.3g} (regularisation_). Set C to choose it yourself.",
            ConvergenceWarning,
        )
        return replace(objective, penalty=penalty)

    def _warn_if_certain(self, objective: Softmax, found: Minimum) -> None:
        if not 1 < self.C < math.inf:
            return
        loss = found.value - 0.5 * objective.penalty * float(np.sum(found.B[:-1] ** 2))
        if loss < min(math.log(2) * objective.lightest, SEPARATED_LOSS * objective.mass):
            norm = float(np.linalg.norm(found.B[:-1]))
            warn(
                "A hyperplane parts the classes without a mistake: only the penalty keeps the "
                f"weights finite (‖w‖ = {norm:.3g}), and posteriors are 0 or 1 up to "
                f"{loss / objective.mass:.0e}. A smaller C than {self.C:g} says less than that.",
                VerosimWarning,
            )

    def _warn_unfinished(self, found: Minimum, tol: float) -> None:
        left = found.gap / found.value if found.value > 0 else 0.0
        whole = found.steps >= self.max_iter
        way = (
            f"Raise max_iter={self.max_iter}, or tol." if whole
            else "No step lowers it further in double precision: raise tol, or scale the columns."
        )  # fmt: skip
        warn(
            f"Logistic regression was stopped after {found.steps} steps with the objective about "
            f"{left:.1e} of itself above its minimum, where tol={tol:g} asks for less. {way}",
            ConvergenceWarning,
        )

    def _check_steps(self, B: np.ndarray, loss: float) -> None:
        if np.isfinite(loss) and np.isfinite(B).all():
            return
        raise VerosimError(
            "The weights of stochastic descent grew beyond all numbers: its steps are too long "
            "for columns this large.",
            'scale the columns, give a smaller learning_rate, or use solver="auto".',
        )
