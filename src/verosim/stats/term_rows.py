"""Texts that were divided into n-grams once, for several models of the same texts.

    row of a text = (code of an n-gram, its amount x = (1 + ln tf) / norm) for each of its n-grams

tf is how often the n-gram occurs in the text, and every row has the norm 1. Models count and score
these rows instead of the texts. Single words are part of the rows of words and pairs, so both views
need one reading of the texts.
Reference: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, §6.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from verosim import kernels
from verosim.axes import Vocabulary
from verosim.cached import cached_property
from verosim.data import Documents, Tokenizer
from verosim.data.tokens import WEIGHTINGS, Tables
from verosim.kernels.constants import NO_ROOM, WHY
from verosim.stats.growing import longer
from verosim.stats.tally import Tally

BETWEEN_WORDS = 32  # the byte between the words of an n-gram
BYTES_PER_NEW_TERM = 4  # of a text; a first estimate of the room that is needed


@dataclass(frozen=True, eq=False)
class TermMatrix:
    """The n-grams of n texts as CSR rows. Every row has the norm 1, or no n-grams."""

    vocabulary: Vocabulary
    indptr: np.ndarray  # (n + 1,) int64; it may start above 0
    indices: np.ndarray  # (nnz,) int32 codes of the vocabulary
    data: np.ndarray  # (nnz,) amounts
    # The last vocabulary of `known` and the places there, shared by all parts of the rows.
    last: list[tuple[Vocabulary, np.ndarray]] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: Any) -> TermMatrix:
        """Some rows. A slice shares the memory."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            return replace(self, indptr=self.indptr[start : max(stop, start) + 1])
        rows = np.arange(len(self))[rows]
        size = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(size)])
        at = np.repeat(self.indptr[rows] - indptr[:-1], size) + np.arange(indptr[-1])
        return TermMatrix(self.vocabulary, indptr, self.indices[at], self.data[at], self.last)

    def known(self, terms: Vocabulary) -> TermMatrix:
        """The same rows with the n-grams of another vocabulary only. The amounts stay."""
        if terms is self.vocabulary:
            return self
        known, places = self.last[0] if self.last else (None, None)
        if known is not terms or places is None:
            places = terms.find(self.vocabulary)
            self.last[:] = [(terms, places)]
        return self.placed(places, terms)

    def placed(self, places: np.ndarray, terms: Vocabulary) -> TermMatrix:
        """The same rows with other codes. N-grams with a negative place are left out."""
        first, last = self.indptr[0], self.indptr[-1]
        found = places.astype(np.int32)[self.indices[first:last]]
        kept = found >= 0
        upto = np.concatenate([[0], np.cumsum(kept)])
        return TermMatrix(
            terms, upto[self.indptr - first], found[kept], self.data[first:last][kept]
        )

    def normalised(self) -> TermMatrix:
        """The same rows with the norm 1."""
        first, last = self.indptr[0], self.indptr[-1]
        data = self.data[first:last]
        row = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        norm = np.sqrt(np.bincount(row, data**2, minlength=len(self)))
        return TermMatrix(
            self.vocabulary, self.indptr - first, self.indices[first:last], data / norm[row]
        )

    def words(self) -> TermMatrix:
        """The rows of single words, of rows that also have pairs of words."""
        terms = self.vocabulary
        single = np.ones(terms.size, dtype=bool)
        spaces = np.flatnonzero(terms.arena == BETWEEN_WORDS)
        single[np.searchsorted(terms.bounds, spaces, side="right") - 1] = False
        places = np.where(single, np.cumsum(single) - 1, -1)
        return self.placed(places, terms.keep(single)).normalised()

    def texts_with(self) -> np.ndarray:
        """(K,) the number of texts with each n-gram."""
        used = self.indices[self.indptr[0] : self.indptr[-1]]
        return np.bincount(used, minlength=self.vocabulary.size)

    def as_csr(self) -> sparse.csr_array:
        """(n, K) the rows as a sparse array."""
        first, last = self.indptr[0], self.indptr[-1]
        parts = self.data[first:last], self.indices[first:last], self.indptr - first
        return sparse.csr_array(parts, shape=(len(self), self.vocabulary.size))

    @property
    def nbytes(self) -> int:
        return self.indptr.nbytes + self.indices.nbytes + self.data.nbytes


