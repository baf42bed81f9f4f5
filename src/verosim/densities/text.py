"""p(text | k) by the text's tokens: a row of scores per token, looked up as the text is read.

    log p(x | k) = base_k + Σ over the tokens i of x of s_ik

Tokens the model does not know say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes import Columns, TokenCodes, Vocabulary
from verosim.data import Documents, Tokenizer
from verosim.data.tokens import Tables
from verosim.densities.base import Params, into
from verosim.densities.features import Expansion, TokenAmounts
from verosim.errors import VerosimError
from verosim.kernels.constants import STATE_SIZE, WHY
from verosim.linalg import padded
from verosim.stats import Tokens


@dataclass(frozen=True)
class TextParams(Params):
    """Scores of texts from the scores of their tokens."""

    tokens: Any  # ColumnParams, a row for each token
    codes: TokenCodes
    tokenizer: Tokenizer

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return self.tokens.n_parameters

    @property
    def log_mass(self) -> np.ndarray:
        """(K, C) log φ."""
        return self.tokens.log_mass

    @cached_property
    def generative(self) -> TextParams:
        tokens = self.tokens.generative
        return self if tokens is self.tokens else TextParams(tokens, self.codes, self.tokenizer)

    @cached_property
    def _lanes(self) -> np.ndarray:
        return padded(self.tokens.table)

    def read(self, rows: Any) -> Documents:
        return Documents.of(rows)

    def log_density(self, block: Documents, out: np.ndarray | None = None) -> np.ndarray:
        out = into(out, (len(block), self.tokens.table.shape[1]))
        buckets, places, *vocabulary = self.codes.lookup()
        stamps = np.zeros(self.codes.size if self.tokens.presence else 0, dtype=np.int64)
        state = np.zeros(STATE_SIZE, dtype=np.int64)

        def work(some: Documents, first: int, by: Tables) -> tuple[int, int]:
            read = kernels.score_texts(
                some.data, some.offsets, by.ascii, by.points, *self.tokenizer.ngrams,
                self.tokens.presence, buckets, places, *vocabulary,
                self._lanes, self.tokens.base, out[first : first + len(some)],
                stamps, state, *self.tokenizer.room(some),
            )  # fmt: skip
            return int(read), int(state[WHY])

        self.tokenizer.visit(block, work)
        return out

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        """Every text has finite scores."""

    def contributions(self, block: Documents) -> np.ndarray:
        """(n, C, 1): the text is one column."""
        return self.log_density(block)[:, :, None]

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n,) texts: tokens drawn one by one, or each present or not, joined by spaces."""
        if not isinstance(self.codes, Vocabulary):
            raise VerosimError(
                "Buckets of hashed tokens cannot be turned back into texts.",
                "fit without `hashed` to sample.",
            )
        if self.tokenizer.ngrams != (1, 1):
            raise VerosimError(
                f"n-grams overlap, so a text cannot be drawn one by one from those of length "
                f"{self.tokenizer.ngrams}.",
                "fit with ngrams=(1, 1) to sample.",
            )
        words = np.array(self.codes.tokens(), dtype=object)
        mass = np.exp(self.log_mass)  # (K, C)
        texts = np.empty(len(classes), dtype=object)
        if self.tokens.presence:
            for i, c in enumerate(classes.tolist()):
                texts[i] = " ".join(words[rng.random(len(words)) < mass[:, c]])
            return texts
        lengths = rng.poisson(self.tokens.length[classes])
        for c in np.unique(classes).tolist():
            upto = np.cumsum(mass[:, c])
            for i in np.flatnonzero(classes == c).tolist():
                drawn = np.searchsorted(upto, rng.random(lengths[i]) * upto[-1], side="right")
                texts[i] = " ".join(words[drawn])
        return texts

    def log_likelihood(self, statistic: Tokens) -> np.ndarray:
        count = statistic.arrays["count"][:, 0]  # (C, K)
        if statistic.codes is not self.codes:
            count = self._known(statistic)
        tokens = self.tokens.generative
        score = (count * tokens.table.T).sum(axis=1)
        return score + statistic.weight[:, 0] * tokens.base

    def expansion(self, statistic: Tokens) -> Expansion:
        if not isinstance(self.codes, Vocabulary):
            raise VerosimError(
                "Buckets of hashed tokens have no names to regress on.",
                "fit TextNB with hashed=None.",
            )
        names = tuple(self.codes.tokens())
        return TokenAmounts(
            names, self.tokens.table.T, self.tokens.base, np.ones(len(names)),
            self.codes, self.tokenizer, self.tokens.presence,
        )  # fmt: skip

    def _known(self, statistic: Tokens) -> np.ndarray:
        """(C, K) its counts of the tokens that are known here."""
        count = statistic.arrays["count"][:, 0]
        _, places, *_ = self.codes.lookup()
        if isinstance(self.codes, Vocabulary):
            assert isinstance(statistic.codes, Vocabulary)
            places = self.codes.find(statistic.codes)
        elif not len(places):
            return count
        out = np.zeros((len(count), self.codes.size))
        out[:, places[places >= 0]] = count[:, places >= 0]
        return out
