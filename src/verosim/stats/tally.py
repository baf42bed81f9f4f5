"""A growing table of tokens, which the `Tokens` statistic writes while it reads.

A compiled loop stops when an array is full. The array is doubled, and the loop continues:

    n tokens cost O(n) copies in total
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes import TokenCodes, Vocabulary
from verosim.axes.vocabulary import at_a_time, empty_slots
from verosim.data import Documents, Tokenizer
from verosim.data.tokens import Tables
from verosim.kernels.constants import (
    DONE,
    ENTRIES,
    FULL_LOG,
    GRAMS,
    KEY_WORDS,
    L2,
    MORE_BYTES,
    MORE_GRAMS,
    MORE_TOKENS,
    NO_ROOM,
    PRESENCE,
    SINGLE_WORD,
    SLACK,
    STATE_SIZE,
    WHY,
)
from verosim.stats.growing import GrowingTable, longer
from verosim.stats.sparse_sums import SparseSums

# n texts have about n^0.8 different n-grams. Reference: Heaps (1978), Information Retrieval, §7.5.
HEAPS = 0.8
NEW_SHARE = 0.8  # a first estimate of the share of another vocabulary's tokens that are new
LEAST_TIMES, MOST_TIMES = 1.5, 32.0  # the factors by which a table grows


class Tally(GrowingTable):
    """The tokens of one statistic, and in how many documents; only this statistic writes to it.

    Bytes are only appended, so a Vocabulary made of the first K tokens stays valid. With `shorter`,
    the tokens are n-grams of words, and all shorter n-grams are tokens too. If this has always been
    so, n-grams are found by pairs of numbers: `grams` is their table, and parents (K,) the pairs.
    """

    def __init__(self, codes: TokenCodes, cells: np.ndarray, shorter: bool = False) -> None:
        super().__init__(cells)
        self.grows = not codes.fixed
        self.grams = self.parents = np.empty(0, dtype=np.uint64)
        K = codes.size
        self.state = np.zeros(STATE_SIZE, dtype=np.int64)
        if shorter and isinstance(codes, Vocabulary) and self.grows and (
            not K or codes.parents is not None
        ):  # fmt: skip
            self._take_grams(codes)
        else:
            self.buckets, _, arena, bounds, slots = codes.lookup()
            self.arena, self.bounds, self.slots = arena.copy(), bounds.copy(), slots.copy()
        if not self.buckets:
            self.state[:2] = K, self.bounds[-1]
        self.stamps = np.empty(0, dtype=np.int64)  # (K,) the last document with each token

    @property
    def size(self) -> int:
        return self.buckets or int(self.state[0])

    def _take_grams(self, codes: Vocabulary) -> None:
        """The tables of the words and of the longer n-grams of a vocabulary."""
        self.buckets = 0
        arena, starts, _ = codes.slices
        self.arena, self.bounds = arena.copy(), codes.bounds.copy()
        self.parents = np.zeros(0, np.uint64) if codes.parents is None else codes.parents.copy()
        longer_ones = int((self.parents != SINGLE_WORD).sum())
        self.state[GRAMS] = longer_ones
        self.slots, self.grams = empty_slots(len(starts) - longer_ones), empty_slots(longer_ones)
        kernels.fill_grams(self.arena, self.bounds, self.parents, self.slots, self.grams)

    def _compare_bytes(self) -> None:
        """From now on, all tokens are found by their bytes."""
        self.slots = self.vocabulary().slots
        self.grams = self.parents = np.empty(0, dtype=np.uint64)
        self.state[GRAMS] = 0

    def vocabulary(self) -> Vocabulary:
        """The tokens so far. The vocabulary shares the memory of the table."""
        K = self.size
        parents = self.parents[:K] if len(self.grams) else None
        return Vocabulary(self.arena, self.bounds[: K + 1], parents=parents)

    def grow(self, tokens: int, size: int, grams: int = 0, times: float = 2.0) -> None:
        """Make room for more tokens, with `size` bytes in total; `grams` of them are pairs.

        An array that is too short becomes at least `times` as long.
        """
        K, used = int(self.state[0]), int(self.state[1])
        more = tokens + grams
        if K + more > len(self.cells):
            room = max(int(times * K), K + more, 256)
            self.cells = longer(self.cells, room)
            self.bounds = longer(self.bounds, room + 1)
        if used + size + SLACK > len(self.arena):
            self.arena = longer(self.arena, max(int(times * used), used + size) + SLACK)
        if len(self.grams):
            if len(self.parents) < len(self.bounds) - 1:
                self.parents = longer(self.parents, len(self.bounds) - 1)
            inside = int(self.state[GRAMS])
            K -= inside
            if 8 * (inside + grams) > 5 * (len(self.grams) - KEY_WORDS) // 2:
                # `empty_slots` leaves half of the slots empty, and three eighths are enough.
                wanted = -(-4 * max(int(times * inside), inside + grams) // 5)
                table = empty_slots(wanted, self.grams[-KEY_WORDS:])
                kernels.move_grams(self.grams, table)
                self.grams = table
        else:
            tokens = more
        if 4 * (K + tokens) > len(self.slots) - KEY_WORDS:
            slots = empty_slots(max(int(times * K), K + tokens), self.slots[-KEY_WORDS:])
            kernels.move_slots(self.slots, slots)
            self.slots = slots

    def make_room(self, times: float = 2.0) -> bool:
        """Make the room that the compiled loop requested before it stopped, if it did.

        In the end, there may be `times` as many tokens as now.
        """
        tokens, size = int(self.state[MORE_TOKENS]), int(self.state[MORE_BYTES])
        times = min(max(times, LEAST_TIMES), MOST_TIMES)
        self.grow(tokens, size, int(self.state[MORE_GRAMS]), times)
        return tokens > 0

    def read(
        self, documents: Documents, by: Tables, tokenizer: Tokenizer, groups: np.ndarray,
        weights: np.ndarray, folds: int, weighting: int, sums: SparseSums,
        room: tuple[np.ndarray, ...],
    ) -> tuple[int, int]:  # fmt: skip
        """Count documents until the end or a special document, in the log of the sums.

        Returns how many documents were read, and why the loop stopped.
        """
        n, noted = len(documents), 0
        read, why = 0, NO_ROOM
        terms, weighed = len(room[6]), weighting >= L2  # the most n-grams of a document
        log, ends = sums.open_log(weighed), np.empty(n, dtype=np.int64)
        each = weights if len(weights) else np.ones(n)
        places = documents.offsets
        while why in (NO_ROOM, FULL_LOG):
            self.state[ENTRIES] = log.used
            if (weighed or weighting == PRESENCE) and len(self.stamps) < len(self.cells):
                self.stamps = longer(self.stamps, len(self.cells))
            read = self._count(
                documents, read, by, tokenizer, (groups, each, folds, weighting),
                (log.codes, log.amounts, ends, self.cells, self.stamps), room,
            )  # fmt: skip
            why = int(self.state[WHY])
            if read > noted:
                log.append(*(a[noted:read] for a in (ends, groups, each)))
                noted = read
            if why == NO_ROOM:
                share = (places[read] - places[0] + 1) / (places[-1] - places[0] + 1)
                self.make_room(share**-HEAPS)
            elif why == FULL_LOG:
                sums.widen(self.size)
                log = sums.open_log(weighed, terms)
        return (n, DONE) if why == DONE else (read, why)

    def _count(
        self, documents: Documents, first: int, by: Tables, tokenizer: Tokenizer,
        rows: tuple[Any, ...], log: tuple[np.ndarray, ...], room: tuple[np.ndarray, ...],
    ) -> int:  # fmt: skip
        """Append the tokens of the documents from `first` on to the log, in a compiled loop."""
        texts = documents.data, documents.offsets, first, by.ascii, by.points
        tables = self.arena, self.bounds, self.slots
        if len(self.grams):
            scratch, starts, ends, _, _, *rest = room
            return int(kernels.count_grams(
                *texts, tokenizer.ngrams[1], *rows, *tables, self.grams, self.parents, self.state,
                *log, scratch, starts, ends, *rest,
            ))  # fmt: skip
        return int(kernels.count_texts(
            *texts, *tokenizer.ngrams, tokenizer.characters or None, *rows,
            self.buckets, self.grows, *tables, self.state, *log, *room,
        ))  # fmt: skip

    def meet(self, other: Vocabulary) -> np.ndarray:
        """(K,) the numbers in this table of the tokens of another vocabulary.

        New tokens are appended.
        """
        found, done = np.empty(other.size, dtype=np.int64), 0
        if len(self.grams) and other.parents is None:
            self._compare_bytes()
        while len(self.grams):
            done = kernels.meet_grams(
                *other.slices, other.parents, done, self.arena, self.bounds, self.slots, self.grams,
                self.parents, self.state, at_a_time(), found,
            )  # fmt: skip
            if done == other.size:
                return found
            self.make_room(1 + NEW_SHARE * (other.size - done) / max(self.size, 1))
        while True:
            done = kernels.meet_tokens(
                *other.slices, done, True, self.arena, self.bounds, self.slots, self.state,
                at_a_time(), found,
            )  # fmt: skip
            if done == other.size:
                return found
            self.make_room(1 + NEW_SHARE * (other.size - done) / max(self.size, 1))
