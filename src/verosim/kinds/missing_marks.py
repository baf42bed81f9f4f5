"""Finds cells that often mean missing: words such as `NA` and `?`, and numbers such as −999.

`look` lists them with the `na=` that reads them as missing. If all other texts of a column are
numbers, dates or truth values, the words are missing values of this column.
"""

from __future__ import annotations

import re

import numpy as np

from verosim.data import cells
from verosim.data.dictionaries import dictionary_encoded
from verosim.data.libraries import pa, pc

MISSING_WORDS = (
    "NA", "na", "N/A", "n/a", "N.A.", "n.a.", "n/d", "N/D", "s/d", "S/D", "#N/A", "#NA", "<NA>",
    "NaN", "nan", "NAN", "NaT", "NULL", "null", "Null", "None", "?", "??", "-", "--", "---", ".",
    "..", "...", "\\N", "#VALUE!", "#REF!", "#DIV/0!", "#NULL!", "#NUM!", "#NAME?",
)  # fmt: skip
# Labels such as '-' and 'None' are often classes.
LABEL_MARKS = frozenset(
    m for m in MISSING_WORDS if m != "None" and any(c.isalpha() or c == "?" for c in m)
)
LEAST_SENTINEL = 99
SENTINEL_PATTERN = re.compile(r"-?9{2,}(\.9+)?")  # 99, -999, 9999, -999.9


def words_of(array: pa.Array, na: frozenset[str]) -> dict[str, int]:
    """How many times each word that often means missing occurs, without the texts in `na`.

    `array` is a dictionary array of texts.
    """
    words = array.dictionary
    trimmed = pc.ascii_trim_whitespace(words)  # no check of the encoding
    found = pc.is_in(trimmed, value_set=pa.array(MISSING_WORDS, trimmed.type))
    if not pc.any(found).as_py():
        return {}
    at = np.flatnonzero(found.to_numpy(zero_copy_only=False))
    index = array.indices.drop_null().to_numpy()
    count = np.bincount(index, minlength=len(words))
    kept = {words[i].as_py(): int(count[i]) for i in at.tolist() if count[i]}
    ranked = sorted(kept, key=lambda text: (-kept[text], text))
    return {text: kept[text] for text in ranked if text not in na}


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
