"""EM over missing cells, accelerated: the M step on expected sums, and the iterations.

    M step        Σ_k = ((1 − λ) S_k + λ S) / ((1 − λ) W_k + λ W), then shrinkage and floor
    acceleration  θ = θ₀ + 2a r + a² v,   r = θ₁ − θ₀,   v = θ₂ − 2θ₁ + θ₀,   a = ‖r‖/‖v‖

The M step has the formulas of `densities/full.py`, in units of the standard deviations. Two plain
steps are followed by one extrapolation (SQUAREM).
References: Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM
algorithm; Varadhan & Roland (2008), Simple and globally convergent methods for accelerating the
convergence of any EM algorithm.
"""

import math

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import (
    EM_CONVERGED,
    EM_FAILED,
    EM_LOST_DIGITS,
    EM_SINGULAR,
    EM_UNFINISHED,
    LEDOIT_WOLF,
    NO_SHRINKAGE,
    OAS,
)
from verosim.kernels.observed_sums import expect_observed
from verosim.kernels.small_matrices import is_singular

DOUBLE_EPS = 2.0**-52
# A step shorter than this, in standard deviations, is a rounding error if no shorter step follows
# within PATIENCE_STEPS steps.
SETTLED_STEP = 1e-9
PATIENCE_STEPS = 10
# The rounding error of a log-likelihood, relative to its size. A lower value is not accepted.
LIKELIHOOD_ROUNDING = 1e-12


@exact
def _intensity(S, W, quartic, settings):
    """The shrinkage of a covariance S/W; one factor for all units does not change it."""
    if settings.shrinkage != OAS and settings.shrinkage != LEDOIT_WOLF:
        return settings.intensity
    d = len(S)
    if d <= 1:
        return 0.0
    norm, trace = 0.0, 0.0
    for i in range(d):
        for j in range(d):
            norm += (S[i, j] / W * settings.unit[i] * settings.unit[j]) ** 2
        trace += S[i, i] / W * settings.unit[i] ** 2
    if norm == 0.0:
        return 0.0
    mean = trace / d
    if settings.shrinkage == OAS:
        squares = norm / d**2
        denominator = (W + 1) * (squares - mean**2 / d)
        return 1.0 if denominator <= 0 else min((squares + mean**2) / denominator, 1.0)
    distance = norm - d * mean**2
    spread = min(max((quartic / W - norm) / W, 0.0), distance)
    return 0.0 if spread <= 0 else spread / distance


@exact
def _quartic(S, W, unit):
    """Σw‖z‖⁴ of a Gaussian with the scatter S: (tr² S + 2‖S‖²)/W."""
    norm, trace = 0.0, 0.0
    for i in range(len(S)):
        trace += S[i, i] * unit[i] ** 2
        for j in range(len(S)):
            norm += (S[i, j] * unit[i] * unit[j]) ** 2
    return (trace**2 + 2 * norm) / W


@exact
def _is_singular(A, tolerance, R, L):
    """Whether the covariance A is singular; R and L (d, d) are scratch arrays."""
    d = len(A)
    for i in range(d):
        if not A[i, i] > 0:
            return True
    for i in range(d):
        for j in range(d):
            R[i, j] = A[i, j] / math.sqrt(A[i, i] * A[j, j])
            if not math.isfinite(R[i, j]):
                return True
    return is_singular(R, tolerance, L)


@exact
def _fall_back(A, W, separator, pooled, R, L):
    """Shrink a singular covariance towards the pooled variances; pooled (d,)."""
    d = len(A)
    a = d / (W + d)
    for i in range(d):
        for j in range(d):
            A[i, j] *= 1 - a
        A[i, i] = max(A[i, i] + a * pooled[i], separator[i])
    if _is_singular(A, 64 * d * DOUBLE_EPS, R, L):
        for i in range(d):
            for j in range(d):
                if i != j:
                    A[i, j] = 0.0
            A[i, i] = max(A[i, i], pooled[i])


