"""Dual coordinate descent: passes over the rows, in which each α is set to its optimum in turn.

    α ← clip(α − ω (t wᵀx − 1 + rα)/(‖x‖² + r), 0, u),   w ← w + Δα t x

If the α of a row stays at its bound, later passes skip the row (shrinking). Each pass sums an
estimate of the duality gap, which decides when to stop. Then the gap is measured for the final w.
Small problems are solved up to rounding errors, by solving for all α between their bounds at once.
A free intercept is treated as a penalised one about a value b₀ that is updated (`kernels/dual.py`).
Reference: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), A dual coordinate descent method for
large-scale linear SVM.
"""

from __future__ import annotations

import numpy as np

from verosim import kernels
from verosim.data import SparseRows
from verosim.engines.threads import LEAST_CELLS_FOR_THREADS
from verosim.twins.solvers.intercept import best_shift, lower_bound
from verosim.twins.solvers.margin import Margin, Solution
from verosim.twins.training_rows import row_arrays

MOST_SOLVED_TOGETHER = 500  # largest number of α that are solved for together
FINISHES = 30  # largest number of tries to finish
# The column of a free intercept adds this share of ‖x‖². A larger share slows the other columns.
INTERCEPT_SHARE = 0.1
EXACT_GRADIENT = 1e-13  # projected gradient of a solved problem, relative to its largest margin


def squared_norms(
    X: np.ndarray | SparseRows, bias: float, centre: np.ndarray | None = None
) -> np.ndarray:
    """(n,) ‖x̃‖², the same for all classes. The centre is subtracted from dense rows."""
    out = np.empty(X.shape[0])
    kernels.row_norms(*row_arrays(X), centre, bias, out)
    return out


def by_frequency(X: SparseRows) -> tuple[SparseRows, np.ndarray]:
    """The rows with columns sorted by frequency, and the new number of each column.

    A few columns hold most cells. If their weights are adjacent, they stay in the first cache. Only
    the column numbers are copied. A column without cells is removed and has the number −1.
    """
    stored = X.stored
    place = np.empty(X.columns, dtype=np.int64)
    indices = np.empty(stored.stop - stored.start, dtype=X.indices.dtype)
    used = kernels.rank_columns(X.indices[stored], place, indices)
    return SparseRows(X.data[stored], indices, X.indptr - X.indptr[0], used), place


def dual_coordinate_descent(
    problem: Margin, norms: np.ndarray, tol: float, passes: int, seed: int
) -> Solution:
    """Minimise until the gap is below tol · objective, or each row was visited `passes` times.

    `norms` (n,) are ‖x̃‖², or ‖x − centre‖² for a free intercept. A pass over a part of the rows
    counts as that part.
    """
    state = _Descent(problem, norms, seed)
    visits, aim = passes * problem.size[0], tol
    while True:
        state.run(visits, aim)
        found = state.solution()
        if found.gap <= tol * found.objective or state.made >= visits:
            break
        aim = max(0.5 * aim, 1e-16)  # the gap measured during the pass was too small
    n, p = problem.size
    if n * p > LEAST_CELLS_FOR_THREADS or state.made >= visits:
        return found
    for _ in range(FINISHES):
        if not state.finish():
            break
        state.run(min(visits, state.made + 5 * n), 0.0)
    last = state.solution()
    return last if last.gap <= max(found.gap, tol * last.objective) else found


def around(intercept: float) -> np.ndarray:
    """(7,) the state of a free intercept in the kernels: b₀ first, still without a bracket."""
    return np.array([intercept, -np.inf, np.inf, 0.0, 0.0, 0.0, 1.0])


