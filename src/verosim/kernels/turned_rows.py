"""Scores of eight rows, turned: the scores of one class are next to each other.

The scores s of eight rows are (C, 8), in a flat array with room for a multiple of eight classes.
"""

from verosim.kernels._compile import exact, inlined
from verosim.kernels.constants import LANES
from verosim.kernels.lanes import load_cells, load_eight, store, store_cells, turned


@exact
def whole_lanes(d):
    """d, rounded up to a multiple of eight."""
    return -(-d // LANES) * LANES


@inlined
def turn_part(a, first, step, b, to, apart):
    """Write the columns of eight rows of eight numbers of the array a to the array b.

    The rows of a begin at first, first + step, …, and those of b at to, to + apart, …
    """
    t = turned((
        load_eight(a, first), load_eight(a, first + step),
        load_eight(a, first + 2 * step), load_eight(a, first + 3 * step),
        load_eight(a, first + 4 * step), load_eight(a, first + 5 * step),
        load_eight(a, first + 6 * step), load_eight(a, first + 7 * step),
    ))  # fmt: skip
    store(b, to, t[0])
    store(b, to + apart, t[1])
    store(b, to + 2 * apart, t[2])
    store(b, to + 3 * apart, t[3])
    store(b, to + 4 * apart, t[4])
    store(b, to + 5 * apart, t[5])
    store(b, to + 6 * apart, t[6])
    store(b, to + 7 * apart, t[7])


@inlined
def read_turned(rows, start, m, s, first, scratch):
    """s from position `first` on = the m ≤ 8 rows from `start` on of a matrix (n, C).

    scratch (64,) is overwritten, and so are up to 56 numbers of s after the last class.
    """
    C = rows.shape[1]
    for c in range(0, C, LANES):
        for i in range(m):
            store(scratch, i * LANES, load_cells(rows, start + i, c, min(LANES, C - c)))
        turn_part(scratch, 0, LANES, s, first + c * LANES, LANES)


@inlined
def write_turned(s, first, m, start, rows, scratch):
    """The m ≤ 8 rows from `start` on of a matrix (n, C) = s from position `first` on.

    scratch (64,) is overwritten.
    """
    C = rows.shape[1]
    for c in range(0, C, LANES):
        turn_part(s, first + c * LANES, LANES, scratch, 0, LANES)
        for i in range(m):
            store_cells(rows, start + i, c, min(LANES, C - c), load_eight(scratch, i * LANES))
