"""Stochastic gradient descent for logistic regression, and a row order that depends on content.

Rows are hashed by their cells and class, so the position of a row in the table does not matter.
"""

import math

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.logistic import shares_of

GOLD = np.uint64(0x9E3779B97F4A7C15)


@exact
def _mixed(h):
    """One step of splitmix64: each bit of h changes about half of the bits of the result."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@exact
def _cell(j, x):
    """A hash for the value x in column j.

    Zeros are not hashed, so that sparse and dense rows have the same hash.
    """
    box = np.empty(1)
    box[0] = x
    return _mixed(box.view(np.uint64)[0] + GOLD * np.uint64(j + 1))


@exact
def hash_rows(values, indices, indptr, codes, out):
    """out (n,) uint64 = a hash of each row's cells and class.

    Rows are given as in `kernels/rows.py`.
    """
    for i in range(codes.size):
        h = np.uint64(codes[i])
        if values.ndim == 2:
            for j in range(values.shape[1]):
                if values[i, j] != 0:
                    h += _cell(j, values[i, j])
        else:
            for t in range(indptr[i], indptr[i + 1]):
                if values[t] != 0:
                    h += _cell(indices[t], values[t])
        out[i] = _mixed(h)


@exact
def count_runs(keys, out):
    """out (n,) = the number of equal keys directly before each one; the keys are sorted."""
    for k in range(keys.size):
        out[k] = out[k - 1] + np.uint64(1) if k > 0 and keys[k] == keys[k - 1] else np.uint64(0)


@exact
def mix(keys, seed, out):
    """out (n,) = the keys hashed with the seed; sorting by out gives a random order."""
    for k in range(keys.size):
        out[k] = _mixed(keys[k] + seed * GOLD)


@exact
def _residual(s, y, weight, lanes):
    """Turn scores s (K,) into weight · (p − t), in place; returns the loss of the row.

    lanes is K, and K = 1 means two classes.
    """
    if lanes == 1:
        t = 1.0 if y == 1 else 0.0
        e = math.exp(-abs(s[0]))
        wrong = s[0] if t == 0.0 else -s[0]
        p = (1.0 if s[0] > 0.0 else e) / (1.0 + e)
        s[0] = weight * (p - t)
        return weight * (max(wrong, 0.0) + math.log1p(e))
    piece, rest = shares_of(s, y)
    s[y] -= 1.0
    for c in range(lanes):
        s[c] *= weight
    return weight * (piece + math.log1p(rest))


@exact
def stochastic_dense(X, codes, weights, order, batch, eta, decay, pace, seen, shrink, B, fixed):
    """Run one pass of stochastic gradient descent over the rows in `order`, `batch` rows per step:

        B ← (1 − η shrink) B − η/b Σ (x, 1)(p − t)ᵀ,   η = eta (1 + rows seen / pace)^−decay

    b is the number of rows in the step. The last row of B (d + 1, K) contains the intercepts. They
    are not shrunk, and they do not change if `fixed`. Returns Σ w loss, each loss before its step,
    and Σ w.
    """
    d, K = X.shape[1], B.shape[1]
    weighted = weights.size > 0
    residual = np.empty((batch, K))
    loss, mass = 0.0, 0.0
    for first in range(0, order.size, batch):
        size = min(batch, order.size - first)
        for k in range(size):
            i = order[first + k]
            r = residual[k]
            for c in range(K):
                r[c] = B[d, c]
            for j in range(d):
                x = float(X[i, j])
                for c in range(K):
                    r[c] += x * B[j, c]
            weight = weights[i] if weighted else 1.0
            mass += weight
            loss += _residual(r, codes[i], weight, K)
        step = eta * (1.0 + (seen + first) / pace) ** -decay
        keep = max(1.0 - step * shrink, 0.0)
        if shrink > 0.0:
            for j in range(d):
                for c in range(K):
                    B[j, c] *= keep
        for k in range(size):
            i = order[first + k]
            r = residual[k]
            for j in range(d):
                x = float(X[i, j]) * (step / size)
                for c in range(K):
                    B[j, c] -= x * r[c]
            if not fixed:
                for c in range(K):
                    B[d, c] -= step / size * r[c]
    return loss, mass


@exact
def stochastic_sparse(
    data, indices, indptr, codes, weights, order, batch, eta, decay, pace, seen, shrink, B, fixed
):
    """Do the same as `stochastic_dense` for CSR rows.

    B is stored as scale · V, so that one multiplication shrinks the whole table.
    """
    d, K = B.shape[0] - 1, B.shape[1]
    weighted = weights.size > 0
    residual = np.empty((batch, K))
    loss, mass, scale = 0.0, 0.0, 1.0
    for first in range(0, order.size, batch):
        size = min(batch, order.size - first)
        for k in range(size):
            i = order[first + k]
            r = residual[k]
            r[:] = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                x, j = float(data[at]), indices[at]
                for c in range(K):
                    r[c] += x * B[j, c]
            for c in range(K):
                r[c] = scale * r[c] + B[d, c]
            weight = weights[i] if weighted else 1.0
            mass += weight
            loss += _residual(r, codes[i], weight, K)
        step = eta * (1.0 + (seen + first) / pace) ** -decay
        scale *= max(1.0 - step * shrink, 0.0)
        if scale < 1e-9:  # the scale is too small to divide by, so it is applied to the table
            for j in range(d):
                for c in range(K):
                    B[j, c] *= scale
            scale = 1.0
        for k in range(size):
            i = order[first + k]
            r = residual[k]
            for at in range(indptr[i], indptr[i + 1]):
                x, j = float(data[at]) * (step / size / scale), indices[at]
                for c in range(K):
                    B[j, c] -= x * r[c]
            if not fixed:
                for c in range(K):
                    B[d, c] -= step / size * r[c]
    for j in range(d):
        for c in range(K):
            B[j, c] *= scale
    return loss, mass
