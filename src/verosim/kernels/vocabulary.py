"""A hash table of tokens.

The bytes of the tokens are stored one after another in an arena. Token k is
arena[bounds[k]:bounds[k + 1]]. The slots give the token for a hash. The table uses open addressing.
An entry is the hash of a token, its length, and its number + 1. For a short token, equal hash and
length mean that the token is the same. For a longer token, the bytes are compared.

The hash depends only on the bytes, so models from different machines agree.
Reference: Knuth, The Art of Computer Programming, vol. 3, §6.4.
"""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import (
    BYTES,
    MORE_BYTES,
    MORE_TOKENS,
    SLACK,
    TOKENS,
    U0,
    U1,
    U32,
    U33,
)

HEAD = 16  # the number of bytes that are hashed without a branch
CERTAIN = 8  # up to this many bytes, hash and length identify a token

LENGTH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
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
def _masked(data, at, n):
    """The first n of the eight bytes at `at`, as a number, computed without a branch."""
    return word_at(data, at) & MASKS[np.uint64(min(max(n, 0), 8))]


@exact
def _mixed(h):
    """Mix the 64 bits of h; the function is one-to-one."""
    h ^= h >> U33
    h *= MIX_1
    h ^= h >> U33
    h *= MIX_2
    return h ^ (h >> U33)


@exact
def hash_head(data, at, n):
    """A 64-bit hash of n bytes, or of the first HEAD bytes if n is larger.

    Two different tokens of the same length, up to eight bytes, never have the same hash, because
    every step is one-to-one.
    """
    size = np.uint64(n)
    first, both = min(size, np.uint64(8)), min(size, np.uint64(HEAD))
    h = ((word_at(data, at) & MASKS[first]) ^ (size * LENGTH_FACTOR)) * MIX_2
    rest = (word_at(data, at + 8) & MASKS[both - first]) * MIX_1
    return _mixed(h ^ ((rest >> U32) | (rest << U32)))


@exact
def hash_of(data, at, n):
    """A 64-bit hash of the n bytes at `at`; up to 15 bytes after them are read."""
    h = hash_head(data, at, n)
    for i in range(HEAD, n, 8):
        h = _mixed(h ^ _masked(data, at + i, n - i))
    return h


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
    last = np.uint64(slots.size // 2 - 1)
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
def _enter(slots, slot, n, h, k):
    """Write token k, with n bytes and hash h, into a slot."""
    slots[2 * slot] = h
    slots[2 * slot + 1] = (np.uint64(n) << U32) | np.uint64(k + 1)


@exact
def has_room(arena, bounds, slots, state, n):
    """Whether one more token of n bytes fits; at least half of the table stays empty."""
    k = state[TOKENS] + 1
    return k < bounds.size and 4 * k <= slots.size and state[BYTES] + n + SLACK <= arena.size


@exact
def insert(slots, slot, arena, bounds, state, data, at, n, h):
    """Append a token and return its number; the caller must check that there is enough room."""
    k = state[TOKENS]
    used = state[BYTES]
    _enter(slots, slot, n, h, k)
    for i in range(n):
        arena[used + i] = data[at + i]
    bounds[k + 1] = used + n
    state[TOKENS] = k + 1
    state[BYTES] = used + n
    return k


@exact
def fill_slots(arena, bounds, slots):
    """Enter the tokens of an arena into an empty table.

    Returns the number of the first token that occurs twice, or −1.
    """
    for k in range(bounds.size - 1):
        at, n = bounds[k], bounds[k + 1] - bounds[k]
        h = hash_of(arena, at, n)
        slot = find(slots, arena, bounds, arena, at, n, h)
        if slot >= 0:
            return k
        _enter(slots, -1 - slot, n, h, k)
    return -1


@exact
def look_up(
    scratch, starts, ends, found, low, high, buckets, grows, arena, bounds, slots, state,
    hashes, ids,
):  # fmt: skip
    """Find the ids of a document's n-grams: numbers in the table, or −1 for unknown n-grams.

    hashes (m,) are the hashes of the n-grams. If buckets > 0, the id is hash & (buckets − 1)
    instead. If the table `grows`, unknown n-grams are appended. Returns the number of n-grams, or
    −1 if there is not enough room for new ones. The caller must then make room and look up the
    document again.
    """
    m = U0
    last = np.uint64((buckets if buckets > 0 else slots.size // 2) - 1)
    longest = 0
    for n in range(low, high + 1):  # no branches here, so that cache misses overlap
        more = np.uint64(n - 1)
        for t in range(np.uint64(max(found - n + 1, 0))):
            size = ends[t + more] - starts[t]
            longest = max(longest, size)
            h = hash_head(scratch, starts[t], size)
            hashes[m] = h
            s = h & last
            if buckets > 0:
                ids[m] = np.int64(s)
            else:
                entry = slots[s + s + U1]
                there = (slots[s + s] == h) & (entry >> U32 == np.uint64(size) & LOW_32)
                ids[m] = np.int64(entry & LOW_32) - 1 if there else -1
            m += U1
    total = np.int64(m)
    if buckets > 0 and longest <= HEAD:
        return total
    m = U0
    for n in range(low, high + 1):  # the n-grams that the first loop could not identify
        more = np.uint64(n - 1)
        for t in range(np.uint64(max(found - n + 1, 0))):
            at, size = starts[t], ends[t + more] - starts[t]
            if ids[m] < 0 or size > CERTAIN:
                h = hash_of(scratch, at, size) if size > HEAD else hashes[m]
                hashes[m] = h
                if buckets > 0:
                    ids[m] = np.int64(h & last)
                else:
                    k = find(slots, arena, bounds, scratch, at, size, h)
                    if k < 0 and grows:
                        if not has_room(arena, bounds, slots, state, size):
                            state[MORE_TOKENS] = total - np.int64(m)
                            # A token and its space are part of at most n n-grams of length n.
                            often = (low + high) * (high - low + 1) // 2
                            state[MORE_BYTES] = (ends[found - 1] - starts[0] + 1) * often
                            return -1
                        k = insert(slots, -1 - k, arena, bounds, state, scratch, at, size, h)
                    ids[m] = max(k, -1)
            m += U1
    return total


@exact
def meet_tokens(others, starts, ends, begin, grows, arena, bounds, slots, state, hashes, ids):
    """Find the ids of another vocabulary's tokens from `begin` on, in small groups.

    If the table `grows`, new tokens are appended. If there is not enough room, the loop stops and
    returns the first token that is not done. Otherwise it returns the number of tokens.
    """
    for at in range(begin, ids.size, hashes.size):
        upto = min(at + hashes.size, ids.size)
        m = look_up(
            others, starts[at:upto], ends[at:upto], upto - at, 1, 1, 0, grows,
            arena, bounds, slots, state, hashes, ids[at:upto],
        )  # fmt: skip
        if m < 0:
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


@exact
def add_token_rows(count, cells, found, sign, other_count, other_cells):
    """count[found[i]] += sign · other_count[i], and the same for cells, which count rows."""
    for i in range(found.size):
        k = found[i]
        for g in range(count.shape[1]):
            count[k, g] += sign * other_count[i, g]
        for f in range(cells.shape[1]):
            cells[k, f] += sign * other_cells[i, f]
