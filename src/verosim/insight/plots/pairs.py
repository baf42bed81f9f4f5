"""All pairs of some columns: points below the diagonal, densities on it.

Reference: Cleveland (1985), The elements of graphing data (scatterplot matrices).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.drawing import library
from verosim.errors import VerosimError
from verosim.insight.plots.canvas import MOST_IN_LEGEND, figure_of, framed, scatter
from verosim.insight.plots.palette import QUIET, marks_of, shortened
from verosim.insight.plots.plane import Plane, ellipse_level
from verosim.insight.plots.rows import check_fitted, plot_rows

if TYPE_CHECKING:
    from verosim.drawing import PlotFigure
    from verosim.estimators.score_mixin import ScoreMixin
    from verosim.typing import Labels, Source

MOST_PAIRED = 6
DIAGONAL_BINS = 24


@checked
def plot_pairs(
    model: ScoreMixin,
    X: Source,
    y: Labels | None = None,
    columns: Sequence[str | int] | None = None,
    *,
    ellipses: bool = True,
    level: float | None = None,
    figure: PlotFigure | None = None,
) -> PlotFigure:
    """Draw each pair of number columns as points, and each column as histograms by class.

    For a Gaussian model, the ellipse of each class in two columns holds the share `level`:

        (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) = −2 log(1 − level)

    where μ_k and Σ_k are the mean and the covariance of class k in these columns.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier, which gives the columns, the classes and the ellipses.
    X : array-like of shape (n, d) or table
        The rows.
    y : array-like of shape (n,), str or None, default=None
        The labels of the rows, or the name of the target column. None uses the predicted classes.
    columns : sequence of str or int, or None, default=None
        At least two number columns. None draws the first number columns, at most six.
    ellipses : bool, default=True
        Whether to draw the ellipses of a Gaussian model.
    level : float or None, default=None
        The share of a class inside its ellipse. None uses 0.95 for up to 8 classes, and 0.5 for
        more classes.
    figure : matplotlib figure, subfigure or None, default=None
        The figure for the panels. None makes a new one.

    Returns
    -------
    matplotlib figure
        The figure with the panels.

    Raises
    ------
    VerosimError
        If there are fewer than two number columns.

    References
    ----------
    Cleveland (1985), The Elements of Graphing Data, Wadsworth.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import QDA, plot_pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> len(plot_pairs(QDA().fit(X, y), X, y, columns=(0, 1, 2)).axes)
    6
    """
    fitted = check_fitted(model, "plot_pairs")
    rows = plot_rows(fitted, X, y, columns)
    total = len(rows.names)
    d = total if columns is not None else min(total, MOST_PAIRED)
    if d < 2:
        raise VerosimError(
            f"The function plot_pairs needs at least two number columns; got {d}.",
            "Name more columns.",
        )
    marks = marks_of(fitted.classes_)
    level = ellipse_level(level, len(marks))
    side = float(np.clip(1.9 * d, 5.0, 11.0))
    figure = figure_of(figure, (side + 1.0, side))
    grid = figure.add_gridspec(d, d)
    size = "small" if d <= 4 else "x-small"
    for i in range(d):
        for j in range(i + 1):
            ax = figure.add_subplot(grid[i, j])
            if i == j:
                _histogram(ax, rows.values[:, i], rows.codes, marks)
            else:
                scatter(ax, rows.values[:, [j, i]], rows.codes, marks)
                if ellipses:
                    _ellipses(ax, fitted, (rows.names[j], rows.names[i]), level, marks)
            ax.tick_params(labelsize="x-small", labelbottom=i == d - 1, labelleft=j == 0 < i)
            ax.locator_params(nbins=4)
            if i == d - 1:
                ax.set_xlabel(shortened(rows.names[j], 18), fontsize=size)
            if j == 0:
                ax.set_ylabel(shortened(rows.names[i], 18), fontsize=size)
            framed(ax)
    Line = library("lines").Line2D
    handles = [
        Line([], [], color=m.colour, marker=m.marker, ls=m.dash, lw=1.3, ms=5, label=m.label)
        for m in marks[:MOST_IN_LEGEND]
    ]
    if len(marks) > MOST_IN_LEGEND:
        handles.append(Line([], [], color="none", label=f"and {len(marks) - MOST_IN_LEGEND} more"))
    figure.legend(handles=handles, loc="upper right", frameon=False, fontsize="small")
    notes = [rows.note] if rows.note else []
    if d < total:
        notes.append(f"{d} of {total} number columns are drawn")
    if notes:
        figure.suptitle("; ".join(notes), fontsize="small", color=QUIET)
    return figure


def _histogram(ax: Any, x: np.ndarray, codes: np.ndarray, marks: Any) -> None:
    edges = (
        np.linspace(x.min(), x.max() + 1e-12, DIAGONAL_BINS + 1) if len(x) else np.array([0.0, 1.0])
    )
    for k, mark in enumerate(marks):
        own = x[codes == k]
        if len(own):
            height = np.histogram(own, edges, density=True)[0]
            ax.stairs(height, edges, color=mark.colour, fill=True, alpha=0.15)
            ax.stairs(height, edges, color=mark.colour, ls=mark.dash, lw=1.2)
    ax.set_yticks([])


def _ellipses(ax: Any, model: Any, names: tuple[str, str], level: float, marks: Any) -> None:
    plane = Plane.of(model, names, "marginal")
    for k in plane.classes_with_rows:
        outline = plane.ellipse(k, level).points(120)
        ax.plot(
            *np.vstack([outline, outline[:1]]).T, color=marks[k].colour, ls=marks[k].dash, lw=1.2,
            zorder=4,
        )  # fmt: skip
