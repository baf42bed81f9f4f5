"""The posteriors of a row before and after a change: results of `what_if` and `counterfactual`."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.errors import VerosimError
from verosim.insight.plots.canvas import axes_of, framed, mixed, room, small
from verosim.insight.plots.palette import AGAINST, FOR, QUIET, shortened

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes

MOST_CHANGED_CLASSES = 12
LEAST_DRAWN = 0.005  # smaller posteriors and changes are 0.00 in the picture
INCH_PER_CLASS = 0.36
TITLE_WIDTH = 64  # letters


def plot_change(
    classes: np.ndarray, posterior: np.ndarray | None, title: str, *, ax: PlotAxes | None = None
) -> PlotAxes:
    """Draw the posterior of each class before (empty dot) and after (full dot) a change."""
    if posterior is None:
        raise VerosimError(
            "The model has no probabilities to draw.", "Use a model with probabilities."
        )
    before, after = posterior
    seen = int((posterior.max(axis=0) >= LEAST_DRAWN).sum())
    n = min(len(classes), MOST_CHANGED_CLASSES, max(seen, 3))
    ax = axes_of(ax, (6.4, 1.5 + INCH_PER_CLASS * max(n, 3)))
    n = min(n, room(ax, small(ax)))
    kept = np.argsort(-posterior.max(axis=0), kind="stable")[:n]
    for i, k in enumerate(kept.tolist()):
        up = after[k] >= before[k]
        colour: Any = FOR if up else AGAINST
        if abs(after[k] - before[k]) < LEAST_DRAWN:
            colour = QUIET
        ax.plot([before[k], after[k]], [i, i], color=colour, lw=2.2, ls="-" if up else "--")
        ax.plot(before[k], i, "o", ms=7, mec=colour, mfc=mixed(colour, ax, 0.0), mew=1.6, zorder=3)
        ax.plot(after[k], i, "o" if up else "s", ms=8, color=colour, zorder=4)
        ax.annotate(
            f"{before[k]:.2f} → {after[k]:.2f}", (1.0, i), xycoords=("axes fraction", "data"),
            xytext=(6, 0), textcoords="offset points", va="center", fontsize=small(ax),
            annotation_clip=False,
        )  # fmt: skip
    names = [shortened(plain_label(classes[k])) for k in kept.tolist()]
    ax.set_yticks(range(n), names, fontsize=small(ax))
    ax.set(ylim=(n - 0.4, -0.6), xlim=(-0.02, 1.02))
    ax.set_xlabel("posterior of the class; empty dot: before, full dot: after")
    note = "" if n == len(classes) else f"\n{n} of {len(classes)} classes are drawn"
    lines = wrap(title.replace("$", r"\$"), TITLE_WIDTH, max_lines=3, placeholder=" …")
    ax.set_title("\n".join(lines) + note, loc="left", fontsize="small")
    framed(ax, "x")
    ax.axvline(0.5, color=QUIET, lw=0.8, ls=(0, (3, 3)), zorder=0)
    ax.tick_params(axis="y", length=0)
    return ax
