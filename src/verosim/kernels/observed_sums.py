"""The E step of EM over missing cells: expected sums of complete rows, cohort by cohort.

A cohort has the rows of one class with values in columns o and missing cells in columns m:

    E[z_m] = B z_o,   E[z_m z_mᵀ] = B z_o z_oᵀ Bᵀ + V,   B = Σ_mo Σ_oo⁻¹,   V = Σ_mm − B Σ_om

There are two ways to B and V. If Σ is well conditioned, both come from the precision P = Σ⁻¹ of the
class, and each cohort needs only the factor of the small matrix P_mm:

    V = P_mm⁻¹,   B = −V P_mo,   |Σ_oo| = |Σ| |P_mm|

If a column is nearly a combination of others, P has lost digits. Then Σ is factored for each
cohort with the columns o first, which loses none, and V is never negative:

    Σ = L Lᵀ,   B = L_mo L_oo⁻¹,   V = L_mm L_mmᵀ

Reference: Little & Rubin (2002), Statistical Analysis with Missing Data, §11.2.
"""

import math

import numpy as np

from verosim.kernels._compile import exact, loose
from verosim.kernels.small_matrices import (
    dot_first,
    factor_part,
    solve_lower,
    solve_upper,
)

# Variance / conditional variance of a column above which the precision has lost digits.
STEEP_COLUMN = 1e4


@loose
def _add_scaled(target, row, factor, n):
    """target += factor · row, for the first n entries."""
    for j in range(n):
        target[j] += factor * row[j]


@exact
def _invert(L, d, P):
    """The first d rows and columns of P become (L Lᵀ)⁻¹, for a lower triangle L."""
    for i in range(d):
        for j in range(d):
            P[i, j] = 0.0
    for i in range(d):  # row i of L⁻¹, from the rows before it
        for k in range(i):
            _add_scaled(P[i], P[k], -L[i, k], k + 1)
        for j in range(i):
            P[i, j] /= L[i, i]
        P[i, i] = 1.0 / L[i, i]
    for i in range(d):  # L⁻ᵀL⁻¹: row i needs only the rows from i on
        head = P[i, i]
        for j in range(i + 1):
            P[i, j] *= head
        for k in range(i + 1, d):
            _add_scaled(P[i], P[k], P[k, i], i + 1)
        for j in range(i):
            P[j, i] = P[i, j]


@exact
def expect_observed(rows, mu, sigma, first, second, score):
    """The expected Σw z (C, d) and Σw z zᵀ (C, d, d), z = x − mu, and the log-likelihoods (C,).

    `rows` are the sums of the cohorts, mu (C, d) the means, and sigma (C or 1, d, d) the
    covariances. Returns False if a covariance is not positive definite.
    """
    C, d = mu.shape
    K = len(sigma)
    everything = np.arange(d)
    L, P = np.empty((d, d)), np.empty((d, d))
    Y, v = np.empty((d, d)), np.empty(d)
    B, BS, V = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    z, at_shown = np.empty(d), np.empty(d)
    outer = np.empty((d, d))
    log_det, steep, ready = 0.0, False, False
    for c in range(C):
        first[c] = 0.0
        second[c] = 0.0
        score[c] = 0.0
        if rows.class_weight[c] <= 0:
            continue
        S = sigma[c if K > 1 else 0]
        if K > 1 or not ready:
            ready = True
            log_det = factor_part(S, everything, d, L)
            if not math.isfinite(log_det):
                return False
            _invert(L, d, P)
            steep = False
            for j in range(d):
                steep |= not P[j, j] * S[j, j] <= STEEP_COLUMN
        total = rows.log_volume[c]
        if not steep:
            total += rows.class_weight[c] * log_det
        outer[:] = rows.within[c]
        for i in range(rows.first_of[c], rows.first_of[c + 1]):
            order, o, W = rows.order[i], rows.n_shown[i], rows.weight[i]
            m = d - o
            hidden = order[o:]
            if steep:
                whole = factor_part(S, order, d, L)
                if not math.isfinite(whole):
                    return False
                for j in range(o):
                    total += 2 * W * math.log(L[j, j])
            elif m > 0:
                volume = factor_part(P, hidden, m, L)
                if not math.isfinite(volume):
                    return False
                total += W * volume
            # B (m, o) and V (m, m)
            if steep:
                for j in range(m):
                    row = B[j]
                    for t in range(o):
                        row[t] = L[o + j, t]
                    solve_upper(L, row, o)
                    for k in range(j + 1):
                        V[j, k] = dot_first(L[o + j, o:], L[o + k, o:], k + 1)
                        V[k, j] = V[j, k]
            else:
                _invert(L, m, V)
                for j in range(m):
                    row = B[j]
                    for t in range(o):
                        row[t] = 0.0
                    for k in range(m):
                        across, factor = P[hidden[k]], -V[j, k]
                        for t in range(o):
                            row[t] += factor * across[order[t]]
            # the mean row, with its missing cells filled in
            for t in range(o):
                at_shown[t] = rows.mean[i, order[t]] - mu[c, order[t]]
                z[order[t]] = at_shown[t]
            for j in range(m):
                z[hidden[j]] = dot_first(B[j], at_shown, o)
            for j in range(d):
                first[c, j] += W * z[j]
                _add_scaled(outer[j], z, W * z[j], d)
            if steep:
                solve_lower(L, at_shown, o)
                total += W * dot_first(at_shown, at_shown, o)
            for j in range(m):
                for k in range(m):
                    second[c, hidden[j], hidden[k]] += W * V[j, k]
            if rows.is_point[i]:  # all its rows are equal, so the scatter is zero
                continue
            M = rows.scatter[i]
            for j in range(m):
                for t in range(o):
                    v[t] = 0.0
                for s in range(o):
                    across = M[order[s]]
                    for t in range(o):
                        v[t] += B[j, s] * across[order[t]]
                for t in range(o):
                    BS[j, t] = v[t]
                    second[c, hidden[j], order[t]] += v[t]
                    second[c, order[t], hidden[j]] += v[t]
                    if not steep:
                        total += P[hidden[j], order[t]] * v[t]
            for j in range(m):
                for k in range(m):
                    second[c, hidden[j], hidden[k]] += dot_first(BS[j], B[k], o)
            if steep:  # tr L⁻¹ M L⁻ᵀ
                for t in range(o):
                    row = Y[t]
                    for s in range(o):
                        row[s] = M[order[t], order[s]]
                    solve_lower(L, row, o)  # row t of M L⁻ᵀ
                for t in range(o):
                    for s in range(o):
                        v[s] = Y[s, t]
                    solve_lower(L, v, t + 1)
                    total += v[t]
        for j in range(d):
            if not steep:
                # The filled cells minimise zᵀPz, and the minimum is z_oᵀ Σ_oo⁻¹ z_o.
                total += dot_first(P[j], outer[j], d)
            _add_scaled(second[c, j], outer[j], 1.0, d)
        score[c] = -0.5 * total
    return True
