"""Chooses the leading terms of texts, by one pass over the texts without their labels.

    score_j = idf_j² Σ_i x_ij²,   idf_j = 1 + ln((1 + n) / (1 + df_j))

x_ij is the weight of term j in text i, where every text has the norm 1. df_j is the number of texts
with term j, and n is the number of texts. A choice by labels would let the held-out rows of a fold
influence the model. Reference: Manning, Raghavan & Schütze (2008), Introduction to Information
Retrieval, §6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes import Axes, Columns, Groups, Vocabulary
from verosim.data import ArraySource, Documents, Tokenizer
from verosim.data.stream import Chunk, TableSource
from verosim.data.tables import FIRST_LOOK_ROWS
from verosim.engines import ChunkWork, cluster_of, reduce_chunks, summarise
from verosim.stats import Tokens
from verosim.stats.codec import statistic_from_bytes, statistic_to_bytes
from verosim.stats.term_rows import TermMatrix

MOST_TERMS = 1 << 22  # with more terms in memory, the rarest are dropped
BYTES_AT_ONCE = 1 << 26  # of texts that are read before the number of terms is checked


def choose_terms(
    texts: Iterable[Documents] | TableSource, tokenizer: Tokenizer, most: int, min_count: float
) -> tuple[str, ...]:
    """The `most` terms with the highest scores that at least `min_count` texts have, sorted.

    With more than `MOST_TERMS` terms in memory, the terms that only one text has had so far are
    dropped, then those of two texts, and so on. Workers of a cluster do the same.
    """
    counting = _TermCounts(tokenizer.options)
    if isinstance(texts, TableSource):
        total = reduce_chunks(counting, texts)
    else:
        total = counting.joined(map(counting.of, texts))
    total = total.frequent(min_count)
    return _leading(
        total.codes, total.arrays["count"][0, 0], total.arrays["cells"][0], total.rows.sum(), most
    )


@dataclass(frozen=True)
class _TermCounts(ChunkWork):
    """Σ x² and the number of texts of each term, without labels."""

    options: dict[str, Any]  # of the tokenizer

    @property
    def plan(self) -> Any:
        """The sums of no texts."""
        axes = Axes(Groups(np.zeros(1, dtype=np.int64)), Columns(1))
        return Tokens(axes, weighting="squares", **self.options)

    def of(self, block: Documents) -> Any:
        """The sums of some texts."""
        groups = np.zeros(len(block), dtype=np.int32)
        return summarise(ArraySource(block, groups, raw=True), self.plan)

    def __call__(self, chunk: Chunk) -> Any:
        return self.of(chunk.batch().block)

    def joined(self, found: Iterable[Any]) -> Any:
        total, least = self.plan, 1
        for one in found:
            total = total + one
            while total.codes.size > MOST_TERMS:
                least += 1
                total = total.frequent(least)
        return total

    def packed(self, found: Any) -> bytes:
        return statistic_to_bytes(found)

    def unpacked(self, plain: bytes) -> Any:
        return statistic_from_bytes(plain)


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


def texts_to_count(source: ArraySource | TableSource) -> Iterable[Documents] | TableSource:
    """The texts of a source in this process; the source itself if its rows are on a cluster."""
    if isinstance(source, TableSource) and cluster_of(source) is not None:
        return source
    return _blocks_of(source)


def _blocks_of(source: ArraySource | TableSource) -> Iterator[Documents]:
    """The texts of a source without the rows of weight zero, some at a time.

    Of a source that can be read only once, these are the first rows.
    """
    if isinstance(source, TableSource):
        once = source.table.once
        for chunk in source.first(FIRST_LOOK_ROWS) if once else source.chunks():
            yield chunk.batch().block
        return
    texts: Any = source.X
    if len(source.weights):
        texts = texts[source.weights > 0]
    step = max(1, BYTES_AT_ONCE * max(len(texts), 1) // max(texts.size, 1))
    for start in range(0, len(texts), step):
        yield texts[start : start + step]