class _Descent:
    """The state of the descent: α and the weights w = Σ α t x."""

    def __init__(self, problem: Margin, norms: np.ndarray, seed: int) -> None:
        n, p = problem.size
        self.problem, self.norms, self.bias = problem, norms, problem.bias
        self.free = np.empty(0)  # the state of a free intercept, b₀ first
        if problem.free:
            share = INTERCEPT_SHARE * float(norms.mean())
            self.bias = share**0.5 if share > 0.0 else 1.0
            self.norms = norms + self.bias**2
            self.free = around(best_shift(problem, np.zeros(n)))
        self.w, self.alpha, self.order = np.zeros(p), np.zeros(n), np.arange(n)
        self.ridge = 0.5 / problem.cost if problem.squared else np.empty(0)  # (n,) or empty
        self.seed = np.uint64(2 * seed + 1)  # odd: xorshift must not start from zero
        self.made, self.turn = 0, 0  # number of visits to rows, and number of passes

    def run(self, visits: int, aim: float) -> None:
        """Make passes until the estimated gap is below aim · objective or all visits are used."""
        problem = self.problem
        value = problem.dual(self.alpha, self.w)
        if problem.free:  # the kernel minimises with a penalised intercept about b₀
            value -= float(self.w[-1]) * (0.5 * float(self.w[-1]) + self.free[0] / self.bias)
        made, self.turn, seed = kernels.descend(
            *row_arrays(problem.X), problem.centre, problem.signs, problem.cost, self.ridge,
            self.norms, self.bias, self.w, self.alpha, self.free, self.order, self.seed, self.turn,
            visits - self.made, aim, value,
        )  # fmt: skip
        self.made, self.seed = self.made + made, np.uint64(seed)

    def solution(self) -> Solution:
        problem, w = self.problem, self.weights()
        margins = problem.margins(w)
        if problem.free:
            shift = best_shift(problem, margins)
            w[-1] += shift
            margins += shift * problem.signs
            bound = lower_bound(problem, self.alpha)
        else:
            bound = problem.dual(self.alpha, w)
        objective = problem.primal(w, margins)
        gap = max(objective - bound, 0.0)
        return Solution(w, objective, gap, -(-self.made // problem.size[0]))

    def weights(self) -> np.ndarray:
        """(d + 1,) the weights of the problem. A free intercept is b₀ + bias · w[d]."""
        w = self.w.copy()
        if self.problem.free:
            w[-1] = self.free[0] + self.bias * w[-1]
        return w

    def finish(self) -> bool:
        """One Newton step in the α between their bounds; False if no progress is possible."""
        problem, alpha = self.problem, self.alpha
        upper = np.full(len(alpha), np.inf) if problem.squared else problem.cost
        ridge = self.ridge if problem.squared else np.zeros(len(alpha))
        margins = problem.margins(self.weights())
        slope = margins - 1.0 + ridge * alpha  # (n,)
        inside = (alpha > 0.0) & (alpha < upper)
        projected = np.where(
            inside, slope, np.where(alpha > 0.0, np.maximum(slope, 0.0), np.minimum(slope, 0.0))
        )
        free = np.flatnonzero(inside)
        scale = max(1.0, float(np.abs(margins).max()))
        over = float(alpha @ problem.signs) if problem.free else 0.0
        settled = (
            np.abs(projected).max() <= EXACT_GRADIENT * scale
            and abs(over) <= EXACT_GRADIENT * alpha.sum()
        )
        if settled or not 0 < len(free) <= MOST_SOLVED_TOGETHER:
            return False
        Z = problem.signs[free, None] * problem.rows(free)  # (m, d + 1)
        if problem.free:
            Z[:, -1] *= self.bias
        Q = Z @ Z.T
        Q.flat[:: len(free) + 1] += ridge[free]
        if problem.free:
            slope = slope + problem.signs * self.move_intercept(Q, slope[free], free, over)
        step = np.linalg.lstsq(Q, -slope[free], rcond=None)[0]
        for _ in range(8):
            change = np.clip(alpha[free] + step, 0.0, upper[free]) - alpha[free]
            move = change @ Z
            curve = float(move @ move + ridge[free] @ (change * change))
            if float(slope[free] @ change) + 0.5 * curve < 0.0:
                alpha[free] += change
                np.clip(alpha, 0.0, upper, out=alpha)
                self.w += move
                return True
            step *= 0.4
        return False

    def move_intercept(
        self, Q: np.ndarray, slope: np.ndarray, at: np.ndarray, over: float
    ) -> float:
        """Set b₀ so that the next step gives Σ α t = 0 if no bound is reached.

            Q Δα + tΔb = −slope,   tᵀΔα = −over,   for the α of the rows `at`

        Returns the change of b.
        """
        signs, m = self.problem.signs[at], len(at)
        system = np.zeros((m + 1, m + 1))
        system[:m, :m] = Q - self.bias**2 * np.outer(signs, signs)  # without the intercept
        system[m, :m] = system[:m, m] = signs
        step = np.linalg.lstsq(system, -np.append(slope, over), rcond=None)[0]
        now = self.free[0] + self.bias * self.w[-1]
        self.free = around(now + step[m])
        return float(step[m] + self.bias * self.w[-1])
