"""Checks the weights of rows: zero, or between 1e-100 and 1e100, and not all zero.

Rows of zero weight are left out everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.data.batch import UNWEIGHTED
from verosim.errors import VerosimError

SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100  # beyond these limits, weighted squares overflow
WEIGHTS_HINT = "Use finite weights of zero or more; use forget(X, y) to remove rows from a model."
WRITTEN_WEIGHTS_HINT = (
    "Write the weights like 1234.56; read=dict(decimal=',') reads decimal commas of a file."
)


def as_weights(sample_weight: Any, n: int | None) -> np.ndarray:
    """(n,) float64; empty if all weights are one. With n=None there may be any number of them."""
    if sample_weight is None:
        return UNWEIGHTED
    try:
        weights = np.asarray(sample_weight)
        if weights.dtype.kind == "c":
            raise TypeError("they are complex")
        weights = weights.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise VerosimError(
            f"Sample weights must be numbers: {error}.", "Give one number per row."
        ) from None
    n = weights.size if n is None else n
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise VerosimError(
            f"Sample weights must be 1D array or scalar, got shape {weights.shape}.",
            "Give one number per row.",
        )
    if len(weights) != n:
        raise VerosimError(
            f"sample_weight.shape == {weights.shape}, but the weights must have the shape {(n,)}.",
            "Give one weight per row.",
        )
    if not np.isfinite(weights).all():
        bad = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise VerosimError(
            f"The weight of row {bad} is {weights[bad]}, which is not finite.", WEIGHTS_HINT
        )
    if (weights < 0).any():
        bad = int(np.flatnonzero(weights < 0)[0])
        raise VerosimError(f"The weight of row {bad} is negative: {weights[bad]:g}.", WEIGHTS_HINT)
    _check_size(weights)
    if not weights.any():
        raise VerosimError(
            "Sample weights must contain at least one non-zero number; every weight is zero.",
            "Give at least one row a weight above zero.",
        )
    return weights


def _check_size(weights: np.ndarray) -> None:
    outside = (weights > LARGEST_WEIGHT) | ((weights < SMALLEST_WEIGHT) & (weights != 0))
    if outside.any():
        bad = int(np.flatnonzero(outside)[0])
        raise VerosimError(
            f"The weight of row {bad} is {weights[bad]:g}, but a weight must be 0 or between "
            f"{SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}.",
            "Divide the weights by their mean.",
        )
