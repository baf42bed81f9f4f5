"""Numbers that a double does not hold: whole numbers that it rounds, and texts that become 0.

A double has 53 binary digits. Up to 2⁵³ it holds every whole number. Beyond, it holds only those
with at most 53 digits between the first and the last 1:

    2⁶⁰ is held    2⁵³ + 1 is not    10¹⁶ + 1 is not

Account numbers, keys and hashes are such numbers. They would be rounded without a word, and two of
them would become one. Numbers with a decimal point or an exponent are measured values, which are
rounded by intent. If such a number becomes 0, it is not held either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from verosim.data.libraries import pa, pc

HELD = 1 << 53  # up to here, a double holds every whole number
SHORTEST_ZERO = 6  # letters of '1e-324', the shortest text of a number that becomes 0
WHOLE_FORM = r"^\s*[-+]?[0-9]+(\.0*)?\s*$"
NOT_ZERO_FORM = r"^[^eE]*[1-9]"
WHOLE_TEXT, NOT_ZERO_TEXT = re.compile(WHOLE_FORM), re.compile(NOT_ZERO_FORM)
INFINITE_TEXT = re.compile(r"\s*[-+]?inf(inity)?\s*", re.IGNORECASE)
HELD_WHOLE = "a whole number that a double holds exactly"
HELD_SMALL = "a number that a double can tell from 0"


def is_held(value: Any) -> bool:
    """Whether a double holds a number. A text is a number if it is written with ASCII digits."""
    return what_is_lost(value) is None


def what_is_lost(value: Any) -> str | None:
    """What a number is not, so that a double does not hold it; None if it does, or if in doubt."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        if len(value) < SHORTEST_ZERO:
            return None
        if WHOLE_TEXT.match(value) is None:
            return HELD_SMALL if NOT_ZERO_TEXT.match(value) and _is_zero(value) else None
        try:
            value = Decimal(value)
        except InvalidOperation:
            return None
    if not isinstance(value, int | Decimal | Fraction):
        return None
    try:
        number = float(value)
    except OverflowError:
        return HELD_WHOLE
    if number == value or number != number:
        return None
    if number == 0:
        return HELD_SMALL
    return HELD_WHOLE if abs(number) >= HELD and value == int(value) else None


def is_too_small(text: str) -> bool:
    """Whether a text is a number that is not 0, although its double is 0."""
    return what_is_lost(text) == HELD_SMALL


def is_infinite(text: str) -> bool:
    """Whether a text is written as an infinite number."""
    return INFINITE_TEXT.fullmatch(text) is not None


def _is_zero(text: str) -> bool:
    try:
        return float(text) == 0
    except ValueError:
        return False


def first_lost(values: Iterable[Any]) -> Any:
    """The first whole number among some values that a double would round, or None."""
    return next((value for value in values if what_is_lost(value) == HELD_WHOLE), None)


def may_round(whole: np.ndarray) -> bool:
    """Whether some of these integers are so large that a double may round them."""
    if whole.dtype.itemsize < 8 or not whole.size:
        return False
    if 0 <= int(np.bitwise_or.reduce(whole, axis=None)) < HELD:  # one pass if none is negative
        return False
    return int(whole.max()) > HELD or int(whole.min()) < -HELD


def rounded(whole: np.ndarray) -> np.ndarray:
    """Whether a double rounds each of some integers: the digits from its first to its last 1."""
    size = whole.astype(np.uint64)
    size = np.where(whole < 0, ~size + np.uint64(1), size)  # |x|, also for the least integer
    last = np.maximum(size & (~size + np.uint64(1)), np.uint64(1))
    found: np.ndarray = size // last > np.uint64(HELD)
    return found


def large_columns(numbers: np.ndarray) -> np.ndarray:
    """(d,) whether each column of doubles (n, d) has a number for which a closer look is needed."""
    ends = (one.reduce(numbers, axis=None, initial=0.0) for one in (np.fmax, np.fmin))
    if all(abs(end) < HELD for end in ends):
        return np.zeros(numbers.shape[1], dtype=bool)
    found: np.ndarray = (np.abs(numbers) >= HELD).any(axis=0)
    return found


def lost_texts(texts: pa.Array, numbers: np.ndarray) -> np.ndarray:
    """The positions of texts that the doubles, which they were converted to (n,), do not hold."""
    large, small = np.abs(numbers) >= HELD, numbers == 0
    if not (large | small).any():
        return np.empty(0, dtype=np.intp)
    large, small = np.flatnonzero(large), np.flatnonzero(small)
    if len(small):
        long = pc.greater_equal(pc.binary_length(texts), SHORTEST_ZERO)
        small = small[pc.fill_null(long, False).to_numpy(zero_copy_only=False)[small]]
    found = []
    for at, form in ((large, WHOLE_FORM), (small, NOT_ZERO_FORM)):
        if len(at):
            some = texts.take(pa.array(at))
            at = at[pc.match_substring_regex(some, form).to_numpy(zero_copy_only=False)]
            found += [i for i in at.tolist() if not is_held(texts[i].as_py())]
    return np.array(sorted(found), dtype=np.intp)
