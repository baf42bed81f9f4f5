"""The 64-bit hash of a token, in plain Python. The compiled loops compute the same number."""

from __future__ import annotations

WORD = (1 << 64) - 1
LENGTHS, FIRST_MIX, SECOND_MIX = 0x9E3779B97F4A7C15, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53


def token_hash(token: str) -> int:
    """The hash of the UTF-8 bytes of a token.

    The first 16 bytes are mixed with the length; each 8 bytes after them are mixed in one by one.
    """
    data = token.encode()
    first, second, *rest = (data[i : i + 8] for i in (0, 8, *range(16, len(data), 8)))
    h = ((_number(first) ^ (len(data) * LENGTHS & WORD)) * SECOND_MIX) & WORD
    turned = (_number(second) * FIRST_MIX) & WORD
    h = _mixed_word(h ^ ((turned >> 32) | (turned << 32 & WORD)))
    for part in rest:
        h = _mixed_word(h ^ _number(part))
    return h


def _number(part: bytes) -> int:
    return int.from_bytes(part, "little")


def _mixed_word(h: int) -> int:
    h ^= h >> 33
    h = h * FIRST_MIX & WORD
    h ^= h >> 33
    h = h * SECOND_MIX & WORD
    return h ^ (h >> 33)
