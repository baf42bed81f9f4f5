"""The settings of text classifiers: how texts become tokens, and which tokens are counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verosim.arguments import finite, one_of, whole
from verosim.axes import Axes, Columns, Hashed, TokenCodes, Vocabulary
from verosim.cached import cached_property
from verosim.data import Documents, Tokenizer
from verosim.data.readers import TextReader
from verosim.data.readings import CellReading, DocumentReading
from verosim.data.schema import Schema
from verosim.data.tables import Table
from verosim.data.tokens import ANALYZERS
from verosim.densities import Bernoulli, Complement, Contrast, Density, Multinomial
from verosim.errors import VerosimError, VerosimWarning, listed, warn
from verosim.estimators.text_settings import document_bounds, listed_tokens, with_preparation
from verosim.kinds.look import look
from verosim.kinds.text import TEXT
from verosim.models import Spec
from verosim.stats import Tokens
from verosim.stats.tokens import MOST_DIFFERENT_TOKENS

MODELS = {
    "multinomial": Multinomial, "bernoulli": Bernoulli, "complement": Complement,
    "contrast": Contrast,
}  # fmt: skip
AS_TEXTS = "texts"  # the way of reading of models of one column of texts
ALPHAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # values of α for scores without a fixed scale


@dataclass(frozen=True, eq=False, kw_only=True)
class DocumentSpec(Spec):
    """The settings of a model of one column of texts: how a text is read and divided."""

    ngrams: Any = (1, 1)
    vocabulary: Any = None
    lowercase: bool = True
    analyzer: str = "word"
    joins: bool = False  # whether several columns of texts are read as one

    reads_values = reads_texts = True

    @cached_property
    def tokenization(self) -> Tokenizer:
        """How a text is divided into tokens. Wrong settings raise an error here."""
        one_of("analyzer", self.analyzer, ANALYZERS)
        return Tokenizer(checked_ngrams(self.ngrams), bool(self.lowercase), self.analyzer)

    def given_terms(self) -> Vocabulary:
        """The vocabulary that the user gave."""
        tokens = listed_tokens("vocabulary", self.vocabulary)
        if not tokens:
            raise VerosimError(
                "vocabulary must have at least one token; got an empty one.",
                "Use None to count all tokens of the texts.",
            )
        if self.lowercase and any(token != token.lower() for token in tokens):
            odd = next(token for token in tokens if token != token.lower())
            warn(
                f"The vocabulary has {odd!r}, which cannot occur in a lowercased text. "
                "Write it in lower case, or set lowercase=False.",
                VerosimWarning,
            )
        return Vocabulary.of([self.tokenization.encoded(t) for t in tokens], open=False)

    # Reading texts -------------------------------------------------------------------------

    @property
    def reading(self) -> str:
        return AS_TEXTS

    def matrix(self, X: Any, names: Any) -> Documents:
        return documents_of(X)

    def value_matrix(self, X: Any) -> np.ndarray:
        return texts_of(documents_of(X))

    def array_readings(self, columns: Columns) -> tuple[CellReading, ...]:
        return (DocumentReading(tuple(columns)),)

    def look(self, table: Table, target: str | None, **given: Any) -> Schema:
        return look_for_texts(table, target, **given)

    def reader(self, schema: Schema) -> TextReader:
        texts = schema.used if len(schema.used) == 1 else schema.of(TEXT.name)
        if not texts or (len(texts) > 1 and not self.joins):
            found = f"several: {listed([c.name for c in texts])}" if texts else "none"
            kinds = {c.name: "ignore" for c in texts[1:]} or {schema.used[0].name: TEXT.name}
            raise VerosimError(
                f"{self.name} needs exactly one column of texts; the table has {found}.",
                f"Give only that column, or use schema=verosim.look(…).edit({kinds}).",
            )
        others = {column.name: "ignore" for column in schema.used if column not in texts}
        # The leading terms depend on the texts only.
        return TextReader(replace(schema.edit(others), terms=schema.terms) if others else schema)


def documents_of(X: Any) -> Documents:
    """At least one text, from a sequence or a column of strings."""
    texts = Documents.of(X)
    if not len(texts):
        raise VerosimError(
            "Found array with 0 sample(s) while a minimum of 1 is required.",
            "Give at least one text.",
        )
    return texts


def texts_of(texts: Documents) -> np.ndarray:
    """(n, 1) the texts as strings."""
    return np.array([[texts.text(i)] for i in range(len(texts))], dtype=object)


def look_for_texts(table: Table, target: str | None, **given: Any) -> Schema:
    """The first look. A column without other columns is a text."""
    weight = given.get("weight")
    names = [name for name in table.names if name not in (target, weight)]
    if len(names) == 1:
        given["columns"] = {names[0]: TEXT.name}
    return look(table, target, **given)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextSpec(DocumentSpec):
    """The settings of a model of the tokens in one column of texts."""

    model: str = "multinomial"
    min_count: float = 1
    hashed: int | None = None
    weighting: str = "counts"
    alpha: Any = 1.0
    stop_words: Any = None
    strip_accents: Any = None
    min_df: Any = 1
    max_df: Any = 1.0
    tokenizer: Any = None
    max_tokens: Any = MOST_DIFFERENT_TOKENS

    @cached_property
    def tokenization(self) -> Tokenizer:
        """How a text is divided into tokens. Wrong settings raise an error here."""
        plain = super().tokenization
        return with_preparation(plain, self.stop_words, self.strip_accents, self.tokenizer)

    @property
    def documents(self) -> tuple[float, float] | None:
        """The least and the largest number of texts that have a token, or None without bounds."""
        return document_bounds(self.min_df, self.max_df)

    @property
    def presence(self) -> bool:
        """Whether each token counts at most once per text."""
        return isinstance(self.model, str) and self.model == "bernoulli"

    @property
    def weighed(self) -> bool:
        """Whether each text has the norm 1, so that the sums are not counts."""
        return isinstance(self.weighting, str) and self.weighting == "l2"

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {
            "ngrams": self.ngrams, "vocabulary": self.vocabulary, "hashed": self.hashed,
            "lowercase": self.lowercase, "analyzer": self.analyzer, "weighting": self.weighting,
            "model": self.presence, "stop_words": self.stop_words,
            "strip_accents": self.strip_accents, "tokenizer": self.tokenizer,
            "documents": self.documents is not None, "max_tokens": self.max_tokens,
        }  # fmt: skip

    @property
    def prior_setting(self) -> Any:
        """The priors. Scores against other classes use uniform priors unless the user gives
        others."""
        against = self.model in ("complement", "contrast")
        return "uniform" if self.priors is None and against else self.priors

    @property
    def is_density(self) -> bool:
        return not self.weighed

    @property
    def least_count(self) -> float:
        return float(self.min_count)

    @property
    def has_free_scale(self) -> bool:
        return self.weighed or self.model == "contrast"

    def grid(self, name: str) -> tuple[float, ...] | None:
        return ALPHAS if name == "alpha" and self.has_free_scale else None

    # Counting tokens -----------------------------------------------------------------------

    def plan(self, axes: Axes, source: Any) -> Tokens:
        self.density  # noqa: B018  check the settings before the texts are read
        weighting = "presence" if self.presence else self.weighting
        if self.documents is not None and weighting == "counts":
            weighting = "repeats"  # it counts documents too
        return Tokens(
            axes.with_codes(self.codes()),
            weighting=weighting,
            max_tokens=int(self.max_tokens),
            **self.tokenization.options,
        )

    def codes(self) -> TokenCodes:
        """The tokens to count: all tokens of the texts, a given vocabulary, or hashed tokens."""
        if self.hashed is not None:
            if self.vocabulary is not None:
                raise VerosimError(
                    "The settings vocabulary and hashed cannot be used together.",
                    "Set one of them to None.",
                )
            whole = isinstance(self.hashed, int | np.integer) and not isinstance(self.hashed, bool)
            if not whole:
                raise VerosimError(f"hashed must be a power of two; got {self.hashed!r}.")
            return Hashed(int(self.hashed))
        return Vocabulary.empty() if self.vocabulary is None else self.given_terms()

    @cached_property
    def density(self) -> Density:
        one_of("model", self.model, tuple(MODELS))
        self.tokenization  # noqa: B018  check its settings
        if self.documents is not None and self.vocabulary is not None:
            raise VerosimError(
                "The settings min_df and max_df cannot be used with a vocabulary, which is fixed.",
                "Leave min_df and max_df out, or set vocabulary=None.",
            )
        one_of("weighting", self.weighting, ("counts", "l2"))
        if self.presence and self.weighed:
            raise VerosimError(
                'weighting="l2" cannot be used with model="bernoulli", which counts each token '
                "once per text.",
                'Use weighting="counts", or model="contrast".',
            )
        finite("min_count", self.min_count, least=0)
        whole("max_tokens", self.max_tokens, 1)
        return MODELS[self.model](
            self.pseudo_count(), min_count=self.min_count, documents=self.documents
        )


def checked_ngrams(value: Any) -> tuple[int, int]:
    """The shortest and the longest n-gram, checked."""
    pair = isinstance(value, list | tuple | np.ndarray) and len(value) == 2
    if not pair or not all(isinstance(n, int | np.integer) and n >= 1 for n in value):
        raise VerosimError(
            f"ngrams must be two whole numbers of tokens, each at least 1; got {value!r}.",
            "Give the shortest and the longest n-gram, for example (1, 2).",
        )
    low, high = (int(n) for n in value)
    if low > high:
        raise VerosimError(
            f"ngrams must have the shortest n-gram first; got {value!r}.", f"Use {(high, low)}."
        )
    return low, high
