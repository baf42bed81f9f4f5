"""Cells of numbers and of exclusive 0/1 columns, and the codes of cells.

    cell of x = the number of inner edges ≤ x

A cell is one byte. Values that are missing have the last cell of their column.
"""

import numpy as np

from verosim.kernels._compile import exact

SEARCHED = 256  # values that are searched together


@exact
def count_edges(values, edges, below):
    """below (n,) = the number of sorted edges ≤ each of the values (n,); 0 for NaN.

    The binary searches of all values take the same steps. The processor therefore mispredicts no
    branch, and no step waits for the search of another value.
    """
    below[:] = 0
    count = edges.size
    while count > 0:
        half = (count + 1) >> 1
        for i in range(values.size):
            found = edges[np.uint64(below[i] + half - 1)] <= values[i]
            below[i] += half if found else 0
        count -= half


@exact
def find_number_cells(X, columns, edges, offset, places, out):
    """out[i, places[t]] = the cell of X[i, columns[t]].

    The inner edges of column t are edges[offset[t] : offset[t + 1]].
    """
    values = np.empty(SEARCHED)
    below = np.empty(SEARCHED, dtype=np.int64)
    for start in range(0, len(X), SEARCHED):
        n = min(SEARCHED, len(X) - start)
        for t in range(columns.size):
            for i in range(n):
                values[i] = X[start + i, columns[t]]
            inner = edges[offset[t] : offset[t + 1]]
            count_edges(values[:n], inner, below[:n])
            for i in range(n):
                missing = np.isnan(values[i])
                out[start + i, places[t]] = inner.size + 1 if missing else below[i]


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
