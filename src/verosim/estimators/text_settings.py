"""Checks of the settings of text classifiers: lists of tokens, accents, functions and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from verosim.arguments import one_of
from verosim.data import Tokenizer
from verosim.data.prepared_texts import ACCENTS, TokenFunction, normalised
from verosim.data.stop_words import NAMED
from verosim.errors import VerosimError


def with_preparation(
    tokenizer: Tokenizer, stop_words: Any, strip_accents: Any, function: Any
) -> Tokenizer:
    """The tokenizer with the settings that prepare texts, checked."""
    if strip_accents is not None:
        one_of("strip_accents", strip_accents, ACCENTS)
    for name, given in (("stop_words", stop_words), ("tokenizer", function)):
        if given is not None and tokenizer.characters:
            raise VerosimError(
                f'{name} cannot be used with analyzer="char_wb", which counts characters.',
                f'Use analyzer="word", or {name}=None.',
            )
    if function is not None and not callable(function):
        raise VerosimError(
            f"tokenizer must be a function from a text to a list of tokens; got {function!r}.",
            "Use tokenizer=str.split, for example.",
        )
    return replace(
        tokenizer,
        stop_words=_stop_words(stop_words, tokenizer.lowercase, strip_accents),
        strip_accents=strip_accents,
        function=None if function is None else TokenFunction(function),
    )


def _stop_words(given: Any, lowercase: bool, accents: str | None) -> tuple[str, ...]:
    """The tokens to leave out, sorted. Those of a named list have the form of the texts."""
    if given is None:
        return ()
    if isinstance(given, str):
        one_of("stop_words", given, tuple(NAMED))
        return tuple(sorted({normalised(word, lowercase, accents) for word in NAMED[given]}))
    return tuple(sorted(set(listed_tokens("stop_words", given))))


def document_bounds(min_df: Any, max_df: Any) -> tuple[float, float] | None:
    """(least, most) texts that have a token, as numbers or shares; None if all tokens are kept."""
    for name, value in (("min_df", min_df), ("max_df", max_df)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        share = isinstance(value, float | np.floating) and 0 <= value <= 1
        if not (share or (whole and value >= 1)):
            raise VerosimError(
                f"{name} must be a number of texts of at least 1, or a share between 0.0 and 1.0; "
                f"got {value!r}.",
                f"Use {name}=2 or {name}=0.5, for example.",
            )
    at_least_all = isinstance(max_df, float | np.floating) and max_df == 1.0
    if min_df in (0.0, 1) and not (isinstance(min_df, float) and min_df == 1.0) and at_least_all:
        return None
    return min_df, max_df


def listed_tokens(name: str, given: Any) -> list[str]:
    """The tokens that the user gave, in order; `name` is the setting."""
    if isinstance(given, str | bytes):
        raise VerosimError(
            f"{name} must be a list of tokens; got one text.", "Use [token, token, …]."
        )
    if isinstance(given, Mapping):
        places = list(given.values())
        if not all(isinstance(place, int | np.integer) for place in places) or (
            sorted(places) != list(range(len(places)))
        ):
            raise VerosimError(
                f"{name} must map its {len(places)} tokens to the numbers 0 … {len(places) - 1}, "
                "each used once.",
                "Give the tokens as a list.",
            )
        tokens = sorted(given, key=lambda token: given[token])
    else:
        tokens = sorted(given) if isinstance(given, set | frozenset) else list(given)
    for token in tokens:
        if not isinstance(token, str) or not _is_utf8(token):
            raise VerosimError(f"{name} must have only strings of valid Unicode; got {token!r}.")
    return [str(token) for token in tokens]


def _is_utf8(token: str) -> bool:
    """Whether a token can be written as UTF-8."""
    try:
        token.encode()
    except UnicodeEncodeError:  # one half of a surrogate pair
        return False
    return True
