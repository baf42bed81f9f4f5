"""Whether a cell is missing, where absence tells classes apart: a share in every class.

No column is of this kind. The part is made from the blocks of the others, with all their columns.
"""

from __future__ import annotations

import numpy as np

from verosim.data.readers import as_numbers
from verosim.kinds import boolean, statistics
from verosim.kinds.base import PartKind
from verosim.stats import Counts


def nowhere(block: np.ndarray, j: int) -> np.ndarray:
    """It is always known whether a cell is missing."""
    return np.zeros(len(block), dtype=bool)


def seen(statistic: Counts) -> np.ndarray:
    """The cells that were not counted as missing."""
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
