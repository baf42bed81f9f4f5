"""How rows are divided into those that experts learn from and those that they predict.

    below 2,000 rows     five folds
    below 10,000 rows    three folds
    more rows            one part is held out, so everything is counted once

In each class, the rows are dealt to the folds in the order of their hashes. The one part has the
rows with the smallest hashes, as `held_out` describes. If `cv` is a number of folds or defines the
fold of each row, these folds are used instead. Neither depends on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.data.labels import encode_labels
from verosim.data.schema import Schema
from verosim.errors import VerosimError
from verosim.pool.experts import ExpertGroup
from verosim.pool.fold_trial import FoldTrial
from verosim.pool.held_out import held_positions
from verosim.pool.one_part_trial import OnePartTrial
from verosim.pool.rows import HeldOutPart, PoolRows
from verosim.pool.trial import Trial

ROWS_TO_HOLD_OUT = 10_000  # rows from which one part of the rows is held out, instead of folds
POOL_FOLDS, FEWER_FOLDS = 5, 3
ROWS_FOR_FEWER = 2_000  # rows from which there are fewer folds
MOST_SCORES = 80_000  # held-out rows × classes that the weights are learned from
LEAST_HELD_OUT = 3_000  # rows
SHARE_HELD_OUT = 5  # one of so many rows is held out


def trial_of(
    groups: Sequence[ExpertGroup],
    schema: Schema,
    rows: PoolRows | HeldOutPart,
    seed: Any,
    folds: int | None = None,
) -> Trial:
    """Some folds of few rows, or one held-out part of many rows, unless folds are wanted."""
    if isinstance(rows, HeldOutPart):
        if folds is not None:
            raise VerosimError(
                f"The table does not fit into memory, and cv={folds} needs all of its rows.",
                "Leave cv out.",
            )
        return OnePartTrial(groups, schema, rows.rest, rows.held, seed)
    rows = with_held_out(rows, folds)
    if rows.held is not None:
        others = np.ones(rows.count, dtype=bool)
        others[rows.held] = False
        order = rows.order()  # some experts learn from the rows one after the other
        rest = rows.subset(order[others[order]])
        return OnePartTrial(groups, schema, rest, rows.take(rows.held), seed)
    numbers, count = fold_numbers(rows, seed, folds)
    if len(numbers) < ROWS_TO_HOLD_OUT or rows.are_folds or folds is not None:
        return FoldTrial(
            groups, schema, rows, numbers, count, most_held_out(len(rows.groups.classes))
        )
    rest = rows.subset(np.flatnonzero(numbers > 0))  # one fold of the groups is held out
    return OnePartTrial(groups, schema, rest, rows.take(np.flatnonzero(numbers == 0)), seed)


def with_held_out(rows: PoolRows, folds: int | None = None) -> PoolRows:
    """The same rows in memory, with the part that is held out if there are many."""
    in_folds = folds is not None or rows.together is not None
    if in_folds or rows.held is not None or rows.count < ROWS_TO_HOLD_OUT:
        return rows
    return replace(rows, held=held_positions(rows, rows_per_class))


def rows_per_class(count: np.ndarray) -> np.ndarray:
    """(C,) how many rows of each class are held out: one of so many, and at most half of them."""
    n = int(count.sum())
    wanted = min(most_held_out(len(count)), max(LEAST_HELD_OUT, n // SHARE_HELD_OUT))
    found = np.diff(np.cumsum(count) // max(2, n // wanted), prepend=0)
    at_most_half = np.minimum(found, count // 2)
    return at_most_half if at_most_half.any() else found


def most_held_out(classes: int) -> int:
    """The number of held-out rows that are used."""
    return max(LEAST_HELD_OUT, MOST_SCORES // max(classes, 2))


def fold_numbers(rows: PoolRows, seed: Any, folds: int | None = None) -> tuple[np.ndarray, int]:
    """(n,) folds by the hashes of the rows, and their number. A class is spread evenly.

    The folds of groups depend on the seed.
    """
    n = len(rows.source)
    if n < 2:
        raise VerosimError(
            f"n_samples={n} is too small, because a pool needs training rows and held-out rows.",
            "Give at least two rows with positive weight.",
        )
    if rows.together is not None:
        of_row, names = encode_labels(rows.together)
        count = len(names) if rows.are_folds else min(folds or _usual_folds(n), len(names))
        if count < 2:
            what = "folds" if rows.are_folds else "groups"
            raise VerosimError(
                f"All rows are in one of the {what}, so no rows can be held out.",
                f"Give at least two {what}.",
            )
        if rows.are_folds:
            return of_row.astype(np.int32), count
        of_group = np.random.default_rng(seed).permutation(len(names)) % count
        return of_group[of_row].astype(np.int32), count
    count = min(folds or _usual_folds(n), n)
    order = rows.order()
    order = order[np.argsort(rows.source.groups[order], kind="stable")]
    numbers = np.empty(n, dtype=np.int32)
    numbers[order] = np.arange(n) % count
    return numbers, count


def _usual_folds(n: int) -> int:
    """The number of folds of n rows."""
    return POOL_FOLDS if n < ROWS_FOR_FEWER else FEWER_FOLDS
