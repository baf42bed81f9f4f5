"""QDA is better than LDA if the covariances differ enough and there are enough rows.

    LDA:  K d + d(d + 1)/2 + K − 1 parameters,   QDA:  K d + K d(d + 1)/2 + K − 1 parameters

LDA assumes one covariance for all classes (homoscedasticity). If that is false, its error has a
limit above the smallest possible error. QDA has no such limit, but it has more parameters, so it
needs more rows. The more the covariances differ, the fewer rows QDA needs to be the better one.
Reference: Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §4.3.

    python -m examples.lessons qda_lda
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import BLUE, QUIET, RED
from verosim import LDA, QDA, diagnose
from verosim.theory import parameter_counts

SIZE = (9.4, 3.5)  # of the picture, in inches
COLUMNS = 6
SHIFT = np.full(COLUMNS, 0.6)  # between the means
ROWS = (10, 20, 40, 80, 160, 320)  # of each class
SPREADS = {
    "equal": 1.0,
    "a little different": 1.6,
    "very different": 3.0,
}  # σ²_1/σ²_0, or 1 over it
REPEATS = 12
FRESH = 2_000  # test rows of each class
MODELS = {"LDA": LDA(), "QDA": QDA()}
LOOKS = {"LDA": (BLUE, "o", "-"), "QDA": (RED, "s", (0, (5, 1.5)))}


@dataclass(frozen=True)
class Lesson:
    """Errors on new rows: by the covariances and the model, (REPEATS, sizes) each."""

    errors: dict[tuple[str, str], np.ndarray]
    best: dict[str, float]  # the error of the true densities
    p_values: dict[str, float]  # of Box's M, with the most rows

    def mean(self, spread: str, model: str) -> np.ndarray:
        """(sizes,) the mean error."""
        return self.errors[spread, model].mean(axis=0)

    def gain(self, spread: str) -> tuple[np.ndarray, np.ndarray]:
        """(sizes,) the error of LDA minus that of QDA, and its standard error."""
        gap = self.errors[spread, "LDA"] - self.errors[spread, "QDA"]
        return gap.mean(axis=0), gap.std(axis=0, ddof=1) / np.sqrt(REPEATS)

    def first(self, spread: str) -> int | None:
        """The smallest number of rows of each class with which QDA has the smaller error."""
        better = self.gain(spread)[0] > 0
        return ROWS[int(better.argmax())] if better.any() else None

    def __str__(self) -> str:
        counts = parameter_counts(COLUMNS, 2, n_rows=2 * ROWS[-1])
        lines = [
            f"parameters: LDA {counts['LDA']}, QDA {counts['QDA']}, kNN {counts['kNN']:,} with "
            f"{2 * ROWS[-1]} rows",
            f"{'covariances':<20} {'rows of each class':>18}"
            + "".join(f"{n:>7}" for n in ROWS)
            + f"  {'best':>6}",
        ]
        for spread in SPREADS:
            for model in MODELS:
                errors = "".join(f"{error:>7.1%}" for error in self.mean(spread, model))
                lines.append(f"{spread:<20} {model:>18}{errors}  {self.best[spread]:>6.1%}")
        for spread, p in self.p_values.items():
            first = self.first(spread)
            lines.append(
                f"{spread}: Box's M has p {'< 0.001' if p < 0.001 else f'= {p:.2f}'}; "
                + (f"QDA is better from {first} rows" if first else "LDA is better")
            )
        return "\n".join(lines)


def covariances(factor: float) -> np.ndarray:
    """(2, d) the variances of the two classes: half of the columns grow, half shrink."""
    change = np.where(np.arange(COLUMNS) % 2 == 0, factor, 1 / factor)
    return np.array([np.ones(COLUMNS), change])


def rows(rng: np.random.Generator, n: int, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """n random rows of each class, and their labels."""
    y = np.repeat([0, 1], n)
    noise = rng.standard_normal((2 * n, COLUMNS))
    return noise * np.sqrt(covariances(factor))[y] + np.outer(y, SHIFT), y


def learn() -> Lesson:
    """Fit LDA and QDA to more and more rows, and test them on new rows."""
    rng = np.random.default_rng(0)
    errors = {(s, m): np.empty((REPEATS, len(ROWS))) for s in SPREADS for m in MODELS}
    best, p_values = {}, {}
    for spread, factor in SPREADS.items():
        fresh, truth = rows(rng, FRESH, factor)
        variances = covariances(factor)
        means = np.outer([0, 1], SHIFT)
        away = (fresh[:, None] - means) ** 2 / variances + np.log(variances)
        best[spread] = float((away.sum(axis=2).argmin(axis=1) != truth).mean())
        for r in range(REPEATS):
            for i, n in enumerate(ROWS):
                X, y = rows(rng, n, factor)
                for name, model in MODELS.items():
                    wrong = model.fit(X, y).predict(fresh) != truth
                    errors[spread, name][r, i] = wrong.mean()
        p_values[spread] = diagnose(LDA().fit(X, y))["Box's M"][0].p_value
    return Lesson(errors, best, p_values)


def draw(found: Lesson, figure: Any) -> None:
    panels = figure.subplots(1, 3, sharey=True)
    for ax, spread in zip(panels, SPREADS, strict=True):
        for model, (colour, marker, dash) in LOOKS.items():
            mean = found.mean(spread, model)
            ax.plot(ROWS, mean, color=colour, marker=marker, ls=dash, ms=5, label=model)
            spreads = found.errors[spread, model].std(axis=0)
            ax.fill_between(ROWS, mean - spreads, mean + spreads, color=colour, alpha=0.13, lw=0)
        ax.axhline(found.best[spread], color=QUIET, lw=1.0, ls=(0, (2, 2)), label="true densities")
        ax.set(xscale="log", xlabel="rows of each class", title=f"covariances: {spread}")
        ax.set_xticks(ROWS, [str(n) for n in ROWS])
        ax.minorticks_off()
    panels[0].set(ylabel="error on new rows", ylim=(0, None))
    panels[0].yaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
    panels[0].legend(loc="lower left")


SPANISH = {
    "LDA": "LDA",
    "QDA": "QDA",
    "true densities": "densidades verdaderas",
    "rows of each class": "filas de cada clase",
    "error on new rows": "error en filas nuevas",
    "covariances: equal": "covarianzas: iguales",
    "covariances: a little different": "covarianzas: algo distintas",
    "covariances: very different": "covarianzas: muy distintas",
}
