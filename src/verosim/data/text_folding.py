"""Texts in one spelling before they are read as numbers or dates.

    spaces of all widths → ' '        −  → '-'        ’ → "'"        digits of all scripts → 0 … 9

A decimal digit of any script (Unicode class Nd, such as '٣' or '३') is a digit. Other signs that
mean numbers, such as '½' or '²', are not. Only numbers and dates are read in this way: a category
and a label keep their text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from verosim.data.dictionaries import dictionary_encoded
from verosim.data.libraries import pa, pc

SPACES = r"[\x{00A0}\x{2007}\x{2009}\x{202F}]+"  # no-break, figure and thin spaces
OTHER_DIGITS = r"[^\P{Nd}0-9]"
DIGIT = re.compile(r"\d")
SAMPLE_TEXTS = 1000
ARABIC_MARKS = {"٫": ".", "٬": ","}  # the decimal mark and the mark of thousands


def folded(texts: pa.Array) -> pa.Array:
    """The texts (n,) in one spelling, without spaces at both ends. Nulls stay nulls."""
    texts = pc.utf8_trim_whitespace(texts)
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return texts
    texts = pc.replace_substring_regex(texts, SPACES, " ")
    texts = pc.replace_substring(pc.replace_substring(texts, "−", "-"), "’", "'")
    if pc.any(pc.match_substring_regex(texts, OTHER_DIGITS)).as_py():
        coded = dictionary_encoded(texts)  # only the distinct texts are changed in Python
        ascii_ = pa.array([in_ascii_digits(text) for text in coded.dictionary.to_pylist()])
        texts = ascii_.cast(texts.type).take(coded.indices)
    return texts


def have_digits(texts: Iterable[str]) -> bool:
    """Whether one of the texts has a digit of any script. Numbers and dates have one."""
    return DIGIT.search("\n".join(texts)) is not None


def in_ascii_digits(text: str) -> str:
    """The text with the digits 0 to 9 in place of the digits of other scripts."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(sign)) if sign.isdecimal() else ARABIC_MARKS.get(sign, sign)
        for sign in text
    )


def some_texts(texts: pa.Array) -> list[str]:
    """At most about 1,000 of the texts, at equal steps."""
    found: list[str] = texts[:: max(1, len(texts) // SAMPLE_TEXTS)].to_pylist()
    return found
