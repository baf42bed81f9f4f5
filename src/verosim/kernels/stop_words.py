"""Words of a text that are overwritten with spaces, found by their bytes in a small hash table."""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import U1

FNV_SEED = np.uint64(0xCBF29CE484222325)  # of the hash FNV-1a
FNV_FACTOR = np.uint64(0x100000001B3)
BLANK = np.uint8(32)


@exact
def hash_word(text, start, stop):
    """The FNV-1a hash of text[start:stop]."""
    h = FNV_SEED
    for i in range(start, stop):
        h = (h ^ np.uint64(text[i])) * FNV_FACTOR
    return h


@exact
def find_word(text, start, stop, arena, bounds, slots):
    """The slot of text[start:stop], or the empty slot where it would be."""
    last = np.uint64(slots.size - 1)
    s = hash_word(text, start, stop) & last
    while slots[s] > 0:
        begin, end = bounds[slots[s] - 1], bounds[slots[s]]
        if end - begin == stop - start:
            same = True
            for i in range(stop - start):
                if arena[begin + i] != text[start + i]:
                    same = False
                    break
            if same:
                return s
        s = (s + U1) & last
    return s


@exact
def place_words(arena, bounds, slots):
    """slots = 1 + the number of each word, at its hash; 0 elsewhere."""
    for k in range(bounds.size - 1):
        s = find_word(arena, bounds[k], bounds[k + 1], arena, bounds, slots)
        if slots[s] == 0:
            slots[s] = k + 1


@exact
def blank_words(text, offsets, points, arena, bounds, slots):
    """Overwrite every word of the table with spaces, in place.

    A word is a longest run of characters with points > 0. A run of one character is not a token.
    """
    for d in range(offsets.size - 1):
        at, stop = offsets[d], offsets[d + 1]
        start, length = at, 0
        while at <= stop:
            width, is_word = 1, False
            if at < stop:
                point, width = _read_point(text, at, stop)
                is_word = point < points.size and points[point] > 0
            if is_word:
                if length == 0:
                    start = at
                length += 1
            else:
                if length > 1 and slots[find_word(text, start, at, arena, bounds, slots)] > 0:
                    text[start:at] = BLANK
                length = 0
            at += width


@exact
def _read_point(text, at, stop):
    """The code point at a position of UTF-8, and its number of bytes; (0, 1) if it is damaged."""
    first = np.int64(text[at])
    if first < 0x80:
        return first, 1
    width = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if at + width > stop or first < 0xC0:
        return np.int64(0), 1
    point = first & (0xFF >> (width + 1))
    for i in range(1, width):
        point = (point << 6) | (np.int64(text[at + i]) & 0x3F)
    return point, width
