"""Counts and scores of small integers.

The places of the counters, or of the scores, are found for several rows in one loop, which handles
several cells at once. A second loop adds one to each counter, or adds up the scores.
"""

import numpy as np

from verosim.kernels._compile import exact, inlined
from verosim.kernels.constants import LANES, U1, U2, U3, U4
from verosim.kernels.lanes import eight_of, load_eight, store_cells
from verosim.kernels.memory import prefetch
from verosim.kernels.turned_rows import whole_lanes

PLACED_ROWS = 4  # rows in one loop
LATER_ROWS = 16  # rows between the one that is scored and the one whose memory is requested


@exact
def _first_outside(X, start, stop, low, most):
    """The first row with a value that is not in low … low + most, or `stop`."""
    for i in range(start, stop):
        for j in range(X.shape[1]):
            if not 0 <= X[i, j] - low[j] <= most[j]:
                return i
    return stop


@exact
def tally_integers(X, low, offset, groups, start, rows, tally):
    """Count C-ordered integers: tally (G, slots) += 1 at offset_j + x − low_j for every cell.

    rows (G,) counts the rows. The loop stops before the first row that has a value outside the
    slots. Returns the number of that row, or n.
    """
    n, d = X.shape
    x, most = X.reshape(-1), offset[1:] - offset[:-1] - 1
    # The numbers of the columns, repeated for all rows of a block.
    lows, mosts = np.empty(PLACED_ROWS * d, np.int64), np.empty(PLACED_ROWS * d, np.int64)
    bases, place = np.empty(PLACED_ROWS * d, np.int64), np.empty(PLACED_ROWS * d, np.int32)
    for t in range(PLACED_ROWS * d):
        lows[t], mosts[t], bases[t] = low[t % d], most[t % d], offset[t % d]
    for first in range(start, n, PLACED_ROWS):
        m = min(PLACED_ROWS, n - first)
        part = x[first * d : (first + m) * d]
        outside = np.int64(0)
        for t in range(part.size):
            at = part[t] - lows[t]
            outside |= at | (mosts[t] - at)  # the sign bit is set if one of them is negative
            place[t] = at + bases[t]
        if outside < 0:
            m = _first_outside(X, first, first + m, low, most) - first
        for i in range(m):
            rows[groups[first + i]] += 1
            row = tally[groups[first + i]]
            for j in range(d):
                row[np.uint64(place[i * d + j])] += 1
        if outside < 0:
            return first + m
    return n


@inlined
def _sum_at(table, place, begin, d, width, c):
    """Σ table[place, c … c + 7] for the d places from `begin` on. The table is flat.

    Four rows of the table are added at once, because each update of a sum waits for the last.
    """
    a, b = eight_of(0.0), eight_of(0.0)
    whole, end = begin + np.uint64(d // 4 * 4), begin + np.uint64(d)
    for t in range(begin, whole, U4):
        p = load_eight(table, place[t] * width + c)
        q = load_eight(table, place[t + U1] * width + c)
        a = a + (p + q)
        p = load_eight(table, place[t + U2] * width + c)
        q = load_eight(table, place[t + U3] * width + c)
        b = b + (p + q)
    for t in range(whole, end):
        a = a + load_eight(table, place[t] * width + c)
    return a + b


@exact
def score_codes(codes, table, out):
    """out (n, C) = Σ_j table[code_ij]; negative codes are left out.

    table (codes + 1, ⌈C/8⌉ · 8) is flat, and its last row is zero.
    """
    n, d = codes.shape
    C, width = out.shape[1], whole_lanes(out.shape[1])
    nothing = table.size // width - 1
    place = np.empty(d, np.int64)
    for i in range(n):
        for j in range(d):
            place[j] = codes[i, j] if codes[i, j] >= 0 else nothing
        for c in range(0, C, LANES):
            sums = _sum_at(table, place, np.uint64(0), d, width, c)
            store_cells(out, i, c, min(LANES, C - c), sums)


@exact
def score_integers(X, low, offset, table, out):
    """out (n, C) = Σ_j table[offset_j + x − low_j] for C-ordered integers.

    A value outside the slots of column j has the row slots + j of the table. The table
    (slots + d, ⌈C/8⌉ · 8) is flat.
    """
    n, d = X.shape
    C, slots = out.shape[1], offset[d]
    width = whole_lanes(C)
    x, cells = X.reshape(-1), PLACED_ROWS * d
    lows, mosts = np.empty(cells, np.int64), np.empty(cells, np.int64)
    bases, place = np.empty(cells, np.int64), np.empty(cells, np.int64)
    for t in range(cells):
        j = t % d
        lows[t], mosts[t], bases[t] = low[j], offset[j + 1] - offset[j] - 1, offset[j]
    for first in range(0, n, PLACED_ROWS):
        m = min(PLACED_ROWS, n - first)
        part = x[first * d : (first + m) * d]
        outside = np.int64(0)
        for t in range(part.size):
            at = part[t] - lows[t]
            outside |= at | (mosts[t] - at)
            place[t] = at + bases[t]
        if outside < 0:
            for t in range(part.size):
                if not 0 <= part[t] - lows[t] <= mosts[t]:
                    place[t] = slots + t % d
        for i in range(m):
            for t in range((first + i + LATER_ROWS) * d, (first + i + LATER_ROWS + 1) * d, LANES):
                prefetch(x, t)
            for c in range(0, C, LANES):
                sums = _sum_at(table, place, np.uint64(i * d), d, width, c)
                store_cells(out, first + i, c, min(LANES, C - c), sums)
