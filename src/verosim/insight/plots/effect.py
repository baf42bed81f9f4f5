"""How the evidence of a column depends on its value.

    contribution of column j to the log-odds, against x_j, for all explained rows

Reference: Lundberg et al. (2020), From local explanations to global understanding with explainable
AI for trees (dependence plots).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.axes.groups import plain_label
from verosim.errors import VerosimError, listed
from verosim.insight.effect import Effect
from verosim.insight.explanation import Explanation
from verosim.insight.plots.canvas import axes_of, framed, room, row_note, small, thinned
from verosim.insight.plots.effect_curves import MOST_CATEGORIES, cells_as_numbers, draw_effect
from verosim.insight.plots.evidence import check_explanation
from verosim.insight.plots.palette import AGAINST, FOR, QUIET, shortened

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes


@checked
def plot_effect(
    found: Explanation | Effect,
    column: str | None = None,
    *,
    of: Hashable | None = None,
    against: Hashable | None = None,
    ax: PlotAxes | None = None,
) -> PlotAxes:
    """Draw the contribution of one column to the log-odds against its value.

    With the result of `effect`, the picture is a curve, steps, or one line per category. Two
    classes are drawn by their difference. More classes have one curve each, relative to the mean of
    the classes, unless `of` and `against` name two of them:

        curve of class k = φ_jk(x_j) − 1/C Σ_l φ_jl(x_j)

    With the result of `explain`, each point is one row. Points above zero are evidence for
    the class. In a naive model the contribution depends on the value alone; in other models it also
    depends on the other columns, so that a value has a cloud of points.

        log p(k | x) / p(l | x) = prior + Σ_j (φ_jk − φ_jl)

    Use `explain(model, X, of=…, against=…)`, so that all rows compare the same two classes. At most
    5,000 rows are drawn, and the picture states it.

    Parameters
    ----------
    found : Explanation or Effect
        The result of :func:`explain` or of :func:`effect`.
    column : str or None, default=None
        The name of the column. An explanation needs it.
    of : str, int, bool or None, default=None
        The class for which a positive value is evidence, for the result of :func:`effect`. None
        uses the second of two classes, or draws all classes.
    against : str, int, bool or None, default=None
        The other class. None uses the other one of two classes.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the points.

    Raises
    ------
    VerosimError
        If the explanation has no such column, if the column has texts, or if only one of three or
        more classes is named.

    References
    ----------
    Lundberg et al. (2020), From local explanations to global understanding with explainable AI for
    trees, Nature Machine Intelligence 2, 56–67.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import GaussianNB, explain, plot_effect
    >>> X, y = load_iris(return_X_y=True)
    >>> found = explain(GaussianNB().fit(X, y), X, of=2, against=1)
    >>> plot_effect(found, "x2").get_xlabel()
    'x2'
    """
    if isinstance(found, Effect):
        return draw_effect(found, column, of, against, ax)
    if of is not None or against is not None:
        raise VerosimError(
            "The arguments of and against belong to the result of effect.",
            "Use plot_effect(explain(model, X, of=…, against=…), column).",
        )
    every = check_explanation(found, "plot_effect").folded()
    if column not in every.names:
        raise VerosimError(
            f"The column {column!r} is not a column of the model.",
            f"Use one of {listed(list(every.names))}.",
        )
    j = every.names.index(column)
    if any(terms.player == j for terms in every.parts.tokens):
        raise VerosimError(
            f"The column {column!r} has texts, which have no scale to draw.",
            "Use plot_evidence_summary, which draws the words of texts.",
        )
    at = thinned(len(every))
    parts = every.differences[at, j]
    cells = [plain_label(every.value(int(i), j)) for i in at]
    pairs = {
        (plain_label(a), plain_label(b)) for a, b in zip(every.chosen, every.against, strict=True)
    }
    about = "predicted class against runner-up"
    if len(pairs) == 1:
        ((chosen, other),) = pairs
        about = f"{shortened(chosen, 16)} against {shortened(other, 16)}"
    ax = axes_of(ax, (6.2, 4.0))
    numbers = cells_as_numbers(cells)
    if numbers is not None:
        _numbers(ax, numbers, parts)
        ax.axhline(0, color=QUIET, lw=0.8, zorder=1)
        ax.set(xlabel=shortened(column), ylabel=f"evidence: {about}")
        framed(ax)
    else:
        _categories(ax, cells, parts)
        ax.axvline(0, color=QUIET, lw=0.8, zorder=1)
        ax.set(xlabel=f"evidence: {about}", ylabel=shortened(column))
        framed(ax)
    note = row_note(len(at), len(every))
    if note:
        ax.set_title(note, loc="left", fontsize="small", color=QUIET)
    return ax


def _numbers(ax: Any, x: np.ndarray, parts: np.ndarray) -> None:
    for own, colour, marker in ((parts >= 0, FOR, "o"), (parts < 0, AGAINST, "x")):
        ax.scatter(
            x[own], parts[own], s=12 if len(x) < 800 else 5, color=colour, marker=marker, alpha=0.6,
            linewidths=0.7 if marker == "x" else 0, zorder=2,
        )  # fmt: skip


def _categories(ax: Any, cells: list[Any], parts: np.ndarray) -> None:
    """One line per value, from the strongest evidence against to the strongest evidence for."""
    values = list(dict.fromkeys(cells))
    codes = np.array([values.index(cell) for cell in cells])
    counts = np.bincount(codes)
    usable = np.where(np.isfinite(parts), parts, 0.0)
    means = np.bincount(codes, usable) / counts
    n = min(len(values), MOST_CATEGORIES, room(ax, small(ax)))
    kept = np.argsort(-counts, kind="stable")[:n]
    kept = kept[np.argsort(means[kept], kind="stable")].tolist()
    for line, k in enumerate(kept):
        own = usable[codes == k]
        colour, marker = (FOR, "o") if means[k] >= 0 else (AGAINST, "s")
        ax.plot([own.min(), own.max()], [line, line], color=colour, lw=3, alpha=0.35, zorder=1)
        ax.plot(means[k], line, marker, color=colour, ms=6, zorder=3)
    names = ["missing" if values[k] is None else shortened(values[k]) for k in kept]
    ax.set_yticks(range(n), names, fontsize=small(ax))
    ax.set_ylim(-0.6, n - 0.4)
