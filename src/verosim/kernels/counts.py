"""Counting loops: codes of cells, stored values of sparse rows, values of dense rows.

Indices in random order are converted to unsigned integers. Numba then skips the check for negative
indices, which doubles the speed.
"""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.cells import SEARCHED, count_edges
from verosim.kernels.constants import STREAM
from verosim.kernels.memory import prefetch

ROWS_OF_TALLY = 65535  # rows that a counter of 16 bits can count


@exact
def count_codes(codes, groups, weights, folds, rows, weight, count, cells):
    """Add the weight w of each row to count (G, K) at every code of the row.

    rows (G,) and weight (G,) receive the number of rows and their weight. cells (F, K) counts
    rows, not weights. Negative codes are skipped.
    """
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
    """Count words: tally (G, L) += w and cells (F, L) += 1 at index[i] for every row i.

    index (n,) is the position of each row's word in a list of L words.
    """
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
def tally_whole_numbers(X, low, offset, groups, start, rows, tally):
    """Count small whole numbers: tally (G, slots) += 1 at offset_j + x − low_j for every cell.

    rows (G,) counts the rows. NaN is skipped. The loop stops before the first row that has a value
    outside the slots. Returns the number of that row, or n.
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
                for k in range(j):  # remove the earlier cells of this row again
                    if X[i, k] == X[i, k]:
                        row[offset[k] + int(X[i, k] - low[k])] -= 1
                return i
        rows[groups[i]] += 1
    return n


@exact
def count_sparse(data, indices, indptr, groups, weights, presence, threshold, careful, count):
    """Add the stored cells of CSR rows: count (G, d) += w·x.

    With `presence`, w is added where x > threshold, and the amount x is ignored. Returns True if
    a cell is not a valid count: NaN, infinite or, for amounts, negative. Such amounts make the
    sums wrong, unless `careful` is set: then they are skipped, and the loop takes longer.
    """
    odd = False
    weighted = weights.size > 0
    for i in range(groups.size):
        row = count[groups[i]]
        w = weights[i] if weighted else 1.0
        stored = range(np.uint64(indptr[i]), np.uint64(indptr[i + 1]))
        if presence:
            for t in stored:
                prefetch(data, t + STREAM)
                prefetch(indices, t + STREAM)
                odd |= not (abs(data[t]) < np.inf)
                row[np.uint64(indices[t])] += w if data[t] > threshold else 0.0
        elif careful:
            for t in stored:
                if 0.0 <= data[t] < np.inf:
                    row[np.uint64(indices[t])] += w * data[t]
        else:
            for t in stored:
                prefetch(data, t + STREAM)
                prefetch(indices, t + STREAM)
                odd |= not (data[t] >= 0.0)
                row[np.uint64(indices[t])] += w * data[t]
    return odd


@exact
def count_present(data, indices, indptr, groups, threshold, tally, count):
    """Count the stored cells of CSR rows that are above the threshold: count (G, d) += 1.

    tally (G, d) has counters of 16 bits, which need less of the cache. They are zero before, and
    are added to the counts before one of them can be full. Returns True if a cell is NaN or
    infinite.
    """
    odd = False
    for first in range(0, groups.size, ROWS_OF_TALLY):
        for i in range(first, min(first + ROWS_OF_TALLY, groups.size)):
            row = tally[groups[i]]
            for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                prefetch(data, t + STREAM)
                prefetch(indices, t + STREAM)
                odd |= not (abs(data[t]) < np.inf)
                row[np.uint64(indices[t])] += 1 if data[t] > threshold else 0
        for g in range(tally.shape[0]):
            for j in range(tally.shape[1]):
                count[g, j] += tally[g, j]
                tally[g, j] = 0
    return odd


@exact
def count_dense(X, groups, weights, presence, threshold, careful, count):
    """Do the same as `count_sparse` for every cell of dense rows X (n, d)."""
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
    """Look up the codes of whole-number categories: table[offset_j + x − low_j].

    Each column j has its own part of the table. A missing cell gets −1, a value that is not in the
    table gets −2. Returns True if there was a value that is not in the table.
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
    """Find bin codes: the number of inner edges ≤ x, plus the first code of the column.

    A NaN cell gets −1.
    """
    values = np.empty(SEARCHED)
    below = np.empty(SEARCHED, dtype=np.int64)
    for start in range(0, len(X), SEARCHED):
        n = min(SEARCHED, len(X) - start)
        for j in range(X.shape[1]):
            for i in range(n):
                values[i] = X[start + i, j]
            count_edges(values[:n], edges[offset[j] : offset[j + 1]], below[:n])
            for i in range(n):
                codes[start + i, j] = -1 if np.isnan(values[i]) else first[j] + below[i]
