"""Finds cells that often mean missing: words such as `NA` and `?`, and numbers such as −999.

`look` lists them with the `na=` that reads them as missing. If all other texts of a column are
numbers, dates or truth values, the words are missing values of this column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from verosim.arguments import value_in_message
from verosim.data import cells
from verosim.data.dictionaries import dictionary_encoded
from verosim.data.libraries import pa, pc
from verosim.errors import VerosimError

MISSING_WORDS = (
    "NA", "na", "N/A", "n/a", "N.A.", "n.a.", "n/d", "N/D", "s/d", "S/D", "#N/A", "#NA", "<NA>",
    "NaN", "nan", "NAN", "NaT", "NULL", "null", "Null", "None", "?", "??", "-", "--", "---", ".",
    "..", "...", "\\N", "#VALUE!", "#REF!", "#DIV/0!", "#NULL!", "#NUM!", "#NAME?",
)  # fmt: skip
KNOWN_WORDS, ASCII_SPACES = frozenset(MISSING_WORDS), " \t\n\r\v\f"
# Labels such as '-' and 'None' are often classes.
LABEL_MARKS = frozenset(
    m for m in MISSING_WORDS if m != "None" and any(c.isalpha() or c == "?" for c in m)
)
LEAST_SENTINEL = 99
SENTINEL_PATTERN = re.compile(r"-?9{2,}(\.9+)?")  # 99, -999, 9999, -999.9


def as_na(na: Any) -> tuple[str, ...]:
    """The texts that mean missing, from one value or several."""
    if isinstance(na, tuple) and not na:
        return ()
    if isinstance(na, str | int | float | np.number):
        na = (na,)
    if isinstance(na, Mapping):
        raise VerosimError(
            "na must be a list of texts for the whole table, not a dict.",
            "Use na=['?', 'unknown'].",
        )
    try:
        marks = () if na is None else tuple(na)
    except TypeError:  # an array without dimensions, or a matrix in coordinates
        given = value_in_message(na)
        raise VerosimError(f"na must be a list of texts or numbers; got {given}.") from None
    plain = [m.item() if isinstance(m, np.generic) else m for m in marks]
    for mark in plain:
        if not isinstance(mark, str | int | float):
            given = value_in_message(mark)
            raise VerosimError(f"na must be a list of texts or numbers; it contains {given}.")
    forms = [form for mark in plain for form in (str(mark), cells.text_of(mark)) if form]
    return tuple(dict.fromkeys(forms))


def words_of(texts: Mapping[str, int]) -> dict[str, int]:
    """How many times each word that often means missing occurs, from the counts of all texts."""
    kept = [text for text in texts if text.strip(ASCII_SPACES) in KNOWN_WORDS]
    return {text: texts[text] for text in sorted(kept, key=lambda text: (-texts[text], text))}


def has_any(array: pa.Array, texts: frozenset[str]) -> bool:
    """Whether one of the texts occurs in a dictionary array."""
    if not texts:
        return False
    words = array.dictionary
    return bool(pc.any(pc.is_in(words, value_set=pa.array(sorted(texts), words.type))).as_py())


def as_dictionary(array: pa.Array) -> pa.DictionaryArray:
    """An array of texts as a dictionary array, which other readers of the texts need too."""
    plain = cells.without_dictionary(array)
    return dictionary_encoded(plain)


def sentinels_of(seen: np.ndarray, distinct: np.ndarray) -> dict[str, int]:
    """How many times numbers such as 999 occur, if they are repeated and far from the others.

    A number is far if its distance to the nearest other value is larger than the range of the
    others. `seen` are finite numbers, and `distinct` their sorted values.
    """
    out: dict[str, int] = {}
    while len(distinct) > 2 and max(-distinct[0], distinct[-1]) >= LEAST_SENTINEL:
        for value, rest in ((distinct[-1], distinct[:-1]), (distinct[0], distinct[1:])):
            text = str(cells.text_of(float(value)))
            gap = abs(value - (rest[-1] if value > rest[-1] else rest[0]))
            if SENTINEL_PATTERN.fullmatch(text) and gap > rest[-1] - rest[0]:
                count = int((seen == value).sum())
                if count > 1:
                    out[text], distinct = count, rest
                    break
        else:
            break
    return out


def words_note(words: dict[str, int]) -> str:
    """A note that counts words which often mean missing."""
    return f"Cells that often mean missing: {counted_words(words)}. If so, use na={list(words)!r}."


def holes_note(words: dict[str, int]) -> str:
    """A note that counts words which are read as missing, because all other cells fit."""
    if not words:
        return ""
    return f"Cells that are read as missing, because all other cells fit: {counted_words(words)}."


def sentinels_note(numbers: dict[str, int]) -> str:
    """A note that counts numbers such as 999."""
    return (
        f"Numbers that are far from all others: {counted_words(numbers)}. "
        f"If they mean missing, use na={list(numbers)!r}."
    )


def counted_words(words: dict[str, int]) -> str:
    """The words and how often each occurs: `'NA' (12 cells), '?' (1 cell)`."""
    return ", ".join(f"{w!r} ({c:,} cell{'s' if c > 1 else ''})" for w, c in words.items())
