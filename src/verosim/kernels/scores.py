"""Scores of rows under every class: log densities, linear scores and tables of codes."""

import math

import numpy as np

from verosim.kernels._compile import exact, loose
from verosim.kernels.constants import LANES, U1, U2, U3, U4

LEAST_LOG, MOST_LOG = math.log(2.0**-52), math.log(1 - 2.0**-52)  # log p is clipped to these


@loose
def _weighted_squares(u, offset, precision, size, sums):
    """sums (8,) = Σ_j (u_ij − offset_j)² precision_j, for eight rows u; size is a multiple of 8.

    Eight rows share one read of the parameters, and their sums do not wait for each other.
    """
    a = b = c = d = e = f = g = h = 0.0
    for j in range(size // LANES * LANES):
        o, p = offset[j], precision[j]
        z = u[0, j] - o
        a += z * z * p
        z = u[1, j] - o
        b += z * z * p
        z = u[2, j] - o
        c += z * z * p
        z = u[3, j] - o
        d += z * z * p
        z = u[4, j] - o
        e += z * z * p
        z = u[5, j] - o
        f += z * z * p
        z = u[6, j] - o
        g += z * z * p
        z = u[7, j] - o
        h += z * z * p
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7] = a, b, c, d, e, f, g, h


@loose
def _products(u, coef, size, sums):
    """sums (8,) = Σ_j u_ij coef_j, for eight rows u; size is a multiple of 8."""
    a = b = c = d = e = f = g = h = 0.0
    for j in range(size // LANES * LANES):
        w = coef[j]
        a += u[0, j] * w
        b += u[1, j] * w
        c += u[2, j] * w
        d += u[3, j] * w
        e += u[4, j] * w
        f += u[5, j] * w
        g += u[6, j] * w
        h += u[7, j] * w
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7] = a, b, c, d, e, f, g, h


