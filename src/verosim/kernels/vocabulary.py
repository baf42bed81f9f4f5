"""A hash table of tokens.

The bytes of the tokens are stored one after another in an arena. Token k is
arena[bounds[k]:bounds[k + 1]]. The slots give the token for a hash. The table uses open addressing.
An entry is the hash of a token, its length, and its number + 1. For a short token, equal hash and
length mean that the token is the same. For a longer token, the bytes are compared.

The last KEY_WORDS words of the slots are the key of the hash. The key of a table in memory is
secret (`axes/hash_keys.py`), so that texts in which many tokens have one slot cannot be written.
Codes and their order do not depend on it. Buckets use a public key, so models from different
machines agree.
References: Knuth, The Art of Computer Programming, vol. 3, §6.4. Dietzfelbinger et al. (1997), A
reliable randomized algorithm for the closest-pair problem, Journal of Algorithms 25, 19–51.
"""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import (
    BYTES,
    GRAMS,
    KEY_WORDS,
    MORE_BYTES,
    MORE_TOKENS,
    SLACK,
    TOKENS,
    U0,
    U1,
    U2,
    U32,
    U33,
)
from verosim.kernels.memory import prefetch

HEAD = 16  # the number of bytes that are hashed without a branch
CERTAIN = 8  # up to this many bytes, hash and length identify a token

FF = np.uint64(0xFF)
LOW_32 = np.uint64(0xFFFFFFFF)
MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


@exact
def word_at(data, at):
    """Read eight bytes as one number, lowest byte first.

    The compiler turns this into one load, and the result is the same on every machine.
    """
    a = np.uint64(at)
    word = np.uint64(data[a])
    word |= np.uint64(data[a + np.uint64(1)]) << np.uint64(8)
    word |= np.uint64(data[a + np.uint64(2)]) << np.uint64(16)
    word |= np.uint64(data[a + np.uint64(3)]) << np.uint64(24)
    word |= np.uint64(data[a + np.uint64(4)]) << np.uint64(32)
    word |= np.uint64(data[a + np.uint64(5)]) << np.uint64(40)
    word |= np.uint64(data[a + np.uint64(6)]) << np.uint64(48)
    word |= np.uint64(data[a + np.uint64(7)]) << np.uint64(56)
    return word


@exact
def write_word(word, out, at):
    """Write eight bytes, lowest first; the compiler turns this into one store."""
    out[at] = np.uint8(word & FF)
    out[at + np.uint64(1)] = np.uint8((word >> np.uint64(8)) & FF)
    out[at + np.uint64(2)] = np.uint8((word >> np.uint64(16)) & FF)
    out[at + np.uint64(3)] = np.uint8((word >> np.uint64(24)) & FF)
    out[at + np.uint64(4)] = np.uint8((word >> np.uint64(32)) & FF)
    out[at + np.uint64(5)] = np.uint8((word >> np.uint64(40)) & FF)
    out[at + np.uint64(6)] = np.uint8((word >> np.uint64(48)) & FF)
    out[at + np.uint64(7)] = np.uint8((word >> np.uint64(56)) & FF)


@exact
def _masked(data, at, n):
    """The first n of the eight bytes at `at`, as a number, computed without a branch."""
    return word_at(data, at) & MASKS[np.uint64(min(max(n, 0), 8))]


@exact
def key_of(slots):
    """The factors of the hash of a table: of the length, and of the words."""
    at = slots.size - KEY_WORDS
    return slots[at], slots[at + 1], slots[at + 2]


@exact
def slot_count(slots):
    """The number of entries that a table has room for, a power of 2."""
    return (slots.size - KEY_WORDS) // 2


@exact
def mix_bits(h, key):
    """Mix the 64 bits of h; the function is one-to-one, because the factors are odd.

    Two multiplications by unknown numbers are needed. After one, a change of the highest bit is
    still a known change, which the next word of a long token could undo.
    """
    h ^= h >> U33
    h *= key[2]
    h ^= h >> U33
    h *= key[1]
    return h ^ (h >> U33)


