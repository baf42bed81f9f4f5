"""The linear support vector machine: a wide margin, and a cost for rows inside the margin.

    min_{w,b} ½ ‖w‖² + C Σ sᵢ ℓ(tᵢ (wᵀxᵢ + b)),   ℓ(m) = max(0, 1 − m)² or max(0, 1 − m)

Here tᵢ = ±1 is the class and sᵢ is the weight of row i. The intercept b is not penalised, so a
constant added to a column changes only b. Optionally b is penalised by ½ (b / scaling)², as in
LIBLINEAR. Several classes are fitted one against the rest.
Reference: Cortes & Vapnik (1995), Support-vector networks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from verosim.arguments import finite, one_of, whole
from verosim.axes.groups import plain_label
from verosim.data import SparseRows
from verosim.data.clusters import check_is_here
from verosim.engines.threads import LEAST_CELLS_FOR_THREADS
from verosim.errors import ConvergenceWarning, VerosimError, warn
from verosim.estimators.checks import generator
from verosim.estimators.one_state import updates
from verosim.twins.linear import LinearClassifier
from verosim.twins.solvers.descent import by_frequency, dual_coordinate_descent, squared_norms
from verosim.twins.solvers.finite_newton import finite_newton
from verosim.twins.solvers.interior import interior
from verosim.twins.solvers.margin import Margin, Solution, side_by_side
from verosim.twins.training_rows import check_products, class_weights

if TYPE_CHECKING:
    from verosim.typing import ClassWeight, Labels, RandomState, Source, Weights

FEW_COLUMNS = 600  # up to this number, a Newton step can cost less than the passes it saves
ROWS_PER_COLUMN = 4  # below this ratio, coordinate descent has few rows to visit
LONG = 1000  # passes of coordinate descent on a small problem before the Newton solver starts


class LinearSVM(LinearClassifier):
    """Linear support vector machine with a known bound on the distance from the optimum.

    The weights w and the intercept b minimise

        min_{w,b} ½ ‖w‖² + C Σ_i s_i ℓ(t_i (wᵀx_i + b))

    where t_i = ±1 is the class of row i, s_i is its weight, and the loss ℓ(m) is max(0, 1 − m)² or
    max(0, 1 − m). The second loss gives the objective of scikit-learn's `SVC(kernel="linear")`. The
    intercept is not penalised: adding a constant to a column changes b, but not w and not the
    predictions. With `penalize_intercept=True` the objective is that of LIBLINEAR and of
    scikit-learn's `LinearSVC`:

        min_{w,b} ½ ‖w‖² + ½ (b / intercept_scaling)² + C Σ_i s_i ℓ(t_i (wᵀx_i + b))

    The duality gap is an upper bound on the distance of the objective from its minimum. The fit
    stops if the gap is at most `tol` times the objective. Several classes are fitted one against
    the rest, in parallel threads.

    Parameters
    ----------
    C : float, default=1.0
        The cost of rows inside the margin. A smaller value gives a wider margin.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss ℓ: "squared_hinge" is max(0, 1 − m)² and "hinge" is max(0, 1 − m).
    tol : float, default=1e-06
        The duality gap at which the fit stops, as a share of the objective.
    max_iter : int, default=10000
        The largest number of passes over the rows for "dual", or of steps for "newton". A pass over
        a part of the rows counts as that part.
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    penalize_intercept : bool, default=False
        Whether b is penalised like a weight. If True, the fit changes if a constant is added to a
        column.
    intercept_scaling : float, default=1.0
        With `penalize_intercept=True`, a larger value means a weaker penalty on b. Otherwise it is
        ignored.
    class_weight : "balanced", dict or None, default=None
        Factors for the weights of the rows, by class. "balanced" uses n / (n_classes · n_k), so
        that all classes have the same total weight. A dict gives a factor for each label. None uses
        the factor 1. With several classes, the factor of a class is used in its own problem against
        the rest.
    solver : {"auto", "dual", "newton"}, default="auto"
        "dual" is dual coordinate descent, for dense and sparse rows. "newton" is for dense rows
        with few columns: finite Newton for the squared hinge, and an interior-point method for the
        hinge. "auto" starts with "dual" and continues with "newton" if "dual" is slow and the rows
        are dense, with at most 600 columns and at least four times as many rows as columns.
    random_state : int, Generator, RandomState or None, default=None
        The seed for the order of the rows in each pass of "dual". None uses new randomness in each
        call.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, d), or (1, d) for two classes
        The weights w.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        The intercepts b.
    objective_ : ndarray of shape (n_classes,), or (1,) for two classes
        The value of the objective at the solution.
    gap_ : ndarray of shape (n_classes,), or (1,) for two classes
        The duality gap. The minimum is at most this far below `objective_`.
    n_iter_ : ndarray of int, of shape (n_classes,), or (1,) for two classes
        The number of passes or steps.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The column names of X, if X had names.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), A dual coordinate descent method for
    large-scale linear SVM, ICML, 408–415.
    Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large scale
    linear SVMs, JMLR 6, 341–361.
    Ferris & Munson (2002), Interior-point methods for massive support vector machines, SIAM Journal
    on Optimization 13, 783–804.
    Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in
    convex programming, Mathematics of Operations Research 1, 97–116.

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
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        *,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        solver: Literal["auto", "dual", "newton"] = "auto",
        random_state: RandomState = None,
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

    @updates
    def fit(self, X: Source, y: Labels, sample_weight: Weights | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            The training rows.
        y : array-like of shape (n,)
            The labels.
        sample_weight : array-like of shape (n,) or None, default=None
            The weights of the rows: a row of weight s counts as s equal rows. Rows of weight zero
            are ignored. None gives each row the weight 1.

        Returns
        -------
        LinearSVM
            The fitted model itself.
        """
        check_is_here(X, "LinearSVM")
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
        check_products(rows, cost * max(1.0, float(favour.max())), norms)
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
        intercept = W[:, -1] * bias - shift
        return self.set_weights(rows.classes, rows.columns, coef, intercept, rows.mean())

    def _warn_unfinished(self, found: list[Solution], classes: np.ndarray) -> None:
        """Store how each fit ended, and warn if one stopped before `tol` was reached."""
        self.objective_ = np.array([s.objective for s in found])
        self.gap_ = np.array([s.gap for s in found])
        self.n_iter_ = np.array([s.rounds for s in found])
        share = self.gap_ / np.maximum(self.objective_, np.finfo(float).tiny)
        if (share > self.tol).any():
            worst = int(np.argmax(share))
            place = f" of class {plain_label(classes[worst])!r}" if len(found) > 1 else ""
            early = self.n_iter_[worst] >= self.max_iter
            where = f"at max_iter={self.max_iter}" if early else "because of rounding errors"
            warn(
                f"LinearSVM stopped {where}, and the duality gap{place} is {share[worst]:.1e} of "
                f"the objective, which is more than tol={self.tol:g}. "
                + ("Raise max_iter, scale" if early else "Scale")
                + " the columns, or use a smaller C.",
                ConvergenceWarning,
            )

    def _solver(self, X: np.ndarray | SparseRows) -> str:
        """Choose "dual", "newton", or "both": "dual" first, then "newton" if "dual" is slow."""
        sparse = isinstance(X, SparseRows)
        if self.solver == "newton" and sparse:
            raise VerosimError(
                "solver='newton' needs dense rows; got a sparse matrix.", "Use solver='dual'."
            )
        if self.solver != "auto":
            return self.solver
        n, d = X.shape
        if sparse or d > FEW_COLUMNS or n < ROWS_PER_COLUMN * d:
            return "dual"
        small = n * d <= LEAST_CELLS_FOR_THREADS  # solved up to rounding errors
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
            raise VerosimError(f"C must be a number above 0; got {self.C!r}.", "Use C=1.0.")
        finite("tol", self.tol, 0.0)
        whole("max_iter", self.max_iter, least=1)
        if self.fit_intercept:
            finite("intercept_scaling", self.intercept_scaling, float(np.finfo(float).tiny))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver != "newton"
        return tags
