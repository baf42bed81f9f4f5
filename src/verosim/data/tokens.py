"""Tokens of a text: lower case, then runs of two or more word characters, then n-grams.

The n-grams are those of words, or of the characters of each word. They are those of scikit-learn's
CountVectorizer for all of Unicode, with analyzer="word" or "char_wb". The tables below are made
with Python's `str.lower` and `re` and have one entry per code point. Two characters do not fit in a
table: 'İ' becomes two characters, and the lower case of 'Σ' depends on the characters next to it.
Python converts texts with these characters before the loops read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from verosim.data.prepared_texts import (
    TokenFunction,
    decoded_tokens,
    encoded_token,
    normalised,
    normalised_texts,
    split_texts,
    without_stop_words,
)
from verosim.data.text import Documents, not_utf8
from verosim.errors import VerosimError
from verosim.kernels.constants import (
    COMPARED_BYTES,
    COUNTS,
    INVALID,
    L2,
    PRESENCE,
    REPEATS,
    SLACK,
    SPECIAL,
    SQUARES,
)

POINTS = 0x110000
CHARACTERS = "char_wb"
ANALYZERS = ("word", CHARACTERS)
# The amount of an n-gram in a text.
WEIGHTINGS = {
    "counts": COUNTS, "presence": PRESENCE, "l2": L2, "squares": SQUARES, "repeats": REPEATS,
}  # fmt: skip
NOT_BY_TABLE = (0x130, 0x3A3)  # İ, Σ
TEXTS_LOWERED_TOGETHER = 64  # texts converted by Python if one of them needs it

Work = Callable[[Documents, int, "Tables"], tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Tables:
    """The result for each byte and code point: −1 if it is not in the table.

    A character that is not part of a word becomes 0. In the tables for characters, every kind of
    space becomes ' '.
    """

    ascii: np.ndarray  # (256,) uint8; 0 from 128 on
    points: np.ndarray  # (0x110000,) int32


@cache
def tables(lowercase: bool, characters: bool = False) -> Tables:
    """The tables of the running version of Python."""
    every = np.arange(POINTS, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    kept = np.zeros(POINTS, dtype=bool)
    for run in re.finditer(r"\S+" if characters else r"\w+", every):
        kept[run.start() : run.end()] = True
    becomes = np.arange(POINTS, dtype=np.int32)
    if lowercase:
        for point in NOT_BY_TABLE:
            every = every.replace(chr(point), "?")
        lowered = every.lower().encode("utf-32-le", "surrogatepass")
        becomes = np.frombuffer(lowered, dtype="<u4").astype(np.int32)
    points = np.where(kept[becomes], becomes, ord(" ") if characters else 0).astype(np.int32)
    if lowercase:
        points[list(NOT_BY_TABLE)] = -1
    ascii = np.zeros(256, dtype=np.uint8)
    ascii[:128] = points[:128]
    return Tables(ascii, points)


@dataclass(frozen=True)
class Tokenizer:
    """The settings that divide a text into tokens.

    >>> Tokenizer(ngrams=(1, 2)).tokens("El Niño, a las 5:30")
    ['el', 'niño', 'las', '30', 'el niño', 'niño las', 'las 30']
    >>> Tokenizer(ngrams=(3, 4), analyzer="char_wb").tokens("a niño")
    [' a ', ' ni', 'niñ', 'iño', 'ño ', ' niñ', 'niño', 'iño ']
    """

    ngrams: tuple[int, int] = (1, 1)
    lowercase: bool = True
    analyzer: str = "word"
    stop_words: tuple[str, ...] = ()  # tokens that are left out before n-grams are made
    strip_accents: str | None = None  # or "ascii" or "unicode"
    function: TokenFunction | None = None  # splits a text into tokens, in place of the pattern

    def __post_init__(self) -> None:
        low, high = self.ngrams
        if not 1 <= low <= high:
            raise VerosimError(
                f"ngrams must be (shortest, longest) with 1 ≤ shortest ≤ longest; got "
                f"{self.ngrams}.",
                "Use ngrams=(1, 2) for single words and pairs of words.",
            )

    @property
    def characters(self) -> bool:
        """Whether the n-grams are those of characters."""
        return self.analyzer == CHARACTERS

    @property
    def counts_shorter(self) -> bool:
        """Whether the n-grams are those of words, from single words to longer ones."""
        return not self.characters and self.ngrams[0] == 1 < self.ngrams[1]

    @property
    def options(self) -> dict[str, Any]:
        """The settings by name; those of prepared texts only if they are used."""
        extra = {
            "stop_words": self.stop_words, "strip_accents": self.strip_accents,
            "function": self.function,
        }  # fmt: skip
        used = {name: value for name, value in extra.items() if value}
        return {
            "ngrams": self.ngrams, "lowercase": self.lowercase, "analyzer": self.analyzer, **used,
        }  # fmt: skip

    @property
    def prepares(self) -> bool:
        """Whether texts are changed before the compiled loops read them."""
        return bool(self.stop_words or self.strip_accents or self.function)

    def prepared(self, documents: Documents) -> Documents:
        """The texts in which the compiled loops find the tokens, without another lower case."""
        if self.function is not None:
            return split_texts(documents, self.words)
        found = normalised_texts(documents, self.lowercase, self.strip_accents)
        if not self.stop_words:
            return found
        return without_stop_words(found, self.stop_words, tables(False).points)

    def encoded(self, token: str) -> str:
        """A token of one or more words as the compiled loops find it."""
        if self.function is None:
            return token
        parts = [token] if self.ngrams[1] == 1 else token.split(" ")
        return " ".join(map(encoded_token, parts))

    def shown(self, tokens: list[str]) -> list[str]:
        """The tokens that the compiled loops have found, as the user knows them."""
        return tokens if self.function is None else [decoded_tokens(token) for token in tokens]

    def visit(
        self, documents: Documents, work: Work, place: Callable[[int], str] | None = None
    ) -> None:
        """Call work(some documents, number of the first, tables) until all documents are read.

        `work` returns how many documents it has read and why it stopped. It is called again for the
        others. `place` gives the place of the i-th document in the user's table.
        """
        start, n = 0, len(documents)
        lowercase = self.lowercase
        if self.prepares and n:
            documents, lowercase = self.prepared(documents), False
        while start < n:
            some, by = documents[start:], tables(lowercase, self.characters)
            read, why = work(some, start, by)
            start += read
            if why == SPECIAL:
                few = documents[start : start + TEXTS_LOWERED_TOGETHER]
                some, by = few.lowered(), tables(False, self.characters)
                read, why = work(some, start, by)
                start += read
            if why == INVALID:
                where = f"row {documents.first + start}" if place is None else place(start)
                raise not_utf8(some, read, where)

    def room(self, documents: Documents, weighed: bool = False) -> tuple[Any, ...]:
        """Working memory for one document: scratch, the starts and ends of its tokens and of its
        n-grams, then hashes, ids, marks and amounts.

        Marks and amounts are None unless the n-grams of a document are weighed together. So is the
        list of n-grams for single words. The loops are then compiled without the code for them.
        """
        longest = documents.longest
        low, high = self.ngrams
        # A token has at least two bytes. Characters have a space before and after each word.
        most = longest + 2 if self.characters else longest // 2 + 2
        # Single characters: the space between two words belongs to both.
        terms = (high - low + 1) * most + (most if self.characters else 0)
        # The places where words begin and end, and three more that the loop may write.
        places = max(most, longest + 4)
        listed = self.characters or high > 1
        marks = 1 << max(2, (2 * terms - 1).bit_length())
        return (
            # In lower case, a character of two bytes may have three bytes, and not more.
            np.empty(2 * longest + 2 * SLACK + COMPARED_BYTES, dtype=np.uint8),
            np.empty(places, dtype=np.int64),
            np.empty(most, dtype=np.int64),
            np.empty(terms, dtype=np.int64) if listed else None,
            np.empty(terms, dtype=np.int64) if listed else None,
            np.empty(2 * terms, dtype=np.uint64),
            np.empty(terms, dtype=np.int64),
            np.empty(marks, dtype=np.int64) if weighed else None,
            np.empty(terms) if weighed else None,
        )

    def tokens(self, text: str) -> list[str]:
        """The tokens of one text, in plain Python. The compiled loops count the same tokens."""
        low, high = self.ngrams
        if self.characters:
            text = normalised(text, self.lowercase, self.strip_accents)
            return [
                word[i : i + n]
                for word in (f" {word} " for word in text.split())
                for n in range(min(low, len(word)), min(high, len(word)) + 1)
                for i in range(len(word) - n + 1)
            ]
        found = self.words(text)
        return [
            " ".join(found[i : i + n])
            for n in range(low, high + 1)
            for i in range(len(found) - n + 1)
        ]

    def length(self, text: str) -> int:
        """The number of words of one text. For characters, one space is around each word."""
        if self.characters:
            found = normalised(text, self.lowercase, self.strip_accents).split()
            return 1 + sum(len(word) + 1 for word in found)
        return len(self.words(text))

    def words(self, text: str) -> list[str]:
        """The words of one text, without the stop words."""
        text = normalised(text, self.lowercase, self.strip_accents)
        found = re.findall(r"\w\w+", text) if self.function is None else self.function(text)
        stopped = frozenset(self.stop_words)
        return [word for word in found if word not in stopped] if stopped else found
