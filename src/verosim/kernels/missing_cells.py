"""Rows with missing cells under a Gaussian: the exact marginal density of the observed cells.

R is the correlation matrix and Q = R⁻¹. z is a row in standard deviations, o are its observed
columns and m its missing columns:

    min over z_m of zᵀQz = z_oᵀ R_oo⁻¹ z_o   at z_m = −Q_mm⁻¹ Q_mo z_o,   |R_oo| = |R| |Q_mm|

A row with few missing cells therefore needs only the Cholesky factor of the small matrix Q_mm.
R_oo is factored instead in two cases. If more columns are missing than observed, R_oo is smaller.
If a missing column is nearly a linear combination of the others, Q has lost digits that R_oo still
has. The rows are sorted by pattern of missing cells, so each pattern is factored once per call.
Reference: Horn & Johnson (2013), Matrix Analysis (minors of the inverse).
"""

import math

import numpy as np

from verosim.kernels._compile import exact, loose
from verosim.kernels.constants import LOG_2PI


@loose
def _dot(a, b, n):
    """The dot product of the first n entries of a and b."""
    total = 0.0
    for j in range(n):
        total += a[j] * b[j]
    return total


@exact
def _factor(A, at, m, L):
    """Factor L Lᵀ = A, restricted to the first m columns in `at`; return the log determinant."""
    log_det = 0.0
    for i in range(m):
        for j in range(i):
            L[i, j] = (A[at[i], at[j]] - _dot(L[i], L[j], j)) / L[j, j]
        square = A[at[i], at[i]] - _dot(L[i], L[i], i)
        L[i, i] = math.sqrt(square)
        log_det += math.log(square)
    return log_det


@exact
def _solve_lower(L, v, m):
    """Solve L x = v for the first m entries; x replaces v."""
    for i in range(m):
        v[i] = (v[i] - _dot(L[i], v, i)) / L[i, i]


@exact
def _solve(L, v, m):
    """Solve L Lᵀ x = v for the first m entries; x replaces v."""
    _solve_lower(L, v, m)
    for i in range(m - 1, -1, -1):
        v[i] /= L[i, i]
        for j in range(i):
            v[j] -= L[i, j] * v[i]


@exact
def _split(x, used, Q, steep, shown, hidden):
    """List the observed columns of a row in `shown` and its missing columns in `hidden`.

    Returns the number of observed columns o, the number of missing columns m, the length of
    `hidden`, and whether R_oo must be factored. Missing cells in unused columns come after the
    first m entries of `hidden`.
    """
    o = m = 0
    direct = False
    for j in range(x.size):
        if used[j] and math.isnan(x[j]):
            hidden[m] = j
            m += 1
            direct |= Q[j, j] > steep
        elif used[j]:
            shown[o] = j
            o += 1
    blank = m
    for j in range(x.size):
        if not used[j] and math.isnan(x[j]):
            hidden[blank] = j
            blank += 1
    return o, m, blank, direct or m > o


@exact
def _centre(x, pivot, offset, scale, z):
    """z = ((x − pivot) − offset) · scale, computed exactly as written.

    If the terms were reordered, (x − p) − o would become x − (p + o) and lose digits.
    """
    for j in range(x.size):
        z[j] = ((x[j] - pivot[j]) - offset[j]) * scale[j]


@exact
def fill_missing_cells(
    X, order, new, pivot, offset, unit, used, R, Q, log_R, steep, Z, rest, level
):
    """The squared distance of row order[i] under one class is Z_iᵀ Q Z_i + rest_i.

    In Z (n, d) the missing cells are filled with the values that minimise zᵀQz. If R_oo is
    factored, Z_i is zero and `rest` (n,) is the whole distance.
    level (n,) = |o| log 2π + log|Σ_oo|. log_R is log|R|. A column with a diagonal entry of Q above
    `steep` is never filled. new (n,) marks the rows where a new pattern of missing cells begins.
    """
    d = unit.size
    shown, hidden = np.empty(d, dtype=np.intp), np.empty(d, dtype=np.intp)
    L, v, scale = np.empty((d, d)), np.empty(d), used / unit
    log_cell = LOG_2PI + 2 * np.log(unit)
    o, m, blank, direct, volume = 0, 0, 0, False, 0.0
    for i in range(order.size):
        x, z = X[order[i]], Z[i]
        if new[i]:
            o, m, blank, direct = _split(x, used, Q, steep, shown, hidden)
            volume = _factor(R, shown, o, L) if direct else log_R + _factor(Q, hidden, m, L)
            for j in range(o):
                volume += log_cell[shown[j]]
        level[i] = volume
        rest[i] = 0.0
        _centre(x, pivot, offset, scale, z)
        for j in range(blank):
            z[hidden[j]] = 0.0
        if direct:
            for j in range(o):
                v[j] = z[shown[j]]
            _solve_lower(L, v, o)
            rest[i] = _dot(v, v, o)
            z *= 0.0  # an infinite cell becomes NaN, so that the caller can report it
        else:
            for j in range(m):
                v[j] = _dot(Q[hidden[j]], z, d)
            _solve(L, v, m)
            for j in range(m):
                z[hidden[j]] = -v[j]


@exact
def score_shown(X, order, new, pivot, centre, unit, used, R, Q, shift, coef, steep, out):
    """out[order[i]] (C,) = w_k·(z_o − ½ s_ko): the scores of classes that share one covariance.

    Only the observed cells are used. shift (C, d) are the class means s_k relative to
    pivot + centre, and coef (C, d) are Q s_k, all in standard deviations. The weights are
    w_k = R_oo⁻¹ s_ko = (Q s_k)_o − Q_om Q_mm⁻¹ (Q s_k)_m.
    """
    C, d = shift.shape
    shown, hidden = np.empty(d, dtype=np.intp), np.empty(d, dtype=np.intp)
    L, v, z, scale = np.empty((d, d)), np.empty(d), np.empty(d), used / unit
    W, bias, blank = np.empty((C, d)), np.empty(C), 0
    for i in range(order.size):
        x = X[order[i]]
        if new[i]:
            o, m, blank, direct = _split(x, used, Q, steep, shown, hidden)
            if direct:
                _factor(R, shown, o, L)
            else:
                _factor(Q, hidden, m, L)
            for k in range(C):
                w = W[k]
                if direct:
                    w[:] = 0.0
                    for j in range(o):
                        v[j] = shift[k, shown[j]]
                    _solve(L, v, o)
                    for j in range(o):
                        w[shown[j]] = v[j]
                else:
                    w[:] = coef[k]
                    for j in range(m):
                        v[j] = w[hidden[j]]
                    _solve(L, v, m)
                    for j in range(m):
                        row = Q[hidden[j]]
                        for t in range(d):
                            w[t] -= row[t] * v[j]
                    for j in range(m):
                        w[hidden[j]] = 0.0
                bias[k] = -0.5 * _dot(w, shift[k], d)
        _centre(x, pivot, centre, scale, z)
        for j in range(blank):
            z[hidden[j]] = 0.0
        for k in range(C):
            out[order[i], k] = _dot(W[k], z, d) + bias[k]
