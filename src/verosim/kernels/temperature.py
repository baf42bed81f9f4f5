"""The slope and the curvature of the loss of tempered posteriors.

    loss(τ) = Σ w (log Σ_k exp(τ a_k) − τ a_y)
    slope   = Σ w (E a − a_y),   curvature = Σ w (E a² − (E a)²)

E is the mean over the classes with the shares exp(τ a_k) / Σ_l exp(τ a_l).
"""

import numpy as np

from verosim.kernels._compile import loose

LEAST_LOG_SHARE = -80.0  # the logarithm of shares that are left out; the largest logarithm is 0


@loose
def temper(a, own, w, tau):
    """Slope and curvature for a (n, C), at most 0 or −∞, own (n,) = a_y and weights w (n,)."""
    slope, curvature = 0.0, 0.0
    for i in range(len(a)):
        total, first, second = 0.0, 0.0, 0.0
        for k in range(a.shape[1]):
            if tau * a[i, k] > LEAST_LOG_SHARE:
                p = np.exp(tau * a[i, k])
                total += p
                first += p * a[i, k]
                second += p * a[i, k] * a[i, k]
        mean = first / total
        slope += w[i] * (mean - own[i])
        curvature += w[i] * (second / total - mean * mean)
    return slope, curvature
