"""Products of sparse rows and tables with one row per column, for Newton's method without Hessians.

The tables are (d, width). A table row has all classes, padded to whole cache lines of eight
numbers, or one number if there are two classes.
"""

import math

import numpy as np

from verosim.kernels._compile import exact, loose
from verosim.kernels.constants import LANES
from verosim.kernels.logistic import shares_of

TINY = 1e-300
TURNS = 40  # the most steps of Newton's method for one number
NEAR = 1e-6  # the accuracy of this solution: there are many passes, so more is not needed


@exact
def gather_products(data, indices, indptr, skip, table, base, out):
    """out (n, width) = X · table + base; rows with skip (n,) set are filled with zeros."""
    width = table.shape[1]
    skipping = skip.size > 0
    lanes = np.zeros(LANES)
    for i in range(indptr.size - 1):
        if skipping and skip[i]:
            out[i] = 0.0
            continue
        a, b = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        if width == 1:
            total = base[0]
            for t in range(a, b):
                total += float(data[t]) * table[np.uint64(indices[t]), 0]
            out[i, 0] = total
            continue
        for first in range(0, width, LANES):
            for c in range(LANES):
                lanes[c] = base[first + c]
            for t in range(a, b):
                x, j = float(data[t]), np.uint64(indices[t])
                for c in range(LANES):
                    lanes[c] += x * table[j, first + c]
            for c in range(LANES):
                out[i, first + c] = lanes[c]


@exact
def gather_columns(data, indices, indptr, power, table, ridge, own, out):
    """out (d, width) = Σ_i x_ij^power table_i + ridge · own, CSC columns; returns ⟨own, out⟩."""
    width = table.shape[1]
    lanes = np.zeros(LANES)
    dot = 0.0
    for j in range(indptr.size - 1):
        a, b = np.uint64(indptr[j]), np.uint64(indptr[j + 1])
        if width == 1:
            total = ridge * own[j, 0]
            for t in range(a, b):
                x = float(data[t])
                total += (x if power == 1 else x * x) * table[np.uint64(indices[t]), 0]
            out[j, 0] = total
            dot += total * own[j, 0]
            continue
        for first in range(0, width, LANES):
            for c in range(LANES):
                lanes[c] = ridge * own[j, first + c]
            for t in range(a, b):
                x, i = float(data[t]), np.uint64(indices[t])
                if power == 2:
                    x *= x
                for c in range(LANES):
                    lanes[c] += x * table[i, first + c]
            for c in range(LANES):
                out[j, first + c] = lanes[c]
                dot += lanes[c] * own[j, first + c]
    return dot


@exact
def loss_rows(scores, codes, weights, K, residual, shares):
    """Write the posteriors p to shares (n, width) and w (p − t) to residual (n, width).

    Returns Σ w loss. t is 1 for the row's own class and 0 for the others.
    """
    loss = 0.0
    weighted = weights.size > 0
    for i in range(scores.shape[0]):
        weight = weights[i] if weighted else 1.0
        y = codes[i]
        if K == 1:
            s = scores[i, 0]
            t = 1.0 if y == 1 else 0.0
            e = math.exp(-abs(s))
            p = (1.0 if s > 0.0 else e) / (1.0 + e)
            wrong = s if t == 0.0 else -s
            loss += weight * (max(wrong, 0.0) + math.log1p(e))
            shares[i, 0] = p
            # 1 − p is computed directly, because the difference is zero if p rounds to one.
            residual[i, 0] = weight * (p if t == 0.0 else -(e if s > 0.0 else 1.0) / (1.0 + e))
            continue
        row = shares[i, :K]
        for c in range(K):
            row[c] = scores[i, c]
        piece, rest = shares_of(row, y)
        loss += weight * (piece + math.log1p(rest))
        others = 0.0
        for c in range(K):
            residual[i, c] = weight * row[c]
            if c != y:
                others += row[c]
        residual[i, y] = -weight * others
    return loss


@exact
def line_loss(scores, change, size, codes, weights, K):
    """Returns Σ w loss at scores + size · change."""
    loss = 0.0
    weighted = weights.size > 0
    s = np.empty(K)
    for i in range(scores.shape[0]):
        for c in range(K):
            s[c] = scores[i, c] + size * change[i, c]
        y = codes[i]
        if K == 1:
            wrong = s[0] if y == 0 else -s[0]
            piece, rest = max(wrong, 0.0), math.exp(-abs(s[0]))
        else:
            piece, rest = shares_of(s, y)
        loss += (weights[i] if weighted else 1.0) * (piece + math.log1p(rest))
    return loss


