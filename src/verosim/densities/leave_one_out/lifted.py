"""Leave-one-out scores of LDA on random features, from the sums of all rows.

    A = S + r (W − w) I,   A without the row = A − κ z zᵀ,   κ = w W_k/(W_k − w)
    aᵀ(A − κ z zᵀ)⁻¹ a = aᵀA⁻¹a + κ (aᵀA⁻¹z)² / (1 − κ zᵀA⁻¹z)

S is the scatter within the classes, r the ridge, W the weight of all rows, w the weight of the row,
W_k the weight of its class, and z the row minus the mean of its class.
Reference: Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis,
Technometrics 10, 1–11.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from verosim.densities.central import Scatter
from verosim.densities.leave_one_out.removal import Removal, Scorer
from verosim.errors import VerosimError
from verosim.stats import LiftedMoments


def scorer(ridge: float, statistic: LiftedMoments) -> Scorer:
    """The scorer of rows that are lifted already."""
    scatter = Scatter(statistic)
    centre, place = scatter.reference_mean()
    total = float(scatter.class_weight.sum())
    means = np.where(scatter.present[:, None], place - centre, 0.0)  # (C, D)

    def score(block: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        removal = Removal.of(statistic, classes, weights)
        out = np.empty((len(classes), len(means)))
        for w in np.unique(removal.weights):
            at = np.flatnonzero(removal.weights == w)
            A = scatter.pooled.copy()
            A.flat[:: len(A) + 1] += ridge * (total - w)
            try:
                L = cholesky(A, lower=True, overwrite_a=True)
            except LinAlgError:
                raise only_rounding_left("left out") from None
            U = solve_triangular(L, (block[at] - scatter.pivot[0] - centre).T, lower=True).T
            V = solve_triangular(L, means.T, lower=True).T
            out[at] = (total - w) * _half_squares(U, V, classes[at], removal, at)
        out[:, ~scatter.present] = -np.inf
        out[removal.gone, classes[removal.gone]] = -np.inf
        return out

    return score


def only_rounding_left(how: str) -> VerosimError:
    """The error for a covariance of the features without some rows.

    A covariance of rows plus a ridge is positive definite. Without some rows, it can be the
    rounding error of heavy rows, or of rows so far away that their angles have no correct digits.
    """
    return VerosimError(
        "The covariance of the features is not positive definite, because the rows that were "
        f"{how} were too heavy, or too far from the others, and only rounding errors are left.",
        "Fit the model again on the remaining rows.",
    )


def _half_squares(
    U: np.ndarray, V: np.ndarray, own: np.ndarray, removal: Removal, at: np.ndarray
) -> np.ndarray:
    """(b, C) −½ aᵀ(A − κ z zᵀ)⁻¹ a, where a is the row minus the mean of each class without it.

    U (b, D) and V (C, D) are the rows and the means in the coordinates in which A is I.
    """
    stays = ~removal.gone[at]
    left = np.where(stays, removal.left[at], 1.0)
    before, w = removal.before[at], removal.weights[at]
    kappa = np.where(stays, before * w / left, 0.0)
    further = np.where(stays, before / left, 1.0)
    Z = U - V[own]
    zz = (Z**2).sum(axis=1)
    squares = (U**2).sum(axis=1)[:, None] - 2 * (U @ V.T) + (V**2).sum(axis=1)
    cross = (Z * U).sum(axis=1)[:, None] - Z @ V.T
    rows = np.arange(len(own))
    squares[rows, own] = further**2 * zz
    cross[rows, own] = further * zz
    gain = kappa / np.maximum(1 - kappa * zz, np.finfo(float).tiny)
    out: np.ndarray = -0.5 * (squares + gain[:, None] * cross**2)
    return out
