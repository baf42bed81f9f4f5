"""The step from discriminants to posteriors, for many rows at once.

    exp x = 2ⁿ e^r,   n = round(x / log 2),   r = x − n log 2,   |r| ≤ ½ log 2

e^r is the Taylor polynomial of degree 13, with a relative error below 10⁻¹⁷ before rounding. The
loops have no branch and no call, so that one instruction computes several exponentials.
Reference: Muller (2016), Elementary Functions, §11.
"""

import math

import numpy as np

from verosim.kernels._compile import exact

TURNED_CELLS = 1024  # with its powers of two, 24 kB: these numbers stay in the fastest cache
# x − n log 2 is exact to the last bits if log 2 has two parts, and the first has few digits.
LOG2E, LOG2_HIGH, LOG2_LOW = math.log2(math.e), 0.693145751953125, 1.42860682030941723212e-6
TO_WHOLE = 1.5 * 2.0**52  # a sum with this number is rounded to a whole number
WHOLE_BITS = 0x4338000000000000  # its bits; the bits of TO_WHOLE + n are WHOLE_BITS + n
ZERO_BELOW = -746.0  # exp of it is zero
F2, F3, F4, F5, F6, F7, F8, F9, F10, F11, F12, F13 = (1 / math.factorial(k) for k in range(2, 14))


@exact
def exponentials(x, count, first, second):
    """x[i] = exp(x[i]) for i < count and x ≤ 0, with an error below one unit in the last place.

    first and second are scratch arrays. 2ⁿ is the product of two powers of two, because a very
    small result is below the smallest power that a normal number can store.
    """
    first_bits, second_bits = first.view(np.int64), second.view(np.int64)
    for i in range(count):
        v = x[i]
        v = ZERO_BELOW if v < ZERO_BELOW else v
        whole = v * LOG2E + TO_WHOLE
        first[i] = whole
        n = whole - TO_WHOLE
        r = (v - n * LOG2_HIGH) - n * LOG2_LOW
        q = r * r
        s = q * q
        a = (F2 + r * F3) + q * (F4 + r * F5)
        b = (F6 + r * F7) + q * (F8 + r * F9)
        c = (F10 + r * F11) + q * (F12 + r * F13)
        x[i] = 1.0 + (r + q * (a + s * (b + s * c)))
    for i in range(count):
        power = first_bits[i] - WHOLE_BITS
        half = power >> 1
        first_bits[i] = (half + 1023) << 52  # the bits of 2^half
        second_bits[i] = (power - half + 1023) << 52
    for i in range(count):
        x[i] = x[i] * first[i] * second[i]


@exact
def _write_impossible(joint, log_prior, mode, top, evidence):
    """Rows with p(x|k) = 0 for every class: the posterior is the prior."""
    for i in range(top.size):
        if top[i] == -np.inf:
            evidence[i] = -np.inf
            if mode > 0:
                for c in range(log_prior.size):
                    joint[i, c] = log_prior[c] if mode % 2 else math.exp(log_prior[c])


@exact
def normalise(joint, log_prior, mode, evidence):
    """Add log π to joint (n, C), which contains log p(x|k), then normalise in place, by mode:

        0: log joint          1: log posterior
        2: posterior          3: log joint, up to a term that the classes share
        4: posterior, without the evidence

    evidence (n,) = log p(x), except in the modes 3 and 4. It is −∞ in all modes for a row with
    p(x|k) = 0 for every class. Returns whether there is such a row. The scores of several rows are
    turned, so that the cells of one class are next to each other.
    """
    n, C = joint.shape
    step = max(8, TURNED_CELLS // max(C, 1) // 8 * 8)
    s, first, second = np.empty(step * C), np.empty(step * C), np.empty(step * C)
    top, total = np.empty(step), np.empty(step)
    impossible = False
    for start in range(0, n, step):
        m = min(step, n - start)
        part = joint[start : start + m]
        for i in range(m):
            top[i] = -np.inf
        for c in range(C):
            for i in range(m):
                score = part[i, c] + log_prior[c]
                s[c * m + i] = score
                top[i] = score if score > top[i] else top[i]
        lost = False
        for i in range(m):
            lost |= top[i] == -np.inf
        if mode == 0 or mode == 3:
            for c in range(C):
                for i in range(m):
                    part[i, c] = s[c * m + i]
        if mode != 3:
            for c in range(C):
                for i in range(m):
                    s[c * m + i] -= top[i]
            if mode == 1:  # top first: top + log(total) would round the logarithm away
                for c in range(C):
                    for i in range(m):
                        part[i, c] = s[c * m + i]
            exponentials(s, m * C, first, second)
            for i in range(m):
                total[i] = 0.0
            for c in range(C):
                for i in range(m):
                    total[i] += s[c * m + i]
            if mode != 4:
                for i in range(m):
                    log_total = math.log(total[i])
                    evidence[start + i] = top[i] + log_total
                    if mode == 1:
                        for c in range(C):
                            part[i, c] -= log_total
            if mode == 2 or mode == 4:
                for c in range(C):
                    for i in range(m):
                        s[c * m + i] /= total[i]
                for c in range(C):
                    for i in range(m):
                        part[i, c] = s[c * m + i]
        if lost:
            impossible = True
            _write_impossible(part, log_prior, mode, top[:m], evidence[start : start + m])
    return impossible
