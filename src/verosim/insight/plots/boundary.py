"""The decision regions of a model in two columns.

    region of class k = {x : π_k p(x | k) ≥ π_l p(x | l) for all l}

Boundaries of Gaussian models are exact conic curves. Those of other models follow a grid.
Reference: Duda, Hart & Stork (2001), Pattern Classification, §2.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.arguments import checked, number_array
from verosim.errors import VerosimError
from verosim.insight.plots.canvas import axes_of, framed, ink, is_dark, legend, mixed, scatter
from verosim.insight.plots.palette import QUIET, Mark, marks_of, shortened
from verosim.insight.plots.plane import Plane, ellipse_level
from verosim.insight.plots.rows import check_fitted, plot_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.drawing import PlotAxes
    from verosim.estimators.score_mixin import ScoreMixin
    from verosim.typing import Labels, Source

GRID = 220  # cells in each direction
MOST_WITH_AXES = 5  # classes with an ellipse
CURVE_POINTS = 400
LOWEST_SCORE = -1e3  # of a log posterior on the grid


@checked
def plot_boundary(
    model: ScoreMixin,
    X: Source | None = None,
    y: Labels | None = None,
    columns: Sequence[str | int] | None = None,
    *,
    others: Literal["marginal"] | Mapping[str | int, Any] = "marginal",
    box: ArrayLike | None = None,
    level: float | None = None,
    regions: bool = True,
    densities: bool = False,
    ellipses: bool = True,
    curves: bool = True,
    points: bool = True,
    ax: PlotAxes | None = None,
) -> PlotAxes:
    """Draw the regions, boundaries and ellipses of a model in two columns.

    The colour of a region is the class with the highest posterior, and it is paler where the
    posterior is lower. For Gaussian models the boundaries are exact conic curves, and the ellipse
    of a class with its axes holds the share `level` of its rows:

        δ_i(x) = δ_j(x),   (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) = −2 log(1 − level)

    where δ_k is the discriminant of class k, and μ_k and Σ_k are its mean and covariance. Each
    layer can be switched off.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier.
    X : array-like of shape (n, d), table or None, default=None
        Rows to draw as points. None draws none, which needs `box` for models without ellipses.
    y : array-like of shape (n,), str or None, default=None
        The labels of the rows, or the name of the target column. None colours the points by their
        predicted class.
    columns : sequence of two str or int, or None, default=None
        The two columns, by name or by number. None is allowed for a model of two columns.
    others : "marginal" or dict, default="marginal"
        The other columns of the model. "marginal" averages them out. A dict maps columns to values
        and shows the slice at these values.
    box : array-like of shape (2, 2) or None, default=None
        The interval (low, high) of each column. None covers the rows and the ellipses.
    level : float or None, default=None
        The share of a class inside its ellipse. None uses 0.95 for up to 8 classes, and 0.5 for
        more classes.
    regions : bool, default=True
        Whether to colour the regions.
    densities : bool, default=False
        Whether to draw contours of the density p(x) of all rows.
    ellipses : bool, default=True
        Whether to draw the ellipses of the classes with their axes, if the model is Gaussian.
    curves : bool, default=True
        Whether to draw the boundaries.
    points : bool, default=True
        Whether to draw the rows, at most 5,000 of them. The picture states if some are left out.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the picture.

    Raises
    ------
    VerosimError
        If there are not exactly two columns, or if a model without a density is to show one.

    See Also
    --------
    plot_pairs : All pairs of columns.

    References
    ----------
    Duda, Hart & Stork (2001), Pattern Classification, §2.6.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import QDA, plot_boundary
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_boundary(QDA().fit(X, y), X, y, columns=(2, 3))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x2', 'x3')
    """
    fitted = check_fitted(model, "plot_boundary")
    plane = Plane.of(fitted, columns, others)
    marks = marks_of(fitted.classes_)
    rows = plot_rows(fitted, X, y, plane.names) if X is not None else None
    level = ellipse_level(level, len(marks))
    found = {k: plane.ellipse(k, level) for k in plane.classes_with_rows}
    box = _box(box, None if rows is None else rows.values, list(found.values()))
    ax = axes_of(ax, (6.4, 4.4))
    grid, across, up = _grid(box)
    log_p = plane.log_posterior(grid)
    if regions:
        _draw_regions(ax, log_p, box, marks)
    if densities:
        height = plane.log_density(grid).reshape(GRID, GRID)
        top = height.max()
        levels = top - np.array([6.0, 4.0, 2.5, 1.5, 0.7])
        ax.contour(across, up, height, levels=levels, colors=QUIET, linewidths=0.7,
                   linestyles="-", zorder=1.5)  # fmt: skip
    if curves:
        _draw_curves(ax, plane, log_p, box, across, up)
    if ellipses:
        for k, one in found.items():
            _draw_ellipse(ax, one, marks[k], len(found) <= MOST_WITH_AXES)
    if points and rows is not None:
        scatter(ax, rows.values, rows.codes, marks)
        if rows.note:
            ax.set_title(rows.note, loc="left", fontsize="small", color=QUIET)
    ax.set(xlim=box[0], ylim=box[1])
    ax.set_xlabel(shortened(plane.names[0]))
    ax.set_ylabel(shortened(plane.names[1]))
    framed(ax)
    legend(ax, marks)
    return ax


def _box(box: Any, values: np.ndarray | None, ellipses: list[Any]) -> np.ndarray:
    """(2, 2) the interval of each column."""
    if box is not None:
        given = number_array("box", box, 2)
        if (
            given.shape != (2, 2)
            or not np.isfinite(given).all()
            or (given[:, 0] >= given[:, 1]).any()
        ):
            raise VerosimError(
                f"box must have the form ((low, high), (low, high)); got {box!r}.",
                "Use two intervals of numbers, with the lower end first.",
            )
        return given
    seen = [one.points(60) for one in ellipses] + ([] if values is None else [values])
    if not seen or not sum(map(len, seen)):
        raise VerosimError(
            "The model has no ellipses, so the interval of each column is not known.",
            "Give the rows X, or box=((low, high), (low, high)).",
        )
    every = np.concatenate(seen)
    low, high = every.min(axis=0), every.max(axis=0)
    margin = np.where(high > low, 0.04 * (high - low), 1.0)
    return np.column_stack([low - margin, high + margin])


def _grid(box: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(GRID², 2) the centres of the cells, and the centres along each side."""
    across, up = (np.linspace(low, high, 2 * GRID + 1)[1::2] for low, high in box)
    return np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2), across, up


