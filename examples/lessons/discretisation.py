"""Discretisation: a histogram per column follows any shape, a Gaussian per column needs fewer rows.

    p(x_i | k) = φ_ib / width_b,   φ_ib = (n_ibk + α) / (n_k + α B)    histogram with B bins
    p(x_i | k) = N(x_i; μ_ik, σ²_ik)                                   Gaussian

The histogram has B − 1 numbers per column and class, the Gaussian has two. If the columns are
Gaussian, the histogram needs more rows for the same error. If two classes have the same mean and
variance, the Gaussian cannot distinguish them with any number of rows.
Reference: Dougherty, Kohavi & Sahami (1995), Supervised and unsupervised discretization of
continuous features, Proceedings of ICML.

    python -m examples.lessons discretisation
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from examples.lessons.style import BLUE, CLASSES, GREEN, QUIET, RED, plain_numbers
from verosim import GaussianNB, HistogramNB, cross_validate

SIZE = (9.8, 3.3)  # of the picture, in inches
D = 3  # columns of the simulated rows, all alike
PEAK = 0.93  # the distance of the two peaks from 0
SIZES = (24, 48, 100, 300, 1_000, 3_000)
REPEATS, TEST = 12, 2_000
MODELS = {
    "Gaussian": GaussianNB(),
    "6 bins": HistogramNB(bins=6),
    "24 bins": HistogramNB(bins=24),
}
WORLDS = ("Gaussian columns", "two peaks")


def rows(rng: np.random.Generator, n: int, world: str) -> tuple[np.ndarray, np.ndarray]:
    """n rows. With two peaks, both classes have the mean 0 and the variance 1 in every column."""
    y = np.arange(n) % 2
    X = rng.standard_normal((n, D))
    if world == "Gaussian columns":
        return X + 0.8 * (2 * y[:, None] - 1), y
    peaks = PEAK * rng.choice([-1, 1], (n, D)) + np.sqrt(1 - PEAK**2) * X
    return np.where(y[:, None] == 0, X, peaks), y


@dataclass(frozen=True)
class Lesson:
    X: np.ndarray  # (n, d) rows with two peaks
    y: np.ndarray
    error: dict[str, dict[str, np.ndarray]]  # by world and model, (sizes,) mean of the repeats
    real: dict[str, float]  # by model, on the breast cancer data

    def __str__(self) -> str:
        lines = [
            f"error on new rows, {D} columns   mean of {REPEATS} samples",
            f"{'':>6}  {WORLDS[0]:^28}   {WORLDS[1]:^28}",
            f"{'rows':>6}" + 2 * (" " + "".join(f"{name:>10}" for name in MODELS)),
        ]
        for s, n in enumerate(SIZES):
            cells = ["".join(f"{e[s]:>10.1%}" for e in self.error[w].values()) for w in WORLDS]
            lines.append(f"{n:>6} {cells[0]} {cells[1]}")
        real = ", ".join(f"{name} {error:.1%}" for name, error in self.real.items())
        return "\n".join([*lines, f"breast cancer, 30 columns: {real}"])


def learn() -> Lesson:
    """Errors for growing numbers of rows in two simulated worlds, and on real columns."""
    error = {world: {name: np.zeros(len(SIZES)) for name in MODELS} for world in WORLDS}
    for world in WORLDS:
        fresh, truth = rows(np.random.default_rng(1), TEST, world)
        for s, n in enumerate(SIZES):
            for repeat in range(REPEATS):
                X, y = rows(np.random.default_rng([n, repeat]), n, world)
                for name, model in MODELS.items():
                    wrong = np.mean(model.fit(X, y).predict(fresh) != truth)
                    error[world][name][s] += wrong / REPEATS
    X, y = load_breast_cancer(return_X_y=True)
    real = {
        name: 1 - float(cross_validate(model, X, y).mean("accuracy"))
        for name, model in MODELS.items()
    }
    return Lesson(*rows(np.random.default_rng(0), SIZES[-1], "two peaks"), error, real)


def draw(found: Lesson, figure: Any) -> None:
    shape, *curves = figure.subplots(1, 3, width_ratios=[1.2, 1, 1])
    histogram, gaussian = (
        model.fit(found.X, found.y) for model in (HistogramNB(bins=24), GaussianNB())
    )
    at = np.linspace(-3, 3, 400)
    steps, moments = histogram.learned("x0"), gaussian.learned("x0").values
    for k, (name, (colour, _)) in enumerate(zip(("one peak", "two peaks"), CLASSES, strict=False)):
        mean, deviation = moments[k]
        height = np.exp(-(((at - mean) / deviation) ** 2) / 2) / deviation / np.sqrt(2 * np.pi)
        shape.stairs(steps.values[k], steps.edges, color=colour, fill=True, alpha=0.2)
        shape.stairs(steps.values[k], steps.edges, color=colour, label=name)
        label = "their Gaussians" if k else None
        shape.plot(at, height, color=colour, ls=("--", ":")[k], label=label)
    shape.set(xlim=(-3, 3), ylim=(0, 0.85), yticks=[], xlabel="$x_1$")
    shape.set_title("$p(x_1 \\mid k)$ with two peaks")
    shape.legend(loc="upper left", ncols=3, columnspacing=1, handlelength=1.4)
    looks = ((BLUE, "o", "--"), (RED, "s", "-"), (GREEN, "^", "-"))
    for ax, world in zip(curves, WORLDS, strict=True):
        for name, (colour, marker, dash) in zip(MODELS, looks, strict=True):
            how = {"color": colour, "marker": marker, "ls": dash, "ms": 4, "label": name}
            ax.semilogx(SIZES, found.error[world][name], **how)
        ax.set(xlabel="rows", title=f"error, {world}", ylim=(0, 0.56))
        ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        plain_numbers(ax.xaxis)
        ax.axhline(0.5, color=QUIET, lw=0.8, ls=":")
    curves[0].legend(loc="center right")


SPANISH = {
    "$p(x_1 \\mid k)$ with two peaks": "$p(x_1 \\mid k)$ con dos máximos",
    "one peak": "un máximo",
    "two peaks": "dos máximos",
    "their Gaussians": "sus gaussianas",
    "Gaussian": "gaussiana",
    "6 bins": "6 intervalos",
    "24 bins": "24 intervalos",
    "rows": "filas",
    "error, Gaussian columns": "error, columnas gaussianas",
    "error, two peaks": "error, dos máximos",
}
