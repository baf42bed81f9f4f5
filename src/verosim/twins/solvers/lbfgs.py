"""L-BFGS in coordinates in which the Hessian is close to the identity.

    u = Rβ with RᵀR ≈ ∇²f,   ∇_u f = R⁻ᵀ∇f,   f(β) − min f ≈ ½ ‖∇_u f‖²

R comes from the Hessian of m sampled rows. Its relative error is of order √(p/m) for p weights, and
each gradient over all rows reduces the distance by this factor. If there are too many weights for a
Hessian, R comes from its diagonal. scipy makes the steps.
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

MEMORY = 10  # number of stored pairs of steps and gradient changes
QUICK_PACE = 0.05  # largest share of the gap that a step in good coordinates leaves
CAUTION = 10  # the curvature of the intercepts may be this many times smaller than at B = 0
WINDOW = 10  # number of iterations from which the speed of descent is estimated


class Coordinates(Protocol):
    """The change between the weights B and the coordinates u of a solver."""

    def slope(self, gradient: np.ndarray) -> np.ndarray: ...
    def step(self, u: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Diagonal:
    """u = S β: each column is scaled by its own curvature, which is the same for all classes."""

    scale: np.ndarray  # (d + 1,)

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        return (gradient / self.scale[:, None]).ravel()

    def step(self, u: np.ndarray) -> np.ndarray:
        return u.reshape(len(self.scale), -1) / self.scale[:, None]


class Descent:
    """The function that L-BFGS minimises: f relative to its start, with a first slope of norm 1.

    scipy limits its first step to length one. In these units this is a full step.
    """

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
        """Called after each step of scipy: stop if the gap is small enough."""
        self.best, self.slope, self.at = self.seen
        self.path.append(self.best)
        self.squares.append(0.5 * float(self.slope @ self.slope))
        self.steps += 1
        if self.gap <= tol * self.best or self.objective.separated(self.best):
            raise StopIteration

    @property
    def gap(self) -> float:
        """An estimate of f(B) − min f.

        If R is accurate, it is ½ ‖∇_u f‖². Then B makes one more Newton step (see below), so if the
        last two steps reduced the gap quickly, it is four times what such a step leaves. If R is
        only diagonal, it is the remaining descent at the speed of the last iterations, Δ r/(1 − r),
        where Δ is the descent in the last window and r is its ratio to the window before.
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
        """The bound ‖∇f‖²/2λ of f − min f; intercepts use their curvature instead of λ."""
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
        """The best point. If R is accurate, one more Newton step, which needs no pass."""
        u = self.at * self.length
        return self.start + self.coordinates.step(u - self.slope if self.sharp else u)


def lbfgs(
    objective: Softmax, B: np.ndarray, coordinates: Coordinates, tol: float, max_iter: int
) -> Minimum:
    """Minimise from B until the gap is at most tol · f."""
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
        # If rounding errors stopped the line search, restart there without the memory.
        if done or run.steps <= 1 or steps >= max_iter or objective.separated(run.best):
            gap = run.gap
            run.sharp = run.sharp and done  # no extra Newton step while the slope is large
            value = run.best - run.squares[-1] if run.sharp else run.best
            return Minimum(run.B, value, gap, max(steps, 1), done)
        run.sharp = False
        B, path = run.B, run.path
