"""Checks of sums that come from outside, such as a file: are they sums of some rows?

    rows ≥ 0,   weights ≥ 0 and finite,   S = Sᵀ,   S_jj ≥ −budget

S are sums of products of columns. Their diagonal is a sum of squares, which rounding can move below
zero by no more than a share of the largest sum that was ever absorbed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.axes.state_checks import require, wrong_state
from verosim.stats.sparse_sums import SparseSums

ROUNDING_OF_SQUARES = 1e-6  # of the largest sum of squares


def check_sums(statistic: Any) -> None:
    """Raise an error unless the arrays can be sums of rows. The shapes fit the axes already."""
    require(statistic.axes.size("class") >= 1, "it has no class")
    for name, field in statistic.fields.items():
        arrays = [statistic.arrays[name]]
        arrays += [statistic.lows[name]] if field.kind == "pair" else []
        for array in arrays:
            _check_numbers(name, field, array)
        if field.dims[-2:] == ("column", "column") or name == "product":
            _check_products(name, arrays)
    if (statistic.weight < 0).any():
        raise wrong_state("a weight is negative")


def _check_numbers(name: str, field: Any, array: Any) -> None:
    values = array.stored()[1] if isinstance(array, SparseSums) else array
    if field.kind == "rows":
        require((values >= 0).all(), f"a number in {name!r} is negative")
    elif field.kind == "pivot":
        require(not np.isinf(values).any(), f"a number in {name!r} is infinite")
    else:
        require(np.isfinite(values).all(), f"a number in {name!r} is not finite")


def _check_products(name: str, arrays: list[np.ndarray]) -> None:
    """Sums of products are symmetric, and their diagonal is not negative."""
    for array in arrays:
        require(np.array_equal(array, np.swapaxes(array, -1, -2)), f"{name!r} is not symmetric")
    diagonal = np.diagonal(arrays[0], axis1=-2, axis2=-1)
    budget = ROUNDING_OF_SQUARES * np.abs(diagonal).max(initial=0.0)
    require((diagonal >= -budget).all(), f"a sum of squares in {name!r} is negative")
