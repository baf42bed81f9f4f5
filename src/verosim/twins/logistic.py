"""Logistic regression: posteriors of the form that LDA implies, fitted directly to the labels.

    p(k | x) = exp(w_kᵀx + b_k) / Σ_c exp(w_cᵀx + b_c)
    min  C Σ_i s_i (−log p(y_i | x_i)) + ½ ‖W‖²

Here w_k and b_k are the weights and the intercept of class k, W are the weights of all classes and
s_i is the weight of row i.
References: Cox (1958), The regression analysis of binary sequences; Ng & Jordan (2002).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np
from sklearn.utils.metaestimators import available_if

from verosim.arguments import finite, one_of, whole
from verosim.data.clusters import check_is_here
from verosim.data.labels import check_known
from verosim.errors import ConvergenceWarning, VerosimError, VerosimWarning, warn
from verosim.estimators.checks import generator
from verosim.estimators.one_state import updates
from verosim.linalg import EPS
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

if TYPE_CHECKING:
    from verosim.typing import ClassWeight, Labels, RandomState, Source, Weights

LogisticSolver: TypeAlias = Literal["auto", "newton", "lbfgs", "sgd"]
SOLVERS = ("auto", "newton", "lbfgs", "sgd")
TOLERANCE, SGD_TOLERANCE = 1e-9, 1e-4
SLIGHT = 1e-6  # penalty for separable rows, as a share of the squares of the narrowest column
UNREPORTED_GAP = 0.25  # relative gap to the minimum up to which descent gives no warning
SEPARATED_LOSS = 1e-4  # mean loss below which a weak penalty has allowed large weights


def _steps(model: LogisticRegression) -> bool:
    """Only stochastic gradient descent can learn from a part of the rows."""
    if model.solver != "sgd":
        raise AttributeError(
            f'partial_fit needs solver="sgd"; got solver={model.solver!r}. '
            'Hint: Use solver="sgd", or the partial_fit of LDA, which is exact.'
        )
    return True


class LogisticRegression(LinearClassifier):
    """Logistic regression for two or more classes (softmax regression).

    The weights minimise the penalised log-loss:

        min  C Σ_i s_i (−log p(y_i | x_i)) + ½ ‖W‖²,   p(k | x) ∝ exp(w_kᵀx + b_k)

    where s_i is the weight of row i, w_k and b_k are the weights and the intercept of class k, and
    W are the weights of all classes. The intercepts are not penalised. For two classes there is one
    weight vector, for the second class against the first. The solvers start from the weights of
    LDA. The objective is convex, so any start leads to the same minimum.

    Parameters
    ----------
    C : float, default=1.0
        The inverse strength of the penalty. A smaller value means a stronger penalty, and `inf`
        means no penalty.
    solver : {"auto", "newton", "lbfgs", "sgd"}, default="auto"
        "newton" uses exact Hessians. "lbfgs" uses one pass of gradients per step. "auto" chooses
        the cheaper of these two. "sgd" is stochastic gradient descent, with one step for every
        `batch_size` rows; it alone supports `partial_fit`.
    tol : float or None, default=None
        The fit stops if the objective is at most this far above its minimum, relative to the
        minimum. None means 1e-9. For "sgd", the fit stops if five passes in a row do not lower the
        loss by this share of it, and None means 1e-4.
    max_iter : int, default=1000
        The largest number of steps. For "sgd", the largest number of passes over the rows.
    batch_size : int, default=1
        The number of rows per step of "sgd".
    learning_rate : float or "auto", default="auto"
        The first step size η₀ of "sgd". "auto" means 1/(1 + mean ‖x‖²).
    decay : float, default=0.75
        The step size of "sgd" after t rows is η₀ (1 + t/n)^−decay, where n is the number of rows in
        a pass. The value 0 keeps η₀.
    warm_start : bool, default=False
        Whether `fit` starts from the weights of the previous fit.
    fit_intercept : bool, default=True
        Whether the scores have intercepts.
    class_weight : "balanced", dict or None, default=None
        Factors for the weights of the rows, by class. "balanced" uses n / (n_classes · n_k), so
        that all classes have the same total weight. A dict gives a factor for each label. None uses
        the factor 1.
    random_state : int, Generator, RandomState or None, default=None
        The seed for the order of the rows in "sgd". None uses new randomness in each call.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, d), or (1, d) for two classes
        The weights w_k.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        The intercepts b_k.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_iter_ : int
        The number of steps, or of passes for "sgd".
    objective_ : float
        The value of the objective at the weights. For C=inf it is the log-loss Σ_i s_i loss_i.
    gap_ : float
        The estimated distance of the objective from its minimum, relative to the objective.
    regularisation_ : float
        The penalty λ = 1/C that was used. It is small but not zero for separable rows with C=inf.
    loss_curve_ : list of float
        The mean loss in each pass. It exists only for "sgd".
    norm_curve_ : list of float
        The norm ‖W‖ after each pass. It exists only for "sgd".
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The column names of X, if X had names.

    References
    ----------
    Cox (1958), The regression analysis of binary sequences, JRSS B 20, 215–242.
    Bishop (2006), Pattern Recognition and Machine Learning, §4.3.

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
        solver: LogisticSolver = "auto",
        tol: float | None = None,
        max_iter: int = 1000,
        batch_size: int = 1,
        learning_rate: float | Literal["auto"] = "auto",
        decay: float = 0.75,
        warm_start: bool = False,
        fit_intercept: bool = True,
        class_weight: ClassWeight = None,
        random_state: RandomState = None,
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

    @updates
    def fit(self, X: Source, y: Labels, sample_weight: Weights | None = None) -> Self:
        """Fit the model. With `warm_start=True`, start from the weights of the previous fit.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            The training rows.
        y : array-like of shape (n,)
            The labels.
        sample_weight : array-like of shape (n,) or None, default=None
            The weights of the rows. Rows of weight zero are ignored. None gives each row the weight
            1.

        Returns
        -------
        LogisticRegression
            The fitted model itself.
        """
        check_is_here(X, "LogisticRegression")
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
    @updates
    def partial_fit(
        self,
        X: Source,
        y: Labels,
        classes: Labels | None = None,
        sample_weight: Weights | None = None,
    ) -> Self:
        """Make one pass over more rows, in their order; only for `solver="sgd"`.

        The pass starts from the present weights, or from zero in the first call.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            The training rows.
        y : array-like of shape (n,)
            The labels.
        classes : array-like or None, default=None
            All labels that will occur in later calls. It is needed in the first call if the first
            rows do not have all classes.
        sample_weight : array-like of shape (n,) or None, default=None
            The weights of the rows. None gives each row the weight 1.

        Returns
        -------
        LogisticRegression
            The fitted model itself.
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
        # The penalty is divided over all rows seen so far, so that it counts once in total.
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
                f"Stochastic gradient descent stopped after {self.n_iter_} passes, and the last "
                f"pass still changed the mean loss by a share of {abs(change):.1e}. Raise max_iter "
                'or tol, or use solver="auto" to reach the minimum.',
                ConvergenceWarning,
            )
        elif left > UNREPORTED_GAP:
            warn(
                "Stochastic gradient descent stopped with the objective about "
                f"{min(left, 10):.0%} above its minimum, because one step size does not fit "
                "columns of very different scales. Scale the columns, or use "
                'solver="auto" to reach the minimum.',
                ConvergenceWarning,
            )
        self.regularisation_ = objective.penalty
        self.objective_, self.gap_ = self._unscaled(objective.value(course.B)[0]), left
        return self._taken(rows, course.B, objective.pivot)

    # Settings and weights ----------------------------------------------------------------------

    def _check(self) -> None:
        number = isinstance(self.C, int | float | np.number) and not isinstance(self.C, bool)
        if not number or not self.C > 0:
            raise VerosimError(
                f"C must be a number above 0; got {self.C!r}.", "Use C=inf for no penalty."
            )
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
        """The step sizes. The first rows determine the rate, and later calls keep it."""
        rate = self.learning_rate
        if rate == "auto":
            if not going_on or not hasattr(self, "_rate"):
                self._rate = first_rate(rows.X, visits)
            rate = self._rate
        return Schedule(float(rate), float(self.decay), int(self.batch_size))

    def _weights(self) -> np.ndarray:
        """(d + 1, K) the fitted weights, with the intercepts in the last row."""
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
                "Give the same columns as at fit.",
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
        return self.set_weights(rows.classes, rows.columns, coef, intercept, rows.mean())

    def _unscaled(self, value: float) -> float:
        """The objective with factor C for the rows, from one with the penalty 1/C."""
        return value / self._penalty if self._penalty else value

    # Warnings ----------------------------------------------------------------------------------

    def _slightly_penalised(self, objective: Softmax) -> Softmax:
        """The objective with a small penalty. Without it, separable rows give infinite weights."""
        squares = column_squares(objective)  # (d,)
        wide = squares[squares > EPS * squares.max(initial=0.0)]
        penalty = SLIGHT * float(wide.min()) if len(wide) else SLIGHT
        warn(
            "A hyperplane separates the classes without errors, so the weights have no finite "
            f"optimum with C=inf, and the small penalty λ = {penalty:.3g} was used instead. "
            f"Set C to choose the penalty; the one used is C={1 / penalty:.3g}.",
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
                "A hyperplane separates the classes without errors, so only the penalty keeps the "
                f"weights finite (‖w‖ = {norm:.3g}), and the posteriors are within "
                f"{loss / objective.mass:.0e} of 0 or 1 on average. Use a C smaller than "
                f"{self.C:g} for less extreme posteriors.",
                VerosimWarning,
            )

    def _warn_unfinished(self, found: Minimum, tol: float) -> None:
        left = found.gap / found.value if found.value > 0 else 0.0
        whole = found.steps >= self.max_iter
        way = (
            f"Raise max_iter={self.max_iter} or tol." if whole
            else "Raise tol or scale the columns, because rounding errors stop further progress."
        )  # fmt: skip
        warn(
            f"Logistic regression stopped after {found.steps} steps, and the objective is about "
            f"{left:.1e} (relative) above its minimum, which is more than tol={tol:g}. {way}",
            ConvergenceWarning,
        )

    def _check_steps(self, B: np.ndarray, loss: float) -> None:
        if np.isfinite(loss) and np.isfinite(B).all():
            return
        raise VerosimError(
            "The weights of stochastic gradient descent overflowed, because its steps are too long "
            "for columns with such large values.",
            'Scale the columns, use a smaller learning_rate, or use solver="auto".',
        )
