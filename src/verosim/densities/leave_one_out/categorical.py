"""Leave-one-out scores of categories and bins: the counts of the row are subtracted.

    φ_ij|k = (n_ijk − w [k = y, j = x_i] + α) / (n_ik − w [k = y] + α B'_i)

B'_i is the number of values of column i without the row. It is smaller by one if no other row has
the value x_i and if it was not declared.
Reference: Mitchell (1997), Machine Learning, §6.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.densities.leave_one_out.pieces import in_pieces, pieces
from verosim.densities.leave_one_out.removal import Removal, Scorer
from verosim.densities.smoothing import log_of
from verosim.stats import Counts
from verosim.stats.forgetting import residue, settled

if TYPE_CHECKING:
    from verosim.densities.discrete import Categorical


def scorer(density: Categorical, statistic: Counts) -> Scorer:
    """The scorer for categories, bins, or the cells of a joint histogram."""
    codes = statistic.axes.codes
    assert codes is not None
    raw, weight = statistic.arrays["count"][:, 0], statistic.weight[:, 0]
    cells = statistic.arrays["cells"][0]  # (K,)
    kinds = density.estimate(statistic).kinds  # (d,) B
    grows = not density.fixed_values
    count = np.maximum(raw, 0.0)  # (C, K)
    # One more code stands for a missing cell. Its count is zero.
    raw, count = (np.pad(table, ((0, 0), (0, 1))).T for table in (raw, count))  # (K + 1, C)
    declared = np.append(codes.declared, False)
    cells, everyone = np.append(cells, 1), np.append(raw[:-1].sum(axis=1), 1.0)
    column = codes.column_of()
    total = np.zeros((len(kinds), len(weight)))  # (d, C)
    np.add.at(total, column, count[:-1])
    alpha = density.alpha

    def score_piece(block: Any, removal: Removal) -> tuple[np.ndarray, bool]:
        at = codes.encode(block)[0]  # (b, d)
        w, own = removal.weights[:, None], removal.classes
        here, (row, j) = at >= 0, np.indices(at.shape)
        # The counts of the codes of the row after it is removed: in its class, and in all rows.
        before = raw[at, own[:, None]]
        mine = before - w  # (b, d)
        left = settled(cells[at] - 1, everyone[at] - w, everyone[at])
        alone = here & (left == 0)
        mine = np.where(
            (mine > residue(before, weight[own][:, None])) & (codes.fixed | ~alone), mine, 0.0
        )
        n, every = count[at], np.repeat(total[None], len(at), axis=0)  # (b, d, C)
        there = row, j, own[:, None]
        every[there] += np.where(here, mine - n[there], 0.0)
        n[there] = mine
        B = kinds - (alone & ~declared[at]) if grows else np.broadcast_to(kinds, at.shape)  # (b, d)
        denominator = every + alpha * B[..., None]
        blank = ~(denominator > 0)
        mass = (n + alpha) / np.where(blank, 1.0, denominator)
        mass = np.where(blank, 1 / np.maximum(B, 1)[..., None], mass)
        log_mass = log_of(np.where(mass > 0, mass, density.never))
        if not alpha and not density.never:  # a value that no class has is skipped
            absent = log_mass == -np.inf  # (b, d, C)
            absent[there] |= removal.gone[:, None]
            here = here & ~absent.all(axis=-1)
            at = np.where(here, at, -1)
        counted = here if density.constants or not grows else here & (B >= 2)
        found: np.ndarray = np.where(counted[..., None], log_mass, 0.0).sum(axis=1)
        return found - density.log_volume(codes, block, at)[:, None], True

    return in_pieces(statistic, pieces, score_piece)
