"""The tokens of texts as codes: a vocabulary that grows and merges, or a fixed number of buckets.

A vocabulary is stored as the bytes of its tokens, one after another, and the start of each token.
Compiled loops over the bytes look up, merge and restrict tokens. A bucket is the hash of a token
modulo a power of two, so the memory is bounded and models can still be merged.
Reference: Weinberger et al. (2009), Feature hashing for large scale multitask learning.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes.codes import Codes
from verosim.axes.columns import Columns
from verosim.axes.hash_keys import BUCKET_KEY, PROCESS_KEY
from verosim.axes.state_checks import check_tokens, is_count, require
from verosim.cached import cached_property
from verosim.errors import VerosimError
from verosim.kernels.constants import KEY_WORDS, SLACK, STATE_SIZE

LEAST_SLOTS = 16
AT_A_TIME = 512  # tokens that are looked up together, so that their slots stay in the cache


def empty_slots(tokens: int, key: np.ndarray = PROCESS_KEY) -> np.ndarray:
    """An empty hash table that this many tokens fill at most by half, and its key at the end.

    The number of slots is a power of 2, and a slot has two words.
    """
    count = max(LEAST_SLOTS, 1 << (2 * tokens - 1).bit_length())
    slots = np.zeros(2 * count + KEY_WORDS, dtype=np.uint64)
    slots[2 * count :] = key
    return slots


def at_a_time() -> np.ndarray:
    """Memory for the tokens that are looked up together: their hashes, and a list of some."""
    return np.empty(2 * AT_A_TIME, dtype=np.uint64)


NOWHERE = np.zeros(0, dtype=np.int64)


class TokenCodes(Codes):
    """The codes of the tokens of one column of texts. A text has many tokens."""

    def encode(self, block: np.ndarray) -> tuple[np.ndarray, bool]:
        raise TypeError("A text has many codes. The statistic Tokens counts them.")

    fixed = True

    def lookup(self) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """buckets, places, room, bounds, slots: the arrays with which kernels find a code."""
        raise NotImplementedError


class Vocabulary(TokenCodes):
    """Tokens in the order in which they were seen.

    An open vocabulary grows. A closed one ignores tokens that it does not contain.

    >>> words = Vocabulary.of(["spam", "ham"])
    >>> words.size, words.tokens()
    (2, ['spam', 'ham'])
    """

    def __init__(
        self,
        room: np.ndarray,
        bounds: np.ndarray,
        *,
        open: bool = True,
        chosen: int = 0,
        parents: np.ndarray | None = None,
    ) -> None:
        """`room` has the bytes of the tokens and at least SLACK more bytes.

        The extra bytes are not part of the value. A statistic that still grows may write there. If
        the tokens of a closed vocabulary were chosen from texts, `chosen` is a hash of all of them.
        Some of them may be gone, because the texts with them were forgotten. `parents` (K,) are
        the pairs of n-grams of words (`kernels/word_grams.py`), if they are known.
        """
        self.chosen, self.parents = chosen, parents
        self._room, self.bounds, self.open, self.fixed = room, bounds, open, not open
        self.size = len(bounds) - 1
        self.first = np.array([0, self.size], dtype=np.intp)
        # If this is a part of another vocabulary: that one, and the codes there.
        self.part_of: tuple[Vocabulary, np.ndarray] | None = None

    @classmethod
    def empty(cls) -> Vocabulary:
        return cls(np.zeros(SLACK, dtype=np.uint8), np.zeros(1, dtype=np.int64))

    @classmethod
    def of(cls, tokens: Iterable[str], *, open: bool = True, chosen: int = 0) -> Vocabulary:
        """The vocabulary of some tokens, in their order. Each token may occur only once."""
        raw = [token.encode() for token in tokens]
        bounds = np.zeros(len(raw) + 1, dtype=np.int64)
        np.cumsum([len(token) for token in raw], out=bounds[1:])
        out = cls(_with_slack(b"".join(raw)), bounds, open=open, chosen=chosen)
        _ = out.slots
        return out

    @property
    def arena(self) -> np.ndarray:
        """The bytes of all tokens, one token after another."""
        return self._room[: self.bounds[-1]]

    @property
    def slices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The bytes, and the positions where each token begins and ends."""
        return self._room, self.bounds[:-1], self.bounds[1:]

    @cached_property
    def slots(self) -> np.ndarray:
        """The hash table. An entry contains the hash of a token, its length and its number + 1."""
        slots = empty_slots(self.size)
        if not self.size:
            return slots
        twice = kernels.fill_slots(self._room, self.bounds, slots)
        if twice >= 0:
            raise VerosimError(
                f"The vocabulary contains {self.token(twice)!r} twice.", "List each token once."
            )
        return slots

    def lookup(self) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return 0, NOWHERE, self._room, self.bounds, self.slots

    def token(self, code: int) -> str:
        return self._room[self.bounds[code] : self.bounds[code + 1]].tobytes().decode()

    def tokens(self) -> list[str]:
        """All tokens as strings, in the order of their codes."""
        raw = self.arena.tobytes()
        ends = self.bounds.tolist()
        pairs = pairwise(ends)
        if raw.isascii():
            text = raw.decode()
            return [text[a:b] for a, b in pairs]
        return [raw[a:b].decode() for a, b in pairs]

    # Alignment ---------------------------------------------------------------------------

    def find(self, other: Vocabulary) -> np.ndarray:
        """(other.size,) the code in this vocabulary of every token of the other; −1 if unknown."""
        known = self._places_in_whole(other)
        if known is not None:
            return known
        found = np.empty(other.size, dtype=np.int64)
        state = np.zeros(STATE_SIZE, dtype=np.int64)
        kernels.meet_tokens(
            *other.slices, 0, False, self._room, self.bounds, self.slots, state, at_a_time(), found
        )
        return found

    def _places_in_whole(self, other: Vocabulary) -> np.ndarray | None:
        """The result of `find` if this is a part of the other vocabulary. No token is hashed."""
        if self.part_of is None:
            return None
        whole, chosen = self.part_of
        found = np.full(whole.size, -1, dtype=np.int64)
        found[chosen] = np.arange(self.size)
        if whole is other:
            return found
        places = whole._places_in_whole(other)
        return None if places is None else np.where(places >= 0, found[places], -1)

    def extends(self, other: Vocabulary) -> bool:
        """Whether this vocabulary starts with the tokens of the other, in the same order."""
        return (
            self.size >= other.size
            and np.array_equal(self.bounds[: other.size + 1], other.bounds)
            and np.array_equal(self._room[: other.bounds[-1]], other.arena)
        )

    def union(self, other: Any, columns: Columns) -> Vocabulary:
        if not isinstance(other, Vocabulary) or self.open != other.open:
            raise _unlike(self, other, columns)
        if self is other or self.extends(other):
            return self
        found = self.find(other)
        unknown = np.flatnonzero(found < 0)
        same_choice = self.chosen and self.chosen == other.chosen
        if self.fixed and not same_choice and (len(unknown) or self.size != other.size):
            raise _unlike(self, other, columns)
        if not len(unknown):
            return self
        more = other._taken(unknown)
        return Vocabulary(
            np.concatenate([self.arena, more._room]),
            np.concatenate([self.bounds, more.bounds[1:] + self.bounds[-1]]),
            open=self.open, chosen=self.chosen,
        )  # fmt: skip

    def positions(self, wider: Vocabulary) -> np.ndarray | None:
        if wider.extends(self):
            return None if wider.size == self.size else np.arange(self.size)
        return wider.find(self)

    def closed(self) -> Vocabulary:
        """The same tokens. Other tokens are ignored."""
        out = Vocabulary(self._room, self.bounds, open=False)
        out.part_of = self.part_of
        return out

    def keep(self, kept: np.ndarray) -> Vocabulary:
        return self if kept.all() else self._taken(np.flatnonzero(kept))

    def _taken(self, chosen: np.ndarray) -> Vocabulary:
        lengths = np.diff(self.bounds)[chosen]
        room = np.zeros(int(lengths.sum()) + SLACK, dtype=np.uint8)
        bounds = np.zeros(len(chosen) + 1, dtype=np.int64)
        kernels.take_tokens(self._room, self.bounds, chosen, room, bounds)
        out = Vocabulary(room, bounds, open=self.open, chosen=self.chosen)
        out.part_of = self, chosen
        return out

    def alone(self) -> Vocabulary:
        """The same tokens, without a reference to a larger vocabulary of which they are a part."""
        return Vocabulary(self._room, self.bounds, open=self.open, chosen=self.chosen)

    def in_order(self) -> tuple[np.ndarray, Any]:
        arena, bounds = self.arena.tobytes(), self.bounds.tolist()
        tokens = [arena[a:b] for a, b in pairwise(bounds)]
        order = np.array(sorted(range(self.size), key=tokens.__getitem__), dtype=np.int64)
        return order, self._taken(order).state()

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        return columns.name(0), repr(self.token(code))

    def state(self) -> Any:
        return self.open, self.arena.tobytes(), self.bounds.tobytes(), self.chosen

    @classmethod
    def from_state(cls, state: Any) -> Vocabulary:
        open, arena, bounds, chosen = state
        starts = np.frombuffer(bounds, dtype=np.int64).copy()
        require(type(open) is bool and type(chosen) is int, "a vocabulary has wrong settings")
        check_tokens(arena, starts)
        out = cls(_with_slack(arena), starts, open=open, chosen=chosen)
        _ = out.slots  # an error if a token occurs twice
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary.from_state, (self.state(),)


