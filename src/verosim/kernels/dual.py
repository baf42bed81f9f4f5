"""Dual coordinate descent for the linear support vector machine, on dense and on CSR rows.

    min_α  ½ ‖Σ αᵢ tᵢ xᵢ‖² + ½ Σ rᵢ αᵢ² − Σ αᵢ,   0 ≤ αᵢ ≤ uᵢ,   w = Σ αᵢ tᵢ xᵢ

one αᵢ at a time in closed form. rᵢ = 0, uᵢ = cᵢ is the hinge; rᵢ = 1 / 2cᵢ, uᵢ = ∞ its square. With
m = tᵢ wᵀxᵢ − 1 the duality gap is a sum of terms none of which is negative, so a pass measures it
on its way. Steps go beyond the best αᵢ, by more the longer it takes, which shortens long runs.
References: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), A dual coordinate descent method for
large-scale linear SVM; Mangasarian & Musicant (1999), Successive overrelaxation for support vector
machines.
"""

import numpy as np

from verosim.kernels._compile import exact, loose

SETTLED = 1e-12  # a projected gradient that is rounding
FIRST, HALFWAY, LAST = 1.3, 50.0, 1.8  # steps beyond the best: at first, and how they grow


@loose
def dense_dot(x, w):
    total = 0.0
    for j in range(x.size):
        total += x[j] * w[j]
    return total


@exact
def dense_add(x, step, w):
    for j in range(x.size):
        w[j] += step * x[j]


@loose
def sparse_dot(data, indices, start, stop, w):
    total = 0.0
    for t in range(np.uint64(start), np.uint64(stop)):
        total += data[t] * w[np.uint64(indices[t])]
    return total


@exact
def sparse_add(data, indices, start, stop, step, w):
    for t in range(np.uint64(start), np.uint64(stop)):
        w[np.uint64(indices[t])] += step * data[t]


@exact
def shuffle(order, size, seed):
    """The first `size` places in random order (Fisher and Yates, by xorshift); the next seed."""
    for s in range(size - 1, 0, -1):
        seed ^= seed << np.uint64(13)
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        other = np.int64(((seed >> np.uint64(32)) * np.uint64(s + 1)) >> np.uint64(32))
        order[s], order[other] = order[other], order[s]
    return seed


@exact
def _gap_term(m, a, cost, ridge):
    """The share of one row in the duality gap; m = t wᵀx − 1."""
    if ridge == 0.0:
        return -m * (cost - a) if m < 0.0 else m * a
    slope = m + ridge * a
    return cost * slope * slope if m < 0.0 else a * (m + 0.5 * ridge * a)


@exact
def _step(m, a, norm, upper, ridge, high, low, reach):
    """(new α, gain of the dual objective, projected gradient, whether it rests at its bound)."""
    slope = m + ridge * a
    if a == 0.0:
        if slope > high:
            return a, 0.0, 0.0, True
        projected = min(slope, 0.0)
    elif a == upper:
        if slope < low:
            return a, 0.0, 0.0, True
        projected = max(slope, 0.0)
    else:
        projected = slope
    if abs(projected) <= SETTLED:
        return a, 0.0, projected, False
    curve = norm + ridge
    new = min(max(a - reach * slope / curve, 0.0), upper)
    return new, -(new - a) * (slope + 0.5 * curve * (new - a)), projected, False


@exact
def rank_columns(indices, place, renumbered):
    """renumbered = place[indices], place (d,) numbering the columns that occur by how often they
    do, in powers of two, frequent ones first; −1 for the others. Gives back how many occur."""
    place[:] = 0
    for t in range(indices.size):
        place[np.uint64(indices[t])] += 1
    starts = np.zeros(65, dtype=np.int64)
    for j in range(place.size):
        rarity, count = 64, place[j]
        while count > 0:
            count >>= 1
            rarity -= 1
        place[j] = rarity
        if rarity < 64:
            starts[rarity + 1] += 1
    for k in range(64):
        starts[k + 1] += starts[k]
    used = starts[64]
    for j in range(place.size):
        rarity = place[j]
        place[j] = -1
        if rarity < 64:
            place[j] = starts[rarity]
            starts[rarity] += 1
    for t in range(indices.size):
        renumbered[t] = place[np.uint64(indices[t])]
    return used


