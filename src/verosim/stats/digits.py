"""How many digits are left of a spread after large values came and went.

    digits = −log10 of eps · absorbed over the squares about the mean

`absorbed` is the largest Σw z² the sums have ever held: below eps · absorbed all is noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from verosim.stats.moments import Moments


def digits_left(statistic: Moments) -> np.ndarray:
    """(class, column) correct digits; pooled, one row for all classes.

    A spread below a billionth of the column's total is nobody's loss as long as the noise is
    below it too: a floor covers both.
    """
    S, W = statistic.arrays["sum"], statistic.weights
    pooled = statistic.layout == "pooled"
    some = W > 0
    mean = S / np.where(some, W, 1.0)  # about the pivot
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
    # Sums that cancel to exactly nothing were exact all along.
    covered = (within == 0) | ((within <= floor) & (noise <= floor))
    digits = np.where((noise > 0) & ~covered, digits, 16.0)
    return digits.min(axis=0)[None] if pooled else digits.min(axis=1)
