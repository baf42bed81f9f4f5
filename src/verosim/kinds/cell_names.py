"""The values of cells, for people to read: bins of numbers, categories, and missing cells."""

from __future__ import annotations

from collections.abc import Sequence

from verosim.axes.capped_categories import OTHER
from verosim.data.cell_columns import CellColumn

SHOWN_MISSING = "‹missing›"  # how a missing value is shown next to values
NO_ROWS = "‹no rows›"  # a value without rows, because they were forgotten


def name_of_cells(column: CellColumn, cells: Sequence[int]) -> str:
    """The name of some cells of a column that have one code."""
    known = [cell for cell in cells if cell < column.known]
    names: list[str] = []
    if known and column.is_number:
        low, high = column.edges[known[0]], column.edges[min(known[-1] + 1, len(column.edges) - 1)]
        names.append(f"[{low:g}, {high:g})" if high > low else f"{low:g}")
    elif known:
        values = column.values if column.part else column.columns
        # Of a value without rows, only the hash may be left.
        names += [v if isinstance(v := values[cell], str) else NO_ROWS for cell in known]
    if any(column.known <= cell < column.size - 1 for cell in cells):
        names.append(OTHER)
    if column.size - 1 in cells:
        names.append(SHOWN_MISSING)
    return " or ".join(names)
