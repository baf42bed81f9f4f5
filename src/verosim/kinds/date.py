"""Date columns: hour, weekday and month as categories; with a trend, also a number.

The position in time is a Gaussian in each class. It extrapolates: far after the training rows, the
class with the larger variance gets all the probability. A date has it only as "date+trend".
"""

from __future__ import annotations

import numpy as np

from verosim.data import cells
from verosim.data.libraries import pa
from verosim.data.readings import ClockReading, DaysReading
from verosim.data.schema_columns import Column
from verosim.kernels.constants import DAY
from verosim.kinds.arrow import cast
from verosim.kinds.base import Kind, View
from verosim.kinds.category import CATEGORIES
from verosim.kinds.gaussian import GAUSSIANS

SAMPLE_YEAR = "2024"
CLOCK = {"hour": range(24), "weekday": range(7), "month": range(1, 13)}


def clock_texts(array: pa.Array, na: frozenset[str]) -> list[tuple[np.ndarray, list[str | None]]]:
    """The texts of hour, weekday and month, and the index of each row into them."""
    parts = cells.clock_parts(array, na)
    out: list[tuple[np.ndarray, list[str | None]]] = []
    for piece, span in CLOCK.items():
        index = parts[piece] - np.int32(span.start)
        index[parts[piece] < 0] = len(span)
        out.append((index, [*map(str, span), None]))
    return out


def sample_clock(column: Column, drawn: np.ndarray, gone: np.ndarray | None) -> pa.Array:
    """Sampled dates, from (n, 3) texts of hour, weekday and month.

    The model has no year, so each date is the first such day of the month in SAMPLE_YEAR.
    """
    known = np.array([all(str(text).isdecimal() for text in row) for row in drawn], dtype=bool)
    hour, weekday, month = np.where(known[:, None], drawn, "1").astype(np.int64).T
    months = np.datetime64(SAMPLE_YEAR, "M") + (month - 1)
    first = months.astype("datetime64[D]").astype(np.int64)
    days = first + (weekday - (first + 3)) % 7  # day 0, 1970-01-01, was a Thursday
    gone = ~known if gone is None else gone | ~known
    return sample_moment(column, days + hour / 24, gone)


def sample_moment(column: Column, drawn: np.ndarray, gone: np.ndarray | None) -> pa.Array:
    """Sampled dates, from days since 1970."""
    moments = pa.array((drawn * DAY).astype(np.int64), pa.timestamp("us"), mask=gone)
    return cast(moments, column.type)


def clock_readings(name: str) -> tuple[ClockReading, ...]:
    return tuple(ClockReading(name, piece) for piece in CLOCK)


CLOCK_VIEW = View(CATEGORIES, clock_texts, tuple(CLOCK), clock_readings)
DAYS_VIEW = View(GAUSSIANS, cells.days, readings=lambda name: (DaysReading(name),))
DATE = Kind(
    name="date",
    role="date/time",
    aliases=("date/time",),
    shown=False,
    views=(CLOCK_VIEW,),
    sample=sample_clock,
)
DATE_AND_TREND = Kind(
    name="date+trend",
    role="date/time",
    views=(DAYS_VIEW, CLOCK_VIEW),
    sample=sample_moment,
)
