"""The finite Newton method for the squared hinge, for many rows and few columns.

    H = J + 2 Σ_{i: mᵢ < 1} cᵢ x̃ᵢ x̃ᵢᵀ,   w ← w − t H⁻¹∇P(w),   t = argmin_t P

P is piecewise quadratic. Each step goes to the minimum of the present piece, with an exact line
search. After a few steps the piece is the one with the minimum of P. At αᵢ = 2cᵢ max(0, 1 − mᵢ) the
duality gap is ½ ‖∇P‖². J is the identity matrix, with 0 for a free intercept. The best free
intercept is computed before each step, so that the derivative Σ αᵢ tᵢ with respect to it is zero.
Reference: Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large
scale linear SVMs.
"""

from __future__ import annotations

import numpy as np

from verosim.engines.threads import LEAST_CELLS_FOR_THREADS
from verosim.twins.solvers.intercept import best_shift
from verosim.twins.solvers.margin import Margin, Solution, solving

FLAT = 1e-3  # the line search ends if the slope is at most this share of the first slope


def finite_newton(
    problem: Margin, tol: float, rounds: int, start: np.ndarray | None = None
) -> Solution:
    """Minimise from `start` (d + 1,) or zero until the gap is below tol · objective.

    It also stops after `rounds` steps, or if rounding errors prevent progress.
    """
    n, p = problem.size
    w = np.zeros(p) if start is None else start
    m, cost, price = problem.margins(w), problem.cost, problem.price
    best = Solution(w, np.inf, np.inf, 0)
    aim = 0.0 if n * p <= LEAST_CELLS_FOR_THREADS else tol  # small problems: up to rounding
    for made in range(rounds + 1):
        if problem.free:
            shift = best_shift(problem, m)
            w, m = np.append(w[:-1], w[-1] + shift), m + shift * problem.signs
        alpha = 2.0 * cost * np.maximum(1.0 - m, 0.0)
        gradient = price * w - problem.combined(alpha)
        objective, gap = problem.primal(w, m), 0.5 * float(gradient @ gradient)
        stuck = objective >= best.objective
        if not stuck or gap < best.gap:
            best = Solution(w, objective, gap, made)
        if gap <= aim * objective or stuck or made == rounds:
            break
        H = problem.gram(np.where(m < 1.0, 2.0 * cost, 0.0))
        H.flat[:: p + 1] += price
        if H[-1, -1] == 0.0:  # no row is inside the margin, so the intercept does not change
            H[-1, -1] = 1.0
        step = -solving(H)(gradient)
        along = problem.margins(step)
        t = _best_length(problem, w, step, m, along)
        w, m = w + t * step, m + t * along
    return best


def _best_length(
    problem: Margin, w: np.ndarray, step: np.ndarray, m: np.ndarray, along: np.ndarray
) -> float:
    """argmin_t P(w + t · step), by Newton's method on the slope, which is piecewise linear."""
    start, curve = float((problem.price * w) @ step), float((problem.price * step) @ step)
    heavy = 2.0 * problem.cost * along
    first = abs(start - float(heavy @ np.maximum(1.0 - m, 0.0)))
    t, low, high = 1.0, 0.0, np.inf
    for _ in range(50):
        left = np.maximum(1.0 - m - t * along, 0.0)
        slope = start + t * curve - float(heavy @ left)
        if abs(slope) <= FLAT * first:
            break
        low, high = (t, high) if slope < 0.0 else (low, t)
        bend = curve + float((heavy * along) @ (left > 0.0))
        t = t - slope / bend if bend > 0.0 else np.inf  # the squares of short steps can be zero
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return t
