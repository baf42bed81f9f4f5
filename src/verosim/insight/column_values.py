"""The values that a column can have, and how much a change of the column costs.

    number      |x' − x| / s, where s is the standard deviation of the column
    other       1 for any change, and for a missing cell that becomes a value

s² = Σ_k π_k (σ_k² + μ_k²) − (Σ_k π_k μ_k)² is the variance of the column in the training rows, from
what the model has learned. π_k is the share of class k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes.capped_categories import OTHER
from verosim.bayes.learned import LearnedTable
from verosim.data.design_columns import CATEGORY_COLUMN, NUMBER_COLUMN
from verosim.densities import estimates as of
from verosim.errors import VerosimError
from verosim.insight.single_row import DATE_ROLE, NUMBER_ROLE, TEXT_ROLE, SingleRow
from verosim.kinds.cell_names import SHOWN_MISSING

MOST_LISTED_NUMBERS = 1 << 14  # whole numbers that are tried one by one
NUMBER_TABLES = (of.GAUSSIAN_TABLE, of.RATE_TABLE, of.HEIGHTS_TABLE, of.AMOUNTS_TABLE)
COUNTED_TABLES = (of.RATE_TABLE, of.AMOUNTS_TABLE)  # a count is at least 0


@dataclass(frozen=True, eq=False)
class ListedValues:
    """A column with few values; each change costs 1."""

    column: str
    now: Any  # None if it is missing
    values: tuple[Any, ...]

    def cost(self, value: Any) -> float:
        """What it costs to have this value."""
        return 0.0 if value == self.now and value is not None else 1.0


@dataclass(frozen=True, eq=False)
class NumberValues:
    """A column of numbers between two limits, with the places where the scores can jump."""

    column: str
    now: float  # NaN if it is missing
    low: float
    high: float
    scale: float  # the standard deviation of the column
    centre: float  # a missing number is filled with the possible value that is nearest to this
    whole: bool
    jumps: tuple[float, ...]
    smooth: bool  # whether the scores are quadratic between the jumps, as far as is known

    @property
    def start(self) -> float:
        """The value from which changes are measured."""
        return self.centre if np.isnan(self.now) else self.now

    @property
    def every(self) -> np.ndarray | None:
        """All possible values, if they are few."""
        if not self.whole or not self.high - self.low < MOST_LISTED_NUMBERS:
            return None
        return np.arange(np.ceil(self.low), np.floor(self.high) + 1)

    def cost(self, value: float) -> float:
        """What it costs to have this value."""
        return 1.0 if np.isnan(self.now) else abs(value - self.now) / self.scale

    def plain(self, value: float) -> float | int:
        """A value as it is shown."""
        return int(value) if self.whole else float(value)


PossibleValues = ListedValues | NumberValues


def possible_values(
    row: SingleRow, column: str, allowed: Mapping[str, Any], scale: Mapping[str, float]
) -> PossibleValues:
    """The values that a column can have in a row."""
    role = row.role(column)
    if role in (DATE_ROLE, TEXT_ROLE) or row.form == "texts":
        kind = "dates" if role == DATE_ROLE else "texts"
        raise VerosimError(
            f"Column {column!r} has {kind}, and counterfactual changes only numbers, categories "
            "and booleans.",
            "Leave the column out of change, or use what_if with another value.",
        )
    table = learned_table(row.model, column)
    limits = allowed.get(column)
    if limits is not None and not isinstance(limits, tuple):
        values = tuple(limits)
        if not values or isinstance(limits, str):
            raise _wrong_limits(column, limits)
        return ListedValues(column, row.cells[column], values)
    numbers = role == NUMBER_ROLE or (role == "" and (table is None or table.kind in NUMBER_TABLES))
    if not numbers:
        return ListedValues(column, row.cells[column], _known_values(row, column, table))
    return _numbers(row, column, table, limits, scale.get(column))


def learned_table(model: Any, column: str) -> LearnedTable | None:
    """What the model has learned about a column; None if it has no such table."""
    while not hasattr(model, "learned") and hasattr(model, "model_"):
        model = model.model_
    try:
        found: LearnedTable | None = model.learned(column) if hasattr(model, "learned") else None
    except VerosimError:
        return None
    return found


# Categories --------------------------------------------------------------------------------------


def _known_values(row: SingleRow, column: str, table: LearnedTable | None) -> tuple[Any, ...]:
    """The values of a column in the training rows."""
    if row.role(column) == "boolean" or (table is not None and table.kind == of.FLAGS_TABLE):
        return (False, True)
    design = [one for one in (row.schema.design if row.schema else ()) if one.column == column]
    if design and design[0].kind == CATEGORY_COLUMN:
        return tuple(value for value in design[0].values if isinstance(value, str))
    for cell in row.schema.cells if row.schema else ():
        if cell.columns == (column,) and cell.values:
            return tuple(value for value in cell.values if isinstance(value, str))
    if table is not None and table.kind == of.SHARES_TABLE:
        pairs = zip(table.heads, table.parts, strict=True)
        return tuple(v for v, part in pairs if not part and v not in (OTHER, SHOWN_MISSING, None))
    raise VerosimError(
        f"The values of column {column!r} are not known to {type(row.model).__name__}.",
        f"Give them: allowed={{{column!r}: ['a', 'b']}}.",
    )


# Numbers -----------------------------------------------------------------------------------------


def _numbers(
    row: SingleRow, column: str, table: LearnedTable | None, limits: Any, given: float | None
) -> NumberValues:
    schema = row.schema
    own = None if schema is None else schema[column]
    edges: list[float] = list(own.edges) if own is not None else []
    edges += table.edges if table is not None else ()
    for cell in schema.cells if schema is not None else ():
        edges += cell.edges if cell.columns == (column,) else ()
    jumps = tuple(sorted({float(edge) for edge in edges}))
    now = row.number(column)
    whole = bool(own is not None and own.whole)
    whole = whole or (table is not None and table.kind == of.RATE_TABLE)
    whole = whole and (np.isnan(now) or now == round(now))
    low, high = (jumps[0], jumps[-1]) if jumps else (-np.inf, np.inf)
    if table is not None and table.kind in (of.GAUSSIAN_TABLE, of.RATE_TABLE):
        jumps = ()  # the edges are those of a histogram that the model does not use
    if low == -np.inf and table is not None and table.kind in COUNTED_TABLES:
        low = 0.0
    if limits is not None:
        low, high = _limits(column, limits)
    elif not np.isnan(now):
        low, high = min(low, now), max(high, now)
    centre, deviation = _centre_and_deviation(row, column, table)
    if given is not None:
        deviation = float(given)
    if not np.isfinite(deviation) or deviation <= 0:
        raise VerosimError(
            f"The standard deviation of column {column!r} is not known or 0, so a change of it "
            "has no size.",
            f"Give the size of a typical change, as in scale={{{column!r}: 10}}.",
        )
    return NumberValues(
        column, now, low, high, deviation, centre if np.isfinite(centre) else 0.0, whole, jumps,
        _is_piecewise(row, table),
    )  # fmt: skip


def _limits(column: str, limits: tuple[Any, ...]) -> tuple[float, float]:
    try:
        low, high = (float(one) for one in limits)
    except (TypeError, ValueError):
        raise _wrong_limits(column, limits) from None
    if not low <= high:
        raise _wrong_limits(column, limits)
    return low, high


def _wrong_limits(column: str, limits: Any) -> VerosimError:
    return VerosimError(
        f"The allowed values of column {column!r} must be a list of values or a pair "
        f"(low, high); got {limits!r}.",
        f"Use allowed={{{column!r}: (0, 100)}} or allowed={{{column!r}: ['a', 'b']}}.",
    )


def _is_piecewise(row: SingleRow, table: LearnedTable | None) -> bool:
    """Whether all jumps of the scores are known."""
    if hasattr(row.model, "model_"):  # a wrapper can change the form of the scores
        return False
    if table is not None:
        return True
    rule, _ = row.model.opened_to_score(row.source)
    return any(getattr(rule.params, name, None) is not None for name in ("form", "linear_form"))


def _centre_and_deviation(
    row: SingleRow, column: str, table: LearnedTable | None
) -> tuple[float, float]:
    """The mean and the standard deviation of a column in the training rows."""
    for one in row.schema.design if row.schema is not None else ():
        if one.column == column and one.kind == NUMBER_COLUMN:
            return float(one.mean), float(one.deviation)
    if table is None:
        return np.nan, np.nan
    moments = column_moments(table)
    if moments is None:
        return np.nan, np.nan
    mean, variance = moments
    share = table.weight / table.weight.sum()
    centre = float(share @ mean)
    return centre, float(np.sqrt(share @ (variance + (mean - centre) ** 2)))


def column_moments(table: LearnedTable) -> tuple[np.ndarray, np.ndarray] | None:
    """(C,) the means and (C,) the variances of a column of numbers; None if it has none."""
    pairs = enumerate(zip(table.parts, table.heads, strict=True))
    own = [i for i, (part, head) in pairs if not part and head != SHOWN_MISSING]
    values = table.values[:, own]
    if table.kind == of.GAUSSIAN_TABLE and len(own) == 2:
        return values[:, 0], values[:, 1] ** 2
    if table.kind == of.RATE_TABLE:
        return values[:, 0], values[:, 0]
    places = np.asarray(table.edges)
    if table.kind not in (of.HEIGHTS_TABLE, of.CELLS_TABLE) or len(places) != len(own) + 1:
        return None
    width = np.diff(places)
    share = values * np.where(width > 0, width, 1.0) if table.kind == of.HEIGHTS_TABLE else values
    share = share / share.sum(axis=1, keepdims=True)
    middle = (places[1:] + places[:-1]) / 2
    mean = share @ middle
    return mean, share @ (middle**2 + width**2 / 12) - mean**2
