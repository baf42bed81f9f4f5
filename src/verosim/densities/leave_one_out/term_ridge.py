"""Leave-one-out scores of the ridge regression on leading terms, from one factorisation.

    f_k without row i = t_ik − (t_ik − f_k(z_i)) / (1 − h_i),   h_i = w_i (1/n + z̃ᵢᵀ(S + λI)⁻¹z̃ᵢ)

t_ik is 1 if row i has class k and 0 otherwise, f_k is the fitted indicator, and z̃ is z − μ. The
penalised sum of squares without the row is smaller by w_i (t_ik − f_k)²/(1 − h_i) in each class.
Reference: Cook & Weisberg (1982), Residuals and influence in regression, §2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from verosim.densities.centred_terms import CentredTerms, variance
from verosim.densities.leave_one_out.removal import Removal, Scorer
from verosim.linalg import EPS
from verosim.stats.term_products import term_weights

if TYPE_CHECKING:
    from verosim.stats import TermProducts


def scorer(penalty: float, statistic: TermProducts) -> Scorer:
    """The scorer of rows as if each had not been in the sums."""
    centred = CentredTerms.of(statistic)
    K, weight = len(centred.mean), centred.weight
    n = float(weight.sum())
    factor: Any = centred.factor(penalty) if K else None
    coef = centred.weights(factor)  # (C, K)
    residual = centred.residual(coef)

    def score(block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        rows = np.arange(len(classes))
        w = weights if len(weights) else np.ones(len(classes))
        found = term_weights(block, statistic.terms, statistic.tokenizer)
        Z = sparse.csr_array(found, shape=(len(classes), K)).toarray() - centred.mean
        leverage = np.full(len(classes), 1 / n)
        if K:
            leverage += (solve_triangular(factor[0], Z.T, lower=True) ** 2).sum(axis=0)
        left = np.maximum(1 - w * leverage, EPS)[:, None]  # EPS is its rounding error
        target = np.zeros((len(classes), len(weight)))
        target[rows, classes] = 1.0
        error = target - (weight / n + Z @ coef.T)
        rest = np.repeat(weight[None], len(classes), axis=0)  # (m, C) n_k without the row
        rest[rows, classes] -= w
        gone = Removal.of(statistic, classes, weights).gone
        rest[gone, classes[gone]] = 0.0
        share = rest / np.maximum(rest.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        smaller = residual - (w[:, None] * error**2 / left).sum(axis=1)
        out = (target - error / left - share) / variance(smaller, rest)[:, None]
        out[rest <= 0] = -np.inf
        return out

    return score