@exact
def curve_scores(shares, weights, K, change):
    """change (n, width) ← w (diag p − p pᵀ) · change, in place.

    change are the scores of a direction in which the weights change.
    """
    weighted = weights.size > 0
    for i in range(change.shape[0]):
        weight = weights[i] if weighted else 1.0
        if K == 1:
            change[i, 0] *= weight * shares[i, 0] * (1.0 - shares[i, 0])
            continue
        mean = 0.0
        for c in range(K):
            mean += shares[i, c] * change[i, c]
        for c in range(K):
            change[i, c] = weight * shares[i, c] * (change[i, c] - mean)


@loose
def conjugate_step(size, direction, bent, curvature, step, rest):
    """step += size · direction and rest −= size · bent, flat arrays.

    bent is the Hessian times direction. Returns ⟨rest, rest / curvature⟩.
    """
    total = 0.0
    for k in range(step.size):
        step[k] += size * direction[k]
        rest[k] -= size * bent[k]
        total += rest[k] * rest[k] / curvature[k]
    return total


@loose
def conjugate_turn(share, rest, curvature, direction):
    """direction = rest / curvature + share · direction, flat arrays."""
    for k in range(direction.size):
        direction[k] = rest[k] / curvature[k] + share * direction[k]


@exact
def _settle_row(s, old, rho, p):
    """Solve log p_c + ρ p_c = s_c + ρ old_c − μ for p (K,) with Σ p_c = 1.

    p are the posteriors of a row after its own term in the sum has changed from `old` to p. s are
    its scores before this change. μ is found by Newton's method within bounds. For each class,
    with t = s_c + ρ old_c − μ, q = log p_c is found by Newton's method. Its start is
    q₀ = log(softplus(t + log ρ)/ρ), which is to the right of the root.
    """
    K = p.size
    top, best = -np.inf, 0
    for c in range(K):
        top = max(top, s[c] + rho * old[c])
        if old[c] > old[best]:
            best = c
    low, high = top - rho, top + math.log(K)
    log_rho = math.log(rho)
    mu = min(max(s[best] - math.log(max(old[best], TINY)), low), high)
    total = 1.0
    for _ in range(TURNS):
        total, slope = 0.0, 0.0
        for c in range(K):
            t = s[c] + rho * old[c] - mu
            x = t + log_rho
            p[c] = math.exp(t) if x < -36.0 else 0.0
            if x >= -36.0:
                q = math.log(x if x > 36.0 else math.log1p(math.exp(x))) - log_rho
                for _ in range(TURNS):
                    e = rho * math.exp(q)
                    change = (q + e - t) / (1.0 + e)
                    q -= change
                    if abs(change) < NEAR:
                        break
                p[c] = math.exp(q)
            total += p[c]
            slope += p[c] / (1.0 + rho * p[c])
        miss = math.log(total)
        if abs(miss) < NEAR:
            break
        if miss > 0:
            low = mu
        else:
            high = mu
        mu += miss * total / slope
        if not low < mu < high:
            mu = 0.5 * (low + high)
    for c in range(K):
        p[c] /= total


@exact
def dual_pass(data, indices, indptr, codes, weights, order, norms, penalty, fixed, B, A):
    """Run one pass of dual coordinate ascent over the rows in `order`.

    Each row's posterior in A (n, K) is set to its best value given the other rows. The table
    B (d + 1, width) = Σ w_i (x_i, 1)(e_y − A_i)ᵀ/λ is updated with it. The intercepts are penalised
    too, or stay zero if `fixed`.
    """
    width, K = B.shape[1], A.shape[1]
    last = B.shape[0] - 1
    weighted = weights.size > 0
    s, p = np.zeros(width), np.zeros(K)
    for i in order:
        weight = weights[i] if weighted else 1.0
        a, b = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        for c in range(width):
            s[c] = B[last, c]
        for t in range(a, b):
            x, j = float(data[t]), np.uint64(indices[t])
            for c in range(width):
                s[c] += x * B[j, c]
        norm = norms[i] + (0.0 if fixed else 1.0)
        _settle_row(s, A[i], max(weight * norm / penalty, TINY), p)
        for c in range(width):
            s[c] = weight * (A[i, c] - p[c]) / penalty if c < K else 0.0
        for c in range(K):
            A[i, c] = p[c]
        for t in range(a, b):
            x, j = float(data[t]), np.uint64(indices[t])
            for c in range(width):
                B[j, c] += x * s[c]
        if not fixed:
            for c in range(width):
                B[last, c] += s[c]
