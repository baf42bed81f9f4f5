"""The points of a date in a scorecard: those of its hour, its weekday, its month and its trend."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import numpy as np

from verosim.insight.column_values import NumberValues
from verosim.insight.explain import explain
from verosim.insight.points import (
    LISTED_POINTS,
    MISSING_HEAD,
    ColumnPoints,
    points_of_number,
)
from verosim.insight.single_row import SingleRow

MONDAY = datetime.datetime(2024, 1, 1)
EPOCH = datetime.datetime(1970, 1, 1)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Dates that have each value of a part of a date.
DATE_PARTS: dict[str, list[tuple[str, datetime.datetime]]] = {
    "hour": [(str(h), MONDAY + datetime.timedelta(hours=h)) for h in range(24)],
    "weekday": [(day, MONDAY + datetime.timedelta(days=i)) for i, day in enumerate(WEEKDAYS)],
    "month": [(str(m), datetime.datetime(2024, m, 1)) for m in range(1, 13)],
}


def date_points(
    blank: SingleRow, column: str, pair: tuple[Any, Any], factor: float, kind: str | None
) -> Iterator[ColumnPoints]:
    """The points of each part of a date."""
    asked: Any = {} if kind is None else {"kind": kind}

    def parts(dates: list[Any]) -> dict[str, np.ndarray]:
        rows = blank.copies({column: dates}, len(dates))
        found = explain(blank.model, rows, of=pair[0], against=pair[1], **asked)
        own = [j for j, name in enumerate(found.columns) if name == column]
        return {found.names[j]: factor * found.differences[:, j] for j in own}

    missing = parts([None])
    for name in missing:
        piece = name.removeprefix(f"{column}.")
        if name == column:
            yield points_of_number(
                name,
                NumberValues(name, np.nan, -np.inf, np.inf, 365.25, 19_723.0, False, (), True),
                lambda days, name=name: parts([_date(one) for one in days])[name],  # type: ignore[misc]
            )
            continue
        values = DATE_PARTS.get(piece, [("not missing", MONDAY)])
        found = parts([date for _, date in values])[name]
        yield ColumnPoints(
            name,
            LISTED_POINTS,
            (*(date for _, date in values), None),
            (*(head for head, _ in values), MISSING_HEAD),
            np.append(found, missing[name]),
        )


def _date(days: float | None) -> datetime.datetime | None:
    """The date of a number of days since 1970; None if it is missing."""
    return None if days is None else EPOCH + datetime.timedelta(days=days)
