"""A hash table of n-grams of words, in which an n-gram is a pair of two numbers.

    key of an n-gram = (number of its first n − 1 words, number of its last word)

If all shorter n-grams have numbers too, the pair identifies the n-gram. One entry of the table has
the pair and the number of the n-gram, so a look-up reads one place in memory and compares no bytes.
The layout is that of the table of tokens, with the pair in place of the hash. The bytes of an
n-gram are written only when it is new.
"""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import (
    BYTES,
    DONE,
    ENTRIES,
    FULL_LOG,
    GRAMS,
    MORE_BYTES,
    MORE_GRAMS,
    MORE_TOKENS,
    NO_ROOM,
    SINGLE_WORD,
    SLACK,
    TOKENS,
    U0,
    U1,
    U8,
    U32,
    WHY,
)
from verosim.kernels.memory import prefetch
from verosim.kernels.split import SPACE, split
from verosim.kernels.text import log_terms
from verosim.kernels.vocabulary import (
    hash_of,
    key_of,
    look_up,
    mix_bits,
    put,
    slot_count,
    word_at,
    write_word,
)


@exact
def _find(grams, pair, h):
    """The number of the n-gram with this pair; −1 − slot if it is not in the table."""
    last = np.uint64(slot_count(grams) - 1)
    s = h & last
    while True:
        entry = grams[s + s + U1]
        if entry == U0:
            return -1 - np.int64(s)
        if grams[s + s] == pair:
            return np.int64(entry - U1)
        s = (s + U1) & last


@exact
def _append(grams, slot, pair, size, bounds, parents, state):
    """Enter the next n-gram, of `size` bytes; returns its number. The caller writes its bytes."""
    k = state[TOKENS]
    grams[2 * slot] = pair
    grams[2 * slot + 1] = np.uint64(k + 1)
    parents[k] = pair + U1
    state[TOKENS] = k + 1
    state[GRAMS] += 1
    state[BYTES] += size
    bounds[k + 1] = state[BYTES]
    return k


@exact
def gram_room(words, more, size, arena, bounds, slots, grams, state):
    """Whether so many words, n-grams and bytes fit; if not, they are noted in the state.

    At least half of the table of words and three eighths of that of n-grams stay empty.
    """
    known = state[TOKENS] - state[GRAMS]
    if (
        state[TOKENS] + words + more < bounds.size
        and state[BYTES] + size + SLACK <= arena.size
        and 2 * (known + words) <= slot_count(slots)
        and 8 * (state[GRAMS] + more) <= 5 * slot_count(grams)
    ):
        return True
    state[MORE_TOKENS], state[MORE_GRAMS], state[MORE_BYTES] = words, more, size
    return False


@exact
def look_up_grams(
    data, starts, ends, found, high, arena, bounds, slots, grams, parents, state, hashes, ids
):  # fmt: skip
    """The numbers of all n-grams of `found` words with 1 ≤ n ≤ high; new ones are appended.

    Word t is data[starts[t]:ends[t]]. All words come first, then all pairs, and so on, and `hashes`
    becomes equal to the numbers. Returns how many n-grams there are, or −1 if there is not enough
    room.
    """
    count, total, size = np.uint64(found), found, 0
    for n in range(2, high + 1):
        total += max(found - n + 1, 0)
    for t in range(count):
        size += ends[t] - starts[t] + 1
    size *= high * (high + 1) // 2
    if not gram_room(found, total - found, size, arena, bounds, slots, grams, state):
        return -1
    look_up(data, starts, ends, found, 0, True, arena, bounds, slots, state, hashes, ids)
    key = key_of(grams)
    last = np.uint64(slot_count(grams) - 1)
    before, at = U0, count  # where the shorter n-grams begin, and these
    for n in range(U1, np.uint64(high)):
        if n >= count:
            break
        many = count - n
        for t in range(many):
            h = mix_bits((np.uint64(ids[before + t]) << U32) | np.uint64(ids[t + n]), key)
            hashes[at + t] = h
            s = h & last
            prefetch(grams, s + s)
        for t in range(many):
            pair = (np.uint64(ids[before + t]) << U32) | np.uint64(ids[t + n])
            k = _find(grams, pair, hashes[at + t])
            if k < 0:
                used = np.uint64(state[BYTES])
                for i in range(t, t + n + U1):
                    size = np.uint64(ends[i] - starts[i])
                    first = np.uint64(starts[i])
                    for j in range(U0, size, U8):
                        write_word(word_at(data, first + j), arena, used + j)
                    used += size
                    arena[used] = SPACE
                    used += U1
                size = np.int64(used) - 1 - state[BYTES]
                k = _append(grams, -1 - k, pair, size, bounds, parents, state)
            ids[at + t] = k
        before = at
        at += many
    for t in range(at):
        hashes[t] = np.uint64(ids[t])
    return np.int64(at)


