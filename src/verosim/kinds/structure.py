"""Chooses bins and parents for models of dependent columns, by passes over the rows as cells.

    cells × classes → bins          pairs of codes × classes → parents

Tables in memory are read once; files are read again for each pass. Of a source that can be read
only once, the first rows are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from verosim.axes import Axes, CellCodes, Columns, Groups
from verosim.axes.cell_codes import CELLS
from verosim.data import ArraySource
from verosim.data.cell_columns import CellColumn, Structure
from verosim.data.schema import Schema
from verosim.data.stream import Chunk, TableSource
from verosim.densities.dependence import Information, Parents, information
from verosim.engines import summarise
from verosim.errors import VerosimError
from verosim.kinds.discretise import equal_bins, separating_bins
from verosim.kinds.look import FIRST_LOOK_ROWS
from verosim.stats import Counts, Pairs, Statistic

MOST_KEPT = 1 << 28  # cells of a table that are kept in memory
PAIR_BUDGET = 1 << 26  # numbers in the counts of pairs of all classes
FOLD_BUDGET = 1 << 21  # the same, if the counts are kept for each of several folds
PAIR_BINS = (12, 5, 3)

ChooseParents = Callable[[Information], Parents]


def choose_structure(
    schema: Schema, source: TableSource, bins: int | None, choose: ChooseParents | None
) -> Structure:
    """The bins of every column and, if `choose` is given, its parents.

    `bins` is a number of bins of equal weight; None cuts where the classes separate.
    """
    rows = CellRows.of(source)
    maps = _bins(schema.cells, rows, bins)
    if choose is None:
        return Structure(maps)
    codes = cell_codes(schema.cells, maps)
    check_pairs(codes, len(rows.groups.classes))
    pairs = rows.summarised(lambda axes: Pairs(axes), codes)
    assert isinstance(pairs, Pairs)
    return Structure(maps, choose(information(pairs)))


def bins_for_pairs(schema: Schema, source: TableSource) -> Structure:
    """As many bins of equal weight as the counts of all pairs allow."""
    rows = CellRows.of(source)
    for bins in PAIR_BINS:
        maps = _bins(schema.cells, rows, bins)
        size = cell_codes(schema.cells, maps).size ** 2 * len(rows.groups.classes)
        if size <= FOLD_BUDGET:
            return Structure(maps)
    raise VerosimError(
        f"The counts of all pairs of columns need {size:,} numbers for each fold, and at most "
        f"{FOLD_BUDGET:,} are allowed.",
        "Use method=\"columns\", or fewer columns: columns={name: 'ignore'}.",
    )


def cell_codes(columns: tuple[CellColumn, ...], maps: tuple[tuple[int, ...], ...]) -> CellCodes:
    """The codes of columns of cells. Missing has the last code of each column."""
    table = np.zeros((len(columns), CELLS), dtype=np.uint8)
    sizes, widths = [], []
    for j, (column, of_cell) in enumerate(zip(columns, maps, strict=True)):
        codes = np.array(of_cell, dtype=np.intp)
        table[j, : len(codes)] = codes
        sizes.append(int(codes.max()) + 1)
        widths.append(_log_widths(column, codes, sizes[-1]))
    cells = np.array([column.size for column in columns])
    return CellCodes(table, np.array(sizes), np.concatenate(widths), cells)


def check_pairs(codes: CellCodes, classes: int) -> None:
    """Raise an error if the counts of pairs would take too much memory."""
    if codes.size**2 * classes > PAIR_BUDGET:
        raise VerosimError(
            f"The counts of pairs of {codes.size} codes in {classes} classes need "
            f"{codes.size**2 * classes:,} numbers, and at most {PAIR_BUDGET:,} are allowed.",
            "Use fewer bins, or fewer columns: columns={name: 'ignore'}.",
        )


class CellRows:
    """The rows of a table as cells: in memory if they fit, or read again for each pass."""

    def __init__(self, source: ArraySource | TableSource, groups: Groups, columns: Columns) -> None:
        self.source, self.groups, self.columns = source, groups, columns

    @classmethod
    def of(cls, source: TableSource) -> CellRows:
        columns = source.reader.columns
        table = source.table
        if table.once:
            return cls._kept(source.first(FIRST_LOOK_ROWS), columns)
        if table.in_memory and (table.rows or 0) * len(columns) <= MOST_KEPT:
            return cls._kept(list(source.chunks()), columns)
        return cls(source, Groups(np.empty(0)), columns)

    @classmethod
    def _kept(cls, chunks: list[Chunk], columns: Columns) -> CellRows:
        batches = [chunk.batch() for chunk in chunks]
        labels = np.concatenate([b.labels[b.groups] for b in batches if b.labels is not None])
        classes, groups = np.unique(labels, return_inverse=True)
        source = ArraySource(
            np.concatenate([batch.block for batch in batches]), groups.astype(np.int32),
            np.concatenate([batch.weights for batch in batches]), raw=True,
        )  # fmt: skip
        return cls(source, Groups(classes), columns)

    def summarised(self, plan: Callable[[Axes], Statistic], codes: Any) -> Statistic:
        """The statistic of all rows, on an axis of codes."""
        return summarise(self.source, plan(Axes(self.groups, self.columns, codes)))


def _bins(
    columns: tuple[CellColumn, ...], rows: CellRows, bins: int | None
) -> tuple[tuple[int, ...], ...]:
    """For every column the code of each of its cells."""
    every = cell_codes(columns, tuple(tuple(range(column.size)) for column in columns))
    counts = rows.summarised(lambda axes: Counts(axes, what="codes"), every)
    rows.groups = counts.axes.groups
    assert isinstance(counts, Counts)
    found = counts.arrays["count"][:, 0].T  # (cells, C)
    out = []
    for j, column in enumerate(columns):
        count = found[every.first[j] : every.first[j] + column.known]
        if not column.is_number:
            out.append(tuple(range(column.size)))
            continue
        codes = separating_bins(count) if bins is None else equal_bins(count.sum(axis=1), bins)
        out.append((*codes.tolist(), int(codes.max()) + 1))
    return tuple(out)


def _log_widths(column: CellColumn, codes: np.ndarray, size: int) -> np.ndarray:
    """(size,) log width of the bin of every code, 0 for categories and missing."""
    out = np.zeros(size)
    if column.is_number and column.known > 1:
        edges = np.array(column.edges)
        width = np.zeros(size)
        np.add.at(width, codes[:-1], np.diff(edges))
        out[width > 0] = np.log(width[width > 0])
    return out
