"""Sentences as patterns with values, so that a page can show them in another language.

A pattern is an English sentence with names in braces. It is also the key of its translation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

NAMES = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class Phrase:
    """A pattern and the values of its names. A value is a text or another phrase."""

    pattern: str
    values: Mapping[str, str | Phrase]

    def text(self, translated: Mapping[str, str] | None = None) -> str:
        """The sentence; with `translated`, the pattern of another language is used."""
        pattern = self.pattern if translated is None else translated[self.pattern]

        def value(found: re.Match[str]) -> str:
            one = self.values[found[1]]
            return one.text(translated) if isinstance(one, Phrase) else one

        return NAMES.sub(value, pattern)


def said(pattern: str, **values: str | Phrase) -> Phrase:
    """The phrase of a pattern.

    >>> said("There are {rows} rows.", rows="12").text()
    'There are 12 rows.'
    """
    return Phrase(pattern, values)
