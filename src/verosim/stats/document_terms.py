"""The document–term matrix of some texts: the amount of each known token in each text.

    X_ij = amount of token j in text i

The texts are read in one compiled pass. Unknown tokens have no column, but they are part of the
norm of an amount with weighting="l2".

A text also has a length, its number of words or of characters.
Reference: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, §6.2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from verosim import kernels
from verosim.axes import TokenCodes, Vocabulary
from verosim.data import Documents, Tokenizer
from verosim.data.tokens import WEIGHTINGS, Tables
from verosim.kernels.constants import NO_ROOM, STATE_SIZE, WHY
from verosim.stats.growing import longer
from verosim.stats.term_rows import TermRows

TextPlace = Callable[[int], str]  # the place of the i-th text in the user's table, for messages

BYTES_PER_TERM = 16  # of a text; a first estimate of the room that is needed


def document_terms(
    documents: Documents | TermRows,
    codes: TokenCodes,
    tokenizer: Tokenizer,
    weighting: str = "counts",
    place: TextPlace | None = None,
) -> sparse.csr_array:
    """(n, K) the amount of each token of `codes` in each text: "counts", "presence" or "l2".

    Examples
    --------
    >>> from verosim.axes import Vocabulary
    >>> words = Vocabulary.of(["spam", "ham"])
    >>> texts = Documents.of(["ham and spam, ham", "eggs"])
    >>> document_terms(texts, words, Tokenizer()).toarray()
    array([[1., 2.],
           [0., 0.]])
    """
    if isinstance(documents, TermRows):
        if weighting == "l2" and isinstance(codes, Vocabulary):
            return documents.matrix(tokenizer).known(codes).as_csr()
        documents = documents.documents
    n = len(documents)
    buckets, places, *vocabulary = codes.lookup()
    state = np.zeros(STATE_SIZE, dtype=np.int64)
    starts = np.zeros(n + 1, dtype=np.int64)
    found = np.empty(documents.size // BYTES_PER_TERM + 64, dtype=np.int64)
    amounts = np.empty(len(found))

    def work(some: Documents, first: int, by: Tables) -> tuple[int, int]:
        nonlocal found, amounts
        room = tokenizer.room(some, weighed=True)
        read, why = 0, NO_ROOM
        while why == NO_ROOM:
            read = kernels.term_rows(
                some.data, some.offsets, read, by.ascii, by.points, *tokenizer.ngrams,
                tokenizer.characters or None, WEIGHTINGS[weighting], buckets, places, False,
                *vocabulary, state, starts[first : first + len(some) + 1], found, amounts, *room,
            )  # fmt: skip
            why = int(state[WHY])
            if why == NO_ROOM:
                more = 2 * len(found) + len(room[-1])
                found, amounts = longer(found, more), longer(amounts, more)
        return int(read), why

    tokenizer.visit(documents, work, place)
    used = starts[-1]
    out = sparse.csr_array((amounts[:used], found[:used], starts), shape=(n, codes.size))
    out.sum_duplicates()  # several tokens can have one bucket
    if weighting == "presence":
        out.data[:] = 1.0
    return out


def text_lengths(documents: Documents | TermRows, tokenizer: Tokenizer) -> np.ndarray:
    """(n,) the number of words of each text, or of characters if the n-grams are of characters.

    Examples
    --------
    >>> text_lengths(Documents.of(["ham and spam, ham", "", "eggs"]), Tokenizer())
    array([4., 0., 1.])
    """
    if isinstance(documents, TermRows):
        documents = documents.documents
    out, state = np.empty(len(documents)), np.zeros(STATE_SIZE, dtype=np.int64)

    def work(some: Documents, first: int, by: Tables) -> tuple[int, int]:
        scratch, starts, ends, *_ = tokenizer.room(some)
        read = kernels.measure_texts(
            some.data, some.offsets, by.ascii, by.points, tokenizer.characters or None,
            out[first : first + len(some)], state, scratch, starts, ends,
        )  # fmt: skip
        return int(read), int(state[WHY])

    tokenizer.visit(documents, work)
    return out