@dataclass(frozen=True, eq=False)
class TermRows:
    """n texts, with the rows of their n-grams for each way to divide a text."""

    whole: Documents
    matrices: dict[Tokenizer, TermMatrix]  # of all texts
    at: Any = None  # the numbers of the n texts, or a slice; None for all texts
    taken: dict[Tokenizer, TermMatrix] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, documents: Documents, tokenizers: Iterable[Tokenizer]) -> TermRows:
        """Divide texts. Single words come from the rows of words and pairs if these are needed."""
        found: dict[Tokenizer, TermMatrix] = {}
        for tokenizer in sorted(set(tokenizers), key=lambda one: -one.ngrams[1]):
            pairs = found.get(replace(tokenizer, ngrams=(1, 2)))
            if tokenizer.ngrams == (1, 1) and not tokenizer.characters and pairs is not None:
                found[tokenizer] = pairs.words()
            else:
                found[tokenizer] = term_matrix(documents, tokenizer)
        return cls(documents, found)

    def limited(self, tokenizer: Tokenizer, least: float) -> TermRows:
        """The rows of one way to divide texts, without n-grams that fewer texts have."""
        assert self.at is None
        matrix = self.matrices[tokenizer]
        if least > 1:
            kept = matrix.texts_with() >= least
            places = np.where(kept, np.cumsum(kept) - 1, -1)
            matrix = matrix.placed(places, matrix.vocabulary.keep(kept))
        return replace(self, matrices={tokenizer: matrix}, taken={})

    def matrix(self, tokenizer: Tokenizer) -> TermMatrix:
        """The rows of these texts for one way to divide them."""
        if self.at is None:
            return self.matrices[tokenizer]
        if tokenizer not in self.taken:
            self.taken[tokenizer] = self.matrices[tokenizer][self.at]
        return self.taken[tokenizer]

    @cached_property
    def documents(self) -> Documents:
        """The texts."""
        return self.whole if self.at is None else self.whole[self.at]

    @cached_property
    def _numbers(self) -> np.ndarray:
        """(n,) the numbers of the texts among all texts."""
        every = np.arange(len(self.whole))
        return every if self.at is None else every[self.at]

    def __getitem__(self, rows: Any) -> TermRows:
        if self.at is None and isinstance(rows, slice):
            return replace(self, at=rows, taken={})
        return replace(self, at=self._numbers[rows], taken={})

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), 1

    @property
    def cells_per_row(self) -> float:
        """The mean number of n-grams of a text."""
        cells = sum(len(matrix.indices) for matrix in self.matrices.values())
        return max(cells / max(len(self.whole), 1), 1.0)

    @property
    def nbytes(self) -> int:
        return self.whole.nbytes + sum(matrix.nbytes for matrix in self.matrices.values())


def term_matrix(documents: Documents, tokenizer: Tokenizer) -> TermMatrix:
    """The rows of all n-grams of some texts, with a vocabulary of these n-grams.

    Examples
    --------
    >>> rows = term_matrix(Documents.of(["ham and ham", "spam"]), Tokenizer(ngrams=(1, 2)))
    >>> rows.vocabulary.tokens()
    ['ham', 'and', 'ham and', 'and ham', 'spam']
    >>> rows.words().as_csr().toarray().round(2)
    array([[0.86, 0.51, 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    tally = Tally(Vocabulary.empty(), np.zeros((0, 1), dtype=np.int64))
    tally.grow(min(documents.size // 64, 1 << 17), documents.size // 16)
    indptr = np.zeros(len(documents) + 1, dtype=np.int64)
    found = np.empty(documents.size // BYTES_PER_NEW_TERM + 64, dtype=np.int32)
    amounts = np.empty(len(found))
    places = np.empty(0, dtype=np.int64)

    def work(some: Documents, first: int, by: Tables) -> tuple[int, int]:
        nonlocal found, amounts
        room = tokenizer.room(some, weighed=True)
        read, why = 0, NO_ROOM
        while why == NO_ROOM:
            read = kernels.term_rows(
                some.data, some.offsets, read, by.ascii, by.points, *tokenizer.ngrams,
                tokenizer.characters or None, WEIGHTINGS["l2"], 0, places, True,
                tally.arena, tally.bounds, tally.slots, tally.state,
                indptr[first : first + len(some) + 1], found, amounts, *room,
            )  # fmt: skip
            why = int(tally.state[WHY])
            if why == NO_ROOM and not tally.make_room():
                more = 2 * len(found) + len(room[-1])
                found, amounts = longer(found, more), longer(amounts, more)
        return int(read), why

    tokenizer.visit(documents, work)
    used = int(indptr[-1])
    return TermMatrix(tally.vocabulary(), indptr, found[:used].copy(), amounts[:used].copy())
