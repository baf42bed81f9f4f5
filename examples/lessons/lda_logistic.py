"""LDA implies a logistic posterior. If LDA is correct, logistic regression has the same weights.

    p(1 | x) = σ(aᵀx + b),   a = Σ⁻¹(μ_1 − μ_0),
    b = ½(μ_0ᵀΣ⁻¹μ_0 − μ_1ᵀΣ⁻¹μ_1) + log(π_1/π_0)

If the classes are Gaussian with one covariance, the difference of the two estimates of a decreases
like 1/√n. Otherwise the two have different limits, because logistic regression assumes less.
Reference: Efron (1975), The efficiency of logistic regression compared to normal discriminant
analysis.

    python -m examples.lessons lda_logistic
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import (
    BLUE,
    QUIET,
    RED,
    draw_line,
    draw_rows,
    gaussian,
    plain_numbers,
    plane,
)
from verosim import LDA, LogisticRegression

SIZE = (9.4, 3.7)  # of the picture, in inches
COVARIANCE = np.array([[1.0, 0.5], [0.5, 1.5]])
MEANS = np.array([[-0.8, 0.3], [0.8, -0.3]])
AWAY = np.array([6.0, 3.0])  # the shift of a fifth of class 1, if the class has two groups
SIZES = (100, 400, 1_600, 6_400, 25_600)
REPEATS = 20
WORLDS = {"Gaussian classes": False, "one class in two groups": True}


def rows(rng: np.random.Generator, n: int, groups: bool) -> tuple[np.ndarray, np.ndarray]:
    """n rows of two equally probable classes; with `groups`, a fifth of class 1 is shifted."""
    y = rng.integers(0, 2, n)
    X = gaussian(rng, n, [0, 0], COVARIANCE) + MEANS[y]
    X[(y == 1) & (rng.random(n) < 0.2) & groups] += AWAY
    return X, y


def closed_form(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """a and b of two classes by the formulas above, with maximum-likelihood estimates."""
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    share = np.array([(y == k).mean() for k in (0, 1)])
    apart = X - means[y]
    inverse = np.linalg.inv(apart.T @ apart / len(X))
    half = np.array([m @ inverse @ m for m in means]) / 2
    return inverse @ (means[1] - means[0]), float(half[0] - half[1] + np.log(share[1] / share[0]))


@dataclass(frozen=True)
class World:
    """The results for one distribution of rows, and the fits on the largest number of rows."""

    between: np.ndarray  # (sizes,) mean ‖a_LDA − a_logistic‖/‖a‖
    lda: LDA
    logistic: LogisticRegression
    errors: list[float]  # of the two models on new rows
    X: np.ndarray  # (n, 2) some rows for the picture
    y: np.ndarray


@dataclass(frozen=True)
class Lesson:
    worlds: dict[str, World]
    truth: np.ndarray  # (2,) a of the Gaussian classes
    off: np.ndarray  # (2, sizes) mean ‖a_fit − a‖/‖a‖ of LDA and of logistic regression
    formula: float  # largest difference between the weights of LDA and the closed form

    def __str__(self) -> str:
        lda, logistic = self.off
        gaussian, groups = (world.between for world in self.worlds.values())
        lines = [
            f"The weights of LDA equal the closed form within {max(self.formula, 1e-12):.0e}",
            f"Distance between weights, relative to ‖a‖, mean of {REPEATS} samples",
            f"{'':>8}  {'Gaussian classes':^35}   {'two groups':>11}",
            f"{'rows':>8}  {'LDA–truth':>11} {'logit–truth':>11} {'LDA–logit':>11}"
            f"   {'LDA–logit':>11}",
        ]
        for i, n in enumerate(SIZES):
            lines.append(
                f"{n:>8,}  {lda[i]:>11.3f} {logistic[i]:>11.3f} {gaussian[i]:>11.3f}"
                f"   {groups[i]:>11.3f}"
            )
        for name, world in self.worlds.items():
            a, b = (np.round(model.coef_[0], 2) for model in (world.lda, world.logistic))
            lines.append(
                f"{name}: LDA ({a[0]:.2f}, {a[1]:.2f}) with error {world.errors[0]:.1%}, "
                f"logistic regression ({b[0]:.2f}, {b[1]:.2f}) with error {world.errors[1]:.1%}"
            )
        return "\n".join(lines)


def learn() -> Lesson:
    """Fit both models on the same samples, without a penalty, because LDA has none."""
    truth = np.linalg.solve(COVARIANCE, MEANS[1] - MEANS[0])
    norm = np.linalg.norm(truth)
    off = np.zeros((2, len(SIZES)))
    formula, worlds = 0.0, {}
    for name, groups in WORLDS.items():
        between = np.zeros(len(SIZES))
        for s, n in enumerate(SIZES):
            for repeat in range(REPEATS):
                X, y = rows(np.random.default_rng([n, repeat]), n, groups)
                lda, logistic = LDA().fit(X, y), LogisticRegression(C=np.inf).fit(X, y)
                a, b = lda.coef_[0], logistic.coef_[0]
                between[s] += np.linalg.norm(a - b) / norm / REPEATS
                if not groups:
                    off[:, s] += np.linalg.norm([a - truth, b - truth], axis=1) / norm / REPEATS
            weights, bias = closed_form(X, y)
            formula = max(formula, np.abs(a - weights).max(), abs(lda.intercept_[0] - bias))
        fresh, kinds = rows(np.random.default_rng(0), 100_000, groups)
        errors = [float((m.predict(fresh) != kinds).mean()) for m in (lda, logistic)]
        worlds[name] = World(between, lda, logistic, errors, fresh[:400], kinds[:400])
    return Lesson(worlds, truth, off, formula)


def draw(found: Lesson, figure: Any) -> None:
    curve, *planes = figure.subplots(1, 3)
    looks = ((BLUE, "o", "-"), (RED, "s", (0, (4, 1.5))))
    for (name, world), (colour, marker, dash) in zip(found.worlds.items(), looks, strict=True):
        curve.loglog(SIZES, world.between, color=colour, marker=marker, ms=4, ls=dash, label=name)
    first = found.worlds["Gaussian classes"].between[0]
    guide = first * 0.6 * np.sqrt(SIZES[0] / np.array(SIZES))
    curve.loglog(SIZES, guide, color=QUIET, lw=0.8, ls=":", label="slope of $1/\\sqrt{n}$")
    curve.set(xlabel="rows", title="$‖a_{LDA} − a_{logistic}‖ / ‖a‖$", box_aspect=1)
    plain_numbers(curve.xaxis)
    plain_numbers(curve.yaxis)
    curve.legend(loc="lower left")
    for ax, (name, world) in zip(planes, found.worlds.items(), strict=True):
        draw_rows(ax, world.X, world.y, s=9, alpha=0.6)
        for model, label, how in (
            (world.logistic, "logistic regression", {"color": "black", "lw": 1.4}),
            (world.lda, "LDA", {"color": RED, "lw": 1.8, "ls": (0, (3, 2))}),
        ):
            draw_line(ax, model.coef_[0], model.intercept_[0], label=label, **how)
        plane(ax, (-4.2, 9.2), (-5.7, 7.7))
        ax.set_title(name)
    planes[0].legend(loc="lower right")


SPANISH = {
    "Gaussian classes": "clases gaussianas",
    "one class in two groups": "una clase en dos grupos",
    "logistic regression": "regresión logística",
    "{logistic}": "{logística}",
    "slope of": "pendiente de",
    "LDA": "LDA",
    "rows": "filas",
}
