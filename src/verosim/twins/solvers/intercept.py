"""The free intercept: the best value for given weights, and an α that bounds the minimum.

    b* = argmin_b Σ cᵢ ℓ(mᵢ + tᵢ b),   D(α) ≤ P* needs Σ αᵢ tᵢ = 0

The loss is convex and piecewise linear or quadratic in b, so b* is computed exactly. For the hinge
it is a weighted quantile of the kinks, and for its square it is found by Newton's method in a
bracket. Reference: Platt (1998), Sequential minimal optimization, for the constraint on α.
"""

from __future__ import annotations

import numpy as np

from verosim.twins.solvers.margin import Margin

EVEN = 1e-14  # the two classes are balanced if |Σ α t| is at most this share of Σ α
TRIES = 100  # largest number of Newton steps; a few are usually enough


def best_shift(problem: Margin, m: np.ndarray) -> float:
    """argmin_b Σ c ℓ(m + t b) for margins m (n,); 0 if it is one of several minima."""
    return _quadratic(problem, m) if problem.squared else _linear(problem, m)


def _linear(problem: Margin, m: np.ndarray) -> float:
    kinks = problem.signs * (1.0 - m)  # the values of b at which a row reaches its margin
    order = np.argsort(kinks)
    kinks, rises = kinks[order], problem.cost[order]
    slope = np.cumsum(rises) - float(problem.cost[problem.signs > 0].sum())  # (n,) after each kink
    level = EVEN * float(rises.sum())
    first = int(np.searchsorted(slope, -level))  # first kink with slope zero
    last = min(int(np.searchsorted(slope, level, side="right")), len(kinks) - 1)  # last such kink
    if kinks[first] <= 0.0 <= kinks[last]:
        return 0.0
    return 0.5 * float(kinks[first] + kinks[last])


def _quadratic(problem: Margin, m: np.ndarray) -> float:
    heavy = 2.0 * problem.cost
    b, low, high = 0.0, -np.inf, np.inf
    for _ in range(TRIES):
        left = np.maximum(1.0 - m - b * problem.signs, 0.0)
        alpha = heavy * left
        pull = float(alpha @ problem.signs)  # minus the slope
        if abs(pull) <= EVEN * float(alpha.sum()):
            break
        low, high = (b, high) if pull > 0.0 else (low, b)
        step = b + pull / float(heavy @ (left > 0.0))
        if not low < step < high:
            step = 0.5 * (low + high)
            if not low < step < high:  # adjacent numbers: rounding stops the search
                break
        b = step
    return b


def balanced(problem: Margin, alpha: np.ndarray) -> np.ndarray:
    """(n,) an α with Σ α t = 0 close to the given α, which is within its bounds.

    Each α moves in proportion to its distance from its bounds, which changes D little. If this is
    not enough, the α of the class with the larger sum are scaled down.
    """
    sign = problem.signs
    alpha = np.maximum(alpha, 0.0)  # a solver may leave it below 0 by a rounding error
    for _ in range(3):  # repeated because of rounding errors
        over = float(alpha @ sign)
        total = float(alpha.sum())
        if abs(over) <= EVEN * total:
            break
        room = alpha if problem.squared else np.minimum(alpha, problem.cost - alpha)
        share = over / max(float(room.sum()), np.finfo(float).tiny)
        if abs(share) < 1.0:
            alpha = alpha - share * sign * room
        else:
            heavier = sign * over > 0.0
            alpha = np.where(heavier, alpha * ((total - abs(over)) / (total + abs(over))), alpha)
    return alpha


def lower_bound(problem: Margin, alpha: np.ndarray) -> float:
    """D at the balanced α, which is a lower bound of the minimum."""
    alpha = balanced(problem, alpha)
    return problem.dual(alpha, problem.combined(alpha))
