"""A linear function measures the signed distance to its boundary.

    y(x) = aᵀx + b,   x = x_⊥ + r a/‖a‖   with   y(x_⊥) = 0   and   r = y(x)/‖a‖

The vector a is normal to the boundary y(x) = 0. Every point of the boundary has the coordinate
−b/‖a‖ along a, which can be negative. The sign of r is the side of the boundary, so it gives the
class, and |r| is the distance to the nearest point of the boundary.
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.1.1, figure 4.1.

    python -m examples.lessons signed_distance
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import (
    BLUE,
    COLOURS,
    DARK,
    GREEN,
    RED,
    draw_line,
    draw_regions,
    gaussian,
    plane,
)
from verosim import LDA

SIZE = (8.4, 4.1)  # of the picture, in inches
BOX = ((-0.9, 5.6), (-0.9, 5.6))
MEANS = ([1.5, 1.4], [3.3, 3.2])
POINTS = np.array([[4.6, 2.9], [-0.2, 2.2]])  # one point on each side, for the second picture


@dataclass(frozen=True)
class Lesson:
    X: np.ndarray  # (n, 2)
    y: np.ndarray  # (n,)
    model: LDA

    @property
    def a(self) -> np.ndarray:
        return self.model.coef_[0]

    @property
    def b(self) -> float:
        return float(self.model.intercept_[0])

    @property
    def unit(self) -> np.ndarray:
        """a/‖a‖."""
        return self.a / np.linalg.norm(self.a)

    @property
    def offset(self) -> float:
        """−b/‖a‖, the coordinate of the boundary along a."""
        return float(-self.b / np.linalg.norm(self.a))

    def foot(self, X: np.ndarray) -> np.ndarray:
        """(n, 2) x_⊥ = x − r a/‖a‖, the nearest points of the boundary."""
        return X - np.outer(self.model.signed_distance(X), self.unit)

    def __str__(self) -> str:
        lines = [
            f"y(x) = {self.a[0]:.3f} x_1 + {self.a[1]:.3f} x_2 − {-self.b:.3f},   "
            f"‖a‖ = {np.linalg.norm(self.a):.3f},   −b/‖a‖ = {self.offset:.3f}",
            f"{'x':<13} {'y(x)':>7} {'r(x)':>7}   {'x_⊥':<13} {'y(x_⊥)':>7}  class",
        ]
        rows = np.vstack([POINTS, [[0.0, 0.0]]])
        feet = self.foot(rows)
        values = (
            self.model.decision_function(rows),
            self.model.signed_distance(rows),
            self.model.decision_function(feet),
            self.model.predict(rows),
        )
        for x, foot, y, r, zero, label in zip(rows, feet, *values, strict=True):
            lines.append(
                f"({x[0]:5.2f},{x[1]:5.2f}) {y:>7.3f} {r:>7.3f}   ({foot[0]:5.2f},{foot[1]:5.2f})"
                f" {abs(zero.round(9)):>7.3f}  {label}"
            )
        return "\n".join(lines)


def learn() -> Lesson:
    """Fit LDA to two classes in the plane."""
    rng = np.random.default_rng(1)
    X = np.vstack([gaussian(rng, 60, mean, [[0.6, -0.1], [-0.1, 0.5]]) for mean in MEANS])
    y = np.repeat(["C1", "C2"], 60)
    return Lesson(X, y, LDA().fit(X, y))


def draw(found: Lesson, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    for ax in (left, right):
        draw_regions(ax, found.model, BOX)
        draw_line(ax, found.a, found.b, color="black", lw=1.6)
        plane(ax, *BOX)
    for k, marker in enumerate("os"):
        own = found.X[found.y == f"C{k + 1}"]
        left.scatter(
            *own.T, color=COLOURS[k], marker=marker, s=16, edgecolors="white", linewidths=0.4,
            label=f"class $C_{k + 1}$",
        )  # fmt: skip
    left.legend(loc="upper right")
    left.set_title("two classes and a linear boundary")

    right.set_title("the geometry of $y(x) = a^\\top x + b$")
    _note(right, (0.0, -found.b / found.a[1]), "$y(x) = 0$", "black", (6, 4))
    right.plot(0, 0, "o", color="black", ms=4)
    _note(right, (0, 0), "$0$", "black", (-10, -10))
    start = found.offset * found.unit
    _arrow(right, (0, 0), start, DARK, "<|-|>")
    _note(right, start / 2, "$-b/‖a‖$", DARK, (6, -9))
    _arrow(right, start, start + 1.1 * found.unit, GREEN, "-|>")
    _note(right, start + 1.1 * found.unit, "$a$", GREEN, (4, 2))
    for x, colour in zip(POINTS, (RED, BLUE), strict=True):
        (foot,), (r,) = found.foot(x[None]), found.model.signed_distance(x[None])
        _arrow(right, foot, x, colour, "-|>")
        right.plot(*foot, "o", color="white", mec=colour, ms=5, zorder=4)
        right.plot(*x, "o", color=colour, ms=5, zorder=4)
        _note(right, x, "$x$", colour, (6, 2) if r > 0 else (-12, -4))
        _note(right, foot, "$x_\\perp$", colour, (-2, -14) if r > 0 else (5, 4))
        _note(right, (x + foot) / 2, f"$r = {r:.2f}$", colour, (-34, 8) if r > 0 else (6, -10))


def _arrow(ax: Any, start: Any, end: Any, colour: str, style: str) -> None:
    how = {"arrowstyle": style, "color": colour, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=how)


def _note(ax: Any, at: Any, text: str, colour: str, by: tuple[int, int]) -> None:
    ax.annotate(text, at, xytext=by, textcoords="offset points", color=colour, fontsize=10)


SPANISH = {
    "class $C_1$": "clase $C_1$",
    "class $C_2$": "clase $C_2$",
    "two classes and a linear boundary": "dos clases y una frontera lineal",
    "the geometry of $y(x) = a^\\top x + b$": "la geometría de $y(x) = a^\\top x + b$",
}
