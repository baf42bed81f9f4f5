"""Leave-one-out for every density, exactly and without refitting.

    log p(x_i | c) from T − T(x_i), for all i

A Gaussian loses a rank-one term, counts lose a one, and where neither form holds (a covariance
that is or becomes singular, a floor that applies) the statistic without the row is estimated again.
Reference: Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis.
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
    """(n, C) log p(x_i | c) for row i, from the statistic without row i.

    −∞ in column c if class c has no rows left without it. Where the scores that decide are no
    density, it is those scores that are given.

    Parameters
    ----------
    density : the density and its settings
    statistic : of one fold; the rows are among those it was made of
    block : the rows, all or some, as the statistic absorbed them
    classes : (n,) class numbers
    weights : (n,) of the rows, empty if all are one. A row of weight zero is in no statistic: the
        estimate of all others scores it

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
    """What `log_density_left_out` computes from the statistic alone, once for many blocks of rows.

    `density.leave_one_out` takes rows of positive weight; here rows of weight zero and classes
    without rows are handled too.
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
            out[light] = density.estimate(statistic).log_density(take_rows(block, light))
        else:
            out = score_rows(block, classes, weights)
        out[:, ~present] = -np.inf
        return out

    return score
