"""Hashes of values: 64 bits that stand for a text where the text itself must not be stored.

    hash(text) = the first 8 bytes of BLAKE2b of its UTF-8 bytes

The hash is the same in every process and on every machine, so models can be merged by it. It is not
anonymous: someone who guesses a text can compute its hash and compare.
Reference: Aumasson et al. (2013), BLAKE2: simpler, smaller, fast as MD5, ACNS 2013.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

HashedText = str | int  # a text, or the hash of a text that is not stored any more


def value_hash(text: str) -> int:
    """The hash of a text, from 0 to 2⁶⁴ − 1.

    >>> value_hash("Lima") == value_hash("Lima") != value_hash("Quito")
    True
    """
    return hash_of_bytes(text.encode("utf-8", "surrogatepass"))


def hash_of_bytes(raw: bytes) -> int:
    """The hash of a text, from its UTF-8 bytes."""
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "little")


def hashes_of(texts: Iterable[str]) -> tuple[int, ...]:
    """The hashes of texts, sorted."""
    return tuple(sorted(map(value_hash, texts)))


def as_hash(value: HashedText) -> int:
    """The hash of a text; a hash stays as it is."""
    return value_hash(value) if isinstance(value, str) else value


def hash_of_values(values: Iterable[HashedText]) -> int:
    """One hash of a list, the same for texts and for their hashes. It is never 0."""
    return value_hash(" ".join(str(as_hash(value)) for value in values)) or 1


def agreed_values(
    mine: Sequence[HashedText], theirs: Sequence[HashedText]
) -> tuple[HashedText, ...] | None:
    """The values of two lists that are the same values, as texts where one list has the text.

    It is None if the lists are different.
    """
    if len(mine) != len(theirs):
        return None
    pairs = list(zip(mine, theirs, strict=True))
    if any(a != b and as_hash(a) != as_hash(b) for a, b in pairs):
        return None
    return tuple(b if isinstance(a, int) else a for a, b in pairs)


class ValueIndex:
    """The positions of values in a list of texts and hashes.

    >>> index = ValueIndex(["Lima", value_hash("Quito")])
    >>> index.get("Lima", -1), index.get("Quito", -1), index.get("Cusco", -1)
    (0, 1, -1)
    """

    def __init__(self, values: Iterable[HashedText]) -> None:
        self._texts: dict[str, int] = {}
        self._hashes: dict[int, int] = {}
        for at, value in enumerate(values):
            if isinstance(value, str):
                self._texts[value] = at
            else:
                self._hashes[value] = at

    def get(self, text: str, default: int) -> int:
        """The position of a text, or the default if it is not in the list."""
        at = self._texts.get(text)
        if at is None and self._hashes:
            at = self._hashes.get(value_hash(text))
        return default if at is None else at

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.get(text, -1) >= 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts) + len(self._hashes)
