"""Leave-one-out by definition: estimate again from the statistic without the row.

    log p(x_i | c) from estimate(T − T(x_i))

The closed forms compute the same result. They use this module where they are not valid.
Reference: Stone (1974), Cross-validatory choice and assessment of statistical predictions, Journal
of the Royal Statistical Society B 36, 111–147.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.data import Batch
from verosim.densities.leave_one_out.removal import Scorer
from verosim.linalg import one_blas_thread
from verosim.stats import Statistic

if TYPE_CHECKING:
    from verosim.densities.base import Density


def scorer(density: Density, statistic: Statistic) -> Scorer:
    """A scorer that estimates the density again for each row."""
    labels = statistic.axes.groups.classes.tolist()
    place = {label: c for c, label in enumerate(labels)}

    def score(block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        out = np.full((len(classes), len(labels)), -np.inf)
        with one_blas_thread:  # the matrices are small, so more threads are slower
            for i, c in enumerate(classes.tolist()):
                row = block[i : i + 1]
                part = statistic.zero()
                part.absorb(Batch(row, np.array([c], dtype=np.int32), weights[i : i + 1]))
                rest = statistic.without(part)
                if not rest.rows.any():
                    continue
                at = [place[label] for label in rest.axes.groups.classes.tolist()]
                out[i, at] = density.estimate_quietly(rest).log_density(row)[0]
        return out

    return score
