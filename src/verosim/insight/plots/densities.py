"""What a model has learned about each column: p(x | class).

Gaussian columns are curves, histograms are steps, and categories and tokens are dots.
Reference: Cleveland (1985), The elements of graphing data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import poisson

from verosim.arguments import checked
from verosim.bayes.learned import GAP
from verosim.densities import estimates as of
from verosim.drawing import library
from verosim.errors import VerosimError
from verosim.insight.plots.canvas import (
    MOST_IN_LEGEND,
    axes_of,
    figure_of,
    framed,
    legend,
    panels,
    room,
    small,
)
from verosim.insight.plots.palette import QUIET, Mark, marks_of, shortened
from verosim.insight.plots.rows import check_fitted
from verosim.stats.hollow import names_itself

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes, PlotFigure
    from verosim.estimators.score_mixin import ScoreMixin

MOST_PANELS = 12
PANELS_ACROSS = 3
DRAWN_DEVIATIONS = 3.5  # how far the curve of a Gaussian is drawn
MOST_VALUES = 12  # of a category or a text
SHORT_VALUE = 16  # letters
MOST_CURVES = 20
HIGHEST_BIN = 12.0  # times the mean height; with a higher bin, shares are drawn


@names_itself
@checked
def plot_densities(
    model: ScoreMixin,
    columns: str | int | Sequence[str | int] | None = None,
    *,
    most: int = MOST_PANELS,
    ax: PlotAxes | None = None,
    figure: PlotFigure | None = None,
) -> PlotAxes | PlotFigure:
    """Draw the density p(x | class) of each column that a model has learned.

    A Gaussian column is one curve per class, a histogram is one line of steps, and a count is the
    probability of each number. A category, a true or false column and a text have one dot per class
    and value, at the share of the value in the class. Of many values, those with the largest
    differences between the classes are drawn. A histogram with a very high bin is drawn in the same
    way, by the shares of its bins.

    Parameters
    ----------
    model : generative classifier
        A fitted model with the method `learned`.
    columns : str, int, sequence of str or int, or None, default=None
        One column, which is drawn on `ax`, or several columns, one panel each. None draws the first
        columns of the model that are not constant.
    most : int, default=12
        The largest number of panels.
    ax : matplotlib.axes.Axes or None, default=None
        The axes for one column. None makes a new figure.
    figure : matplotlib figure, subfigure or None, default=None
        The figure for several columns. None makes a new one.

    Returns
    -------
    matplotlib.axes.Axes or matplotlib figure
        The axes if `columns` is one column, else the figure.

    Raises
    ------
    VerosimError
        If the model has no densities of single columns.

    References
    ----------
    Cleveland (1985), The Elements of Graphing Data, Wadsworth.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import GaussianNB, plot_densities
    >>> model = GaussianNB().fit(*load_iris(return_X_y=True))
    >>> ax = plot_densities(model, "x2")
    >>> ax.get_xlabel(), len(ax.lines)
    ('x2', 3)
    >>> len(plot_densities(model).axes)
    4
    """
    fitted = check_fitted(model, "plot_densities")
    if not hasattr(fitted, "learned"):
        raise VerosimError(
            f"{type(fitted).__name__} has no densities to draw.", "Use a generative model."
        )
    marks = marks_of(fitted.classes_)
    if isinstance(columns, str | int | np.integer):
        ax = axes_of(ax, (5.6, 3.6))
        table = fitted.learned(columns)
        is_lines = _draw(ax, table, marks)
        legend(ax, marks, lines=is_lines)
        return ax
    every = fitted.learned()
    tables = [table for table in every if _varies(table)] if columns is None else []
    tables += [] if columns is None else [fitted.learned(one) for one in columns]
    shown = tables[:most]
    if not shown:
        raise VerosimError("There is no column to draw.", "Name at least one column.")
    across = min(PANELS_ACROSS, len(shown))
    down = -(-len(shown) // across)
    size = (3.7 * across + 1.2, 2.7 * down + 0.3) if len(shown) > 1 else (6.4, 4.2)
    figure = figure_of(figure, size)
    axes = panels(figure, len(shown), across)
    for one, table in zip(axes, shown, strict=True):
        _draw(one, table, marks)
    _shared_legend(figure, marks)
    if len(shown) < len(tables):
        figure.suptitle(
            f"{len(shown)} of {len(tables)} columns are drawn", fontsize="small", color=QUIET
        )
    return figure


def _varies(table: Any) -> bool:
    """Whether a column has a density to draw: a constant Gaussian column has none."""
    return table.kind != of.GAUSSIAN_TABLE or bool((table.values[:, 1] > 0).any())


def _shared_legend(figure: Any, marks: list[Mark]) -> None:
    """One legend for all panels: lines with markers."""
    Line = library("lines").Line2D
    handles = [
        Line([], [], color=m.colour, ls=m.dash, marker=m.marker, ms=5, lw=1.6, label=m.label)
        for m in marks[:MOST_IN_LEGEND]
    ]
    if len(marks) > MOST_IN_LEGEND:
        handles.append(Line([], [], color="none", label=f"and {len(marks) - MOST_IN_LEGEND} more"))
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize="small")


def _draw(ax: Any, table: Any, marks: list[Mark]) -> bool:
    """Draw one column, and say whether the classes are lines."""
    # A date has several parts: the one in which the classes differ most is drawn.
    spread = np.nan_to_num(np.nanmax(table.values, axis=0) - np.nanmin(table.values, axis=0))
    parts = [part for part in dict.fromkeys(table.parts) if part != GAP] or [table.parts[0]]
    best = max(parts, key=lambda part: spread[[one == part for one in table.parts]].max())
    own = np.array([part == best for part in table.parts])
    values = table.values[:, own]
    heads = [head for head, kept in zip(table.heads, own.tolist(), strict=True) if kept]
    name = shortened(f"{table.column} ({best})" if best else table.column)
    edges = np.array(table.edges) if table.kind == of.HEIGHTS_TABLE else None
    if edges is not None and (len(edges) != values.shape[1] + 1 or not (np.diff(edges) > 0).all()):
        edges = None  # the bin of a single value has no width, so it has no height to draw
    if table.kind == of.GAUSSIAN_TABLE:
        _gaussian(ax, values, marks)
    elif table.kind == of.RATE_TABLE:
        _counts(ax, values[:, 0], marks)
    elif edges is not None and not _is_spiky(values, edges):
        _steps(ax, values, edges, marks)
    else:
        # Bins of very different widths have heights that hide each other, but not their shares.
        shares = values if edges is None else values * np.diff(edges)
        _dots(ax, shares, heads, marks)
        if table.kind == of.TOKENS_TABLE:  # shares of rare and of common words
            known = shares[shares > 0]
            ax.set_xscale("log")
            ax.set_xlim(0.7 * known.min(initial=1.0), 1.4 * known.max(initial=1e-12))
        ax.set_xlabel("share in the class")
        ax.set_title(name, loc="left", fontsize="medium")
        framed(ax, "x")
        return False
    ax.set(xlabel=name, yticks=[], ylim=(0, None))
    ax.locator_params(axis="x", nbins=5)
    framed(ax)
    ax.spines["left"].set_visible(False)
    return True


def _gaussian(ax: Any, values: np.ndarray, marks: list[Mark]) -> None:
    mean, deviation = values.T
    there = np.isfinite(mean) & np.isfinite(deviation) & (deviation > 0)
    if not there.any():
        return
    low = (mean - DRAWN_DEVIATIONS * deviation)[there].min()
    high = (mean + DRAWN_DEVIATIONS * deviation)[there].max()
    for k in np.flatnonzero(there)[:MOST_CURVES].tolist():
        # Points around the own mean, so that a narrow curve is smooth.
        near = mean[k] + deviation[k] * np.linspace(-5, 5, 121)
        x = np.unique(np.concatenate([np.linspace(low, high, 121), near]).clip(low, high))
        height = np.exp(-0.5 * ((x - mean[k]) / deviation[k]) ** 2) / deviation[k]
        _curve(ax, x, height / np.sqrt(2 * np.pi), marks[k])


def _curve(ax: Any, x: np.ndarray, height: np.ndarray, mark: Mark) -> None:
    ax.fill_between(x, 0, height, color=mark.colour, alpha=0.12, lw=0)
    ax.plot(x, height, color=mark.colour, ls=mark.dash, lw=1.6, label=mark.label)


def _counts(ax: Any, rates: np.ndarray, marks: list[Mark]) -> None:
    there = np.isfinite(rates)
    top = int(poisson.ppf(0.999, rates[there].max())) + 1
    x = np.unique(np.linspace(0, top, 40).astype(int))
    for k in np.flatnonzero(there)[:MOST_CURVES].tolist():
        m = marks[k]
        ax.plot(x, poisson.pmf(x, rates[k]), color=m.colour, ls=m.dash, marker=m.marker, ms=3.5,
                lw=1.2, label=m.label)  # fmt: skip


def _is_spiky(heights: np.ndarray, edges: np.ndarray) -> bool:
    """Whether one bin is so high that the others cannot be seen."""
    return bool(np.nanmax(heights, initial=0.0) * np.ptp(edges) > HIGHEST_BIN)


def _steps(ax: Any, heights: np.ndarray, edges: Any, marks: list[Mark]) -> None:
    for mark, height in list(zip(marks, heights, strict=True))[:MOST_CURVES]:
        ax.stairs(height, edges, color=mark.colour, fill=True, alpha=0.10)
        ax.stairs(height, edges, color=mark.colour, ls=mark.dash, lw=1.6, label=mark.label)


def _dots(ax: Any, values: np.ndarray, heads: list[Any], marks: list[Mark]) -> None:
    """One line per value and one dot per class."""
    n = min(len(heads), MOST_VALUES, room(ax, small(ax)))
    # Common values differ a little by chance alone, so the ratio to the mean counts as well.
    mean = np.maximum(np.nanmean(values, axis=0), 1e-300)
    ratio = np.maximum(values, 1e-300) / mean
    spread = np.nanmax(values * np.log(ratio) ** 2, axis=0)
    kept = np.sort(np.argsort(-spread, kind="stable")[:n])
    ax.hlines(
        range(n), np.nanmin(values[:, kept], axis=0), np.nanmax(values[:, kept], axis=0),
        color=QUIET, lw=0.8, alpha=0.6, zorder=1,
    )  # fmt: skip
    for mark, row in zip(marks, values[:, kept], strict=True):
        ax.plot(row, range(n), mark.marker, color=mark.colour, ms=5.5, alpha=0.9, label=mark.label)
    ax.set_yticks(range(n), [shortened(heads[i], SHORT_VALUE) for i in kept.tolist()],
                  fontsize=small(ax))  # fmt: skip
    ax.set_ylim(n - 0.4, -0.6)
    top = float(np.nanmax(values[:, kept], initial=1e-12))
    ax.set_xlim(-0.04 * top, 1.06 * top)  # from 0, so that small differences look small
    ax.tick_params(axis="y", length=0)
    if n < len(heads):
        ax.annotate(
            f"{n} of {len(heads)} values", (1, 1), xycoords="axes fraction", ha="right",
            va="bottom", fontsize=small(ax) * 0.9, color=QUIET,
        )  # fmt: skip
