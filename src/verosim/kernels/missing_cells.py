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

from verosim.kernels._compile import exact
from verosim.kernels.constants import LOG_2PI
from verosim.kernels.small_matrices import dot_first, factor_part, solve_factored, solve_lower


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
            volume = factor_part(R, shown, o, L) if direct else log_R + factor_part(Q, hidden, m, L)
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
            solve_lower(L, v, o)
            rest[i] = dot_first(v, v, o)
            z *= 0.0  # an infinite cell becomes NaN, so that the caller can report it
        else:
            for j in range(m):
                v[j] = dot_first(Q[hidden[j]], z, d)
            solve_factored(L, v, m)
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
                factor_part(R, shown, o, L)
            else:
                factor_part(Q, hidden, m, L)
            for k in range(C):
                w = W[k]
                if direct:
                    w[:] = 0.0
                    for j in range(o):
                        v[j] = shift[k, shown[j]]
                    solve_factored(L, v, o)
                    for j in range(o):
                        w[shown[j]] = v[j]
                else:
                    w[:] = coef[k]
                    for j in range(m):
                        v[j] = w[hidden[j]]
                    solve_factored(L, v, m)
                    for j in range(m):
                        row = Q[hidden[j]]
                        for t in range(d):
                            w[t] -= row[t] * v[j]
                    for j in range(m):
                        w[hidden[j]] = 0.0
                bias[k] = -0.5 * dot_first(w, shift[k], d)
        _centre(x, pivot, centre, scale, z)
        for j in range(blank):
            z[hidden[j]] = 0.0
        for k in range(C):
            out[order[i], k] = dot_first(W[k], z, d) + bias[k]
