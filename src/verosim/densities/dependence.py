"""Information between columns, and the structure that it gives.

    I(x_i; y)       = Σ p(a, k) log p(a, k) / (p(a) p(k))
    I(x_i; x_j | y) = Σ p(a, b, k) log p(a, b | k) / (p(a | k) p(b | k))
    I(x_i, x_j; y) − I(x_i; y) − I(x_j; y) = I(x_i; x_j | y) − I(x_i; x_j)

`spanning_tree` is the tree with the largest sum of I(x_i; x_j | y). `ranked_parents` gives every
column the earlier columns that share most information with it, in the order of I(x; y).
References: Friedman, Geiger & Goldszmidt (1997), Bayesian network classifiers; Sahami (1996),
Learning limited dependence Bayesian classifiers; Chow & Liu (1968), Approximating discrete
probability distributions with dependence trees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verosim import kernels
from verosim.stats import Pairs

Parents = tuple[tuple[int, ...], ...]  # of every column, the most informative first


@dataclass(frozen=True)
class Information:
    """What columns share with the class, and with each other within classes, in nats."""

    with_class: np.ndarray  # (d,) I(x_i; y)
    within_class: np.ndarray  # (d, d) I(x_i; x_j | y)


def information(pairs: Pairs) -> Information:
    """The information of a statistic of pairs of one fold."""
    single = pairs.single()[:, 0]  # (C, J)
    weight = pairs.weight[:, 0]  # (C,)
    total, start = weight.sum(), pairs.codes.first[:-1]
    per_class = _x_log_x(weight).sum()
    by_code = _x_log_x(single).sum(axis=0)  # (J,)
    gain = by_code - _x_log_x(single.sum(axis=0))
    with_class = (np.add.reduceat(gain, start) - per_class + _x_log_x(total)) / total
    columns = np.add.reduceat(by_code, start)  # (d,)
    both = _pair_logs(pairs.arrays["pair"][:, 0], pairs)
    both += np.triu(both, 1).T
    within = (both - columns[:, None] - columns + per_class) / total
    return Information(np.maximum(with_class, 0.0), np.maximum(within, 0.0))


def ranked_parents(found: Information, most: int) -> Parents:
    """At most so many parents for each column, among the columns before it (Sahami 1996)."""
    order = np.argsort(-found.with_class, kind="stable")
    parents: list[tuple[int, ...]] = [()] * len(order)
    for rank, j in enumerate(order):
        before = order[:rank]
        best = np.argsort(-found.within_class[j, before], kind="stable")[:most]
        parents[j] = tuple(int(i) for i in before[best])
    return tuple(parents)


def spanning_tree(found: Information) -> Parents:
    """One parent for each column but the root: the maximum spanning tree (Prim's algorithm)."""
    d = len(found.with_class)
    root = int(np.argmax(found.with_class))
    parents: list[tuple[int, ...]] = [()] * d
    best, link = found.within_class[root].copy(), np.full(d, root)
    outside = np.ones(d, dtype=bool)
    outside[root] = False
    while outside.any():
        j = int(np.argmax(np.where(outside, best, -np.inf)))
        parents[j] = (int(link[j]),)
        outside[j] = False
        nearer = outside & (found.within_class[j] > best)
        best[nearer], link[nearer] = found.within_class[j, nearer], j
    return tuple(parents)


def informative_pairs(pairs: Pairs, most: int) -> tuple[tuple[int, int], ...]:
    """At most so many pairs of columns i < j, those with the largest interaction.

        | I(x_i, x_j; y) − I(x_i; y) − I(x_j; y) − ½ (B_i − 1) (B_j − 1) (C − 1) / 2N |

    It is positive if two columns together say more about the class than one by one, as in XOR, and
    negative if they repeat each other. The last term is half of its expectation for independent
    columns; B_i is the number of codes of column i that some row has.
    """
    d = len(pairs.codes.sizes)
    if most < 1 or d < 2:
        return ()
    single = pairs.single()[:, 0]  # (C, J)
    start, total = pairs.codes.first[:-1], pairs.weight.sum()
    half = pairs.arrays["pair"][:, 0]  # (C, J, J)
    gain = _pair_logs(half, pairs) - _pair_logs(half.sum(axis=0)[None], pairs)  # (d, d)
    alone = np.add.reduceat(_x_log_x(single).sum(axis=0) - _x_log_x(single.sum(axis=0)), start)
    weight = pairs.weight[:, 0]
    prior = _x_log_x(weight).sum() - _x_log_x(total)
    free = np.add.reduceat((single.sum(axis=0) > 0).astype(float), start) - 1  # (d,)
    expected = 0.25 * np.outer(free, free) * (len(weight) - 1)
    value = np.abs(gain - alone[:, None] - alone + prior - expected)
    value[:, free < 1] = 0.0  # a column with one value has no interactions
    value[free < 1] = 0.0
    i, j = np.triu_indices(d, 1)
    best = np.argsort(-value[i, j], kind="stable")[:most]
    return tuple((int(i[p]), int(j[p])) for p in best if value[i[p], j[p]] > 0)


def _pair_logs(tables: np.ndarray, pairs: Pairs) -> np.ndarray:
    """(d, d) Σ N log N over the codes of two columns i ≤ j, with N in some tables (…, J, J)."""
    d = len(pairs.codes.sizes)
    out = np.zeros((d, d))
    for table in tables:
        kernels.add_pair_logs(table, pairs.codes.first, out)
    return out


def _x_log_x(count: np.ndarray) -> np.ndarray:
    return count * np.log(np.where(count > 0, count, 1.0))
