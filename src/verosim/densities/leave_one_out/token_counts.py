"""The counts of columns or tokens with and without one row.

    count_ik − w x_i,   k = y

A token of a single document is unknown without this document. A token is ignored if its count is
below `min_count` without the document. Columns, buckets and fixed vocabularies never change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.densities.leave_one_out.occurrences import Occurrences, occurrences
from verosim.densities.leave_one_out.removal import Removal
from verosim.stats import Counts, Tokens
from verosim.stats.forgetting import RESIDUE, settled
from verosim.stats.tokens import COUNT_ROUNDING

if TYPE_CHECKING:
    from verosim.densities.columns import ColumnDensity


@dataclass(frozen=True)
class Remaining:
    """The cells of some rows, and the counts of their columns or tokens without the row."""

    found: Occurrences  # the cells with known columns or tokens
    mine: np.ndarray  # (m,) the count in the class of the row, without the row
    stays: np.ndarray  # (m,) bool: the token is still known without the row
    missing: Occurrences  # the missing cells
    odd: np.ndarray  # (rows,) bool: more would be subtracted than the count has


class TokenCounts:
    """The counts of columns or tokens, and which of them are used."""

    def __init__(self, density: ColumnDensity, statistic: Counts | Tokens) -> None:
        self.statistic, self.least = statistic, density.min_count
        self.raw = np.ascontiguousarray(statistic.arrays["count"][:, 0].T)  # (K, C)
        self.count = np.maximum(self.raw, 0.0)  # (K, C)
        self.alpha = density.pseudo_count
        self.kept = np.ones(len(self.raw), dtype=bool)  # (K,)
        self.everyone = self.raw.sum(axis=1)  # (K,) counts in all classes
        if isinstance(statistic, Tokens) and self.least > 1:
            self.kept = statistic.reaching(self.least)

    @property
    def size(self) -> int:
        """V, the number of columns or tokens that are used."""
        return int(self.kept.sum())

    def total(self, table: np.ndarray) -> np.ndarray:
        """(C,) the sum of a table (K, C) over the used columns or tokens."""
        found: np.ndarray = np.ascontiguousarray(table[self.kept].T).sum(axis=1)
        return found

    def without(self, block: Any, removal: Removal) -> Remaining:
        """The counts for each row of the block without this row."""
        found = occurrences(self.statistic, block)
        gaps = np.isnan(found.amount)
        missing = found[gaps]
        found = found[~gaps & self.kept[found.code]]
        own, w = removal.classes[found.row], removal.weights[found.row] * found.amount
        was = self.raw[found.code, own]
        mine, stays = was - w, np.ones(len(w), dtype=bool)
        odd = mine < -RESIDUE * was
        if isinstance(self.statistic, Tokens):
            before = self.everyone[found.code]
            weighed = self.statistic.weighed  # then the cells are documents and not occurrences
            here = 1 if weighed else found.amount.astype(np.int64)
            cells = self.statistic.arrays["cells"][0][found.code] - here
            alone = settled(cells, before - w, before) == 0
            odd |= cells < 0
            mine[alone] = 0.0
            stays = ~alone | self.statistic.codes.fixed
            if self.least > 1:
                reached = cells if weighed else (before - w) / (1 - COUNT_ROUNDING)
                stays &= reached >= self.least
        overdrawn = np.zeros(found.rows, dtype=bool)
        overdrawn[found.row[odd]] = True
        return Remaining(found, np.maximum(mine, 0.0), stays, missing, overdrawn)
