"""Cells of numbers and of exclusive 0/1 columns, and the codes of cells.

    cell of x = the number of inner edges ≤ x

A cell is one byte. Values that are missing have the last cell of their column.
"""

import numpy as np

from verosim.kernels._compile import exact


@exact
def find_number_cells(X, columns, edges, offset, places, out):
    """out[i, places[t]] = the cell of X[i, columns[t]].

    The inner edges of column t are edges[offset[t] : offset[t + 1]].
    """
    n = len(X)
    for i in range(n):
        for t in range(columns.size):
            x = X[i, columns[t]]
            low, count = offset[t], offset[t + 1] - offset[t]
            if np.isnan(x):
                out[i, places[t]] = count + 1
                continue
            while count > 0:  # no branch depends on x, so the processor mispredicts none
                half = (count + 1) >> 1
                low += half if edges[low + half - 1] <= x else 0
                count -= half
            out[i, places[t]] = low - offset[t]


@exact
def find_group_cells(X, columns, place, out):
    """out[i, place] = the number of the one column of X (n, p) that is 1.

    Rows without such a column, or with two of them, have the next cell, and rows with a missing
    value the last one.
    """
    n, p = len(X), columns.size
    for i in range(n):
        found, ones, missing = 0, 0, False
        for t in range(p):
            x = X[i, columns[t]]
            missing |= np.isnan(x)
            if x == 1.0:
                found = t
                ones += 1
        out[i, place] = p + 1 if missing else found if ones == 1 else p


@exact
def encode_cells(cells, places, codes):
    """codes (n, d) = places[j, cell of row i in column j]."""
    n, d = cells.shape
    for i in range(n):
        for j in range(d):
            codes[i, j] = places[j, cells[i, j]]
