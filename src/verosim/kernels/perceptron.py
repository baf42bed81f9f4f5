"""One epoch of the perceptron: a row on the wrong side, or on the boundary, changes the weights.

    t θᵀφ ≤ 0:  θ ← θ + η s t φ,   several classes:  θ_y ← θ_y + η s φ,  θ_ŷ ← θ_ŷ − η s φ

ŷ is the best of the other classes. A row is a mistake if θ_ŷᵀφ ≥ θ_yᵀφ. s is the weight of the row.
In addition to θ, the sum Σ c Δ is kept, where c is the number of rows seen before the update Δ. The
mean of all θ is then θ − Σ c Δ / seen.
Reference: Rosenblatt (1958), The perceptron; Freund & Schapire (1999), Large margin classification
using the perceptron algorithm (the mean).
"""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.rows import dense_add, dense_dot, row_add, row_dot


@exact
def perceptron_epoch(values, indices, indptr, signs, weights, order, eta, bias, theta, late, seen):
    """Two classes: returns the number of mistakes and −Σ s t θᵀφ over them, each before its update.

    theta (d + 1,) is changed in place, and so is late = Σ c Δ (d + 1,), unless it is empty. bias is
    1, or 0 for a model without intercept. Rows are given as in `kernels/rows.py`.
    """
    d = theta.size - 1
    body = theta[:d]
    mistakes, criterion = 0, 0.0
    for k in range(order.size):
        i = order[k]
        y = signs[i] * (row_dot(values, indices, indptr, i, body) + theta[d])
        if y > 0.0:
            continue
        s = weights[i] if weights.size else 1.0
        mistakes += 1
        criterion -= s * y
        step = eta * s * signs[i]
        row_add(values, indices, indptr, i, step, body)
        theta[d] += step * bias
        if late.size:
            step *= seen + k
            row_add(values, indices, indptr, i, step, late[:d])
            late[d] += step * bias
    return mistakes, criterion


@exact
def _best_other(scores, own, C):
    """The class with the highest score except the row's own; the first one if there are ties."""
    best = -1
    for c in range(C):
        if c != own and (best < 0 or scores[c] > scores[best]):
            best = c
    return best


@exact
def perceptron_classes_epoch(X, codes, weights, order, eta, bias, theta, late, seen):
    """Several classes: returns the number of mistakes and Σ s (θ_ŷ − θ_y)ᵀφ over them.

    theta (C, d + 1) is changed in place, and so is late = Σ c Δ (C, d + 1), unless it is (0, 0).
    """
    C, d = theta.shape[0], X.shape[1]
    scores = np.empty(C)
    mistakes, criterion = 0, 0.0
    for k in range(order.size):
        i = order[k]
        for c in range(C):
            scores[c] = dense_dot(X[i], theta[c, :d]) + theta[c, d]
        own = codes[i]
        other = _best_other(scores, own, C)
        if scores[own] > scores[other]:
            continue
        s = weights[i] if weights.size else 1.0
        mistakes += 1
        criterion += s * (scores[other] - scores[own])
        step = eta * s
        dense_add(X[i], step, theta[own, :d])
        dense_add(X[i], -step, theta[other, :d])
        theta[own, d] += step * bias
        theta[other, d] -= step * bias
        if late.size:
            step *= seen + k
            dense_add(X[i], step, late[own, :d])
            dense_add(X[i], -step, late[other, :d])
            late[own, d] += step * bias
            late[other, d] -= step * bias
    return mistakes, criterion


@exact
def perceptron_classes_epoch_sparse(
    data, indices, indptr, codes, weights, order, eta, bias, C, theta, late, seen
):
    """Do the same as `perceptron_classes_epoch` for CSR rows.

    theta is (d + 1, ⌈C/8⌉·8), so that one stored cell updates the scores of all classes at once.
    """
    d, width = theta.shape[0] - 1, theta.shape[1]
    scores = np.empty(width)
    mistakes, criterion = 0, 0.0
    for k in range(order.size):
        i = order[k]
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        for c in range(width):
            scores[c] = theta[d, c]
        for t in range(first, last):
            x, j = float(data[t]), np.uint64(indices[t])
            for c in range(width):
                scores[c] += x * theta[j, c]
        own = codes[i]
        other = _best_other(scores, own, C)
        if scores[own] > scores[other]:
            continue
        s = weights[i] if weights.size else 1.0
        mistakes += 1
        criterion += s * (scores[other] - scores[own])
        step = eta * s
        for t in range(first, last):
            j = np.uint64(indices[t])
            theta[j, own] += step * data[t]
            theta[j, other] -= step * data[t]
        theta[d, own] += step * bias
        theta[d, other] -= step * bias
        if late.size:
            step *= seen + k
            for t in range(first, last):
                j = np.uint64(indices[t])
                late[j, own] += step * data[t]
                late[j, other] -= step * data[t]
            late[d, own] += step * bias
            late[d, other] -= step * bias
    return mistakes, criterion
