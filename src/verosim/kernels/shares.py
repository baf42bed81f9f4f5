"""Logarithms of smoothed relative frequencies."""

import math

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import STRETCH, U1

LARGEST_SPLIT = 1e290  # larger values have no room for the unit
SMALL = 64  # whole counts below this number have their logarithm computed only once


@exact
def log_shares(count, alpha, out, total):
    """out (K, ≥ C) = log (count + α) − log Σ_k (count + α), and total (C,) += Σ_k count.

    count is (K, C), and `out` is zero from column C on. Counts below zero are rounding errors and
    count as zero in the shares.
    """
    K, C = count.shape
    norms, part, raw = np.zeros(C), np.zeros(C), np.zeros(C)
    for k in range(K):
        for c in range(C):
            part[c] += max(count[k, c], 0.0) + alpha
            raw[c] += count[k, c]
        if k % STRETCH == STRETCH - 1 or k == K - 1:
            norms += part
            total += raw
            part[:] = raw[:] = 0.0
    norms = np.log(norms)
    logs = np.log(np.arange(SMALL) + alpha)
    for k in range(K):
        for c in range(C):
            x = max(count[k, c], 0.0)
            i = int(min(x, SMALL - 1.0))
            out[k, c] = (logs[np.uint64(i)] if i == x else math.log(x + alpha)) - norms[c]
        for c in range(C, out.shape[1]):
            out[k, c] = 0.0


@exact
def _sum_in_any_order(values, least):
    """Σ_t max(values_t, least), with the same bits for every order of the values.

    Each value is divided into a multiple of a unit, a multiple of a unit that is 2⁻⁵⁰/n times
    smaller, and a rest that is too small to matter. Sums of multiples of one unit are exact. Adding
    and subtracting 1.5 powers of two rounds to a multiple of the unit.
    Reference: Demmel & Nguyen (2013), Fast reproducible floating-point summation, ARITH 21.
    """
    largest = 0.0
    for t in range(np.uint64(values.size)):
        largest = max(largest, abs(values[t]))
    if largest == 0.0 or largest > LARGEST_SPLIT:
        return values.sum()
    room = math.ceil(math.log2(4.0 * values.size)) + 1.0
    coarse = 1.5 * 2.0 ** (math.ceil(math.log2(largest)) + room)
    fine = coarse * 2.0 ** (room - 52.0)
    whole = rest = 0.0
    for t in range(np.uint64(values.size)):
        x = max(values[t], least)
        multiple = (x + coarse) - coarse
        whole += multiple
        rest += ((x - multiple) + fine) - fine
    return whole + rest


@exact
def log_token_shares(indptr, codes, sums, alpha, out, total):
    """out (K, ≥ C) = `log_shares` of the sums of C classes, most of which are zero.

    The sums of class c are at indptr[c] … indptr[c + 1], and total (C,) becomes their sum. The
    order of the sums of a class depends on the order of the rows, and the result does not.
    """
    K, C = out.shape[0], indptr.size - 1
    norms = np.zeros(C)
    for c in range(C):
        own = sums[indptr[c] : indptr[c + 1]]
        total[c] = _sum_in_any_order(own, -np.inf)
        norms[c] = math.log(_sum_in_any_order(own, 0.0) + alpha * K)
    logs = np.log(np.arange(SMALL) + alpha)
    for k in range(np.uint64(K)):
        for c in range(np.uint64(C)):
            out[k, c] = logs[0] - norms[c]
        for c in range(np.uint64(C), np.uint64(out.shape[1])):
            out[k, c] = 0.0
    for c in range(np.uint64(C)):
        norm = norms[c]
        for t in range(np.uint64(indptr[c]), np.uint64(indptr[c + U1])):
            x = max(sums[t], 0.0)
            i = int(min(x, SMALL - 1.0))
            log = logs[np.uint64(i)] if i == x else math.log(x + alpha)
            out[np.uint64(codes[t]), c] = log - norm


