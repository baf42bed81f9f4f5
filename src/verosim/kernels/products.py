"""Products of sparse rows with tables of one line a column, for Newton's method without Hessians.

Tables are (d, width): a line holds all classes, padded to whole cache lines of eight, or one value
where there are two classes.
"""

import math

import numpy as np

from verosim.kernels._compile import exact, loose
from verosim.kernels.constants import LANES
from verosim.kernels.logistic import shares_of

TINY = 1e-300
TURNS = 40  # of Newton's method on one number
NEAR = 1e-6  # to which a pass of many solves it


@exact
def gather_products(data, indices, indptr, skip, table, base, out):
    """out (n, width) = X · table + base; a row where `skip` (n,) is set is left as zeros."""
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
    """Posteriors p into shares (n, width), w (p − t) into residual (n, width); returns Σ w loss."""
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
            # 1 − p as it is, not as a difference, which is zero where p is all but one
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
    """Σ w loss at scores + size · change."""
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
    """change (n, width), scores of a direction, to w (diag p − p pᵀ) · change, in place."""
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
    """step += size · direction, rest −= size · bent; returns ⟨rest, rest / curvature⟩. Flat."""
    total = 0.0
    for k in range(step.size):
        step[k] += size * direction[k]
        rest[k] -= size * bent[k]
        total += rest[k] * rest[k] / curvature[k]
    return total


@loose
def conjugate_turn(share, rest, curvature, direction):
    """direction = rest / curvature + share · direction. Flat."""
    for k in range(direction.size):
        direction[k] = rest[k] / curvature[k] + share * direction[k]


@exact
def _settle_row(s, old, rho, p):
    """p on the simplex with log p_c + ρ p_c = s_c + ρ old_c − μ: the posteriors of a row once its
    own weight in the sum has moved to them, s being its scores before. μ by Newton within bounds,
    and for each class q = log p from q₀ = log(softplus(t + log ρ)/ρ), right of the root."""
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
    """One pass of dual coordinate ascent: each row's posterior A_i (n, K) set to its best, given
    the others, and B (d + 1, width) = Σ w_i (x_i, 1)(e_y − A_i)ᵀ/λ kept in step. Here the
    intercepts are penalised too, or left at zero where fixed."""
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
