"""Five classifiers on one picture: four lines, and one curve that keeps all rows.

    least squares  (t − y(x))²           logistic  log(1 + exp(−t y(x)))
    perceptron     max(0, −t y(x))       SVM       max(0, 1 − t y(x)) + ½λ‖a‖²
    kNN            the majority of the k nearest rows

The first four have the same form, y(x) = aᵀx + b with d + 1 numbers, and differ in the loss that
they minimise, for labels t = ±1. The k nearest neighbours keep all d·n numbers of the rows.
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §2.5.2, §4.1, §4.3 and §7.1.

    python -m examples.lessons five_classifiers
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from examples.lessons.style import DARK, GREEN, PINK, RED, draw_line, draw_rows, gaussian, plane
from verosim import ConvergenceWarning, LeastSquares, LinearSVM, LogisticRegression, Perceptron
from verosim.theory import parameter_counts

SIZE = (8.8, 4.5)  # of the picture, in inches
ROWS, FRESH = 120, 10_000
NEIGHBOURS = 7
MODELS: dict[str, Any] = {
    "least squares": LeastSquares(),
    "perceptron": Perceptron(random_state=0),
    "logistic regression": LogisticRegression(),
    "SVM": LinearSVM(loss="hinge"),
    "kNN": KNeighborsClassifier(NEIGHBOURS),
}
LINEAR = tuple(name for name in MODELS if name != "kNN")
LOOKS: dict[str, Any] = {
    "least squares": {"color": RED, "ls": (0, (5, 2))},
    "perceptron": {"color": PINK, "ls": (0, (1, 1.2))},
    "logistic regression": {"color": "black", "ls": "-"},
    "SVM": {"color": DARK, "ls": (0, (6, 1.5, 1, 1.5))},
    "kNN": {"color": GREEN, "ls": "-"},
}
WORLDS = ("two Gaussian classes", "two half moons")


def rows(world: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows of two classes, the same number of each."""
    if world == "two half moons":
        X, y = make_moons(n, noise=0.22, random_state=seed)
        return 1.6 * (X - [0.5, 0.25]), y
    rng = np.random.default_rng(seed)
    covariance = [[1.0, 0.5], [0.5, 0.8]]
    parts = [gaussian(rng, n // 2, mean, covariance) for mean in ([-0.8, 0.5], [0.8, -0.5])]
    return np.vstack(parts), np.repeat([0, 1], n // 2)


@dataclass(frozen=True)
class World:
    """The rows of one panel, and for each model its boundary and its error on new rows."""

    X: np.ndarray  # (n, 2)
    y: np.ndarray
    lines: dict[str, tuple[np.ndarray, float]]  # w and b of the linear models
    knn: np.ndarray  # (steps, steps) share of class 1 among the neighbours, on the grid
    error: dict[str, float]


GRID = np.linspace(-3.4, 3.4, 140)


@dataclass(frozen=True)
class Lesson:
    worlds: dict[str, World]
    numbers: dict[str, int]  # that each model keeps

    def __str__(self) -> str:
        lines = [
            f"{f'{ROWS} rows':<21}{'error on new rows':^44}{'numbers':>8}",
            f"{'':<21}" + "".join(f"{world:>22}" for world in self.worlds) + f"{'kept':>8}",
        ]
        for name in MODELS:
            errors = "".join(f"{world.error[name]:>22.1%}" for world in self.worlds.values())
            lines.append(f"{name:<21}{errors}{self.numbers[name]:>8}")
        return "\n".join(lines)


def learn() -> Lesson:
    """Fit the five models in two worlds."""
    cells = np.stack(np.meshgrid(GRID, GRID), axis=-1).reshape(-1, 2)
    worlds = {}
    for name in WORLDS:
        X, y = rows(name, ROWS, 5)
        fresh, truth = rows(name, FRESH, 6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # no line separates the classes
            fits = {model: fit.fit(X, y) for model, fit in MODELS.items()}
        lines = {model: (fits[model].coef_[0], fits[model].intercept_[0]) for model in LINEAR}
        worlds[name] = World(
            X,
            y,
            lines,
            fits["kNN"].predict_proba(cells)[:, 1].reshape(len(GRID), -1),
            {model: float(np.mean(f.predict(fresh) != truth)) for model, f in fits.items()},
        )
    keeps = dict.fromkeys(MODELS, X.shape[1] + 1)
    keeps["kNN"] = parameter_counts(X.shape[1], 2, n_rows=ROWS)["kNN"]
    return Lesson(worlds, keeps)


def draw(found: Lesson, figure: Any) -> None:
    for ax, (name, world) in zip(figure.subplots(1, 2), found.worlds.items(), strict=True):
        draw_rows(ax, world.X, world.y, s=14)
        for model, (w, b) in world.lines.items():
            draw_line(ax, w, b, label=model, **LOOKS[model])
        colour = LOOKS["kNN"]["color"]
        ax.contour(GRID, GRID, world.knn, levels=[0.5], colors=colour, linewidths=1.8)
        ax.plot([], [], color=colour, lw=1.8, label=f"kNN, k = {NEIGHBOURS}")
        plane(ax, (-3.4, 3.4), (-3.4, 3.4))
        ax.set_title(name)
    figure.legend(
        *ax.get_legend_handles_labels(), loc="outside lower center", ncols=5, handlelength=2.6
    )


SPANISH = {
    "two Gaussian classes": "dos clases gaussianas",
    "two half moons": "dos medias lunas",
    "least squares": "mínimos cuadrados",
    "perceptron": "perceptrón",
    "logistic regression": "regresión logística",
    "SVM": "SVM",
    "kNN": "kNN",
}
