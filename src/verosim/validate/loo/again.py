"""The road that is always open: estimate again from the statistic without the row.

    log p(x_i | c)  by  estimate(T − T(x_i))

What the closed forms compute, by definition; they fall back on it where they do not hold.
"""

from __future__ import annotations

import warnings
from threading import Lock
from typing import Any

import numpy as np

from verosim.data import Batch
from verosim.data.batch import UNWEIGHTED
from verosim.densities import Density, FullGaussian, Params
from verosim.engines import one_blas_thread
from verosim.errors import SingularWarning
from verosim.stats import Statistic
from verosim.validate.loo.leaving import Scorer

_quiet = Lock()  # filters of warnings are the process's


def scorer(density: Density, statistic: Statistic) -> Scorer:
    """(n, C) log p(x | c) of rows, the density estimated again for each."""
    labels = statistic.axes.groups.classes.tolist()
    place = {label: c for c, label in enumerate(labels)}

    def score(block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        out = np.full((len(classes), len(labels)), -np.inf)
        with one_blas_thread:  # the matrices are small
            for i, c in enumerate(classes.tolist()):
                row = block[i : i + 1]
                part = statistic.zero()
                weight = weights[i : i + 1] if len(weights) else UNWEIGHTED
                part.absorb(Batch(row, np.array([c], dtype=np.int32), weight))
                rest = statistic.without(part)
                if not rest.rows.any():
                    continue
                at = [place[label] for label in rest.axes.groups.classes.tolist()]
                out[i, at] = _estimated(density, rest).log_density(row)[0]
        return out

    return score


def _estimated(density: Density, statistic: Statistic) -> Params:
    """The estimate, without a warning for every row that what is left is singular."""
    if isinstance(density, FullGaussian) and density.on_singular != "raise":
        return density.solve(statistic, {})  # type: ignore[arg-type]
    with _quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularWarning)
        return density.estimate(statistic)
