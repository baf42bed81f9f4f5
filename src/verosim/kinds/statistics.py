"""Zero statistics that several kinds share, and the weight (C, d) of the cells that are present."""

from __future__ import annotations

import numpy as np

from verosim.axes import Axes
from verosim.data.schema import Schema
from verosim.kinds.base import Part
from verosim.stats import Counts, Moments


def moments(axes: Axes, part: Part, schema: Schema) -> Moments:
    return Moments(axes, layout="diagonal")


def seen_in_moments(statistic: Moments) -> np.ndarray:
    return statistic.arrays["cells"][:, 0]


def presence(axes: Axes, part: Part, schema: Schema) -> Counts:
    return Counts(axes, what="presence", threshold=0.5)


def seen_in_presence(statistic: Counts) -> np.ndarray:
    return statistic.weight[:, 0, None] - statistic.arrays["missing"][:, 0]


def seen_in_codes(statistic: Counts) -> np.ndarray:
    """(C, d) the sum of the counts over the codes of each column."""
    codes = statistic.axes.codes
    assert codes is not None
    count = statistic.arrays["count"][:, 0]
    return np.stack(
        [count[:, a:b].sum(axis=1) for a, b in zip(codes.first[:-1], codes.first[1:], strict=True)],
        axis=1,
    )
