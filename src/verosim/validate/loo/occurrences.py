"""Rows as lists of what occurs in them: column or token numbers and amounts, row after row.

A text is read into a vocabulary of its own with a few of its neighbours, and those tokens are
looked up in the statistic's: no document–term matrix wider than the texts at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from verosim.axes import Axes, Groups, Hashed, Vocabulary
from verosim.axes.vocabulary import STATE
from verosim.data import Batch, Documents, SparseRows
from verosim.stats import Counts, Tokens

TOGETHER = 16  # texts read into one vocabulary: what they share is found once, the rest is narrow


@dataclass(frozen=True)
class Occurrences:
    """Cells that are not zero, in the order of the rows."""

    rows: int
    row: np.ndarray  # (m,)
    code: np.ndarray  # (m,) column or token
    amount: np.ndarray  # (m,) NaN where missing

    def __getitem__(self, kept: np.ndarray) -> Occurrences:
        return Occurrences(self.rows, self.row[kept], self.code[kept], self.amount[kept])

    def times(self, table: np.ndarray) -> np.ndarray:
        """(rows, C) Σ amount · table[code] over the cells of each row, table (K, C)."""
        ends = np.cumsum(np.bincount(self.row, minlength=self.rows))
        inside = self.amount, self.code, np.concatenate([[0], ends])
        found: np.ndarray = sparse.csr_array(inside, shape=(self.rows, len(table))) @ table
        return found

    def sums(self, values: np.ndarray) -> np.ndarray:
        """(rows,) or (rows, C): values of the cells summed by row."""
        if values.ndim == 1:
            return np.bincount(self.row, values, minlength=self.rows)
        out = np.zeros((self.rows, values.shape[1]))
        if len(values):
            first = np.flatnonzero(np.diff(self.row, prepend=-1))
            out[self.row[first]] = np.add.reduceat(values, first, axis=0)
        return out


def occurrences(statistic: Counts | Tokens, block: Any) -> Occurrences:
    """What occurs in the rows of a block: amounts, or ones where presence is what counts."""
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
    rows, codes, amounts = [], [], []
    for start in range(0, len(block), TOGETHER):
        some = block[start : start + TOGETHER]
        groups = np.arange(len(some), dtype=np.int32)
        local = Tokens(Axes(Groups(groups), statistic.axes.columns), **statistic.options)
        local.absorb(Batch(some, groups))
        count = local.arrays["count"][:, 0]  # (texts, tokens here)
        row, token = np.nonzero(count)
        known = _numbers(statistic, local)[token]
        kept = known >= 0
        rows.append(row[kept] + start)
        codes.append(known[kept])
        amounts.append(count[row, token][kept])
    nothing = np.empty(0, dtype=np.intp)
    row, code = (np.concatenate([nothing, *parts]) for parts in (rows, codes))
    amount = np.concatenate([np.empty(0), *amounts])
    if isinstance(statistic.codes, Hashed):  # several tokens may share a bucket
        shape = (len(block), statistic.codes.size)
        one = sparse.coo_array((amount, (row, code)), shape=shape).tocsr()
        row, code = np.repeat(np.arange(len(block)), np.diff(one.indptr)), one.indices
        amount = np.ones(len(one.data)) if statistic.presence else one.data
    return Occurrences(len(block), row, code.astype(np.intp), amount)


def _numbers(statistic: Tokens, local: Tokens) -> np.ndarray:
    """The numbers in the statistic of the tokens met here, −1 for one it does not know."""
    codes, here = statistic.codes, local.codes
    assert isinstance(here, Vocabulary)
    if isinstance(codes, Vocabulary):
        return codes.find(here)
    assert isinstance(codes, Hashed)
    return _buckets(codes, here)


def _buckets(codes: Hashed, tokens: Vocabulary) -> np.ndarray:
    """The bucket every token falls into."""
    from verosim.kernels import vocabulary as compiled  # loaded when the first hashed text comes

    look_up: Any = compiled.look_up
    buckets, places, *vocabulary = codes.lookup()
    room, starts, ends = tokens.slices
    found = np.empty(tokens.size, dtype=np.int64)
    state, hashes = np.zeros(STATE, dtype=np.int64), np.empty(tokens.size, dtype=np.uint64)
    look_up(
        room, starts, ends, tokens.size, 1, 1, buckets, False, *vocabulary, state, hashes, found
    )
    return places[found] if len(places) else found
