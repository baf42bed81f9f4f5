"""Scores of dense rows, eight rows at once: linear scores and Gaussians with one pivot.

    Σ_j w_kj u_j,   Σ_j (s_kj u_j − m_kj)²     with u = (x − pivot) − centre

Eight columns are handled at once. Eight rows share one read of the parameters, and their sums do
not wait for each other.
"""

import numpy as np

from verosim.kernels._compile import exact, inlined
from verosim.kernels.constants import LANES
from verosim.kernels.lanes import (
    aligned_zeros,
    eight_of,
    fused,
    load_cells,
    load_eight,
    repeat,
    store,
    totals,
)
from verosim.kernels.turned_rows import whole_lanes, write_turned


@exact
def padded_rows(table):
    """The rows of a table (C, d) as a flat array, with zeros up to a multiple of eight columns."""
    C, d = table.shape
    width = whole_lanes(d)
    out = aligned_zeros(C * width)
    for c in range(C):
        for j in range(d):
            out[c * width + j] = table[c, j]
    return out


@exact
def padded_row(row):
    """A row (d,) with zeros up to a multiple of eight columns."""
    out = aligned_zeros(whole_lanes(row.size))
    for j in range(row.size):
        out[j] = row[j]
    return out


@inlined
def centre_eight(X, start, m, pivot, centre, u):
    """u (m, width) = (x − pivot) − centre for m rows from `start` on; the padding stays zero."""
    d, width = X.shape[1], pivot.size
    for i in range(m):
        for j in range(0, width, LANES):
            cells = load_cells(X, start + i, j, min(LANES, d - j))
            store(u, i * width + j, (cells - load_eight(pivot, j)) - load_eight(centre, j))


@exact
def score_linear(X, pivot, centre, coef, bias, out):
    """out (n, C) = coef_k · ((x − pivot) − centre) + bias_k."""
    n, d = X.shape
    C, width = coef.shape[0], whole_lanes(d)
    w, pivot, centre = padded_rows(coef), padded_row(pivot), padded_row(centre)
    u, s = aligned_zeros(LANES * width), aligned_zeros(LANES * whole_lanes(C))
    scratch, z = aligned_zeros(LANES * LANES), eight_of(0.0)
    for start in range(0, n, LANES):
        m = min(LANES, n - start)
        centre_eight(X, start, m, pivot, centre, u)
        for c in range(C):
            s0, s1, s2, s3, s4, s5, s6, s7 = z, z, z, z, z, z, z, z
            for j in range(0, width, LANES):
                v = load_eight(w, c * width + j)
                s0 = fused(load_eight(u, j), v, s0)
                s1 = fused(load_eight(u, j + width), v, s1)
                s2 = fused(load_eight(u, j + 2 * width), v, s2)
                s3 = fused(load_eight(u, j + 3 * width), v, s3)
                s4 = fused(load_eight(u, j + 4 * width), v, s4)
                s5 = fused(load_eight(u, j + 5 * width), v, s5)
                s6 = fused(load_eight(u, j + 6 * width), v, s6)
                s7 = fused(load_eight(u, j + 7 * width), v, s7)
            sums = totals((s0, s1, s2, s3, s4, s5, s6, s7))
            store(s, c * LANES, sums + repeat(bias, c))
        write_turned(s, 0, m, start, out, scratch)


@exact
def score_near_rows(X, pivot, offset, precision, log_scale, out):
    """out (n, C) = log_scale_k − ½ Σ_j (x_j − pivot_j − offset_kj)² precision_kj.

    With s² = precision, each term is the square of s (x − pivot) − s·offset, which one instruction
    computes. All means are near the pivot, so the difference keeps its digits.
    """
    n, d = X.shape
    C, width = offset.shape[0], whole_lanes(d)
    scale, shift = padded_rows(precision), padded_rows(offset)
    for k in range(C * width):
        scale[k] = np.sqrt(scale[k])
        shift[k] *= -scale[k]
    pivot, centre = padded_row(pivot), aligned_zeros(width)
    u, s = aligned_zeros(LANES * width), aligned_zeros(LANES * whole_lanes(C))
    scratch, z, half = aligned_zeros(LANES * LANES), eight_of(0.0), eight_of(-0.5)
    for start in range(0, n, LANES):
        m = min(LANES, n - start)
        centre_eight(X, start, m, pivot, centre, u)
        for c in range(C):
            s0, s1, s2, s3, s4, s5, s6, s7 = z, z, z, z, z, z, z, z
            for j in range(0, width, LANES):
                g, h = load_eight(scale, c * width + j), load_eight(shift, c * width + j)
                v = fused(load_eight(u, j), g, h)
                s0 = fused(v, v, s0)
                v = fused(load_eight(u, j + width), g, h)
                s1 = fused(v, v, s1)
                v = fused(load_eight(u, j + 2 * width), g, h)
                s2 = fused(v, v, s2)
                v = fused(load_eight(u, j + 3 * width), g, h)
                s3 = fused(v, v, s3)
                v = fused(load_eight(u, j + 4 * width), g, h)
                s4 = fused(v, v, s4)
                v = fused(load_eight(u, j + 5 * width), g, h)
                s5 = fused(v, v, s5)
                v = fused(load_eight(u, j + 6 * width), g, h)
                s6 = fused(v, v, s6)
                v = fused(load_eight(u, j + 7 * width), g, h)
                s7 = fused(v, v, s7)
            sums = totals((s0, s1, s2, s3, s4, s5, s6, s7))
            store(s, c * LANES, fused(sums, half, repeat(log_scale, c)))
        write_turned(s, 0, m, start, out, scratch)
