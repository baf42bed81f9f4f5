"""One pass over the rows for logistic regression: loss and gradient while a row is in the cache.

Dense rows are read relative to a pivot, z = x − pivot, so that columns far from zero keep their
digits. The weights for dense rows are (K, d), one table row per class. The weights for sparse rows
are (d + 1, width): one table row per column, padded to whole cache lines, with the intercepts in
the last row.
"""

import math

import numpy as np

from verosim.kernels._compile import exact, loose
from verosim.kernels.exponentials import exponentials

BLOCK = 32  # rows handled together, a multiple of eight: they fit in the first-level cache
SERIES_BELOW = 1e-4  # below this value the series of log(1 + e) has full precision


@loose
def _scores(X, first, size, pivot, W, b, Z, S):
    """Z (BLOCK, d) = x − pivot for `size` rows from `first` on, and S (K, BLOCK) = their scores."""
    d = Z.shape[1]
    for r in range(size):
        for j in range(d):
            Z[r, j] = X[first + r, j] - pivot[j]
    for c in range(b.size):
        for r in range(size):
            total = 0.0
            for j in range(d):
                total += Z[r, j] * W[c, j]
            S[c, r] = total + b[c]


@loose
def _add_rows(Z, R, size, gradient):
    """gradient (K, d + 1) += R (K, BLOCK) · (Z, 1), over the first `size` rows of Z."""
    d = Z.shape[1]
    for c in range(R.shape[0]):
        whole = size - size % 4
        for r in range(0, whole, 4):  # four rows for each pass over the gradient
            r0, r1, r2, r3 = R[c, r], R[c, r + 1], R[c, r + 2], R[c, r + 3]
            for j in range(d):
                gradient[c, j] += (
                    r0 * Z[r, j] + r1 * Z[r + 1, j] + r2 * Z[r + 2, j] + r3 * Z[r + 3, j]
                )
        for r in range(whole, size):
            for j in range(d):
                gradient[c, j] += R[c, r] * Z[r, j]
        total = 0.0
        for r in range(size):
            total += R[c, r]
        gradient[c, d] += total


@exact
def logistic_pass(X, pivot, codes, weights, W, b, gradient, curvature):
    """Two classes: returns Σ w log(1 + exp(−t s)), with s = (x − pivot)·w + b and t = ±1.

    W is (1, d). The gradient is added to gradient (1, d + 1). If curvature (n,) is not empty, it
    receives w σ(1 − σ).
    """
    n, d = X.shape
    weighted = weights.size > 0
    curved = curvature.size > 0
    Z, S = np.zeros((BLOCK, d)), np.zeros((1, BLOCK))
    e = np.zeros(BLOCK)
    loss = 0.0
    for first in range(0, n, BLOCK):
        size = min(BLOCK, n - first)
        _scores(X, first, size, pivot, W, b, Z, S)
        for r in range(size):
            e[r] = -abs(S[0, r])
        exponentials(e, BLOCK)
        product = 1.0  # the product of all 1 + e: one logarithm per block is enough
        for r in range(size):
            weight = weights[first + r] if weighted else 1.0
            t = 1.0 if codes[first + r] == 1 else -1.0
            wrong = -t * S[0, r]
            share = 1.0 / (1.0 + e[r])
            miss = share if wrong > 0.0 else e[r] * share  # σ(−ts)
            if wrong > 0.0:
                loss += weight * wrong
            if weighted:
                loss += weight * math.log1p(e[r])
            elif e[r] < SERIES_BELOW:
                loss += e[r] * (1.0 - e[r] * (0.5 - e[r] / 3.0))
            else:
                product *= 1.0 + e[r]
            if curved:
                curvature[first + r] = weight * e[r] * share * share
            S[0, r] = -t * weight * miss
        loss += math.log(product)
        _add_rows(Z, S, size, gradient)
    return loss


