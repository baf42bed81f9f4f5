"""Numbers that replace counts of nearly zero, and the logarithm of shares of zero.

The densities of counts and their leave-one-out forms must use the same numbers.
"""

from __future__ import annotations

import numpy as np

DIFFERENCE_ROUNDING = 1e-12  # share of a sum below which a difference of sums is rounding
LEAST_ALPHA = 1e-10  # smallest smoothing of complement scores, so that no logarithm is infinite


def log_of(share: np.ndarray) -> np.ndarray:
    """The logarithm, −∞ for a share of zero."""
    with np.errstate(divide="ignore"):
        out: np.ndarray = np.log(share)
    return out
