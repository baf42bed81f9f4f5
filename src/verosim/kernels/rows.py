"""Products, sums and norms of single rows with a vector of weights, for dense and CSR rows.

    wᵀ(x − c),   w ← w + step (x − c),   ‖x − c‖²

Rows are given as (values, indices, indptr) for CSR rows, or as (X, None, None) for dense rows.
Numba compiles a separate loop for each form, without the branches of the other form. The centre c
is only for dense rows. It can be None: then it is zero, and no time is spent on it.
"""

import numpy as np

from verosim.kernels._compile import exact, loose


@loose
def dense_dot(x, w):
    """wᵀx."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * w[j]
    return total


@loose
def centred_dot(x, centre, w):
    """wᵀ(x − centre), or wᵀx if centre is None."""
    if centre is None:
        return dense_dot(x, w)
    total = 0.0
    for j in range(x.size):
        total += (x[j] - centre[j]) * w[j]
    return total


@exact
def dense_add(x, step, w):
    """w += step x."""
    for j in range(x.size):
        w[j] += step * x[j]


@exact
def centred_add(x, centre, step, w):
    """w += step (x − centre), or step x if centre is None."""
    if centre is None:
        dense_add(x, step, w)
    else:
        for j in range(x.size):
            w[j] += step * (x[j] - centre[j])


@loose
def sparse_dot(data, indices, start, stop, w):
    """wᵀx for the stored cells start … stop − 1."""
    total = 0.0
    for t in range(np.uint64(start), np.uint64(stop)):
        total += data[t] * w[np.uint64(indices[t])]
    return total


@exact
def sparse_add(data, indices, start, stop, step, w):
    """w += step x for the stored cells start … stop − 1."""
    for t in range(np.uint64(start), np.uint64(stop)):
        w[np.uint64(indices[t])] += step * data[t]


@loose
def centred_square(x, centre):
    """‖x − centre‖², or ‖x‖² if centre is None."""
    if centre is None:
        return dense_dot(x, x)
    total = 0.0
    for j in range(x.size):
        total += (x[j] - centre[j]) * (x[j] - centre[j])
    return total


@exact
def row_dot(values, indices, indptr, i, w):
    """wᵀx for row i."""
    if values.ndim == 2:
        return dense_dot(values[i], w)
    return sparse_dot(values, indices, indptr[i], indptr[i + 1], w)


@exact
def row_add(values, indices, indptr, i, step, w):
    """w += step x for row i."""
    if values.ndim == 2:
        dense_add(values[i], step, w)
    else:
        sparse_add(values, indices, indptr[i], indptr[i + 1], step, w)


@exact
def centred_row_dot(values, indices, indptr, centre, i, w):
    """wᵀ(x − centre) for row i."""
    if values.ndim == 2:
        return centred_dot(values[i], centre, w)
    return row_dot(values, indices, indptr, i, w)


@exact
def row_norms(values, indices, indptr, centre, bias, out):
    """out (n,) = ‖x − centre‖² + bias²."""
    for i in range(out.size):
        if values.ndim == 2:
            out[i] = bias * bias + centred_square(values[i], centre)
        else:
            total = bias * bias
            for t in range(indptr[i], indptr[i + 1]):
                total += float(values[t]) * float(values[t])
            out[i] = total


@exact
def row_products(values, indices, indptr, centre, w, shift, out):
    """out (n,) = (X − centre) w + shift."""
    for i in range(out.size):
        out[i] = centred_row_dot(values, indices, indptr, centre, i, w) + shift


@exact
def add_rows_sparse(data, indices, indptr, weights, out):
    """out += Σ weights x over CSR rows; rows with weight zero are skipped."""
    for i in range(indptr.size - 1):
        if weights[i] != 0.0:
            sparse_add(data, indices, indptr[i], indptr[i + 1], weights[i], out)
