"""Logarithms of smoothed relative frequencies."""

import math

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import STRETCH

SMALL = 64  # whole counts below this number have their logarithm computed only once


@exact
def log_shares(count, alpha, out):
    """out (K, C) = log (count + α) − log Σ_k (count + α).

    Counts below zero are rounding errors and count as zero.
    """
    K, C = count.shape
    total, part = np.zeros(C), np.zeros(C)
    for k in range(K):
        for c in range(C):
            part[c] += max(count[k, c], 0.0) + alpha
        if k % STRETCH == STRETCH - 1 or k == K - 1:
            total += part
            part[:] = 0.0
    total = np.log(total)
    logs = np.log(np.arange(SMALL) + alpha)
    for k in range(K):
        for c in range(C):
            x = max(count[k, c], 0.0)
            i = int(min(x, SMALL - 1.0))
            out[k, c] = (logs[np.uint64(i)] if i == x else math.log(x + alpha)) - total[c]


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
