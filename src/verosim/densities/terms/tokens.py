"""The tokens of a text.

    b_k + Σ_i a_i s_ik + Σ_i [i is absent] u_ik

a_i is the amount of token i. With c_i the number of times that it occurs in the text:

    counts     a_i = c_i
    presence   a_i = 1 if c_i > 0
    l2         a_i = (1 + log c_i) / √(Σ_j (1 + log c_j)²)   over all tokens j of the text
    unit       the same, over the listed tokens only

Tokens that are not listed are skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from verosim.data.nodes import malformed
from verosim.data.tokens import ANALYZERS, Tokenizer
from verosim.densities.terms.base import Scored, Term, finite_part
from verosim.densities.terms.token_hash import token_hash

AMOUNTS = ("counts", "presence", "l2", "unit")


@dataclass(frozen=True, eq=False)
class TokensTerm(Term):
    """The sum over the tokens of a text; or, with `buckets`, over the hashes of its tokens."""

    kind = "tokens"
    ngrams: tuple[int, int]
    lowercase: bool
    analyzer: str
    stop_words: tuple[str, ...]
    strip_accents: str | None
    weighting: str
    tokens: tuple[str, ...]  # empty with buckets
    buckets: int  # 0 without buckets; else a token is hash modulo this number
    places: tuple[int, ...]  # the bucket of each row of the table; empty without buckets
    bias: Annotated[np.ndarray, "C"]
    table: Annotated[np.ndarray, "K", "C"]  # s
    absent: Annotated[np.ndarray, "K", "C"] | None = None  # u

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, weighting: str, tokens: tuple[str, ...], bias: np.ndarray,
        table: np.ndarray, absent: np.ndarray | None = None, buckets: int = 0,
        places: tuple[int, ...] = (),
    ) -> TokensTerm:  # fmt: skip
        """The term for a way to divide texts."""
        return cls(
            (0,), tokenizer.ngrams, tokenizer.lowercase, tokenizer.analyzer, tokenizer.stop_words,
            tokenizer.strip_accents, weighting, tokens, buckets, places, bias, table, absent,
        )  # fmt: skip

    def __post_init__(self) -> None:
        if self.weighting not in AMOUNTS or self.analyzer not in ANALYZERS:
            raise malformed(f"{self.weighting!r} or {self.analyzer!r} is not known")
        if len(self.places if self.buckets else self.tokens) != len(self.table):
            raise malformed("the list of tokens is not as long as its table")

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """How a text is divided into tokens."""
        return Tokenizer(
            self.ngrams, self.lowercase, self.analyzer, self.stop_words, self.strip_accents
        )

    @cached_property
    def _rows(self) -> dict[str | int, int]:
        keys: tuple[str | int, ...] = self.places if self.buckets else self.tokens
        return {key: i for i, key in enumerate(keys)}

    def amounts(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the table that a text uses, and the amount of each."""
        counts = Counter(self.tokenizer.tokens(text))
        found: dict[int, float] = {}
        norm = 1.0
        if self.weighting in ("l2", "unit"):
            kept = [c for t, c in counts.items() if self.weighting == "l2" or t in self._rows]
            norm = float(np.sqrt(np.sum((1 + np.log(kept)) ** 2))) if kept else 1.0
        for token, count in counts.items():
            key = token_hash(token) & (self.buckets - 1) if self.buckets else token
            row = self._rows.get(key)
            if row is None:
                continue
            if self.weighting == "presence":
                found[row] = 1.0
            else:
                one = count if self.weighting == "counts" else (1 + np.log(count)) / norm
                found[row] = found.get(row, 0.0) + one
        return np.array(list(found), dtype=np.intp), np.array(list(found.values()))

    def evaluate(self, values: Sequence[np.ndarray]) -> Scored:
        table, never = finite_part(self.table), np.isneginf(self.table)
        start, size_of_start, required = self.bias, np.abs(self.bias), np.zeros_like(self.bias)
        if self.absent is not None:
            unseen = finite_part(self.absent)
            start = start + np.ascontiguousarray(unseen.T).sum(axis=1)
            size_of_start = size_of_start + np.abs(unseen).sum(axis=0)
            required = np.isneginf(self.absent).sum(axis=0)
        scores, size = (np.empty((len(values[0]), len(self.bias))) for _ in range(2))
        for i, text in enumerate(values[0].tolist()):
            rows, amounts = self.amounts(text)
            scores[i] = start + amounts @ table[rows]
            size[i] = size_of_start + amounts @ np.abs(table[rows])
            lost = required.astype(np.intp)
            if self.absent is not None:
                scores[i] -= unseen[rows].sum(axis=0)
                size[i] += np.abs(unseen[rows]).sum(axis=0)
                lost = lost - np.isneginf(self.absent[rows]).sum(axis=0)
            scores[i, (lost > 0) | never[rows].any(axis=0)] = -np.inf
        return scores, size
