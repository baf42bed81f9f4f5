"""The document–term matrix of some texts: how often each known token occurs in each text.

    X_ij = number of occurrences of token j in text i

It is computed with the `Tokens` statistic, with one class per text. A few texts at a time are read
into a small vocabulary. Its tokens are then looked up in the known vocabulary.
Reference: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, §6.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from verosim.axes import Axes, Columns, Groups, Hashed, TokenCodes, Vocabulary
from verosim.data import Batch, Documents, Tokenizer
from verosim.kernels.constants import STATE_SIZE
from verosim.stats.tokens import Tokens

# Texts that are read into one small vocabulary. More texts share more lookups, but need a wider
# table of counts.
TOGETHER = 16


def document_terms(
    documents: Documents, codes: TokenCodes, tokenizer: Tokenizer, presence: bool = False
) -> sparse.csr_array:
    """(n, K) how often each token of `codes` occurs in each text; with `presence`, 0 or 1.

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
        count = local.arrays["count"][:, 0]  # (texts, tokens of these texts)
        known = _numbers(codes, local.codes)  # (tokens of these texts,)
        text, token = np.nonzero(count * (known >= 0))
        rows.append(text + start)
        columns.append(known[token])
        amounts.append(count[text, token])
    at = np.concatenate(rows), np.concatenate(columns)
    shape = (len(documents), codes.size)
    out = sparse.coo_array((np.concatenate(amounts), at), shape=shape).tocsr()
    if presence:
        out.data[:] = 1.0  # also where several tokens have one bucket
    return out


def _numbers(codes: TokenCodes, tokens: TokenCodes) -> np.ndarray:
    """The code of each token, or −1 if the token is unknown."""
    assert isinstance(tokens, Vocabulary)
    if isinstance(codes, Hashed):
        return _buckets(codes, tokens)
    assert isinstance(codes, Vocabulary)
    return codes.find(tokens)


def _buckets(codes: Hashed, tokens: Vocabulary) -> np.ndarray:
    """The bucket of each token."""
    from verosim.kernels import vocabulary as compiled  # imported only when texts are hashed

    look_up: Any = compiled.look_up
    buckets, places, *vocabulary = codes.lookup()
    room, starts, ends = tokens.slices
    found = np.empty(tokens.size, dtype=np.int64)
    state, hashes = np.zeros(STATE_SIZE, dtype=np.int64), np.empty(tokens.size, dtype=np.uint64)
    look_up(
        room, starts, ends, tokens.size, 1, 1, buckets, False, *vocabulary, state, hashes, found
    )
    return places[found] if len(places) else found
