"""One-versus-rest and one-versus-one have ambiguous regions; one function per class has none.

    one-versus-rest:          ambiguous if y_k(x) > 0 for no k or for several k
    one-versus-one:           ambiguous if each of three classes wins one pair
    one function per class:   argmax_k y_k(x) is never ambiguous

Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.1.2, figure 4.2.

    python -m examples.lessons ambiguous_regions
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import PALE, draw_line, draw_rows, gaussian, grid, plane
from verosim import LogisticRegression, OneVsOne, OneVsRest

SIZE = (9.0, 3.6)  # of the picture, in inches
SIDE = (-8.0, 8.0)
TURN, LONG, WIDE = 50.0, 6.0, 0.3  # angle of a class in degrees, and its two variances
GREY = "#8A8A8A"


@dataclass(frozen=True)
class Lesson:
    """Three schemes of logistic regression, evaluated on the cells of a picture and on the rows."""

    X: np.ndarray  # (n, 2)
    y: np.ndarray  # (n,)
    models: dict[str, Any]

    @property
    def cells(self) -> np.ndarray:
        return grid(SIDE, SIDE)

    def ambiguous(self, name: str, X: np.ndarray) -> np.ndarray:
        """(n,) bool; for one function per class, whether several have the largest value."""
        model = self.models[name]
        if isinstance(model, OneVsRest | OneVsOne):
            return model.ambiguous(X)
        scores = model.decision_function(X)
        return (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1

    def __str__(self) -> str:
        lines = [f"{'':<16} {'ambiguous area':>15} {'ambiguous rows':>15} {'error':>7}"]
        for name, model in self.models.items():
            area = self.ambiguous(name, self.cells).mean()
            some = int(self.ambiguous(name, self.X).sum())
            error = (model.predict(self.X) != self.y).mean()
            lines.append(f"{name:<16} {area:>15.1%} {some:>15} {error:>7.1%}")
        claims = self.models["one-versus-rest"].claims(self.cells).sum(axis=1)
        lines.append(
            f"one-versus-rest: no class claims {(claims == 0).mean():.1%} of the area, and two "
            f"classes claim {(claims > 1).mean():.1%}"
        )
        return "\n".join(lines)


def pinwheel(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three long classes around the origin, rotated so that the boundaries do not meet there."""
    X = []
    for k in range(3):
        out, along = np.radians([90 + 120 * k, 90 + 120 * k + TURN])
        axes = np.array([[np.cos(along), -np.sin(along)], [np.sin(along), np.cos(along)]])
        mean = 3.5 * np.array([np.cos(out), np.sin(out)])
        X.append(gaussian(rng, n, mean, axes @ np.diag([LONG, WIDE]) @ axes.T))
    return np.vstack(X), np.repeat(np.arange(3), n)


def learn() -> Lesson:
    """The same logistic regression under three schemes."""
    X, y = pinwheel(np.random.default_rng(2), 70)
    models: dict[str, Any] = {
        "one-versus-rest": OneVsRest(LogisticRegression()),
        "one-versus-one": OneVsOne(LogisticRegression()),
        "K functions": LogisticRegression(),
    }
    return Lesson(X, y, {name: model.fit(X, y) for name, model in models.items()})


def draw(found: Lesson, figure: Any) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    cells = found.cells
    steps = round(len(cells) ** 0.5)
    panels = figure.subplots(1, 3)
    for ax, (name, model) in zip(panels, found.models.items(), strict=True):
        ambiguous = found.ambiguous(name, cells)
        regions = np.where(ambiguous, 3, model.predict(cells)).reshape(steps, steps)
        ax.imshow(
            regions, cmap=ListedColormap([*PALE, GREY]), vmin=0, vmax=3,
            origin="lower", extent=(*SIDE, *SIDE), interpolation="nearest",
        )  # fmt: skip
        if hasattr(model, "estimators_"):
            for part in model.estimators_:
                draw_line(ax, part.coef_[0], part.intercept_[0], color="black", lw=1.0)
        else:
            distance = model.signed_distance(cells)  # (cells, 3), zero on the boundary of a region
            for k in range(3):
                ax.contour(
                    *cells.reshape(steps, steps, 2).T, distance[:, k].reshape(steps, steps).T,
                    [0], colors="black", linewidths=1.0,
                )  # fmt: skip
        draw_rows(ax, found.X, found.y, s=12)
        plane(ax, SIDE, SIDE)
        share = f"{ambiguous.mean():.1%} ambiguous" if ambiguous.any() else "nothing ambiguous"
        ax.set_title(f"{name}: {share}")
    _count_claims(panels[0], found.models["one-versus-rest"], cells)
    figure.legend(
        handles=[Patch(color=pale, label=f"class {k + 1}") for k, pale in enumerate(PALE)]
        + [Patch(color=GREY, label="ambiguous")],
        loc="outside lower center", ncols=4,
    )  # fmt: skip


def _count_claims(ax: Any, model: OneVsRest, cells: np.ndarray) -> None:
    """Write in each ambiguous region how many classes claim it."""
    claims = model.claims(cells)
    for some in np.unique(claims[claims.sum(axis=1) != 1], axis=0):
        middle = cells[(claims == some).all(axis=1)].mean(axis=0)
        word = ("no\nclass", "", "two\nclasses", "three\nclasses")[some.sum()]
        ax.text(*middle, word, color="white", ha="center", va="center", fontsize=8)


SPANISH = {
    "one-versus-rest": "uno contra el resto",
    "one-versus-one": "uno contra uno",
    "K functions": "K funciones",
    "nothing ambiguous": "nada ambiguo",
    "ambiguous": "ambiguo",
    "no\nclass": "ninguna\nclase",
    "two\nclasses": "dos\nclases",
    "class": "clase",
}
