"""Exponentials of eight numbers at once.

    exp x = 2ⁿ e^r,   n = round(x / log 2),   r = x − n log 2,   |r| ≤ ½ log 2

e^r is the Taylor polynomial of degree 13, with a relative error below 10⁻¹⁷ before rounding.
Reference: Muller (2016), Elementary Functions, §11.
"""

import math

from verosim.kernels._compile import inlined
from verosim.kernels.constants import LANES
from verosim.kernels.lanes import (
    TO_WHOLE,
    eight_of,
    fused,
    load_eight,
    not_below,
    store,
    times_power,
)

# x − n log 2 is exact to the last bits if log 2 has two parts, and the first has few digits.
LOG2E, LOG2_HIGH, LOG2_LOW = math.log2(math.e), 0.693145751953125, 1.42860682030941723212e-6
ZERO_BELOW = -746.0  # exp of it is zero
F2, F3, F4, F5, F6, F7, F8, F9, F10, F11, F12, F13 = (1 / math.factorial(k) for k in range(2, 14))


@inlined
def exponential(x):
    """exp(x) for x ≤ 0, with an error below one unit in the last place."""
    x = not_below(x, eight_of(ZERO_BELOW))
    whole = fused(x, eight_of(LOG2E), eight_of(TO_WHOLE))
    n = whole - eight_of(TO_WHOLE)
    r = (x - n * eight_of(LOG2_HIGH)) - n * eight_of(LOG2_LOW)
    q = r * r
    s = q * q
    a = fused(q, fused(r, eight_of(F5), eight_of(F4)), fused(r, eight_of(F3), eight_of(F2)))
    b = fused(q, fused(r, eight_of(F9), eight_of(F8)), fused(r, eight_of(F7), eight_of(F6)))
    c = fused(q, fused(r, eight_of(F13), eight_of(F12)), fused(r, eight_of(F11), eight_of(F10)))
    p = fused(q, fused(s, fused(s, c, b), a), r) + eight_of(1.0)
    return times_power(p, whole)


@inlined
def exponentials(x, count):
    """x[i] = exp(x[i]) for i < count and x ≤ 0; count is a multiple of eight."""
    for i in range(0, count, LANES):
        store(x, i, exponential(load_eight(x, i)))
