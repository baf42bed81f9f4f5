"""Plain words: what `words.txt` lists does not appear in the source or the pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    path
    for pattern in ("src/**/*.py", "src/**/*.pyi", "docs/**/*.md", "examples/**/*.py", "*.md")
    for path in sorted(ROOT.glob(pattern))
    if ROOT / "docs" / "es" not in path.parents  # the list is of English words
]
QUOTES = "ignore-words"  # a line with this mark shows a user's data, or a title


def listed() -> list[tuple[re.Pattern[str], str]]:
    """The patterns, and what to write instead."""
    found = []
    for line in (Path(__file__).parent / "words.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, _, instead = line.partition("  ")
            found.append((re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), instead.strip()))
    return found


WORDS = listed()


def hard_words(text: str) -> list[str]:
    """What a text contains of the list, with its line."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if QUOTES not in line:
            for pattern, instead in WORDS:
                if match := pattern.search(line):
                    found.append(f"line {number}: {match[0]!r}; write: {instead}")
    return found


def test_the_list_finds_what_it_should():
    assert hard_words("The jury heard the verdict.")
    assert not hard_words("The candidates are scored on held-out rows.")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_plain_words(path):
    assert hard_words(path.read_text()) == []
