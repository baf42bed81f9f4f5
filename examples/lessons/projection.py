"""LDA projects rows onto the direction that separates the classes most, relative to their width.

    J(w) = (wᵀ(μ_1 − μ_0))² / (wᵀΣw),   argmax J = Σ⁻¹(μ_1 − μ_0),   max J = Δ²

Δ is the Mahalanobis distance of the means. The line from mean to mean looks natural, but in general
it is not the best direction, and the longest axis of Σ can be a bad one. If the classes are
Gaussian with one covariance and equal priors, a direction w has the error Φ(−½ √J(w)), so the best
direction has the error Φ(−Δ/2).
Reference: Fisher (1936), The use of multiple measurements in taxonomic problems; Bishop (2006),
Pattern Recognition and Machine Learning, §4.1.4, figure 4.6.

    python -m examples.lessons projection
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_wine

from examples.lessons.style import CLASSES, QUIET, RED, draw_rows, gaussian, plane
from verosim import LDA, plot_projection

SIZE = (9.6, 3.7)  # of the picture, in inches
MEANS = np.array([[-1.0, -0.1], [1.0, 0.1]])
COVARIANCE = np.array([[2.2, 1.75], [1.75, 1.7]])
ROWS = 2_000  # of each class; the picture shows some of them
SHOWN = 150
DASHES = {
    "Fisher's direction": "-",
    "from mean to mean": (0, (4, 2)),
    "longest axis": (0, (1, 1.5)),
}


@dataclass(frozen=True)
class Lesson:
    X: np.ndarray  # (n, 2)
    y: np.ndarray  # (n,)
    model: LDA
    wine: tuple[np.ndarray, np.ndarray, LDA]  # rows, labels and model

    @property
    def directions(self) -> dict[str, np.ndarray]:
        """(2,) each, of length 1."""
        shift = self.model.means_[1] - self.model.means_[0]
        found = {
            "Fisher's direction": self.model.coef_[0],
            "from mean to mean": shift,
            "longest axis": self.model.covariance_of().axes[:, 0],
        }
        return {name: w / np.linalg.norm(w) for name, w in found.items()}

    def ratio(self, w: np.ndarray) -> float:
        """J(w), with the estimates of the model."""
        shift = self.model.means_[1] - self.model.means_[0]
        return float((w @ shift) ** 2 / (w @ self.model.covariance_ @ w))

    def error(self, w: np.ndarray) -> float:
        """The share of rows on the wrong side of the middle of the projected means."""
        middle = w @ self.model.means_.mean(axis=0)
        return float(((self.X @ w > middle) != self.y).mean())

    def __str__(self) -> str:
        lines = [f"{'':<20} {'J(w)':>6} {'Φ(−½√J)':>9} {'error':>7}"]
        for name, w in self.directions.items():
            J = self.ratio(w)
            lines.append(
                f"{name:<20} {J:>6.2f} {norm.cdf(-(J**0.5) / 2):>9.1%} {self.error(w):>7.1%}"
            )
        distance = self.model.covariance_of().inverse_root @ np.diff(self.model.means_, axis=0)[0]
        lines.append(f"Δ² = {distance @ distance:.2f}")
        X, _, model = self.wine
        shares = " and ".join(f"{share:.0%}" for share in model.explained_variance_ratio_)
        lines.append(
            f"wine: {X.shape[1]} columns become {model.transform(X).shape[1]}, with {shares} of "
            "the separation"
        )
        return "\n".join(lines)


def learn() -> Lesson:
    """Fit LDA to two long classes, and to the three wines."""
    rng = np.random.default_rng(3)
    X = np.vstack([gaussian(rng, ROWS, mean, COVARIANCE) for mean in MEANS])
    y = np.repeat([0, 1], ROWS)
    wine, kinds = load_wine(return_X_y=True)
    return Lesson(X, y, LDA().fit(X, y), (wine, kinds, LDA().fit(wine, kinds)))


def draw(found: Lesson, figure: Any) -> None:
    left, middle, right = figure.subfigures(1, 3, width_ratios=(1, 0.85, 1.15))
    ax = left.subplots()
    some = np.concatenate([np.arange(SHOWN), ROWS + np.arange(SHOWN)])
    draw_rows(ax, found.X[some], found.y[some], s=9)
    ax.plot(*found.model.means_.T, "+", color="black", ms=9, mew=2)
    for name, w in found.directions.items():
        ax.axline((0, 0), w, color=RED, ls=DASHES[name], lw=1.6)
    plane(ax, (-4.6, 4.6), (-4.6, 4.6))
    ax.set_anchor("N")
    ax.set_title("three directions")

    for panel, (name, w) in zip(middle.subplots(3, 1), found.directions.items(), strict=True):
        z = found.X @ w
        edges = np.linspace(z.min(), z.max(), 50)
        for k, (colour, _) in enumerate(CLASSES[:2]):
            panel.hist(z[found.y == k], edges, color=colour, alpha=0.55)
        panel.axvline(w @ found.model.means_.mean(axis=0), color="black", lw=1.0)
        panel.set(xticks=[], yticks=[], title=f"{name}: error {found.error(w):.0%}")
        panel.spines["left"].set_visible(False)
        panel.plot(
            [0.0, 0.12], [0.88, 0.88], color=RED, ls=DASHES[name], lw=1.6,
            transform=panel.transAxes,
        )  # fmt: skip

    X, y, model = found.wine
    ax = right.subplots()
    plot_projection(model, X, y, arrows=False, ax=ax)
    ax.get_legend().remove()
    ax.set(xticks=[], yticks=[], title="three wines: 13 columns become 2")
    ax.xaxis.label.set_color(QUIET)
    ax.yaxis.label.set_color(QUIET)


SPANISH = {
    "three directions": "tres direcciones",
    "Fisher's direction": "dirección de Fisher",
    "from mean to mean": "de media a media",
    "longest axis": "eje más largo",
    "three wines: 13 columns become 2": "tres vinos: 13 columnas pasan a 2",
    "first direction": "primera dirección",
    "second direction": "segunda dirección",
    "of the separation": "de la separación",
    "error": "error",
}
