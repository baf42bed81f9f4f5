"""Far points change the boundary of least squares, but not that of logistic regression.

    for t = 1:  (t − wᵀx)² increases for wᵀx > 1,   log(1 + exp(−t wᵀx)) decreases to 0

This happens even if the far points are on the correct side. LDA changes too: the far rows move a
mean and increase the covariance. For two classes, the boundary of LDA always has the direction of
least squares. The robust estimate of LDA ignores the far rows.
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.1.3, figure 4.4.

    python -m examples.lessons far_points
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import DARK, PINK, RED, draw_line, draw_rows, gaussian, plane
from verosim import LDA, LeastSquares, LogisticRegression

SIZE = (7.6, 4.2)  # of the picture, in inches
MODELS = {
    "least squares": LeastSquares(),
    "LDA": LDA(),
    "LDA, robust": LDA(robust=True),
    "logistic regression": LogisticRegression(),
}
LOOKS = {
    "least squares": {"color": RED, "ls": "-", "lw": 2.6},
    "LDA": {"color": DARK, "ls": (0, (1, 1.5)), "lw": 1.8},
    "LDA, robust": {"color": PINK, "ls": (0, (4, 2)), "lw": 1.6},
    "logistic regression": {"color": "black", "ls": "-", "lw": 1.6},
}
COVARIANCE = [[1.0, 0.6], [0.6, 1.0]]
MEANS = ([-0.9, 0.9], [0.9, -0.9])


@dataclass(frozen=True)
class Fit:
    """A boundary wᵀx + b = 0, and the share of new rows on its wrong side."""

    w: np.ndarray  # (2,)
    b: float
    error: float

    @property
    def angle(self) -> float:
        """Degrees from the first axis, in [0, 180)."""
        return float(np.degrees(np.arctan2(-self.w[0], self.w[1])) % 180)


@dataclass(frozen=True)
class Lesson:
    X: np.ndarray  # (n, 2), the far rows last
    y: np.ndarray  # (n,)
    far: int
    without: dict[str, Fit]
    with_far: dict[str, Fit]

    def turned(self, name: str) -> float:
        """The angle in degrees by which the far rows rotate a boundary."""
        by = abs(self.with_far[name].angle - self.without[name].angle)
        return min(by, 180 - by)

    def __str__(self) -> str:
        lines = [
            f"{len(self.y) - self.far} rows without and with {self.far} far rows on the correct "
            "side",
            f"{'':<20} {'angle of the boundary':^26}   {'error on new rows':^19}",
            f"{'':<20} {'without':>8} {'with':>8} {'change':>8}   {'without':>9} {'with':>9}",
        ]
        for name, before in self.without.items():
            after = self.with_far[name]
            lines.append(
                f"{name:<20} {before.angle:>7.1f}° {after.angle:>7.1f}° {self.turned(name):>7.1f}°"
                f"   {before.error:>9.1%} {after.error:>9.1%}"
            )
        return "\n".join(lines)


def learn() -> Lesson:
    """Fit each model with and without the far rows, and test it on rows that are not far."""
    rng = np.random.default_rng(4)
    near = np.vstack([gaussian(rng, 60, mean, COVARIANCE) for mean in MEANS])
    far = gaussian(rng, 15, [7, -9], 0.25 * np.eye(2))
    fresh = np.vstack([gaussian(rng, 20_000, mean, COVARIANCE) for mean in MEANS])
    X, y = np.vstack([near, far]), np.repeat([0, 1, 1], [60, 60, 15])
    truth = np.repeat([0, 1], 20_000)

    def fits(n: int) -> dict[str, Fit]:
        found = {}
        for name, model in MODELS.items():
            model.fit(X[:n], y[:n])
            error = float((model.predict(fresh) != truth).mean())
            found[name] = Fit(model.coef_[0], float(model.intercept_[0]), error)
        return found

    return Lesson(X, y, len(far), fits(len(near)), fits(len(X)))


def draw(found: Lesson, figure: Any) -> None:
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    n = len(found.y) - found.far
    for ax, fits, rows, title in (
        (left, found.without, n, "without far points"),
        (right, found.with_far, len(found.y), f"with {found.far} far points on the correct side"),
    ):
        draw_rows(ax, found.X[:rows], found.y[:rows])
        for name, fit in fits.items():
            draw_line(ax, fit.w, fit.b, label=name, **LOOKS[name])
        plane(ax, (-5.2, 9.2), (-10.6, 4.6))
        ax.set_title(title)
    left.legend(loc="lower left")


SPANISH = {
    "without far points": "sin puntos lejanos",
    "with 15 far points on the correct side": "con 15 puntos lejanos en el lado correcto",
    "least squares": "mínimos cuadrados",
    "LDA": "LDA",
    "LDA, robust": "LDA robusto",
    "logistic regression": "regresión logística",
}
