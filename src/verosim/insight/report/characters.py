"""What the tokenizer of a page has to know about characters, in few bytes.

A browser can have another version of Unicode than Python. So a page carries the classes of
characters and the lower case of the running Python, as far as its model needs them:

    sets   "gap length gap length …"            runs of code points, in base 36
    lower  "start,length,step,shift …"          runs of code points with the same shift

The lower case of 'Σ' depends on the letters around it. Python has no table for that, so the sets of
cased letters and of characters that are skipped are found with `str.lower` itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from verosim.data.tokens import POINTS, tables

BASE_36 = "0123456789abcdefghijklmnopqrstuvwxyz"
SURROGATES = range(0xD800, 0xE000)
SIGMA, FINAL_SIGMA, DOTTED_I = "Σ", "ς", "İ"
NOT_A_LETTER = "1"  # neither cased nor skipped


def characters_of(program: dict[str, Any]) -> dict[str, str]:
    """The classes of characters that the tokenizers in a program use; empty without texts."""
    settings = list(_tokenizers(program))
    if not settings:
        return {}
    out: dict[str, str] = {}
    if any(one["analyzer"] == "word" for one in settings):
        out["word"] = word_characters()
    if any(one["analyzer"] != "word" for one in settings):
        out["space"] = spaces()
    if any(one["lowercase"] for one in settings):
        cased, ignorable = around_sigma()
        out |= {"lower": lower_case(), "cased": cased, "ignorable": ignorable}
    if any(one["strip_accents"] for one in settings):
        out |= {"combining": combining(), "decomposed": decomposed()}
    return out


def _tokenizers(value: Any) -> Iterator[dict[str, Any]]:
    """All parts of a program with the settings of a tokenizer."""
    if isinstance(value, dict):
        if "strip_accents" in value:
            yield value
        for one in value.values():
            yield from _tokenizers(one)
    elif isinstance(value, list) and value and isinstance(value[0], dict | list):
        for one in value:
            yield from _tokenizers(one)


# The classes -------------------------------------------------------------------------------------


@cache
def word_characters() -> str:
    r"""The characters of the pattern \w."""
    return _packed_set(tables(False).points > 0)


@cache
def spaces() -> str:
    """The characters that `str.split` splits at."""
    every = tables(False, characters=True).points
    return _packed_set((every == ord(" ")) & ~_is_in(SURROGATES))


@cache
def around_sigma() -> tuple[str, str]:
    """The letters that make 'Σ' the last of a word, and the characters that are skipped."""
    every = [chr(p) for p in range(POINTS) if p not in SURROGATES and chr(p) != DOTTED_I]
    before = _ends_in_final_sigma(f"{c}{SIGMA}{NOT_A_LETTER}" for c in every)
    after = _ends_in_final_sigma(f"A{c}{SIGMA}{NOT_A_LETTER}" for c in every)
    cased, ignorable = (np.zeros(POINTS, dtype=bool) for _ in range(2))
    at = np.array([ord(c) for c in every])
    cased[at], ignorable[at] = before, after & ~before
    cased[ord(DOTTED_I)] = True
    return _packed_set(cased), _packed_set(ignorable)


def _ends_in_final_sigma(words: Iterable[str]) -> np.ndarray:
    """Whether 'Σ' before the last character of each word becomes 'ς'."""
    lowered = NOT_A_LETTER.join(["", *words]).lower()
    found = lowered.split(NOT_A_LETTER * 2)
    return np.array([one.rstrip(NOT_A_LETTER).endswith(FINAL_SIGMA) for one in found])


@cache
def combining() -> str:
    """The characters with a combining class, which are left out with the accents."""
    return _packed_set(np.array([unicodedata.combining(chr(p)) > 0 for p in range(POINTS)]))


@cache
def decomposed() -> str:
    """The characters with another form NFKD."""
    found = np.zeros(POINTS, dtype=bool)
    for p in range(POINTS):
        if p not in SURROGATES:
            found[p] = unicodedata.normalize("NFKD", chr(p)) != chr(p)
    return _packed_set(found)


@cache
def lower_case() -> str:
    """Runs of characters with the same distance to their lower case."""
    pairs = []
    for p in range(POINTS):
        low = chr(p).lower()
        if len(low) == 1 and ord(low) != p and chr(p) != SIGMA:
            pairs.append((p, ord(low) - p))
    runs: list[list[int]] = []  # start, length, step, shift
    for p, shift in pairs:
        last = runs[-1] if runs else None
        if last is not None and last[3] == shift:
            step = p - (last[0] + (last[1] - 1) * last[2])
            if step in (1, 2) and (last[1] == 1 or step == last[2]):
                last[1], last[2] = last[1] + 1, step
                continue
        runs.append([p, 1, 1, shift])
    return " ".join(",".join(_base36(n) for n in run) for run in runs)


# Packing -----------------------------------------------------------------------------------------


def _is_in(points: range) -> np.ndarray:
    out = np.zeros(POINTS, dtype=bool)
    out[points.start : points.stop] = True
    return out


def _packed_set(inside: np.ndarray) -> str:
    """The runs of a set (0x110000,) as gaps and lengths."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8)))
    return " ".join(_base36(n) for n in np.diff(edges, prepend=0).tolist())


def _base36(n: int) -> str:
    if n < 0:
        return "-" + _base36(-n)
    out = ""
    while True:
        n, digit = divmod(n, 36)
        out = BASE_36[digit] + out
        if n == 0:
            return out
