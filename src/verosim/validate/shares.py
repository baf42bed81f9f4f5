"""The statistic of rows that belong to every class at once, to each by a share.

    T_c = Σ_i r_ic T(x_i),   r (n, C)

One pass over the rows serves all classes. Texts are split into tokens once, and every later pass
is a product of matrices, rᵀ X with X the document–term matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import iadd
from typing import Any

import numpy as np
from scipy import sparse

from verosim.axes import Axes, Groups, Vocabulary
from verosim.data import ArraySource, Batch, Documents
from verosim.engines import summarise
from verosim.stats import Product, Statistic, Tokens

TOGETHER = 64  # documents whose tokens are counted side by side

Shared = Callable[[np.ndarray], Statistic]


def shared(plan: Statistic, blocks: list[Any], raw: bool) -> Shared:
    """The function from shares (n, C) to the statistic of the rows in these blocks.

    `plan` is the zero to start from; `raw` leaves values as they are.
    """
    if isinstance(plan, Product):
        parts = {
            name: shared(part, [block[name] for block in blocks], raw)
            for name, part in plan.parts.items()
        }
        return lambda share: plan.with_parts({name: part(share) for name, part in parts.items()})
    if isinstance(plan, Tokens) and isinstance(plan.codes, Vocabulary):
        return _of_texts(plan, blocks)
    stops = np.cumsum([block.shape[0] for block in blocks])[:-1]

    def by_passes(share: np.ndarray) -> Statistic:
        pieces = zip(blocks, np.split(share, stops), strict=True)
        return reduce(iadd, (summarise(_Everywhere(*piece, raw), plan) for piece in pieces))

    return by_passes


class _Everywhere(ArraySource):
    """Every row in every class, weighted by its share; rows whose share is zero are left out."""

    def __init__(self, X: Any, share: np.ndarray, raw: bool) -> None:
        super().__init__(X, np.zeros(len(share), dtype=np.int32), raw=raw)
        self.share = np.ascontiguousarray(share.T)  # (C, n)

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        for c, weights in enumerate(self.share):
            one = ArraySource(self.X, self.groups + np.int32(c), weights, raw=self.raw)
            yield from one.batches(start, stop)


def _of_texts(plan: Tokens, blocks: list[Documents]) -> Shared:
    """count = Xᵀ r, the document–term matrix X (n, K) made once."""
    whole: Any = plan.zero()
    for block in blocks:
        whole += summarise(ArraySource(block, np.zeros(len(block), dtype=np.int32), raw=True), plan)
    X = _document_terms(whole, blocks)

    def by_product(share: np.ndarray) -> Statistic:
        count = X.T @ share  # (K, C)
        arrays = {
            "rows": (share > 0).sum(axis=0)[:, None],
            "weight": share.sum(axis=0)[:, None],
            "count": count[:, :, None].transpose(1, 2, 0),
            "cells": whole.arrays["cells"],
            "pruned": whole.arrays["pruned"],
        }
        return whole.like(whole.axes, arrays, {})

    return by_product


def _document_terms(whole: Tokens, blocks: list[Documents]) -> sparse.csr_array:
    """(n, K) how often each token of `whole` occurs in each text.

    It is the same statistic with the texts themselves for classes, a few at a time.
    """
    assert isinstance(whole.codes, Vocabulary)
    rows, columns, counts = [], [], []
    first = 0
    for block in blocks:
        for start in range(0, len(block), TOGETHER):
            some = block[start : start + TOGETHER]
            numbers = np.arange(len(some), dtype=np.int32)
            one = Tokens(Axes(Groups(numbers), whole.axes.columns), **whole.options)
            one.absorb(Batch(some, numbers))
            assert isinstance(one.codes, Vocabulary)
            code = whole.codes.find(one.codes)  # (tokens here,)
            count = one.arrays["count"][:, 0].T  # (tokens here, texts)
            token, text = np.nonzero(count * (code >= 0)[:, None])
            rows.append(text + (first + start))
            columns.append(code[token])
            counts.append(count[token, text])
        first += len(block)
    at = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.concatenate(counts), at), shape=(first, whole.codes.size))
