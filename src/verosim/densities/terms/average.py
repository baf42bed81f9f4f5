"""The average of one-dependence estimators: a mixture that may have no component for a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verosim.densities.terms.base import Scored
from verosim.densities.terms.composed import LogSumExpTerm


@dataclass(frozen=True, eq=False)
class AverageTerm(LogSumExpTerm):
    """log Σ_t exp(w_tk + s_tk(x)), but 0 if all inner scores are −∞: then only priors count."""

    kind = "average"

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        scores, size = super().evaluate(values)
        return np.where(np.isneginf(scores), 0.0, scores), size
