"""What taking rows out of sums leaves behind: zero is zero, rounding is not a row.

A weight may fall below zero by rounding, never by more; a row forgotten by a part of its weight
is still a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verosim.errors import VerosimError

if TYPE_CHECKING:
    from verosim.stats.arrays import ArrayStatistic

RESIDUE = 1e-9  # parts of a weight that say somebody was forgotten only in part
SUBTRACTION_ROUNDING = 1e-13  # parts of a weight that are what subtraction left behind


def check_not_negative(rest: ArrayStatistic, before: ArrayStatistic) -> None:
    """Every float sum per class and fold is at least zero, but for rounding."""
    for name, field in rest.fields.items():
        if field.kind != "sum":
            continue
        was = np.abs(before.arrays[name])
        # Entries that were themselves only rounding have their class for a measure.
        measure = was.max(axis=tuple(range(2, was.ndim)), initial=0, keepdims=True)
        weight = np.abs(before.weight).reshape(measure.shape)
        bad = rest.arrays[name] < -(RESIDUE * was + 1e-12 * (measure + weight))
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            raise VerosimError(
                f"{_place(rest, field.dims, at)}: more would be forgotten than was ever seen, so "
                "its weight would become negative.",
                "forget only rows (and weights) this model was fitted on.",
            )


def _place(rest: ArrayStatistic, dims: tuple[str, ...], at: tuple[int, ...]) -> str:
    """The class, the columns and the values of an entry of an array."""
    axes = rest.axes
    place = f"Class {axes.groups.name(at[0] * axes.groups.folds)}"
    for dim, i in zip(dims[2:], at[2:], strict=True):
        if dim == "column":
            place += f", column {axes.columns.name(i)!r}"
        elif dim == "code" and axes.codes is not None:
            column, value = axes.codes.label(i, axes.columns)
            place += f", column {column!r}, value {value}"
    return place


def settle_cells(rest: ArrayStatistic, before: ArrayStatistic) -> None:
    """Whole cells of every code (F, K), in place, by the counts that are left of `before`."""
    count, then = (x.arrays["count"].sum(axis=0) for x in (rest, before))
    rest.arrays["cells"][...] = settled(rest.arrays["cells"], count, then)


def existing_codes(statistic: ArrayStatistic) -> np.ndarray:
    """(K,) the codes some row has; where no row has one its count is set to zero, in place."""
    cells = statistic.arrays["cells"]  # (F, K)
    np.copyto(statistic.arrays["count"], 0.0, where=cells[None] == 0)
    kept: np.ndarray = (cells != 0).any(axis=0)
    return kept


def settled(rows: np.ndarray, weight: np.ndarray, before: np.ndarray) -> np.ndarray:
    """How many rows stand for a weight, of what was `before`: integers decide what exists, but a
    weight that is still there has a row and one that is rounding has none."""
    rows = np.where(weight > RESIDUE * before, np.maximum(rows, 1), np.maximum(rows, 0))
    return np.where(weight <= SUBTRACTION_ROUNDING * before, 0, rows)
