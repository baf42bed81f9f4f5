"""Texts in a pool: they are divided into n-grams once, for all experts that read them.

    ℓ_e = τ_e m^(−c_e) log p_e, normalised,   m = words of the text + 1

The words of a text repeat each other, so long texts need a lower temperature than short ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.data import Documents, Parts, Tokenizer
from verosim.data.schema import Schema
from verosim.estimators.text import AS_TEXTS, DocumentSpec
from verosim.pool.experts import Expert
from verosim.pool.rows import HeldOutPart, PoolRows
from verosim.stats.document_terms import text_lengths
from verosim.stats.term_rows import TermRows

MOST_TEXT_BYTES = 1 << 26  # of texts that are divided once; larger ones are read for each expert
WORDS = Tokenizer()


def are_documents(block: Any) -> bool:
    """Whether rows are texts."""
    return isinstance(block, Documents | TermRows)


def log_lengths(block: Any) -> np.ndarray | None:
    """(n,) log m of texts, or None if the rows are not texts."""
    if not are_documents(block):
        return None
    found: np.ndarray = np.log1p(text_lengths(block, WORDS))
    return found


def lengths_of(blocks: Parts, at: Any = slice(None)) -> dict[str, np.ndarray | None]:
    """By the way of reading, (n,) log m of some rows, or None if they are not texts."""
    return {
        reading: log_lengths(block[at]) if are_documents(block) else None
        for reading, block in blocks.items()
    }


def mean_bytes(rows: PoolRows | HeldOutPart) -> float:
    """The mean size of the texts, or 0 if there are none. Of many texts, the held-out ones."""
    some = rows if isinstance(rows, PoolRows) else rows.held
    texts = some.source.X.get(AS_TEXTS)
    if texts is not None and some.held is not None:
        texts = texts[some.held]
    return 0.0 if texts is None else texts.size / max(len(texts), 1)


def divided(rows: PoolRows | HeldOutPart, experts: Sequence[Expert]) -> PoolRows | HeldOutPart:
    """The same rows, with texts that are divided into n-grams if all of them are in memory."""
    ways = {e.spec.tokenization for e in experts if isinstance(e.spec, DocumentSpec)}
    if not ways or isinstance(rows, HeldOutPart):
        return rows
    texts = rows.source.X[AS_TEXTS]
    if texts.size > MOST_TEXT_BYTES:
        return rows
    block = Parts({**rows.source.X, AS_TEXTS: TermRows.of(texts, ways)})
    return replace(rows, source=replace(rows.source, X=block))


def completed(schema: Schema, rows: PoolRows | HeldOutPart, experts: Sequence[Expert]) -> Schema:
    """The schema with the choices of the experts that need all rows, but no labels."""
    some = rows if isinstance(rows, PoolRows) else rows.rest
    some = replace(some, source=some.source.without(None))
    for expert in experts:
        schema = expert.spec.complete(schema, some)
    return schema
