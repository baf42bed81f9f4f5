"""Sums of N log N over the codes of two columns, from which the information of columns follows."""

import numpy as np

from verosim.kernels._compile import exact


@exact
def add_pair_logs(table, start, out):
    """out (d, d) += Σ N log N over the codes of columns i ≤ j, with counts N in table (J, J).

    The codes of column j begin at start[j]. Most counts of few rows are 0 or 1 and add nothing.
    """
    d = start.size - 1
    for i in range(d):
        for a in range(start[i], start[i + 1]):
            row = table[a]
            for j in range(i, d):
                total = 0.0
                for b in range(start[j], start[j + 1]):
                    count = row[b]
                    if count > 0.0 and count != 1.0:
                        total += count * np.log(count)
                out[i, j] += total
