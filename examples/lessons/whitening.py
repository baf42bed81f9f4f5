"""Whitening removes correlations and units: the covariance becomes the identity.

    z = W (x − μ)   with   W Σ Wᵀ = I,   so that   ‖W (x − x')‖ = Mahalanobis distance of x and x'

There are many whiteners, which differ by a rotation. The three most used are the symmetric root
Σ^(−½) (zca), the axes of Σ (pca) and the inverse of the triangular root of Σ (cholesky). Σ can be
the covariance of all rows, or the covariance within classes that LDA uses.
Reference: Kessy, Lewin & Strimmer (2018), Optimal whitening and decorrelation.

    python -m examples.lessons whitening
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

from examples.lessons.style import DARK, draw_rows, plane
from verosim import Whiten
from verosim.bayes import Ellipse

SIZE = (9.6, 5.0)  # of the picture, in inches
METHODS = ("zca", "pca", "cholesky")
SOURCES = {"total": "all rows", "within": "within classes"}
COLUMNS = [0, 2]  # sepal length and petal length
SIDE = {"total": 3.6, "within": 9.4}


@dataclass(frozen=True)
class Lesson:
    X: np.ndarray  # (n, 2)
    y: np.ndarray  # (n,)
    whiteners: dict[tuple[str, str], Whiten]  # by the covariance and the method

    def rows(self, of: str, method: str) -> np.ndarray:
        """(n, 2) the whitened rows."""
        return self.whiteners[of, method].transform(self.X)

    def covariance(self, X: np.ndarray, of: str) -> np.ndarray:
        """(2, 2) the covariance of all rows, or within classes."""
        if of == "within":
            X = X - np.array([X[self.y == k].mean(axis=0) for k in range(3)])[self.y]
        return np.cov(X.T, bias=True)

    def moved(self, of: str, method: str) -> float:
        """E‖z − (x − μ)‖² = tr((W − I) Σ (W − I)ᵀ), the mean squared change of a row."""
        whiten = self.whiteners[of, method]
        change = whiten.whitener_ - np.eye(2)
        return float(np.trace(change @ whiten.covariance_ @ change.T))

    def __str__(self) -> str:
        lines = []
        for of, name in SOURCES.items():
            before = self.covariance(self.X, of)
            lines.append(f"{name}: covariance before {before.round(2).tolist()}, after:")
            for method in METHODS:
                after = self.covariance(self.rows(of, method), of)
                lines.append(
                    f"  {method:<9} {(after.round(10) + 0.0).tolist()}, mean squared change "
                    f"{self.moved(of, method):.2f}"
                )
        return "\n".join(lines)


def learn() -> Lesson:
    """Whiten two columns of iris, with two covariances and three methods."""
    X, y = load_iris(return_X_y=True)
    X = X[:, COLUMNS]
    found = {(of, how): Whiten(method=how, of=of).fit(X, y) for of in SOURCES for how in METHODS}
    return Lesson(X, y, found)


def draw(found: Lesson, figure: Any) -> None:
    panels = figure.subplot_mosaic(
        [["before", *(f"total {how}" for how in METHODS)],
         ["before", *(f"within {how}" for how in METHODS)]],
        width_ratios=(1.5, 1, 1, 1),
    )  # fmt: skip
    before = panels["before"]
    draw_rows(before, found.X, found.y, s=14)
    _ellipses(before, found, found.X)
    plane(before, (3.3, 8.5), (-0.9, 8.3))
    before.set_title("before")
    before.set(xlabel="sepal length (cm)", ylabel="petal length (cm)")
    for of, method in found.whiteners:
        ax = panels[f"{of} {method}"]
        draw_rows(ax, found.rows(of, method), found.y, s=8)
        _ellipses(ax, found, found.rows(of, method), of)
        side = SIDE[of]
        plane(ax, (-side, side), (-side, side))
        ax.set(xlabel="", ylabel="", title=f"{SOURCES[of]}: {method}")


def _ellipses(ax: Any, found: Lesson, X: np.ndarray, of: str = "") -> None:
    """Draw the ellipses that hold 95 % of a Gaussian, of all rows and of each class."""
    if of != "within":
        outline = Ellipse(X.mean(axis=0), found.covariance(X, "total"), 0.95).points()
        ax.plot(*outline.T, color="black", lw=1.2, ls=(0, (4, 2)))
    if of != "total":
        for k in range(3):
            centre = X[found.y == k].mean(axis=0)
            outline = Ellipse(centre, found.covariance(X, "within"), 0.95).points()
            ax.plot(*outline.T, color=DARK, lw=1.0)


SPANISH = {
    "before": "antes",
    "sepal length (cm)": "largo del sépalo (cm)",
    "petal length (cm)": "largo del pétalo (cm)",
    "all rows": "todas las filas",
    "within classes": "intraclase",
    "zca": "zca",
    "pca": "pca",
    "cholesky": "cholesky",
}
