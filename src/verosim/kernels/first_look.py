"""The choice between a Gaussian and a histogram for many columns of numbers at once.

Each column is read in the order of its values, so that equal values and bins are runs.
"""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import LANES
from verosim.kernels.exponentials import exponential
from verosim.kernels.lanes import (
    aligned_zeros,
    eight_of,
    fused,
    larger,
    load_eight,
    repeat,
    store,
)

MOST_EDGES = 51  # of the largest number of bins that is compared, 50
MOST_CLASSES = 100
TRIED = (5, 10, 50)  # numbers of bins, in addition to the usual number
VALUES_AT_ONCE = 64  # values: the product of so many numbers below MOST_CLASSES is finite


@exact
def find_edges(distinct, reached, m, bins, edges):
    """Fill in the edges of bins of about equal weight, and return their number.

    distinct (m,) are sorted values and reached (m,) the weight up to each. An edge is halfway
    between two neighbouring values, so equal values share a bin.
    """
    if m == 0:
        edges[0] = 0.0
        return 1
    edges[0] = distinct[0]
    count = 1
    at = 0
    step = reached[m - 1] / bins
    for b in range(1, bins):
        wanted = (b * step) * (1 - 1e-12)
        while at < m and reached[at] < wanted:
            at += 1
        if at >= m - 1:
            break
        edge = distinct[at] / 2 + distinct[at + 1] / 2
        if edge != edges[count - 1]:
            edges[count] = edge
            count += 1
    if distinct[m - 1] != edges[count - 1]:
        edges[count] = distinct[m - 1]
        count += 1
    return count


@exact
def fit_gaussians(x, y, w, n, C, total_weight, class_weight, weighted, terms):
    """Σ w log p(class | x), with one Gaussian per class, from n values in any order.

    x has room for seven more values, and terms for (C + 2, 8) numbers. Without weights, the sums
    Σ_k exp of several values are multiplied, and one logarithm is enough: each is between 1 and C.
    """
    centre = 0.0
    for i in range(n):
        centre += w[i] * x[i]
    centre /= total_weight
    mean = np.zeros(C)
    spread = 0.0
    for i in range(n):
        z = x[i] - centre
        mean[y[i]] += w[i] * z
        spread += w[i] * z * z
    mean /= class_weight[:C]
    variance = np.zeros(C)
    for i in range(n):
        z = (x[i] - centre) - mean[y[i]]
        variance[y[i]] += w[i] * z * z
    least = max(1e-9 * (spread / total_weight), 1e-300)
    level = np.empty(C)
    for c in range(C):
        variance[c] = max(variance[c] / class_weight[c], least)
        level[c] = np.log(class_weight[c] / total_weight) - 0.5 * np.log(variance[c])
        variance[c] = -0.5 / variance[c]
    top, total = C * LANES, (C + 1) * LANES
    one, origin = eight_of(1.0), eight_of(centre)
    found, product = 0.0, one
    for start in range(0, n, LANES):
        m = min(LANES, n - start)
        z = load_eight(x, start) - origin
        highest = eight_of(-np.inf)
        for c in range(C):
            apart = z - repeat(mean, c)
            term = fused(apart * apart, repeat(variance, c), repeat(level, c))
            store(terms, c * LANES, term)
            highest = larger(term, highest)
        store(terms, top, highest)
        for i in range(m):
            found += w[start + i] * (terms[y[start + i] * LANES + i] - terms[top + i])
        sums = eight_of(0.0)
        for c in range(C):
            sums = sums + exponential(load_eight(terms, c * LANES) - highest)
        store(terms, total, sums)
        if weighted:
            for i in range(m):
                found -= w[start + i] * np.log(terms[total + i])
            continue
        for i in range(m, LANES):  # there are no values after the last
            terms[total + i] = 1.0
        product = product * load_eight(terms, total)
        if start % VALUES_AT_ONCE == VALUES_AT_ONCE - LANES or start + LANES >= n:
            store(terms, total, product)
            product, each = one, 1.0
            for i in range(LANES):
                each *= terms[total + i]
            found -= np.log(each)
    return found


