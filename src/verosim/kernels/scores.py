"""Scores of rows under every class: log densities and linear scores."""

import math

import numpy as np

from verosim.kernels._compile import exact, inlined, loose
from verosim.kernels.constants import AHEAD, LANES, U1, U2, U3, U4
from verosim.kernels.lanes import eight_of, fused, load_eight, store_cells
from verosim.kernels.row_scores import padded_row, score_near_rows
from verosim.kernels.vocabulary import prefetch

LEAST_LOG, MOST_LOG = math.log(2.0**-52), math.log(1 - 2.0**-52)  # log p is clipped to these


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
        score_near_rows(X, pivot[0], offset, precision, log_scale, out)
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


@inlined
def _amount(x, presence, threshold):
    """The amount of a stored cell, as a float64; NaN if the cell is NaN or, for presence, infinite.

    x − x is NaN if x is NaN or infinite, and zero otherwise.
    """
    if presence:
        return (1.0 if x > threshold else 0.0) + (x - x)
    return x


@inlined
def _term(data, indices, at, presence, threshold, table, first, sums):
    """sums + x · table[j] for one stored cell, for eight classes from `first` on; flat table."""
    amount = _amount(float(data[at]), presence, threshold)
    return fused(
        eight_of(amount), load_eight(table, np.int64(indices[at]) * first[0] + first[1]), sums
    )


@exact
def _score_stored(data, indices, indptr, presence, threshold, table, base, out):
    """Compute the sums of `score_sparse`; a NaN or infinite cell makes the scores NaN."""
    C, width = out.shape[1], table.shape[1]
    flat, start = table.reshape(-1), padded_row(base)
    final = np.uint64(indices.size - 1)
    for i in range(indptr.size - 1):
        begin, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        whole = begin + (end - begin) // U4 * U4
        for c in range(0, C, LANES):
            first = (width, c)
            a, b, e, f = eight_of(0.0), eight_of(0.0), eight_of(0.0), eight_of(0.0)
            for u in range(begin, whole, U4):  # four sums, because each update waits for the last
                for k in range(U4):
                    later = np.int64(indices[min(u + k + np.uint64(AHEAD), final)])
                    prefetch(flat, later * width + c)
                a = _term(data, indices, u, presence, threshold, flat, first, a)
                b = _term(data, indices, u + U1, presence, threshold, flat, first, b)
                e = _term(data, indices, u + U2, presence, threshold, flat, first, e)
                f = _term(data, indices, u + U3, presence, threshold, flat, first, f)
            for u in range(whole, end):
                a = _term(data, indices, u, presence, threshold, flat, first, a)
            count = min(LANES, C - c)
            sums = ((a + b) + (e + f)) + load_eight(start, c)
            store_cells(out, i, c, count, sums)


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
