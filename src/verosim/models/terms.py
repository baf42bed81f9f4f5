"""Chooses the leading terms of texts, by one pass over the texts without their labels.

    score_j = idf_j² Σ_i x_ij²,   idf_j = 1 + ln((1 + n) / (1 + df_j))

x_ij is the weight of term j in text i, where every text has the norm 1. df_j is the number of texts
with term j, and n is the number of texts. A choice by labels would let the held-out rows of a fold
influence the model. Reference: Manning, Raghavan & Schütze (2008), Introduction to Information
Retrieval, §6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from verosim.axes import Axes, Columns, Groups, Vocabulary
from verosim.data import ArraySource, Documents, Tokenizer
from verosim.data.clusters import check_is_here
from verosim.data.stream import TableSource
from verosim.engines import summarise
from verosim.kinds.look import FIRST_LOOK_ROWS
from verosim.stats import Tokens
from verosim.stats.term_rows import TermMatrix

MOST_TERMS = 1 << 22  # with more terms in memory, the rarest are dropped
BYTES_AT_ONCE = 1 << 26  # of texts that are read before the number of terms is checked


def choose_terms(
    blocks: Iterable[Documents], tokenizer: Tokenizer, most: int, min_count: float
) -> tuple[str, ...]:
    """The `most` terms with the highest scores that at least `min_count` texts have, sorted.

    With more than `MOST_TERMS` terms in memory, the terms that only one text has had so far are
    dropped, then those of two texts, and so on.
    """
    plan = Tokens(
        Axes(Groups(np.zeros(1, dtype=np.int64)), Columns(1)),
        weighting="squares",
        **tokenizer.options,
    )
    total: Any = plan
    least = 1
    for block in blocks:
        groups = np.zeros(len(block), dtype=np.int32)
        total = total + summarise(ArraySource(block, groups, raw=True), plan)
        while total.codes.size > MOST_TERMS:
            least += 1
            total = total.frequent(least)
    total = total.frequent(min_count)
    return _leading(
        total.codes, total.arrays["count"][0, 0], total.arrays["cells"][0], total.rows.sum(), most
    )


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


def blocks_of(source: ArraySource | TableSource) -> Iterator[Documents]:
    """The texts of a source without the rows of weight zero, some at a time.

    Of a source that can be read only once, these are the first rows.
    """
    if isinstance(source, TableSource):
        check_is_here(source.table, "The choice of the terms of texts")
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
