"""Chooses the cells of a table from its first rows, without labels.

Numbers get up to 240 bins of about equal weight, categories their most frequent values. A run of
0/1 columns of which exactly one is 1 in every row is one category that was written as several
columns (one-hot). It is read as one column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.axes.bins import edges_of
from verosim.axes.capped_categories import CodedColumns
from verosim.data.cell_columns import MOST_CELLS, MOST_VALUES, CellColumn
from verosim.data.schema import Schema
from verosim.data.sources import Parts
from verosim.data.stream import weights_of
from verosim.data.tables import Table
from verosim.kinds.boolean import BOOLEANS
from verosim.kinds.cell_reader import cellular
from verosim.kinds.look import FIRST_LOOK_ROWS
from verosim.kinds.reader import MixedReader

LEAST_GROUP = 3  # columns that make a group


def with_cells(schema: Schema, table: Table, weights: Any) -> Schema:
    """The schema with the cells of its columns, from the first rows of the table."""
    reader = cellular(schema)
    blocks: list[Parts] = []
    weight: list[np.ndarray] = []
    done = 0
    for rows in table.head(FIRST_LOOK_ROWS):
        n = rows.batch.num_rows
        given = weights[done : done + n] if isinstance(weights, np.ndarray) else weights
        found = weights_of(given, rows)
        weight.append(found if len(found) else np.ones(n))
        blocks.append(reader.block(rows))
        done += n
    columns = list(_columns(reader, blocks, np.concatenate(weight)))
    order = {column.name: at for at, column in enumerate(schema.columns)}
    columns.sort(key=lambda column: order[column.columns[0]])
    flags = dict(_flags(reader, blocks, columns))
    kept = np.concatenate(weight) > 0
    return replace(schema, cells=tuple(_grouped(columns, flags, kept)))


def _columns(
    reader: MixedReader, blocks: Sequence[Parts], weight: np.ndarray
) -> Iterator[CellColumn]:
    for part in reader.parts:
        for j, (name, owner) in enumerate(zip(part.columns, part.owners, strict=True)):
            if isinstance(blocks[0][part.name], CodedColumns):
                values = _frequent([block[part.name] for block in blocks], j, weight)
                yield CellColumn(name, (owner,), part.name, values=values)
            elif part.kind == BOOLEANS:
                yield CellColumn(name, (owner,), part.name, edges=(0.0, 0.5, 1.0))
            else:
                x = np.concatenate([block[part.name][:, j] for block in blocks])
                edges = tuple(edges_of(x, weight, MOST_CELLS).tolist())
                yield CellColumn(name, (owner,), part.name, edges=edges)


def _frequent(blocks: Sequence[CodedColumns], j: int, weight: np.ndarray) -> tuple[str, ...]:
    """The most frequent texts of column j, in the order of the alphabet."""
    found: dict[str, float] = {}
    done = 0
    for block in blocks:
        index, texts = block.indexes[j], block.texts[j]
        mass = np.bincount(index, weight[done : done + len(index)], len(texts))
        for text, one in zip(texts, mass.tolist(), strict=True):
            if text is not None and one > 0:
                found[text] = found.get(text, 0.0) + one
        done += len(index)
    ranked = sorted(found, key=lambda text: (-found[text], text))
    return tuple(sorted(ranked[:MOST_VALUES]))


def _flags(
    reader: MixedReader, blocks: Sequence[Parts], columns: Sequence[CellColumn]
) -> Iterator[tuple[str, np.ndarray]]:
    """The columns that have only the values 0 and 1, by name."""
    place = {name: (part.name, j) for part in reader.parts for j, name in enumerate(part.columns)}
    for column in columns:
        if len(column.edges) == 3:  # two bins
            part, j = place[column.name]
            x = np.concatenate([block[part][:, j] for block in blocks])
            if np.isin(x, (0.0, 1.0)).all():
                yield column.name, x == 1.0


def _grouped(
    columns: Sequence[CellColumn], flags: dict[str, np.ndarray], kept: np.ndarray
) -> Iterator[CellColumn]:
    """The columns, with every run of exclusive 0/1 columns as one."""
    run: list[CellColumn] = []
    ones = np.zeros(len(kept), dtype=np.int64)
    for column in [*columns, None]:
        flag = None if column is None else flags.get(column.name)
        if flag is not None and not (ones + flag)[kept].max(initial=0) > 1:
            assert column is not None
            run.append(column)
            ones = ones + flag
            continue
        yield from _as_group(run) if (ones[kept] == 1).all() else run
        run, ones = [], np.zeros(len(kept), dtype=np.int64)
        if flag is not None and column is not None:
            run, ones = [column], flag.astype(np.int64)
        elif column is not None:
            yield column


def _as_group(run: list[CellColumn]) -> list[CellColumn]:
    if len(run) < LEAST_GROUP:
        return run
    names = tuple(name for column in run for name in column.columns)
    return [CellColumn(f"{names[0]} … {names[-1]}", names, "")]
