"""Few rows or many: the generative model is better first, the discriminative one at the end.

    naive Bayes: near its limit after about log d rows
    logistic regression: near its (lower) limit after about d rows

Naive Bayes with one variance per column and logistic regression have the same form, a linear
function of x. If the columns of a class depend on each other, naive Bayes has a higher limit, so
the two learning curves cross.
Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers: a comparison of
logistic regression and naive Bayes, Advances in Neural Information Processing Systems 14.

    python -m examples.lessons few_rows
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from examples.lessons.style import BLUE, RED, gaussian
from verosim import LogisticRegression, NaiveLDA, compare
from verosim.twins import Comparison

SIZE = (9.8, 3.4)  # of the picture, in inches
REPEATS = 12
NAIVE, LOGISTIC = "naive Bayes", "logistic regression"
MODELS = {NAIVE: NaiveLDA(floor=0.1), LOGISTIC: LogisticRegression(C=1000)}
D, CORRELATION = 16, 0.5


def simulated() -> tuple[np.ndarray, np.ndarray]:
    """1,600 rows of two Gaussian classes with pairs of columns that depend on each other."""
    y = np.arange(1_600) % 2
    covariance = np.eye(D) + CORRELATION * np.kron(np.eye(D // 2), [[0, 1], [1, 0]])
    means = np.tile([0.3, 0.05], D // 2)
    noise = gaussian(np.random.default_rng(11), len(y), np.zeros(D), covariance)
    return noise + np.where(y[:, None], means, -means), y


def studies() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """A simulated set, and two sets that scikit-learn contains."""
    X, y = load_digits(return_X_y=True)
    own = np.isin(y, (2, 3))
    cells, kinds = load_breast_cancer(return_X_y=True)
    return {
        "simulated, 16 columns": simulated(),
        "breast cancer, 10 columns": (cells[:, :10], kinds),
        "digits 2 and 3, 64 columns": (X[own], y[own]),
    }


@dataclass(frozen=True)
class Lesson:
    curves: dict[str, Comparison]

    def __str__(self) -> str:
        lines = [
            f"{'error on held-out rows':<28} {'fewest rows':^20} {'most rows':^20}",
            f"{f'{REPEATS} repeats':<28} {'naive':>9} {'logistic':>10} {'naive':>9} "
            f"{'logistic':>10} {'crossing at':>12}",
        ]
        for name, found in self.curves.items():
            naive, logistic = found.mean
            size = found.crossings[0].size
            lines.append(
                f"{name:<28} {naive[0]:>9.1%} {logistic[0]:>10.1%} {naive[-1]:>9.1%} "
                f"{logistic[-1]:>10.1%} {'none' if size is None else f'{size:.0f} rows':>12}"
            )
        return "\n".join(lines)


def learn() -> Lesson:
    """Learning curves of both models on the same standardised rows."""
    curves = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small sample is separable and has constant columns
        for name, (X, y) in studies().items():
            X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
            sizes = np.unique(np.geomspace(10, 0.75 * len(y), 6).astype(int))
            curves[name] = compare(MODELS, X, y, sizes, REPEATS, threads=1)
    return Lesson(curves)


def draw(found: Lesson, figure: Any) -> None:
    axes = figure.subplots(1, 3)
    for ax, (name, curve) in zip(axes, found.curves.items(), strict=True):
        curve.plot(ax, labels=False, colours={NAIVE: BLUE, LOGISTIC: RED})
        ax.set(title=name, ylabel="", ylim=(0, None))
        ax.yaxis.set_major_formatter(lambda error, _: f"{error:.0%}")
    axes[0].set_ylabel("error on held-out rows")
    handles = {name: line for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2)


SPANISH = {
    "simulated, 16 columns": "simulación, 16 columnas",
    "breast cancer, 10 columns": "cáncer de mama, 10 columnas",
    "digits 2 and 3, 64 columns": "dígitos 2 y 3, 64 columnas",
    "error on held-out rows": "error en filas reservadas",
    "training rows": "filas de entrenamiento",
    "naive Bayes": "Bayes ingenuo",
    "logistic regression": "regresión logística",
}
