"""Row weights: finite, never negative, and not all zero. Rows of zero weight do not exist."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.data.batch import UNWEIGHTED
from verosim.errors import VerosimError


def as_weights(sample_weight: Any, n: int) -> np.ndarray:
    """(n,) float64, or empty when every row counts once."""
    if sample_weight is None:
        return UNWEIGHTED
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise VerosimError(f"Sample weights are numbers, one for each row: {error}.") from None
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise VerosimError(f"Sample weights must be 1D array or scalar, got shape {weights.shape}.")
    if len(weights) != n:
        raise VerosimError(
            f"sample_weight.shape == {weights.shape}, expected {(n,)}: one weight per row."
        )
    if not np.isfinite(weights).all():
        bad = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise VerosimError(f"The weight of row {bad} is {weights[bad]}, not a finite number.")
    if (weights < 0).any():
        bad = int(np.flatnonzero(weights < 0)[0])
        raise VerosimError(
            f"The weight of row {bad} is negative: {weights[bad]:g}.",
            "weights are zero or more; models that are sums take rows out by forget(X, y).",
        )
    if not weights.any():
        raise VerosimError(
            "Sample weights must contain at least one non-zero number; every weight is zero."
        )
    return weights
