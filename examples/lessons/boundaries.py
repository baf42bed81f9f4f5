"""QDA has quadratic boundaries, LDA has linear ones: the nearest mean after whitening, less log π.

    QDA:  δ_i(x) − δ_j(x) = xᵀA x + bᵀx + c,   A = −½(Σ_i⁻¹ − Σ_j⁻¹)
    LDA:  argmax_k δ_k(x) = argmin_k ½‖z − m_k‖² − log π_k,   z = Σ^(−½)(x − μ)

In two columns the boundary of QDA is a conic. If the covariances are equal then A = 0, and the
conic is a line. After whitening, that line is normal to the segment between the two means, and it
crosses the middle of the segment if the priors are equal.
Reference: Duda, Hart & Stork (2001), Pattern Classification, §2.6, figures 2.10 to 2.14.

    python -m examples.lessons boundaries
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_wine

from examples.lessons.style import draw_regions, gaussian, plane
from verosim import LDA, QDA, Whiten, plot_boundary

SIZE = (9.2, 6.3)  # of the picture, in inches
BOX = ((-6.0, 6.0), (-6.0, 6.0))
LENS = np.array([[2.4, 1.2], [1.2, 1.6]])
SHAPES = {  # the kind of conic → the mean and the covariance of each class
    "ellipse": (([-0.8, 0.4], 0.3 * np.eye(2)), ([0.6, 0.0], LENS)),
    "parabola": (([-1.6, 0.0], np.diag([1.0, 1.5])), ([1.6, 0.0], np.diag([1.0, 0.35]))),
    "hyperbola": (([-0.5, 0.0], np.diag([2.0, 0.5])), ([0.5, 0.3], np.diag([0.5, 2.0]))),
}
MEANS = ([-1.8, -1.6], [0.0, 1.8], [2.3, -0.5])
PRIORS = {"equal priors": (1 / 3, 1 / 3, 1 / 3), "priors 0.90, 0.08, 0.02": (0.90, 0.08, 0.02)}


@dataclass(frozen=True)
class Whitened:
    """LDA against the nearest mean after whitening, on the rows of one table."""

    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    model: LDA

    @property
    def whiten(self) -> Whiten:
        return Whiten.of(self.model)

    @property
    def scores(self) -> np.ndarray:
        """(n, K) log π_k − ½‖z − m_k‖² after whitening."""
        Z, M = self.whiten.transform(self.X), self.whiten.transform(self.model.means_)
        square = ((Z[:, None, :] - M[None]) ** 2).sum(axis=2)
        return np.log(self.model.class_prior_) - square / 2

    @property
    def different(self) -> int:
        """The number of rows on which the two rules give different classes."""
        nearest = self.model.classes_[self.scores.argmax(axis=1)]
        return int((nearest != self.model.predict(self.X)).sum())

    @property
    def gap(self) -> float:
        """The largest difference of two log posteriors."""
        own = self.scores - np.logaddexp.reduce(self.scores, axis=1)[:, None]
        return float(np.abs(own - self.model.predict_log_proba(self.X)).max())


@dataclass(frozen=True)
class Lesson:
    quadratic: dict[str, QDA]  # by the kind of conic
    linear: dict[str, Whitened]

    def __str__(self) -> str:
        lines = ["QDA: the largest |δ_1 − δ_2| on the exact curve"]
        for kind, model in self.quadratic.items():
            curve = model.boundary(0, 1).curve(BOX)
            joint = model.log_joint(np.vstack(curve.points()))
            gap = np.abs(joint[:, 0] - joint[:, 1]).max()
            pieces = "1 piece" if len(curve.pieces) == 1 else f"{len(curve.pieces)} pieces"
            lines.append(f"  {kind:<24} {pieces:<9} {'< 1e-11' if gap < 1e-11 else f'{gap:.0e}'}")
        lines.append("LDA and the nearest mean after whitening, less log π")
        for name, one in self.linear.items():
            n, d = one.X.shape
            lines.append(
                f"  {name:<24} {n} rows, {d:>2} columns: {one.different} different classes"
            )
        return "\n".join(lines)


def exact_rows(n: int, seed: int) -> np.ndarray:
    """(n, 2) random rows with the mean 0 and the covariance I, up to rounding."""
    rows = np.random.default_rng(seed).standard_normal((n, 2))
    return Whiten(of="total").fit(rows).transform(rows)


def learn() -> Lesson:
    """Fit QDA to rows with given means and covariances, and LDA to three classes and to wine."""
    quadratic = {}
    for kind, classes in SHAPES.items():
        parts = [
            mean + exact_rows(60, seed) @ np.linalg.cholesky(matrix).T
            for seed, (mean, matrix) in enumerate(classes)
        ]
        quadratic[kind] = QDA().fit(np.vstack(parts), np.repeat([0, 1], 60))
    rng = np.random.default_rng(0)
    X = np.vstack([gaussian(rng, 60, mean, LENS / 2) for mean in MEANS])
    y = np.repeat([0, 1, 2], 60)
    linear = {name: Whitened(X, y, LDA(priors).fit(X, y)) for name, priors in PRIORS.items()}
    wine, kinds = load_wine(return_X_y=True)
    linear["wine"] = Whitened(wine, kinds, LDA().fit(wine, kinds))
    return Lesson(quadratic, linear)


def draw(found: Lesson, figure: Any) -> None:
    upper, (before, *lower) = figure.subplots(2, 3)
    for ax, (kind, model) in zip(upper, found.quadratic.items(), strict=True):
        draw_regions(ax, model, BOX)
        plot_boundary(model, box=BOX, regions=False, ax=ax)
        _finish(ax, f"QDA: {kind}")
    three = found.linear["equal priors"]
    draw_regions(before, three.model, BOX)
    plot_boundary(three.model, three.X, three.y, box=BOX, regions=False, ax=before)
    _finish(before, "LDA: lines")
    for ax, name in zip(lower, PRIORS, strict=True):
        one = found.linear[name]
        Z, M = one.whiten.transform(one.X), one.whiten.transform(one.model.means_)
        model = LDA(one.model.class_prior_).fit(Z, one.y)
        draw_regions(ax, model, BOX)
        plot_boundary(model, Z, one.y, box=BOX, regions=False, ax=ax)
        for i, j in ((0, 1), (1, 2), (0, 2)):
            ax.plot(*M[[i, j]].T, color="black", lw=0.8, ls=(0, (4, 2)), zorder=4.5)
        _finish(ax, f"whitened, {name}", "z")


def _finish(ax: Any, title: str, letter: str = "x") -> None:
    plane(ax, *BOX)
    ax.set(xlabel=f"${letter}_1$", ylabel=f"${letter}_2$", title=title)
    ax.get_legend().remove()


SPANISH = {
    "QDA: ellipse": "QDA: elipse",
    "QDA: parabola": "QDA: parábola",
    "QDA: hyperbola": "QDA: hipérbola",
    "LDA: lines": "LDA: rectas",
    "whitened, equal priors": "con blanqueo, a priori iguales",
    "whitened, priors 0.90, 0.08, 0.02": "con blanqueo, a priori 0.90, 0.08, 0.02",
}
