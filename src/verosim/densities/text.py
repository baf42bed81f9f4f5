"""Scores of texts: each token has one score per class, and the scores of a text are their sum.

    log p(x | k) = base_k + Σ_i a_i s_ik   over the tokens i of x

a_i is the amount of the token, such as its count. The scores of a token are looked up while the
text is read. Unknown tokens are skipped.
Reference: McCallum & Nigam (1998), A comparison of event models for naive Bayes text
classification, AAAI-98 Workshop on Learning for Text Categorization.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from verosim import kernels
from verosim.axes import Columns, TokenCodes, Vocabulary
from verosim.cached import cached_property
from verosim.data import Documents, Tokenizer
from verosim.data.tokens import WEIGHTINGS, Tables
from verosim.densities.attribution import Attribution, AttributionRequest, TokenTerms
from verosim.densities.base import Params, infinite_weights, into
from verosim.densities.estimates import TOKENS_TABLE, Estimates, typical_tokens
from verosim.errors import VerosimError
from verosim.kernels.constants import STATE_SIZE, WHY
from verosim.locks import ProcessLock
from verosim.stats import Tokens
from verosim.stats.document_terms import document_terms, text_lengths
from verosim.stats.term_rows import TermMatrix, TermRows

if TYPE_CHECKING:
    from verosim.densities.features import Expansion
    from verosim.densities.terms import RowLength, Term

LONGEST_DRAWN_TEXT = 1e6  # largest mean number of tokens in a simulated text

_making = ProcessLock()  # several threads score texts, and only one of them makes the table


@dataclass(frozen=True)
class TextParams(Params):
    """Scores of texts, computed from the scores of their tokens.

    The table of scores has one number per token and class, most of them for tokens that do not
    occur in the class. It is made when it is first used, so that a model that learns from a stream
    of texts does not make it after every block.
    """

    is_positive: ClassVar[bool] = False

    tokens: Any  # ColumnParams, with one row of the table per token
    codes: TokenCodes
    tokenizer: Tokenizer
    weighting: str  # the amount of a token in a text: "counts", "presence" or "l2"

    @classmethod
    def later(cls, make: Callable[[], Any], codes: TokenCodes, **settings: Any) -> Self:
        """The parameters with tokens=make(), which is called when the tokens are first used."""
        out = object.__new__(cls)
        vars(out).update(_make=make, codes=codes, **settings)
        return out

    def __getattr__(self, name: str) -> Any:
        if name != "tokens" or "_make" not in vars(self):
            raise AttributeError(name)
        with _making.now:
            make = vars(self).get("_make")
            if make is not None:
                vars(self)["tokens"] = make()
                del vars(self)["_make"]
        return vars(self)["tokens"]

    def __getstate__(self) -> dict[str, Any]:
        _ = self.tokens
        return vars(self)

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
        return self if tokens is self.tokens else replace(self, tokens=tokens)

    def read(self, rows: Any) -> Documents | TermRows:
        return rows if isinstance(rows, TermRows) else Documents.of(rows)

    def log_density(self, block: Documents | TermRows, out: np.ndarray | None = None) -> np.ndarray:
        out = self._finite_scores(block, out)
        impossible = self.tokens.impossible
        if impossible is not None:
            out[replace(self, tokens=impossible).log_density(block) > 0] = -np.inf
        return out

    def _finite_scores(self, block: Documents | TermRows, out: np.ndarray | None) -> np.ndarray:
        out = into(out, (len(block), self.tokens.table.shape[1]))
        if isinstance(block, TermRows):
            if self.weighting == "l2" and isinstance(self.codes, Vocabulary):
                return self._score_terms(block.matrix(self.tokenizer).known(self.codes), out)
            block = block.documents
        buckets, places, *vocabulary = self.codes.lookup()
        stamps = np.zeros(self.codes.size if self.tokens.presence else 0, dtype=np.int64)
        weighed = self.weighting == "l2"
        state = np.zeros(STATE_SIZE, dtype=np.int64)
        lanes = np.empty(self.tokens.lanes.shape[1])

        def work(some: Documents, first: int, by: Tables) -> tuple[int, int]:
            read = kernels.score_texts(
                some.data, some.offsets, by.ascii, by.points, *self.tokenizer.ngrams,
                self.tokenizer.characters or None, WEIGHTINGS[self.weighting], buckets, places,
                *vocabulary, self.tokens.lanes, self.tokens.base, out[first : first + len(some)],
                lanes, stamps, state, *self.tokenizer.room(some, weighed),
            )  # fmt: skip
            return int(read), int(state[WHY])

        self.tokenizer.visit(block, work)
        return out

    def _score_terms(self, rows: TermMatrix, out: np.ndarray) -> np.ndarray:
        """The scores of texts that were divided into n-grams before."""
        absent = np.empty((0, out.shape[1]))  # tokens that do not occur have no score
        kernels.score_sparse(
            rows.data, rows.indices, rows.indptr, False, 0.0, self.tokens.lanes, absent,
            self.tokens.base, out,
        )  # fmt: skip
        return out

    def row_lengths(self, block: Documents | TermRows) -> np.ndarray:
        return text_lengths(block, self.tokenizer)

    def program_length(self) -> RowLength:
        from verosim.densities.terms import WordsLength
        from verosim.densities.token_terms import checked_tokenizer

        return WordsLength.of(checked_tokenizer(self.tokenizer))

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        """No check is needed: each text has finite scores."""

    def contributions(self, block: Documents) -> np.ndarray:
        """(n, C, 1) the scores; a text is one column."""
        return self.log_density(block)[:, :, None]

    def attribution(self, block: Documents, request: AttributionRequest) -> Attribution:
        """A text is one column. Its tokens are known unless they were hashed."""
        found = Attribution(self.contributions(block))
        if not isinstance(self.codes, Vocabulary):
            return found
        amounts = document_terms(block, self.codes, self.tokenizer, self.weighting)
        terms = TokenTerms(self._shown_tokens, amounts, self.tokens.table)
        return replace(found, tokens=(terms,))

    @cached_property
    def _shown_tokens(self) -> list[str]:
        """(K,) the tokens as the user knows them."""
        assert isinstance(self.codes, Vocabulary)
        return self.tokenizer.shown(self.codes.tokens())

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n,) random texts: tokens joined by spaces.

        Tokens are drawn one by one, or each token is present or absent.
        """
        if not isinstance(self.codes, Vocabulary):
            raise VerosimError(
                "Texts cannot be drawn from a model with hashed tokens, because the tokens are "
                "not stored.",
                "Fit TextNB with hashed=None.",
            )
        if self.tokenizer.ngrams != (1, 1):
            raise VerosimError(
                f"Texts cannot be drawn from n-grams of length {self.tokenizer.ngrams}, because "
                "n-grams overlap.",
                "Fit TextNB with ngrams=(1, 1).",
            )
        words = np.array(self.tokenizer.shown(self.codes.tokens()), dtype=object)
        mass = np.exp(self.log_mass)  # (K, C)
        texts = np.empty(len(classes), dtype=object)
        if self.tokens.presence:
            for i, c in enumerate(classes.tolist()):
                texts[i] = " ".join(words[rng.random(len(words)) < mass[:, c]])
            return texts
        most = float(self.tokens.length[classes].max(initial=0.0))
        if most > LONGEST_DRAWN_TEXT:
            raise VerosimError(
                "The mean number of tokens of a text must be at most "
                f"{LONGEST_DRAWN_TEXT:.0e} to draw samples; got {most:.1e}.",
                "Use weights of rows that are not far below 1, and fit the model again.",
            )
        lengths = rng.poisson(self.tokens.length[classes])
        for c in np.unique(classes).tolist():
            upto = np.cumsum(mass[:, c])
            if not upto[-1:].sum() > 0:  # a class without tokens has empty texts
                texts[classes == c] = ""
                continue
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

    def terms(self) -> tuple[Term, ...]:
        from verosim.densities.terms import TokensTerm
        from verosim.densities.token_terms import checked_tokenizer, token_rows

        table, absent = self.tokens.tables
        if not len(table):
            return ()
        nothing = np.zeros(table.shape[1])
        rows = token_rows(self.codes)
        by = checked_tokenizer(self.tokenizer)
        return (TokensTerm.of(by, self.weighting, rows, nothing, table, absent),)

    def estimates(self, statistic: Tokens, j: int, most: int) -> Estimates:
        """The shares of the tokens that are most typical of some class."""
        if not isinstance(self.codes, Vocabulary):
            raise VerosimError("Hashed tokens have no names.", "Fit the model with hashed=None.")
        names = self.tokenizer.shown(self.codes.tokens())
        share, weight = np.exp(self.log_mass).T, statistic.weight[:, 0]  # (C, K)
        at = typical_tokens(share, weight, names, most)
        count = np.asarray(self._known(statistic))[:, at]
        heads = tuple(str(names[i]) for i in at)
        return Estimates(TOKENS_TABLE, heads, share[:, at], weight, count, len(at) == len(names))

    def expansion(self, statistic: Tokens) -> Expansion:
        from verosim.densities.features import TokenAmounts

        if not isinstance(self.codes, Vocabulary):
            raise VerosimError(
                "A model with hashed tokens has no twin, because the tokens are not stored.",
                "Fit TextNB with hashed=None.",
            )
        if self.tokens.certain is not None:
            raise infinite_weights()
        names = tuple(self.tokenizer.shown(self.codes.tokens()))
        return TokenAmounts(
            names, self.tokens.table.T, self.tokens.base, np.ones(len(names)),
            self.codes, self.tokenizer, self.weighting,
        )  # fmt: skip

    def _known(self, statistic: Tokens) -> np.ndarray:
        """(C, K) the counts of a statistic for the known tokens."""
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
