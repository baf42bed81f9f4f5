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
def find_edges(distinct, reached, ends, m, bins, edges, below):
    """Fill in the edges of bins of about equal weight, and return their number.

    distinct (m,) are sorted values, reached (m,) the weight and ends (m,) the number of values up
    to each. An edge is halfway between two neighbouring values, so equal values share a bin.
    below receives the number of values below each bin, and at last the number of all values.
    """
    below[0] = 0
    if m == 0:
        edges[0], below[1] = 0.0, 0
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
            below[count] = ends[at if edge > distinct[at] else at - 1]  # it may be rounded down
            count += 1
    if distinct[m - 1] != edges[count - 1]:
        edges[count] = distinct[m - 1]
        count += 1
    below[max(count - 1, 1)] = ends[m - 1]
    return count


@exact
def fit_gaussians(x, y, w, n, C, total_weight, class_weight, weighted, terms):
    """Σ w log p(class | x), with one Gaussian per class, from n values in any order.

    x has room for seven more values, and terms for (C + 2, 8) numbers. Without weights, the sums
    Σ_k exp of several values are multiplied, and one logarithm is enough: each is between 1 and C.
    """
    # Eight sums take turns, because each addition would wait for the one before.
    lanes, mean, variance, level = np.zeros(LANES), np.empty(C), np.empty(C), np.empty(C)
    for i in range(n):
        lanes[i % LANES] += w[i] * x[i]
    centre = lanes.sum() / total_weight
    lanes[:], terms[: C * LANES] = 0.0, 0.0
    for i in range(n):
        z = x[i] - centre
        terms[y[i] * LANES + i % LANES] += w[i] * z
        lanes[i % LANES] += w[i] * z * z
    least = max(1e-9 * (lanes.sum() / total_weight), 1e-300)
    for c in range(C):
        mean[c] = terms[c * LANES : (c + 1) * LANES].sum() / class_weight[c]
    terms[: C * LANES] = 0.0
    for i in range(n):
        z = (x[i] - centre) - mean[y[i]]
        terms[y[i] * LANES + i % LANES] += w[i] * z * z
    for c in range(C):
        square = terms[c * LANES : (c + 1) * LANES].sum() / class_weight[c]
        variance[c] = max(square, least)
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
def sum_up_to(y, w, n, C, wanted, sums):
    """Fill in the weight of each class in the first i of n sorted values, for every wanted i.

    wanted (n + 1,) is 1 for a wanted i and 0 for all others. It receives the row of sums (·, C).
    """
    total = np.zeros(C)
    row = 0
    for i in range(n + 1):
        if wanted[i]:
            for c in range(C):
                sums[row, c] = total[c]
            wanted[i] = row
            row += 1
        if i < n:
            total[y[i]] += w[i]


@exact
def most_likely(sums, place, below, bins, C, entropy):
    """The highest possible Σ log p(class | x) with these bins, of rows without weights.

        Σ_b Σ_k n_bk log (n_bk / n_b)

    entropy (n + 1,) is n log n.
    """
    found = 0.0
    for b in range(bins):
        low, high, total = place[below[b]], place[below[b + 1]], 0.0
        for c in range(C):
            count = sums[high, c] - sums[low, c]
            total += count
            found += entropy[int(count)]
        found -= entropy[int(total)]
    return found


@exact
def fit_histograms(sums, place, below, bins, C, total_weight, weight, count):
    """Σ w log p(class | x), with one histogram per class.

    sums (·, C) has the weight of each class in the first values, and place the row for a number of
    values. below (bins + 1,) is the number of values below each bin.
    """
    for b in range(bins):
        low, high = place[below[b]], place[below[b + 1]]
        for c in range(C):
            count[c, b] = sums[high, c] - sums[low, c]
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
    y, ends, at_row = np.empty((3, n + 1), dtype=np.int64)
    place = np.empty(max(classes, 1), dtype=np.int64)
    class_weight = np.empty(max(classes, 1))
    compared = labels.size > 0
    count = np.empty((min(max(classes, 1), MOST_CLASSES), MOST_EDGES))
    tries = (TRIED[0], TRIED[1], usual, TRIED[2])  # numbers of bins, in this order
    trial = np.empty((len(tries), MOST_EDGES + 1))
    below = np.empty((len(tries), MOST_EDGES + 1), dtype=np.int64)
    made = np.empty(len(tries), dtype=np.int64)
    sums = np.empty((len(tries) * MOST_EDGES, len(count)))
    entropy = np.zeros(n + 1 if compared and not weights.size else 1)
    for i in range(2, entropy.size):
        entropy[i] = i * np.log(i)
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
            ends[m - 1] = kept
        seen[j], counts[j], whole[j] = kept, m, is_whole
        bins[j] = 0
        sizes[j] = find_edges(values, mass, ends, m, usual, edges[j], below[0])
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
        at_row[: kept + 1] = 0
        for k in range(len(tries)):
            size = find_edges(values, mass, ends, m, tries[k], trial[k], below[k])
            made[k] = max(size - 1, 1)
            for b in range(made[k] + 1):
                at_row[below[k, b]] = 1
        sum_up_to(y, w, kept, C, at_row, sums)
        for k in range(len(tries)):
            cuts, size = below[k], made[k]
            cost = base + C * (size - 1)
            if not -cost > best:  # if they separated the classes completely
                continue
            if not weights.size:  # the highest possible likelihood takes no logarithms
                highest = most_likely(sums, at_row, cuts, size, C, entropy)
                if not highest - cost > best:
                    continue
            gain = fit_histograms(sums, at_row, cuts, size, C, total, class_weight, count) - cost
            if gain > best + 1e-9 * total:
                best = gain
                bins[j], sizes[j] = size, size + 1
                edges[j, : size + 1] = trial[k, : size + 1]
