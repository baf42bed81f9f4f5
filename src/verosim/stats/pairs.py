"""Counts of pairs of codes, per class and fold.

    pair_ab = Σ w over the rows that have code a in one column and code b in another

The diagonal has the counts of single codes. Only the pairs of columns i ≤ j are stored in the
array; `table` gives both halves. The size is J² numbers per class and fold, for J codes.
"""

from __future__ import annotations

import numpy as np

from verosim import kernels
from verosim.axes import CellCodes
from verosim.data import Batch
from verosim.stats.arrays import ArrayStatistic
from verosim.stats.fields import BASE_FIELDS, Field, G
from verosim.stats.state import restorable

PAIR_FIELDS = {**BASE_FIELDS, "pair": Field((*G, "code", "code"))}


@restorable
class Pairs(ArrayStatistic):
    """Counts of pairs of codes of a table that was read as cells."""

    sums_of = "pairs"

    @property
    def fields(self) -> dict[str, Field]:
        return PAIR_FIELDS

    @property
    def codes(self) -> CellCodes:
        assert isinstance(self.axes.codes, CellCodes)
        return self.axes.codes

    @property
    def can_narrow(self) -> bool:
        return True

    def absorb(self, batch: Batch) -> None:
        if len(batch):
            kernels.count_pairs(
                batch.block, self.codes.places, batch.groups, batch.weights, self.by_group("pair")
            )
            self.count_rows(batch)

    def single(self) -> np.ndarray:
        """(C, F, J) the counts of single codes."""
        return np.diagonal(self.arrays["pair"], axis1=2, axis2=3)

    def table(self) -> np.ndarray:
        """(C, F, J, J) the counts of all pairs of codes, symmetric."""
        half = self.arrays["pair"]
        out = half + np.swapaxes(half, 2, 3)
        diagonal = np.einsum("cfjj->cfj", out)
        diagonal /= 2
        return out
