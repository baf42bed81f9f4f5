"""The document–term matrix of some texts: how often each known token occurs in each.

    X_ij = occurrences of token j in text i

It is the `Tokens` statistic with the texts themselves for classes, a few at a time: they are read
into a vocabulary of their own, and its tokens are looked up in the known one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from verosim.axes import Axes, Columns, Groups, Hashed, TokenCodes, Vocabulary
from verosim.data import Batch, Documents, Tokenizer
from verosim.kernels.constants import STATE_SIZE
from verosim.stats.tokens import Tokens

TOGETHER = (
    16  # texts read into one vocabulary: what they share is looked up once, the rest is narrow
)


def document_terms(
    documents: Documents, codes: TokenCodes, tokenizer: Tokenizer, presence: bool = False
) -> sparse.csr_array:
    """(n, K) how often, or with `presence` whether, each token of `codes` occurs in each text.

    Examples
    --------
    >>> words = Vocabulary.of(["spam", "ham"])
    >>> texts = Documents.of(["ham and spam, ham", "eggs"])
    >>> document_terms(texts, words, Tokenizer()).toarray()
    array([[1., 2.],
           [0., 0.]])
    """
    rows, columns, amounts = [np.empty(0, np.intp)], [np.empty(0, np.intp)], [np.empty(0)]
    for start in range(0, len(documents), TOGETHER):
        some = documents[start : start + TOGETHER]
        numbers = np.arange(len(some), dtype=np.int32)
        local = Tokens(
            Axes(Groups(numbers), Columns(1)), ngrams=tokenizer.ngrams,
            lowercase=tokenizer.lowercase, presence=presence,
        )  # fmt: skip
        local.absorb(Batch(some, numbers, numbers=range(some.first, some.first + len(some))))
        count = local.arrays["count"][:, 0]  # (texts, tokens here)
        known = _numbers(codes, local.codes)  # (tokens here,)
        text, token = np.nonzero(count * (known >= 0))
        rows.append(text + start)
        columns.append(known[token])
        amounts.append(count[text, token])
    at = np.concatenate(rows), np.concatenate(columns)
    shape = (len(documents), codes.size)
    out = sparse.coo_array((np.concatenate(amounts), at), shape=shape).tocsr()
    if presence:
        out.data[:] = 1.0  # of several tokens in one bucket too
    return out


def _numbers(codes: TokenCodes, tokens: TokenCodes) -> np.ndarray:
    """The code of every token, −1 for one that is unknown."""
    assert isinstance(tokens, Vocabulary)
    if isinstance(codes, Hashed):
        return _buckets(codes, tokens)
    assert isinstance(codes, Vocabulary)
    return codes.find(tokens)


def _buckets(codes: Hashed, tokens: Vocabulary) -> np.ndarray:
    """The bucket every token falls into."""
    from verosim.kernels import vocabulary as compiled  # loaded when the first hashed text comes

    look_up: Any = compiled.look_up
    buckets, places, *vocabulary = codes.lookup()
    room, starts, ends = tokens.slices
    found = np.empty(tokens.size, dtype=np.int64)
    state, hashes = np.zeros(STATE_SIZE, dtype=np.int64), np.empty(tokens.size, dtype=np.uint64)
    look_up(
        room, starts, ends, tokens.size, 1, 1, buckets, False, *vocabulary, state, hashes, found
    )
    return places[found] if len(places) else found
