"""Chooses how the columns of a table become a design matrix, from its first rows without labels.

    number    mean, deviation and 101 quantiles          category  its most frequent values

A column with missing cells in the first rows has one more column, which is 1 where it is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from verosim.axes.capped_categories import CodedColumns
from verosim.data.design_columns import (
    CATEGORY_COLUMN,
    FLAG_COLUMN,
    LEVELS,
    MOST_ONE_HOT,
    NUMBER_COLUMN,
    DesignColumn,
)
from verosim.data.folds import row_hashes, with_copies, with_weights
from verosim.data.readers import no_columns
from verosim.data.schema import Schema
from verosim.data.sources import Parts
from verosim.kinds.boolean import BOOLEANS
from verosim.kinds.design_reader import design_rows, placed
from verosim.kinds.first_rows import FirstRows, ranked_texts
from verosim.kinds.reader import MixedReader

ROWS_FOR_DISTANCE = 500


def with_design(schema: Schema, rows: FirstRows, distance: bool = False) -> Schema:
    """The schema with its design matrix and, on request, the median distance between its rows."""
    if schema.design and (schema.distance > 0 or not distance):
        return schema
    reader, blocks, weight = rows.blocks(schema)
    design = schema.design or _design(schema, reader, blocks, weight)
    if not design:
        raise no_columns(schema)
    found = _median_distance(design, reader, blocks, weight) if distance else schema.distance
    return replace(schema, design=design, distance=found)


def _design(
    schema: Schema, reader: MixedReader, blocks: Sequence[Parts], weight: np.ndarray
) -> tuple[DesignColumn, ...]:
    """The columns in the order of the table. The pieces of a date come after its number."""
    order = {column.name: at for at, column in enumerate(schema.columns)}
    found = sorted(_columns(reader, blocks, weight), key=lambda one: order[one.column])
    out: list[DesignColumn] = []
    for one in found:  # all pieces of a date are missing together, so one column is enough
        again = any(other.column == one.column for other in out)
        out.append(replace(one, missing=False) if again else one)
    return tuple(out)


def _columns(
    reader: MixedReader, blocks: Sequence[Parts], weight: np.ndarray
) -> Iterator[DesignColumn]:
    kept = weight > 0
    for part in reader.parts:
        for j, (name, owner) in enumerate(zip(part.columns, part.owners, strict=True)):
            cells = [block[part.name] for block in blocks]
            gone = np.concatenate([part.kind.missing(block, j) for block in cells])
            missing = bool(gone[kept].any())
            if isinstance(cells[0], CodedColumns):
                ranked = ranked_texts(cells, j, weight)
                yield DesignColumn(
                    name, owner, part.name, CATEGORY_COLUMN, values=tuple(ranked[:MOST_ONE_HOT]),
                    others=len(ranked) > MOST_ONE_HOT, missing=missing,
                )  # fmt: skip
                continue
            x = np.concatenate([block[:, j] for block in cells])
            if part.kind == BOOLEANS:
                yield DesignColumn(name, owner, part.name, FLAG_COLUMN, missing=missing)
                continue
            there = kept & np.isfinite(x)
            mean, deviation, quantiles = _distribution(x[there], weight[there])
            yield DesignColumn(
                name, owner, part.name, NUMBER_COLUMN, mean, deviation, quantiles, missing=missing
            )


def _distribution(x: np.ndarray, weight: np.ndarray) -> tuple[float, float, tuple[float, ...]]:
    """The mean, the deviation and the quantiles of numbers (n,). A weight of 2 counts twice."""
    if not len(x):
        return 0.0, 1.0, (0.0,) * LEVELS
    if (weight == weight[0]).all():
        x, weight = np.sort(x), weight / weight.sum()
    else:
        order = np.argsort(x, kind="stable")
        x, weight = x[order], weight[order] / weight.sum()
    unit = max(abs(x[0]), abs(x[-1])) or 1.0  # so that no square overflows
    mean = float(weight @ (x / unit))
    deviation = float(np.sqrt(weight @ (x / unit - mean) ** 2)) * unit
    reached = np.cumsum(weight)
    at = np.searchsorted(reached, np.linspace(0, reached[-1], LEVELS) * (1 - 1e-12))
    quantiles = x[np.minimum(at, len(x) - 1)]
    constant = x[0] == x[-1]
    return mean * unit, 1.0 if constant else deviation, tuple(quantiles.tolist())


def _median_distance(
    design: tuple[DesignColumn, ...],
    reader: MixedReader,
    blocks: Sequence[Parts],
    weight: np.ndarray,
) -> float:
    """The median squared distance between two different rows, from 500 rows.

    They are those with the smallest hashes, so the order of the rows does not matter.
    """
    at = np.flatnonzero(weight > 0)
    if len(at) > ROWS_FOR_DISTANCE:
        at = _some_rows(blocks, at, weight)
    parts, first = [], 0
    for block in blocks:
        n = block.shape[0]
        some = block[at[(at >= first) & (at < first + n)] - first]
        parts.append(design_rows(design, placed(reader.parts, some), some.shape[0], every=True))
        first += n
    Z, w = np.concatenate(parts), weight[at]
    norm = (Z**2).sum(axis=1)
    both = norm[:, None] + norm
    with np.errstate(invalid="ignore"):  # infinite cells are refused later, by name
        squares = both - 2 * (Z @ Z.T)  # every pair of rows is there twice
    apart = squares > 1e-9 * both
    return _weighted_median(squares[apart], np.outer(w, w)[apart]) if apart.any() else 1.0


def _some_rows(blocks: Sequence[Parts], at: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The positions of 500 rows with small hashes. The copies of a row have different hashes."""
    hashes = np.concatenate([row_hashes([block], block.shape[0], 0) for block in blocks])[at]
    keys = with_copies(with_weights(hashes, weight[at]))
    return np.sort(at[np.argpartition(keys, ROWS_FOR_DISTANCE - 1)[:ROWS_FOR_DISTANCE]])


def _weighted_median(x: np.ndarray, weight: np.ndarray) -> float:
    """The smallest number at which half of the weight is reached."""
    if (weight == weight[0]).all():
        half = (len(x) - 1) // 2
        return float(np.partition(x, half)[half])
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(weight[order])
    at = np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-12))
    return float(x[order[min(int(at), len(x) - 1)]])
