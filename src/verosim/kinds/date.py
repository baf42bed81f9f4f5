"""Date columns: a number among the Gaussian columns, and hour, weekday and month as categories."""

from __future__ import annotations

import numpy as np

from verosim.data import cells
from verosim.data.libraries import pa
from verosim.data.schema import Column
from verosim.kinds.arrow import cast
from verosim.kinds.base import Kind, View
from verosim.kinds.category import CATEGORIES
from verosim.kinds.gaussian import GAUSSIANS

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


def sample(column: Column, drawn: np.ndarray, gone: np.ndarray | None) -> pa.Array:
    """Sampled dates, from days since 1970."""
    moments = pa.array((drawn * cells.DAY).astype(np.int64), pa.timestamp("us"), mask=gone)
    return cast(moments, column.type)


DATE = Kind(
    name="date",
    role="date/time",
    aliases=("date/time",),
    shown=False,
    views=(View(GAUSSIANS, cells.days), View(CATEGORIES, clock_texts, tuple(CLOCK))),
    sample=sample,
)
