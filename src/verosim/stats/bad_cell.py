"""The error for a cell that a statistic cannot add: the place of the cell, and what to do."""

from __future__ import annotations

import numpy as np

from verosim.axes import Axes
from verosim.data import Batch, SparseRows
from verosim.errors import VerosimError

INFINITE_CELL_HINT = (
    "Replace the value by NaN if the model accepts missing values, or drop the row."
)


def bad_cell(
    axes: Axes, batch: Batch, i: int, j: int, why: str = "", hint: str | None = None
) -> VerosimError:
    """The error for the cell in row i and column j of a batch; `why` and `hint` are for NaN."""
    block = batch.block
    value = block.take(np.array([i]))[0, j] if isinstance(block, SparseRows) else block[i, j]
    what = "NaN" if np.isnan(value) else f"infinity or a value too large ({value:g})"
    place = f"column {axes.columns.name(j)!r}, {batch.place(i)}"
    label = axes.groups.name(int(batch.groups[i]))
    if not np.isnan(value):
        hint, why = INFINITE_CELL_HINT, ""
    return VerosimError(
        f"Input X contains {what} in {place}, class {label}{'; ' + why if why else ''}.", hint
    )