@exact
def _widened(table):
    """The table (C, d) with columns of zeros, so that d is a multiple of eight."""
    C, d = table.shape
    out = np.zeros((C, -(-d // LANES) * LANES))
    for c in range(C):
        for j in range(d):
            out[c, j] = table[c, j]
    return out


@exact
def _score_near_rows(X, pivot, offset, precision, log_scale, out):
    """Score with one pivot for all classes.

    x − pivot is computed once per row, and the sums may be reordered.
    """
    n, d = X.shape
    C = offset.shape[0]
    offset, precision = _widened(offset), _widened(precision)
    u, sums = np.zeros((LANES, offset.shape[1])), np.empty(LANES)
    for start in range(0, n, LANES):
        m = min(LANES, n - start)
        for i in range(m):
            for j in range(d):
                u[i, j] = X[start + i, j] - pivot[j]
        for c in range(C):
            _weighted_squares(u, offset[c], precision[c], u.shape[1], sums)
            for i in range(m):
                out[start + i, c] = log_scale[c] - 0.5 * sums[i]


@exact
def score_linear(X, pivot, centre, coef, bias, out):
    """out (n, C) = coef_k · ((x − pivot) − centre) + bias_k."""
    n, d = X.shape
    C = coef.shape[0]
    coef = _widened(coef)
    u, sums = np.zeros((LANES, coef.shape[1])), np.empty(LANES)
    for start in range(0, n, LANES):
        m = min(LANES, n - start)
        for i in range(m):
            for j in range(d):
                u[i, j] = (X[start + i, j] - pivot[j]) - centre[j]
        for c in range(C):
            _products(u, coef[c], u.shape[1], sums)
            for i in range(m):
                out[start + i, c] = sums[i] + bias[c]


@exact
def _score_far_rows(X, pivot, offset, precision, log_scale, out):
    """Score with one pivot per class, computed exactly as written.

    If the terms were reordered, (x − p) − o would become x − (p + o) and lose digits.
    """
    n, d = X.shape
    C = pivot.shape[0]
    for i in range(n):
        for c in range(C):
            total = 0.0
            for j in range(d):
                z = (X[i, j] - pivot[c, j]) - offset[c, j]
                total += z * z * precision[c, j]
            out[i, c] = log_scale[c] - 0.5 * total


@exact
def score_diagonal(X, pivot, offset, precision, log_cell, log_scale, out):
    """out (n, C) = Σ_j log N(x_j; pivot + offset, 1/precision); NaN cells are left out.

    pivot is (C, d), or (1, d) if all classes have the same pivot. log_cell (C, d) is −½ log 2πσ²,
    and log_scale (C,) is its sum over the columns.
    """
    C, d = offset.shape
    shared = pivot.shape[0] == 1
    if shared:
        _score_near_rows(X, pivot[0], offset, precision, log_scale, out)
    else:
        _score_far_rows(X, pivot, offset, precision, log_scale, out)
    for i in range(X.shape[0]):
        if not np.isnan(out[i, 0]):
            continue
        for c in range(C):
            p = 0 if shared else c
            total = 0.0
            for j in range(d):
                if not np.isnan(X[i, j]) and precision[c, j] > 0.0:
                    z = (X[i, j] - pivot[p, j]) - offset[c, j]
                    total += log_cell[c, j] - 0.5 * z * z * precision[c, j]
            out[i, c] = total


@exact
def score_diagonal_sparse(data, indices, indptr, mean, precision, log_cell, log_zero, out):
    """Do the same as `score_diagonal` for CSR rows.

    The score starts as log_zero (C,), the score of a row of zeros. Each stored cell then changes
    it by the difference (x − μ)² − μ² = x (x − 2μ).
    """
    C = mean.shape[0]
    for i in range(indptr.size - 1):
        for c in range(C):
            total = log_zero[c]
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = data[t]
                if np.isnan(x):
                    total -= log_cell[c, j] - 0.5 * mean[c, j] ** 2 * precision[c, j]
                else:
                    total -= 0.5 * x * (x - 2.0 * mean[c, j]) * precision[c, j]
            out[i, c] = total


@exact
def centre_rows(X, pivot, offset, out):
    """out = (X − pivot) − offset, for one class."""
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            out[i, j] = (X[i, j] - pivot[j]) - offset[j]


@exact
def centre_columns(X, pivot, out):
    """out (d, n) = X − pivot, turned: one row per column of X."""
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            out[j, i] = X[i, j] - pivot[j]


@loose
def shifted_norms(Y, shift, stride, out):
    """out (n, C) = ‖y_c − shift_c‖², where y_c are the d columns of Y that start at c·stride."""
    C, d = shift.shape
    for i in range(Y.shape[0]):
        for c in range(C):
            total = 0.0
            for j in range(d):
                z = Y[i, c * stride + j] - shift[c, j]
                total += z * z
            out[i, c] = total


@loose
def add_squares(Y, shift, out):
    """out (C, n) += Σ_i (y_ci − shift_ci)², where y_ci is row c·w + i of Y and shift is (C, w)."""
    C, w = shift.shape
    for c in range(C):
        for i in range(0, w - 3, 4):
            at = c * w + i
            p, q, s, t = shift[c, i], shift[c, i + 1], shift[c, i + 2], shift[c, i + 3]
            for r in range(out.shape[1]):
                a, b = Y[at, r] - p, Y[at + 1, r] - q
                e, f = Y[at + 2, r] - s, Y[at + 3, r] - t
                out[c, r] += (a * a + b * b) + (e * e + f * f)
        for i in range(w // 4 * 4, w):
            p = shift[c, i]
            for r in range(out.shape[1]):
                a = Y[c * w + i, r] - p
                out[c, r] += a * a


@exact
def score_codes(codes, table, out):
    """out (n, C) = Σ_j table[code_ij]; negative codes are left out.

    table (codes + 1, ⌈C/8⌉·8) is padded to whole groups of eight classes, and its last row is zero.
    Four rows of the table are added at once, because each update of the sums waits for the last.
    The number of classes in the inner loop is not a constant: the compiler would unroll the loop
    and add one class at a time.
    """
    n, d = codes.shape
    C, width = out.shape[1], table.shape[1] // LANES * LANES
    nothing = table.shape[0] - 1
    sums = np.zeros(width)
    at = np.full(-(-d // 4) * 4, np.uint64(nothing))
    for i in range(n):
        for j in range(d):
            at[j] = np.uint64(codes[i, j] if codes[i, j] >= 0 else nothing)
        for c in range(width):
            sums[c] = 0.0
        for j in range(0, d, 4):
            p, q, s, t = table[at[j]], table[at[j + 1]], table[at[j + 2]], table[at[j + 3]]
            for c in range(width):
                sums[c] += (p[c] + q[c]) + (s[c] + t[c])
        for c in range(C):
            out[i, c] = sums[c]


@exact
def _amount(x, presence, threshold):
    """The amount of a stored cell, as a float64; NaN if the cell is NaN or, for presence, infinite.

    x − x is NaN if x is NaN or infinite, and zero otherwise.
    """
    if presence:
        return (1.0 if x > threshold else 0.0) + (x - x)
    return x


@exact
def _score_stored(data, indices, indptr, presence, threshold, table, base, out):
    """Compute the sums of `score_sparse`; a NaN or infinite cell makes the scores NaN."""
    C, width = out.shape[1], table.shape[1] // LANES * LANES
    sums = np.zeros(width)
    for i in range(indptr.size - 1):
        begin, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        whole = begin + (end - begin) // U4 * U4
        for c in range(width):
            sums[c] = 0.0
        for u in range(begin, whole, U4):  # four at once: each update waits for the last
            v, w, z = u + U1, u + U2, u + U3
            a = _amount(float(data[u]), presence, threshold)
            b = _amount(float(data[v]), presence, threshold)
            e = _amount(float(data[w]), presence, threshold)
            f = _amount(float(data[z]), presence, threshold)
            p, q = table[np.uint64(indices[u])], table[np.uint64(indices[v])]
            s, t = table[np.uint64(indices[w])], table[np.uint64(indices[z])]
            for c in range(width):
                sums[c] += (a * p[c] + b * q[c]) + (e * s[c] + f * t[c])
        for u in range(whole, end):
            a, p = _amount(float(data[u]), presence, threshold), table[np.uint64(indices[u])]
            for c in range(width):
                sums[c] += a * p[c]
        for c in range(C):
            out[i, c] = base[c] + sums[c]


@exact
def score_sparse(data, indices, indptr, presence, threshold, table, absent, base, out):
    """out (n, C) = base + Σ x·table[j] over the stored cells.

    With `presence`, table[j] is added where x > threshold. For a NaN cell its part of the base,
    absent[j], is subtracted again. An infinite cell makes the score NaN.
    """
    _score_stored(data, indices, indptr, presence, threshold, table, base, out)
    C = out.shape[1]
    for i in range(indptr.size - 1):
        if not np.isnan(out[i, 0]):
            continue
        for c in range(C):
            total = base[c]
            for t in range(indptr[i], indptr[i + 1]):
                x = float(data[t])
                if np.isnan(x):
                    total -= absent[indices[t], c] if presence else 0.0
                    continue
                if presence:
                    x = (1.0 if x > threshold else 0.0) + (x - x)
                total += x * table[indices[t], c]
            out[i, c] = total


@exact
def sum_scores(scores, log_prior, codes, weights, with_loss, sums):
    """sums (R, 2) += Σ w [argmax = y] and Σ w log p(y | x), for scores (n, R · C) of R rules.

    log p is clipped to the same limits as in the log-loss of scikit-learn. A score that is NaN or
    +∞ makes the first sum NaN.
    """
    R, C = log_prior.shape
    for i in range(scores.shape[0]):
        w = weights[i] if weights.size else 1.0
        y = codes[i]
        for r in range(R):
            top, best = -np.inf, 0
            first = r * C
            for c in range(C):
                s = scores[i, first + c] + log_prior[r, c]
                scores[i, first + c] = s
                if not s <= top:
                    top, best = s, c
            if not top < np.inf:  # NaN or infinity
                sums[r, 0] += np.nan
                continue
            if best == y:
                sums[r, 0] += w
            if with_loss:
                total = 0.0
                for c in range(C):
                    total += math.exp(scores[i, first + c] - top)
                own = scores[i, first + y] - top - math.log(total)
                sums[r, 1] += w * min(max(own, LEAST_LOG), MOST_LOG)
