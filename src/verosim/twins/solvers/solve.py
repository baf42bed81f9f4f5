"""The choice of the solver and of its start, by the cost of a pass and of a Hessian.

Newton's method is used if Hessians are cheap. Otherwise L-BFGS is used, in coordinates from the
Hessian of a sample of the rows, or from its diagonal if there are too many weights for a Hessian.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from verosim.data import SparseRows
from verosim.engines import one_blas_thread, threads
from verosim.errors import VerosimError
from verosim.twins.solvers.lbfgs import Diagonal, lbfgs
from verosim.twins.solvers.newton import Minimum, Root, newton
from verosim.twins.solvers.singleton_columns import MergedSingletons
from verosim.twins.solvers.softmax import Softmax, column_squares
from verosim.twins.solvers.start import climb, generative_start, subsample
from verosim.twins.solvers.truncated import dual_start, truncated_newton

ROWS_PER_SAMPLED_ROW = 32  # the sample for a Hessian has one row of this many
HESSIAN_WEIGHTS = 2000  # with more weights, no Hessian is computed
REFUSED_WEIGHTS = 20_000  # with more weights, solver="newton" raises an error
COSTLY_WEIGHTS = 600  # with more weights, a Hessian costs as much as a hundred passes
FEW_ROWS = 50_000  # up to this number of rows, passes cost very little
DIAGONAL_STEPS = 300  # steps with the diagonal before a Hessian is computed
CHEAP_WEIGHTS = 300  # up to this number of weights, a Hessian costs little for any number of rows
STEPS_PER_HESSIAN = 12  # steps before the Hessian of the sample is computed again
FEW_STEPS = 3  # if the minimum is reached within these steps, the Hessian was accurate
SAMPLE_SEED = 0  # seed of the samples: the same rows give the same result


@one_blas_thread  # verosim's threads divide the rows; threads of BLAS would wait for them
def minimise(
    objective: Softmax, solver: str, tol: float, max_iter: int, B: np.ndarray | None = None
) -> Minimum:
    """Minimise from B, or from the weights of LDA if B is None."""
    n, (columns, _) = len(objective.codes), objective.shape
    p = columns * objective.contrasts.shape[0]
    top = max(n // ROWS_PER_SAMPLED_ROW, 16 * p if p <= CHEAP_WEIGHTS else 4 * p, 4096)
    rng = np.random.default_rng(SAMPLE_SEED)
    if B is not None:
        B = objective.centred(B)
        if not objective.value(B)[0] <= objective.value(np.zeros(objective.shape))[0]:
            B = None  # these weights are worse than zero weights
    if isinstance(objective.X, SparseRows) and p > HESSIAN_WEIGHTS and solver != "lbfgs":
        part = MergedSingletons.of(objective)
        B = dual_start(part.objective) if B is None else part.narrowed(B)
        found = truncated_newton(part.objective, B, tol, max_iter, threads())
        return replace(found, B=part.widened(found.B))
    if solver == "auto" and COSTLY_WEIGHTS < p <= HESSIAN_WEIGHTS and n <= FEW_ROWS:
        start = np.zeros(objective.shape) if B is None else B
        first = lbfgs(
            objective, start, Diagonal(_curvatures(objective)), tol, min(DIAGONAL_STEPS, max_iter)
        )
        if first.converged or first.steps >= max_iter or objective.separated(first.value):
            return first
        found = newton(objective, first.B, tol, max_iter)[0]
        return replace(found, steps=first.steps + found.steps)
    if solver == "newton" or (
        solver == "auto" and p <= HESSIAN_WEIGHTS and n <= 2 * top and _pays(n, p)
    ):
        if p > REFUSED_WEIGHTS:
            raise VerosimError(
                f"The Hessian of {p:,} weights needs {8e-9 * p * p:.0f} GB of memory.",
                'Use solver="auto" or solver="lbfgs", which need no Hessian.',
            )
        if B is None:
            B = generative_start(objective) if n <= 2 * top else climb(objective, top, rng)[0]
        return newton(objective, B, tol, max_iter)[0]
    if p <= HESSIAN_WEIGHTS and _pays(n, p):
        return sketched(objective, *climb(objective, top, rng, B), tol, max_iter)
    if B is None:
        B = np.zeros(objective.shape)
    return lbfgs(objective, B, Diagonal(_curvatures(objective)), tol, max_iter)


def sketched(
    objective: Softmax, B: np.ndarray, root: Root, rows: Softmax, tol: float, max_iter: int
) -> Minimum:
    """L-BFGS in coordinates from the Hessian of a sample of the rows.

    If the steps converge slowly, the Hessian is not accurate and neither is the estimated gap. Then
    the Hessian is computed again at the present weights.
    """
    steps = 0
    before = np.inf
    while True:
        found = lbfgs(objective, B, root, tol, min(STEPS_PER_HESSIAN, max_iter - steps))
        steps += found.steps
        B = found.B
        done = found.converged and found.steps <= FEW_STEPS
        stuck = not found.converged and not found.value < before
        if done or stuck or steps >= max_iter or objective.separated(found.value):
            return replace(found, steps=steps)
        before = found.value
        root = Root.of(rows.curved(B)[2], objective.contrasts)


def gap_at(objective: Softmax, B: np.ndarray) -> float:
    """An estimate of the distance of f(B) from its minimum, relative to f(B).

    With few weights, it uses the Hessian of a sample of the rows. Otherwise it is a lower bound:
    the gain g²/2L of the best step in one weight, where g is its gradient and L = ½ Σ w z² + λ.
    """
    value, gradient = objective.value(B)
    if not value > 0:
        return 0.0
    if objective.shape[0] * objective.contrasts.shape[0] <= CHEAP_WEIGHTS:
        rows = subsample(objective, 4096, np.random.default_rng(SAMPLE_SEED))
        root = Root.of(rows.curved(B)[2], objective.contrasts)
        return root.gap(root.slope(gradient)) / value
    most = np.append(0.5 * column_squares(objective) + objective.penalty, 0.5 * objective.mass)
    gain = 0.5 * gradient**2 / np.where(most > 0, most, np.inf)[:, None]
    return float(gain.max()) / value


def _pays(n: int, p: int) -> bool:
    """Whether a Hessian is worth its cost. With fewer rows than weights, passes are cheaper."""
    return p <= CHEAP_WEIGHTS or n >= p


def _curvatures(objective: Softmax) -> np.ndarray:
    """(d + 1,) square roots of the Hessian's diagonal at B = 0 (equal posteriors)."""
    share = 1.0 / objective.classes
    diagonal = share * (1 - share) * np.append(column_squares(objective), objective.mass)
    diagonal[:-1] += objective.penalty
    return np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