def _with_slack(arena: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(arena + bytes(SLACK)), dtype=np.uint8)


class Hashed(TokenCodes):
    """A fixed number of buckets. The code of a token is its hash modulo this number."""

    def __init__(self, buckets: int, places: np.ndarray | None = None) -> None:
        if buckets < 1 or buckets & (buckets - 1) or buckets > 1 << 30:
            raise VerosimError(
                f"hashed must be a power of two up to 2**30; got {buckets}.",
                "Use 2**20, for example.",
            )
        self.buckets = buckets
        self.places = NOWHERE if places is None else places  # (buckets,) the code of every bucket
        self.size = buckets if places is None else int((places >= 0).sum())
        self.first = np.array([0, self.size], dtype=np.intp)

    def lookup(self) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        nothing = Vocabulary.empty()
        slots = empty_slots(0, BUCKET_KEY)
        return self.buckets, self.places, nothing._room, nothing.bounds, slots

    def union(self, other: Any, columns: Columns) -> Hashed:
        if not isinstance(other, Hashed) or self.buckets != other.buckets:
            raise _unlike(self, other, columns)
        return self

    def positions(self, wider: Hashed) -> None:
        return None

    def keep(self, kept: np.ndarray) -> Hashed:
        """Only the marked buckets. Tokens in other buckets are then unknown."""
        places = np.full(self.buckets, -1, dtype=np.int64)
        here = np.arange(self.buckets) if not len(self.places) else np.flatnonzero(self.places >= 0)
        places[here[kept]] = np.arange(int(kept.sum()))
        return Hashed(self.buckets, places)

    def label(self, code: int, columns: Columns) -> tuple[str, str]:
        return columns.name(0), f"bucket {code}"

    def state(self) -> Any:
        return self.buckets, self.places.tobytes()

    @classmethod
    def from_state(cls, state: Any) -> Hashed:
        buckets, raw = state
        require(is_count(buckets), "it has no number of buckets")
        if not raw:
            return cls(buckets)
        places = np.frombuffer(raw, dtype=np.int64).copy()
        used = places[places >= 0]
        require(len(places) == buckets, "the places of buckets have a wrong length")
        require(np.array_equal(used, np.arange(len(used))), "the places of buckets are wrong")
        return cls(buckets, places)

    def __reduce__(self) -> tuple[Any, ...]:
        return Hashed.from_state, (self.state(),)


def _unlike(mine: TokenCodes, theirs: Any, columns: Columns) -> VerosimError:
    def kind(codes: Any) -> str:
        if isinstance(codes, Hashed):
            return f"{codes.buckets} buckets"
        return "a growing vocabulary" if codes.open else f"a given vocabulary of {codes.size}"

    return VerosimError(
        f"Column {columns.name(0)!r} has {kind(mine)} in one model and {kind(theirs)} in the "
        "other.",
        "Fit both with the same settings `vocabulary` and `hashed`.",
    )
