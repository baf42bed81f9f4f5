"""Leave-one-out scores of QDA, LDA and RDA: a downdate if it is precise, otherwise a new estimate.

    estimate(T − T(x_i)) = downdate(estimate(T), x_i)

The downdate needs an estimate from all rows that is not singular and not changed by the floor. A
row is estimated again if a covariance is nearly singular or a column is constant without the row.
Reference: Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis,
Technometrics 10, 1–11.
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
    """The scorer for QDA, LDA and RDA."""
    refitted = refit.scorer(density, statistic)
    if isinstance(density.pooling, str):  # the factor d/W changes with every row
        return refitted
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
        step = max(64, BLOCK_CELLS // block.shape[1] // 4)  # several (step, d) arrays fit in cache
        for at in slices(len(block), step):
            yield at, block[at].astype(np.float64, copy=False)

    return in_pieces(statistic, cut, downdate, refitted)
