"""Leave-one-out scores of diagonal Gaussians and Poissons: the row is subtracted from the sums.

    W' = W − w,   S' = S − w z,   Q' = Q − w z²        z = x − pivot, for each cell with a value

Then the density is estimated from these sums with the usual floor, shrinkage and fallback. This is
done for a block of b rows at a time, with arrays (b, C, d).
Reference: Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance, The American
Statistician 37, 242–247.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from verosim.densities.central import Centred, PivotSums
from verosim.densities.leave_one_out.pieces import dense_pieces, in_pieces
from verosim.densities.leave_one_out.removal import Removal, Scorer
from verosim.stats import Moments
from verosim.stats.forgetting import SUBTRACTION_ROUNDING

if TYPE_CHECKING:
    from verosim.densities.gaussian import DiagonalGaussian
    from verosim.densities.poisson import Poisson

# (sums without each row, the rows) → (b, C) scores
DiagonalScore = Callable[[Centred, np.ndarray], np.ndarray]


def gaussian(density: DiagonalGaussian, statistic: Moments) -> Scorer:
    """The scorer for Gaussians with diagonal covariances, one per class or one for all."""

    def score_rows(moments: Centred, rows: np.ndarray) -> np.ndarray:
        return density.from_moments(moments).contributions(rows).sum(axis=-1)

    return _scorer(statistic, score_rows)


def poisson(density: Poisson, statistic: Moments) -> Scorer:
    """The scorer for Poissons: λ = (Σx + α m) / (n + α), where m is the mean without the row."""

    def score_rows(moments: Centred, rows: np.ndarray) -> np.ndarray:
        rate, x = density.rates(moments), rows[:, None]  # (b, C, d)
        used = (rate > 0).any(axis=-2, keepdims=True)
        log_mass = x * np.log(np.where(rate > 0, rate, 1.0)) - rate - gammaln(x + 1.0)
        return np.where(used & ~np.isnan(x), log_mass, 0.0).sum(axis=-1)

    return _scorer(statistic, score_rows)


def _scorer(statistic: Moments, score_rows: DiagonalScore) -> Scorer:
    sums = PivotSums.of(statistic)

    def score_piece(rows: np.ndarray, removal: Removal) -> tuple[np.ndarray, bool]:
        return score_rows(Centred(_without(sums, rows, removal)), rows), True

    return in_pieces(statistic, dense_pieces, score_piece)


def _without(sums: PivotSums, rows: np.ndarray, removal: Removal) -> PivotSums:
    """For each row, the sums of all other rows; arrays of shape (b, C, d)."""
    assert sums.square is not None
    assert sums.square_low is not None
    assert sums.absorbed is not None
    b, (C, d) = len(rows), sums.pivot.shape
    at, k, w = removal.own(), removal.classes, removal.weights[:, None]
    shown = ~np.isnan(rows)
    z = np.where(shown, rows - sums.pivot[k], 0.0)
    before = sums.weight[k]
    weight = before - np.where(shown, w, 0.0)
    # Columns in which no other row of the class has a value.
    blank = (weight <= SUBTRACTION_ROUNDING * before) | removal.gone[:, None]

    def replaced(each: np.ndarray, own: np.ndarray) -> np.ndarray:
        out = np.empty((b, C, d))
        out[...] = each
        out[at] = np.where(blank, 0.0, own)
        return out

    S, S_low = _less(sums.sum[k], sums.sum_low[k], w * z)
    Q, Q_low = _less(sums.square[k], sums.square_low[k], w * z * z)
    present, rows_left, class_weight = (
        np.tile(a, (b, 1)) for a in (sums.present, sums.rows, sums.class_weight)
    )
    present[at] &= ~removal.gone
    rows_left[at] = removal.rows
    class_weight[at] = removal.left
    return PivotSums(
        present, rows_left, class_weight, sums.pivot, replaced(sums.weight, weight),
        replaced(sums.sum, S), replaced(sums.sum_low, S_low),
        replaced(sums.square, Q), replaced(sums.square_low, Q_low),
        replaced(sums.absorbed, sums.absorbed[k]),
    )  # fmt: skip


def _less(high: np.ndarray, low: np.ndarray, term: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(high + low) − term as a pair (high, low), by the two-sum algorithm of Knuth."""
    s = high - term
    back = s - high
    e = ((high - (s - back)) + (-term - back)) + low
    out = s + e
    return out, e - (out - s)
