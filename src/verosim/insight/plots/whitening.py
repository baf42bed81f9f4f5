"""Rows before and after whitening: afterwards the covariance within classes is the identity.

    z = W (x − μ),   W Σ Wᵀ = I

Reference: Kessy, Lewin & Strimmer (2018), Optimal whitening and decorrelation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.arguments import checked
from verosim.errors import VerosimError
from verosim.estimators.whiten import Whiten
from verosim.insight.plots.canvas import figure_of, framed, legend, panels, scatter
from verosim.insight.plots.palette import QUIET, Mark, marks_of, shortened
from verosim.insight.plots.plane import ellipse_level
from verosim.insight.plots.rows import check_fitted, plot_rows, position

if TYPE_CHECKING:
    from verosim.drawing import PlotFigure
    from verosim.estimators.score_mixin import ScoreMixin
    from verosim.typing import Labels, Source


@checked
def plot_whitening(
    model: ScoreMixin,
    X: Source,
    y: Labels | None = None,
    columns: Sequence[str | int] = (0, 1),
    *,
    method: Literal["zca", "pca", "cholesky"] = "zca",
    figure: PlotFigure | None = None,
) -> PlotFigure:
    """Draw rows before and after whitening, side by side.

        z = W (x − μ),   W Σ Wᵀ = I

    where Σ is the covariance within classes. The ellipses hold 95% of each class (50% if there are
    more than 8 classes), if all classes share Σ. After whitening they are circles, so that the
    nearest mean is the most probable class if the priors are equal.

    Parameters
    ----------
    model : LDA, QDA or RDA
        A fitted model of number columns.
    X : array-like of shape (n, d) or table
        The rows.
    y : array-like of shape (n,), str or None, default=None
        The labels of the rows, or the name of the target column. None uses the predicted classes.
    columns : sequence of two str or int, default=(0, 1)
        The two columns to show, by name or by number.
    method : {"zca", "pca", "cholesky"}, default="zca"
        The whitener. "zca" is the symmetric root Σ^(−½). "pca" measures rows along the axes of Σ.
        "cholesky" is L⁻¹ with Σ = L Lᵀ.
    figure : matplotlib figure, subfigure or None, default=None
        The figure for both panels. None makes a new one.

    Returns
    -------
    matplotlib figure
        The figure with both panels.

    Raises
    ------
    VerosimError
        If the model has no covariance, or if there are not two columns.

    References
    ----------
    Kessy, Lewin & Strimmer (2018), Optimal whitening and decorrelation, The American Statistician
    72, 309–314.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, plot_whitening
    >>> X, y = load_iris(return_X_y=True)
    >>> [ax.get_title(loc="left") for ax in plot_whitening(LDA().fit(X, y), X, y).axes]
    ['before', 'after whitening (zca)']
    """
    fitted = check_fitted(model, "plot_whitening")
    if isinstance(columns, str) or not np.iterable(columns) or len(list(columns)) != 2:
        raise VerosimError(
            f"columns must name two columns; got {columns!r}.", "Use columns=(0, 1)."
        )
    whiten = Whiten.of(fitted, method=method)
    rows = plot_rows(fitted, X, y)
    a, b = (position(rows.names, one) for one in columns)
    W, mean = np.asarray(whiten.whitener_), np.asarray(whiten.mean_)
    marks = marks_of(fitted.classes_)
    centres = np.asarray(fitted.means_)
    figure = figure_of(figure, (10.4, 4.4))
    left, right = panels(figure, 2, 2)
    sigma = np.asarray(whiten.covariance_)[np.ix_([a, b], [a, b])]
    _panel(left, rows.values[:, [a, b]], rows.codes, centres[:, [a, b]], sigma, marks)
    left.set_title("before", loc="left", fontsize="medium")
    left.set(xlabel=shortened(rows.names[a]), ylabel=shortened(rows.names[b]))
    # The whiteners "pca" and "cholesky" have axes of their own.
    at = [a, b] if method == "zca" else [0, 1]
    Z, M = (rows.values - mean) @ W.T, (centres - mean) @ W.T
    _panel(right, Z[:, at], rows.codes, M[:, at], np.eye(2), marks)
    right.set_aspect("equal", adjustable="datalim")
    right.set_title(f"after whitening ({method})", loc="left", fontsize="medium")
    names = rows.names if method == "zca" else [f"axis {j + 1}" for j in range(len(W))]
    right.set(
        xlabel=f"whitened {shortened(names[at[0]])}", ylabel=f"whitened {shortened(names[at[1]])}"
    )
    legend(right, marks)
    if rows.note:
        figure.suptitle(rows.note, fontsize="small", color=QUIET)
    return figure


def _panel(
    ax: Any, points: np.ndarray, codes: np.ndarray, centres: np.ndarray, sigma: np.ndarray,
    marks: list[Mark],
) -> None:  # fmt: skip
    scatter(ax, points, codes, marks)
    t = np.linspace(0, 2 * np.pi, 200)
    values, vectors = np.linalg.eigh(sigma)
    root = vectors * np.sqrt(np.maximum(values, 0))
    radius = np.sqrt(-2 * np.log1p(-ellipse_level(None, len(marks))))
    outline = radius * np.column_stack([np.cos(t), np.sin(t)]) @ root.T
    for mark, centre in zip(marks, centres, strict=True):
        if np.isfinite(centre).all():
            ax.plot(*(centre + outline).T, color=mark.colour, ls=mark.dash, lw=1.5, zorder=4)
    framed(ax)
