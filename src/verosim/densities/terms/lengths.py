"""The length of a row: the number of words of a text, or the sum of counts.

A temperature may depend on it, because long rows repeat their evidence.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verosim.cached import cached_property
from verosim.data.nodes import Node, malformed
from verosim.data.readings import NUMBER, TEXT_VALUE
from verosim.data.tokens import ANALYZERS, Tokenizer


@dataclass(frozen=True, eq=False)
class RowLength(Node):
    """One length per row, from the values of the readings `reads` of a term."""

    takes: ClassVar[str] = NUMBER  # what its readings must give
    reads: tuple[int, ...]

    @abstractmethod
    def measure(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """(n,) the lengths, from the values (n,) of each reading of `reads`."""


@dataclass(frozen=True, eq=False)
class WordsLength(RowLength):
    """The number of words of a text, or of its characters with one space around each word."""

    kind = "words"
    takes = TEXT_VALUE
    lowercase: bool
    analyzer: str  # "word" or "char_wb"
    stop_words: tuple[str, ...]
    strip_accents: str | None

    @classmethod
    def of(cls, by: Tokenizer) -> WordsLength:
        """The length of a text that a tokenizer divides."""
        return cls((0,), by.lowercase, by.analyzer, by.stop_words, by.strip_accents)

    def __post_init__(self) -> None:
        if self.analyzer not in ANALYZERS or len(self.reads) != 1:
            raise malformed(f"a length of a text has the analyzer {self.analyzer!r:.40}")

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        one = (1, 1)
        return Tokenizer(one, self.lowercase, self.analyzer, self.stop_words, self.strip_accents)

    def measure(self, values: Sequence[np.ndarray]) -> np.ndarray:
        return np.array([self._tokenizer.length(text) for text in values[0]], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class AmountsLength(RowLength):
    """The sum of the amounts, or the number of those above a threshold."""

    kind = "amounts"
    threshold: float | None = None

    def measure(self, values: Sequence[np.ndarray]) -> np.ndarray:
        X = np.stack(values, axis=1)
        amounts = np.nan_to_num(X, nan=0.0) if self.threshold is None else self.threshold < X
        return amounts.sum(axis=1, dtype=np.float64)
