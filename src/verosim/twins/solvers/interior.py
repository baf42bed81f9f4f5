"""An interior-point method for the hinge, for many rows and few columns.

    w = Σ αᵢ tᵢ x̃ᵢ,   mᵢ + ξᵢ − sᵢ = 1,   sᵢ αᵢ = ξᵢ (cᵢ − αᵢ) = μ → 0,   all of them above zero
    (J + Σ x̃ᵢ x̃ᵢᵀ / δᵢ) Δw = Σ qᵢ tᵢ x̃ᵢ / δᵢ − (Jw − Σ αᵢ tᵢ x̃ᵢ),   δ = s/α + ξ/(c − α)

Here ξ is the distance by which a row is inside its margin, and s the distance by which it is
outside. The steps are Newton steps for these equations, with Mehrotra's prediction of the next μ.
Each step solves a system of the size of w. J is the identity, with 0 for a free intercept; then the
last component of the first equation is Σ αᵢ tᵢ = 0.
Reference: Ferris & Munson (2002), Interior-point methods for massive support vector machines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from verosim.twins.solvers.intercept import lower_bound
from verosim.twins.solvers.margin import Margin, Solution, solving

STEP_TO_BOUNDARY = 0.995  # share of the distance to the boundary that a step may go
DIVERGED_GAP = 10.0  # if the gap is this many times the best one, rounding errors dominate
STEPS_WITHOUT_PROGRESS = 20  # steps without a smaller gap after which a free intercept stops


def interior(problem: Margin, tol: float, rounds: int) -> Solution:
    """Minimise until the gap is below tol · objective, for at most `rounds` steps.

    It also stops if rounding errors prevent progress.
    """
    point = _Point(problem)
    best = Solution(point.w, np.inf, np.inf, 0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # such points are dropped
        for made in range(rounds + 1):
            objective = problem.primal(point.w, point.m)
            gap = objective - point.bound()
            if gap < best.gap:
                best = Solution(point.w, objective, gap, made)
            lost = not gap <= DIVERGED_GAP * best.gap  # also True for nan
            if problem.free:  # the bound is weak until Σ α t is almost zero
                lost = np.isnan(gap) or made > best.rounds + STEPS_WITHOUT_PROGRESS
            if gap <= tol * objective or made == rounds or lost or not point.move():
                break
    return best


class _Step(NamedTuple):
    w: np.ndarray  # (d + 1,)
    m: np.ndarray  # (n,), as all arrays below
    alpha: np.ndarray
    slack: np.ndarray
    surplus: np.ndarray


class _Point:
    """The present point, with 0 < α < c, ξ > 0 and s > 0."""

    def __init__(self, problem: Margin) -> None:
        n, p = problem.size
        self.problem = problem
        self.w, self.m = np.zeros(p), np.zeros(n)
        self.price = problem.price
        self.alpha = 0.5 * problem.cost
        self.rest = problem.cost - self.alpha  # c − α, stored for precision
        self.slack, self.surplus = np.full(n, 2.0), np.ones(n)  # ξ and s
        self.off = -problem.combined(self.alpha)  # (d + 1,) Jw − Σ α t x̃

    def bound(self) -> float:
        """A lower bound of the minimum."""
        if self.problem.free:
            return lower_bound(self.problem, np.clip(self.alpha, 0.0, self.problem.cost))
        return self.problem.dual(self.alpha, self.w - self.off)

    def move(self) -> bool:
        """Make one step; False if rounding errors prevent it."""
        self.delta = self.surplus / self.alpha + self.slack / self.rest
        self.missing = 1.0 - self.m - self.slack + self.surplus
        H = self.problem.gram(1.0 / self.delta)
        H.flat[:: len(H) + 1] += self.price
        if not np.isfinite(H).all():
            return False
        self.solve = solving(H)
        guess = self._towards(0.0, 0.0)
        t = min(1.0, self._room(guess))
        now, then = self._mean(), self._mean(guess, t)
        mu = now * (then / now) ** 3
        step = self._towards(mu - guess.alpha * guess.surplus, mu + guess.alpha * guess.slack)
        self._go(step, min(1.0, STEP_TO_BOUNDARY * self._room(step)))
        return True

    def _towards(self, low: np.ndarray | float, high: np.ndarray | float) -> _Step:
        """The step that gives sα = low and ξ(c − α) = high, to first order."""
        short, over = low - self.surplus * self.alpha, high - self.slack * self.rest
        q = self.missing + short / self.alpha - over / self.rest
        w = self.solve(self.problem.combined(q / self.delta) - self.off)
        m = self.problem.margins(w)
        alpha = (q - m) / self.delta
        slack = (over + self.slack * alpha) / self.rest
        return _Step(w, m, alpha, slack, (short - self.surplus * alpha) / self.alpha)

    def _room(self, step: _Step) -> float:
        """The multiple of the step at which the first variable becomes zero."""
        fastest = max(
            float((-step.alpha / self.alpha).max()),
            float((step.alpha / self.rest).max()),
            float((-step.slack / self.slack).max()),
            float((-step.surplus / self.surplus).max()),
        )
        return 1.0 / fastest if fastest > 0.0 else np.inf

    def _mean(self, step: _Step | None = None, t: float = 0.0) -> float:
        """μ at this point, or after t times a step."""
        if step is None:
            total = self.surplus @ self.alpha + self.slack @ self.rest
        else:
            total = (self.surplus + t * step.surplus) @ (self.alpha + t * step.alpha)
            total += (self.slack + t * step.slack) @ (self.rest - t * step.alpha)
        return float(total) / (2 * len(self.m))

    def _go(self, step: _Step, t: float) -> None:
        self.w, self.m = self.w + t * step.w, self.m + t * step.m
        self.off = (1.0 - t) * self.off
        self.alpha, self.rest = self.alpha + t * step.alpha, self.rest - t * step.alpha
        self.slack, self.surplus = self.slack + t * step.slack, self.surplus + t * step.surplus