def _draw_regions(ax: Any, log_p: np.ndarray, box: np.ndarray, marks: list[Mark]) -> None:
    """Colour each cell by its most probable class, paler if the posterior is lower."""
    C = log_p.shape[1]
    best = log_p.argmax(axis=1)
    most = np.exp(log_p[np.arange(len(best)), best])
    strength = 0.12 + 0.22 * np.clip((most - 1 / C) / (1 - 1 / C), 0, 1)
    strength *= 1.5 if is_dark(ax) else 1.0
    ground = mixed("white", ax, 0.0)
    full = np.array([mixed(mark.colour, ax, 1.0) for mark in marks])
    image = ground + strength[:, None] * (full[best] - ground)
    ax.imshow(
        image.reshape(GRID, GRID, 3), origin="lower", extent=box.ravel().tolist(), aspect="auto",
        interpolation="bilinear", zorder=0,
    )  # fmt: skip


def _draw_curves(
    ax: Any, plane: Plane, log_p: np.ndarray, box: np.ndarray, across: np.ndarray, up: np.ndarray
) -> None:
    """Draw the boundary between each two classes, where both are the most probable."""
    how = {"color": ink(ax), "lw": 1.3, "zorder": 2}
    if not plane.is_gaussian:
        log_p = np.maximum(log_p, LOWEST_SCORE)
        for k in np.unique(log_p.argmax(axis=1))[1:].tolist():
            lead = log_p[:, k] - np.delete(log_p, k, axis=1).max(axis=1)
            ax.contour(
                across, up, lead.reshape(GRID, GRID), levels=[0.0], colors=[ink(ax)],
                linewidths=1.3, zorder=2,
            )  # fmt: skip
        return
    top = set(log_p.argmax(axis=1).tolist())
    for i in sorted(top):
        for j in sorted(one for one in top if one > i):
            for piece in plane.quadratic(i, j).curve(box).points(CURVE_POINTS):
                scores = plane.log_posterior(piece)
                shown = scores[:, [i, j]].max(axis=1) >= scores.max(axis=1) - 1e-9
                ax.plot(*np.where(shown[:, None], piece, np.nan).T, **how)


def _draw_ellipse(ax: Any, ellipse: Any, mark: Mark, axes: bool) -> None:
    """Draw an ellipse with its centre, and with its axes if there are few classes."""
    outline = ellipse.points(200)
    ax.plot(*np.vstack([outline, outline[:1]]).T, color=mark.colour, ls=mark.dash, lw=1.6, zorder=4)
    for axis in ellipse.half_axes.T if axes else ():
        ends = np.array([ellipse.centre - axis, ellipse.centre + axis])
        ax.plot(*ends.T, color=mark.colour, lw=0.7, alpha=0.8, zorder=4)
    ax.plot(
        *ellipse.centre, mark.marker, color=mark.colour, ms=7, mec=ink(ax), mew=1.0, zorder=5
    )  # fmt: skip
