"""The perceptron ends only if a line separates the classes; otherwise its mean is more stable.

    t θᵀφ ≤ 0:  θ ← θ + t φ;   J = −Σ_{mistakes} t θᵀφ;   mistakes in all ≤ (R/γ)²

Here φ = (x, 1), ‖φ‖ ≤ R, and γ is the margin with which a unit vector θ separates the classes.
Reference: Novikoff (1962), On convergence proofs for perceptrons.

    python -m examples.lessons perceptron
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import RED, draw_line, draw_rows, plane
from verosim import ConvergenceWarning, LinearSVM, Perceptron

SIZE = (9.0, 5.2)  # of the picture, in inches
EPOCHS = 60
LATE = slice(EPOCHS // 2, None)  # the epochs in which the mean is stable
MEAN = np.array([1.2, 0.8])


def rows(n: int, spread: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes on opposite sides of the origin, in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], n))
    noise = rng.standard_normal((2 * n, 2))
    return spread * noise + np.where(y[:, None] == 1, MEAN, -MEAN), y


@dataclass(frozen=True)
class Course:
    """The boundaries and errors of a perceptron after each epoch."""

    model: Perceptron
    lines: np.ndarray  # (epochs, 3) w and b after each epoch
    errors: np.ndarray  # (epochs,) on new rows

    @property
    def wobble(self) -> float:
        """Standard deviation of the direction of the boundary in the last half, in degrees."""
        turn = np.unwrap(2 * np.arctan2(self.lines[:, 1], self.lines[:, 0])) / 2
        return float(np.degrees(turn[LATE].std()))


@dataclass(frozen=True)
class Lesson:
    parted: tuple[np.ndarray, np.ndarray]
    mixed: tuple[np.ndarray, np.ndarray]
    ended: Perceptron
    bound: float  # (R/γ)²
    last: Course
    mean: Course

    def __str__(self) -> str:
        ended, cycling = self.ended, self.last.model
        lines = [
            f"separable: converged_ = {ended.converged_} after {ended.n_iter_} epochs with "
            f"{ended.mistakes_.tolist()} mistakes",
            f"           {ended.mistakes_.sum()} in total; at most (R/γ)² = {self.bound:,.0f}",
            f"not separable: converged_ = {cycling.converged_} after {EPOCHS} epochs; mistakes per "
            f"epoch {cycling.mistakes_.min()} to {cycling.mistakes_.max()}, "
            f"criterion {cycling.criterion_.min():.0f} to {cycling.criterion_.max():.0f}",
            f"{'epochs ' + str(EPOCHS // 2 + 1) + ' to ' + str(EPOCHS):<18} "
            f"{'error on new rows':^24} {'direction':>11}",
        ]
        for name, course in (("last θ", self.last), ("mean of θ", self.mean)):
            late = course.errors[LATE]
            lines.append(
                f"{name:<18} {late.mean():>6.1%} ({late.min():.1%} to {late.max():.1%}) "
                f"{course.wobble:>8.2f}° sd"
            )
        return "\n".join(lines)


def learn() -> Lesson:
    """Fit separable rows once, and follow θ and its mean over the epochs on other rows."""
    X, y = parted = rows(40, 0.7, seed=20)
    ended = Perceptron(shuffle=False).fit(X, y)
    # The bound of the perceptron includes the intercept in ‖θ‖, so the penalty includes it too.
    widest = LinearSVM(C=1e4, loss="hinge", penalize_intercept=True).fit(X, y)
    norm = np.hypot(np.linalg.norm(widest.coef_), widest.intercept_[0])
    reach = np.sqrt((X**2).sum(axis=1) + 1).max()
    mixed = rows(100, 1.6, seed=3)
    fresh = rows(20_000, 1.6, seed=4)
    last, mean = (_course(mixed, fresh, averaged) for averaged in (False, True))
    return Lesson(parted, mixed, ended, float((reach * norm) ** 2), last, mean)


def _course(learnt: Any, fresh: Any, averaged: bool) -> Course:
    model = Perceptron(averaged=averaged, shuffle=False)
    lines, errors = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the lesson shows this
        for _ in range(EPOCHS):
            model.partial_fit(*learnt)
            lines.append([*model.coef_[0], model.intercept_[0]])
            errors.append((model.predict(fresh[0]) != fresh[1]).mean())
    return Course(model, np.array(lines), np.array(errors))


def draw(found: Lesson, figure: Any) -> None:
    upper, lower = figure.subplots(2, 3, width_ratios=(1, 1.1, 1.1))
    ended, cycling = found.ended, found.last.model
    draw_rows(upper[0], *found.parted)
    draw_line(upper[0], ended.coef_[0], ended.intercept_[0], color="black")
    plane(upper[0], (-3.4, 3.4), (-3.0, 3.0))
    upper[0].set_title("separable: learning ends")
    epochs = np.arange(1, ended.n_iter_ + 1)
    _per_epoch(upper[1], epochs, ended.criterion_, "criterion $J$, 0 at the end", marker="o")
    _per_epoch(upper[2], epochs, ended.mistakes_, "mistakes, 0 at the end", marker="o")

    draw_rows(lower[0], *found.mixed, s=9, alpha=0.6)
    for w1, w2, b in found.last.lines[-12:]:
        draw_line(lower[0], np.array([w1, w2]), b, color=RED, lw=0.7, alpha=0.6)
    w1, w2, b = found.mean.lines[-1]
    draw_line(lower[0], np.array([w1, w2]), b, color="black", lw=2.0)
    plane(lower[0], (-6.2, 6.2), (-5.5, 5.5))
    lower[0].set_title("not separable: it does not end")
    epochs = np.arange(1, EPOCHS + 1)
    _per_epoch(lower[1], epochs, cycling.criterion_, "criterion $J$, never 0")
    _per_epoch(lower[2], epochs, 100 * found.last.errors, "error on new rows, %", label="last θ")
    lower[2].plot(epochs, 100 * found.mean.errors, color="black", lw=2.0, label="mean of θ")
    lower[2].legend(loc="lower right")


def _per_epoch(ax: Any, epochs: np.ndarray, values: np.ndarray, title: str, **how: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.plot(epochs, values, color=RED, lw=1.2, ms=4, clip_on=False, **how)
    ax.set(xlabel="epoch", ylim=(0, 1.05 * values.max()))
    ax.set_title(title)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))


SPANISH = {
    "separable: learning ends": "separables: el aprendizaje termina",
    "not separable: it does not end": "no separables: nunca termina",
    "criterion $J$, 0 at the end": "criterio $J$, 0 al final",
    "criterion $J$, never 0": "criterio $J$, nunca 0",
    "mistakes, 0 at the end": "errores, 0 al final",
    "error on new rows, %": "error en filas nuevas, %",
    "last θ": "último θ",
    "mean of θ": "media de θ",
    "epoch": "época",
}
