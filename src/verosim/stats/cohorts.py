"""Cohorts: the rows of one class that have values in the same columns.

    cohort = (class k, pattern p),   p = one bit per column: 1 if the cell has a value

A cohort is a group of `Moments`, in the same way as a class is.
Reference: Little & Rubin (2002), Statistical Analysis with Missing Data, §7.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.axes import Axes, Groups
from verosim.axes.groups import as_labels, sorted_labels
from verosim.data import Batch
from verosim.errors import VerosimError
from verosim.stats.moments import Moments

COHORT_SCATTER_BUDGET = 1 << 26  # largest number of entries in the scatter matrices of all cohorts


@dataclass(frozen=True, order=True)
class Cohort:
    """The rows of one class that have values in the same columns."""

    label: Any
    shown: bytes  # one bit per column, packed

    def __repr__(self) -> str:
        return repr(self.label)  # error messages print the class


def check_budget(cohorts: set[Cohort], folds: int, d: int) -> None:
    """Raise an error if the sums of these cohorts are too large for memory."""
    if len(cohorts) * folds * d * d <= COHORT_SCATTER_BUDGET:
        return
    patterns = len({cohort.shown for cohort in cohorts})
    raise VerosimError(
        f"The rows have {patterns} patterns of missing cells ({len(cohorts)} counted per class) "
        f"over {d} columns, and their sums need more than {COHORT_SCATTER_BUDGET} numbers.",
        "Use GaussianNB, which skips missing cells, or impute the missing values, or drop the "
        "columns with most missing values.",
    )


def complete_axes(axes: Axes) -> Axes:
    """The axes of complete rows: one cohort per class, in the order of the classes."""
    everything = packed(np.ones((1, len(axes.columns)), dtype=bool))[0].tobytes()
    cohorts = [Cohort(label, everything) for label in axes.groups.classes.tolist()]
    return Axes(Groups(as_labels(cohorts, object), axes.groups.folds), axes.columns)


def with_cohorts(parts: Moments, needed: list[Cohort]) -> Moments:
    """The same sums, with zeros for the cohorts in `needed` that are new."""
    groups = parts.axes.groups
    known = set(groups.classes.tolist())
    fresh = set(needed) - known
    if not fresh:
        return parts
    check_budget(known | fresh, groups.folds, len(parts.axes.columns))
    more = Groups(as_labels(sorted_labels(fresh), object), groups.folds)
    axes = parts.axes.with_groups(groups.union(more))
    if parts.rows.any():
        return parts.align(axes)
    out = parts.like(axes)  # nothing to move but the pivots
    out.arrays["pivot"][groups.positions(axes.groups)] = parts.arrays["pivot"]
    return out


def packed(shown: np.ndarray) -> np.ndarray:
    """(n, bytes) one bit per column, padded to whole words of eight bytes."""
    bits = np.packbits(shown, axis=1)
    out = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    out[:, : bits.shape[1]] = bits
    return out


def unpacked(shown: bytes, d: int) -> np.ndarray:
    """(cohorts, d) bool from the packed bits of all cohorts, joined in one bytes object."""
    width = -(-max(d, 1) // 64) * 8
    bits = np.frombuffer(shown, dtype=np.uint8).reshape(-1, width)
    return np.unpackbits(bits, axis=1, count=d).astype(bool)


def patterns_in(block: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray, list[bytes]]:
    """The rows with missing cells, the number of the pattern of each, and the patterns."""
    rows, words = [], []
    for start in range(0, len(block), step):  # one block at a time fits into the cache
        missing = np.isnan(block[start : start + step])
        if missing.any():
            at = np.flatnonzero(missing.any(axis=1))
            rows.append(at + start)
            words.append(packed(~missing[at]))
    if not rows:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), []
    bits = np.concatenate(words)
    width = bits.shape[1]
    keys = bits.view(np.uint64 if width == 8 else np.dtype((np.void, width)))[:, 0]
    found, which = np.unique(keys, return_inverse=True)
    return np.concatenate(rows), which, [key.tobytes() for key in found]


def without_nan(batch: Batch) -> Batch:
    """The batch with zeros in place of its missing cells."""
    missing = np.isnan(batch.block)
    if not missing.any():
        return batch
    block = batch.block.copy()
    block[missing] = 0.0
    return replace(batch, block=block)
