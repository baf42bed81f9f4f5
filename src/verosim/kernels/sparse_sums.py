"""Sums of sparse rows per group, and a check of such rows.

A group is a list of codes and their sums, in any order.

out[g, k] = sums[g, k] + Σ x[r, k]   over the rows r of group g
"""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import AHEAD
from verosim.kernels.memory import prefetch


@exact
def add_sparse_rows(
    indptr, codes, sums, order, firsts, starts, row_codes, amounts, weights, place,
    out_indptr, out_codes, out,
):  # fmt: skip
    """Add sparse rows to the sums of their groups, and return the number of sums.

    The sums of group g are at indptr[g] … indptr[g + 1]. Its rows are order[firsts[g]] … and row r
    has the codes row_codes[starts[r]:starts[r + 1]]. The amounts of these codes are `amounts`, or
    weights[r] if `amounts` is empty. place (K,) is −1 everywhere. It becomes the last position of
    each code in the output; positions before the start of a group belong to earlier groups.
    """
    n = 0
    weighed = amounts.size > 0
    final = np.uint64(row_codes.size - 1)
    for g in range(indptr.size - 1):
        first = n
        for t in range(np.uint64(indptr[g]), np.uint64(indptr[g + 1])):
            place[np.uint64(codes[t])] = n
            out_codes[n] = codes[t]
            out[n] = sums[t]
            n += 1
        for i in range(firsts[g], firsts[g + 1]):
            r = order[i]
            x = weights[r] if not weighed else 0.0
            for t in range(np.uint64(starts[r]), np.uint64(starts[r + 1])):
                prefetch(place, np.uint64(row_codes[min(t + np.uint64(AHEAD), final)]))
                k = np.uint64(row_codes[t])
                if weighed:
                    x = amounts[t]
                p = place[k]
                if p < first:
                    place[k] = n
                    out_codes[n] = row_codes[t]
                    out[n] = x
                    n += 1
                else:
                    out[np.uint64(p)] += x
        out_indptr[g + 1] = n
    return n


@exact
def spread_sums(indptr, codes, sums, out):
    """out (K, G) = the sums as a dense table; out is zero before."""
    for g in range(np.uint64(indptr.size - 1)):
        for t in range(np.uint64(indptr[g]), np.uint64(indptr[g + 1])):
            out[np.uint64(codes[t]), g] = sums[t]


@exact
def stores_twice(indptr, indices, seen):
    """Whether a CSR row stores two cells of one column. seen (d,) has one byte per column.

    The bytes are zero before, and zero after each row.
    """
    for i in range(indptr.size - 1):
        stored = range(np.uint64(indptr[i]), np.uint64(indptr[i + 1]))
        again = np.uint8(0)
        for t in stored:
            again |= seen[np.uint64(indices[t])]
            seen[np.uint64(indices[t])] = 1
        if again:
            return True
        for t in stored:
            seen[np.uint64(indices[t])] = 0
    return False
