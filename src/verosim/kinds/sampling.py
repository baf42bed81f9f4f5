"""Sampled rows as a table with the columns, the types and, on request, the missing cells of X."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from verosim.data.libraries import pa, pl
from verosim.kinds.arrow import cast
from verosim.kinds.missing import MISSING
from verosim.kinds.reader import MixedReader
from verosim.kinds.registry import column_kinds
from verosim.stats import Product


def as_table(
    reader: MixedReader,
    drawn: dict[str, Any],
    gone: dict[str, np.ndarray],
    native: str,
    given: Mapping[str, pa.Array] | None = None,
) -> Any:
    """The sampled cells of all parts, as the kind of table that the model was fitted on.

    `gone` marks the missing cells of each column. `given` has the columns that are not sampled.
    """
    sample = {kind.name: kind.sample for kind in column_kinds()}
    arrays = {}
    for part in reader.parts:
        if part.kind == MISSING:
            continue
        block = np.asarray(drawn[part.name])
        j = 0
        for member in part.members:
            column, stop = member.column, j + len(member.names)
            if column.name not in arrays:  # use the number of a date, not its hour or weekday
                cells = block[:, j:stop] if member.in_pieces else block
                if not member.in_pieces and block.ndim > 1:  # texts have the shape (n,)
                    cells = block[:, j]
                arrays[column.name] = sample[column.density](column, cells, gone.get(column.name))
            j = stop
    for name, array in ({} if given is None else given).items():
        column = reader.schema[name]
        found = cast(array, column.type)
        arrays[name] = found.dictionary_encode() if column.type == "category" else found
    table = pa.table({name: arrays[name] for name in reader.names})
    return as_native(table, native)


def as_native(table: pa.Table, native: str) -> Any:
    """An Arrow table as the kind of table that the model was fitted on."""
    if native == "pandas":
        return table.to_pandas()
    if native == "polars":
        return pl.from_arrow(table)
    if native == "array":
        return np.column_stack([np.asarray(table[name]) for name in table.column_names])
    return table


def gap_rates(reader: MixedReader, statistic: Product) -> dict[str, np.ndarray]:
    """(C,) per column: the share of missing cells in each class."""
    # The part `missing`, if there is one, also counts the missing texts.
    parts = [part for part in reader.parts if part.kind == MISSING] or reader.parts
    rates: dict[str, np.ndarray] = {}
    for part in parts:
        found = statistic.parts[part.name]
        weight = found.weight[:, 0]
        seen = part.kind.seen(found)
        if seen is None:
            continue
        for j, column in enumerate(part.owners):  # the pieces of a date are missing together
            share = seen[:, j] / np.where(weight > 0, weight, 1.0)
            rates[column] = np.clip(np.where(weight > 0, 1 - share, 0.0), 0.0, 1.0)
    return rates
