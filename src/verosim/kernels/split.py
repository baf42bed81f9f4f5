"""Splitting of a text into tokens: lowercased runs of two or more word characters.

Plain ASCII is read eight characters at a time. Integer arithmetic on all eight bytes at once marks
the letters, the digits and '_'. The marks of 64 characters form one word of bits, and tokens begin
and end where the bits change. No branch depends on a character, so the processor mispredicts none.
Reference: Lamport (1975), Multiple byte processing with full-word instructions.

Any other text is decoded and looked up, character by character. So are texts that are split into
characters.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from verosim.kernels._compile import exact
from verosim.kernels.constants import DONE, INVALID, SPECIAL, U0, U1, U2, U7, U8, U56, U63, U64
from verosim.kernels.vocabulary import word_at, write_word

SPACE = np.uint8(32)
EACH = 0x0101010101010101  # this times a byte is the byte repeated eight times
TOP = np.uint64(0x80 * EACH)
LOWER_BIT = np.uint64(0x20 * EACH)
UNDERSCORE = np.uint64(ord("_") * EACH)
# byte + (0x80 − c) has its top bit set if byte ≥ c. Bytes below 0x80 never overflow.
FROM_0, PAST_9 = (np.uint64((0x80 - c) * EACH) for c in (ord("0"), ord("9") + 1))
FROM_UPPER_A, PAST_UPPER_Z = (np.uint64((0x80 - c) * EACH) for c in (ord("A"), ord("Z") + 1))
FROM_LOWER_A, PAST_LOWER_Z = (np.uint64((0x80 - c) * EACH) for c in (ord("a"), ord("z") + 1))
GATHER = np.uint64(0x0102040810204080)  # as a factor, it moves one bit of each byte to the top byte


@intrinsic
def _trailing_zeros(typing, x):
    """The number of zero bits at the low end of a word that is not zero: one instruction."""

    def build(context, builder, signature, arguments):
        """Emit the machine instruction."""
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), build


@exact
def _read_word(text, at, stop):
    """Read eight bytes of a text; bytes after its end are zero."""
    if at + U8 <= stop:
        return word_at(text, at)
    word = U0
    for i in range(stop - at):
        word |= np.uint64(text[at + i]) << (U8 * i)
    return word


@exact
def _split_plain(text, start, stop, lowercase, scratch, starts, ends):
    """Find the tokens of an ASCII text.

    The text is copied to `scratch`, in lower case if `lowercase`. Token t is
    scratch[starts[t]:ends[t]]. Returns the number of tokens, or −1 if the text is not ASCII.
    """
    first, end = np.uint64(start), np.uint64(stop)
    fold = LOWER_BIT if lowercase else U0
    begun = ended = block = last = seen = U0  # last: 1 if the last character was part of a word
    while first + block < end:
        mask = U0
        for eight in range(min(U8, (end - first - block + U7) // U8)):
            at = block + U8 * eight
            word = _read_word(text, first + at, end)
            seen |= word
            folded = word | LOWER_BIT
            marks = (folded + FROM_LOWER_A) & ~(folded + PAST_LOWER_Z)
            marks |= (word + FROM_0) & ~(word + PAST_9)
            marks |= TOP - (word ^ UNDERSCORE)
            upper = (word + FROM_UPPER_A) & ~(word + PAST_UPPER_Z) & TOP
            write_word(word | ((upper >> U2) & fold), scratch, at)
            mask |= (((marks & TOP) >> U7) * GATHER >> U56) << (U8 * eight)
        if seen & TOP != U0:
            return -1
        before = (mask << U1) | last
        last = mask >> U63
        begins, finishes = mask & ~before, before & ~mask
        while begins != U0:
            starts[begun] = block + _trailing_zeros(begins)
            begins &= begins - U1
            begun += U1
        while finishes != U0:
            ends[ended] = block + _trailing_zeros(finishes)
            finishes &= finishes - U1
            ended += U1
        block += U64
    if ended < begun:
        ends[ended] = end - first
    found = U0
    for t in range(begun):
        a, b = starts[t], ends[t]
        starts[found] = a
        ends[found] = b
        found += np.uint64(b - a >= 2)
    return np.int64(found)


@exact
def _close_up(scratch, starts, ends, found):
    """Move the tokens together, with one space between them, so that n-grams are slices."""
    o = 0
    for t in range(found):
        a, b = starts[t], ends[t]
        starts[t] = o
        for i in range(a, b):
            scratch[o] = scratch[i]
            o += 1
        ends[t] = o
        scratch[o] = SPACE
        o += 1


@exact
def _decode(text, at, stop):
    """The code point at `at` (a byte ≥ 0x80) and its length in bytes.

    The length is 0 if the bytes are not valid UTF-8.
    """
    lead = np.int64(text[at])
    if lead < 0xC2 or lead > 0xF4:
        return 0, 0
    length = 2 if lead < 0xE0 else (3 if lead < 0xF0 else 4)
    if at + length > stop:
        return 0, 0
    point = lead & (0x7F >> length)
    for i in range(1, length):
        byte = np.int64(text[at + i])
        if byte & 0xC0 != 0x80:
            return 0, 0
        point = (point << 6) | (byte & 0x3F)
    if length == 3 and (point < 0x800 or 0xD800 <= point < 0xE000):
        return 0, 0
    if length == 4 and (point < 0x10000 or point > 0x10FFFF):
        return 0, 0
    return point, length


@exact
def _encode(point, out, at):
    """Write a code point as UTF-8; returns the position after it."""
    if point < 0x80:
        out[at] = point
        return at + 1
    if point < 0x800:
        out[at] = 0xC0 | (point >> 6)
        out[at + 1] = 0x80 | (point & 0x3F)
        return at + 2
    if point < 0x10000:
        out[at] = 0xE0 | (point >> 12)
        out[at + 1] = 0x80 | ((point >> 6) & 0x3F)
        out[at + 2] = 0x80 | (point & 0x3F)
        return at + 3
    out[at] = 0xF0 | (point >> 18)
    out[at + 1] = 0x80 | ((point >> 12) & 0x3F)
    out[at + 2] = 0x80 | ((point >> 6) & 0x3F)
    out[at + 3] = 0x80 | (point & 0x3F)
    return at + 4


@exact
def _split_any(text, start, stop, ascii, points, scratch, starts, ends):
    """Find the tokens of any text and write them to `scratch` with one space between them.

    Returns the number of tokens and the reason for stopping.
    """
    i, end = np.uint64(start), np.uint64(stop)
    o = U0
    found = 0
    while i < end:
        begin, length = o, U0  # the start and length of a run of word characters
        while True:
            first = i
            while i < end:
                c = ascii[text[i]]
                if c == 0:
                    break
                scratch[o] = c
                o += U1
                i += U1
            length += i - first
            if i >= end:
                break
            if text[i] < 128:
                i += U1
                break
            point, size = _decode(text, np.int64(i), np.int64(end))
            if size == 0:
                return found, INVALID
            i += np.uint64(size)
            c = points[point]
            if c <= 0:
                if c < 0:
                    return found, SPECIAL
                break
            o = np.uint64(_encode(c, scratch, np.int64(o)))
            length += U1
        if length >= U2:
            starts[found] = begin
            ends[found] = o
            found += 1
            scratch[o] = SPACE
            o += U1
        else:
            o = begin
    return found, DONE


@exact
def split_characters(text, start, stop, ascii, points, scratch, starts, ends):
    """Find the characters of text[start:stop] for n-grams within words.

    Character t is scratch[starts[t]:ends[t]]. A word is a run of characters that are not spaces.
    There is one space before the first word, between words and after the last word. ascii (256,)
    and points (0x110000,) give the character that a byte or code point becomes. It is ' ' for
    every kind of space, and −1 for a character that the table does not cover. Returns the number
    of characters and the reason for stopping.
    """
    i, end = np.uint64(start), np.uint64(stop)
    o = U1
    found = 1
    scratch[0] = SPACE
    starts[0], ends[0] = 0, 1
    spaced = True  # whether the last character was a space
    while i < end:
        first = text[i]
        if first < 128:
            c = ascii[first]
            i += U1
            if c == SPACE and spaced:
                continue
            starts[found] = o
            scratch[o] = c
            o += U1
            spaced = c == SPACE
        else:
            point, size = _decode(text, np.int64(i), np.int64(end))
            if size == 0:
                return found, INVALID
            c = points[point]
            if c < 0:
                return found, SPECIAL
            i += np.uint64(size)
            if c == 32 and spaced:
                continue
            starts[found] = o
            o = np.uint64(_encode(c, scratch, np.int64(o)))
            spaced = c == 32
        ends[found] = o
        found += 1
    if not spaced:
        scratch[o] = SPACE
        starts[found], ends[found] = o, o + U1
        found += 1
    return found, DONE


@exact
def split(text, start, stop, ascii, points, joined, scratch, starts, ends):
    """Find the tokens of text[start:stop]; token t is scratch[starts[t]:ends[t]].

    If `joined`, the tokens follow each other with one space between them. ascii (256,) and
    points (0x110000,) give the character that a byte or code point becomes. They are 0 for a
    character that is not part of a word, and −1 for a character that the table does not cover.
    Returns the number of tokens and the reason for stopping.
    """
    found = _split_plain(text, start, stop, ascii[65] == 97, scratch, starts, ends)
    if found < 0:
        return _split_any(text, start, stop, ascii, points, scratch, starts, ends)
    if joined:
        _close_up(scratch, starts, ends, found)
    return found, DONE