@exact
def log_complement_shares(count, alpha, out):
    """out (K, C) = log (rest + α) − log Σ_k (rest + α), where rest is the count of other classes.

    Most tokens are absent from most classes. The rest is then the count of all classes, and its
    logarithm is computed once for each token.
    """
    K, C = count.shape
    total, part = np.zeros(C), np.zeros(C)
    for k in range(K):
        every = 0.0
        for c in range(C):
            every += max(count[k, c], 0.0)
        for c in range(C):
            part[c] += max(every - max(count[k, c], 0.0), 0.0) + alpha
        out[k, 0] = every
        if k % STRETCH == STRETCH - 1 or k == K - 1:
            total += part
            part[:] = 0.0
    total = np.log(total)
    for k in range(K):
        every = out[k, 0]
        log_every = math.log(every + alpha)
        for c in range(C):
            x = max(count[k, c], 0.0)
            rest = log_every if x == 0.0 else math.log(max(every - x, 0.0) + alpha)
            out[k, c] = rest - total[c]


@exact
def log_contrast_shares(count, alpha, own, out):
    """own (K, C) as `log_shares`, and out (K, C) = own − `log_complement_shares`, in one pass."""
    K, C = count.shape
    total, part = np.zeros(C), np.zeros(C)
    others, other_part = np.zeros(C), np.zeros(C)
    for k in range(K):
        every = 0.0
        for c in range(C):
            every += max(count[k, c], 0.0)
        for c in range(C):
            x = max(count[k, c], 0.0)
            part[c] += x + alpha
            other_part[c] += max(every - x, 0.0) + alpha
        out[k, 0] = every
        if k % STRETCH == STRETCH - 1 or k == K - 1:
            total += part
            others += other_part
            part[:] = 0.0
            other_part[:] = 0.0
    total, others = np.log(total), np.log(others)
    logs = np.log(np.arange(SMALL) + alpha)
    for k in range(K):
        every = out[k, 0]
        log_every = math.log(every + alpha)
        for c in range(C):  # most tokens are absent from most classes
            own[k, c] = logs[0] - total[c]
            out[k, c] = (logs[0] - total[c]) - (log_every - others[c])
        for c in range(C):
            x = max(count[k, c], 0.0)
            if x > 0.0:
                i = int(min(x, SMALL - 1.0))
                own[k, c] = (logs[np.uint64(i)] if i == x else math.log(x + alpha)) - total[c]
                out[k, c] = own[k, c] - (math.log(max(every - x, 0.0) + alpha) - others[c])


@exact
def log_presence(count, seen, alpha, table, absent):
    """The scores of columns that are present or absent: φ = (count + α) / (seen + 2α).

        absent (d, C) = log (1 − φ),   table (d, ≥ C) = log φ − log (1 − φ), zero from C on

    count is (C, d), and seen is (C, d), or (C, 1) if all columns have the same number of rows. The
    scores of small whole counts are computed once for each class. Most counts are zero.
    """
    (C, d), width = count.shape, table.shape[1]
    odds, gone = np.zeros((SMALL, width)), np.empty((SMALL, C))
    for n in range(SMALL):
        for c in range(C):
            odds[n, c], gone[n, c] = _log_odds(float(n), seen[c, 0], alpha)
    for k in range(d):
        at = k if seen.shape[1] > 1 else 0
        for c in range(width):
            table[k, c] = odds[0, c]
        for c in range(C):
            absent[k, c] = gone[0, c]
        for c in range(C):
            n = max(count[c, k], 0.0)
            alike = seen[c, at] == seen[c, 0]
            if n == 0.0 and alike:
                continue
            i = int(min(n, SMALL - 1.0))
            if i == n and alike:
                table[k, c], absent[k, c] = odds[np.uint64(i), c], gone[np.uint64(i), c]
            else:
                table[k, c], absent[k, c] = _log_odds(n, seen[c, at], alpha)


@exact
def _log_odds(n, seen, alpha):
    """log φ − log (1 − φ) and log (1 − φ) for n of `seen` rows."""
    total = max(seen, 0.0) + 2 * alpha
    absent = math.log((max(seen - n, 0.0) + alpha) / total)
    return math.log((n + alpha) / total) - absent, absent
