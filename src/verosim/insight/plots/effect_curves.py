"""The result of `effect`: curves, steps or lines of categories.

curve of class k = φ_jk(x_j) − 1/C Σ_l φ_jl(x_j),   or   φ_jk(x_j) − φ_jl(x_j) of two classes
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from verosim.axes.groups import plain_label
from verosim.errors import VerosimError
from verosim.insight.effect import Effect
from verosim.insight.plots.canvas import axes_of, framed, legend, room, small
from verosim.insight.plots.palette import AGAINST, FOR, QUIET, Mark, marks_of, shortened

MOST_CATEGORIES = 20
MOST_CLASS_CURVES = 20
NARROWEST_BIN = 0.01  # of the range; with a narrower bin, each bin is one line


def draw_effect(found: Effect, column: str | None, of: Any, against: Any, ax: Any) -> Any:
    """Draw the effect of a column on two classes, or on each class."""
    if column not in (None, found.column):
        raise VerosimError(
            f"The effect is that of the column {found.column!r}; got {column!r}.",
            "Leave column out.",
        )
    pair = _pair(found, of, against)
    if pair is None:
        parts = found.contributions - found.contributions.mean(axis=1, keepdims=True)
        marks, about = (
            marks_of(found.classes)[:MOST_CLASS_CURVES],
            "each class, relative to their mean",
        )
    else:
        parts = found.difference(*pair)[:, None]
        marks, about = [], " against ".join(shortened(plain_label(one), 16) for one in pair)
    parts = np.where(np.isfinite(parts), parts, np.nan)[:, : max(len(marks), 1)]  # (n, 1 or C)
    widths = np.diff(found.edges)
    narrow = bool(len(widths)) and widths.min() < NARROWEST_BIN * widths.sum()
    numbers = None if narrow else cells_as_numbers(found.values)
    ax = axes_of(ax, (6.2, 4.0))
    if numbers is not None:
        _curves(ax, numbers, parts, marks, found.edges)
        ax.axhline(0, color=QUIET, lw=0.8, zorder=1)
        ax.set(xlabel=shortened(found.column), ylabel=f"evidence: {about}")
    else:
        _lines(ax, found.heads, parts, marks)
        ax.axvline(0, color=QUIET, lw=0.8, zorder=1)
        ax.set(xlabel=f"evidence: {about}", ylabel=shortened(found.column))
    if marks:
        legend(ax, marks, lines=numbers is not None)
    framed(ax)
    return ax


def _pair(found: Effect, of: Any, against: Any) -> tuple[Any, Any] | None:
    """The two classes to compare; None if all classes are drawn."""
    known = [plain_label(label) for label in found.classes]
    if len(known) == 2:
        if of is None:
            of = known[1] if against is None else next(k for k in known if k != against)
        return of, next((k for k in known if k != of), of) if against is None else against
    if (of is None) != (against is None):
        raise VerosimError(
            f"Two of the {len(known)} classes must be named, or none of them.",
            "Give both of and against.",
        )
    return None if of is None else (of, against)


def cells_as_numbers(cells: Sequence[Any]) -> np.ndarray | None:
    """(n,) the cells as numbers, nan if missing; None if they are values of a category."""
    if any(isinstance(cell, bool) for cell in cells):
        return None
    try:
        found = np.array([np.nan if cell is None else float(cell) for cell in cells])
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found).any() else None


def _curves(
    ax: Any, x: np.ndarray, parts: np.ndarray, marks: list[Mark], edges: Sequence[float]
) -> None:
    """Curves over numbers, or steps over bins; a missing value is left out."""
    known = np.isfinite(x)
    x, parts = x[known], parts[known]
    if len(edges) == len(x) + 1:  # the value at both ends of each bin
        x, parts = np.repeat(edges, 2)[1:-1], np.repeat(parts, 2, axis=0)
    else:
        order = np.argsort(x, kind="stable")
        x, parts = x[order], parts[order]
    for mark, part in zip(marks, parts.T, strict=False):
        ax.plot(x, part, color=mark.colour, ls=mark.dash, lw=1.8, label=mark.label, zorder=3)
    if not marks:
        part = parts[:, 0]
        for sign, colour, hatch in ((1, FOR, None), (-1, AGAINST, "////")):
            side = np.maximum(sign * part, 0) * sign
            ax.fill_between(
                x, 0, side, color=colour, alpha=0.2, lw=0, hatch=hatch, zorder=2
            )  # fmt: skip
            own = np.where(sign * part >= 0, part, np.nan)
            ax.plot(x, own, color=colour, lw=2.0, zorder=3)


def _lines(ax: Any, heads: Sequence[str], parts: np.ndarray, marks: list[Mark]) -> None:
    """One line per category: a bar of the difference, or one dot for each class."""
    n = min(len(heads), MOST_CATEGORIES, room(ax, small(ax)))
    usable = np.nan_to_num(parts)
    kept = np.argsort(-np.abs(usable).max(axis=1), kind="stable")[:n]
    kept = kept[np.argsort(usable[kept, 0], kind="stable")] if not marks else np.sort(kept)[::-1]
    at = np.arange(n)
    if marks:
        ax.hlines(
            at, usable[kept].min(axis=1), usable[kept].max(axis=1), color=QUIET, lw=0.8, alpha=0.6
        )
        for mark, part in zip(marks, parts[kept].T, strict=False):
            ax.plot(part, at, mark.marker, color=mark.colour, ms=6, label=mark.label, zorder=3)
    else:
        part = usable[kept, 0]
        colours = [FOR if one >= 0 else AGAINST for one in part.tolist()]
        ax.hlines(at, 0, part, color=colours, lw=2.2, zorder=2)
        for line, one in enumerate(part.tolist()):
            ax.plot(one, line, "o" if one >= 0 else "s", color=colours[line], ms=7, zorder=3)
    ax.set_yticks(at, [shortened(str(heads[k]).strip("'")) for k in kept], fontsize=small(ax))
    ax.set_ylim(-0.6, n - 0.4)
    if n < len(heads):
        title = f"{n} of {len(heads)} values are drawn"
        ax.set_title(title, loc="left", fontsize="small", color=QUIET)
