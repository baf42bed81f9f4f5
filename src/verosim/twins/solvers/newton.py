"""Newton's method for convex losses, damped so that no step increases the loss.

    step = −H⁻¹∇f,   δ² = ∇fᵀH⁻¹∇f,   f(B) − min f ≈ ½ δ²

The decrement δ does not depend on the units of the columns, so it decides when to stop. H is
factored after its diagonal is scaled to one: H = S L Lᵀ S. In the coordinates u = LᵀS β, H is the
identity. Quasi-Newton methods work best in these coordinates.
Reference: Boyd & Vandenberghe (2004), Convex optimization, §9.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular

from verosim.linalg import EPS
from verosim.twins.solvers.softmax import Softmax

OBJECTIVE_ROUNDING = 1e-13  # relative rounding error of f, from the sums over the rows
SHORTEST = 1e-10  # shortest step, as a share of a full step


@dataclass(frozen=True)
class Minimum:
    """The result of a solver. `gap` estimates the distance of f from its minimum."""

    B: np.ndarray  # (d + 1, K)
    value: float
    gap: float
    steps: int
    converged: bool


@dataclass(frozen=True)
class Root:
    """The factors of H = S L Lᵀ S, for the weights Θ (R, d + 1)."""

    scale: np.ndarray  # (p,)
    lower: np.ndarray  # (p, p)
    contrasts: np.ndarray  # (R, K)

    @classmethod
    def of(cls, H: np.ndarray, contrasts: np.ndarray) -> Root:
        """Factor H. The diagonal of a singular H is raised as little as possible."""
        scale = np.sqrt(np.maximum(H.diagonal(), 0.0))
        scale[scale == 0] = 1.0
        unit = H / scale[:, None] / scale
        lift = 0.0
        while True:
            lower, info = lapack.dpotrf(unit, lower=1, clean=1)
            # A pivot that is only rounding error would give a random step.
            if info == 0 and lower.diagonal().min() ** 2 > 4 * len(H) * EPS:
                return cls(scale, lower, contrasts)
            lift = max(100 * lift, 64 * len(H) * EPS)
            unit.flat[:: len(H) + 1] = 1.0 + lift

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        """∇f (d + 1, K) in the coordinates u (p,)."""
        theta = (self.contrasts @ gradient.T).ravel()
        return solve_triangular(self.lower, theta / self.scale, lower=True, check_finite=False)

    def step(self, u: np.ndarray) -> np.ndarray:
        """The step of B (d + 1, K) that belongs to u (p,)."""
        beta = solve_triangular(self.lower, u, lower=True, trans=1, check_finite=False)
        return (beta / self.scale).reshape(len(self.contrasts), -1).T @ self.contrasts

    def gap(self, slope: np.ndarray) -> float:
        with np.errstate(over="ignore"):  # an infinite gap is not small
            return 0.5 * float(slope @ slope)


def newton(
    objective: Softmax, B: np.ndarray, tol: float, max_iter: int, enough: float = 0.0
) -> tuple[Minimum, Root]:
    """Minimise from B until ½ δ² ≤ max(tol · f, enough); also return the last Hessian's root."""
    value, gradient, H = objective.curved(B)
    steps = 0
    while True:
        root = Root.of(H, objective.contrasts)
        if objective.separated(value):
            return Minimum(B, value, value, max(steps, 1), False), root
        slope = root.slope(gradient)
        gap = root.gap(slope)
        step = -root.step(slope)
        small = gap <= max(tol * value, enough, OBJECTIVE_ROUNDING * value)
        if small and np.isfinite(step).all():
            return Minimum(B + step, value - gap, gap, max(steps, 1), True), root
        if steps >= max_iter:
            return Minimum(B, value, gap, steps, False), root
        steps += 1
        size = 1.0
        trial = objective.curved(B + step)
        while not trial[0] <= value - 2e-4 * size * gap + OBJECTIVE_ROUNDING * value:
            size *= 0.5 if np.isfinite(trial[0]) else 0.01
            if size < SHORTEST:
                return Minimum(B, value, gap, steps, False), root
            trial = (*objective.value(B + size * step), H)
        if size < 1.0:
            trial = objective.curved(B + size * step)
        B = B + size * step
        value, gradient, H = trial
