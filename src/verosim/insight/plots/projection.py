"""Rows along the directions of Fisher, which separate the classes most.

    z = (x − x̄) S,   the columns of S maximise wᵀBw / wᵀΣw

Reference: Fisher (1936), The use of multiple measurements in taxonomic problems.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.drawing import library
from verosim.errors import VerosimError
from verosim.insight.plots.canvas import axes_of, framed, ink, legend, scatter, small
from verosim.insight.plots.palette import QUIET, Mark, marks_of, shortened
from verosim.insight.plots.rows import check_fitted, plot_rows

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes
    from verosim.estimators.score_mixin import ScoreMixin
    from verosim.typing import Labels, Source

BINS = 40
MOST_ARROWS = 6


@checked
def plot_projection(
    model: ScoreMixin,
    X: Source,
    y: Labels | None = None,
    *,
    arrows: bool = True,
    ax: PlotAxes | None = None,
) -> PlotAxes:
    """Draw the rows along the two directions that separate the classes most.

        z = (x − x̄) S,   the columns of S maximise wᵀBw / wᵀΣw

    where B is the covariance of the class means and Σ the covariance within classes, which is the
    identity in the picture. Arrows show how the columns with the largest weights point. Two classes
    have one direction, and the picture shows the histogram of each class.

    Parameters
    ----------
    model : LDA
        A fitted LDA model of number columns.
    X : array-like of shape (n, d) or table
        The rows.
    y : array-like of shape (n,), str or None, default=None
        The labels of the rows, or the name of the target column. None uses the predicted classes.
    arrows : bool, default=True
        Whether to draw the directions of at most six columns.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the rows.

    Raises
    ------
    VerosimError
        If the model has no directions.

    References
    ----------
    Fisher (1936), The use of multiple measurements in taxonomic problems, Annals of Eugenics 7,
    179–188.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, plot_projection
    >>> X, y = load_iris(return_X_y=True)
    >>> plot_projection(LDA().fit(X, y), X, y).get_xlabel()
    'first direction (99% of the separation)'
    """
    fitted = check_fitted(model, "plot_projection")
    if not hasattr(fitted, "explained_variance_ratio_"):
        raise VerosimError(
            f"The function plot_projection needs a fitted LDA model; got {type(fitted).__name__}.",
            "Use LDA().fit(X, y).",
        )
    rows = plot_rows(fitted, X, y)
    S = np.asarray(fitted.scalings_)[:, :2]  # (d, 1 or 2)
    if len(S) != rows.values.shape[1]:
        raise VerosimError(
            f"The function plot_projection needs number columns; the model has {len(S)} columns "
            f"and the rows have {rows.values.shape[1]} number columns.",
            "Fit LDA on number columns only.",
        )
    marks = marks_of(fitted.classes_)
    ratio = np.asarray(fitted.explained_variance_ratio_)
    centre = rows.values.mean(axis=0)
    Z = (rows.values - centre) @ S
    ax = axes_of(ax, (6.6, 4.8))
    ax.set_xlabel(f"first direction ({ratio[0]:.0%} of the separation)")
    if Z.shape[1] == 1:
        _histograms(ax, Z[:, 0], rows.codes, marks)
        legend(ax, marks, lines=True)
    else:
        scatter(ax, Z, rows.codes, marks)
        _means(ax, (fitted.means_ - centre) @ S, marks)
        if arrows:
            _arrows(ax, S * rows.values.std(axis=0)[:, None], rows.names, Z)
        ax.set_ylabel(f"second direction ({ratio[1]:.0%})")
        legend(ax, marks)
    if rows.note:
        ax.set_title(rows.note, loc="left", fontsize="small", color=QUIET)
    framed(ax)
    return ax


def _histograms(ax: Any, z: np.ndarray, codes: np.ndarray, marks: list[Mark]) -> None:
    edges = np.linspace(z.min(), z.max() + 1e-12, BINS + 1)
    for k, mark in enumerate(marks):
        own = z[codes == k]
        if len(own):
            height = np.histogram(own, edges, density=True)[0]
            ax.stairs(height, edges, color=mark.colour, fill=True, alpha=0.15)
            ax.stairs(height, edges, color=mark.colour, ls=mark.dash, lw=1.5, label=mark.label)
    ax.set(yticks=[], ylabel="share of the rows of the class")


def _means(ax: Any, means: np.ndarray, marks: list[Mark]) -> None:
    for mark, mean in zip(marks, means, strict=True):
        if np.isfinite(mean).all():
            ax.plot(*mean, mark.marker, color=mark.colour, ms=9, mec=ink(ax), mew=1.2, zorder=5)


def _arrows(ax: Any, directions: np.ndarray, names: tuple[str, ...], Z: np.ndarray) -> None:
    """Arrows of the columns with the largest weights in a corner, named without overlap."""
    length = np.linalg.norm(directions, axis=1)
    order = np.argsort(-length, kind="stable")[:MOST_ARROWS].tolist()
    if not length.max() > 0:
        return
    low, high = Z.min(axis=0), Z.max(axis=0)
    span = high - low
    origin = np.array([low[0] + 0.5 * span[0], low[1] - 0.28 * span[1]])
    scale = 0.2 * span.min() / length.max()
    size = small(ax) * 0.9
    taken: list[Any] = []
    ax.set_ylim(low[1] - 0.55 * span[1], high[1] + 0.06 * span[1])
    ax.set_xlim(low[0] - 0.12 * span[0], high[0] + 0.06 * span[0])
    pixel = ax.transData.transform
    for j in order:
        end = origin + scale * directions[j]
        ax.add_patch(library("patches").FancyArrowPatch(
            origin, end, arrowstyle="-|>", mutation_scale=9, color=QUIET, lw=1.1, zorder=4,
            shrinkA=0, shrinkB=0,
        ))  # fmt: skip
        text = shortened(names[j], 16)
        x, y = pixel(origin + 1.12 * scale * directions[j])
        right = directions[j][0] >= 0
        wide, tall = 0.62 * size * len(text) * ax.figure.dpi / 72, 1.3 * size * ax.figure.dpi / 72
        box = (x if right else x - wide, y - tall / 2, x + wide if right else x, y + tall / 2)
        if all(box[2] < t[0] or box[0] > t[2] or box[3] < t[1] or box[1] > t[3] for t in taken):
            taken.append(box)
            ax.annotate(
                text, origin + 1.12 * scale * directions[j], ha="left" if right else "right",
                va="center", fontsize=size, color=QUIET, zorder=5,
            )  # fmt: skip
