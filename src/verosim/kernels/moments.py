"""Pivoted sums in one pass: Σw, Σw z and Σw z² with z = x − pivot.

Rows are added with plain sums in short runs, and the totals of the runs are added as pairs. The
error therefore does not grow with the number of rows. The fast loop assumes that every cell is
finite and every pivot is set. If the totals of a run are not finite, the run is repeated cell by
cell.
"""

import numpy as np

from verosim.kernels._compile import exact, loose
from verosim.kernels.sums import accumulate, two_sum

RUN = 512  # rows in one plain sum before a compensated addition
TOO_LARGE = 1e150  # the squares of larger values overflow


@loose
def _sum_run(X, groups, weights, start, stop, folds, pivot, s, q, mass):
    """Add one run of rows: s += w z and q += w z², both (G, d), and mass (G,) += w."""
    d = X.shape[1]
    weighted = weights.size > 0
    for i in range(start, stop):
        g = groups[i]
        c = g if folds == 1 else g // folds
        if weighted:
            w = weights[i]
            mass[g] += w
            for j in range(d):
                z = X[i, j] - pivot[c, j]
                s[g, j] += w * z
                q[g, j] += w * z * z
        else:
            mass[g] += 1.0
            for j in range(d):
                z = X[i, j] - pivot[c, j]
                s[g, j] += z
                q[g, j] += z * z


@exact
def _sum_run_carefully(X, groups, weights, start, stop, folds, pivot, s, q, cells):
    """Add one run of rows cell by cell.

    NaN is skipped, and a pivot that is not set becomes the first value. Returns the row and column
    of a value that is infinite or too large, or (−1, −1).
    """
    for i in range(start, stop):
        g = groups[i]
        c = g // folds
        w = weights[i] if weights.size > 0 else 1.0
        for j in range(X.shape[1]):
            x = X[i, j]
            if np.isnan(x):
                continue
            if abs(x) > TOO_LARGE:
                return i, j
            if np.isnan(pivot[c, j]):
                pivot[c, j] = x
            z = x - pivot[c, j]
            s[g, j] += w * z
            q[g, j] += w * z * z
            cells[g, j] += w
    return -1, -1


@exact
def _all_finite(values):
    """Whether every number is finite."""
    for g in range(values.shape[0]):
        for j in range(values.shape[1]):
            if not np.isfinite(values[g, j]):
                return False
    return True


@exact
def _clear(s, q, w):
    """Set s and q, both (G, d), and w (G,) to zero."""
    for g in range(w.size):
        w[g] = 0.0
        for j in range(s.shape[1]):
            s[g, j] = 0.0
            q[g, j] = 0.0


