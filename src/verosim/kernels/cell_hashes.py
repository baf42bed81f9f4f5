"""Hashes of rows, column by column: every bit depends on every cell before it (SplitMix64)."""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.stochastic import GOLD


@exact
def hash_cells(bits, missing, hashes):
    """hashes (n,) = the hash of each row so far, with the cells (n, d) uint64 of the row added.

    The bits are those of float64 numbers. A NaN is hashed as `missing`.
    """
    n, d = bits.shape
    for i in range(n):
        h = hashes[i]
        for j in range(d):
            cell = bits[i, j]
            if (cell & np.uint64(0x7FFFFFFFFFFFFFFF)) > np.uint64(0x7FF0000000000000):  # NaN
                cell = missing
            h = (h ^ cell) + GOLD
            h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            h = h ^ (h >> np.uint64(31))
        hashes[i] = h
