"""Checks and corrections after rows are subtracted from sums.

    weight ≤ 1e-13 · weight before  →  0 rows;   weight > 1e-9 · weight before  →  at least 1 row
    count ≤ 1e-12 · count before + 1e-15 · weight of its class before  →  0

A remaining weight can be negative only by rounding. A row from which only a part of the weight was
subtracted still counts as a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verosim.errors import VerosimError
from verosim.stats.sparse_sums import SparseSums

if TYPE_CHECKING:
    from verosim.stats.arrays import ArrayStatistic

RESIDUE = 1e-9  # share of the weight before above which a part of some row is certainly left
LOST_SHARE = 1e-6  # share of a count that may be rounding, from rows that were forgotten before
ROUNDING_OF_SQUARES = 1e-6  # share of the largest sum of squares by which one may be below zero
SUBTRACTION_ROUNDING = 1e-13  # share of the weight before below which only rounding is left
ONLY_KNOWN_ROWS = "Forget only rows and weights that this model was fitted on."


def check_not_negative(rest: ArrayStatistic, before: ArrayStatistic) -> None:
    """Raise an error if a float sum per class and fold is negative by more than rounding.

    Sums over all classes are not checked.
    """
    for name, field in rest.fields.items():
        if field.kind != "sum" or field.dims[:2] != ("class", "fold"):
            continue
        now, then = rest.arrays[name], before.arrays[name]
        negative = _negative(now)  # few entries, at most by rounding
        if not len(negative[0]):
            continue
        # An entry that was itself only rounding is compared with the largest entry of its class.
        allowed = 1e-12 * (_largest(then) + np.abs(before.weight))[negative[:2]]
        # After heavy rows were forgotten, what is left has only a few digits.
        allowed += LOST_SHARE * np.abs(then[negative])
        bad = np.flatnonzero(now[negative] < -allowed)
        if len(bad):
            at = tuple(int(i[bad[0]]) for i in negative)
            raise VerosimError(
                f"{_place(rest, field.dims, at)}: more would be forgotten than was learned, and "
                "the weight would become negative.",
                ONLY_KNOWN_ROWS,
            )


def _negative(array: np.ndarray | SparseSums) -> tuple[np.ndarray, ...]:
    """Where an array is below zero."""
    return array.negative() if isinstance(array, SparseSums) else np.nonzero(array < 0)


def _largest(array: np.ndarray | SparseSums) -> np.ndarray:
    """(C, F) the largest absolute value of each group."""
    if isinstance(array, SparseSums):
        return array.largest()
    others = tuple(range(2, array.ndim))
    return np.maximum(array.max(axis=others, initial=0), -array.min(axis=others, initial=0))


def _place(rest: ArrayStatistic, dims: tuple[str, ...], at: tuple[int, ...]) -> str:
    """The class, the columns and the values of one entry of an array, for a message."""
    axes = rest.axes
    place = f"Class {axes.groups.name(at[0] * axes.groups.folds)}"
    for dim, i in zip(dims[2:], at[2:], strict=True):
        if dim == "column":
            place += f", column {axes.columns.name(i)!r}"
        elif dim == "code" and axes.codes is not None:
            column, value = axes.codes.label(i, axes.columns)
            place += f", column {column!r}, value {value}"
    return place


def clear_residue(rest: ArrayStatistic, before: ArrayStatistic) -> None:
    """Set counts per class and code that are only rounding errors to exactly zero, in place."""
    for name, field in rest.fields.items():
        if field.kind != "sum" or field.dims[:2] != ("class", "fold") or len(field.dims) < 3:
            continue
        then, left = before.arrays[name], rest.arrays[name]
        if isinstance(left, SparseSums):
            group, left_sums = left.stored()
            was = then.at_places_of(left)
            weight = before.weight.reshape(-1)[group]
            left.drop((left_sums != was) & (left_sums <= residue(was, weight)))
            continue
        weight = before.weight.reshape(before.weight.shape + (1,) * (then.ndim - 2))
        left[(left != then) & (left <= residue(then, weight))] = 0.0


def residue(before: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The largest rounding error of a count after a subtraction, for a class of this weight."""
    return 1e-12 * before + 1e-15 * weight


def fixed_tokens(given: str) -> VerosimError:
    """The error for tokens that were given, and so are not removed if they are rare."""
    return VerosimError(
        f"Tokens cannot be pruned, because the model was fitted with {given}.",
        "Set min_count to ignore rare tokens, or fit again with a shorter vocabulary.",
    )


def settle_cells(rest: ArrayStatistic, before: ArrayStatistic) -> None:
    """Correct the numbers of rows with each code (F, K), in place, by the counts that are left."""
    count, then = (x.arrays["count"].sum(axis=0) for x in (rest, before))
    rest.arrays["cells"][...] = settled(rest.arrays["cells"], count, then)


def existing_codes(statistic: ArrayStatistic) -> np.ndarray:
    """(K,) bool: the codes of at least one row, and declared ones. Other counts become zero."""
    cells = statistic.arrays["cells"]  # (F, K)
    statistic.arrays["count"][:, cells == 0] = 0.0
    kept: np.ndarray = (cells != 0).any(axis=0)
    codes = statistic.axes.codes
    return kept if codes is None else kept | codes.declared


def settled(rows: np.ndarray, weight: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The number of rows after a subtraction, corrected by the weight.

    The number is at least 1 where more than rounding of the weight `before` is left, and 0 where
    only rounding is left.
    """
    rows = np.where(weight > RESIDUE * before, np.maximum(rows, 1), np.maximum(rows, 0))
    return np.where(weight <= SUBTRACTION_ROUNDING * before, 0, rows)
