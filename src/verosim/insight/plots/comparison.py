"""Plot of learning curves: the score against the number of rows on a logarithmic axis.

    curve ± 2 standard errors

The names are next to the curves, and not in a legend, unless there are many curves.
Reference: Tufte (2001), The visual display of quantitative information.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.drawing import library
from verosim.insight.plots.canvas import axes_of, framed
from verosim.insight.plots.palette import COLOURS, QUIET

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes
    from verosim.twins.comparison.curves import Comparison

WIDTH = 2.0  # half the width of a band, in standard errors
SHORT = 8  # if largest size / smallest size is below this, the sizes are the ticks
MOST_LABELS = 8  # with more curves, the names are in a legend


def plot_comparison(
    found: Comparison,
    ax: PlotAxes | None = None,
    labels: bool = True,
    crossings: bool = True,
    colours: dict[str, str] | None = None,
) -> PlotAxes:
    """Draw the curves of a comparison on matplotlib axes."""
    ax = axes_of(ax, (6.4, 4.0))
    usual = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(found.names)}
    usual |= colours or {}
    discriminative = {pair[1] for pair in found.pairs}
    _frame(ax, found)
    if crossings:
        _mark_crossings(ax, found)
    for name, mean, error in zip(found.names, found.mean, found.standard_error, strict=True):
        band = WIDTH * np.nan_to_num(error)
        ax.fill_between(found.sizes, mean - band, mean + band, color=usual[name], alpha=0.15, lw=0)
        dashes = (0, (4, 1.5)) if name in discriminative else "-"
        ax.plot(
            found.sizes, mean, color=usual[name], lw=1.6, ls=dashes, marker="o", ms=2.8, label=name
        )
    if labels and len(found.names) <= MOST_LABELS:
        _name_curves(ax, found, usual)
    elif labels:
        ax.legend(frameon=False, fontsize="small", ncols=2)
    return ax


def _frame(ax: Any, found: Comparison) -> None:
    ticker = library("ticker")
    ax.set_xscale("log")
    low, high = float(found.sizes[0]), float(found.sizes[-1])
    if high > low:
        ax.set_xlim(low / (high / low) ** 0.03, high * (high / low) ** 0.03)
    if high / low < SHORT:  # the axis is too short for powers of ten
        ax.xaxis.set_major_locator(ticker.FixedLocator(found.sizes.tolist(), nbins=6))
    else:
        subs = (1.0, 2.0, 5.0) if high / low < 200 else (1.0,)
        ax.xaxis.set_major_locator(ticker.LogLocator(base=10, subs=subs, numticks=12))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda size, _: f"{size:,.0f}"))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    ax.set_xlabel("training rows")
    ax.set_ylabel(found.scoring.replace("_", " "))
    framed(ax, "y")


def _mark_crossings(ax: Any, found: Comparison) -> None:
    """Draw a ring at each crossing, and a bar on the axis for its interval."""
    x = np.log(found.sizes)
    first, last = float(found.sizes[0]), float(found.sizes[-1])
    for crossing in found.crossings:
        if crossing.size is None:
            continue
        mean = found.mean[found.names.index(crossing.generative)]
        known = ~np.isnan(mean)
        height = np.interp(np.log(crossing.size), x[known], mean[known])
        ax.plot(crossing.size, height, "o", ms=8, mfc="none", mec=QUIET, mew=1.0, zorder=4)
        low, high = max(crossing.low, first), min(crossing.high, last)
        if low < high:
            ax.plot(
                [low, high], [0.012, 0.012], color=QUIET, lw=2.5, alpha=0.6,
                transform=ax.get_xaxis_transform(), solid_capstyle="butt",
            )  # fmt: skip


def _name_curves(ax: Any, found: Comparison, colours: dict[str, str]) -> None:
    """Write the names to the right of the last points, moved so that they do not overlap."""
    ends = {}
    for name, mean in zip(found.names, found.mean, strict=True):
        known = np.flatnonzero(~np.isnan(mean))
        if len(known):
            ends[name] = (float(found.sizes[known[-1]]), float(mean[known[-1]]))
    if not ends:
        return
    points = ax.figure.dpi / 72  # pixels per point
    gap = 10.5 * points
    order = sorted(ends, key=lambda name: ends[name][1])
    wanted = np.array([ax.transData.transform(ends[name])[1] for name in order])
    placed = _apart(wanted, gap)
    for name, own, at in zip(order, wanted, placed, strict=True):
        ax.annotate(
            name, ends[name], xytext=(7, (at - own) / points), textcoords="offset points",
            va="center", fontsize=9, color=colours[name], annotation_clip=False,
        )  # fmt: skip


def _apart(heights: np.ndarray, gap: float) -> np.ndarray:
    """Heights with distances of at least `gap`, by least squares close to the given heights.

    After i · gap is subtracted from height i, the heights must not decrease.
    """
    from sklearn.isotonic import isotonic_regression

    steps = gap * np.arange(len(heights))
    return isotonic_regression(heights - steps) + steps
