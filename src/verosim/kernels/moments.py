"""Pivoted sums in one pass: Σw, Σw z and Σw z² with z = x − pivot.

Rows are added with plain sums in short runs, and the totals of the runs are added as pairs. The
error therefore does not grow with the number of rows. The fast loop assumes that every cell is
finite and every pivot is set. If the totals of a run are not finite, the run is repeated cell by
cell.
"""

import numpy as np

from verosim.kernels._compile import exact, loose
from verosim.kernels.sums import accumulate

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
def absorb_diagonal(
    X, groups, weights, folds, pivot, rows, weight, cells, sums, sums_low, squares, squares_low
):
    """Add the rows of X (n, d) to the sums (G, d).

    Returns the row and column of a value that is infinite or too large, or (−1, −1).
    """
    n, d = X.shape
    G = rows.size
    run = max(RUN, 16 * G)
    s = np.zeros((G, d))
    q = np.zeros((G, d))
    w = np.zeros(G)
    present = np.zeros((G, d))
    sums_flat, sums_low_flat = sums.reshape(-1), sums_low.reshape(-1)
    squares_flat, squares_low_flat = squares.reshape(-1), squares_low.reshape(-1)
    for i in range(n):
        rows[groups[i]] += 1
    for start in range(0, n, run):
        stop = min(n, start + run)
        s[:] = 0.0
        q[:] = 0.0
        w[:] = 0.0
        _sum_run(X, groups, weights, start, stop, folds, pivot, s, q, w)
        complete = _all_finite(q)
        if not complete:
            s[:] = 0.0
            q[:] = 0.0
            present[:] = 0.0
            i, j = _sum_run_carefully(X, groups, weights, start, stop, folds, pivot, s, q, present)
            if i >= 0:
                return i, j
        for g in range(G):
            if w[g] == 0.0:
                continue
            weight[g] += w[g]
            for j in range(d):
                cells[g, j] += w[g] if complete else present[g, j]
                accumulate(sums_flat, sums_low_flat, g * d + j, s[g, j])
                accumulate(squares_flat, squares_low_flat, g * d + j, q[g, j])
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
    sums_flat, sums_low_flat = sums.reshape(-1), sums_low.reshape(-1)
    squares_flat, squares_low_flat = squares.reshape(-1), squares_low.reshape(-1)
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
            accumulate(sums_flat, sums_low_flat, g * d + j, s[g, j] - zeros * p)
            accumulate(squares_flat, squares_low_flat, g * d + j, q[g, j] + zeros * p * p)
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
def centre_groups(X, groups, weights, folds, pivot, starts, Z, V, s, cube, quartic, mass):
    """Sort the rows of a block by group and subtract the pivot of the class.

    Z (n, d) receives z = x − pivot, and V receives w z if there are weights. starts (G + 1,) are
    the first rows of the groups. s = Σw z, cube = Σw‖z‖²z, quartic = Σw‖z‖⁴ and mass = Σw, each
    (G, …), are set to zero before the rows are added.
    """
    starts[:] = 0
    for i in range(groups.size):
        starts[groups[i] + 1] += 1
    for g in range(starts.size - 1):
        starts[g + 1] += starts[g]
    cursor = starts[:-1].copy()
    s[:] = 0.0
    cube[:] = 0.0
    quartic[:] = 0.0
    mass[:] = 0.0
    _scatter_rows(X, groups, weights, folds, pivot, cursor, Z, V, s, cube, quartic, mass)
