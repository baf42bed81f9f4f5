"""How many correct digits a variance has after large values were added and subtracted.

    digits = log10( Σw (x − mean)² / (eps · absorbed) )

where eps is the machine precision and `absorbed` is the largest value that Σw z² ever had.
Everything below eps · absorbed is rounding error.
Reference: Higham (2002), Accuracy and Stability of Numerical Algorithms, §1.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from verosim.stats.moments import Moments


def digits_left(statistic: Moments) -> np.ndarray:
    """(C, d) correct digits of each variance; (1, d) if the layout is "pooled".

    The variance floor replaces variances below 1e-9 of the total variance of a column. A variance
    below the floor needs no correct digits if the rounding error is below the floor too.
    """
    S, W = statistic.arrays["sum"], statistic.weights
    pooled = statistic.layout == "pooled"
    some = W > 0
    mean = S / np.where(some, W, 1.0)  # (C, F, d) mean − pivot
    within = statistic.squares() - ((S * mean).sum(axis=0) if pooled else S * mean)
    pivot = statistic.arrays["pivot"]
    lowest = np.nanmin(np.where(np.isnan(pivot), np.inf, pivot), axis=0)
    place = (pivot - lowest)[:, None] + mean
    weight = np.where(some & np.isfinite(place), W, 0.0)
    place = np.where(weight > 0, place, 0.0)
    total = np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    centre = (weight * place).sum(axis=0) / total
    spread = within if pooled else within.sum(axis=0)
    spread = np.maximum(spread + (weight * (place - centre) ** 2).sum(axis=0), 0) / total
    share = total if pooled else weight
    floor = 1e-9 * share * spread
    noise = np.finfo(float).eps * statistic.arrays["absorbed"]
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.log10(np.maximum(within, floor) / noise)
    # Sums that cancel to exactly zero have no rounding error.
    covered = (within == 0) | ((within <= floor) & (noise <= floor))
    digits = np.where((noise > 0) & ~covered, digits, 16.0)
    return digits.min(axis=0)[None] if pooled else digits.min(axis=1)
