"""A list of names with one dot and one interval each, the best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from verosim.insight.plots.canvas import axes_of, framed, room, small
from verosim.insight.plots.palette import FOR, QUIET, shortened

MOST_DOTS = 25
LONGEST_LINE = 44  # letters
INCH_PER_LINE = 0.27


def dot_list(
    names: Sequence[str],
    values: np.ndarray,
    errors: np.ndarray,
    *,
    label: str,
    best: int = -1,
    notes: Sequence[str] = (),
    total: int = 0,
    ax: Any = None,
) -> Any:
    """Draw values with their standard errors, from top to bottom."""
    n = min(len(names), MOST_DOTS)
    ax = axes_of(ax, (7.2, 1.1 + INCH_PER_LINE * max(n, 4)))
    n = min(n, room(ax, small(ax)))
    at = np.arange(n)
    colours = [FOR if i == best or best < 0 else QUIET for i in range(n)]
    if best >= 0 and best < n:
        ax.axvline(values[best], color=FOR, lw=0.8, ls=(0, (3, 3)), alpha=0.7, zorder=1)
    band = 2 * np.nan_to_num(errors[:n])
    ax.hlines(at, values[:n] - band, values[:n] + band, color=colours, lw=1.8, zorder=2)
    for i in range(n):
        ax.plot(values[i], i, "D" if i == best else "o", color=colours[i], ms=6, zorder=3)
    for i, note in enumerate(notes[:n]):
        ax.annotate(
            note, (1.0, i), xycoords=("axes fraction", "data"), xytext=(6, 0),
            textcoords="offset points", va="center", fontsize=small(ax), color=QUIET,
            annotation_clip=False,
        )  # fmt: skip
    ax.set_yticks(at, [shortened(name, LONGEST_LINE) for name in names[:n]], fontsize=small(ax))
    ax.set_ylim(n - 0.4, -0.6)
    ax.set_xlabel(label)
    framed(ax, "x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    total = max(total, len(names))
    if n < total:
        ax.set_title(f"{n} of {total:,} are shown", loc="left", fontsize="small", color=QUIET)
    return ax
