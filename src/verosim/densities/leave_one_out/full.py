"""QDA, LDA and RDA without the row: downdated where that keeps its digits, else estimated again.

    estimate(T − T(x_i)) = downdate(estimate(T), x_i)

The whole-data estimate must be regular and clear of its floor; then single rows are estimated
again where taking them out makes a covariance nearly singular or a column constant.
Reference: Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.data.batch import BLOCK_CELLS
from verosim.densities.central import Scatter
from verosim.densities.leave_one_out import refit
from verosim.densities.leave_one_out.downdate import NEARLY_CONSTANT, Downdate, margin
from verosim.densities.leave_one_out.pieces import in_pieces, slices
from verosim.densities.leave_one_out.removal import Scorer
from verosim.stats import Moments

if TYPE_CHECKING:
    from verosim.densities.full import FullGaussian, Trouble


def scorer(density: FullGaussian, statistic: Moments) -> Scorer:
    """QDA, LDA and what lies between them."""
    refitted = refit.scorer(density, statistic)
    trouble: Trouble = {}
    params, scatter = density.solve(statistic, trouble), Scatter(statistic)
    if trouble or not params.used.any():
        return refitted
    if density.floor > 0 and margin(scatter, params) <= density.floor * (1 + NEARLY_CONSTANT):
        return refitted
    downdate = Downdate(density, scatter, params)
    if downdate.intensity is not None and not downdate.intensity.known:
        return refitted

    def cut(block: Any, classes: int) -> Iterator[tuple[slice, np.ndarray]]:
        step = max(64, BLOCK_CELLS // block.shape[1] // 4)  # several (step, d) arrays in cache
        for at in slices(len(block), step):
            yield at, block[at].astype(np.float64, copy=False)

    return in_pieces(statistic, cut, downdate, refitted)
