"""A nomogram of a naive model: points for each value of each column, added to a probability.

    log p(k | x) / p(l | x) = log π_k/π_l + Σ_j log p(x_j | k) / p(x_j | l)

The largest term has 100 points. An unknown value has 0 points.
Reference: Možina, Demšar, Kattan & Zupan (2004), Nomograms for visualization of naive Bayesian
classifier, PKDD.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from verosim.arguments import checked, whole
from verosim.axes.groups import plain_label
from verosim.bayes.learned import GAP
from verosim.densities import estimates
from verosim.errors import VerosimError, listed
from verosim.insight.plots.canvas import axes_of, ink, small
from verosim.insight.plots.palette import AGAINST, FOR, QUIET, shortened
from verosim.insight.plots.rows import check_fitted, has_independent_columns
from verosim.stats.hollow import names_itself

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes
    from verosim.estimators.score_mixin import ScoreMixin

MOST_LINES = 12
INCH_PER_SCALE = 0.62
MOST_POINTS_OF_TERM = 100.0  # of the largest term
SCALE_DEVIATIONS = 2.5  # how far a Gaussian column is drawn
SHORT_SCALE_VALUE = 15  # letters
NO_INFORMATION = 1e-9  # a scale of this length has no information, in nats
LETTER = 0.6  # the width of a letter, in font sizes
PROBABILITIES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 0.999)


@dataclass(frozen=True, eq=False)
class NomogramLine:
    """The scale of one column: some values and their terms, in nats."""

    name: str
    labels: list[str]
    terms: np.ndarray  # (m,)
    above: np.ndarray  # (m,) bool, whether the label is above the line
    is_free: bool = False  # whether a label may change its side

    @property
    def span(self) -> float:
        return float(max(self.terms.max(), 0) - min(self.terms.min(), 0))


@names_itself
@checked
def plot_nomogram(
    model: ScoreMixin,
    of: Hashable = None,
    against: Hashable = None,
    *,
    most: int = MOST_LINES,
    ax: PlotAxes | None = None,
) -> PlotAxes:
    """Draw a nomogram: read the points of each value, add them, and read the probability.

    Each line is one column. The position of a value is its term of the log-odds of two classes:

        log p(k | x) / p(l | x) = log π_k/π_l + Σ_j log p(x_j | k) / p(x_j | l)

    The largest term has 100 points, and an unknown value has 0 points. The two lines at the bottom
    turn the sum of the points into a probability of class k, if only these two classes are
    possible. The scale of a Gaussian column can turn back. Its lower values are then above the
    line, and its higher values are below.

    Parameters
    ----------
    model : generative classifier
        A fitted naive model: the columns are independent in each class.
    of : str, int, bool or None, default=None
        The class k. None uses the second class of two, or the most frequent of more.
    against : str, int, bool or None, default=None
        The class l. None uses the most frequent other class.
    most : int, default=12
        The largest number of columns. The columns with the longest scales are drawn.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the nomogram.

    Raises
    ------
    VerosimError
        If the columns of the model are not independent, or a class is not known.

    References
    ----------
    Možina, Demšar, Kattan & Zupan (2004), Nomograms for visualization of naive Bayesian classifier,
    PKDD, 337–348.

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.0, 1.2, 3.1, 2.9], "hue": ["red", "red", "blue", "red"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> ax = verosim.plot_nomogram(verosim.NaiveBayes().fit(table, "kind"))
    >>> ax.get_title(loc="left")
    'b against a'
    """
    fitted = check_fitted(model, "plot_nomogram")
    whole("most", most, least=1)
    k, other = _classes(fitted, of, against)
    lines = sorted(_lines(fitted, k, other), key=lambda line: -line.span)
    total = len(lines)
    lines = lines[:most]
    ax = axes_of(ax, (9.0, 1.2 + INCH_PER_SCALE * (len(lines) + 3)))
    unit = max(float(np.abs(line.terms).max()) for line in lines) / MOST_POINTS_OF_TERM or 1.0
    ax.set_xlim(*_limits(lines, unit))
    rows = len(lines) + 3
    ax.set_ylim(rows - 0.4, -0.8)
    names = ["points"]
    _ruler(ax, 0)
    for i, line in enumerate(lines, start=1):
        _scale(ax, i, line, unit)
        names.append(shortened(line.name))
    label = plain_label(fitted.classes_[k])
    log_odds = float(np.log(fitted.class_prior_[k] / fitted.class_prior_[other]))
    _totals(ax, lines, unit, log_odds, rows - 2, rows - 1)
    names += ["total points", f"probability of {shortened(label, 16)}"]
    ax.set_yticks([*range(len(lines) + 1), rows - 2, rows - 1], names)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)
    ax.axvline(0, color=QUIET, lw=0.8, ls=(0, (3, 3)), zorder=0, ymax=1.0, ymin=2.2 / (rows + 0.4))
    title = f"{shortened(label)} against {shortened(plain_label(fitted.classes_[other]))}"
    if total > len(lines):
        title += f"; {len(lines)} of {total} columns are drawn"
    ax.set_title(title, loc="left", fontsize="medium")
    return ax


def _classes(model: Any, of: Any, against: Any) -> tuple[int, int]:
    """The numbers of the two classes."""
    if not hasattr(model, "learned") or not has_independent_columns(model):
        raise VerosimError(
            f"A nomogram needs a model with independent columns; got {type(model).__name__}.",
            "Use NaiveBayes, or plot_evidence(explain(model, X)).",
        )
    known = model.classes_.tolist()
    for name, label in (("of", of), ("against", against)):
        if label is not None and label not in known:
            raise VerosimError(
                f"{name} must be a class of the model; got {label!r}.",
                f"Use one of {listed(known)}.",
            )
    order = np.argsort(-model.class_prior_, kind="stable").tolist()
    other = known.index(against) if against is not None else -1
    free = [i for i in ([1, 0] if len(known) == 2 else order) if i != other]
    k = known.index(of) if of is not None else (free or [0])[0]
    if other < 0:
        other = next((i for i in order if i != k), k)
    if k == other:
        raise VerosimError("A nomogram compares two different classes.", "Change of or against.")
    return k, other


def _lines(model: Any, k: int, other: int) -> list[NomogramLine]:
    """The scales of all columns, and of all parts of a date."""
    found = []
    for table in model.learned():
        for part in dict.fromkeys(table.parts):
            at = [i for i, one in enumerate(table.parts) if one == part]
            if part == GAP:
                continue
            name = f"{table.column} {part}".strip()
            heads, values = [table.heads[i] for i in at], table.values[:, at]
            one = (
                _of_gaussian(name, values[k], values[other])
                if table.kind == estimates.GAUSSIAN_TABLE
                else _of_counts(name, values[k, 0], values[other, 0])
                if table.kind == estimates.RATE_TABLE
                else _of_values(name, heads, values[k], values[other])
            )
            if one is not None:
                found.append(one)
    if not found:
        raise VerosimError(
            "No column of the model has a scale for these two classes.", "Choose other classes."
        )
    return found


def _of_values(name: str, heads: list[Any], p: np.ndarray, q: np.ndarray) -> NomogramLine | None:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.log(p) - np.log(q)
    kept = np.isfinite(terms)
    if not kept.any() or np.ptp(np.append(terms[kept], 0.0)) < NO_INFORMATION:
        return None
    labels = [
        shortened(head, SHORT_SCALE_VALUE)
        for head, there in zip(heads, kept.tolist(), strict=True)
        if there
    ]
    order = np.argsort(terms[kept], kind="stable")
    above = np.empty(len(order), dtype=bool)
    above[order] = np.arange(len(order)) % 2 == 0  # neighbours on both sides of the line
    return NomogramLine(name, labels, terms[kept], above, is_free=True)


def _of_counts(name: str, rate: float, other: float) -> NomogramLine | None:
    if not (rate > 0 and other > 0):
        return None
    x = np.unique(np.linspace(0, max(rate, other) + 3 * np.sqrt(max(rate, other)), 7).round())
    terms = x * np.log(rate / other) - (rate - other)
    return NomogramLine(name, [f"{one:g}" for one in x], terms, np.ones(len(x), dtype=bool))


def _of_gaussian(name: str, one: np.ndarray, other: np.ndarray) -> NomogramLine | None:
    """Values from −2.5 to 2.5 deviations, with round labels."""
    (m, s), (n, t) = one.tolist(), other.tolist()
    if not (s > 0 and t > 0):
        return None
    low, high = (
        min(m - SCALE_DEVIATIONS * s, n - SCALE_DEVIATIONS * t),
        max(m + SCALE_DEVIATIONS * s, n + SCALE_DEVIATIONS * t),
    )
    step = 10.0 ** np.floor(np.log10((high - low) / 4))
    step *= next(f for f in (1.0, 2.0, 5.0, 10.0) if (high - low) / (step * f) <= 8)
    x = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step + 0.0  # no −0
    terms = np.log(t / s) - 0.5 * ((x - m) / s) ** 2 + 0.5 * ((x - n) / t) ** 2
    curvature = 1 / t**2 - 1 / s**2
    turn = np.inf if curvature == 0 else -(m / s**2 - n / t**2) / curvature
    above = x <= turn if low < turn < high else np.ones(len(x), dtype=bool)
    return NomogramLine(name, [f"{value:.10g}" for value in x.round(10)], terms, above)


def _limits(lines: list[NomogramLine], unit: float) -> tuple[float, float]:
    low = min(min(0.0, float(line.terms.min())) for line in lines) / unit
    high = max(max(0.0, float(line.terms.max())) for line in lines) / unit
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def _ruler(ax: Any, row: int) -> None:
    low, high = ax.get_xlim()
    step = 20 if high - low < 260 else 50
    marks = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    _axis(ax, row, marks, [f"{mark:.0f}".replace("-", "−") for mark in marks], ink(ax))


def _totals(
    ax: Any, lines: list[NomogramLine], unit: float, log_odds: float, row: int, below: int
) -> None:
    """The scale of the sum, stretched to the width of the picture, and its probabilities."""
    low, high = ax.get_xlim()
    least = sum(min(0.0, float(line.terms.min())) for line in lines) / unit
    largest = sum(max(0.0, float(line.terms.max())) for line in lines) / unit
    odds = np.log(np.array(PROBABILITIES) / (1 - np.array(PROBABILITIES)))
    points = (odds - log_odds) / unit
    least, largest = max(least, min(points.min(), 0)), min(largest, max(points.max(), 0))
    inner = (high - low) * 0.06
    stretch = (high - low - 2 * inner) / max(largest - least, 1e-9)

    def place(x: np.ndarray) -> np.ndarray:
        return low + inner + (x - least) * stretch

    step = 10.0 ** np.floor(np.log10(max(largest - least, 1e-9)))
    step *= 0.2 if (largest - least) / step < 2.5 else 0.5 if (largest - least) / step < 5 else 1.0
    marks = np.arange(np.ceil(least / step), np.floor(largest / step) + 1) * step
    _axis(ax, row, place(marks), [f"{m:.10g}".replace("-", "−") for m in marks.round(9)], ink(ax))
    kept = (points >= least) & (points <= largest)
    shown = [f"{expit(o):.3g}" for o in odds[kept]]
    _axis(ax, below, place(points[kept]), shown, ink(ax))


def _axis(ax: Any, row: int, at: np.ndarray, labels: list[str], colour: str) -> None:
    """A horizontal ruler with labels above it."""
    if len(at):
        ax.plot([at.min(), at.max()], [row, row], color=colour, lw=1.0)
    ax.plot(at, np.full(len(at), row), "|", color=colour, ms=6)
    _write(ax, row, at, labels, np.ones(len(at), dtype=bool), colour)


def _scale(ax: Any, row: int, line: NomogramLine, unit: float) -> None:
    at = line.terms / unit
    ax.plot([min(at.min(), 0), max(at.max(), 0)], [row, row], color=QUIET, lw=1.2, zorder=1)
    for own, colour, marker in ((at >= 0, FOR, "o"), (at < 0, AGAINST, "s")):
        ax.plot(at[own], np.full(own.sum(), row), marker, color=colour, ms=4.5, zorder=2)
    _write(ax, row, at, line.labels, line.above, ink(ax), line.is_free)


def _write(
    ax: Any, row: int, at: np.ndarray, labels: list[str], above: np.ndarray, colour: str,
    is_free: bool = False,
) -> None:  # fmt: skip
    """Write labels above and below a line, the outermost first, if there is room."""
    size = small(ax) * 0.92
    low, high = ax.get_xlim()
    width = ax.get_window_extent().width / ax.figure.dpi * 72  # points
    per_point = (high - low) / max(width, 1.0)
    taken: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for i in np.argsort(-np.abs(at), kind="stable").tolist():
        half = (LETTER * size * len(labels[i]) / 2 + 2) * per_point
        sides = (bool(above[i]), not above[i]) if is_free else (bool(above[i]),)
        for side in sides:
            if all(at[i] + half <= a or at[i] - half >= b for a, b in taken[side]):
                taken[side].append((at[i] - half, at[i] + half))
                ax.annotate(
                    labels[i], (at[i], row), xytext=(0, 5 if side else -5), ha="center",
                    textcoords="offset points", va="bottom" if side else "top", fontsize=size,
                    color=colour, annotation_clip=False,
                )  # fmt: skip
                break
