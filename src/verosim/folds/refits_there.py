"""Fits outside each fold of a table on a cluster, for models that are not only sums.

    for each fold: fit the rows outside the fold there, then score the rows of the fold there

The rows of a fold are left out by the workers. The table is read several times for each fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from verosim.data.blocks import BlockFolds
from verosim.data.folds import RowFolds, TableFolds
from verosim.data.labels import positions
from verosim.data.stream import TableSource
from verosim.data.tables import Rows, Table
from verosim.folds.fitting import fit
from verosim.folds.holdout import HoldOut
from verosim.folds.labelled_rows import filtered
from verosim.folds.rules import FoldRules, Visit
from verosim.models import Spec
from verosim.models.opening import open_table_to_score


def visits_of_refits_there(
    spec: Spec, holdout: HoldOut, visit: Visit
) -> Iterator[tuple[int, int, Any]]:
    """For each fold with rows: its number, its number of rows, and the joined visit of its rows."""
    source = holdout.source
    assert isinstance(source, TableSource)
    total = holdout.total  # the classes of all rows
    holdout.classes = total.axes.groups.classes[total.rows.sum(axis=1) > 0]
    folds = holdout.folds
    if isinstance(folds, RowFolds):  # each fit may read the cells differently
        folds = replace(folds, reader=folds.reader or source.reader)
    for f in range(holdout.count):
        outside = OutsideFold(folds, f)
        state = fit(spec, replace(holdout.inputs, X=filtered(source.table, outside)))
        places = positions(state.classes, holdout.classes)
        rules = FoldRules(state.rules, places, holdout.classes)
        rows = open_table_to_score(state, source.table, source.target, source.weights)
        rows.reader.watched(None)  # a value that is only in one fold is not a mistake
        for size, value in holdout.visit_fold_there(visit, rules, f, rows.folded(folds)):
            yield f, size, value


@dataclass(frozen=True)
class OutsideFold:
    """Reads the rows of a table that train the model of a fold."""

    folds: TableFolds
    fold: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are needed to find the fold of a row."""
        return self.folds.columns

    def __call__(self, table: Table, columns: Iterable[str] | None) -> Iterator[Rows]:
        read = table.batches(None if columns is None else {*columns, *self.columns})
        return map(partial(_outside, self.folds, self.fold), read)


def _outside(folds: TableFolds, f: int, rows: Rows) -> Rows:
    numbers = folds.of(rows, None)
    learnt = folds.trains[f][numbers] if isinstance(folds, BlockFolds) else numbers != f
    kept = np.flatnonzero(learnt)
    return rows if len(kept) == len(rows) else rows.take(kept)
