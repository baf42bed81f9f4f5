"""The tokens of a vocabulary and the settings of a tokenizer, as terms of a program need them."""

from __future__ import annotations

import numpy as np

from verosim.axes import TokenCodes, Vocabulary
from verosim.data import Tokenizer
from verosim.data.nodes import no_program
from verosim.densities.terms import HashedTokens, ListedTokens, TokenRows


def token_rows(codes: TokenCodes) -> TokenRows:
    """The rows of the tokens in a table, for a program."""
    if isinstance(codes, Vocabulary):
        return ListedTokens(tuple(codes.tokens()))
    buckets, places, *_ = codes.lookup()
    used = np.flatnonzero(places >= 0) if len(places) else np.arange(buckets)
    return HashedTokens(buckets, tuple(used.tolist()))


def checked_tokenizer(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, if it can be written down."""
    if tokenizer.function is not None:
        raise no_program(
            f"its tokenizer is the function {tokenizer.function!r}", "Use tokenizer=None."
        )
    return tokenizer
