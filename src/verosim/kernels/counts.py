"""Counting: codes of cells, values stored in sparse rows, values of dense rows."""

import numpy as np

from verosim.kernels._compile import exact


@exact
def count_codes(codes, groups, weights, folds, rows, weight, count, cells):
    """count (G, K) += w at every code of the row; cells (F, K) counts rows, not weights."""
    n, d = codes.shape
    weighted = weights.size > 0
    for i in range(n):
        g = groups[i]
        w = weights[i] if weighted else 1.0
        rows[g] += 1
        weight[g] += w
        if folds == 1:
            for j in range(d):
                k = codes[i, j]
                if k >= 0:
                    count[g, k] += w
                    cells[0, k] += 1
        else:
            f = g % folds
            for j in range(d):
                k = codes[i, j]
                if k >= 0:
                    count[g, k] += w
                    cells[f, k] += 1


@exact
def count_sparse(data, indices, indptr, groups, weights, presence, threshold, missing, count):
    """count (G, d) += w·x, or w where x > threshold when `presence`, over the stored cells.

    NaN is added to `missing` instead. Returns the least value met.
    """
    least = 0.0
    weighted = weights.size > 0
    for i in range(groups.size):
        g = groups[i]
        w = weights[i] if weighted else 1.0
        for t in range(indptr[i], indptr[i + 1]):
            x = data[t]
            if np.isnan(x):
                missing[g, indices[t]] += w
            elif presence:
                if x > threshold:
                    count[g, indices[t]] += w
            else:
                least = min(least, x)
                count[g, indices[t]] += w * x
    return least


@exact
def count_dense(X, groups, weights, presence, threshold, missing, count):
    """The same over every cell of dense rows."""
    least = 0.0
    n, d = X.shape
    weighted = weights.size > 0
    for i in range(n):
        g = groups[i]
        w = weights[i] if weighted else 1.0
        for j in range(d):
            x = X[i, j]
            if np.isnan(x):
                missing[g, j] += w
            elif presence:
                if x > threshold:
                    count[g, j] += w
            else:
                least = min(least, x)
                count[g, j] += w * x
    return least


@exact
def find_codes(X, low, offset, table, codes):
    """Codes of whole-number categories by a table per column: table[offset_j + x − low_j].

    −1 is missing, −2 is a value the table does not know. Returns True if there was one.
    """
    n, d = X.shape
    strange = False
    for i in range(n):
        for j in range(d):
            x = X[i, j]
            if x != x:
                codes[i, j] = -1
                continue
            at = x - low[j]
            size = offset[j + 1] - offset[j]
            code = -2
            if 0 <= at < size:
                whole = int(at)
                if whole == at:
                    code = table[offset[j] + whole]
            codes[i, j] = code
            if code == -2:
                strange = True
    return strange


@exact
def find_bins(X, edges, offset, first, codes):
    """Bin numbers: how many inner edges are ≤ x, plus the column's first code; NaN is −1."""
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            x = X[i, j]
            if np.isnan(x):
                codes[i, j] = -1
                continue
            low, high = offset[j], offset[j + 1]
            while low < high:
                middle = (low + high) // 2
                if edges[middle] <= x:
                    low = middle + 1
                else:
                    high = middle
            codes[i, j] = first[j] + low - offset[j]
