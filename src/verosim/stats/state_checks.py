"""Checks of sums that come from outside, such as a file: are they sums of some rows?

    rows ≥ 0,   weights ≥ 0, their sum ≤ 10³⁰⁰,   S = Sᵀ,   S_jj ≥ −10⁻⁶ absorbed_j

S are sums of products of columns. Their diagonal is a sum of squares. Rounding and forgotten rows
can move it below zero by no more than a share of `absorbed_j`, the largest value that it ever had,
which the sums record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from verosim.axes.state_checks import is_count, require
from verosim.stats.forgetting import ROUNDING_OF_SQUARES
from verosim.stats.sparse_sums import SparseSums

LONGEST_NGRAM = 64
HIGH_POWERS = {"cube", "quartic", "absorbed_quartic"}  # not finite: they are not known
LARGEST_TOTAL_WEIGHT = 1e300  # of all rows


def check_options(options: Mapping[str, Any]) -> None:
    """Raise an error if an option of a statistic has a value that no model uses."""
    for name, value in options.items():
        known = OPTION_VALUES.get(name)
        require(known is None or known(value), f"its option {name} has a wrong value")


def _are_lengths(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(is_count(one, 1, LONGEST_NGRAM) for one in value)
        and value[0] <= value[1]
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(type(one) is str for one in value)


def _is_analyzer(value: Any) -> bool:
    from verosim.data.tokens import ANALYZERS  # sums of numbers do not need it

    return type(value) is str and value in ANALYZERS


def _is_weighting(value: Any) -> bool:
    from verosim.data.tokens import WEIGHTINGS  # sums of numbers do not need it

    return type(value) is str and value in WEIGHTINGS


OPTION_VALUES: dict[str, Callable[[Any], bool]] = {
    "threshold": lambda value: type(value) is float and math.isfinite(value),
    "ngrams": _are_lengths,
    "lowercase": lambda value: type(value) is bool,
    "analyzer": _is_analyzer,
    "weighting": _is_weighting,
    "max_tokens": is_count,
    "stop_words": _are_texts,
    "strip_accents": lambda value: value in (None, "ascii", "unicode"),
    "function": lambda value: value is None,  # a function is code
}


def check_sums(statistic: Any) -> None:
    """Raise an error unless the arrays can be sums of rows. The shapes fit the axes already.

    The statistic may have no class yet, as a zero for rows that were not read.
    """
    for name, field in statistic.fields.items():
        arrays = [statistic.arrays[name]]
        arrays += [statistic.lows[name]] if field.kind == "pair" else []
        for array in arrays:
            _check_numbers(name, field, array)
        if field.dims[-2:] == ("column", "column") or name == "product":
            _check_products(name, arrays, _budget(statistic, arrays[0]))
        elif name == "square":
            budget = ROUNDING_OF_SQUARES * statistic.arrays["absorbed"]
            require((arrays[0] >= -budget).all(), f"a sum of squares in {name!r} is negative")
    require((statistic.weight >= 0).all(), "a weight is negative")
    require(statistic.weight.sum() <= LARGEST_TOTAL_WEIGHT, "the weights are too large to be added")


def _check_numbers(name: str, field: Any, array: Any) -> None:
    values = array.stored()[1] if isinstance(array, SparseSums) else array
    if field.kind == "rows":
        require((values >= 0).all(), f"a number in {name!r} is negative")
    elif field.kind == "pivot":
        require(not np.isinf(values).any(), f"a number in {name!r} is infinite")
    elif field.kind == "peak":
        known = np.isfinite(values) | (name in HIGH_POWERS)
        require((known & ~(values < 0)).all(), f"a number in {name!r} is negative or not finite")
    elif name not in HIGH_POWERS:
        require(np.isfinite(values).all(), f"a number in {name!r} is not finite")


def _budget(statistic: Any, products: np.ndarray) -> np.ndarray:
    """(…, d) by how much the rounding of each column can move its sum of squares."""
    if "absorbed" in statistic.arrays:
        budget: np.ndarray = ROUNDING_OF_SQUARES * statistic.arrays["absorbed"]
        return budget
    largest = np.abs(products).max(initial=0.0)  # sums that are never subtracted record none
    return np.full(products.shape[:-1], ROUNDING_OF_SQUARES * largest)


def _check_products(name: str, arrays: list[np.ndarray], budget: np.ndarray) -> None:
    """Sums of products are symmetric up to rounding, and their diagonal is not negative."""
    diagonal = np.diagonal(arrays[0], axis1=-2, axis2=-1)
    require((diagonal >= -budget).all(), f"a sum of squares in {name!r} is negative")
    root = np.sqrt(np.maximum(budget, 0.0))  # a negative peak is refused by its own check
    for array in arrays:
        with np.errstate(over="ignore"):
            apart = np.abs(array - np.swapaxes(array, -1, -2))
        require(
            (apart <= root[..., :, None] * root[..., None, :]).all(), f"{name!r} is not symmetric"
        )
