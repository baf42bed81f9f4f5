"""Dual coordinate descent for the linear support vector machine, on dense and on CSR rows.

    min_α  ½ ‖Σ αᵢ tᵢ xᵢ‖² + ½ Σ rᵢ αᵢ² − Σ αᵢ,   0 ≤ αᵢ ≤ uᵢ,   w = Σ αᵢ tᵢ xᵢ

one αᵢ at a time in closed form. rᵢ = 0, uᵢ = cᵢ is the hinge; rᵢ = 1 / 2cᵢ, uᵢ = ∞ its square. With
m = tᵢ wᵀxᵢ − 1 the duality gap is a sum of terms none of which is negative, so a pass measures it
on its way. Steps go beyond the best αᵢ, by more the longer it takes, which shortens long runs.

A free intercept asks for Σ αᵢ tᵢ = 0. Its column holds `bias` and its weight v = bias Σ αᵢ tᵢ is
penalised, but as the distance from an intercept b₀, which moves to b₀ + bias v whenever a pass
leaves less to gain than ½ v² (the method of multipliers): v goes to zero, b₀ to the free intercept.
References: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), A dual coordinate descent method for
large-scale linear SVM; Mangasarian & Musicant (1999), Successive overrelaxation for support vector
machines; Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm
in convex programming.
"""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.rows import (
    centred_add,
    centred_dot,
    dense_add,
    dense_dot,
    sparse_add,
    sparse_dot,
)

SETTLED = 1e-12  # a projected gradient that is rounding
FIRST, HALFWAY, LAST = 1.3, 50.0, 1.8  # steps beyond the best: at first, and how they grow
SOLVED = 0.5  # share of v² that a pass may leave to gain when b₀ moves: then v has the right sign
LOST = 1e-24  # share of the objective below which v² is rounding
LONGEST = 4.0  # how much further than the last time an intercept may go beyond bias v


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
def _move_intercept(free, bias, v):
    """Move b₀ = free[0] towards the zero of v, which falls in b₀ by at most 1/bias: by bias v,
    which never passes it, and further where the secant does. Gives back the move.

    free[1], free[2] are the ends that enclose the zero and free[3], free[4] the v found there;
    free[5] says which end came last, free[6] how many times bias v the last move was.
    """
    near, far = (1, 2) if v > 0.0 else (2, 1)
    step, reach = bias * v, 1.0
    before, higher = free[near], free[near + 2]
    free[near], free[near + 2] = free[0], v
    if abs(free[far] - free[0]) <= abs(step):  # found at an α too far from its best
        free[far] = np.inf if v > 0.0 else -np.inf
    if np.isfinite(free[far]):
        if free[5] == near:
            free[far + 2] *= 0.5  # or the other end might stay for ever (Illinois)
        move = (free[far] - free[0]) * v / (v - free[far + 2])
        move = move if abs(move) > abs(step) else step
    else:
        if np.isfinite(before):
            most = LONGEST * free[6]
            fall = bias * (higher - v) / (free[0] - before)
            reach = min(max(1.0 / fall, 1.0), most) if fall * most > 1.0 else most
        move = reach * step
    free[0] += move
    free[5], free[6] = near, reach
    return move


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
def descend(
    values, indices, indptr, centre, signs, cost, ridge, norms, bias, w, alpha, free,
    order, seed, turn, visits, tol, value,
):  # fmt: skip
    """Passes over the rows that do not rest until the gap they measure is below tol · objective,
    or there were `visits` to rows.

    Rows are (values, indices, indptr) as in `kernels/rows.py`. The branches on what they are stand
    in the loop itself: a call for each row would take half as long again.
    w (d + 1,) with the weight of the column of `bias` last, and alpha (n,), in place. For a free
    intercept so is `free` (7,), the b₀ first (see `_move_intercept`); otherwise it is empty.
    `value` is the dual objective at alpha, `turn` the number of passes before these. Gives back how
    many visits were made, and the next turn and seed.
    """
    n, d = norms.size, w.size - 1
    squared = ridge.size > 0
    high, low, active = np.inf, -np.inf, n
    body = w[:d]
    shift = free[0] if free.size else 0.0
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
            if values.ndim != 2:
                dot = sparse_dot(values, indices, indptr[i], indptr[i + 1], body)
            elif centre is None:
                dot = dense_dot(values[i], body)
            else:
                dot = centred_dot(values[i], centre, body)
            m = signs[i] * (dot + w[d] * bias + shift) - 1.0
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
                change = (new - a) * signs[i]
                if values.ndim != 2:
                    sparse_add(values, indices, indptr[i], indptr[i + 1], change, body)
                elif centre is None:
                    dense_add(values[i], change, body)
                else:
                    centred_add(values[i], centre, change, body)
                w[d] += change * bias
            s += 1
        apart = w[d] * w[d] if free.size else 0.0
        if apart <= LOST * value:
            apart = 0.0
        if gap + apart <= tol * (value + gap):
            break
        high = most if most > 0.0 else np.inf
        low = least if least < 0.0 else -np.inf
        if gap < SOLVED * apart:
            move = _move_intercept(free, bias, w[d])
            shift += move
            value -= move * w[d] / bias
            high, low, active = np.inf, -np.inf, n  # none rests: v must answer to the move
    return made, turn, seed
