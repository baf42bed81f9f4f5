"""Chooses bins and parents for models of dependent columns, by passes over the rows as cells.

    cells × classes → bins          pairs of codes × classes → parents

Tables in memory are converted to cells once; files are read again for each pass. Of a source that
can be read only once, the first rows are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from verosim import engines
from verosim.axes import Axes, CellCodes, Groups
from verosim.axes.cell_codes import CELLS
from verosim.cached import cached_property
from verosim.data.cell_columns import CellColumn, Structure
from verosim.data.source import RowSource
from verosim.densities.dependence import Information, Parents, information
from verosim.errors import VerosimError
from verosim.kinds.discretise import equal_bins, separating_bins
from verosim.stats import Counts, Pairs, Several
from verosim.stats.pairs import PAIR_BUDGET

MOST_KEPT = 1 << 28  # cells of a table that are kept in memory
CONTEXT_BUDGET = 1 << 27  # numbers in the counts of contexts of all classes
UNKNOWN_ROWS = 1 << 20  # assumed of a source with an unknown number of rows
LEAST_ROWS_FOR_CUTS = 1000  # with fewer rows, bins="auto" makes bins of equal weight
AUTO_BINS = 5
FOLD_BUDGET = 1 << 21  # numbers in the counts of pairs that are kept for each of several folds
PAIR_BINS = (12, 5, 3)  # bins that are tried for them

AUTO, MDL = "auto", "mdl"
ChooseParents = Callable[[Information], Parents]
Maps = tuple[tuple[int, ...], ...]  # of every column, the code of each of its cells


def converted(source: RowSource) -> RowSource:
    """The source with its rows as cells in memory, if the table is in memory and they fit."""
    if source.in_memory and (source.cells or 0) <= MOST_KEPT:
        return source.holding(engines.map(source, lambda chunk: chunk.converted()))
    return source


class CellRows:
    """Rows as cells, and the counts from which bins and parents are chosen.

    Every count is made once, so models with the same bins share it.
    """

    def __init__(self, columns: tuple[CellColumn, ...], source: RowSource, axes: Axes) -> None:
        self.columns, self.source, self.axes = columns, source, axes
        self._maps: dict[int | str, Maps] = {}
        self._pairs: dict[Maps, Pairs] = {}

    @classmethod
    def of_table(cls, columns: tuple[CellColumn, ...], source: RowSource) -> CellRows:
        """The rows of a table, which adds its classes; the first rows if it can be read once."""
        axes = Axes(Groups(np.empty(0)), source.reader.columns)
        return cls(columns, source.readable_again(), axes)

    def structure(self, bins: int | str, choose: ChooseParents | None) -> Structure:
        """The bins of every column and, if `choose` is given, its parents.

        `bins` is a number of bins of equal weight, "mdl" for cuts where the classes separate, or
        "auto", which takes the cuts if there are enough rows and if the counts of pairs fit.
        """
        maps = self.maps(bins)
        if choose is None:
            return Structure(maps)
        pairs = self.pairs(maps)
        rows = UNKNOWN_ROWS if self.source.passes == 1 else int(pairs.rows.sum())
        sizes = cell_codes(self.columns, maps).sizes
        parents = choose(information(pairs))
        return Structure(maps, within_budget(parents, sizes, rows, len(pairs.rows)))

    def count_pairs(self, wanted: Iterable[int | str]) -> None:
        """Count the pairs for several kinds of bins in one pass, those that fit."""
        every = {
            maps: Pairs(self.axes.with_codes(cell_codes(self.columns, maps)))
            for maps in map(self.maps, wanted)
            if maps not in self._pairs and self._pair_counts(maps) <= PAIR_BUDGET
        }
        if every:
            plans = Several({str(number): plan for number, plan in enumerate(every.values())})
            found: Any = engines.summarise(self.source, plans)
            self._pairs.update(zip(every, found.parts.values(), strict=True))

    def pairs(self, maps: Maps) -> Pairs:
        """The counts of pairs of codes."""
        if maps not in self._pairs:
            codes = cell_codes(self.columns, maps)
            found: Any = engines.summarise(self.source, Pairs(self.axes.with_codes(codes)))
            self._pairs[maps] = found
        return self._pairs[maps]

    def maps(self, bins: int | str) -> Maps:
        """For every column the code of each of its cells."""
        if bins not in self._maps:
            self._maps[bins] = self._chosen(bins)
        return self._maps[bins]

    def bins_for_pairs(self) -> Structure:
        """As many bins of equal weight as the counts of all pairs allow, for each of some folds."""
        for bins in PAIR_BINS:
            size = self._pair_counts(self.maps(bins))
            if size <= FOLD_BUDGET:
                return Structure(self.maps(bins))
        raise VerosimError(
            f"The counts of all pairs of columns need {size:,} numbers for each fold, and at most "
            f"{FOLD_BUDGET:,} are allowed.",
            "Use method=\"columns\", or fewer columns: columns={name: 'ignore'}.",
        )

    def _chosen(self, bins: int | str) -> Maps:
        each, weight = self._cell_counts
        if bins != AUTO:
            return _maps(self.columns, each, bins)
        if weight >= LEAST_ROWS_FOR_CUTS and self._pair_counts(self.maps(MDL)) <= PAIR_BUDGET:
            return self.maps(MDL)
        return self.maps(AUTO_BINS)

    @cached_property
    def _cell_counts(self) -> tuple[list[np.ndarray], float]:
        """For every column the counts (known cells, C), and the weight of all rows."""
        columns = self.columns
        every = cell_codes(columns, tuple(tuple(range(column.size)) for column in columns))
        plan = Counts(self.axes.with_codes(every), what="codes")
        counts: Any = engines.summarise(self.source, plan)
        found = counts.arrays["count"][:, 0].T  # (cells, C)
        each = [found[every.first[j] :][: column.known] for j, column in enumerate(columns)]
        return each, float(counts.weight.sum())

    def _pair_counts(self, maps: Maps) -> int:
        """How many numbers the counts of all pairs of codes are, C J²."""
        J = sum(max(codes) + 1 for codes in maps)
        return int(self._cell_counts[0][0].shape[1] * J**2)


def within_budget(parents: Parents, sizes: np.ndarray, rows: int, classes: int) -> Parents:
    """The parents of every column, fewer if the counts of their combinations might not fit.

    A column and its parents have at most as many combinations as there are rows.
    """
    for most in range(max(map(len, parents), default=0), 0, -1):
        kept = tuple(found[:most] for found in parents)
        combinations = [
            min(rows, int(size) * prod(int(sizes[i]) for i in found))
            for size, found in zip(sizes, kept, strict=True)
        ]
        if sum(combinations) * classes <= CONTEXT_BUDGET:
            return kept
    return ((),) * len(parents)


def cell_codes(columns: tuple[CellColumn, ...], maps: Maps) -> CellCodes:
    """The codes of columns of cells. Missing has the last code of each column."""
    cells = np.array([column.size for column in columns])
    of_cell = np.fromiter(chain.from_iterable(maps), dtype=np.uint8, count=int(cells.sum()))
    start = np.concatenate([[0], np.cumsum(cells)[:-1]])
    sizes = np.maximum.reduceat(of_cell, start).astype(np.int64) + 1
    column = np.repeat(np.arange(len(columns)), cells)
    table = np.zeros((len(columns), CELLS), dtype=np.uint8)
    table[column, np.arange(len(of_cell)) - start[column]] = of_cell
    place = (np.cumsum(sizes) - sizes)[column] + of_cell
    width = np.bincount(place, np.concatenate([one.widths for one in columns]))
    log_widths = np.log(np.where(width > 0, width, 1.0))  # 0 for categories and missing
    listed = np.array([len(column.values) if column.declared else 0 for column in columns])
    return CellCodes(table, sizes, log_widths, cells, listed)


def _maps(columns: tuple[CellColumn, ...], counts: list[np.ndarray], bins: int | str) -> Maps:
    """For every column the code of each of its cells, from the counts (cells, C) of numbers."""
    out: list[tuple[int, ...]] = []
    for column, count in zip(columns, counts, strict=True):
        if not column.is_number:
            out.append(tuple(range(column.size)))
            continue
        codes = separating_bins(count) if bins == MDL else equal_bins(count.sum(axis=1), int(bins))
        out.append((*codes.tolist(), int(codes.max()) + 1))
    return tuple(out)
