"""The statistic of rows that belong to several classes, with a share for each class.

    T_k = Σ_i r_ik T(x_i),   r (n, C) the shares

One pass over the rows gives the statistic of all classes. Texts are split into tokens only once.
After that, a pass is the matrix product rᵀ X, with X the document–term matrix.
Reference: Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled
documents using EM.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import iadd
from typing import Any

import numpy as np
from scipy import sparse

from verosim.data import Documents
from verosim.data.sources import rows_in_every_class, rows_in_memory
from verosim.engines import summarise
from verosim.stats import Statistic, Tokens
from verosim.stats.document_terms import document_terms

SoftStatistic = Callable[[np.ndarray], Statistic]  # shares (n, C) → the statistic of all rows


def soft_statistic(plan: Statistic, blocks: list[Any], raw: bool) -> SoftStatistic:
    """The function from shares (n, C) to the statistic of the rows in these blocks.

    `plan` is the zero statistic. `raw` passes the values without checks or conversions.
    """
    parts = {
        name: _of_part(part, [block[name] if name else block for block in blocks], raw)
        for name, part in plan.named_parts()
    }
    return lambda share: plan.map_parts(lambda name: parts[name](share))


def _of_part(plan: Any, blocks: list[Any], raw: bool) -> SoftStatistic:
    """The function for one part of the statistic."""
    if plan.sums_of == "tokens":
        return _of_texts(plan, blocks)
    stops = np.cumsum([block.shape[0] for block in blocks])[:-1]

    def by_passes(share: np.ndarray) -> Statistic:
        pieces = zip(blocks, np.split(share, stops), strict=True)
        return reduce(iadd, (summarise(rows_in_every_class(*piece, raw), plan) for piece in pieces))

    return by_passes


def _of_texts(plan: Tokens, blocks: list[Documents]) -> SoftStatistic:
    """The counts Xᵀ r; the document–term matrix X (n, K) is computed once."""
    whole: Any = plan.zero()
    for block in blocks:
        groups = np.zeros(len(block), dtype=np.int32)
        whole += summarise(rows_in_memory(block, groups, raw=True), plan)
    X = sparse.vstack(
        [document_terms(block, whole.codes, plan.tokenizer, plan.weighting) for block in blocks]
    ).tocsr()

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
