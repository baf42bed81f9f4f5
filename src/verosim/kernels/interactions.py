"""Interactions of pairs of columns: their tables, and the entries of rows.

The table of pair p, of columns i and j, is in the rows first[p] to first[p + 1] of one array. The
row of two codes is first[p] + (code of i) · (codes of j) + (code of j).
"""

import numpy as np

from verosim.kernels._compile import exact


@exact
def fill_interactions(pair, alone, share, start, pairs, first, trust, table):
    """table (K, C) = log P(k | x_i, x_j) / Q(k | x_i, x_j) of all codes of the pairs (P, 2).

    pair (C, J, J) are counts, alone (C, J) is P(k | x_i), share (C,) is P(k), and the codes of
    column j begin at start[j]. `trust` rows count as much as Q.
    """
    C = share.size
    naive = np.empty(C)
    count = np.empty(C)
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        row = first[p]
        for a in range(start[i], start[i + 1]):
            for b in range(start[j], start[j + 1]):
                total, together = 0.0, 0.0
                for c in range(C):
                    naive[c] = alone[c, a] * alone[c, b] / share[c]
                    total += naive[c]
                    count[c] = max(pair[c, a, b], 0.0)
                    together += count[c]
                for c in range(C):
                    q = naive[c] / total
                    table[row, c] = np.log((count[c] + trust * q) / ((together + trust) * q))
                row += 1


@exact
def read_interactions(cells, maps, sizes, pairs, first, table, out):
    """out (n, C, P) = the entries of table (K, C) for the codes of cells (n, d)."""
    for i in range(len(cells)):
        for p in range(len(pairs)):
            a, b = pairs[p, 0], pairs[p, 1]
            at = first[p] + maps[a, cells[i, a]] * sizes[b] + maps[b, cells[i, b]]
            for c in range(table.shape[1]):
                out[i, c, p] = table[at, c]


@exact
def add_interactions(cells, maps, sizes, pairs, first, table, out):
    """out (n, C) += the entries of table (K, C) for the codes of cells (n, d), of all pairs."""
    for i in range(len(cells)):
        row = out[i]
        for p in range(len(pairs)):
            a, b = pairs[p, 0], pairs[p, 1]
            at = first[p] + maps[a, cells[i, a]] * sizes[b] + maps[b, cells[i, b]]
            for c in range(table.shape[1]):
                row[c] += table[at, c]
