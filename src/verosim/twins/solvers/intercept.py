"""The free intercept: the best one for given weights, and an α that bounds the minimum.

    b* = argmin_b Σ cᵢ ℓ(mᵢ + tᵢ b),   D(α) ≤ P* needs Σ αᵢ tᵢ = 0

The loss is convex and piecewise linear or quadratic in b, so b* is exact: a weighted quantile of
the kinks for the hinge, Newton's method between brackets for its square. Reference: Platt (1998),
Sequential minimal optimization, on the constraint that a free intercept puts on α.
"""

from __future__ import annotations

import numpy as np

from verosim.twins.solvers.margin import Margin

EVEN = 1e-14  # share of Σ α to which the two sides are equal
TRIES = 100  # steps of Newton's method, of which it takes a few


def best_shift(problem: Margin, m: np.ndarray) -> float:
    """argmin_b Σ c ℓ(m + t b) of margins m (n,); 0 where it is among the best."""
    return _quadratic(problem, m) if problem.squared else _linear(problem, m)


def _linear(problem: Margin, m: np.ndarray) -> float:
    kinks = problem.signs * (1.0 - m)  # where a row enters or leaves its margin
    order = np.argsort(kinks)
    kinks, rises = kinks[order], problem.cost[order]
    slope = np.cumsum(rises) - float(problem.cost[problem.signs > 0].sum())  # (n,) behind a kink
    level = EVEN * float(rises.sum())
    first = int(np.searchsorted(slope, -level))  # the kinks of the best b, from here …
    last = min(int(np.searchsorted(slope, level, side="right")), len(kinks) - 1)  # … to here
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
            if not low < step < high:  # neighbours: rounding decides
                break
        b = step
    return b


def balanced(problem: Margin, alpha: np.ndarray) -> np.ndarray:
    """(n,) an α with Σ α t = 0 next to one within its bounds.

    Those between their bounds move, at little cost, as far as these are away; where they are not
    enough, the heavier side is scaled down.
    """
    sign = problem.signs
    for _ in range(3):  # the second time for rounding
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
    """D at the balanced α: the minimum is not below it."""
    alpha = balanced(problem, alpha)
    return problem.dual(alpha, problem.combined(alpha))
