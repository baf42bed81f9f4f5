"""Chooses the cells of a table from its first rows, without labels.

Numbers get up to 240 bins of about equal weight, categories their most frequent values. A run of
0/1 columns of which exactly one is 1 in every row is one category that was written as several
columns (one-hot). It is read as one column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from verosim.axes.bins import distinct_values, quantile_edges
from verosim.axes.capped_categories import CodedColumns
from verosim.data.cell_columns import MOST_CATEGORY_CELLS, MOST_NUMBER_CELLS, CellColumn
from verosim.data.schema import Schema
from verosim.data.sources import Parts
from verosim.kinds.boolean import BOOLEANS
from verosim.kinds.first_rows import FirstRows, ranked_texts
from verosim.kinds.reader import MixedReader

LEAST_GROUP = 3  # columns that make a group


def with_cells(schema: Schema, rows: FirstRows) -> Schema:
    """The schema with the cells of its columns, from the first rows of the table."""
    reader, blocks, weight = rows.blocks(schema)
    columns = list(_columns(reader, blocks, weight))
    order = {column.name: at for at, column in enumerate(schema.columns)}
    columns.sort(key=lambda column: order[column.columns[0]])
    flags = dict(_flags(reader, blocks, columns))
    return replace(schema, cells=tuple(_grouped(columns, flags, weight > 0)))


def _columns(
    reader: MixedReader, blocks: Sequence[Parts], weight: np.ndarray
) -> Iterator[CellColumn]:
    for part in reader.parts:
        for j, (name, owner) in enumerate(zip(part.columns, part.owners, strict=True)):
            declared = reader.schema[owner].values
            if declared and len(declared) <= MOST_CATEGORY_CELLS:
                yield CellColumn(name, (owner,), part.name, values=declared, declared=True)
            elif isinstance(blocks[0][part.name], CodedColumns):
                ranked = ranked_texts([block[part.name] for block in blocks], j, weight)
                values = tuple(sorted(ranked[:MOST_CATEGORY_CELLS]))
                yield CellColumn(name, (owner,), part.name, values=values)
            elif part.kind == BOOLEANS:
                yield CellColumn(name, (owner,), part.name, edges=(0.0, 0.5, 1.0))
            else:
                x = np.concatenate([block[part.name][:, j] for block in blocks])
                edges = tuple(_number_edges(x, weight).tolist())
                yield CellColumn(name, (owner,), part.name, edges=edges)


def _number_edges(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The edges of the cells of numbers: every value has a cell if there are not too many."""
    values, mass = distinct_values(x, weight if (weight != 1).any() else np.empty(0))
    if not 0 < len(values) <= MOST_NUMBER_CELLS:
        return quantile_edges(values, mass, MOST_NUMBER_CELLS)
    halfway = values[:-1] / 2 + values[1:] / 2
    return np.unique(np.concatenate([values[:1], halfway, values[-1:]]))


def _flags(
    reader: MixedReader, blocks: Sequence[Parts], columns: Sequence[CellColumn]
) -> Iterator[tuple[str, np.ndarray]]:
    """The columns that have only the values 0 and 1, by name, and where they are 1."""
    place = {name: (part.name, j) for part in reader.parts for j, name in enumerate(part.columns)}
    for column in columns:
        if column.edges in ((0.0, 0.5, 1.0), (0.0,)):  # a rare value may be 0 in the first rows
            part, j = place[column.name]
            x = np.concatenate([block[part][:, j] for block in blocks])
            if np.isin(x, (0.0, 1.0)).all():
                yield column.name, x == 1.0


def _grouped(
    columns: Sequence[CellColumn], flags: dict[str, np.ndarray], kept: np.ndarray
) -> Iterator[CellColumn]:
    """The columns, with every run of exclusive 0/1 columns as one.

    The run is a window: a column that shares a row with earlier ones pushes them out. It ends where
    every row has its 1, and a column without any 1 then begins the next run.
    """
    run: list[CellColumn] = []
    ones = np.zeros(int(kept.sum()), dtype=np.int64)  # (rows,) of the run so far
    for column in columns:
        flag = flags[column.name][kept] if column.name in flags else None
        if flag is None or (ones == 1).all():
            yield from _as_group(run, ones)
            run, ones = [], np.zeros_like(ones)
        if flag is None:
            yield column
            continue
        while (ones + flag).max(initial=0) > 1:
            ones = ones - flags[run[0].name][kept]
            yield run.pop(0)
        run.append(column)
        ones = ones + flag
    yield from _as_group(run, ones)


def _as_group(run: list[CellColumn], ones: np.ndarray) -> list[CellColumn]:
    """One column in place of a run, if exactly one of its columns is 1 in every row."""
    many = len(run) > MOST_CATEGORY_CELLS  # a cell is one byte
    few = sum(len(column.edges) == 3 for column in run) < LEAST_GROUP
    if few or many or not (ones == 1).all():
        return run
    names = tuple(name for column in run for name in column.columns)
    return [CellColumn(f"{names[0]} … {names[-1]}", names, "")]
