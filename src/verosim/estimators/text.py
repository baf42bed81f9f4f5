"""The settings of text classifiers: how texts become tokens, and which tokens are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verosim.axes import Axes, Hashed, TokenCodes, Vocabulary
from verosim.data import Documents, Tokenizer
from verosim.data.readers import TextReader
from verosim.data.schema import Schema
from verosim.data.tables import Table
from verosim.data.tokens import ANALYZERS
from verosim.densities import Bernoulli, Complement, Contrast, Density, Multinomial
from verosim.errors import VerosimError, VerosimWarning, listed, warn
from verosim.kinds.look import look
from verosim.kinds.text import TEXT
from verosim.models import Spec
from verosim.models.settings import finite, one_of, whole
from verosim.stats import Tokens
from verosim.stats.tokens import MOST_DIFFERENT_TOKENS

MODELS = {
    "multinomial": Multinomial, "bernoulli": Bernoulli, "complement": Complement,
    "contrast": Contrast,
}  # fmt: skip
ALPHAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # values of α for scores without a fixed scale


@dataclass(frozen=True, eq=False, kw_only=True)
class DocumentSpec(Spec):
    """The settings of a model of one column of texts: how a text is read and divided."""

    ngrams: Any = (1, 1)
    vocabulary: Any = None
    lowercase: bool = True
    analyzer: str = "word"

    reads_values = True

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """How a text is divided into tokens. Wrong settings raise an error here."""
        one_of("analyzer", self.analyzer, ANALYZERS)
        return Tokenizer(checked_ngrams(self.ngrams), bool(self.lowercase), self.analyzer)

    @property
    def tokenizer_options(self) -> dict[str, Any]:
        """The options of a statistic of tokens."""
        return asdict(self.tokenizer)

    def given_terms(self) -> Vocabulary:
        """The vocabulary that the user gave."""
        tokens = _listed_tokens(self.vocabulary)
        if self.lowercase and any(token != token.lower() for token in tokens):
            odd = next(token for token in tokens if token != token.lower())
            warn(
                f"The vocabulary has {odd!r}, which cannot occur in a lowercased text. "
                "Write it in lower case, or set lowercase=False.",
                VerosimWarning,
            )
        return Vocabulary.of(tokens, open=False)

    # Reading texts -------------------------------------------------------------------------

    def matrix(self, X: Any, names: Any) -> Documents:
        texts = Documents.of(X)
        if not len(texts):
            raise VerosimError(
                "Found array with 0 sample(s) while a minimum of 1 is required.",
                "Give at least one text.",
            )
        return texts

    def value_matrix(self, X: Any) -> np.ndarray:
        texts = self.matrix(X, None)
        return np.array([[texts.text(i)] for i in range(len(texts))], dtype=object)

    def look(self, table: Table, target: str | None, **given: Any) -> Schema:
        weight = given.get("weight")
        names = [name for name in table.names if name not in (target, weight)]
        if len(names) == 1:
            given["columns"] = {names[0]: TEXT.name}
        return look(table, target, **given)

    def reader(self, schema: Schema) -> TextReader:
        texts = schema.used if len(schema.used) == 1 else schema.of(TEXT.name)
        if len(texts) != 1:
            found = f"several: {listed([c.name for c in texts])}" if texts else "none"
            raise VerosimError(
                f"{self.name} needs exactly one column of texts; the table has {found}.",
                "Give only that column, or use "
                "schema=verosim.look(…).edit({'body': 'text', 'title': 'ignore'}).",
            )
        others = {column.name: "ignore" for column in schema.used if column is not texts[0]}
        return TextReader(schema.edit(others))


@dataclass(frozen=True, eq=False, kw_only=True)
class TextSpec(DocumentSpec):
    """The settings of a model of the tokens in one column of texts."""

    model: str = "multinomial"
    min_count: float = 1
    hashed: int | None = None
    weighting: str = "counts"
    alpha: Any = 1.0
    max_tokens: Any = MOST_DIFFERENT_TOKENS

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
            "model": self.presence, "max_tokens": self.max_tokens,
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
        return Tokens(
            axes.with_codes(self.codes()),
            weighting="presence" if self.presence else self.weighting,
            max_tokens=int(self.max_tokens),
            **self.tokenizer_options,
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
        self.tokenizer  # noqa: B018  check its settings
        one_of("weighting", self.weighting, ("counts", "l2"))
        if self.presence and self.weighed:
            raise VerosimError(
                'weighting="l2" cannot be used with model="bernoulli", which counts each token '
                "once per text.",
                'Use weighting="counts", or model="contrast".',
            )
        finite("min_count", self.min_count, least=0)
        whole("max_tokens", self.max_tokens, 1)
        return MODELS[self.model](self.pseudo_count(), min_count=self.min_count)


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


def _listed_tokens(vocabulary: Any) -> list[str]:
    """The tokens of the vocabulary that the user gave, in order."""
    if isinstance(vocabulary, str | bytes):
        raise VerosimError(
            "vocabulary must be a list of tokens; got one text.", "Use [token, token, …]."
        )
    if isinstance(vocabulary, Mapping):
        places = list(vocabulary.values())
        if sorted(places) != list(range(len(places))):
            raise VerosimError(
                f"vocabulary must map its {len(places)} tokens to the numbers 0 … "
                f"{len(places) - 1}, each used once.",
                "Give the tokens as a list.",
            )
        tokens = sorted(vocabulary, key=lambda token: vocabulary[token])
    else:
        tokens = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    for token in tokens:
        if not isinstance(token, str) or not _is_utf8(token):
            raise VerosimError(
                f"vocabulary must have only strings of valid Unicode; got {token!r}."
            )
    if not tokens:
        raise VerosimError(
            "vocabulary must have at least one token; got an empty one.",
            "Use None to count all tokens of the texts.",
        )
    return [str(token) for token in tokens]


def _is_utf8(token: str) -> bool:
    """Whether a token can be written as UTF-8."""
    try:
        token.encode()
    except UnicodeEncodeError:  # one half of a surrogate pair
        return False
    return True
