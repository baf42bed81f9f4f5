"""Counts: how often each code occurs, per class and fold.

    rows = number of rows,   weight = Σ w,   count_j = Σ w a_j

where a_j is 1 if the row has code j and 0 otherwise, or the amount of code j in the row. Codes are
categories or bins (what="codes"), columns with a value above a threshold (what="presence"), or
columns with an amount, such as token counts (what="amount").
Reference: McCallum & Nigam (1998), A comparison of event models for naive Bayes text
classification, AAAI-98 Workshop on Learning for Text Categorization.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import (
    Axes,
    Bins,
    CappedCategories,
    Categories,
    CellCodes,
    CodedColumns,
    JointBins,
)
from verosim.axes.codes import are_plain_integers
from verosim.data import Batch, SparseRows
from verosim.data.batch import BLOCK_CELLS
from verosim.errors import VerosimError
from verosim.stats.arrays import ArrayStatistic
from verosim.stats.bad_cell import bad_cell
from verosim.stats.fields import BASE_FIELDS, Field, G
from verosim.stats.forgetting import RESIDUE, existing_codes, settle_cells
from verosim.stats.state import restorable

MOST_TALLIED = (1 << 31) - 1  # rows that a counter of 32 bits can count
SMALL_COUNTERS = 4  # with fewer counts per stored cell, counters of 16 bits are faster
MOST_COUNTERS = 1 << 20  # largest table (integers × groups) that is counted directly

COUNT_FIELDS = {
    "codes": {
        **BASE_FIELDS,
        "count": Field((*G, "code")),
        # The number of rows, in addition to the weights. It alone decides whether a code exists.
        "cells": Field(("fold", "code"), "rows"),
        # Categories with a smaller count may have been removed. Decay multiplies it.
        "pruned": Field((), "peak"),
    },
    "presence": {**BASE_FIELDS, "count": Field((*G, "column")), "missing": Field((*G, "column"))},
    "amount": {**BASE_FIELDS, "count": Field((*G, "column"))},
}


@restorable
class Counts(ArrayStatistic):
    """Counts of codes; `what` is "codes", "presence" (x > threshold) or "amount"."""

    def __init__(
        self,
        axes: Axes,
        arrays: dict[str, np.ndarray] | None = None,
        lows: dict[str, np.ndarray] | None = None,
        *,
        what: str = "codes",
        threshold: float = 0.0,
    ) -> None:
        self.what, self.threshold = what, threshold
        super().__init__(axes, arrays, lows)

    @property
    def fields(self) -> dict[str, Field]:
        return COUNT_FIELDS[self.what]

    @property
    def options(self) -> dict[str, Any]:
        return {"what": self.what, "threshold": self.threshold}

    @property
    def sums_of(self) -> str:
        if self.what != "codes":
            return "presence" if self.what == "presence" else "amounts"
        if isinstance(self.axes.codes, JointBins):
            return "joint"
        return "bins" if isinstance(self.axes.codes, Bins) else "categories"

    @property
    def can_narrow(self) -> bool:
        return self.sums_of != "joint"

    def prepare(self, batch: Batch) -> None:
        """Add the codes of the first rows, so that all workers start from the same codes."""
        if self.what == "codes":
            self._widen(batch.block[: max(1, BLOCK_CELLS // batch.block.shape[1])])

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        if self.what == "codes":
            self._absorb_codes(batch)
        else:
            self._absorb_columns(batch)

    def _absorb_codes(self, batch: Batch) -> None:
        if isinstance(batch.block, CodedColumns):
            self._absorb_words(batch)
            return
        step = max(1, BLOCK_CELLS // batch.block.shape[1])
        start = self._count_whole_numbers(batch)
        while start < len(batch):
            part = batch.cut(start, min(len(batch), start + step))
            assert self.axes.codes is not None
            self._check_numbers(part)
            codes, unknown = self.axes.codes.encode(part.block)
            if unknown:  # look at as many rows as before, so that n new values cost O(n)
                stop = min(len(batch), start + max(step, start))
                self._widen(batch.cut(start, stop).block)
                codes, unknown = self.axes.codes.encode(part.block)
                assert not unknown
            kernels.count_codes(
                codes, part.groups, part.weights, self.axes.groups.folds,
                *self._sums(), self.arrays["cells"],
            )  # fmt: skip
            start = self._count_whole_numbers(batch, start + len(part))

    def _absorb_words(self, batch: Batch) -> None:
        """Columns of words: count by position in the word lists of the batch, then by code."""
        assert isinstance(self.axes.codes, CappedCategories)
        tables, unknown = self.axes.codes.tables(batch.block)
        if unknown:
            self._widen(batch.block)
            assert isinstance(self.axes.codes, CappedCategories)
            tables, unknown = self.axes.codes.tables(batch.block)
            assert not unknown
        rows, _, count = self._sums()
        for index, table in zip(batch.block.indexes, tables, strict=True):
            tally = np.zeros((len(rows), len(table)))  # (G, words)
            cells = np.zeros((self.axes.groups.folds, len(table)), dtype=np.int64)  # (F, words)
            kernels.tally_words(
                index, batch.groups, batch.weights, self.axes.groups.folds, tally, cells
            )
            known = np.flatnonzero((table >= 0) & cells.any(axis=0))
            at = table[known]
            for array, added in ((count, tally), (self.arrays["cells"], cells)):
                np.add.at(array.T, at, added[:, known].T)  # several words can have one code
        self.count_rows(batch)

    def _count_whole_numbers(self, batch: Batch, start: int = 0) -> int:
        """Fast path for small integers: count rows from `start`; return the first row not counted.

        Rows are counted by value. The counts are assigned to codes once, at the end.
        """
        numbers = batch.block.dtype.kind in "iuf" and not len(batch.weights)
        if not numbers or not isinstance(self.axes.codes, Categories):
            return start
        if not self.axes.codes.size:
            self.prepare(batch)
        codes = self.axes.codes
        if not codes.size or codes.table is None:
            return start
        low, offset, table = codes.table
        groups = self.rows.size
        if groups * len(table) > MOST_COUNTERS:
            return start
        tally = np.zeros((groups, len(table)), dtype=np.int32)  # (G, integers)
        rows = np.zeros(groups, dtype=np.int64)  # (G,)
        block = batch.block[: start + MOST_TALLIED]
        given = block, low, offset, batch.groups, start, rows, tally
        if are_plain_integers(block):
            stop = int(kernels.tally_integers(*given))
        else:
            stop = int(kernels.tally_whole_numbers(*given))
        if stop == start:
            return stop
        seen = np.flatnonzero(tally.any(axis=0))
        if (table[seen] < 0).any():  # integers between the known ones
            column = np.searchsorted(offset, seen, side="right") - 1
            block = np.full((len(seen), len(low)), np.nan)  # (integers, d)
            block[np.arange(len(seen)), column] = seen - offset[column] + low[column]
            self._widen(block)
            assert isinstance(self.axes.codes, Categories)
            block_codes, _ = self.axes.codes.encode(block)
            at = block_codes[np.arange(len(seen)), column]
        else:
            at = table[seen]
        self.by_group("count")[:, at] += tally[:, seen]
        folds = self.axes.groups.folds
        by_fold = tally[:, seen].reshape(groups // folds, folds, len(seen)).sum(axis=0)
        self.arrays["cells"][:, at] += by_fold
        self.by_group("rows")[...] += rows
        self.by_group("weight")[...] += rows
        return stop

    def _sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arrays rows (G,), weight (G,) and count (G, …) for the kernels."""
        return self.by_group("rows"), self.by_group("weight"), self.by_group("count")

    def _check_numbers(self, batch: Batch) -> None:
        """Bins need finite numbers; the cells of a joint histogram also need complete rows."""
        if isinstance(self.axes.codes, Categories):
            return
        block = batch.block
        bad = np.isinf(block) if isinstance(self.axes.codes, Bins) else ~np.isfinite(block)
        if bad.any():
            i, j = (int(v) for v in np.argwhere(bad)[0])
            raise bad_cell(
                self.axes, batch, i, j, "a joint histogram needs complete rows",
                "Use HistogramNB, which skips missing cells, or drop the rows with missing values.",
            )  # fmt: skip

    def _widen(self, block: np.ndarray) -> None:
        assert self.axes.codes is not None
        codes = self.axes.codes.widened(block)
        if codes is not self.axes.codes:
            wider = self.align(self.axes.with_codes(codes))
            self.axes, self.arrays, self.lows = wider.axes, wider.arrays, wider.lows

    def _absorb_columns(self, batch: Batch) -> None:
        rows, _, count = self._sums()
        before = count.copy() if rows.any() else None
        odd = self._count_columns(batch, count, careful=False)
        stored = batch.block.data if isinstance(batch.block, SparseRows) else batch.block
        finite = self.what == "presence" or stored.dtype.kind in "iu"
        if odd or not (finite or np.isfinite(count.sum())):
            self._note_odd_cells(batch)
            if self.what == "amount":  # a missing amount made the sums NaN: count again without it
                count[...] = 0.0 if before is None else before
                self._count_columns(batch, count, careful=True)
        self.count_rows(batch)

    def _count_columns(self, batch: Batch, count: np.ndarray, careful: bool) -> bool:
        block, presence = batch.block, self.what == "presence"
        rest = (batch.groups, batch.weights, presence, self.threshold, careful, count)
        if isinstance(block, SparseRows):
            rows = block.data, block.indices, block.indptr
            stored = int(block.indptr[-1] - block.indptr[0])
            if presence and not len(batch.weights) and count.size < SMALL_COUNTERS * stored:
                tally = np.zeros(count.shape, dtype=np.uint16)  # (G, d)
                return kernels.count_present(*rows, batch.groups, self.threshold, tally, count)
            return kernels.count_sparse(*rows, *rest)
        return kernels.count_dense(block, *rest)

    def _note_odd_cells(self, batch: Batch) -> None:
        """Count the missing cells; raise an error for a cell that is negative or infinite."""
        block = batch.block
        if isinstance(block, SparseRows):
            stored = block.data[block.indptr[0] : block.indptr[-1]]
            columns = block.indices[block.indptr[0] : block.indptr[-1]]
            row_of = np.repeat(np.arange(len(block)), np.diff(block.indptr))
        else:
            stored = block.ravel()
            row_of, columns = (v.ravel() for v in np.indices(block.shape))
        wrong = np.isinf(stored) if self.what == "presence" else np.isinf(stored) | (stored < 0)
        if wrong.any():
            t = int(np.flatnonzero(wrong)[0])
            i, j, value = int(row_of[t]), int(columns[t]), stored[t]
            if np.isinf(value):
                raise bad_cell(self.axes, batch, i, j)
            raise VerosimError(
                f"Negative values in data passed to a model of counts: got {value:g} in column "
                f"{self.axes.columns.name(j)!r}, {batch.place(i)}, class "
                f"{self.axes.groups.name(int(batch.groups[i]))}.",
                "Use GaussianNB or HistogramNB for columns with negative numbers.",
            )
        if self.what == "presence":
            missing = np.flatnonzero(np.isnan(stored))
            w = batch.weights[row_of[missing]] if len(batch.weights) else 1.0
            at = batch.groups[row_of[missing]], columns[missing]
            np.add.at(self.by_group("missing"), at, w)

    # Rare categories ---------------------------------------------------------------------

    @property
    def has_values(self) -> bool:
        return self.what == "codes" and isinstance(self.axes.codes, Categories)

    def pruned(self, min_count: float) -> Self:
        """The statistic without rare categories. Their cells count as missing.

        It stores the threshold, so that rows with removed categories can still be forgotten.
        """
        if not self.has_values:
            return self
        kept = self.arrays["count"].sum(axis=(0, 1)) >= min_count * (1 - RESIDUE)
        out = self.copy() if kept.all() else self.keep("code", kept)
        np.maximum(out.arrays["pruned"], float(min_count), out=out.arrays["pruned"])
        return out

    def without(self, part: Self) -> Self:
        if self.has_values and self.arrays["pruned"] > 0:
            part = self._remembered(part)
        return super().without(part)

    def _remembered(self, part: Self) -> Self:
        """The part of another statistic that can still be subtracted after pruning.

        A removed category is not in this statistic any more. If it occurred again later, its count
        is too small by less than the threshold.
        """
        mine, theirs = self.on_common_axes(part)
        out = theirs.copy()
        count, cells = out.arrays["count"], out.arrays["cells"]
        excess = np.maximum(count - mine.arrays["count"], 0.0)
        light = excess.sum(axis=(0, 1)) < self.arrays["pruned"]  # (K,)
        np.subtract(count, excess, out=count, where=light)
        np.minimum(cells, mine.arrays["cells"], out=cells, where=light)
        return out

    def settle_rows(self, before: Self) -> None:
        super().settle_rows(before)
        if self.what == "codes":
            settle_cells(self, before)

    def cleared(self) -> Self:
        out = super().cleared()
        if out.what != "codes" or isinstance(out.axes.codes, Bins):  # bins are never removed
            return out
        kept = existing_codes(out)
        if kept.all() or isinstance(out.axes.codes, CellCodes):  # the codes of cells are fixed
            return out
        return out.keep("code", kept)
