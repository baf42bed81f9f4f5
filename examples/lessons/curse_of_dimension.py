"""The curse of dimensionality: a joint histogram needs B^d·m rows, naive Bayes only B·m.

    cells: B^d (joint), d·B (naive Bayes)      rows per cell: n/B^d (joint), n/B (naive Bayes)

Each row fills one cell of the joint histogram, but one bin of every column for naive Bayes. So n =
B·m rows put m rows into each bin of each column, whatever the number of columns is. A joint cell
then contains m/B^(d−1) rows on average.
Reference: Bellman (1961), Adaptive Control Processes: A Guided Tour; Bishop (2006), Pattern
Recognition and Machine Learning, §1.4.

    python -m examples.lessons curse_of_dimension
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from examples.lessons.style import BLUE, DARK, QUIET, RED, plain_numbers
from verosim import HistogramNB, JointHistogram
from verosim.theory import rows_for_histogram

SIZE = (9.4, 3.5)  # of the picture, in inches
BINS, PER_CELL = 4, 10
COLUMNS = [22, 27, 20, 7, 23, 6, 3, 2]  # of the breast cancer data: a good column first


@dataclass(frozen=True)
class Step:
    """The two models of the first d columns."""

    d: int
    cells: int  # B^d
    occupied: int  # the cells that contain a row
    fewest: int  # the rows of the emptiest bin of naive Bayes
    unseen: float  # share of the test rows in a cell without training rows
    errors: tuple[float, float]  # on test rows: joint histogram, naive Bayes

    def rows(self, naive: bool, delta: float | None = None) -> int:
        return rows_for_histogram(self.d, BINS, PER_CELL, naive=naive, delta=delta)


@dataclass(frozen=True)
class Lesson:
    n: int
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.n} rows, {BINS} bins of equal counts per column, {PER_CELL} rows per cell",
            f"{'':>7} {'cells':^16} {'rows per cell':^16} {'rows needed':^16} {'unseen':^7} "
            f"{'error':^14}",
            f"{'columns':>7} {'joint':>8} {'filled':>7} {'joint':>8} {'naive':>7} {'joint':>8} "
            f"{'naive':>7} {'cells':>7} {'joint':>7} {'naive':>6}",
        ]
        for step in self.steps:
            joint, naive = step.errors
            lines.append(
                f"{step.d:>7} {step.cells:>8,} {step.occupied:>7} {self.n / step.cells:>8.2f} "
                f"{self.n / BINS:>7.1f} {step.rows(False):>8,} {step.rows(True):>7} "
                f"{step.unseen:>7.1%} {joint:>7.1%} {naive:>6.1%}"
            )
        return "\n".join(lines)


def learn() -> Lesson:
    """Fit both models on growing sets of columns, and test them on the other half of the rows."""
    X, y = load_breast_cancer(return_X_y=True)
    half = np.arange(len(y)) % 2 == 0
    steps = []
    for d in range(1, len(COLUMNS) + 1):
        own = X[:, COLUMNS[:d]]
        joint, naive = (model(bins=BINS).fit(own, y) for model in (JointHistogram, HistogramNB))
        bins = [naive.learned(f"x{j}").counts.sum(axis=0) for j in range(d)]
        errors, unseen = np.zeros(2), 0.0
        for train in (half, ~half):
            for i, model in enumerate((JointHistogram(bins=BINS), HistogramNB(bins=BINS))):
                model.fit(own[train], y[train])
                errors[i] += np.sum(model.predict(own[~train]) != y[~train]) / len(y)
                if i == 0:
                    places = [
                        np.searchsorted(edges[1:-1], own[:, j], side="right")
                        for j, edges in enumerate(model.bin_edges_)
                    ]
                    cell = np.ravel_multi_index(places, [BINS] * d)
                    unseen += np.sum(~np.isin(cell[~train], cell[train])) / len(y)
        fewest = int(min(counts.min() for counts in bins))
        steps.append(
            Step(d, joint.n_cells_, joint.n_occupied_, fewest, unseen, (errors[0], errors[1]))
        )
    return Lesson(len(y), tuple(steps))


def draw(found: Lesson, figure: Any) -> None:
    need, wrong = figure.subplots(1, 2)
    columns = [step.d for step in found.steps]
    joint = [step.rows(naive=False) for step in found.steps]
    naive = [step.rows(naive=True) for step in found.steps]
    sure = [step.rows(naive=True, delta=0.05) for step in found.steps]
    need.semilogy(columns, joint, color=RED, marker="s", ms=4, label="joint histogram: $B^d m$")
    need.semilogy(columns, sure, color=BLUE, ls="--", lw=1, label="naive Bayes, all cells, 95 %")
    need.semilogy(columns, naive, color=BLUE, marker="o", ms=4, label="naive Bayes: $B\\,m$")
    need.axhline(found.n, color=QUIET, lw=0.8)
    need.text(8.1, found.n * 1.2, f"rows of the data: {found.n}", ha="right", color=DARK)
    need.set(xlabel="columns", title="rows needed")
    plain_numbers(need.yaxis)
    need.legend(loc="upper left")
    errors = np.array([step.errors for step in found.steps])
    unseen = [step.unseen for step in found.steps]
    wrong.bar(columns, unseen, color=QUIET, alpha=0.3, label="test rows in a cell without rows")
    wrong.plot(columns, errors[:, 0], color=RED, marker="s", ms=4, label="error, joint histogram")
    wrong.plot(columns, errors[:, 1], color=BLUE, marker="o", ms=4, label="error, naive Bayes")
    wrong.set(xlabel="columns", title="share of test rows", ylim=(0, None))
    wrong.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    wrong.legend(loc="upper left")


SPANISH = {
    "joint histogram: $B^d m$": "histograma conjunto: $B^d m$",
    "naive Bayes: $B\\,m$": "Bayes ingenuo: $B\\,m$",
    "naive Bayes, all cells, 95 %": "Bayes ingenuo, todas las celdas, 95 %",
    "rows of the data": "filas de los datos",
    "columns": "columnas",
    "rows needed": "filas necesarias",
    "test rows in a cell without rows": "filas de prueba en una celda sin filas",
    "error, joint histogram": "error, histograma conjunto",
    "error, naive Bayes": "error, Bayes ingenuo",
    "share of test rows": "proporción de filas de prueba",
}
