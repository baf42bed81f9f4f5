"""Which solver, and from where: by what a pass and a Hessian cost.

Newton where its Hessians are cheap; otherwise L-BFGS with the Hessian of a sample of the rows for
coordinates, and with its diagonal where there are too many weights even for that.
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

ROWS_PER_SAMPLED_ROW = 32  # one row in so many makes the Hessian of a sample
HESSIAN_WEIGHTS = 2000  # weights above which no Hessian is made
REFUSED_WEIGHTS = 20_000  # weights whose Hessian is refused
COSTLY_WEIGHTS = 600  # weights above which a Hessian costs as much as a hundred passes
FEW_ROWS = 50_000  # up to which passes cost next to nothing
DIAGONAL_STEPS = 300  # steps by the diagonal before the Hessian is made after all
CHEAP_WEIGHTS = 300  # weights whose Hessian costs little however few the rows
STEPS_PER_HESSIAN = 12  # steps before the Hessian of the sample is made anew
FEW_STEPS = 3  # steps to the minimum that show it fitted
SAMPLE_SEED = 0  # of the samples: the same rows, the same answer


@one_blas_thread  # rows are shared out to our threads; BLAS's own would wait for them
def minimise(
    objective: Softmax, solver: str, tol: float, max_iter: int, B: np.ndarray | None = None
) -> Minimum:
    """The minimum from B, or from the generative start."""
    n, (columns, _) = len(objective.codes), objective.shape
    p = columns * objective.contrasts.shape[0]
    top = max(n // ROWS_PER_SAMPLED_ROW, 16 * p if p <= CHEAP_WEIGHTS else 4 * p, 4096)
    rng = np.random.default_rng(SAMPLE_SEED)
    if B is not None:
        B = objective.centred(B)
        if not objective.value(B)[0] <= objective.value(np.zeros(objective.shape))[0]:
            B = None  # weights that say less than none at all are no start
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
                f"Newton's Hessian of {p:,} weights would take {8e-9 * p * p:.0f} GB.",
                'solver="auto" or "lbfgs" does without it.',
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
    """L-BFGS with the Hessian of some of the rows, made anew where it no longer fits: steps that
    contract slowly say so, and their gap is not to be trusted."""
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
    """How far f(B) is above its minimum, relative to it: by the Hessian of a sample of the rows, or
    at least what the best step along one weight would gain, g²/2L with L = ½ Σ w z² + λ."""
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
    """Fewer rows than weights: factoring a Hessian costs more than all the passes."""
    return p <= CHEAP_WEIGHTS or n >= p


def _curvatures(objective: Softmax) -> np.ndarray:
    """(d + 1,) roots of the Hessian's diagonal where all classes are equally probable."""
    share = 1.0 / objective.classes
    diagonal = share * (1 - share) * np.append(column_squares(objective), objective.mass)
    diagonal[:-1] += objective.penalty
    return np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
