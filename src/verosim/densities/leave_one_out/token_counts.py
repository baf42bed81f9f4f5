"""Which columns or tokens a model counts, and what of them is left without a row.

A token only one document has is unknown without it; one that falls below `min_count` is ignored.
Columns, buckets and given vocabularies are there for good.
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
    """The cells of some rows, and what remains of their counts without the row."""

    found: Occurrences  # of what the model knows
    mine: np.ndarray  # (m,) the row's own class's count without it
    stays: np.ndarray  # (m,) bool: still known
    holes: Occurrences  # missing cells
    odd: np.ndarray  # (rows,) bool: more would be taken than is there


class TokenCounts:
    """The counts of columns or tokens, and which of them are in use."""

    def __init__(self, density: ColumnDensity, statistic: Counts | Tokens) -> None:
        self.statistic, self.least = statistic, density.min_count
        self.raw = np.ascontiguousarray(statistic.arrays["count"][:, 0].T)  # (K, C)
        self.count = np.maximum(self.raw, 0.0)
        self.alpha = density.pseudo_count
        self.kept = np.ones(len(self.raw), dtype=bool)
        self.everyone = self.raw.sum(axis=1)
        if isinstance(statistic, Tokens) and self.least > 1:
            self.kept = self.everyone >= self.least * (1 - COUNT_ROUNDING)

    @property
    def size(self) -> int:
        """V, how many are in use."""
        return int(self.kept.sum())

    def total(self, table: np.ndarray) -> np.ndarray:
        """(C,) a (K, C) table summed over what is in use."""
        found: np.ndarray = np.ascontiguousarray(table[self.kept].T).sum(axis=1)
        return found

    def without(self, block: Any, removal: Removal) -> Remaining:
        """Every row of the block without itself."""
        found = occurrences(self.statistic, block)
        gaps = np.isnan(found.amount)
        holes = found[gaps]
        found = found[~gaps & self.kept[found.code]]
        own, w = removal.classes[found.row], removal.weights[found.row] * found.amount
        was = self.raw[found.code, own]
        mine, stays = was - w, np.ones(len(w), dtype=bool)
        odd = mine < -RESIDUE * was
        if isinstance(self.statistic, Tokens):
            before = self.everyone[found.code]
            cells = self.statistic.arrays["cells"][0][found.code] - found.amount.astype(np.int64)
            alone = settled(cells, before - w, before) == 0
            odd |= cells < 0
            mine[alone] = 0.0
            stays = ~alone | self.statistic.codes.fixed
            if self.least > 1:
                stays &= before - w >= self.least * (1 - COUNT_ROUNDING)
        overdrawn = np.zeros(found.rows, dtype=bool)
        overdrawn[found.row[odd]] = True
        return Remaining(found, np.maximum(mine, 0.0), stays, holes, overdrawn)
