"""Sums of outer products of sparse rows."""

import numpy as np

from verosim.kernels._compile import exact


@exact
def add_outer_rows(data, indices, indptr, weights, groups, folds, sums, products):
    """sums (G, d) += w z and products (F, d, d) += w z zᵀ for every sparse row z.

    groups (n,) are class · folds + fold. weights (n,) is empty if all weights are 1.
    """
    weighted = weights.size > 0
    for i in range(groups.size):
        w = weights[i] if weighted else 1.0
        total = sums[groups[i]]
        product = products[groups[i] % folds]
        stored = range(np.uint64(indptr[i]), np.uint64(indptr[i + 1]))
        for s in stored:
            row = product[np.uint64(indices[s])]
            x = w * data[s]
            total[np.uint64(indices[s])] += x
            for t in stored:
                row[np.uint64(indices[t])] += x * data[t]
