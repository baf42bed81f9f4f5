"""Checks of axes that come from outside, such as a file: compiled loops trust their axes.

A wrong offset or code would be read or written outside of an array, so it is refused here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from verosim.errors import VerosimError

MOST_FOLDS = 1 << 20
LONGEST_STORED_LABEL = 1 << 16
LARGEST_INTEGER = 1 << 128  # of a label or another number that is saved
LABEL_TYPES = (str, int, float, tuple, bytes, date, timedelta, Decimal, np.generic, type(None))


def wrong_state(what: str) -> VerosimError:
    """The error for axes that no rows can have."""
    return VerosimError(f"The sums are damaged: {what}.", "Use the original file or state.")


def require(holds: Any, what: str) -> None:
    """Raise an error unless something holds."""
    if not holds:
        raise wrong_state(what)


def is_count(value: Any, least: int = 0, most: int = 1 << 40) -> bool:
    """Whether this is a whole number within bounds, and not a boolean."""
    return type(value) is int and least <= value <= most


def check_label_type(dtype: Any) -> None:
    """Raise an error unless labels can have this type."""
    require(isinstance(dtype, str), "its labels have no type")
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):  # numpy evaluates some parts of the text
        raise wrong_state("its labels have an unknown type") from None
    plain = found.kind in "biufMmO" or (
        found.kind in "US" and found.itemsize <= 4 * LONGEST_STORED_LABEL
    )
    require(plain and found.names is None and found.shape == (), "its labels have a wrong type")


def check_distinct(values: Sequence[Any], what: str) -> None:
    """Raise an error if a value occurs twice or cannot be compared."""
    for value in values:
        require(isinstance(value, LABEL_TYPES), f"{what} have a wrong type")
        require(value == value, f"{what} contain NaN")
    require(len(set(values)) == len(values), f"{what} repeat")


def check_whole(numbers: Any, least: int, most: int, what: str) -> None:
    """Raise an error unless these are whole numbers within bounds."""
    array = np.asarray(numbers)
    fits = array.dtype.kind in "iu" or not array.size
    require(fits and (not array.size or (array.min() >= least and array.max() <= most)), what)


def check_tokens(arena: bytes, bounds: np.ndarray) -> None:
    """Raise an error unless the bounds divide the bytes into texts."""
    require(len(bounds) and bounds[0] == 0, "a vocabulary does not begin at 0")
    require((np.diff(bounds) >= 0).all(), "the offsets of a vocabulary are not in order")
    require(bounds[-1] == len(arena), "the offsets of a vocabulary do not fit its bytes")
    try:
        arena.decode()
    except UnicodeDecodeError:
        raise wrong_state("a vocabulary is not UTF-8") from None
    raw = np.frombuffer(arena, dtype=np.uint8)
    inside = bounds[bounds < len(arena)]
    require(((raw[inside] & 0xC0) != 0x80).all(), "a token begins inside a character")
