"""Rows against a vector of weights, one row at a time, dense and CSR: products, sums and norms.

    wᵀ(x − c),   w ← w + step (x − c),   ‖x − c‖²

The centre c is for dense rows. Where it may be empty it is zero then, and costs nothing.
"""

import numpy as np

from verosim.kernels._compile import exact, loose


@loose
def dense_dot(x, w):
    total = 0.0
    for j in range(x.size):
        total += x[j] * w[j]
    return total


@loose
def centred_dot(x, centre, w):
    """wᵀ(x − centre)."""
    total = 0.0
    for j in range(x.size):
        total += (x[j] - centre[j]) * w[j]
    return total


@exact
def dense_add(x, step, w):
    for j in range(x.size):
        w[j] += step * x[j]


@exact
def centred_add(x, centre, step, w):
    for j in range(x.size):
        w[j] += step * (x[j] - centre[j])


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


@loose
def centred_square(x, centre):
    """‖x − centre‖²."""
    total = 0.0
    for j in range(x.size):
        total += (x[j] - centre[j]) * (x[j] - centre[j])
    return total


@exact
def row_norms(X, centre, bias, out):
    """out (n,) = ‖x − centre‖² + bias²; of x itself if the centre is empty."""
    if centre.size == 0:  # asked once, so that the loops stay simple
        for i in range(X.shape[0]):
            out[i] = bias * bias + dense_dot(X[i], X[i])
    else:
        for i in range(X.shape[0]):
            out[i] = bias * bias + centred_square(X[i], centre)


@exact
def row_norms_sparse(data, indptr, bias, out):
    for i in range(indptr.size - 1):
        total = bias * bias
        for t in range(indptr[i], indptr[i + 1]):
            total += float(data[t]) * float(data[t])
        out[i] = total


@exact
def row_products(X, centre, w, shift, out):
    """out (n,) = (X − centre) w + shift; X w + shift if the centre is empty."""
    if centre.size == 0:
        for i in range(X.shape[0]):
            out[i] = dense_dot(X[i], w) + shift
    else:
        for i in range(X.shape[0]):
            out[i] = centred_dot(X[i], centre, w) + shift


@exact
def row_products_sparse(data, indices, indptr, w, shift, out):
    for i in range(indptr.size - 1):
        out[i] = sparse_dot(data, indices, indptr[i], indptr[i + 1], w) + shift


@exact
def add_rows_sparse(data, indices, indptr, weights, out):
    """out += Σ weights x, of CSR rows; those of weight zero are not touched."""
    for i in range(indptr.size - 1):
        if weights[i] != 0.0:
            sparse_add(data, indices, indptr[i], indptr[i + 1], weights[i], out)
