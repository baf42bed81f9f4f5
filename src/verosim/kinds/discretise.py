"""From cells to codes: bins of equal weight, or cuts that separate the classes.

    cut where  N · gain > log(N − 1) + log(3^c − 2) − (c H(S) − c_1 H(S_1) − c_2 H(S_2))

with H the entropy of the classes, c the number of classes in a part S, and both sides in nats.
Reference: Fayyad & Irani (1993), Multi-interval discretization of continuous-valued attributes for
classification learning.
"""

from __future__ import annotations

import numpy as np

from verosim import kernels

FEW_BINS = 3  # where no two cuts separate the classes


def equal_bins(weight: np.ndarray, bins: int) -> np.ndarray:
    """(K,) the bin of every cell (K,) of a number: at most so many, of about equal weight."""
    if len(weight) <= bins:
        return np.arange(len(weight))
    middle = np.cumsum(weight) - weight / 2
    total = weight.sum()
    share = middle / total if total > 0 else np.arange(len(weight)) / len(weight)
    found = np.minimum((share * bins).astype(np.intp), bins - 1)
    out: np.ndarray = np.unique(found, return_inverse=True)[1]
    return out


def separating_bins(count: np.ndarray) -> np.ndarray:
    """(K,) the bin of every cell of a number, from its counts (K, C) in every class."""
    reached = np.concatenate([np.zeros((1, count.shape[1])), np.cumsum(count, axis=0)])
    cut = np.zeros(len(count), dtype=bool)
    if kernels.separate_cells(reached, cut) < 2:
        return equal_bins(count.sum(axis=1), FEW_BINS)
    return np.cumsum(cut)
