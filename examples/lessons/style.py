"""The look of the pictures in the lessons.

    class → colour and marker,   model → colour and dash

The colours are those of Okabe & Ito, which colour-blind readers can distinguish. Markers and dashes
repeat the information.
Reference: Tufte (2001), The visual display of quantitative information.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from verosim.insight.plots.palette import COLOURS, QUIET

BLUE, RED, GREEN, PINK, SKY, AMBER = COLOURS[:6]
DARK = "#555555"
CLASSES = ((BLUE, "o"), (AMBER, "s"), (GREEN, "^"))  # colour and marker
PALE = ("#CFE3F1", "#FBEBCC", "#CCECE2")  # the regions of the classes
STYLE: Any = {
    "figure.dpi": 150,
    "savefig.dpi": 150,
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.6,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": "#333333",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": "#333333",
    "ytick.labelcolor": "#333333",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.6,
}


def draw_rows(ax: Any, X: np.ndarray, y: np.ndarray, names: Sequence[str] = (), **how: Any) -> None:
    """Draw rows as points, with one colour and one marker per class."""
    how = {"s": 13, "alpha": 0.85, "linewidths": 0.4, "edgecolors": "white"} | how
    for k, (colour, marker) in enumerate(CLASSES[: int(y.max()) + 1]):
        label = names[k] if k < len(names) else None
        ax.scatter(*X[y == k].T, color=colour, marker=marker, label=label, **how)


def plane(ax: Any, xlim: tuple[float, float], ylim: tuple[float, float]) -> None:
    """Set up axes of two columns with equal units and without tick labels."""
    ax.set(xlim=xlim, ylim=ylim, aspect="equal", xticks=[], yticks=[])
    ax.set_xlabel("$x_1$", labelpad=2)
    ax.set_ylabel("$x_2$", labelpad=2)


def draw_line(ax: Any, w: np.ndarray, b: float, **how: Any) -> None:
    """Draw the line wᵀx + b = 0."""
    foot = -b * w / (w @ w)
    ax.axline(foot, foot + np.array([w[1], -w[0]]) / np.linalg.norm(w), **how)


def draw_regions(ax: Any, model: Any, box: Any) -> None:
    """Colour the region of each class, with a pale form of the colours of `plot_boundary`."""
    from matplotlib.colors import ListedColormap, to_rgb

    cells = grid(*box)
    steps = round(len(cells) ** 0.5)
    known = {label: k for k, label in enumerate(model.classes_.tolist())}
    best = np.array([known[label] for label in model.predict(cells).tolist()])
    pale = [tuple(0.8 + 0.2 * np.array(to_rgb(colour))) for colour in COLOURS[: len(known)]]
    ax.imshow(
        best.reshape(steps, steps), cmap=ListedColormap(pale), vmin=0, vmax=len(known) - 1,
        origin="lower", extent=(*box[0], *box[1]), interpolation="nearest", zorder=0,
    )  # fmt: skip


def plain_numbers(axis: Any) -> None:
    """Write tick labels as 0.01 and 1,000 instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 else f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def grid(xlim: tuple[float, float], ylim: tuple[float, float], steps: int = 400) -> np.ndarray:
    """(steps², 2) the centres of the cells of a picture."""
    sides = [np.linspace(*lim, 2 * steps + 1)[1::2] for lim in (xlim, ylim)]
    return np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)


def gaussian(rng: np.random.Generator, n: int, mean: Any, covariance: Any) -> np.ndarray:
    """(n, d) random rows of N(mean, covariance)."""
    root = np.linalg.cholesky(np.asarray(covariance, dtype=float))
    return rng.standard_normal((n, len(mean))) @ root.T + mean
