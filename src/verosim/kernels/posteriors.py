"""The step from discriminants to posteriors, for eight rows at once."""

import math

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import IMPOSSIBLE, LANES, NOT_FINITE
from verosim.kernels.exponentials import exponentials
from verosim.kernels.lanes import (
    aligned_zeros,
    all_finite,
    eight_of,
    fused,
    larger,
    load_eight,
    repeat,
    store,
)
from verosim.kernels.turned_rows import read_turned, whole_lanes, write_turned

TURNED_CELLS = 1024  # 8 kB: these numbers stay in the fastest cache


@exact
def _write_impossible(out, log_prior, mode):
    """A row with p(x|k) = 0 for every class: the posterior is the prior."""
    if mode > 0:
        for c in range(log_prior.size):
            out[c] = log_prior[c] if mode % 2 else math.exp(log_prior[c])


@exact
def normalise(joint, log_prior, mode, evidence):
    """Add log π to joint (n, C), which contains log p(x|k), then normalise in place, by mode:

        0: log joint          1: log posterior
        2: posterior          3: log joint, up to a term that the classes share
        4: posterior, without the evidence

    evidence (n,) = log p(x), except in the modes 3 and 4. It is −∞ in all modes for a row with
    p(x|k) = 0 for every class. Returns `IMPOSSIBLE` if there is such a row, plus `NOT_FINITE` if
    joint contained a number that is not finite.
    """
    n, C = joint.shape
    eight = C * LANES  # the scores of eight rows, class by class
    step = max(1, TURNED_CELLS // eight) * LANES
    s, scratch = aligned_zeros(step * C + LANES * LANES), aligned_zeros(LANES * LANES)
    top, total = aligned_zeros(step), aligned_zeros(step)
    odd, found = eight_of(0.0), 0
    for start in range(0, n, step):
        m = min(step, n - start)
        for i in range(0, m, LANES):
            read_turned(joint, start + i, min(LANES, m - i), s, i * C, scratch)
            highest = eight_of(-np.inf)
            for at in range(i * C, i * C + eight, LANES):
                score = load_eight(s, at)
                odd = odd + (score - score)  # zero, or NaN
                score = score + repeat(log_prior, at // LANES - i // LANES * C)
                store(s, at, score)
                highest = larger(score, highest)
            store(top, i, highest)
            if mode == 0 or mode == 3:
                write_turned(s, i * C, min(LANES, m - i), start + i, joint, scratch)
            if mode != 3:
                for at in range(i * C, i * C + eight, LANES):
                    store(s, at, load_eight(s, at) - highest)
                if mode == 1:  # the highest first: + log(total) would round the logarithm away
                    write_turned(s, i * C, min(LANES, m - i), start + i, joint, scratch)
        if mode != 3:
            exponentials(s, whole_lanes(m) * C)
            for i in range(0, m, LANES):
                sums = eight_of(0.0)
                for at in range(i * C, i * C + eight, LANES):
                    sums = sums + load_eight(s, at)
                store(total, i, sums)
                if mode == 2 or mode == 4:
                    # One division per row. The remainder e − q Σe corrects the rounding of q.
                    inverse, opposite = eight_of(1.0) / sums, eight_of(0.0) - sums
                    for at in range(i * C, i * C + eight, LANES):
                        share = load_eight(s, at)
                        quotient = share * inverse
                        rest = fused(quotient, opposite, share)
                        store(s, at, fused(rest, inverse, quotient))
                    write_turned(s, i * C, min(LANES, m - i), start + i, joint, scratch)
        if mode < 3:
            for i in range(m):
                log_total = math.log(total[i])
                evidence[start + i] = top[i] + log_total
                if mode == 1:
                    for c in range(C):
                        joint[start + i, c] -= log_total
        for i in range(0, m, LANES):
            if not all_finite(load_eight(top, i)):
                for r in range(i, min(m, i + LANES)):
                    if top[r] == -np.inf:
                        found = IMPOSSIBLE
                        evidence[start + r] = -np.inf
                        _write_impossible(joint[start + r], log_prior, mode)
    return found if all_finite(odd) else found + NOT_FINITE


@exact
def first_largest(scores):
    """(n,) the first class with the largest score, for scores (n, C)."""
    out = np.empty(scores.shape[0], np.int64)
    for i in range(out.size):
        best, top = 0, scores[i, 0]
        for c in range(1, scores.shape[1]):
            if scores[i, c] > top:
                best, top = c, scores[i, c]
        out[i] = best
    return out
