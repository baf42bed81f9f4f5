"""Rows as lists of their non-zero cells: the row, the column or token, and the amount.

X[row_t, code_t] = amount_t,   t = 1 … m
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from verosim.data import Documents, SparseRows
from verosim.stats import Counts, Tokens
from verosim.stats.document_terms import document_terms


@dataclass(frozen=True)
class Occurrences:
    """The cells that are not zero, sorted by row."""

    rows: int
    row: np.ndarray  # (m,)
    code: np.ndarray  # (m,) the number of the column or token
    amount: np.ndarray  # (m,) NaN if missing

    def __getitem__(self, kept: np.ndarray) -> Occurrences:
        return Occurrences(self.rows, self.row[kept], self.code[kept], self.amount[kept])

    def times(self, table: np.ndarray) -> np.ndarray:
        """(rows, C) Σ amount · table[code] over the cells of each row; `table` is (K, C)."""
        ends = np.cumsum(np.bincount(self.row, minlength=self.rows))
        inside = self.amount, self.code, np.concatenate([[0], ends])
        found: np.ndarray = sparse.csr_array(inside, shape=(self.rows, len(table))) @ table
        return found

    def sums(self, values: np.ndarray) -> np.ndarray:
        """(rows,) or (rows, C) the sums over each row of values (m,) or (m, C) of the cells."""
        if values.ndim == 1:
            return np.bincount(self.row, values, minlength=self.rows)
        out = np.zeros((self.rows, values.shape[1]))
        if len(values):
            first = np.flatnonzero(np.diff(self.row, prepend=-1))
            out[self.row[first]] = np.add.reduceat(values, first, axis=0)
        return out


def occurrences(statistic: Counts | Tokens, block: Any) -> Occurrences:
    """The non-zero cells of a block; the amounts are ones if the statistic counts presence."""
    if isinstance(statistic, Tokens):
        return _of_texts(statistic, block)
    presence, threshold = statistic.what == "presence", np.float64(statistic.threshold)
    if isinstance(block, SparseRows):
        stored = block.stored
        row = np.repeat(np.arange(len(block)), np.diff(block.indptr))
        code, amount = block.indices[stored].astype(np.intp), block.data[stored]
        if presence:
            here = (amount > threshold) | np.isnan(amount)
            row, code, amount = row[here], code[here], amount[here]
    else:
        row, code = np.nonzero((block > threshold) | np.isnan(block) if presence else block)
        amount = block[row, code]
    amount = amount.astype(np.float64)
    if presence:
        amount[~np.isnan(amount)] = 1.0
    return Occurrences(len(block), row, code, amount)


def _of_texts(statistic: Tokens, block: Documents) -> Occurrences:
    found = document_terms(block, statistic.codes, statistic.tokenizer, statistic.weighting)
    row = np.repeat(np.arange(len(block)), np.diff(found.indptr))
    return Occurrences(len(block), row, found.indices.astype(np.intp), found.data)