@exact
def hash_head(data, at, n, key):
    """A 64-bit hash of n bytes, or of the first HEAD bytes if n is larger.

    Two different tokens of the same length, up to eight bytes, never have the same hash, because
    every step is one-to-one.
    """
    size = np.uint64(n)
    first, both = min(size, np.uint64(8)), min(size, np.uint64(HEAD))
    h = ((word_at(data, at) & MASKS[first]) ^ (size * key[0])) * key[1]
    rest = (word_at(data, at + 8) & MASKS[both - first]) * key[2]
    return mix_bits(h ^ ((rest >> U32) | (rest << U32)), key)


@exact
def hash_tail(h, data, at, n, key):
    """The hash of n bytes, where h is that of the first HEAD bytes."""
    for i in range(HEAD, n, 8):
        h = mix_bits(h ^ _masked(data, at + i, n - i), key)
    return h


@exact
def hash_of(data, at, n, key):
    """A 64-bit hash of the n bytes at `at`; up to 15 bytes after them are read."""
    return hash_tail(hash_head(data, at, n, key), data, at, n, key)


@exact
def equal(left, a, right, b, n, length):
    """Whether the `length` bytes at a equal the n bytes at b."""
    same = n == length
    for i in range(0, min(n, length), 8):
        same &= _masked(left, a + i, n - i) == _masked(right, b + i, n - i)
    return same


@exact
def find(slots, arena, bounds, data, at, n, h):
    """The number of the token that equals these n bytes; −1 − slot if it is not in the table."""
    last = np.uint64(slot_count(slots) - 1)
    s = h & last
    size = np.uint64(n) & LOW_32
    while True:
        entry = slots[s + s + U1]
        if entry == U0:
            return -1 - np.int64(s)
        if slots[s + s] == h and entry >> U32 == size:
            k = np.uint64((entry & LOW_32) - U1)
            if n <= CERTAIN or equal(arena, bounds[k], data, at, n, bounds[k + U1] - bounds[k]):
                return np.int64(k)
        s = (s + U1) & last


@exact
def put(slots, slot, n, h, k):
    """Write token k, with n bytes and hash h, into a slot."""
    slots[2 * slot] = h
    slots[2 * slot + 1] = (np.uint64(n) << U32) | np.uint64(k + 1)


@exact
def has_room(arena, bounds, slots, state, n):
    """Whether one more token of n bytes fits; at least half of the table stays empty."""
    k = state[TOKENS] + 1
    entries = k - state[GRAMS]  # n-grams of words have a table of their own
    fits = k < bounds.size and state[BYTES] + n + SLACK <= arena.size
    return fits and 2 * entries <= slot_count(slots)


@exact
def insert(slots, slot, arena, bounds, state, data, at, n, h):
    """Append a token and return its number; the caller must check that there is enough room."""
    k = state[TOKENS]
    used = state[BYTES]
    put(slots, slot, n, h, k)
    for i in range(0, n, 8):  # up to 7 more bytes are written, which the next token replaces
        write_word(word_at(data, at + i), arena, np.uint64(used + i))
    bounds[k + 1] = used + n
    state[TOKENS] = k + 1
    state[BYTES] = used + n
    return k


@exact
def fill_slots(arena, bounds, slots):
    """Enter the tokens of an arena into an empty table.

    Returns the number of the first token that occurs twice, or −1.
    """
    key = key_of(slots)
    for k in range(bounds.size - 1):
        at, n = bounds[k], bounds[k + 1] - bounds[k]
        h = hash_of(arena, at, n, key)
        slot = find(slots, arena, bounds, arena, at, n, h)
        if slot >= 0:
            return k
        put(slots, -1 - slot, n, h, k)
    return -1


@exact
def move_slots(old, slots):
    """Enter the tokens of a table into a larger table, which is empty and has the same key.

    Slots are read in order, and slots with consecutive numbers go to few places of the new table.
    """
    last = np.uint64(slot_count(slots) - 1)
    for i in range(U0, np.uint64(2 * slot_count(old)), U2):
        if old[i + U1] != U0:
            s = old[i] & last
            while slots[s + s + U1] != U0:
                s = (s + U1) & last
            slots[s + s] = old[i]
            slots[s + s + U1] = old[i + U1]