@exact
def absorb_diagonal(
    X, start, step, groups, weights, folds, pivot, rows, weight, cells,
    sums, sums_low, squares, squares_low, s, q, w, present,
):  # fmt: skip
    """Add the rows of X (n, d) from `start` on to the sums (G, d).

    A run of rows ends at every multiple of `step`, because an array that has to be converted
    arrives in pieces of so many rows. So both have the same runs, and equal sums in every bit.
    s and q (G, d), w (G,) and present (G, d) are working memory. If `present` is None, the loop
    stops at the first run of rows with a cell that is not finite or has no pivot, and returns its
    first row and −1. Otherwise it adds such a run cell by cell. Returns the row and column of a
    value that is infinite or too large, or (−1, −1).
    """
    n, d = X.shape
    G = rows.size
    run = RUN if RUN > 16 * G else 16 * G
    first = start
    while first < n:
        stop = min(first + run, n, (first // step + 1) * step)
        _clear(s, q, w)
        _sum_run(X, groups, weights, first, stop, folds, pivot, s, q, w)
        complete = _all_finite(q)
        if not complete:
            if present is None:
                return first, -1
            for g in range(G):
                for j in range(d):
                    s[g, j] = q[g, j] = present[g, j] = 0.0
            i, j = _sum_run_carefully(X, groups, weights, first, stop, folds, pivot, s, q, present)
            if i >= 0:
                return i, j
        for i in range(first, stop):
            rows[groups[i]] += 1
        for g in range(G):
            if w[g] == 0.0:
                continue
            weight[g] += w[g]
            for j in range(d):
                if present is None:
                    cells[g, j] += w[g]
                else:
                    cells[g, j] += w[g] if complete else present[g, j]
                sums[g, j], low = two_sum(sums[g, j], s[g, j])
                sums_low[g, j] += low
                squares[g, j], low = two_sum(squares[g, j], q[g, j])
                squares_low[g, j] += low
        first = stop
    return -1, -1


@exact
def absorb_diagonal_sparse(
    data, indices, indptr, groups, weights, folds, pivot,
    rows, weight, cells, sums, sums_low, squares, squares_low,
):  # fmt: skip
    """Do the same as `absorb_diagonal` for CSR rows.

    A cell that is not stored is zero, so x − pivot = −pivot. The weight of these cells is the
    difference of two sums, which are added as pairs, so that a light row beside a heavy one keeps
    its digits.
    """
    G, d = sums.shape
    s = np.zeros((G, d))
    q = np.zeros((G, d))
    stored = np.zeros((G, d))  # without NaN
    taken = np.zeros(G * d)  # with NaN
    taken_low = np.zeros(G * d)
    times = np.zeros((G, d), dtype=np.int64)  # rows that store the cell, including NaN
    count = np.zeros(G, dtype=np.int64)
    w = np.zeros(G)
    w_low = np.zeros(G)
    for i in range(groups.size):
        g = groups[i]
        c = g // folds
        u = weights[i] if weights.size > 0 else 1.0
        rows[g] += 1
        count[g] += 1
        accumulate(w, w_low, g, u)
        for t in range(indptr[i], indptr[i + 1]):
            j = indices[t]
            x = data[t]
            times[g, j] += 1
            accumulate(taken, taken_low, g * d + j, u)
            if np.isnan(x):
                continue
            if abs(x) > TOO_LARGE:
                return i, j
            z = x - pivot[c, j]
            s[g, j] += u * z
            q[g, j] += u * z * z
            stored[g, j] += u
    for g in range(G):
        weight[g] += w[g]
        if w[g] == 0.0:
            continue
        c = g // folds
        for j in range(d):
            p = pivot[c, j]
            # A difference of weights can be a rounding error. The integer counts of rows decide
            # whether there are cells that are not stored.
            zeros = 0.0
            if times[g, j] < count[g]:
                at = g * d + j
                zeros = max((w[g] - taken[at]) + (w_low[g] - taken_low[at]), 0.0)
            cells[g, j] += stored[g, j] + zeros
            sums[g, j], low = two_sum(sums[g, j], s[g, j] - zeros * p)
            sums_low[g, j] += low
            squares[g, j], low = two_sum(squares[g, j], q[g, j] + zeros * p * p)
            squares_low[g, j] += low
    return -1, -1


@loose
def _scatter_rows(X, groups, weights, folds, pivot, cursor, Z, V, s, cube, quartic, mass):
    """Do the loop over the rows for `centre_groups`; cursor (G,) is the next free row of Z."""
    d = X.shape[1]
    weighted = weights.size > 0
    for i in range(X.shape[0]):
        g = groups[i]
        c = g if folds == 1 else g // folds
        at = cursor[g]
        cursor[g] += 1
        w = weights[i] if weighted else 1.0
        mass[g] += w
        r = 0.0
        for j in range(d):
            z = X[i, j] - pivot[c, j]
            Z[at, j] = z
            s[g, j] += w * z
            r += z * z
        wr = w * r
        quartic[g] += wr * r
        for j in range(d):
            cube[g, j] += wr * Z[at, j]
        if weighted:
            for j in range(d):
                V[at, j] = w * Z[at, j]


@exact
def centre_groups(X, groups, weights, folds, pivot, starts, cursor, Z, V, s, cube, quartic, mass):
    """Sort the rows of a block by group and subtract the pivot of the class.

    Z (n, d) receives z = x − pivot, and V receives w z if there are weights. starts (G + 1,) are
    the first rows of the groups; cursor (G,) is working memory. s = Σw z, cube = Σw‖z‖²z, quartic =
    Σw‖z‖⁴ and mass = Σw, each (G, …), are set to zero before the rows are added.
    """
    for g in range(starts.size):
        starts[g] = 0
    for i in range(groups.size):
        starts[groups[i] + 1] += 1
    for g in range(cursor.size):
        cursor[g] = starts[g]
        starts[g + 1] += starts[g]
        quartic[g] = 0.0
    _clear(s, cube, mass)
    _scatter_rows(X, groups, weights, folds, pivot, cursor, Z, V, s, cube, quartic, mass)
