"""Splitting of a text into tokens: lowercased runs of two or more word characters.

Plain ASCII is read 64 characters at a time. Vector instructions compare all of them with the
letters, the digits and '_'. The results form one word of 64 bits, and tokens begin and end where
the bits change. No branch depends on a character, so the processor mispredicts none.
Reference: Langdale & Lemire (2019), Parsing gigabytes of JSON per second, VLDB Journal 28, 941–960.

Any other text is decoded and looked up, character by character. So are texts that are split into
characters.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from verosim.kernels._compile import exact
from verosim.kernels.constants import (
    COMPARED_BYTES,
    DONE,
    INVALID,
    SPECIAL,
    U0,
    U1,
    U2,
    U4,
    U63,
    U64,
)

SPACE = np.uint8(32)
BYTE_BLOCK = ir.VectorType(ir.IntType(8), COMPARED_BYTES)  # bytes that are compared together


def _each(byte):
    """A block of equal bytes, as a constant of the compiler."""
    return ir.Constant(BYTE_BLOCK, [byte] * COMPARED_BYTES)


def _block_at(context, builder, array, kind, at):
    """The address of the bytes of an array from `at` on, as that of a block."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), BYTE_BLOCK.as_pointer())


def _is_within(builder, block, first, last):
    """Which bytes of a block are between two characters."""
    from_first = builder.sub(block, _each(ord(first)))
    return builder.icmp_unsigned("<=", from_first, _each(ord(last) - ord(first)))


@intrinsic
def _word_bits(typing, text, at):
    """One bit for each of the 64 bytes from `at` on: whether it is a letter, a digit or '_'."""

    def build(context, builder, signature, arguments):
        """Emit the comparisons of all bytes."""
        place = _block_at(context, builder, arguments[0], signature.args[0], arguments[1])
        block = builder.load(place, align=1)
        found = _is_within(builder, builder.or_(block, _each(0x20)), "a", "z")
        found = builder.or_(found, _is_within(builder, block, "0", "9"))
        found = builder.or_(found, builder.icmp_unsigned("==", block, _each(ord("_"))))
        return builder.bitcast(found, ir.IntType(COMPARED_BYTES))

    return types.uint64(text, types.uint64), build


@intrinsic
def _copy_lower(typing, text, at, out, to, lowercase):
    """Copy 64 bytes, in lower case if asked for; one bit for each byte that is not ASCII."""

    def build(context, builder, signature, arguments):
        """Emit the copy of all bytes."""
        source, start, target, end, lower = arguments
        block = builder.load(_block_at(context, builder, source, signature.args[0], start), align=1)
        fold = builder.select(lower, _each(0x20), _each(0))
        fold = builder.select(_is_within(builder, block, "A", "Z"), fold, _each(0))
        place = _block_at(context, builder, target, signature.args[2], end)
        builder.store(builder.or_(block, fold), place, align=1)
        high = builder.icmp_signed("<", block, _each(0))
        return builder.bitcast(high, ir.IntType(COMPARED_BYTES))

    return types.uint64(text, types.uint64, out, types.uint64, types.boolean), build


@intrinsic
def _trailing_zeros(typing, x):
    """The number of zero bits at the low end of a word, 64 for zero: one instruction."""

    def build(context, builder, signature, arguments):
        """Emit the machine instruction."""
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), build


@intrinsic
def _ones(typing, x):
    """The number of bits of a word that are 1: one instruction."""

    def build(context, builder, signature, arguments):
        """Emit the machine instruction."""
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


@exact
def _split_plain(text, start, stop, lowercase, scratch, starts, ends):
    """Find the tokens of an ASCII text.

    The text is copied to `scratch`, in lower case if `lowercase`. Token t is
    scratch[starts[t]:ends[t]]. First, `starts` has the places where a run begins or ends. Returns
    the number of tokens, or −1 if the text is not ASCII.
    """
    first, length = np.uint64(start), np.uint64(stop - start)
    size = np.uint64(text.size)
    edges = block = last = U0  # last: 1 if the last character was part of a word
    while block < length:
        left = length - block
        if first + block + U64 <= size:
            mask = _word_bits(text, first + block)
            high = _copy_lower(text, first + block, scratch, block, lowercase)
        else:  # the last texts of the buffer
            for i in range(left):
                scratch[block + i] = text[first + block + i]
            scratch[block + left : block + U64] = 0
            mask = _word_bits(scratch, block)
            high = _copy_lower(scratch, block, scratch, block, lowercase)
        if left < U64:  # the next text follows
            own = (U1 << left) - U1
            mask &= own
            high &= own
        if high != U0:
            return -1
        changes = mask ^ ((mask << U1) | last)
        last = mask >> U63
        count = _ones(changes)
        for i in range(U0, count, U4):  # up to three numbers too many, which the next ones replace
            for j in range(U4):
                starts[edges + i + j] = block + _trailing_zeros(changes)
                changes &= changes - U1
        edges += count
        block += U64
    if last != U0 and length % U64 == U0:
        starts[edges] = length
        edges += U1
    found = U0
    for t in range(U0, edges, U2):
        a, b = starts[t], starts[t + U1]
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
