"""A Gaussian density has a centre μ; its covariance Σ gives the size, shape and orientation.

    p(x) = exp(−½ (x − μ)ᵀΣ⁻¹(x − μ)) / ((2π)^(d/2) |Σ|^½),   Σ = V diag(λ) Vᵀ

Points of equal density form an ellipse. Its half-axes have the directions of the eigenvectors v_j
and lengths proportional to √λ_j. The root Σ^½ = V diag(√λ) Vᵀ maps the unit circle to the ellipse
of Mahalanobis distance 1, and rows of N(0, I) to rows of N(0, Σ).
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §2.3, figure 2.7.

    python -m examples.lessons gaussian_densities
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import AMBER, BLUE, DARK, QUIET, RED, plane
from verosim import QDA
from verosim.bayes import Covariance, Ellipse

SIZE = (9.6, 2.75)  # of the picture, in inches
LEVELS = (0.95, 0.8, 0.6, 0.4, 0.2)  # the share of the density inside each ellipse
ROWS = 4_000  # of each class
TURN = np.radians(35)
TURNED = np.array([[np.cos(TURN), -np.sin(TURN)], [np.sin(TURN), np.cos(TURN)]])
GAUSSIANS = {  # μ and Σ
    "left": ([-1.7, -1.0], 0.5 * np.eye(2)),
    "right": ([1.7, 1.0], 0.5 * np.eye(2)),
    "small": ([-2.8, 0.0], 0.12 * np.eye(2)),
    "large": ([0.8, 0.0], 1.08 * np.eye(2)),
    "rising": ([-1.8, 0.0], 0.6 * np.array([[1.0, 0.85], [0.85, 1.0]])),
    "falling": ([1.8, 0.0], 0.6 * np.array([[1.0, -0.85], [-0.85, 1.0]])),
    "rotated": ([0.0, 0.0], TURNED @ np.diag([2.0, 0.4]) @ TURNED.T),
}
PANELS = {  # title → the Gaussians in it
    "centre: two values of $\\mu$": ("left", "right"),
    "size: $\\Sigma$ and $9\\,\\Sigma$": ("small", "large"),
    "correlation: $\\rho = \\pm 0.85$": ("rising", "falling"),
}


@dataclass(frozen=True)
class Lesson:
    """One true and one estimated Gaussian per class."""

    X: np.ndarray  # (n, 2)
    y: np.ndarray  # (n,) names
    model: QDA

    def true(self, name: str) -> Covariance:
        centre, matrix = GAUSSIANS[name]
        return Covariance(np.array(matrix), np.array(centre))

    def angle(self, name: str) -> float:
        """The angle of the longest axis in degrees, in [0, 180)."""
        x1, x2 = self.true(name).axes[:, 0]
        return float(np.degrees(np.arctan2(x2, x1)) % 180)

    def peak(self, name: str) -> float:
        """The largest density: 1/(2π |Σ|^½), at the centre."""
        return float(1 / (2 * np.pi * np.sqrt(self.true(name).eigenvalues.prod())))

    def inside(self, name: str, level: float) -> float:
        """The share of the rows of a class inside the ellipse of the true Gaussian."""
        true = self.true(name)
        radius = Ellipse(true.mean, true.matrix, level).radius
        rows = self.X[self.y == name] - true.mean
        return float((np.linalg.norm(rows @ true.inverse_root, axis=1) <= radius).mean())

    def __str__(self) -> str:
        lines = [
            f"{'':<8} {'λ_1':>5} {'λ_2':>5} {'angle':>6} {'peak':>6}   rows inside the ellipse of "
            + ", ".join(f"{level:.0%}" for level in LEVELS[::2])
        ]
        for name in GAUSSIANS:
            first, second = self.true(name).eigenvalues
            shares = "  ".join(f"{self.inside(name, level):.1%}" for level in LEVELS[::2])
            angle = f"{self.angle(name):.0f}°" if first > 1.001 * second else "–"
            lines.append(
                f"{name:<8} {first:>5.2f} {second:>5.2f} {angle:>6} {self.peak(name):>6.3f}"
                f"   {shares}"
            )
        return "\n".join(lines)


def learn() -> Lesson:
    """Draw rows x = μ + Σ^½ z with z of N(0, I), and estimate each Gaussian from them."""
    rng = np.random.default_rng(0)
    parts = []
    for centre, matrix in GAUSSIANS.values():
        root = Covariance(np.array(matrix), np.array(centre)).root
        parts.append(centre + rng.standard_normal((ROWS, 2)) @ root)
    X, y = np.vstack(parts), np.repeat(list(GAUSSIANS), ROWS)
    return Lesson(X, y, QDA().fit(X, y))


def draw(found: Lesson, figure: Any) -> None:
    *panels, last = figure.subplots(1, 4)
    for ax, (title, names) in zip(panels, PANELS.items(), strict=True):
        for name, colour in zip(names, (BLUE, AMBER), strict=True):
            true = found.true(name)
            for level in LEVELS:
                outline = Ellipse(true.mean, true.matrix, level).points()
                ax.fill(*outline.T, color=colour, alpha=0.16, lw=0)
                ax.plot(*outline.T, color=colour, lw=0.7)
            some = found.X[found.y == name][:90]
            ax.plot(*some.T, ".", color=DARK, ms=1.8, alpha=0.7)
            ax.plot(*true.mean, "+", color="black", ms=7, mew=1.4)
        plane(ax, (-3.9, 3.9), (-3.9, 3.9))
        ax.set_title(title)
    _axes_of(last, found.true("rotated"))


def _axes_of(ax: Any, true: Covariance) -> None:
    """Draw the unit circle, its image under the root, and the half-axes √λ_j v_j."""
    t = np.linspace(0, 2 * np.pi, 200)
    circle = np.column_stack([np.cos(t), np.sin(t)])
    ax.plot(*circle.T, color=QUIET, lw=1.2, ls=(0, (4, 2)))
    ax.fill(*(circle @ true.root).T, color=BLUE, alpha=0.16, lw=0)
    ax.plot(*(circle @ true.root).T, color=BLUE)
    for j, (axis, by) in enumerate(zip(true.axes.T, ((3, 3), (-47, 8)), strict=True)):
        end = np.sqrt(true.eigenvalues[j]) * axis
        ax.annotate(
            "", end, (0, 0),
            arrowprops={"arrowstyle": "-|>", "color": RED, "lw": 1.6, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        ax.annotate(
            f"$\\sqrt{{\\lambda_{j + 1}}}\\,v_{j + 1}$", end, xytext=by,
            textcoords="offset points", color=RED, fontsize=10,
        )  # fmt: skip
    plane(ax, (-2.0, 2.0), (-2.0, 2.0))
    ax.set_title("orientation: the axes of $\\Sigma$")
    ax.text(
        0, -1.9, "$\\Sigma^{1/2}$ maps the dashed circle\nto the ellipse",
        ha="center", va="bottom", fontsize=8, color="#333333",
    )  # fmt: skip


SPANISH = {
    "centre: two values of $\\mu$": "centro: dos valores de $\\mu$",
    "size: $\\Sigma$ and $9\\,\\Sigma$": "tamaño: $\\Sigma$ y $9\\,\\Sigma$",
    "correlation: $\\rho = \\pm 0.85$": "correlación: $\\rho = \\pm 0.85$",
    "orientation: the axes of $\\Sigma$": "orientación: los ejes de $\\Sigma$",
    "$\\Sigma^{1/2}$ maps the dashed circle\nto the ellipse": (
        "$\\Sigma^{1/2}$ lleva el círculo punteado\na la elipse"
    ),
}
