"""The evidence of each column for a class: one row as bars, many rows as strips.

    log p(k | x) / p(l | x) = prior + Σ_j contribution of column j

Reference: Good (1950), Probability and the Weighing of Evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked, whole
from verosim.axes.groups import plain_label
from verosim.drawing import library
from verosim.errors import VerosimError
from verosim.insight.explanation import Explanation
from verosim.insight.importance import mean_sizes
from verosim.insight.plots.canvas import (
    axes_of,
    framed,
    ground,
    ink,
    room,
    row_note,
    small,
    thinned,
)
from verosim.insight.plots.palette import AGAINST, FOR, QUIET, shortened
from verosim.insight.plots.words import DrawnParts
from verosim.insight.shown_cells import shown_value

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes

MOST_BARS = 14
INCH_PER_BAR = 0.33
LONGEST_CELL = 18  # letters of a value
SWARM_BINS = 60
QUOTE = "'"
NO_REST = 1e-6  # a smaller difference of a text and its tokens is rounding


def check_explanation(found: Any, function: str) -> Explanation:
    """The explanation, if it is one with rows."""
    if not isinstance(found, Explanation):
        raise VerosimError(
            f"The function {function} needs a result of explain; got {type(found).__name__}.",
            f"Use {function}(explain(model, X)).",
        )
    if not len(found):
        raise VerosimError("The explanation has no rows.", "Explain at least one row.")
    return found


@checked
def plot_evidence(
    found: Explanation, row: int = 0, *, most: int = MOST_BARS, ax: PlotAxes | None = None
) -> PlotAxes:
    """Draw the evidence of one row as bars that add up to the log-odds.

    The first bar is the prior. The bar of each column starts where the one above ends, and the
    last one ends at the log-odds of the class:

        log p(k | x) / p(l | x) = prior + Σ_j (φ_jk − φ_jl)

    where φ_jk is the contribution of column j to class k. Bars to the right are evidence for the
    class, bars to the left are evidence against it and are hatched. The smallest contributions are
    one bar. A text has one bar for each of its strongest tokens.

    Parameters
    ----------
    found : Explanation
        The result of :func:`explain`.
    row : int, default=0
        The number of the row in the explanation.
    most : int, default=14
        The largest number of bars of columns. Fewer are drawn if their names would overlap.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the bars.

    Raises
    ------
    VerosimError
        If `found` is not an explanation.

    See Also
    --------
    plot_evidence_summary : The evidence of many rows.

    References
    ----------
    Good (1950), Probability and the Weighing of Evidence, Griffin.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import GaussianNB, explain, plot_evidence
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_evidence(explain(GaussianNB().fit(X, y), X[:1]))
    >>> ax.get_yticklabels()[0].get_text()
    'prior'
    """
    every = check_explanation(found, "plot_evidence")
    whole("row", row, -len(every), len(every) - 1)
    one = every.folded()[row]
    labels, parts = _named_parts(one)
    order = np.argsort(-np.abs(np.nan_to_num(parts, posinf=1e9, neginf=-1e9)), kind="stable")
    whole("most", most, least=1)
    shown = min(len(order), most)
    ax = axes_of(ax, (6.8, 1.3 + INCH_PER_BAR * (shown + 2)))
    shown = min(shown, max(1, room(ax, small(ax)) - 3))
    if len(order) - shown == 1:
        shown = max(1, shown - 1)
    names = ["prior", *(labels[j] for j in order[:shown].tolist())]
    values = [float(one.prior_difference[0]), *parts[order[:shown]].tolist()]
    rest = order[shown:]
    if len(rest):
        names.append(f"{len(rest)} other {'parts' if one.parts.tokens else 'columns'}")
        values.append(float(parts[rest].sum()))
    ends = np.cumsum(_drawable(values))
    starts = ends - _drawable(values)
    for i, value in enumerate(values):
        toward = value >= 0
        ax.barh(
            i, ends[i] - starts[i], left=starts[i], height=0.62,
            color=QUIET if i == 0 else FOR if toward else AGAINST,
            hatch=None if toward else "////", edgecolor=ground(ax), lw=0, zorder=2,
        )  # fmt: skip
        ax.plot([ends[i]] * 2, [i - 0.31, i + 1.31], color=QUIET, lw=0.8, zorder=1)
    total, n = ends[-1], len(values)
    ax.plot(total, n, "D", color=ink(ax), ms=7, zorder=3)
    _write_values(
        ax, [*values, float(one.log_odds[0])], np.append(starts, total), np.append(ends, total)
    )
    ax.axvline(0, color=QUIET, lw=0.8, zorder=1)
    word = "log-odds" if one.has_probabilities else "score"
    ax.set_yticks(range(n + 1), [*names, word], fontsize=small(ax))
    ax.set_ylim(n + 0.6, -0.7)
    chosen = shortened(plain_label(one.chosen[0]))
    other = shortened(plain_label(one.against[0]))
    ax.set_xlabel(f"← {other}    {word}    {chosen} →")
    title = f"{chosen} against {other}"
    if one.probability is not None:
        title = f"p({chosen}) = {one.probability[0]:.3g}"
    ax.set_title(title, loc="left", fontsize="medium")
    framed(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _named_parts(one: Explanation) -> tuple[list[str], np.ndarray]:
    """The labels and the contributions of one row; a text has one contribution per token."""
    labels: list[str] = []
    parts: list[float] = []
    for j, name in enumerate(one.names):
        whole = float(one.differences[0, j])
        tokens = one.tokens(0, name) if one.parts.tokens else {}
        labels += [f"\u201c{shortened(token, LONGEST_CELL)}\u201d" for token in tokens]
        parts += tokens.values()
        rest = whole - sum(tokens.values())
        if not tokens or not abs(rest) <= NO_REST * max(1.0, abs(whole)):
            value = shortened(shown_value(one.value(0, j)).strip(QUOTE), LONGEST_CELL)
            labels.append(f"{shortened(name)}: rest" if tokens else f"{shortened(name)} = {value}")
            parts.append(rest)
    labels += [shortened(name) for name in one.line_differences]
    parts += [float(line[0]) for line in one.line_differences.values()]
    return labels, np.array(parts)


def _drawable(values: Any) -> np.ndarray:
    """Contributions with a finite length: infinite ones are as long as all others together."""
    found = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(found)
    longest = max(1.0, float(np.abs(found[finite]).sum()) if finite.any() else 1.0)
    return np.nan_to_num(found, nan=0.0, posinf=longest, neginf=-longest)


def _write_values(ax: Any, values: list[float], starts: np.ndarray, ends: np.ndarray) -> None:
    """Write each contribution to the right of its bar, and make room for it."""
    low, high = min(0.0, starts.min(), ends.min()), max(0.0, starts.max(), ends.max())
    span = max(high - low, 1e-9)
    ax.set_xlim(low - 0.05 * span, high + 0.17 * span)
    for i, value in enumerate(values):
        ax.annotate(
            _signed(value), (max(starts[i], ends[i]), i), xytext=(6, 0), va="center",
            textcoords="offset points", fontsize=small(ax), color=ink(ax), zorder=2.5,
            bbox={"facecolor": ground(ax), "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip


def _signed(value: float) -> str:
    text = f"{value:+.2f}" if np.isfinite(value) else ("+∞" if value > 0 else "−∞")
    return text.replace("-", "−")


@checked
def plot_evidence_summary(
    found: Explanation, *, most: int = MOST_BARS, ax: PlotAxes | None = None
) -> PlotAxes:
    """Draw the contributions of the columns to the log-odds of many rows, one strip per column.

    Each point is one row. The columns are sorted by the mean of the absolute contribution

        importance of column j = mean over the rows of |φ_jk − φ_jl|

    which is written on the right. A text is drawn by its words. At most 5,000 rows are drawn, and
    the picture states it. Use `explain(model, X, of=…, against=…)` to compare the same two classes
    in all rows.

    Parameters
    ----------
    found : Explanation
        The result of :func:`explain`.
    most : int, default=14
        The largest number of columns. Fewer are drawn if their names would overlap.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the strips.

    Raises
    ------
    VerosimError
        If `found` is not an explanation.

    See Also
    --------
    plot_evidence : The evidence of one row.

    References
    ----------
    Štrumbelj & Kononenko (2014), Explaining prediction models and individual predictions with
    feature contributions, Knowledge and Information Systems 41, 647–665.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import GaussianNB, explain, plot_evidence_summary
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_evidence_summary(explain(GaussianNB().fit(X, y), X))
    >>> ax.get_yticklabels()[0].get_text()
    'x3'
    """
    every = check_explanation(found, "plot_evidence_summary")
    drawn = DrawnParts.of(every)
    usable = np.where(np.isfinite(drawn.parts), drawn.parts, np.nan)  # (n, p)
    # A word that a row does not have contributes nothing to it.
    size = mean_sizes(np.where(np.isnan(drawn.parts), 0.0, drawn.parts))[0]
    order = np.argsort(-size, kind="stable")
    whole("most", most, least=1)
    shown = min(len(order), most)
    ax = axes_of(ax, (6.8, 1.3 + INCH_PER_BAR * (shown + 1)))
    shown = min(shown, max(1, room(ax, small(ax)) - 1))
    at = thinned(len(usable), max(1, 5_000))
    for i, j in enumerate(order[:shown].tolist()):
        x = usable[at, j]
        x = x[~np.isnan(x)]
        y = i + _swarm(x)
        toward = x >= 0
        for own, colour, marker in ((toward, FOR, "o"), (~toward, AGAINST, "x")):
            ax.scatter(
                x[own], y[own], s=9 if len(x) < 800 else 4, color=colour, marker=marker, alpha=0.55,
                linewidths=0.6 if marker == "x" else 0, zorder=2,
            )  # fmt: skip
        text = f"{size[j]:.2f}" if np.isfinite(size[j]) else "∞"
        ax.annotate(
            text, (1.0, i), xycoords=("axes fraction", "data"), xytext=(6, 0),
            textcoords="offset points", va="center", fontsize=small(ax), annotation_clip=False,
        )  # fmt: skip
    ax.axvline(0, color=QUIET, lw=0.8, zorder=1)
    names = [shortened(drawn.names[j]) for j in order[:shown].tolist()]
    ax.set_yticks(range(shown), names, fontsize=small(ax))
    ax.set_ylim(shown - 0.4, -0.6)
    _trim(ax, usable[np.ix_(at, order[:shown])])
    pairs = {
        (plain_label(a), plain_label(b)) for a, b in zip(every.chosen, every.against, strict=True)
    }
    about = "predicted class against runner-up"
    if len(pairs) == 1:
        ((chosen, other),) = pairs
        about = f"{shortened(chosen)} against {shortened(other)}"
    ax.set_xlabel(f"contribution to the log-odds: {about}")
    note = [row_note(len(at), len(usable))] if len(at) < len(usable) else []
    if shown < drawn.total:
        what = "words" if every.parts.tokens else "columns"
        note.append(f"{shown} of {drawn.total:,} {what} are drawn")
    ax.set_title(
        "; ".join(["right: mean absolute contribution", *note]), loc="left", fontsize="small"
    )
    framed(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _trim(ax: Any, values: np.ndarray) -> None:
    """Use a symmetric logarithmic axis if few contributions are far longer than the others."""
    known = np.abs(values[~np.isnan(values)])
    if len(known) and known.max() > 40 * max(np.quantile(known, 0.9), 1e-12):
        ax.set_xscale("symlog", linthresh=float(max(np.quantile(known, 0.9), 1e-12)))
        ax.xaxis.set_major_locator(library("ticker").SymmetricalLogLocator(
            base=10, linthresh=float(np.quantile(known, 0.9))))  # fmt: skip


def _swarm(x: np.ndarray) -> np.ndarray:
    """(n,) heights between −0.38 and 0.38: wide where there are many points."""
    if len(x) < 2 or x.max() == x.min():
        return np.zeros(len(x))
    bins = np.minimum(
        ((x - x.min()) / (x.max() - x.min()) * SWARM_BINS).astype(int), SWARM_BINS - 1
    )
    counts = np.bincount(bins, minlength=SWARM_BINS)
    order = np.argsort(bins, kind="stable")
    rank = np.empty(len(x))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank[order] = np.arange(len(x)) - first[bins[order]]
    inside = counts[bins]
    spread = (rank - (inside - 1) / 2) / max(counts.max(), 10)
    return np.asarray(0.76 * spread)
