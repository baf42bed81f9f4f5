"""The tokens of a text.

    b_k + Σ_i a_i s_ik + Σ_i [token i is absent] u_ik

a_i is the amount of token i. With c_i the number of times that it occurs in the text:

    counts     a_i = c_i
    presence   a_i = 1 if c_i > 0
    l2         a_i = (1 + log c_i) / √(Σ_j (1 + log c_j)²)   over all tokens j of the text
    unit       the same over the listed tokens only, after each 1 + log c_i is multiplied by idf_i

Tokens that are not listed are skipped.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from verosim.cached import cached_property
from verosim.data.nodes import FINITE, Node, malformed
from verosim.data.readings import TEXT_VALUE
from verosim.data.tokens import ANALYZERS, Tokenizer
from verosim.densities.terms.base import Scored, Term, finite_part
from verosim.densities.terms.token_hash import token_hash

AMOUNTS = ("counts", "presence", "l2", "unit")
UsedTokens = list[tuple[np.ndarray, np.ndarray]]  # of each text: rows of the table, and amounts


@dataclass(frozen=True, eq=False)
class TokenRows(Node):
    """Which row of a table belongs to a token."""

    @abstractmethod
    def row(self, token: str) -> int | None:
        """The number of the row; None if the token has none."""

    @abstractmethod
    def __len__(self) -> int: ...


@dataclass(frozen=True, eq=False)
class ListedTokens(TokenRows):
    """The tokens of the rows."""

    kind = "listed"
    tokens: tuple[str, ...]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    def row(self, token: str) -> int | None:
        return self._rows.get(token)

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, eq=False)
class HashedTokens(TokenRows):
    """The bucket of each row. The bucket of a token is its hash modulo the number of buckets."""

    kind = "hashed"
    buckets: int  # a power of 2
    used: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.buckets < 1 or self.buckets & (self.buckets - 1):
            raise malformed(f"{self.buckets} buckets are not a power of 2")

    @cached_property
    def _rows(self) -> dict[int, int]:
        return {bucket: i for i, bucket in enumerate(self.used)}

    def row(self, token: str) -> int | None:
        return self._rows.get(token_hash(token) & (self.buckets - 1))

    def __len__(self) -> int:
        return len(self.used)


@dataclass(frozen=True, eq=False)
class TokensTerm(Term):
    """The sum over the tokens of a text."""

    kind = "tokens"
    takes = TEXT_VALUE
    arity = 1
    ngrams: tuple[int, int]
    lowercase: bool
    analyzer: str  # "word" or "char_wb"
    stop_words: tuple[str, ...]
    strip_accents: str | None
    weighting: str  # one of AMOUNTS
    tokens: TokenRows
    bias: Annotated[np.ndarray, "C", FINITE]  # b
    table: Annotated[np.ndarray, "K", "C"]  # s
    absent: Annotated[np.ndarray, "K", "C"] | None = None  # u
    idf: Annotated[np.ndarray, "K", FINITE] | None = None

    @classmethod
    def of(cls, tokenizer: Tokenizer, *fields: object, **others: object) -> TokensTerm:
        """The term with the settings of a tokenizer, and then the fields after these settings."""
        by = tokenizer
        settings = by.ngrams, by.lowercase, by.analyzer, by.stop_words, by.strip_accents
        return cls((0,), *settings, *fields, **others)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        if self.weighting not in AMOUNTS or self.analyzer not in ANALYZERS:
            raise malformed(f"{self.weighting!r} or {self.analyzer!r} is not known")
        if len(self.tokens) != len(self.table):
            raise malformed("the list of tokens is not as long as its table")
        _ = self.tokenizer  # it checks its settings

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """How a text is divided into tokens."""
        return Tokenizer(
            self.ngrams, self.lowercase, self.analyzer, self.stop_words, self.strip_accents
        )

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        used = [self.amounts(text) for text in values[0].tolist()]
        table, absent = self.table, self.absent
        known = None if absent is None else finite_part(absent)
        impossible = _sums(used, np.isneginf(table), None if absent is None else absent == -np.inf)
        scores = _sums(used, finite_part(table), known) + self.bias
        size = _sums(used, np.abs(finite_part(table)), None) + np.abs(self.bias)
        if known is not None:
            size += 2 * np.abs(known).sum(axis=0)
        return np.where(impossible > 0, -np.inf, scores), size

    def amounts(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the table that a text uses, and the amount of each."""
        found = Counter(self.tokenizer.tokens(text))
        counts = np.array(list(found.values()), dtype=np.float64)
        rows = np.array(
            [-1 if (row := self.tokens.row(token)) is None else row for token in found],
            dtype=np.intp,
        )
        listed = rows >= 0
        if self.weighting in ("l2", "unit"):
            counts = 1 + np.log(counts)
            if self.idf is not None:
                counts = np.where(listed, counts * self.idf[rows], 0.0)
            norm = np.sqrt((counts[listed | (self.weighting == "l2")] ** 2).sum())
            counts = counts / (norm or 1.0)
        # Several tokens can have one bucket.
        each, where = np.unique(rows[listed], return_inverse=True)
        amounts = np.bincount(where, counts[listed], minlength=len(each))
        return each, np.ones(len(each)) if self.weighting == "presence" else amounts


def _sums(used: UsedTokens, table: np.ndarray, absent: np.ndarray | None) -> np.ndarray:
    """(n, C) the sums of the rows of a table; and of those of `absent` that are not used."""
    if absent is None:
        return np.array([amounts @ table[rows] for rows, amounts in used])
    every = np.ascontiguousarray(absent.T).sum(axis=1)  # row by row, many numbers lose digits
    return np.array([every + (amounts @ table[rows] - absent[rows].sum(axis=0))
                     for rows, amounts in used])  # fmt: skip