@exact
def count_grams(
    text, offsets, start, ascii, points, high, groups, weights, folds, weighting, arena, bounds,
    slots, grams, parents, state, log_codes, log_amounts, log_ends, cells, stamps, scratch, starts,
    ends, hashes, ids, marks, amounts,
):  # fmt: skip
    """`count_texts` for all n-grams of words with 1 ≤ n ≤ high, and a vocabulary that grows."""
    at = state[ENTRIES]
    for i in range(start, offsets.size - 1):
        found, why = split(
            text, offsets[i], offsets[i + 1], ascii, points, False, scratch, starts, ends
        )
        if why == DONE:
            m = look_up_grams(
                scratch, starts, ends, found, high, arena, bounds, slots, grams, parents, state,
                hashes, ids,
            )  # fmt: skip
            if m < 0:
                why = NO_ROOM
            else:
                at = log_terms(
                    m, hashes, ids, np.uint64(at), np.uint64(groups[i] % folds), weights[i], folds,
                    weighting, 0, slots, state, log_codes, log_amounts, cells, stamps, marks,
                    amounts,
                )  # fmt: skip
                why = FULL_LOG if at < 0 else DONE
        if why != DONE:
            state[WHY] = why
            return i
        log_ends[i] = at
    state[WHY] = DONE
    return offsets.size - 1


@exact
def meet_grams(
    others, starts, ends, their_parents, begin, arena, bounds, slots, grams, parents, state,
    hashes, ids,
):  # fmt: skip
    """Find the ids of another vocabulary's n-grams from `begin` on; new ones are appended in order.

    If there is not enough room, the loop stops and returns the first n-gram that is not done.
    Otherwise it returns the number of n-grams.
    """
    key = key_of(grams)
    last = np.uint64(slot_count(grams) - 1)
    at = begin
    while at < ids.size:
        is_word = their_parents[at] == SINGLE_WORD
        upto, size = at, 0
        while (
            upto < min(at + hashes.size // 2, ids.size)
            and (their_parents[upto] == SINGLE_WORD) == is_word
        ):
            size += ends[upto] - starts[upto]
            upto += 1
        words = upto - at if is_word else 0
        if not gram_room(words, upto - at - words, size, arena, bounds, slots, grams, state):
            return at
        if is_word:
            look_up(
                others, starts[at:upto], ends[at:upto], words, 0, True, arena, bounds, slots,
                state, hashes, ids[at:upto],
            )  # fmt: skip
        for t in range(at, upto if not is_word else at):
            pair = their_parents[t] - U1
            a, b = np.int64(pair >> U32), np.int64(pair & np.uint64(0xFFFFFFFF))
            if a < at:  # otherwise, it has no number yet
                pair = (np.uint64(ids[a]) << U32) | np.uint64(ids[b])
                s = mix_bits(pair, key) & last
                prefetch(grams, s + s)
        for t in range(at, upto if not is_word else at):
            pair = their_parents[t] - U1
            a, b = np.int64(pair >> U32), np.int64(pair & np.uint64(0xFFFFFFFF))
            pair = (np.uint64(ids[a]) << U32) | np.uint64(ids[b])
            k = _find(grams, pair, mix_bits(pair, key))
            if k < 0:
                n, used = ends[t] - starts[t], np.uint64(state[BYTES])
                for i in range(0, n, 8):
                    write_word(word_at(others, starts[t] + i), arena, used + np.uint64(i))
                k = _append(grams, -1 - k, pair, n, bounds, parents, state)
            ids[t] = k
        at = upto
    return ids.size


@exact
def fill_grams(arena, bounds, parents, slots, grams):
    """Enter the words and n-grams of a vocabulary into two empty tables."""
    key, pair_key = key_of(slots), key_of(grams)
    last, last_pair = np.uint64(slot_count(slots) - 1), np.uint64(slot_count(grams) - 1)
    for k in range(bounds.size - 1):
        pair = parents[k]
        if pair == SINGLE_WORD:
            h = hash_of(arena, bounds[k], bounds[k + 1] - bounds[k], key)
            s = h & last
            while slots[s + s + U1] != U0:
                s = (s + U1) & last
            put(slots, s, bounds[k + 1] - bounds[k], h, k)
        else:
            pair -= U1
            s = mix_bits(pair, pair_key) & last_pair
            while grams[s + s + U1] != U0:
                s = (s + U1) & last_pair
            grams[s + s] = pair
            grams[s + s + U1] = np.uint64(k + 1)


@exact
def move_grams(old, grams):
    """Enter the n-grams of a table into a larger table, which is empty and has the same key."""
    key = key_of(grams)
    last = np.uint64(slot_count(grams) - 1)
    for i in range(np.uint64(slot_count(old))):
        entry = old[i + i + U1]
        if entry != U0:
            pair = old[i + i]
            s = mix_bits(pair, key) & last
            while grams[s + s + U1] != U0:
                s = (s + U1) & last
            grams[s + s] = pair
            grams[s + s + U1] = entry
