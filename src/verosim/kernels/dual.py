"""Dual coordinate descent for the linear support vector machine, on dense and on CSR rows.

    min_α  ½ ‖Σ αᵢ tᵢ xᵢ‖² + ½ Σ rᵢ αᵢ² − Σ αᵢ,   0 ≤ αᵢ ≤ uᵢ,   w = Σ αᵢ tᵢ xᵢ

Each step solves for one αᵢ in closed form. The hinge loss has rᵢ = 0 and uᵢ = cᵢ. The squared hinge
loss has rᵢ = 1 / 2cᵢ and uᵢ = ∞. With m = tᵢ wᵀxᵢ − 1, the duality gap is a sum over rows, and no
term of it is negative. Each pass therefore measures the gap without extra work. A step goes beyond
the best αᵢ (overrelaxation). The steps become longer with the number of passes, which shortens long
runs.

A free intercept requires Σ αᵢ tᵢ = 0. The method of multipliers is used. The intercept is a column
with the value `bias`, and its weight is v = bias Σ αᵢ tᵢ. This weight is penalised as the distance
from an intercept b₀. When the gap of a pass is less than ½ v², b₀ moves by bias v or further. Then
v goes to zero, and b₀ goes to the free intercept.

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

SETTLED = 1e-12  # a projected gradient of this size is rounding error
# The overrelaxation factor: its first value, the passes to half the way to 2, its largest value.
FIRST, HALFWAY, LAST = 1.3, 50.0, 1.8
SOLVED = 0.5  # b₀ moves if the gap is below this share of v²: then the sign of v is correct
LOST = 1e-24  # below this share of the objective, v² is rounding error
LONGEST = 4.0  # how many times longer than the last move a move may be, both divided by bias v


@exact
def shuffle(order, size, seed):
    """Put the first `size` entries of `order` in random order, in place, and return the next seed.

    The method is the shuffle of Fisher and Yates, with random numbers by xorshift.
    """
    for s in range(size - 1, 0, -1):
        seed ^= seed << np.uint64(13)
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        other = np.int64(((seed >> np.uint64(32)) * np.uint64(s + 1)) >> np.uint64(32))
        order[s], order[other] = order[other], order[s]
    return seed


@exact
def _gap_term(m, a, cost, ridge):
    """The term of one row in the duality gap; m = t wᵀx − 1."""
    if ridge == 0.0:
        return -m * (cost - a) if m < 0.0 else m * a
    slope = m + ridge * a
    return cost * slope * slope if m < 0.0 else a * (m + 0.5 * ridge * a)


@exact
def _step(m, a, norm, upper, ridge, high, low, reach):
    """The step of one row: (new α, gain of the dual objective, projected gradient, inactive).

    The row becomes inactive if α is at a bound and its slope is beyond `high` or `low`.
    """
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
    """Move b₀ = free[0] towards the value where v is zero, and return the move.

    v decreases with b₀, at a rate of at most 1/bias. A move of bias v therefore never goes past the
    zero. The move is longer if the secant method proposes a longer one.

    free[1] and free[2] are the ends of the interval that contains the zero, and free[3] and free[4]
    are the values of v at these ends. free[5] is the end that was set last. free[6] is the last
    move divided by bias v.
    """
    near, far = (1, 2) if v > 0.0 else (2, 1)
    step, reach = bias * v, 1.0
    before, higher = free[near], free[near + 2]
    free[near], free[near + 2] = free[0], v
    if abs(free[far] - free[0]) <= abs(step):  # this end was set when α was not accurate enough
        free[far] = np.inf if v > 0.0 else -np.inf
    if np.isfinite(free[far]):
        if free[5] == near:
            free[far + 2] *= 0.5  # otherwise this end might never move (Illinois method)
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
    """Renumber the columns that occur, frequent columns first: renumbered = place[indices].

    place (d,) orders the columns by the number of stored cells, in powers of two. It is −1 for
    columns that do not occur. Returns the number of columns that occur.
    """
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
    """Run passes over the active rows until the measured gap is at most tol · objective.

    The passes also stop after `visits` visits to rows. Rows are (values, indices, indptr) as in
    `kernels/rows.py`. The loop itself has the branches for dense and sparse rows, because a
    function call for each row would take 50 % more time.

    w (d + 1,) and alpha (n,) are changed in place. The last entry of w is the weight of the column
    of `bias`. For a free intercept, `free` (7,) is changed in place too: its first entry is b₀ (see
    `_move_intercept`). Otherwise it is empty. `value` is the dual objective at alpha, and `turn` is
    the number of passes made before. Returns the number of visits, the next turn and the next seed.
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
            # All rows become active again, because v must adapt to the move.
            high, low, active = np.inf, -np.inf, n
    return made, turn, seed
