"""Rows with holes under a Gaussian: the exact marginal of what each of them shows.

With R the correlations, Q = R⁻¹, z in deviations, o the columns a row shows and m those it misses:

    min over z_m of zᵀQz = z_oᵀ R_oo⁻¹ z_o   at z_m = −Q_mm⁻¹ Q_mo z_o,   |R_oo| = |R| |Q_mm|

so a few holes cost the factor of a small matrix. Where more is missing than shown that of R_oo is
smaller; it is taken, too, where a missing column is nearly a combination of the others: there Q
has lost the digits that R_oo keeps. Rows come sorted by pattern, so each is factored once a call.
Reference: Horn & Johnson (2013), Matrix Analysis (minors of the inverse).
"""

import math

import numpy as np

from verosim.kernels._compile import exact, loose
from verosim.kernels.constants import LOG_2PI


@loose
def _dot(a, b, n):
    total = 0.0
    for j in range(n):
        total += a[j] * b[j]
    return total


@exact
def _factor(A, at, m, L):
    """L Lᵀ = A over the first m columns of `at`; the logarithm of its determinant."""
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
    for i in range(m):
        v[i] = (v[i] - _dot(L[i], v, i)) / L[i, i]


@exact
def _solve(L, v, m):
    _solve_lower(L, v, m)
    for i in range(m - 1, -1, -1):
        v[i] /= L[i, i]
        for j in range(i):
            v[j] -= L[i, j] * v[i]


@exact
def _split(x, used, Q, steep, shown, hidden):
    """List the columns a row shows and those it misses: how many, and whether to factor R_oo.

    Missing cells of columns left out come last, after the m that count.
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
    """To the letter: free to reorder, (x − p) − o would become x − (p + o)."""
    for j in range(x.size):
        z[j] = ((x[j] - pivot[j]) - offset[j]) * scale[j]


@exact
def fill_holes(X, order, new, pivot, offset, unit, used, R, Q, log_R, steep, Z, rest, level):
    """The distance of row order[i] under one class is Z_iᵀ Q Z_i + rest_i.

    Z (n, d) has the holes filled where zᵀQz is least; it is zero, and `rest` (n,) is everything,
    where R_oo is factored. level (n,) = |o| log 2π + log|Σ_oo|. log_R is log|R|, and columns
    whose diagonal of Q is above `steep` are never filled. new (n,) marks where patterns begin.
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
            z *= 0.0  # what is infinite stays no number, to be named
        else:
            for j in range(m):
                v[j] = _dot(Q[hidden[j]], z, d)
            _solve(L, v, m)
            for j in range(m):
                z[hidden[j]] = -v[j]


@exact
def score_shown(X, order, new, pivot, centre, unit, used, R, Q, shift, coef, steep, out):
    """out[order[i]] (C,) = w_k·(z_o − ½ s_ko): classes of one covariance by what a row shows.

    shift (C, d) are the means s_k about pivot + centre, coef their Q s_k, all in deviations, and
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
