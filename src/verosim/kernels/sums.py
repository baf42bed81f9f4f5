"""Sums stored as pairs high + low, so that adding blocks loses no digits.

    s = a + b,  e = the exact rounding error of s        (Knuth's two-sum)

Reference: Knuth, The Art of Computer Programming, vol. 2, §4.2.2.
"""

from verosim.kernels._compile import exact


@exact
def two_sum(a, b):
    """s = a + b rounded, and the exact rounding error e, so that s + e = a + b."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@exact
def accumulate(high, low, index, value):
    """high + low += value, at one index of flat arrays."""
    s, e = two_sum(high[index], value)
    low[index] += e
    high[index] = s


@exact
def add_block(high, low, block):
    """high + low += block, for flat arrays, in place."""
    for i in range(high.size):
        accumulate(high, low, i, block[i])


@exact
def _add(high, low, other_high, other_low, sign):
    """(high, low) += sign · (other_high, other_low), for flat arrays, in place."""
    for i in range(high.size):
        s, e = two_sum(high[i], sign * other_high[i])
        e += low[i] + sign * other_low[i]
        high[i] = s + e
        low[i] = e - (high[i] - s)


@exact
def add_pairs(high, low, other_high, other_low):
    """(high, low) += (other_high, other_low), for flat arrays, in place."""
    _add(high, low, other_high, other_low, 1.0)


@exact
def subtract_pairs(high, low, other_high, other_low):
    """(high, low) −= (other_high, other_low), for flat arrays, in place."""
    _add(high, low, other_high, other_low, -1.0)
