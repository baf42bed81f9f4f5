"""The share of missing cells in each class, if missing cells help to separate the classes.

A column cannot be of this kind. The part is made from the blocks of all other parts.
"""

from __future__ import annotations

import numpy as np

from verosim.data.readers import as_numbers
from verosim.kinds import boolean, statistics
from verosim.kinds.base import PartKind
from verosim.stats import Counts


def nowhere(block: np.ndarray, j: int) -> np.ndarray:
    """No cell of this part is missing, because every cell is either missing or present."""
    return np.zeros(len(block), dtype=bool)


def seen(statistic: Counts) -> np.ndarray:
    """(C, d) the weight of the cells that are not missing."""
    return statistics.seen_in_presence(statistic) - statistic.arrays["count"][:, 0]


MISSING = PartKind(
    name="missing",
    block=as_numbers,
    missing=nowhere,
    zero=statistics.presence,
    seen=seen,
    density=boolean.density,
    label="{} missing",
)
