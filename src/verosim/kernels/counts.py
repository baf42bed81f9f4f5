"""Counting: codes of cells, values stored in sparse rows, values of dense rows.

Scattered indices are made unsigned, which spares the test for negative ones and doubles the speed.
"""

import numpy as np

from verosim.kernels._compile import exact


@exact
def count_codes(codes, groups, weights, folds, rows, weight, count, cells):
    """count (G, K) += w at every code of the row; cells (F, K) counts rows, not weights."""
    n, d = codes.shape
    weighted = weights.size > 0
    for i in range(n):
        g = groups[i]
        f = g % folds
        w = weights[i] if weighted else 1.0
        rows[g] += 1
        weight[g] += w
        row = count[g]
        for j in range(d):
            if codes[i, j] >= 0:
                k = np.uint64(codes[i, j])
                row[k] += w
                cells[f, k] += 1


@exact
def tally_words(index, groups, weights, folds, tally, cells):
    """tally (G, L) += w and cells (F, L) += 1 at every row's place in the list of words."""
    if weights.size > 0:
        for i in range(index.size):
            g, at = groups[i], np.uint64(index[i])
            tally[g, at] += weights[i]
            cells[g % folds, at] += 1
        return
    for i in range(index.size):
        tally[groups[i], np.uint64(index[i])] += 1.0
    for g in range(tally.shape[0]):
        for at in range(tally.shape[1]):
            cells[g % folds, at] += np.int64(tally[g, at])


@exact
def tally_whole_numbers(X, low, offset, groups, start, tally):
    """tally (G, slots) += 1 at offset_j + x − low_j, for rows of small whole numbers.

    NaN is skipped. Stops before the first row with a value outside the slots; returns its number.
    """
    n, d = X.shape
    for i in range(start, n):
        row = tally[groups[i]]
        for j in range(d):
            x = X[i, j]
            at = x - low[j]
            if 0 <= at < offset[j + 1] - offset[j] and int(at) == at:
                row[np.uint64(offset[j] + int(at))] += 1
            elif x == x:
                for k in range(j):  # take the first cells of this row back
                    if X[i, k] == X[i, k]:
                        row[offset[k] + int(X[i, k] - low[k])] -= 1
                return i
    return n


@exact
def count_sparse(data, indices, indptr, groups, weights, presence, threshold, careful, count):
    """count (G, d) += w·x, or w where x > threshold when `presence`, over the stored cells.

    Returns whether a cell was no count: NaN, infinite or, as an amount, negative. Such amounts
    spoil the sums unless `careful`, which leaves them out and takes longer.
    """
    odd = False
    weighted = weights.size > 0
    for i in range(groups.size):
        row = count[groups[i]]
        w = weights[i] if weighted else 1.0
        stored = range(np.uint64(indptr[i]), np.uint64(indptr[i + 1]))
        if presence:
            for t in stored:
                odd |= not (abs(data[t]) < np.inf)
                row[np.uint64(indices[t])] += w if data[t] > threshold else 0.0
        elif careful:
            for t in stored:
                if 0.0 <= data[t] < np.inf:
                    row[np.uint64(indices[t])] += w * data[t]
        else:
            for t in stored:
                odd |= not (data[t] >= 0.0)
                row[np.uint64(indices[t])] += w * data[t]
    return odd


@exact
def count_dense(X, groups, weights, presence, threshold, careful, count):
    """The same over every cell of dense rows."""
    odd = False
    n, d = X.shape
    weighted = weights.size > 0
    for i in range(n):
        row = count[groups[i]]
        w = weights[i] if weighted else 1.0
        if presence:
            for j in range(d):
                odd |= not (abs(X[i, j]) < np.inf)
                row[j] += w if X[i, j] > threshold else 0.0
        elif careful:
            for j in range(d):
                if 0.0 <= X[i, j] < np.inf:
                    row[j] += w * X[i, j]
        else:
            for j in range(d):
                odd |= not (X[i, j] >= 0.0)
                row[j] += w * X[i, j]
    return odd


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
                    code = table[np.uint64(offset[j] + whole)]
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
