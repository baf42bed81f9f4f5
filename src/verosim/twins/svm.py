"""The linear support vector machine: the widest margin, and a price for rows within it.

    min_{w,b} ½ ‖w‖² + C Σ sᵢ ℓ(tᵢ (wᵀxᵢ + b)),   ℓ(m) = max(0, 1 − m)² or max(0, 1 − m)

The intercept b is free, so that a constant added to a column changes b alone; it may be penalised
by ½ (b / scaling)² instead, as in LIBLINEAR. Several classes are told apart one against the rest.
Reference: Cortes & Vapnik (1995), Support-vector networks.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from verosim.axes.groups import plain_label
from verosim.data import SparseRows
from verosim.engines.local import LEAST_CELLS_FOR_THREADS
from verosim.errors import ConvergenceWarning, VerosimError, warn
from verosim.estimators.checks import generator
from verosim.models.settings import finite, one_of, whole
from verosim.twins.linear import LinearClassifier
from verosim.twins.solvers.descent import by_frequency, dual_coordinate_descent, squared_norms
from verosim.twins.solvers.finite_newton import finite_newton
from verosim.twins.solvers.interior import interior
from verosim.twins.solvers.margin import Margin, Solution, side_by_side
from verosim.twins.training_rows import class_weights

FEW_COLUMNS = 600  # up to which a Newton step can cost less than the passes it saves
ROWS_PER_COLUMN = 4  # below which coordinate descent has few rows to visit
LONG = 1000  # passes that a small problem is given before another solver has its turn


class LinearSVM(LinearClassifier):
    """Linear support vector machine, to a known distance from its optimum.

        min_{w,b} ½ ‖w‖² + C Σ_i s_i ℓ(t_i (wᵀx_i + b)),   t_i = ±1

    with ℓ(m) = max(0, 1 − m)², or max(0, 1 − m): the latter is the objective of scikit-learn's
    SVC(kernel="linear"). The intercept b is free: adding a constant to a column changes b, and
    neither w nor the predictions. With `penalize_intercept=True` the objective is that of LIBLINEAR
    and of scikit-learn's LinearSVC,

        min_{w,b} ½ ‖w‖² + ½ (b / intercept_scaling)² + C Σ_i s_i ℓ(t_i (wᵀx_i + b)).

    The fit stops when the duality gap, which bounds how far the objective is above its
    minimum, is `tol` of it. Several classes are fitted one against the rest, side by side on the
    threads.

    Parameters
    ----------
    C : price of a row within the margin, against the width of the margin
    loss : "squared_hinge" or "hinge"
    tol : duality gap to stop at, as a share of the objective
    max_iter : most passes over the rows (of "dual"; a pass over part of them counts as that part),
        or most steps (of "newton")
    fit_intercept : whether there is an intercept b
    penalize_intercept : whether b is penalised as a weight is; then the fit depends on where the
        columns have their zero
    intercept_scaling : with `penalize_intercept=True`, what the column of the intercept holds; the
        larger, the less b is penalised. A free intercept ignores it
    class_weight : None, "balanced", or a weight for each class by name; of several classes, the
        weight of a class counts where it stands against the rest
    solver : "dual" is coordinate descent with shrinking, for dense and sparse rows; "newton" is for
        dense rows of few columns: finite Newton for the squared hinge, an interior-point method for
        the hinge; "auto" goes from "dual" to "newton" if the former is slow, where rows are dense,
        of at most 600 columns and at least four times as many as these
    random_state : decides the order of the rows in each pass of "dual"

    Attributes
    ----------
    coef_ : (C, d), or (1, d) for two classes
    intercept_ : (C,) or (1,)
    objective_ : (C,) or (1,) what was minimised, where the fit stopped
    gap_ : (C,) or (1,) duality gap: the minimum is no further below `objective_`
    n_iter_ : (C,) or (1,) passes or steps taken
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    References
    ----------
    Hsieh et al. (2008), A dual coordinate descent method for large-scale linear SVM. Keerthi &
    DeCoste (2005), A modified finite Newton method. Ferris & Munson (2002), Interior-point methods
    for massive support vector machines. Rockafellar (1976), Augmented Lagrangians and applications
    of the proximal point algorithm, for the free intercept in coordinate descent.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVM(C=0.5).fit(X, y)
    >>> model.coef_.shape, bool((model.gap_ <= 1e-6 * model.objective_).all())
    ((3, 4), True)
    >>> bool(abs(LinearSVM(C=0.5).fit(X + 6, y).coef_ - model.coef_).max() < 1e-6)
    True
    """

    objective_: np.ndarray
    gap_: np.ndarray
    n_iter_: np.ndarray

    def __init__(
        self,
        C: float = 1.0,
        loss: str = "squared_hinge",
        *,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        solver: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.solver = solver
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows and their classes; a row of weight s counts s times."""
        self._check()
        rows = self.training_rows(X, y, sample_weight)
        cost = self.C * (rows.weights if len(rows.weights) else np.ones(len(rows)))  # (n,)
        favour = class_weights(self.class_weight, rows)  # (C,)
        problems = [1] if len(rows.classes) == 2 else list(range(len(rows.classes)))
        squared = self.loss == "squared_hinge"
        free = bool(self.fit_intercept and not self.penalize_intercept)
        bias = 1.0 if free else float(self.intercept_scaling) if self.fit_intercept else 0.0
        solve = self._solver(rows.X)
        given, place = rows.X, None
        if isinstance(given, SparseRows):
            given, place = by_frequency(given)
        centre = None
        if free and isinstance(given, np.ndarray):
            centre = given.mean(axis=0, dtype=np.float64)
        norms = squared_norms(given, 0.0 if free else bias, centre)
        seeds = generator(self.random_state).integers(1 << 62, size=len(problems))
        found: list[Solution | None] = [None] * len(problems)

        def work(job: int) -> None:
            k = problems[job]
            own = rows.codes == k
            other = favour[0] if len(problems) == 1 else 1.0
            signs, price = np.where(own, 1.0, -1.0), cost * np.where(own, favour[k], other)
            problem = Margin(given, signs, price, bias, squared, free, centre)
            found[job] = self._solved(problem, solve, norms, int(seeds[job]))

        side_by_side(work, len(problems))
        done = [s for s in found if s is not None]
        self._warn_unfinished(done, rows.classes[problems])
        W = np.array([s.w for s in done])  # (C or 1, d + 1)
        if place is None:
            coef = np.ascontiguousarray(W[:, :-1])
        else:
            seen = np.flatnonzero(place >= 0)
            coef = np.zeros((len(W), rows.X.shape[1]))
            coef[:, seen] = W[:, place[seen]]
        shift = 0.0 if centre is None else coef @ centre
        return self.set_weights(rows.classes, rows.columns, coef, W[:, -1] * bias - shift)

    def _warn_unfinished(self, found: list[Solution], classes: np.ndarray) -> None:
        """Where the fits stopped, with a warning where that was too early."""
        self.objective_ = np.array([s.objective for s in found])
        self.gap_ = np.array([s.gap for s in found])
        self.n_iter_ = np.array([s.rounds for s in found])
        share = self.gap_ / np.maximum(self.objective_, np.finfo(float).tiny)
        if (share > self.tol).any():
            worst = int(np.argmax(share))
            place = f" of class {plain_label(classes[worst])!r}" if len(found) > 1 else ""
            early = self.n_iter_[worst] >= self.max_iter
            where = f"at max_iter={self.max_iter}" if early else "where rounding left no way on"
            warn(
                f"LinearSVM stopped {where} with a duality gap{place} of {share[worst]:.1e} of the "
                f"objective, above tol={self.tol:g}. "
                + ("A larger max_iter, c" if early else "C")
                + "olumns scaled alike, or a smaller C let it settle.",
                ConvergenceWarning,
            )

    def _solver(self, X: np.ndarray | SparseRows) -> str:
        """ "dual", "newton", or "both", the second after a fair trial of the first."""
        sparse = isinstance(X, SparseRows)
        if self.solver == "newton" and sparse:
            raise VerosimError(
                "solver='newton' is for dense rows, and these are sparse.", "solver='dual'."
            )
        if self.solver != "auto":
            return self.solver
        n, d = X.shape
        if sparse or d > FEW_COLUMNS or n < ROWS_PER_COLUMN * d:
            return "dual"
        small = n * d <= LEAST_CELLS_FOR_THREADS  # is solved to rounding
        return "newton" if small and self.loss == "squared_hinge" else "both"

    def _solved(self, problem: Margin, solve: str, norms: np.ndarray, seed: int) -> Solution:
        tol, rounds = self.tol, int(self.max_iter)
        if solve == "dual":
            return dual_coordinate_descent(problem, norms, tol, rounds, seed)
        first = None
        if solve == "both":
            d = problem.size[1] - 1
            trial = max(5, d // 8) if problem.squared else max(40, d)
            if problem.size[0] * d <= LEAST_CELLS_FOR_THREADS:
                trial = LONG
            first = dual_coordinate_descent(problem, norms, tol, min(trial, rounds), seed)
            if first.gap <= tol * first.objective or first.rounds >= rounds:
                return first
        if problem.squared:
            return finite_newton(problem, tol, rounds, None if first is None else first.w)
        return interior(problem, tol, rounds)

    def _check(self) -> None:
        one_of("loss", self.loss, ("squared_hinge", "hinge"))
        one_of("solver", self.solver, ("auto", "dual", "newton"))
        finite("C", self.C)
        if not self.C > 0:
            raise VerosimError(f"C={self.C!r}: a number above 0 is needed.")
        finite("tol", self.tol, 0.0)
        whole("max_iter", self.max_iter, least=1)
        if self.fit_intercept:
            finite("intercept_scaling", self.intercept_scaling, float(np.finfo(float).tiny))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver != "newton"
        return tags
