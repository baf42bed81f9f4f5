"""Chooses the leading terms of texts, by one pass over the texts without their labels.

    score_j = idf_j² Σ_i x_ij²,   idf_j = 1 + ln((1 + n) / (1 + df_j))

x_ij is the weight of term j in text i, where every text has the norm 1. df_j is the number of texts
with term j, and n is the number of texts. A choice by labels would let the held-out rows of a fold
influence the model. Reference: Manning, Raghavan & Schütze (2008), Introduction to Information
Retrieval, §6.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from verosim import engines
from verosim.axes import Axes, Columns, Groups, Vocabulary
from verosim.data import Documents, Tokenizer
from verosim.data.batch import Batch
from verosim.data.source import Chunk, RowSource
from verosim.data.visits import Visit
from verosim.stats import Tokens
from verosim.stats.codec import statistic_from_bytes, statistic_to_bytes
from verosim.stats.term_rows import TermMatrix

MOST_TERMS = 1 << 22  # with more terms in memory, the rarest are dropped
BYTES_AT_ONCE = 1 << 26  # of texts that are read before the number of terms is checked


def choose_terms(
    source: RowSource, tokenizer: Tokenizer, most: int, min_count: float
) -> tuple[str, ...]:
    """The `most` terms with the highest scores that at least `min_count` texts have, sorted.

    With more than `MOST_TERMS` terms in memory, the terms that only one text has had so far are
    dropped, then those of two texts, and so on. Of a source that can be read only once, the first
    rows are used.
    """
    total = engines.reduce(source.readable_again(), _TermCounts(tokenizer.options))
    total = total.frequent(min_count)
    return _leading(
        total.codes, total.arrays["count"][0, 0], total.arrays["cells"][0], total.rows.sum(), most
    )


@dataclass
class _TermCounts(Visit):
    """Σ x² and the number of texts of each term, without labels."""

    options: dict[str, Any]  # of the tokenizer
    least: int = 1  # texts that a term must have had so far

    def nothing(self) -> Any:
        axes = Axes(Groups(np.zeros(1, dtype=np.int64)), Columns(1))
        return Tokens(axes, weighting="squares", **self.options)

    def absorb(self, chunk: Chunk) -> None:
        for batch in chunk.batches():
            for texts in _in_parts(batch.block):
                self._add(Batch(texts, np.zeros(len(texts), dtype=np.int32)))

    def _add(self, batch: Batch) -> None:
        one = self.nothing()
        one.absorb(batch)
        self._take(one)

    def _take(self, one: Any) -> None:
        self.found = self.found + one
        while self.found.codes.size > MOST_TERMS:
            self.least += 1
            self.found = self.found.frequent(self.least)

    def merge(self, other: Self) -> None:
        self._take(other.found)

    def packed(self) -> bytes:
        return statistic_to_bytes(self.found)

    def unpacked(self, plain: bytes) -> Any:
        return statistic_from_bytes(plain)


def _in_parts(texts: Documents) -> Iterator[Documents]:
    """The texts, some at a time, so that the number of terms is checked."""
    step = max(1, BYTES_AT_ONCE * max(len(texts), 1) // max(texts.size, 1))
    for start in range(0, len(texts), step):
        yield texts[start : start + step]


def leading_terms(rows: TermMatrix, most: int, min_count: float) -> tuple[str, ...]:
    """The same terms, of texts that were divided into n-grams before."""
    used = rows.indices[rows.indptr[0] : rows.indptr[-1]]
    amounts = rows.data[rows.indptr[0] : rows.indptr[-1]]
    squares = np.bincount(used, amounts**2, rows.vocabulary.size)
    texts = rows.texts_with()
    kept = texts >= max(min_count, 1)
    return _leading(rows.vocabulary.keep(kept), squares[kept], texts[kept], len(rows), most)


def _leading(
    terms: Vocabulary, squares: np.ndarray, texts: np.ndarray, n: int, most: int
) -> tuple[str, ...]:
    """The `most` terms with the highest scores, sorted, from Σ x² and the texts with each term."""
    idf = 1 + np.log((1 + n) / (1 + texts))
    score = idf**2 * squares
    near = np.arange(len(score))
    if len(score) > most:
        near = np.flatnonzero(score >= np.partition(score, -most)[-most])
    names = {j: terms.token(j) for j in near.tolist()}
    order = sorted(names, key=lambda j: (-score[j], names[j]))[:most]
    return tuple(sorted(names[j] for j in order))
