"""Cuts of ordered cells where the classes separate, by their description length.

    cut where  N H(S) − N_1 H(S_1) − N_2 H(S_2) > log(N − 1) + log(3^c − 2)
                                                  − (c H(S) − c_1 H(S_1) − c_2 H(S_2))

H is the entropy of the classes in nats and c the number of classes in a part S of N rows. N H is
N log N − Σ_k N_k log N_k.
Reference: Fayyad & Irani (1993), Multi-interval discretization of continuous-valued attributes for
classification learning.
"""

import numpy as np

from verosim.kernels._compile import exact


@exact
def _spread_of(reached, start, stop):
    """(N, N · H, c) of the cells from start to stop."""
    total, each, classes = 0.0, 0.0, 0
    for k in range(reached.shape[1]):
        count = reached[stop, k] - reached[start, k]
        if count > 0.0:
            total += count
            each += count * np.log(count)
            classes += 1
    return total, (total * np.log(total) - each if total > 0.0 else 0.0), classes


@exact
def _best_cut(reached, start, stop):
    """The cell before which to cut, or −1 if no cut is worth its description."""
    N, whole, c = _spread_of(reached, start, stop)
    if stop - start < 2 or N < 2.0:
        return -1
    best, at = np.inf, -1
    for cut in range(start + 1, stop):
        n_left, left, _ = _spread_of(reached, start, cut)
        n_right, right, _ = _spread_of(reached, cut, stop)
        if n_left > 0.0 and n_right > 0.0 and left + right < best:
            best, at = left + right, cut
    if at < 0:
        return -1
    n_left, left, c_left = _spread_of(reached, start, at)
    n_right, right, c_right = _spread_of(reached, at, stop)
    described = c * whole / N - c_left * left / n_left - c_right * right / n_right
    # log(3^c − 2), also for so many classes that 3^c overflows
    price = np.log(N - 1.0) + c * np.log(3.0) + np.log1p(-2.0 * 3.0 ** (-c)) - described
    return at if whole - best > price else -1


@exact
def separate_cells(reached, cut):
    """cut (K,) = whether a part begins at a cell, for the sums (K + 1, C) of the cells before each.

    Returns the number of cuts.
    """
    K = len(cut)
    starts = np.empty(K + 1, dtype=np.int64)
    stops = np.empty(K + 1, dtype=np.int64)
    starts[0], stops[0] = 0, K
    waiting, found = 1, 0
    while waiting > 0:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        at = _best_cut(reached, start, stop)
        if at >= 0:
            cut[at] = True
            found += 1
            starts[waiting], stops[waiting] = start, at
            starts[waiting + 1], stops[waiting + 1] = at, stop
            waiting += 2
    return found
