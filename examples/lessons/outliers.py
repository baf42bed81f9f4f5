"""LDA is not robust to gross errors of measurement; a robust fit repairs it.

    d²(x, k) = (x − μ_k)ᵀ Σ⁻¹ (x − μ_k),   robust: μ_k and Σ of the rows near the majority

A decimal point in the wrong place changes 4.5 cm into 45 cm. A few such rows move the means and
increase the covariance, so their own distances become small (masking). Distances from a robust fit
show them clearly. Errors in x also mislead logistic regression.
Reference: Rousseeuw & Van Zomeren (1990), Unmasking multivariate outliers and leverage points.

    python -m examples.lessons outliers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2
from sklearn.datasets import load_iris

from examples.lessons.style import QUIET, RED, plain_numbers
from verosim import LDA, LogisticRegression, diagnose, plot_boundary
from verosim.validate import Diagnosis

SIZE = (9.8, 3.5)  # of the picture, in inches
COUNTS = (0, 1, 2, 4, 8)  # rows with a typing error
SLIP = 10  # a decimal point one place too far to the right
TRAINING = 100  # rows; the other 50 are correct and test the models
BOX = ((0.0, 8.0), (-0.5, 3.2))
MODELS = {
    "LDA": LDA(),
    "LDA, robust": LDA(robust=True),
    "logistic regression": LogisticRegression(),
}


@dataclass(frozen=True)
class Lesson:
    X: np.ndarray  # (100, 4) the training rows, with 8 typing errors
    y: np.ndarray  # (100,)
    wrong: np.ndarray  # (8,) the numbers of the rows with an error
    correct: np.ndarray  # (100, 4) the training rows without errors
    plain: LDA
    robust: LDA
    errors: dict[str, list[float]]  # on the test rows, by the number of typing errors
    findings: dict[str, Diagnosis]

    @property
    def cut(self) -> float:
        """The distance that 97.5 % of a Gaussian class do not exceed."""
        return float(np.sqrt(chi2.ppf(0.975, self.X.shape[1])))

    def distances(self, model: LDA) -> np.ndarray:
        """(100,) the Mahalanobis distance of each row to the mean of its own class."""
        return model.mahalanobis(self.X)[np.arange(len(self.y)), self.y]

    def __str__(self) -> str:
        lines = [
            f"error on {150 - TRAINING} correct rows, by the typing errors in {TRAINING} rows",
            f"{'':<20}" + "".join(f"{n:>7}" for n in COUNTS),
        ]
        for name, errors in self.errors.items():
            lines.append(f"{name:<20}" + "".join(f"{error:>7.0%}" for error in errors))
        for name, model in (("LDA", self.plain), ("LDA, robust", self.robust)):
            far = self.distances(model)[self.wrong]
            lines.append(
                f"{name}: {(far > self.cut).sum()} of {len(far)} errors have a distance above "
                f"{self.cut:.1f}; their distances are {far.min():.0f} to {far.max():.0f}"
            )
        for name, found in self.findings.items():
            values = ", ".join(f"{one.value:.1f} ({_p(one.p_value)})" for one in found["kurtosis"])
            lines.append(f"kurtosis {name}: {values}")
        return "\n".join(lines)


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2f}"


def learn() -> Lesson:
    """Make typing errors in the training rows of iris, and fit each model to them."""
    rng = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    order = rng.permutation(len(y))
    train, test = order[:TRAINING], order[TRAINING:]
    wrong = rng.choice(TRAINING, COUNTS[-1], replace=False)
    cells = rng.integers(0, X.shape[1], COUNTS[-1])
    errors: dict[str, list[float]] = {name: [] for name in MODELS}
    for count in COUNTS:
        typed = X[train].copy()
        typed[wrong[:count], cells[:count]] *= SLIP
        for name, model in MODELS.items():
            model.fit(typed, y[train])
            errors[name].append(float((model.predict(X[test]) != y[test]).mean()))
    plain, robust = LDA().fit(typed, y[train]), LDA(robust=True).fit(typed, y[train])
    findings = {
        "without errors": diagnose(LDA().fit(X[train], y[train]), X[train], y[train]),
        "with 8 errors": diagnose(plain, typed, y[train]),
        "with 8 errors, robust": diagnose(robust, typed, y[train]),
    }
    return Lesson(typed, y[train], wrong, X[train], plain, robust, errors, findings)


def draw(found: Lesson, figure: Any) -> None:
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 1.15))
    for ax, model, name in ((left, found.plain, "LDA"), (middle, found.robust, "LDA, robust")):
        error = found.errors[name][-1]
        plot_boundary(
            model, found.correct, found.y, (2, 3), box=BOX, level=0.9, regions=False,
            ellipses=model is found.robust, ax=ax,
        )  # fmt: skip
        ax.plot(*model.means_[:, 2:].T, "P", color="black", ms=8, mec="white", zorder=6)
        ax.get_legend().remove()
        ax.set(title=f"{name}: error {error:.0%}", xlabel="petal length (cm)")
        ax.set_ylabel("petal width (cm)")
    x, y = found.distances(found.plain), found.distances(found.robust)
    right.plot(x, y, "o", color=QUIET, ms=4, alpha=0.6, label="correct rows")
    right.plot(x[found.wrong], y[found.wrong], "X", color=RED, ms=8, mec="white",
               label="typing errors")  # fmt: skip
    for line in (right.axhline, right.axvline):
        line(found.cut, color="black", lw=0.9, ls=(0, (4, 2)))
    right.set(xscale="log", yscale="log", xlim=(0.07, 12), ylim=(0.3, 400))
    right.set(xlabel="distance, LDA", ylabel="distance, robust")
    right.set_title("distance to the own class")
    plain_numbers(right.xaxis)
    plain_numbers(right.yaxis)
    right.legend(loc="upper left")


SPANISH = {
    "LDA, robust": "LDA robusto",
    "LDA": "LDA",
    "error": "error",
    "petal length (cm)": "largo del pétalo (cm)",
    "petal width (cm)": "ancho del pétalo (cm)",
    "correct rows": "filas correctas",
    "typing errors": "errores de digitación",
    "distance, LDA": "distancia, LDA",
    "distance, robust": "distancia, robusto",
    "distance to the own class": "distancia a la propia clase",
}
