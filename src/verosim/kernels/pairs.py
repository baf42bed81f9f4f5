"""Counts of pairs of codes, and the scores of averaged one-dependence estimators.

Codes are looked up from cells: code of cell v in column j = places[j, v], on one flat axis of J
codes. Only the pairs of columns i ≤ j are counted, because the counts are symmetric.
"""

import numpy as np

from verosim.kernels._compile import exact, loose


@exact
def count_pairs(cells, places, groups, weights, pair, whole):
    """pair (G, J, J) += w at (code of column i, code of column j), for i ≤ j of every row.

    whole (F, J) += 1 at every code.
    """
    n, d = cells.shape
    folds = len(whole)
    weighted = weights.size > 0
    code = np.empty(d, dtype=np.uint64)
    for i in range(n):
        g = groups[i]
        table, seen = pair[g], whole[g % folds]
        w = weights[i] if weighted else 1.0
        for j in range(d):
            code[j] = np.uint64(places[j, cells[i, j]])
            seen[code[j]] += 1
        for j in range(d):
            row = table[code[j]]
            for k in range(j, d):
                row[code[k]] += w


@loose
def score_one_dependence(cells, places, log_parent, log_child, log_weight, out):
    """out (n, C) = log Σ_i exp(log_weight_i + log_parent[a_i] + Σ_j log_child[a_i, a_j]).

    a_i is the code of column i. log_parent is (J, C), log_child (J, J, C) with log_child[a, a] = 0,
    and log_weight (d,). If all terms of the sum are 0, out is 0 for all classes, so that only the
    priors decide.
    """
    n, d = cells.shape
    C = out.shape[1]
    code = np.empty(d, dtype=np.uint64)
    parts = np.empty((d, C))
    for i in range(n):
        for j in range(d):
            code[j] = np.uint64(places[j, cells[i, j]])
        for j in range(d):
            part = parts[j]
            for c in range(C):
                part[c] = log_weight[j] + log_parent[code[j], c]
            table = log_child[code[j]]
            for k in range(d):
                child = table[code[k]]
                for c in range(C):
                    part[c] += child[c]
        for c in range(C):
            top = -np.inf
            for j in range(d):
                top = max(top, parts[j, c])
            total = 0.0
            if top > -np.inf:
                for j in range(d):
                    total += np.exp(parts[j, c] - top)
            out[i, c] = top + np.log(total) if top > -np.inf else 0.0
