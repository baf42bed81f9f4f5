"""Axes and figures of matplotlib: how pictures are set up.

A picture is drawn on the axes that are given, or on new ones. New figures use the settings of
matplotlib that the caller has chosen, and are never shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from verosim.drawing import library
from verosim.errors import VerosimError
from verosim.insight.plots.palette import QUIET, Mark, shortened

MOST_POINTS = 5_000
MOST_IN_LEGEND = 20
LEAST_CONTRAST = 3.6  # of white text on a colour
LINE_HEIGHT = 1.45  # of a line of text, in font sizes


def axes_of(ax: Any, size: tuple[float, float] = (6.4, 4.2)) -> Any:
    """The axes that were given, or the axes of a new figure."""
    if ax is None:
        return library().subplots(figsize=size, layout="constrained")[1]
    if not hasattr(ax, "plot") or not hasattr(ax, "transData"):
        raise VerosimError(
            f"ax must be matplotlib axes; got {ax!r}.",
            "Use plot().figure.savefig('plot.png') to save a plot.",
        )
    return ax


def figure_of(figure: Any, size: tuple[float, float]) -> Any:
    """The figure or subfigure that was given, or a new figure."""
    if figure is None:
        return library().figure(figsize=size, layout="constrained")
    if not hasattr(figure, "subplots"):
        raise VerosimError(
            f"figure must be a matplotlib figure or subfigure; got {figure!r}.",
            "Use figure=None to draw on a new figure.",
        )
    return figure


def panels(figure: Any, count: int, columns: int) -> list[Any]:
    """Axes in a grid with at most so many columns."""
    across = min(count, columns)
    grid = figure.add_gridspec(-(-count // across), across)
    return [figure.add_subplot(grid[i // across, i % across]) for i in range(count)]


def ground(ax: Any) -> np.ndarray:
    """(3,) the background of the axes.

    Transparent axes show their figure. A transparent figure is on a page that is not known, so the
    page is taken to be light if the labels are dark, and dark if they are light.
    """
    to_rgba = library("colors").to_rgba
    for part in (ax, ax.figure, ax.figure.figure):
        colour = to_rgba(part.get_facecolor())
        if colour[3] > 0:
            return np.array(colour[:3])
    return np.ones(3) if _is_dark(to_rgba(ax.xaxis.label.get_color())[:3]) else np.zeros(3)


def _is_dark(colour: Any) -> bool:
    red, green, blue = colour
    return bool(0.3 * red + 0.59 * green + 0.11 * blue < 0.5)


def is_dark(ax: Any) -> bool:
    """Whether the axes have a dark background."""
    return _is_dark(ground(ax))


def ink(ax: Any) -> str:
    """The colour of text on these axes."""
    return "#EEEEEE" if is_dark(ax) else "#222222"


def ink_on(colour: Any) -> str:
    """White on a colour if the contrast (WCAG 2) is large enough, else black."""
    rgb = np.array(library("colors").to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return "#FFFFFF" if 1.05 / (luminance + 0.05) >= LEAST_CONTRAST else "#111111"


def mixed(colour: Any, ax: Any, share: float) -> np.ndarray:
    """(3,) a share of a colour on the background of the axes."""
    return share * np.array(library("colors").to_rgb(colour)) + (1 - share) * ground(ax)


def framed(ax: Any, grid: str = "") -> None:
    """Remove the upper and right edge, and draw a quiet grid along an axis."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, color=QUIET, lw=0.6, alpha=0.35)
        ax.set_axisbelow(True)


def small(ax: Any) -> float:
    """The size of notes and labels of values, in points."""
    return float(0.85 * library("font_manager").FontProperties(size="medium").get_size_in_points())


def room(ax: Any, size: float) -> int:
    """The number of lines of text of this size that fit beside the axes."""
    height = ax.get_window_extent().height / ax.figure.dpi * 72  # points
    return max(1, int(height / (LINE_HEIGHT * size)))


def legend(ax: Any, marks: Sequence[Mark], lines: bool = False, **how: Any) -> Any:
    """A legend of classes with their colours and second marks; outside if there are many."""
    Line = library("lines").Line2D
    handles = [
        Line([], [], color=mark.colour, ls=mark.dash, lw=1.8, label=mark.label)
        if lines
        else Line([], [], color=mark.colour, marker=mark.marker, ls="", ms=5, label=mark.label)
        for mark in marks[:MOST_IN_LEGEND]
    ]
    if len(marks) > MOST_IN_LEGEND:
        more = f"and {len(marks) - MOST_IN_LEGEND} more"
        handles.append(Line([], [], color="none", label=more))
    where: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    return ax.legend(
        handles=handles, frameon=False, fontsize="small", borderaxespad=0.0, **(where | how)
    )


def thinned(n: int, most: int = MOST_POINTS) -> np.ndarray:
    """The positions of at most so many of n rows, chosen at random with a fixed seed."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def row_note(shown: int, total: int) -> str:
    """The note of a picture that does not draw all rows."""
    return "" if shown >= total else f"{shown:,} of {total:,} rows are drawn"


def scatter(ax: Any, points: np.ndarray, codes: np.ndarray, marks: Sequence[Mark]) -> None:
    """Draw rows (n, 2) with the colour and the marker of their class."""
    n = len(points)
    how = {"s": 16 if n < 600 else 7 if n < 2500 else 4, "alpha": 0.85 if n < 600 else 0.6}
    for k, mark in enumerate(marks):
        own = points[codes == k]
        if len(own):
            ax.scatter(
                own[:, 0], own[:, 1], color=mark.colour, marker=mark.marker, label=mark.label,
                linewidths=0.3, edgecolors=[mixed(mark.colour, ax, 0.25)], zorder=3, **how,
            )  # fmt: skip


def name_values(ax: Any, labels: Sequence[object], size: float, axis: str = "y") -> None:
    """Tick labels 0, 1, … of an axis, shortened; only some if they do not fit."""
    extent = ax.get_window_extent()
    length = extent.height if axis == "y" else extent.width
    fits = max(1, int(length / ax.figure.dpi * 72 / (LINE_HEIGHT * size)))
    step = -(-len(labels) // fits)
    at = range(0, len(labels), step)
    texts = [shortened(labels[i]) for i in at]
    if axis == "y":
        ax.set_yticks(list(at), texts, fontsize=size)
    else:
        wide = max(map(len, texts), default=0) * 0.6 * size
        turned = wide * len(texts) > length / ax.figure.dpi * 72
        ax.set_xticks(list(at), texts, fontsize=size, rotation=90 if turned else 0)