@exact
def maximise_observed(rows, settings, troubled, mu, first, second, new_mu, new_sigma):
    """The M step: means and covariances from the sums of an E step at mu.

    troubled (C or 1,) marks covariances that are singular for all values of the missing cells.
    Returns False if another covariance is singular.
    """
    C, d = mu.shape
    K = len(new_sigma)
    each, pooled = np.zeros((C, d, d)), np.zeros((d, d))
    pooled_peak, centre, total = np.zeros(d), np.zeros(d), 0.0
    quartics, all_quartics = np.zeros(C), 0.0
    for c in range(C):
        W = rows.class_weight[c]
        new_mu[c] = mu[c]
        if W <= 0:
            continue
        total += W
        for i in range(d):
            shift = first[c, i] / W
            new_mu[c, i] += shift
            for j in range(i + 1):
                central = second[c, i, j] - shift * first[c, j]
                each[c, i, j] = central
                each[c, j, i] = central
            centre[i] += W * (rows.step[c, i] + new_mu[c, i])
            pooled_peak[i] += rows.peak[c, i]
        pooled += each[c]
        if settings.shrinkage == LEDOIT_WOLF:
            quartics[c] = _quartic(each[c], W, settings.unit)
            all_quartics += quartics[c]
    spread = np.zeros(d)  # the total variance of each column
    for i in range(d):
        for c in range(C):
            if rows.class_weight[c] > 0:
                apart = rows.step[c, i] + new_mu[c, i] - centre[i] / total
                spread[i] += rows.class_weight[c] * apart**2
        spread[i] = max(spread[i] + pooled[i, i], DOUBLE_EPS * pooled_peak[i]) / total
    separator, within = settings.separator * spread, np.empty(d)
    for i in range(d):
        noise = DOUBLE_EPS * pooled_peak[i]
        within[i] = pooled[i, i] / total if pooled[i, i] > noise else separator[i]
    R, L, peak = np.empty((d, d)), np.empty((d, d)), np.empty(d)
    known = np.empty(d, dtype=np.bool_)
    for k in range(K):
        own = settings.own
        A = new_sigma[k]
        if K == 1:
            A[:] = pooled
            W, peak[:], quartic = total, pooled_peak, all_quartics
        elif rows.class_weight[k] <= 0:
            for i in range(d):
                for j in range(d):
                    A[i, j] = 1.0 if i == j else 0.0
            continue
        else:
            A[:] = own * each[k] + settings.pooled * pooled
            W = own * rows.class_weight[k] + settings.pooled * total
            peak[:] = own * rows.peak[k] + settings.pooled * pooled_peak
            quartic = own * quartics[k] + settings.pooled * all_quartics
        worst = DOUBLE_EPS
        for i in range(d):
            known[i] = A[i, i] > 16 * DOUBLE_EPS * peak[i]
            worst = max(worst, DOUBLE_EPS * peak[i] / A[i, i] if known[i] else 1.0)
        for i in range(d):
            for j in range(d):
                if not (known[i] and known[j]):
                    A[i, j] = 0.0
        a = 0.0
        if settings.shrinkage != NO_SHRINKAGE:
            a = _intensity(A, W, quartic, settings)
        trace = 0.0
        for i in range(d):
            for j in range(d):
                A[i, j] /= W
            trace += A[i, i] * settings.unit[i] ** 2
        if settings.shrinkage != NO_SHRINKAGE:
            for i in range(d):
                for j in range(d):
                    A[i, j] *= 1 - a
                A[i, i] += a * trace / d / settings.unit[i] ** 2
        if settings.floor > 0:
            for i in range(d):
                A[i, i] = max(A[i, i], settings.floor * spread[i])
        if settings.shrinkage != NO_SHRINKAGE or settings.floor > 0:
            worst = DOUBLE_EPS  # of the errors that are left, relative to the variance now
            for i in range(d):
                if known[i]:
                    worst = max(worst, (1 - a) * DOUBLE_EPS * peak[i] / W / A[i, i])
        if troubled[k]:
            _fall_back(A, W, separator, within, R, L)
        elif _is_singular(A, 48 * d * worst, R, L):
            return False
    return True


@exact
def _distance(mu, sigma, new_mu, new_sigma):
    """The largest change of a mean or covariance, in standard deviations of the new ones."""
    C, d = mu.shape
    K = len(sigma)
    largest = 0.0
    for c in range(C):
        S = new_sigma[c if K > 1 else 0]
        for i in range(d):
            largest = max(largest, abs(new_mu[c, i] - mu[c, i]) / math.sqrt(S[i, i]))
    for k in range(K):
        S = new_sigma[k]
        for i in range(d):
            for j in range(i + 1):
                change = abs(S[i, j] - sigma[k, i, j]) / math.sqrt(S[i, i] * S[j, j])
                largest = max(largest, change)
    return largest


@exact
def _leap(a, b, c, factor, out):
    """out = a + 2·factor·(b − a) + factor²·((c − b) − (b − a)), for arrays of the same size."""
    for i in range(a.size):
        r = b[i] - a[i]
        out[i] = a[i] + 2 * factor * r + factor**2 * ((c[i] - b[i]) - r)


@exact
def _squares(a, b, c):
    """‖r‖² and ‖v‖² of the differences of three arrays."""
    r_r, v_v = 0.0, 0.0
    for i in range(a.size):
        r = b[i] - a[i]
        v = (c[i] - b[i]) - r
        r_r += r**2
        v_v += v**2
    return r_r, v_v


