"""Mixtures: the density of a class is a weighted sum over its components."""

import math

import numpy as np

from verosim.kernels._compile import exact


@exact
def sum_components(scores, log_share, starts, out):
    """out (n, C) = log Σ_g share_g exp scores_g over the components g of each class.

    scores (n, K) are log densities of components. The components of class c are starts[c] to
    starts[c + 1]. A class without components has −∞.
    """
    n, C = out.shape
    for i in range(n):
        for c in range(C):
            a, b = starts[c], starts[c + 1]
            top = -np.inf
            for g in range(a, b):
                s = scores[i, g] + log_share[g]
                if not s <= top:  # also NaN
                    top = s
            if b == a + 1 or not np.isfinite(top):
                out[i, c] = top
                continue
            total = 0.0
            for g in range(a, b):
                total += math.exp(scores[i, g] + log_share[g] - top)
            out[i, c] = top + math.log(total)
