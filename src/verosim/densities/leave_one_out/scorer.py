"""Exact leave-one-out scores for all densities, mostly without refitting.

    log p(x_i | c) from T − T(x_i), for all i

The scatter of a Gaussian changes by a rank-one term, and counts change by one. Where no closed form
is valid, for example if a covariance is singular without the row, the density is estimated again.
Reference: Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis,
Technometrics 10, 1–11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.data.sources import take_rows
from verosim.densities.leave_one_out.removal import Scorer
from verosim.stats import Statistic

if TYPE_CHECKING:
    from verosim.densities.base import Density


def log_density_left_out(
    density: Density, statistic: Statistic, block: Any, classes: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """(n, C) log p(x_i | c) for each row i, from the statistic without row i.

    Column c is −∞ if class c has no rows without row i. If the scores that decide are not a
    density, the result has these scores.

    Parameters
    ----------
    density : Density
        The density with its settings.
    statistic : Statistic
        The statistic of one fold. It must contain the rows of `block`.
    block : array or sparse rows or documents
        The rows, all or some, in the form in which the statistic absorbed them.
    classes : ndarray of shape (n,)
        The class number of each row.
    weights : ndarray of shape (n,) or (0,)
        The weights of the rows; empty if all weights are 1. A row of weight zero is scored by the
        estimate from all rows.

    Returns
    -------
    ndarray of shape (n, C)
        The log densities.

    Examples
    --------
    >>> from verosim.densities import DiagonalGaussian
    >>> from verosim.testing import statistic_of
    >>> X, y = np.array([[1.0], [2.0], [4.0], [9.0], [8.0]]), np.array([0, 0, 0, 1, 1])
    >>> density = DiagonalGaussian(shared=True)
    >>> log_density_left_out(density, statistic_of(X, y), X, y, np.empty(0))[:2].round(2)
    array([[ -3.88, -45.68],
           [ -1.13, -17.93]])
    """
    return left_out_scorer(density, statistic)(block, classes, weights)


def left_out_scorer(density: Density, statistic: Statistic) -> Scorer:
    """The part of `log_density_left_out` that needs only the statistic, done once for many blocks.

    `density.leave_one_out` needs rows of positive weight. The scorer returned here also accepts
    rows of weight zero, and classes without rows.
    """
    score_rows = density.leave_one_out(statistic)
    present = (statistic.rows[:, 0] > 0) & (statistic.weight[:, 0] > 0)

    def score(block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        classes = np.asarray(classes, dtype=np.intp)
        weights = np.asarray(weights, dtype=np.float64)
        if len(weights) and not weights.all():
            out = np.empty((len(classes), len(present)))
            heavy, light = np.flatnonzero(weights), np.flatnonzero(weights == 0)
            out[heavy] = score_rows(take_rows(block, heavy), classes[heavy], weights[heavy])
            params = density.estimate(statistic)
            score_all = getattr(params, "log_density", params.log_ratio)  # it may be no density
            out[light] = score_all(take_rows(block, light))
        else:
            out = score_rows(block, classes, weights)
        out[:, ~present] = -np.inf
        return out

    return score