@exact
def softmax_pass(X, pivot, codes, weights, W, b, gradient, shares):
    """Several classes: returns Σ w (log Σ exp s − s_y).

    The gradient is added to gradient (K, d + 1). If shares (n, K) is not empty, it receives the
    posteriors.
    """
    n, d = X.shape
    K = b.size
    weighted = weights.size > 0
    kept = shares.shape[0] > 0
    Z, S = np.zeros((BLOCK, d)), np.zeros((K, BLOCK))
    E = np.zeros((K, BLOCK))
    top, total = np.empty(BLOCK), np.empty(BLOCK)
    loss = 0.0
    for first in range(0, n, BLOCK):
        size = min(BLOCK, n - first)
        _scores(X, first, size, pivot, W, b, Z, S)
        top[:] = S[0]
        for c in range(1, K):
            for r in range(BLOCK):
                top[r] = max(top[r], S[c, r])
        for r in range(size):
            weight = weights[first + r] if weighted else 1.0
            loss += weight * (top[r] - S[codes[first + r], r])
        for c in range(K):
            for r in range(BLOCK):
                E[c, r] = S[c, r] - top[r]
        exponentials(E.reshape(-1), K * BLOCK)
        total[:] = 0.0
        for c in range(K):
            for r in range(BLOCK):
                total[r] += E[c, r]
        for r in range(size):
            weight = weights[first + r] if weighted else 1.0
            loss += weight * math.log(total[r])
            total[r] = 1.0 / total[r]
        for c in range(K):
            for r in range(BLOCK):
                E[c, r] *= total[r]
        if kept:
            for r in range(size):
                for c in range(K):
                    shares[first + r, c] = E[c, r]
        for r in range(size):
            E[codes[first + r], r] -= 1.0
        if weighted:
            for c in range(K):
                for r in range(size):
                    E[c, r] *= weights[first + r]
        _add_rows(Z, E, size, gradient)
    return loss


@exact
def shares_of(p, y):
    """Turn scores p (K,) into posteriors, in place; returns s_max − s_y and a sum r.

    r = Σ exp(s − s_max) without the largest term. log1p(r) is accurate even if one posterior is
    almost 1.
    """
    top, at = p[0], 0
    for c in range(1, p.size):
        if p[c] > top:
            top, at = p[c], c
    piece = top - p[y]
    rest = 0.0
    for c in range(p.size):
        p[c] = math.exp(p[c] - top)
        if c != at:
            rest += p[c]
    scale = 1.0 / (1.0 + rest)
    for c in range(p.size):
        p[c] *= scale
    return piece, rest


@exact
def curve_rows(X, pivot, root, out):
    """out (n, d + 1) = root · (x − pivot, 1)."""
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            out[i, j] = root[i] * (X[i, j] - pivot[j])
        out[i, d] = root[i]


@exact
def curve_classes(Z, curvature, out):
    """out (n, m·d) = m copies of the rows of Z (n, d), copy c multiplied by curvature[:, c]."""
    n, d = Z.shape
    for i in range(n):
        for c in range(curvature.shape[1]):
            a = curvature[i, c]
            for j in range(d):
                out[i, c * d + j] = a * Z[i, j]


@exact
def logistic_pass_sparse(data, indices, indptr, codes, weights, w, b, gradient):
    """Do the same as `logistic_pass` for CSR rows; gradient is (d + 1,), intercept last."""
    d = w.size
    weighted = weights.size > 0
    loss = 0.0
    for i in range(indptr.size - 1):
        s = b
        for at in range(indptr[i], indptr[i + 1]):
            s += data[at] * w[indices[at]]
        t = 1.0 if codes[i] == 1 else -1.0
        e = math.exp(-abs(s))
        wrong = -t * s
        r = weights[i] if weighted else 1.0
        loss += r * (max(wrong, 0.0) + math.log1p(e))
        r *= -t * ((1.0 if wrong > 0.0 else e) / (1.0 + e))
        gradient[d] += r
        for at in range(indptr[i], indptr[i + 1]):
            gradient[indices[at]] += r * data[at]
    return loss


@exact
def softmax_pass_sparse(data, indices, indptr, codes, weights, B, K, gradient):
    """Do the same as `softmax_pass` for CSR rows; B and gradient are (d + 1, width), width ≥ K."""
    width = B.shape[1]
    last = B.shape[0] - 1
    weighted = weights.size > 0
    s = np.empty(width)
    loss = 0.0
    for i in range(indptr.size - 1):
        for c in range(width):
            s[c] = B[last, c]
        for at in range(indptr[i], indptr[i + 1]):
            x, j = float(data[at]), np.uint64(indices[at])
            for c in range(width):
                s[c] += x * B[j, c]
        y = codes[i]
        piece, rest = shares_of(s[:K], y)
        weight = weights[i] if weighted else 1.0
        loss += weight * (piece + math.log1p(rest))
        s[y] -= 1.0
        for c in range(width):
            s[c] = weight * s[c] if c < K else 0.0
            gradient[last, c] += s[c]
        for at in range(indptr[i], indptr[i + 1]):
            x, j = float(data[at]), np.uint64(indices[at])
            for c in range(width):
                gradient[j, c] += x * s[c]
    return loss
