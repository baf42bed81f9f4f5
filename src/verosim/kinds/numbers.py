"""Functions that the kinds of numbers share: missing cells are NaN, and samples fit the type."""

from __future__ import annotations

import numpy as np

from verosim.data.cells import TICKS
from verosim.data.libraries import pa
from verosim.data.schema_columns import Column
from verosim.kinds.arrow import arrow_type, cast


def missing(block: np.ndarray, j: int) -> np.ndarray:
    return np.isnan(block[:, j])


def sample(column: Column, drawn: np.ndarray, gone: np.ndarray | None) -> pa.Array:
    """Sampled numbers in the type of the source: integers are rounded and within the range."""
    type_ = arrow_type(column.type)
    if type_ is not None and pa.types.is_duration(type_):  # durations are read in seconds
        ticks = drawn * TICKS[type_.unit]
        return pa.array(np.rint(ticks).astype(np.int64), mask=gone).cast(type_)
    if not column.whole:
        return cast(pa.array(drawn, mask=gone), column.type)
    if type_ is not None and pa.types.is_integer(type_):
        info = np.iinfo(type_.to_pandas_dtype())
        drawn = np.clip(drawn, info.min, info.max)
    return cast(pa.array(np.rint(drawn).astype(np.int64), mask=gone), column.type)
