"""QDA, LDA and RDA without the row: downdated where that keeps its digits, else estimated again.

    estimate(T − T(x_i)) = downdate(estimate(T), x_i)

The whole-data estimate must be regular and clear of its floor; then single rows are estimated
again where taking them out makes a covariance nearly singular or a column constant.
Reference: Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.data.batch import BLOCK_CELLS
from verosim.data.sources import take_rows
from verosim.densities import EMGaussian, FullGaussian
from verosim.densities.central import Scatter
from verosim.densities.full import Trouble
from verosim.stats import Moments, Patterns
from verosim.validate.loo import again
from verosim.validate.loo.downdate import CANCELLED, Downdate, margin
from verosim.validate.loo.leaving import Leaving, Scorer


def em_scorer(density: EMGaussian, statistic: Moments | Patterns) -> Scorer:
    """Of complete rows, the plain Gaussian; else EM, again for every row."""
    whole = statistic if isinstance(statistic, Moments) else statistic.complete
    if whole is None:
        return again.scorer(density, statistic)
    return scorer(density.gaussian, whole)


def scorer(density: FullGaussian, statistic: Moments) -> Scorer:
    """QDA, LDA and what lies between them."""
    anew = again.scorer(density, statistic)
    trouble: Trouble = {}
    params, scatter = density.solve(statistic, trouble), Scatter(statistic)
    if trouble or not params.used.any():
        return anew
    if density.floor > 0 and margin(scatter, params) <= density.floor * (1 + CANCELLED):
        return anew
    downdate = Downdate(density, scatter, params)
    if downdate.intensity is not None and not downdate.intensity.known:
        return anew

    def score(block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        going = Leaving.of(statistic, classes, weights)
        n = len(classes)
        out, fine = np.empty((n, len(params.pivot))), np.empty(n, dtype=bool)
        step = max(64, BLOCK_CELLS // block.shape[1] // 4)  # several (step, d) arrays in cache
        for start in range(0, n, step):
            at = slice(start, min(n, start + step))
            out[at], fine[at] = downdate(block[at].astype(np.float64, copy=False), going[at])
        out[going.gone, classes[going.gone]] = -np.inf
        rest = np.flatnonzero(~fine)
        if len(rest):
            heavy = weights[rest] if len(weights) else weights
            out[rest] = anew(take_rows(block, rest), classes[rest], heavy)
        return out

    return score
