"""L-BFGS in coordinates where the Hessian is nearly the identity.

    u = Rβ with RᵀR ≈ ∇²f,   ∇_u f = R⁻ᵀ∇f,   f(β) − min f ≈ ½ ‖∇_u f‖²

R comes from the Hessian of a sample of the rows, whose error of order √(p/m) is the factor by which
each gradient of all the rows then shrinks the distance; or, where there are too many weights for
that, from its diagonal. The steps are scipy's.
Reference: Nocedal & Wright (2006), Numerical optimization, §7.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from verosim.twins.solvers.newton import OBJECTIVE_ROUNDING, Minimum
from verosim.twins.solvers.softmax import Softmax

MEMORY = 10  # pairs of steps and slopes kept
QUICK_PACE = 0.05  # share of the gap that steps in good coordinates leave, at most
CAUTION = 10  # the intercepts' curvature may be so much less than where all is equally probable
WINDOW = 10  # iterations over which the pace of descent is read


class Coordinates(Protocol):
    """u, in which a solver works, and B."""

    def slope(self, gradient: np.ndarray) -> np.ndarray: ...
    def step(self, u: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Diagonal:
    """u = S β: each column in units of its own curvature, all classes alike."""

    scale: np.ndarray  # (d + 1,)

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        return (gradient / self.scale[:, None]).ravel()

    def step(self, u: np.ndarray) -> np.ndarray:
        return u.reshape(len(self.scale), -1) / self.scale[:, None]


class Descent:
    """What L-BFGS sees: f about its start, in units that make the first slope one, so that its
    first step, which scipy cuts to length one, is a full one."""

    def __init__(
        self, objective: Softmax, B: np.ndarray, coordinates: Coordinates, path: list[float]
    ) -> None:
        self.objective, self.start, self.coordinates = objective, B, coordinates
        self.sharp = not isinstance(coordinates, Diagonal)
        self.first, gradient = objective.value(B)
        self.slope = coordinates.slope(gradient)
        self.length = float(np.linalg.norm(self.slope)) or 1.0
        self.best, self.at = self.first, np.zeros_like(self.slope)
        self.path = [*path, self.first]
        self.squares = [0.5 * float(self.slope @ self.slope)]
        self.steps = 0

    def __call__(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        if self.steps == 0 and not u.any():
            return 0.0, self.slope / self.length
        B = self.start + self.coordinates.step(u * self.length)
        value, gradient = self.objective.value(B)
        self.seen = value, self.coordinates.slope(gradient), u.copy()
        return (value - self.first) / self.length**2, self.seen[1] / self.length

    def advance(self, tol: float, _: np.ndarray) -> None:
        """After each step scipy takes: stop once the gap is small enough."""
        self.best, self.slope, self.at = self.seen
        self.path.append(self.best)
        self.squares.append(0.5 * float(self.slope @ self.slope))
        self.steps += 1
        if self.gap <= tol * self.best or self.objective.separated(self.best):
            raise StopIteration

    @property
    def gap(self) -> float:
        """f(B) − min f, about.

        Where R is known well, ½ ‖∇_u f‖²; and as B takes one more step from there (below), if the
        last two left little of it, four times what another such step leaves. By the diagonal
        alone, what is left to descend if the pace of the last iterations holds: Δ r/(1 − r), r the
        share of the last window's descent in that of the one before it, taken with care.
        """
        path, squares = self.path, self.squares
        if self.sharp:
            if len(squares) < 3 or not all(squares[-3:]):
                return squares[-1]
            share = max(squares[-1] / squares[-2], squares[-2] / squares[-3])
            return squares[-1] * (4 * share if share <= QUICK_PACE else 1.0)
        bound = self._bound()
        if len(path) <= 2 * WINDOW:
            return bound
        last, before = path[-1 - WINDOW] - path[-1], path[-1 - 2 * WINDOW] - path[-1 - WINDOW]
        share = min(max(last / before, 0.8), 0.98) if before > 0 else 0.8
        return min(last * share / (1 - share), bound)

    def _bound(self) -> float:
        """f − min f is at most ‖∇f‖²/2λ, the intercepts' part of it by their own curvature."""
        if not self.squares[-1] > 0:
            return 0.0
        penalty = self.objective.penalty
        if not isinstance(self.coordinates, Diagonal) or not penalty > 0:
            return float("inf")
        scale = self.coordinates.scale
        slope = self.slope.reshape(len(scale), -1) ** 2  # of u
        weights = float((slope[:-1] * scale[:-1, None] ** 2).sum())
        return 0.5 * weights / penalty + CAUTION * 0.5 * float(slope[-1].sum())

    @property
    def B(self) -> np.ndarray:
        """The best point; where R is known well, a Newton step beyond it, which needs no pass."""
        u = self.at * self.length
        return self.start + self.coordinates.step(u - self.slope if self.sharp else u)


def lbfgs(
    objective: Softmax, B: np.ndarray, coordinates: Coordinates, tol: float, max_iter: int
) -> Minimum:
    """Minimise from B until the gap is tol · f."""
    steps = 0
    path: list[float] = []
    while True:
        run = Descent(objective, B, coordinates, path)
        if objective.separated(run.first):
            return Minimum(B, run.first, run.first, max(steps, 1), False)
        if run.gap > tol * run.first and max_iter > steps:
            minimize(
                run, run.at, jac=True, method="L-BFGS-B",
                callback=partial(Descent.advance, run, tol),
                options={"maxiter": max_iter - steps, "maxfun": 20 * max_iter, "maxcor": MEMORY,
                         "maxls": 40, "ftol": 0.0, "gtol": 0.0},
            )  # fmt: skip
        steps += run.steps
        done = run.gap <= max(tol, OBJECTIVE_ROUNDING) * run.best
        # A line search that rounding stopped begins anew from there, without its memory.
        if done or run.steps <= 1 or steps >= max_iter or objective.separated(run.best):
            gap = run.gap
            run.sharp = run.sharp and done  # a step too far, where the slope is still steep
            value = run.best - run.squares[-1] if run.sharp else run.best
            return Minimum(run.B, value, gap, max(steps, 1), done)
        run.sharp = False
        B, path = run.B, run.path