@exact
def fit_histograms(x, y, w, n, C, total_weight, edges, bins, count):
    """Σ w log p(class | x), with one histogram per class, from n sorted values."""
    count[:C, :bins] = 0.0
    b = 0
    for i in range(n):
        while b < bins - 1 and edges[b + 1] <= x[i]:
            b += 1
        count[y[i], b] += w[i]
    weight = np.zeros(C)
    for c in range(C):
        for b in range(bins):
            weight[c] += count[c, b]
    joint = np.empty(C)
    found = 0.0
    for b in range(bins):
        total = 0.0
        for c in range(C):
            share = (count[c, b] + 1) / (weight[c] + bins)
            joint[c] = weight[c] / total_weight * share
            total += joint[c]
        for c in range(C):
            if count[c, b] > 0:
                found += count[c, b] * np.log(joint[c] / total)
    return found


@exact
def look_at_numbers(X, order, labels, classes, weights, usual, least_rows, bins, edges, sizes,
                    distinct, counts, seen, whole):  # fmt: skip
    """Choose the density of each column of numbers by the Akaike criterion.

    X (d, n) are the columns and order (d, n) sorts each of them. labels (n,) are class numbers
    below `classes`, empty if there are none. weights (n,) are empty if all are 1. `usual` is the
    number of bins of a column that is not compared.

    bins (d,) receives 0 for Gaussians, or the number of bins of histograms. edges (d, E) and sizes
    (d,) receive the edges, distinct (d, n) and counts (d,) the different finite values, seen (d,)
    the number of finite values, and whole (d,) whether all are whole numbers.
    """
    d, n = X.shape
    x, w, mass = np.zeros(n + LANES), np.empty(n), np.empty(n)
    y = np.empty(n, dtype=np.int64)
    place = np.empty(max(classes, 1), dtype=np.int64)
    class_weight = np.empty(max(classes, 1))
    compared = labels.size > 0
    count = np.empty((min(max(classes, 1), MOST_CLASSES), MOST_EDGES))
    trial = np.empty(MOST_EDGES + 1)
    terms = aligned_zeros((len(count) + 2) * LANES)
    for j in range(d):
        values, kept, m = distinct[j], 0, 0
        is_whole = True
        total = 0.0
        for at in range(n):
            i = order[j, at]
            value = X[j, i]
            if not np.isfinite(value):
                continue
            weight = weights[i] if weights.size else 1.0
            if m == 0 or value != values[m - 1]:
                values[m] = value
                mass[m] = total
                is_whole = is_whole and value == np.floor(value)
                m += 1
            total += weight
            mass[m - 1] = total
            x[kept], w[kept] = value, weight
            if compared:
                y[kept] = labels[i]
            kept += 1
        seen[j], counts[j], whole[j] = kept, m, is_whole
        bins[j] = 0
        sizes[j] = find_edges(values, mass, m, usual, edges[j])
        if not compared or sizes[j] < 3:
            continue
        place[:] = 0
        for i in range(kept):
            place[y[i]] = 1
        C = 0
        for c in range(classes):
            if place[c]:
                place[c] = C
                C += 1
        if C < 2 or C > MOST_CLASSES or total < least_rows * C:
            continue
        class_weight[:C] = 0.0
        for i in range(kept):
            y[i] = place[y[i]]
            class_weight[y[i]] += w[i]
        base = fit_gaussians(x, y, w, kept, C, total, class_weight, weights.size > 0, terms)
        base -= 2 * C
        best = 0.0
        for k in range(4):  # 5, 10, 20 and 50 bins, in this order
            tried = usual if k == 2 else TRIED[min(k, 2)]
            size = find_edges(values, mass, m, tried, trial)
            made = max(size - 1, 1)
            gain = -(C * (size - 2) + base)  # of histograms that separate the classes completely
            if not gain > best + 1e-9 * total:
                continue
            gain += fit_histograms(x, y, w, kept, C, total, trial, made, count)
            if gain > best + 1e-9 * total:
                best = gain
                bins[j], sizes[j] = size - 1, size
                edges[j, :size] = trial[:size]
