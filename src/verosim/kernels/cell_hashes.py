"""Hashes of rows, column by column: every bit depends on every cell before it (SplitMix64)."""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.stochastic import GOLD


@exact
def _mixed(h, cell, missing):
    """The hash of a row so far, with one more cell. A NaN is hashed as `missing`."""
    if (cell & np.uint64(0x7FFFFFFFFFFFFFFF)) > np.uint64(0x7FF0000000000000):  # NaN
        cell = missing
    h = (h ^ cell) + GOLD
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@exact
def hash_cells(bits, missing, hashes):
    """hashes (n,) = the hash of each row so far, with the cells (n, d) uint64 of the row added.

    The bits are those of float64 numbers. Four rows are hashed together, because each step of one
    row waits for the step before.
    """
    n, d = bits.shape
    fours = n - n % 4
    for i in range(0, fours, 4):
        a, b, c, e = hashes[i], hashes[i + 1], hashes[i + 2], hashes[i + 3]
        for j in range(d):
            a = _mixed(a, bits[i, j], missing)
            b = _mixed(b, bits[i + 1, j], missing)
            c = _mixed(c, bits[i + 2, j], missing)
            e = _mixed(e, bits[i + 3, j], missing)
        hashes[i], hashes[i + 1], hashes[i + 2], hashes[i + 3] = a, b, c, e
    for i in range(fours, n):
        h = hashes[i]
        for j in range(d):
            h = _mixed(h, bits[i, j], missing)
        hashes[i] = h
