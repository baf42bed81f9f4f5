"""Squared distances of dense rows, sixteen rows at once: ‖R_k (x − pivot) − m_k‖².

R_k are triangular matrices. The rows are turned, so that one instruction handles one column of
eight rows, and an entry of R is read once for sixteen rows. The rows of R are multiplied in panels
of four, and a few tiles of rows share one read of a panel.
"""

import numpy as np

from verosim.kernels._compile import exact, inlined
from verosim.kernels.constants import LANES, PANEL
from verosim.kernels.lanes import aligned_zeros, eight_of, fused, load_eight, repeat, store
from verosim.kernels.row_scores import centre_eight, padded_row
from verosim.kernels.turned_rows import turn_part, whole_lanes, write_turned

TILE = 2 * LANES
MOST_TILES = 4  # tiles that share one read of a panel


@inlined
def _turn_tile(X, start, pivot, centre, z, u, first):
    """u (width, 16) from position `first` on = x − pivot of the rows from `start` on, turned.

    The rows are first read in order to z (8, width), because this is how a processor reads ahead.
    """
    width = pivot.size
    for half in range(0, TILE, LANES):
        m = min(LANES, X.shape[0] - start - half)
        if m > 0:
            centre_eight(X, start + half, m, pivot, centre, z)
            for j in range(0, width, LANES):
                turn_part(z, j, width, u, first + j * TILE + half, TILE)


@inlined
def _add_panel(panels, at, u, first, row, d, shift, classes, s):
    """Add (R u − shift)² of the four rows from `row` on to the sums s (classes, 16).

    The panel begins at panels[at], the tile of rows at u[first], and shift (classes, rows) is flat.
    """
    nothing = eight_of(0.0)
    a, b, c, e = nothing, nothing, nothing, nothing
    f, g, h, k = nothing, nothing, nothing, nothing
    for j in range(row, d):
        p, q = load_eight(u, first + j * TILE), load_eight(u, first + j * TILE + LANES)
        v = repeat(panels, at)
        a, f = fused(p, v, a), fused(q, v, f)
        v = repeat(panels, at + 1)
        b, g = fused(p, v, b), fused(q, v, g)
        v = repeat(panels, at + 2)
        c, h = fused(p, v, c), fused(q, v, h)
        v = repeat(panels, at + 3)
        e, k = fused(p, v, e), fused(q, v, k)
        at += PANEL
    rows = shift.size // classes
    for one in range(classes):
        m = one * rows + row
        to = one * TILE
        v = repeat(shift, m)
        p, q = a - v, f - v
        x, y = fused(p, p, load_eight(s, to)), fused(q, q, load_eight(s, to + LANES))
        v = repeat(shift, m + 1)
        p, q = b - v, g - v
        x, y = fused(p, p, x), fused(q, q, y)
        v = repeat(shift, m + 2)
        p, q = c - v, h - v
        x, y = fused(p, p, x), fused(q, q, y)
        v = repeat(shift, m + 3)
        p, q = e - v, k - v
        store(s, to, fused(p, p, x))
        store(s, to + LANES, fused(q, q, y))


@exact
def squared_distances(X, pivot, panels, shift, out):
    """out (n, C) = ‖R_k (x − pivot) − shift_k‖² for triangular matrices R.

    panels (T, size) are the panels of T = C matrices, or of T = 1 that the classes share. The panel
    of the rows 4b … 4b + 3 has their columns 4b … d − 1, one after the other. shift is (C, d).
    """
    n, d = X.shape
    C, T = shift.shape[0], panels.shape[0]
    width, rows = whole_lanes(d), -(-d // PANEL) * PANEL
    classes = C // T  # per matrix
    means = np.zeros(C * rows)
    for c in range(C):
        for i in range(d):
            means[c * rows + i] = shift[c, i]
    z, u = aligned_zeros(LANES * width), aligned_zeros(MOST_TILES * TILE * width)
    s, scratch = aligned_zeros(MOST_TILES * C * TILE), aligned_zeros(LANES * LANES)
    part = aligned_zeros(whole_lanes(C) * LANES)
    pivot, origin = padded_row(pivot), aligned_zeros(width)
    for start in range(0, n, MOST_TILES * TILE):
        tiles = min(MOST_TILES, -(-(n - start) // TILE))
        for tile in range(tiles):
            _turn_tile(X, start + tile * TILE, pivot, origin, z, u, tile * TILE * width)
        s[:] = 0.0
        for t in range(T):
            panel, at, own = panels[t], 0, means[t * classes * rows : (t + 1) * classes * rows]
            for row in range(0, d, PANEL):
                for tile in range(tiles):
                    sums = s[
                        (tile * C + t * classes) * TILE : (tile * C + (t + 1) * classes) * TILE
                    ]
                    _add_panel(panel, at, u, tile * TILE * width, row, d, own, classes, sums)
                at += PANEL * (d - row)
        for half in range(2 * tiles):
            first = start + half * LANES
            for c in range(C):
                store(part, c * LANES, load_eight(s, (half // 2 * C + c) * TILE + half % 2 * LANES))
            if first < n:
                write_turned(part, 0, min(LANES, n - first), first, out, scratch)
