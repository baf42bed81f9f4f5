"""An interior-point method for the hinge, where rows are many and columns few.

    w = Σ αᵢ tᵢ x̃ᵢ,   mᵢ + ξᵢ − sᵢ = 1,   sᵢ αᵢ = ξᵢ (cᵢ − αᵢ) = μ → 0,   all of them above zero
    (J + Σ x̃ᵢ x̃ᵢᵀ / δᵢ) Δw = Σ qᵢ tᵢ x̃ᵢ / δᵢ − (Jw − Σ αᵢ tᵢ x̃ᵢ),   δ = s/α + ξ/(c − α)

ξ is what a row lacks of its margin and s what it has beyond it. Steps are Newton's on these
equations, with Mehrotra's prediction of the next μ; their systems are of the size of w. J is the
identity, with 0 for a free intercept: then the first equation is Σ αᵢ tᵢ = 0 in its last place.
Reference: Ferris & Munson (2002), Interior-point methods for massive support vector machines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from verosim.twins.solvers.intercept import lower_bound
from verosim.twins.solvers.margin import Margin, Solution, solving

STEP_TO_BOUNDARY = 0.995  # how far towards zero a step may go
DIVERGED_GAP = 10.0  # a gap this much wider than the best: rounding has taken over
STEPS_WITHOUT_PROGRESS = 20  # steps without a narrower gap, which say the same of a free intercept


def interior(problem: Margin, tol: float, rounds: int) -> Solution:
    """Until the gap is below tol · objective, or the rounds run out, or rounding stops it."""
    point = _Point(problem)
    best = Solution(point.w, np.inf, np.inf, 0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is lost is not kept
        for made in range(rounds + 1):
            objective = problem.primal(point.w, point.m)
            gap = objective - point.bound()
            if gap < best.gap:
                best = Solution(point.w, objective, gap, made)
            lost = not gap <= DIVERGED_GAP * best.gap  # or not a number
            if problem.free:  # the bound is loose until Σ α t is next to zero
                lost = np.isnan(gap) or made > best.rounds + STEPS_WITHOUT_PROGRESS
            if gap <= tol * objective or made == rounds or lost or not point.move():
                break
    return best


class _Step(NamedTuple):
    w: np.ndarray  # (d + 1,)
    m: np.ndarray  # (n,), and so are the others
    alpha: np.ndarray
    slack: np.ndarray
    surplus: np.ndarray


class _Point:
    """A point with 0 < α < c, and ξ and s above zero."""

    def __init__(self, problem: Margin) -> None:
        n, p = problem.size
        self.problem = problem
        self.w, self.m = np.zeros(p), np.zeros(n)
        self.price = problem.price
        self.alpha = 0.5 * problem.cost
        self.rest = problem.cost - self.alpha  # c − α, kept beside α for its digits
        self.slack, self.surplus = np.full(n, 2.0), np.ones(n)  # ξ and s
        self.off = -problem.combined(self.alpha)  # (d + 1,) Jw − Σ α t x̃

    def bound(self) -> float:
        """A value that the minimum is not below."""
        if self.problem.free:
            return lower_bound(self.problem, np.clip(self.alpha, 0.0, self.problem.cost))
        return self.problem.dual(self.alpha, self.w - self.off)

    def move(self) -> bool:
        """One step; False where rounding leaves none."""
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
        """The step to sα = low and ξ(c − α) = high, to first order."""
        short, over = low - self.surplus * self.alpha, high - self.slack * self.rest
        q = self.missing + short / self.alpha - over / self.rest
        w = self.solve(self.problem.combined(q / self.delta) - self.off)
        m = self.problem.margins(w)
        alpha = (q - m) / self.delta
        slack = (over + self.slack * alpha) / self.rest
        return _Step(w, m, alpha, slack, (short - self.surplus * alpha) / self.alpha)

    def _room(self, step: _Step) -> float:
        """How many such steps it takes until something is zero."""
        fastest = max(
            float((-step.alpha / self.alpha).max()),
            float((step.alpha / self.rest).max()),
            float((-step.slack / self.slack).max()),
            float((-step.surplus / self.surplus).max()),
        )
        return 1.0 / fastest if fastest > 0.0 else np.inf

    def _mean(self, step: _Step | None = None, t: float = 0.0) -> float:
        """μ here, or after t of a step."""
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