@exact
def row_norms(X, bias, out):
    """out (n,) = ‖x‖² + bias²."""
    for i in range(X.shape[0]):
        out[i] = bias * bias + dense_dot(X[i], X[i])


@exact
def row_norms_sparse(data, indptr, bias, out):
    for i in range(indptr.size - 1):
        total = bias * bias
        for t in range(indptr[i], indptr[i + 1]):
            total += float(data[t]) * float(data[t])
        out[i] = total


@exact
def row_products(X, w, shift, out):
    """out (n,) = X w + shift."""
    for i in range(X.shape[0]):
        out[i] = dense_dot(X[i], w) + shift


@exact
def row_products_sparse(data, indices, indptr, w, shift, out):
    for i in range(indptr.size - 1):
        out[i] = sparse_dot(data, indices, indptr[i], indptr[i + 1], w) + shift


@exact
def descend(X, signs, cost, ridge, norms, bias, w, alpha, order, seed, turn, visits, tol, value):
    """Passes over the rows that do not rest until the gap they measure is below tol · objective,
    or there were `visits` to rows.

    w (d + 1,) with the weight of the column of `bias` last, and alpha (n,), in place.
    `value` is the dual objective at alpha, `turn` the number of passes before these. Gives back how
    many visits were made, and the next turn and seed.
    """
    n, d = X.shape
    squared = ridge.size > 0
    high, low, active = np.inf, -np.inf, n
    body = w[:d]
    made = 0
    while made < visits:
        reach = min(LAST, 2.0 - (2.0 - FIRST) / (1.0 + turn / HALFWAY))
        turn += 1
        seed = shuffle(order, active, seed)
        made += active
        most, least, gap, s = -np.inf, np.inf, 0.0, 0
        while s < active:
            i = order[s]
            r = ridge[i] if squared else 0.0
            m = signs[i] * (dense_dot(X[i], body) + w[d] * bias) - 1.0
            a = alpha[i]
            new, gain, projected, rests = _step(
                m, a, norms[i], np.inf if squared else cost[i], r, high, low, reach
            )
            if rests:
                active -= 1
                order[s], order[active] = order[active], i
                continue
            gap += _gap_term(m, a, cost[i], r)
            most, least = max(most, projected), min(least, projected)
            if new != a:
                alpha[i] = new
                value += gain
                dense_add(X[i], (new - a) * signs[i], body)
                w[d] += (new - a) * signs[i] * bias
            s += 1
        if gap <= tol * (value + gap):
            break
        high = most if most > 0.0 else np.inf
        low = least if least < 0.0 else -np.inf
    return made, turn, seed


@exact
def descend_sparse(
    data,
    indices,
    indptr,
    signs,
    cost,
    ridge,
    norms,
    bias,
    w,
    alpha,
    order,
    seed,
    turn,
    visits,
    tol,
    value,
):  # fmt: skip
    """The same for CSR rows."""
    n, d = indptr.size - 1, w.size - 1
    squared = ridge.size > 0
    high, low, active = np.inf, -np.inf, n
    body = w[:d]
    made = 0
    while made < visits:
        reach = min(LAST, 2.0 - (2.0 - FIRST) / (1.0 + turn / HALFWAY))
        turn += 1
        seed = shuffle(order, active, seed)
        made += active
        most, least, gap, s = -np.inf, np.inf, 0.0, 0
        while s < active:
            i = order[s]
            r = ridge[i] if squared else 0.0
            start, stop = indptr[i], indptr[i + 1]
            product = sparse_dot(data, indices, start, stop, body) + w[d] * bias
            m = signs[i] * product - 1.0
            a = alpha[i]
            new, gain, projected, rests = _step(
                m, a, norms[i], np.inf if squared else cost[i], r, high, low, reach
            )
            if rests:
                active -= 1
                order[s], order[active] = order[active], i
                continue
            gap += _gap_term(m, a, cost[i], r)
            most, least = max(most, projected), min(least, projected)
            if new != a:
                alpha[i] = new
                value += gain
                sparse_add(data, indices, start, stop, (new - a) * signs[i], body)
                w[d] += (new - a) * signs[i] * bias
            s += 1
        if gap <= tol * (value + gap):
            break
        high = most if most > 0.0 else np.inf
        low = least if least < 0.0 else -np.inf
    return made, turn, seed
