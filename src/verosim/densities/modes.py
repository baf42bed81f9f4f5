"""The highest mode of a mixture of Gaussians in one dimension.

    p(x) = Σ_k w_k N(x; m_k, v_k)

A mixture of C Gaussians has at most C modes. From each m_k, steps uphill lead to a mode, and the
highest of them is the result. The step x ← Σ r_k m_k/v_k / Σ r_k/v_k, with r_k the posterior of
component k at x, never goes down. Newton's step is faster where the density is concave.
Reference: Carreira-Perpiñán (2000), Mode-finding for mixtures of Gaussian distributions, IEEE
Transactions on Pattern Analysis and Machine Intelligence 22, 1318–1323.
"""

from __future__ import annotations

import numpy as np

from verosim.linalg import EPS

MOST_MODE_STEPS = 200
MIXTURES_AT_ONCE = 4096


def gaussian_mixture_modes(
    weights: np.ndarray, means: np.ndarray, variances: np.ndarray
) -> np.ndarray:
    """(n,) the highest modes of mixtures with (n, C) weights, means and variances.

    Means and variances can be the same for all rows, with shape (1, C). A variance of 0 is a column
    that is constant: the result is then the mean with the largest weight.
    """
    if not (variances > 0).all():
        best = weights.argmax(axis=1)
        return np.broadcast_to(means, weights.shape)[np.arange(len(best)), best]
    out = np.empty(len(weights))
    for a in range(0, len(weights), MIXTURES_AT_ONCE):
        b = a + MIXTURES_AT_ONCE
        m = means if len(means) == 1 else means[a:b]
        v = variances if len(variances) == 1 else variances[a:b]
        out[a:b] = _highest(weights[a:b], m, v)
    return out


def _highest(weights: np.ndarray, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        level = np.log(weights) - 0.5 * np.log(variances)  # (n, C) log w_k/σ_k
    m, v, level = means[:, None, :], variances[:, None, :], level[:, None, :]
    scale = np.sqrt(variances.min(axis=1))[:, None]  # (n or 1, 1)
    x = np.broadcast_to(means, weights.shape).copy()  # (n, C) one start per component

    def parts(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, starts) log p up to a constant, and (n, starts, C) the posteriors at these points."""
        logs = level - 0.5 * (at[:, :, None] - m) ** 2 / v
        top = logs.max(axis=2, keepdims=True)
        shares = np.exp(logs - top)
        total = shares.sum(axis=2, keepdims=True)
        return (top + np.log(total))[:, :, 0], shares / total

    height, r = parts(x)
    for _ in range(MOST_MODE_STEPS):
        slope = (r * (m - x[:, :, None]) / v).sum(axis=2)
        pull = (r / v).sum(axis=2)
        curvature = (r * ((m - x[:, :, None]) / v) ** 2).sum(axis=2) - pull - slope**2
        newton = x - slope / np.where(curvature < 0, curvature, -1.0)
        uphill = x + slope / pull
        there, at_newton = parts(newton)
        better = (curvature < 0) & (there >= height)
        moved = np.where(better, newton, uphill)
        if better.all():
            height, r = there, at_newton
        else:
            height, r = parts(moved)
        done = np.abs(moved - x) <= 4 * EPS * np.abs(moved) + 1e-13 * scale
        x = moved
        if done.all():
            break
    return x[np.arange(len(x)), height.argmax(axis=1)]