@exact
def climb_observed(rows, settings, troubled, climbs, tolerance, mu, sigma, first, second, history):
    """Iterate EM from (mu, sigma) until it converges; returns the number of iterations and why.

    `history` receives the log-likelihood before each iteration. `climbs` means that the M
    step maximises the likelihood. Then an estimate with a lower likelihood is never accepted: an
    extrapolation is taken back, and if PATIENCE_STEPS plain steps only lower it, which rounding
    errors can do, the best estimate is restored. If the M step does not maximise the likelihood, an
    extrapolation is taken back if the next step is longer.

    At the end `first` and `second` are the sums of the last E step, and mu the means at which it
    was done. Steps shrink by a factor q, so the distance of θ₂ to the limit is
    ‖θ₂ − θ₁‖ q/(1 − q), and EM has converged if it is at most `tolerance`.
    """
    C, d = mu.shape
    score = np.empty(C)
    now_mu, now_sigma = mu.copy(), sigma.copy()
    new_mu, new_sigma = mu.copy(), sigma.copy()
    back_mu, back_sigma = mu.copy(), sigma.copy()  # to continue from if a leap is taken back
    a_mu, a_sigma = mu.copy(), sigma.copy()  # the starts of the last two plain steps
    b_mu, b_sigma = mu.copy(), sigma.copy()
    S1, S2 = np.empty((C, d)), np.empty((C, d, d))
    old = mu.copy(), first.copy(), second.copy()  # the sums before the last accepted ones
    # Whether the current estimate is the M step of the last sums, and theirs is that of `old`.
    plain, followed = False, False
    leapt, steps, a_size, last_size, slowest = False, 0, 0.0, 0.0, 0.0
    least, waited, lost = np.inf, 0, 0
    best, count = -np.inf, 0
    weight = rows.class_weight.sum()
    for _ in range(len(history)):
        fine = expect_observed(rows, now_mu, now_sigma, S1, S2, score)
        total = score.sum()
        if fine and math.isfinite(total):
            fine = maximise_observed(rows, settings, troubled, now_mu, S1, S2, new_mu, new_sigma)
            if not fine and not leapt:  # a covariance became singular at a plain step
                mu[:], first[:], second[:] = now_mu, S1, S2
                history[count] = total
                return count + 1, EM_SINGULAR
        elif not leapt:
            return count, EM_FAILED
        size = _distance(now_mu, now_sigma, new_mu, new_sigma) if fine else np.inf
        lower = climbs and total < best - LIKELIHOOD_ROUNDING * max(abs(best), weight)
        if leapt:
            leapt, steps = False, 0
            if not fine or lower or (not climbs and size > last_size):
                now_mu[:], now_sigma[:] = back_mu, back_sigma
                plain = True
                continue
        elif lower:
            lost += 1
            steps = 0
            if lost >= PATIENCE_STEPS:
                if followed:
                    mu[:], first[:], second[:] = old
                return count, EM_LOST_DIGITS if least > SETTLED_STEP else EM_CONVERGED
            now_mu[:], now_sigma[:] = new_mu, new_sigma
            plain = False
            continue
        history[count] = total
        count += 1
        lost, best = 0, max(best, total)
        old[0][:], old[1][:], old[2][:] = mu, first, second
        mu[:], first[:], second[:] = now_mu, S1, S2
        if steps == 0:
            a_mu[:], a_sigma[:], a_size = now_mu, now_sigma, size
        else:
            b_mu[:], b_sigma[:] = now_mu, now_sigma
        steps += 1
        last_size = size
        now_mu[:], now_sigma[:] = new_mu, new_sigma
        plain, followed = True, plain
        if size < 0.5 * least:
            least, waited = size, 0
        else:
            waited += 1
        if size <= 1e-3 * tolerance or (least <= SETTLED_STEP and waited >= PATIENCE_STEPS):
            return count, EM_CONVERGED  # at the limit, or as near as rounding allows
        if steps < 2:
            continue
        rate = size / a_size
        worst = max(rate, slowest)
        slowest = rate
        if size <= tolerance and size * worst / max(1 - worst, 1e-6) <= tolerance:
            return count, EM_CONVERGED
        back_mu[:], back_sigma[:] = new_mu, new_sigma
        m_r, m_v = _squares(a_mu.ravel(), b_mu.ravel(), new_mu.ravel())
        s_r, s_v = _squares(a_sigma.ravel(), b_sigma.ravel(), new_sigma.ravel())
        if m_v + s_v > 0:
            factor = max(math.sqrt((m_r + s_r) / (m_v + s_v)), 1.0)  # 1 gives θ₂
            _leap(a_mu.ravel(), b_mu.ravel(), new_mu.ravel(), factor, now_mu.ravel())
            _leap(a_sigma.ravel(), b_sigma.ravel(), new_sigma.ravel(), factor, now_sigma.ravel())
        leapt, plain = True, False
    return count, EM_UNFINISHED
