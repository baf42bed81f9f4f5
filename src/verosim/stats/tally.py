"""A growing table of tokens, which the `Tokens` statistic writes while it reads.

A compiled loop stops when an array is full. The array is doubled, and the loop continues:

    n tokens cost O(n) copies in total
"""

from __future__ import annotations

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
    KEY_WORDS,
    L2,
    MORE_BYTES,
    MORE_TOKENS,
    NO_ROOM,
    SLACK,
    STATE_SIZE,
    WHY,
)
from verosim.stats.growing import GrowingTable, longer
from verosim.stats.sparse_sums import SparseSums


class Tally(GrowingTable):
    """The tokens of one statistic, and in how many documents; only this statistic writes to it.

    Bytes are only appended, so a Vocabulary made of the first K tokens stays valid.
    """

    def __init__(self, codes: TokenCodes, cells: np.ndarray) -> None:
        super().__init__(cells)
        self.buckets, _, arena, bounds, slots = codes.lookup()
        self.grows = not codes.fixed
        K = codes.size
        self.state = np.zeros(STATE_SIZE, dtype=np.int64)
        if not self.buckets:
            self.state[:2] = K, bounds[-1]
        self.arena, self.bounds, self.slots = arena.copy(), bounds.copy(), slots.copy()
        self.stamps = np.zeros(K, dtype=np.int64)  # (K,) the last document with each token

    @property
    def size(self) -> int:
        return self.buckets or int(self.state[0])

    def grow(self, tokens: int, size: int) -> None:
        """Make room for more tokens, with `size` bytes in total."""
        K, used = int(self.state[0]), int(self.state[1])
        if K + tokens > len(self.cells):
            room = max(2 * K, K + tokens, 256)
            self.cells, self.stamps = (longer(a, room) for a in (self.cells, self.stamps))
            self.bounds = longer(self.bounds, room + 1)
        if used + size + SLACK > len(self.arena):
            self.arena = longer(self.arena, max(2 * used, used + size) + SLACK)
        if 4 * (K + tokens) > len(self.slots) - KEY_WORDS:
            slots = empty_slots(max(2 * K, K + tokens), self.slots[-KEY_WORDS:])
            kernels.move_slots(self.slots, slots)
            self.slots = slots

    def make_room(self) -> bool:
        """Make the room that the compiled loop requested before it stopped, if it did."""
        tokens, size = int(self.state[MORE_TOKENS]), int(self.state[MORE_BYTES])
        self.grow(tokens, size)
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
        terms, weighed = len(room[5]), weighting >= L2  # the most n-grams of a document
        log, ends = sums.open_log(weighed), np.empty(n, dtype=np.int64)
        each = weights if len(weights) else np.ones(n)
        while why in (NO_ROOM, FULL_LOG):
            self.state[ENTRIES] = log.used
            read = kernels.count_texts(
                documents.data, documents.offsets, read, by.ascii, by.points, *tokenizer.ngrams,
                tokenizer.characters, groups, each, folds, weighting, self.buckets, self.grows,
                self.arena, self.bounds, self.slots, self.state,
                log.codes, log.amounts, ends, self.cells, self.stamps, *room,
            )  # fmt: skip
            why = int(self.state[WHY])
            if read > noted:
                log.append(*(a[noted:read] for a in (ends, groups, each)))
                noted = read
            if why == NO_ROOM:
                self.make_room()
            elif why == FULL_LOG:
                sums.widen(self.size)
                log = sums.open_log(weighed, terms)
        return (n, DONE) if why == DONE else (read, why)

    def meet(self, other: Vocabulary) -> np.ndarray:
        """(K,) the numbers in this table of the tokens of another vocabulary.

        New tokens are appended.
        """
        found, done = np.empty(other.size, dtype=np.int64), 0
        while True:
            done = kernels.meet_tokens(
                *other.slices, done, True, self.arena, self.bounds, self.slots, self.state,
                at_a_time(), found,
            )  # fmt: skip
            if done == other.size:
                return found
            self.make_room()