@exact
def look_up(data, starts, ends, m, buckets, grows, arena, bounds, slots, state, hashes, ids):
    """Find the ids of m tokens or n-grams: numbers in the table, or −1 for unknown ones.

    Token t is data[starts[t]:ends[t]], and hashes[t] becomes its hash. The words of `hashes` from m
    to 2 m are working memory. If buckets > 0, the id is hash & (buckets − 1) instead. If the table
    `grows`, unknown tokens are appended. Returns whether there was enough room for new ones. If
    not, the caller must make room and look all of them up again.

    The work is done in short loops over all tokens. Each loop requests the memory that the next
    one reads, so that many cache misses overlap.
    """
    count = np.uint64(m)
    key = key_of(slots)
    last = np.uint64((buckets if buckets > 0 else slot_count(slots)) - 1)
    for t in range(count):
        size = ends[t] - starts[t]
        h = hash_head(data, starts[t], size, key)
        if size > HEAD:
            h = hash_tail(h, data, starts[t], size, key)
        hashes[t] = h
        if buckets == 0:
            s = h & last
            prefetch(slots, s + s)
    if buckets > 0:
        for t in range(count):
            ids[t] = np.int64(hashes[t] & last)
        return True
    left = count  # from here on: tokens that are long, new, or not in their first slot
    for t in range(count):
        h = hashes[t]
        s = h & last
        entry = slots[s + s + U1]
        n = np.uint64(ends[t] - starts[t])
        # The hash of an empty text is zero, as that of an empty slot.
        there = (slots[s + s] == h) & (entry >> U32 == n & LOW_32) & (entry != U0)
        k = (entry & LOW_32) - U1 if there else U0
        ids[t] = np.int64(k) if there else -1
        hashes[left] = t
        certain = there & (n <= CERTAIN)
        left += U0 if certain else U1
        prefetch(bounds, U0 if certain else k)
    for i in range(count, left):
        k = ids[hashes[i]]
        prefetch(arena, np.uint64(bounds[np.uint64(k if k > 0 else 0)]))
    for i in range(count, left):
        t = hashes[i]
        at, size = starts[t], ends[t] - starts[t]
        k = ids[t]
        if k >= 0:
            j = np.uint64(k)
            if equal(arena, bounds[j], data, at, size, bounds[j + U1] - bounds[j]):
                continue
        k = find(slots, arena, bounds, data, at, size, hashes[t])
        if k < 0 and grows:
            if not has_room(arena, bounds, slots, state, size):
                state[MORE_TOKENS] = m - np.int64(t)
                more = 0
                for j in range(t, count):
                    more += ends[j] - starts[j]
                state[MORE_BYTES] = more
                return False
            k = insert(slots, -1 - k, arena, bounds, state, data, at, size, hashes[t])
        ids[t] = k if k > -1 else -1
    return True


@exact
def meet_tokens(others, starts, ends, begin, grows, arena, bounds, slots, state, hashes, ids):
    """Find the ids of another vocabulary's tokens from `begin` on, in small groups.

    If the table `grows`, new tokens are appended. If there is not enough room, the loop stops and
    returns the first token that is not done. Otherwise it returns the number of tokens.
    """
    step = hashes.size // 2
    for at in range(begin, ids.size, step):
        upto = min(at + step, ids.size)
        enough = look_up(
            others, starts[at:upto], ends[at:upto], upto - at, 0, grows, arena, bounds, slots,
            state, hashes, ids[at:upto],
        )  # fmt: skip
        if not enough:
            return at
    return ids.size


@exact
def take_tokens(arena, bounds, chosen, out, out_bounds):
    """Copy the chosen tokens, in this order, into a new arena."""
    used = 0
    for i in range(chosen.size):
        for t in range(bounds[chosen[i]], bounds[chosen[i] + 1]):
            out[used] = arena[t]
            used += 1
        out_bounds[i + 1] = used
