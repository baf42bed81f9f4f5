"""The points of one column of a scorecard: for each value and bin, or as a formula.

    points(x) = factor · (φ_k(x) − φ_l(x))

φ_k is the contribution of the column to class k. For a number without bins, the points are a
quadratic function of the number, a + b·x + c·x², and the coefficients are found from its values.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.densities import estimates as of
from verosim.errors import VerosimError
from verosim.insight.column_values import (
    ListedValues,
    NumberValues,
    learned_table,
    possible_values,
)
from verosim.insight.effect import column_effect, middles, value_heads
from verosim.insight.single_row import TEXT_ROLE, SingleRow

LISTED_POINTS, FORMULA, CURVE = "points", "formula", "curve"
UNKNOWN_VALUE = "‹a value that no row has›"
UNKNOWN_HEAD, MISSING_HEAD = "any other value", "missing"
CURVE_VALUES = 11  # numbers of a curve that are shown


@dataclass(frozen=True, eq=False)
class ColumnPoints:
    """The points of one column of a scorecard.

    Attributes
    ----------
    column : str
        The name of the column, or of a part of a date, such as "when.hour". The trend of a date is
        a formula of the days since 1970.
    kind : {"points", "formula", "curve"}
        "points" if all values are listed. "formula" for a number with the points a + b·x + c·x².
        "curve" if some values of another function are listed, or none for a text.
    values : tuple
        The K values; None is a missing value. For bins, these are their middles.
    heads : tuple of str
        The values as they are printed: bins as intervals.
    points : ndarray of shape (K,)
        The points of each value.
    coefficients : tuple of float
        The coefficients a, b and c of a formula, else ().
    edges : tuple of float
        The edges of the bins, if the values are bins, else (). The outer bins are open.
    formula : str
        The formula as text, or an empty text.

    References
    ----------
    Siddiqi (2006), Credit Risk Scorecards, Wiley, chapter 6.

    Examples
    --------
    >>> from verosim import GaussianNB, scorecard
    >>> model = GaussianNB().fit([[1.0], [3.0], [5.0], [7.0]], ["a", "a", "b", "b"])
    >>> card = scorecard(model)
    >>> card["x0"].formula
    '−461.7 + 115.4·x'
    """

    column: str
    kind: str
    values: tuple[Any, ...]  # (K,)
    heads: tuple[str, ...]  # (K,)
    points: np.ndarray  # (K,)
    coefficients: tuple[float, ...] = ()
    edges: tuple[float, ...] = ()

    @property
    def formula(self) -> str:
        powers = zip(self.coefficients, ("", "·x", "·x²"), strict=False)
        terms = [(value, power) for value, power in powers if value != 0 or not power]
        shown = [f"{_number(value)}{power}" for value, power in terms]
        return " + ".join(shown).replace("+ −", "− ")

    def __len__(self) -> int:
        return len(self.values)


def column_points(
    blank: SingleRow, column: str, pair: tuple[Any, Any], factor: float, kind: str | None
) -> ColumnPoints:
    """The points of a column, next to the cells of a row without values."""

    def points(values: list[Any]) -> np.ndarray:
        return factor * column_effect(blank, column, values, kind=kind).difference(*pair)

    table = learned_table(blank.model, column)
    if table is not None and table.kind == of.HEIGHTS_TABLE and len(table.edges) > 1:
        return _listed(column, middles(table.edges), points, table.edges)
    try:
        known = possible_values(blank, column, {}, {})
    except VerosimError:
        known = None
    if isinstance(known, ListedValues):
        return _listed(column, list(known.values), points)
    if known is None and blank.role(column) == TEXT_ROLE:
        return ColumnPoints(column, CURVE, (), (), np.zeros(0))
    return points_of_number(column, known, points)


def _listed(
    column: str, values: list[Any], points: Callable[[list[Any]], np.ndarray],
    edges: tuple[float, ...] = (),
) -> ColumnPoints:  # fmt: skip
    """The points of all values, of a value that no row has, and of a missing value."""
    heads = value_heads(values, edges)
    extra: list[tuple[Any, str]] = [(None, MISSING_HEAD)]
    if any(isinstance(value, str) for value in values):
        extra.insert(0, (UNKNOWN_VALUE, UNKNOWN_HEAD))
    found = [points(values)]
    for value, head in extra:
        try:
            found.append(points([value]))
        except VerosimError:  # the model refuses such a value
            continue
        values, heads = [*values, value], [*heads, head]
    return ColumnPoints(
        column, LISTED_POINTS, tuple(values), tuple(heads), np.concatenate(found), (), edges
    )


def points_of_number(
    column: str, known: NumberValues | None, points: Callable[[list[Any]], np.ndarray]
) -> ColumnPoints:
    """A formula if the points are quadratic in the number, else some points of the curve."""
    centre, scale = (0.0, 1.0) if known is None else (known.centre, known.scale)
    scale = scale if scale > 0 else 1.0
    low, high = centre - 2 * scale, centre + 2 * scale
    if known is not None and np.isfinite(known.low):
        low = max(low, known.low)
        high = min(high, known.high) if min(high, known.high) > low else low + 4 * scale
    x = np.linspace(low, high, 9)
    if known is not None and known.whole:
        x = np.unique(np.rint(np.linspace(low, max(high, low + 8), 9)))
    found = points(x.tolist())
    missing: tuple[tuple[Any, ...], tuple[str, ...], np.ndarray] = ((), (), np.zeros(0))
    with suppress(VerosimError):  # the model may refuse missing values
        missing = ((None,), (MISSING_HEAD,), points([None]))
    z = (x - centre) / scale
    fit, *_ = np.linalg.lstsq(np.vander(z, 3, increasing=True), found, rcond=None)
    error = np.abs(np.vander(z, 3, increasing=True) @ fit - found).max()
    if not error <= 1e-9 * (1 + np.abs(found).max()):
        x = np.linspace(low, high, CURVE_VALUES)
        values = [int(v) for v in np.unique(np.rint(x))] if known and known.whole else x.tolist()
        return ColumnPoints(
            column, CURVE, (*values, *missing[0]), (*value_heads(values, ()), *missing[1]),
            np.concatenate([points(values), missing[2]]),
        )  # fmt: skip
    fit = np.where(np.abs(fit) <= 1e-11 * (1 + np.abs(found).max()), 0.0, fit)
    a, b, c = fit.tolist()
    slope, bend = b / scale, c / scale**2
    return ColumnPoints(
        column, FORMULA, *missing,
        (a - slope * centre + bend * centre**2, slope - 2 * bend * centre, bend),
    )  # fmt: skip


def shown_points(value: float) -> str:
    """Points with one decimal."""
    if np.isnan(value):
        return ""
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{round(value, 1) + 0.0:.1f}".replace("-", "−")


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")
