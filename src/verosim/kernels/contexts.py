"""Contexts: the code of a column together with the codes of its parents, as one 64-bit key.

    key = column · 2⁴⁸ + parent_k · 2^(8k) + … + parent_1 · 2⁸ + code

A byte 255 stands for a code that is left out: a missing parent beyond the first t gives the key of
level t, and a missing code the key of the context alone. Keys are found in a table with open
addressing. The last CONTEXT_KEY_PARTS numbers of the slots are the secret key of its hash, as in
`kernels/vocabulary.py`. Reference: Knuth, The Art of Computer Programming, vol. 3, §6.4.
"""

import numpy as np

from verosim.kernels._compile import exact, loose
from verosim.kernels.constants import (
    ALL_PARENTS,
    ANY,
    CODE_BITS,
    COLUMN_SHIFT,
    CONTEXT_KEY_PARTS,
    U32,
)

LEFT_OUT, NO_PARENTS = np.int64(ANY), np.int64(ALL_PARENTS)
BYTE, COLUMN = np.int64(CODE_BITS), np.int64(COLUMN_SHIFT)


@exact
def _secret(slots):
    """The number that a table adds to a key, the two factors of its hash, and its last slot."""
    at = slots.size - CONTEXT_KEY_PARTS
    return (
        _whole_word(slots, at), _whole_word(slots, at + 2), _whole_word(slots, at + 4),
        np.uint64(at - 1),
    )  # fmt: skip


@exact
def _whole_word(slots, at):
    """The 64-bit number that is stored in two 32-bit numbers, the low half first."""
    return np.uint64(np.uint32(slots[at])) | (np.uint64(np.uint32(slots[at + 1])) << U32)


@exact
def _slot(key, secret):
    """Where the search of a key begins."""
    h = (np.uint64(key) ^ secret[0]) * secret[1]
    h = (h ^ (h >> U32)) * secret[2]
    return (h >> U32) & secret[3]


@exact
def _find(key, keys, slots, secret):
    """The number of a key, or −1 − slot if the table does not contain it."""
    mask = secret[3]
    at = _slot(key, secret)
    while True:
        number = slots[at]
        if number < 0:
            return np.int64(-1) - np.int64(at)
        if keys[np.uint64(number)] == key:
            return np.int64(number)
        at = (at + np.uint64(1)) & mask


@exact
def _key(cells, maps, parents, i, j):
    """The key of row i and column j with all its parents."""
    key = (np.int64(j) << COLUMN) | np.int64(maps[j, cells[i, j]])
    for t in range(parents.shape[1]):
        parent = parents[j, t]
        code = np.int64(maps[parent, cells[i, parent]]) if parent >= 0 else LEFT_OUT
        key |= code << (BYTE * (t + 1))
    return key


@exact
def fill_key_slots(keys, slots):
    """Enter keys, all different, in an empty table."""
    secret = _secret(slots)
    mask = secret[3]
    for number in range(keys.size):
        at = _slot(keys[number], secret)
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = number


@exact
def count_contexts(cells, maps, parents, start, groups, weights, folds, keys, slots, size, count,
                   whole):  # fmt: skip
    """count (room, G) += w and whole (room, F) += 1 at the key of every row and column.

    New keys are added to `keys` (room,) and `slots`. Returns (next row, number of keys): it stops
    before a row for which there may be too little room.
    """
    n, d = cells.shape
    weighted = weights.size > 0
    secret = _secret(slots)
    room = min(keys.size, (slots.size - CONTEXT_KEY_PARTS) // 2)
    for i in range(start, n):
        if size + d > room:
            return i, size
        g = groups[i]
        w = weights[i] if weighted else 1.0
        for j in range(d):
            key = _key(cells, maps, parents, i, j)
            number = _find(key, keys, slots, secret)
            if number < 0:
                slots[np.uint64(-1 - number)] = size
                keys[size] = key
                number = size
                size += 1
            count[np.uint64(number), g] += w
            whole[np.uint64(number), g % folds] += 1
    return n, size


@exact
def find_keys(wanted, keys, slots, out):
    """out (m,) = the number of every wanted key, −1 if it is not in the table."""
    secret = _secret(slots)
    for i in range(wanted.size):
        out[i] = max(_find(wanted[i], keys, slots, secret), np.int64(-1))


@exact
def number_keys(wanted, keys, slots, size, out):
    """out (m,) = the number of every wanted key; new keys are added. Returns how many there are.

    There must be room for all of them.
    """
    secret = _secret(slots)
    for i in range(wanted.size):
        number = _find(wanted[i], keys, slots, secret)
        if number < 0:
            slots[np.uint64(-1 - number)] = size
            keys[size] = wanted[i]
            number = size
            size += 1
        out[i] = number
    return size


@exact
def back_off(count, below, context, inside, lower, m, least, share, log_share):
    """share (K, C) = (count + m · lower[below]) / (inside[context] + m), and its logarithm.

    Where nothing is inside and m is 0, it is the share of the lower level.
    """
    K, C = count.shape
    for i in range(K):
        for c in range(C):
            total = inside[context[i], c] + m
            p = lower[below[i], c]
            if total > 0.0:
                p = (count[i, c] + m * p) / total
            share[i, c] = p
            log_share[i, c] = np.log(max(p, least))


@loose
def score_contexts(cells, maps, parents, depth, columns, backs_off, keys, slots, table, out):
    """out (n, C) = Σ log p(code of column j | its parents, class) over `columns`.

    A key of level t has its log p_t in `table` (K, C). The key of a context alone has what a code
    gets that the context never had: its log p or, if the model backs off, the factor with which
    the next lower level is multiplied. A code that no row had adds nothing.
    """
    n = len(cells)
    C = out.shape[1]
    secret = _secret(slots)
    for i in range(n):
        row = out[i]
        row[:] = 0.0
        for j in columns:
            key = _key(cells, maps, parents, i, j)
            for t in range(depth[j], -1, -1):
                number = _find(key, keys, slots, secret)
                if number >= 0:
                    found = table[np.uint64(number)]
                    for c in range(C):
                        row[c] += found[c]
                    break
                if t == depth[j] and _find(key | NO_PARENTS, keys, slots, secret) < 0:
                    break
                if t > 0:
                    number = _find(key | LEFT_OUT, keys, slots, secret)
                    if number >= 0:
                        found = table[np.uint64(number)]
                        for c in range(C):
                            row[c] += found[c]
                    if not backs_off:
                        break
                    key |= LEFT_OUT << (BYTE * t)
