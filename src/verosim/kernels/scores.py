"""Scores of rows under every class: log densities and linear scores."""

import math

import numpy as np

from verosim.kernels._compile import exact, inlined, loose
from verosim.kernels.constants import AHEAD, LANES, STREAM, U1, U2, U3, U4
from verosim.kernels.lanes import (
    aligned_zeros,
    eight_of,
    fused,
    load_eight,
    store,
    store_cells,
)
from verosim.kernels.memory import prefetch
from verosim.kernels.row_scores import padded_row, score_near_rows

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
    """The amount of a stored cell, as eight equal numbers.

    It is NaN if the cell is NaN or, for presence, infinite: x − x is NaN then, and zero otherwise.
    """
    return eight_of((1.0 if x > threshold else 0.0) + (x - x) if presence else x)


@inlined
def _four_amounts(data, t, presence, threshold):
    """The amounts of four stored cells."""
    return (
        _amount(float(data[t]), presence, threshold),
        _amount(float(data[t + U1]), presence, threshold),
        _amount(float(data[t + U2]), presence, threshold),
        _amount(float(data[t + U3]), presence, threshold),
    )


@inlined
def _four_places(indices, t, width):
    """The positions in the flat table of the columns of four stored cells."""
    return (
        np.int64(indices[t]) * width,
        np.int64(indices[t + U1]) * width,
        np.int64(indices[t + U2]) * width,
        np.int64(indices[t + U3]) * width,
    )


@inlined
def _request_four(table, at, c):
    """Request the scores of four columns for the eight classes from c on."""
    prefetch(table, at[0] + c)
    prefetch(table, at[1] + c)
    prefetch(table, at[2] + c)
    prefetch(table, at[3] + c)


@inlined
def _add_four(table, at, c, amounts, sums):
    """sums + Σ x · table[j] of four cells, for the eight classes from c on.

    The sums are in two parts, because each update of a part waits for the last.
    """
    a = fused(amounts[0], load_eight(table, at[0] + c), sums[0])
    b = fused(amounts[1], load_eight(table, at[1] + c), sums[1])
    a = fused(amounts[2], load_eight(table, at[2] + c), a)
    return a, fused(amounts[3], load_eight(table, at[3] + c), b)


@exact
def _score_stored(data, indices, indptr, presence, threshold, table, base, out):
    """Compute the sums of `score_sparse`; a NaN or infinite cell makes the scores NaN.

    All classes of a cell are added before the next cells are read. The sums of more than eight
    classes are in memory.
    """
    C, width = out.shape[1], table.shape[1]
    flat, start, total = table.reshape(-1), padded_row(base), aligned_zeros(width)
    zero, final = eight_of(0.0), np.uint64(max(indices.size - 4, 0))
    for i in range(indptr.size - 1):
        begin, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        whole = begin + (end - begin) // U4 * U4
        sums = load_eight(start, 0), zero
        for c in range(LANES, width, LANES):
            store(total, c, load_eight(start, c))
        for t in range(begin, whole, U4):
            prefetch(data, t + STREAM)
            prefetch(indices, t + STREAM)
            later = _four_places(indices, min(t + np.uint64(AHEAD), final), width)
            at = _four_places(indices, t, width)
            amounts = _four_amounts(data, t, presence, threshold)
            _request_four(flat, later, 0)
            sums = _add_four(flat, at, 0, amounts, sums)
            for c in range(LANES, width, LANES):
                _request_four(flat, later, c)
                a, b = _add_four(flat, at, c, amounts, (load_eight(total, c), zero))
                store(total, c, a + b)
        for t in range(whole, end):
            at, x = np.int64(indices[t]) * width, _amount(float(data[t]), presence, threshold)
            sums = sums[1], fused(x, load_eight(flat, at), sums[0])
            for c in range(LANES, width, LANES):
                store(total, c, fused(x, load_eight(flat, at + c), load_eight(total, c)))
        store(total, 0, sums[0] + sums[1])
        for c in range(0, width, LANES):
            store_cells(out, i, c, min(LANES, C - c), load_eight(total, c))


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
