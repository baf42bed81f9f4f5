"""Numbers that replace counts and shares of zero, or nearly zero.

The densities of counts and their leave-one-out forms must use the same numbers.
"""

from __future__ import annotations

DIFFERENCE_ROUNDING = 1e-12  # share of a sum below which a difference of sums is rounding
LEAST_ALPHA = 1e-10  # smallest smoothing of columns and tokens, so that no logarithm is infinite
UNSEEN_SHARE = 1e-3  # share of an unseen value with α = 0; the default `threshold` of R's e1071
