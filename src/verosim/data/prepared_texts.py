"""Texts as their tokens need them: without accents, without stop words, or split by a function.

The compiled loops find runs of two or more word characters. A text is prepared so that these runs
are its tokens, in the order of scikit-learn's CountVectorizer:

    lower case → accents → tokens → stop words → n-grams

Stop words are overwritten with spaces, so n-grams are those of the words around them. The tokens of
a function can have any characters, so others than word characters are written as numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from verosim import kernels
from verosim.data.text import Documents, packed_texts
from verosim.errors import VerosimError

ACCENTS = ("ascii", "unicode")
MARK = "\ua015"  # a rare letter, which starts a token that is written in another form
ESCAPED = re.compile(f"{MARK}([0-9a-f]*){MARK}")
PLAIN_TOKEN = re.compile(r"\w\w+")


@dataclass(frozen=True)
class TokenFunction:
    """The function of the user that splits a text into tokens."""

    function: Callable[[str], Iterable[str]]

    def __call__(self, text: str) -> list[str]:
        made = self.function(text)
        found = list(made) if isinstance(made, Iterable) else [made]
        odd = [token for token in found if not isinstance(token, str)]
        if odd:
            raise VerosimError(
                f"tokenizer must return strings; for the text {text[:40]!r} it returned "
                f"{odd[0]!r}.",
                "Return a list of strings.",
            )
        return found

    def __repr__(self) -> str:  # without an address, because fingerprints contain it
        function: Any = self.function
        name = getattr(function, "__qualname__", type(function).__qualname__)
        return f"{getattr(function, '__module__', '')}.{name}"


@lru_cache(maxsize=1 << 16)  # few tokens occur most of the time
def encoded_token(token: str) -> str:
    """A token as a run of two or more word characters. Different tokens have different runs."""
    if MARK not in token and PLAIN_TOKEN.fullmatch(token):
        return token
    body = re.sub(f"[{MARK}]|\\W", lambda found: f"{MARK}{ord(found[0]):x}{MARK}", token)
    return MARK + (body or 2 * MARK)


def decoded_tokens(text: str) -> str:
    """The n-gram of tokens that `encoded_token` has written."""
    return " ".join(
        ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", part[1:])
        if part.startswith(MARK)
        else part
        for part in text.split(" ")
    )


class _WithoutAccents(dict[int, str]):
    """Maps a character to its form without accents; the forms are found when they are needed."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def __missing__(self, point: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(point))
        if self.form == "ascii":
            plain = parts.encode("ascii", "ignore").decode()
        else:
            plain = "".join(c for c in parts if not unicodedata.combining(c))
        self[point] = plain
        return plain


@cache
def _without_accents(form: str) -> _WithoutAccents:
    return _WithoutAccents(form)


def normalised(text: str, lowercase: bool, accents: str | None) -> str:
    """A text in lower case and without accents, as it is asked for."""
    text = text.lower() if lowercase else text
    if accents is None or text.isascii():
        return text
    return text.translate(_without_accents(accents))


def normalised_texts(documents: Documents, lowercase: bool, accents: str | None) -> Documents:
    """The texts in lower case and without accents."""
    if not lowercase and accents is None:
        return documents
    first, last = documents.offsets[0], documents.offsets[-1]
    data = documents.data[first:last]
    if (data < 128).all():
        lower = np.arange(256, dtype=np.uint8)
        if lowercase:
            lower[65:91] += 32
        return Documents(lower[data], documents.offsets - first, documents.first)
    return _mapped(documents, lambda text: normalised(text, lowercase, accents))


def split_texts(documents: Documents, tokens: Callable[[str], list[str]]) -> Documents:
    """The tokens of each text, written so that the compiled loops find them."""
    return _mapped(documents, lambda text: " ".join(map(encoded_token, tokens(text))))


def _mapped(documents: Documents, change: Callable[[str], str]) -> Documents:
    """change(text) of each text. Texts that are not UTF-8 do not change."""
    found = []
    for i in range(len(documents)):
        raw = documents.bytes(i)
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            found.append(raw)
        else:
            found.append(change(text).encode("utf-8", "replace"))
    out = packed_texts(found)
    return Documents(out.data, out.offsets, documents.first)


def without_stop_words(
    documents: Documents, words: tuple[str, ...], points: np.ndarray
) -> Documents:
    """The texts with spaces in place of the stop words. points (0x110000,) are word characters."""
    first, last = documents.offsets[0], documents.offsets[-1]
    data = documents.data[first:last].copy()
    offsets = documents.offsets - first
    kernels.blank_words(data, offsets, points, *_stop_table(words))
    return Documents(data, offsets, documents.first)


@cache
def _stop_table(words: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bytes of the words, where each begins, and a table of slots by their hash."""
    raw = [word.encode("utf-8", "replace") for word in words]
    arena = np.frombuffer(b"".join(raw), dtype=np.uint8)
    bounds = np.concatenate([[0], np.cumsum([len(word) for word in raw])]).astype(np.int64)
    slots = np.zeros(1 << max(4, (4 * len(raw)).bit_length()), dtype=np.int64)
    kernels.place_words(arena, bounds, slots)
    return arena, bounds, slots
