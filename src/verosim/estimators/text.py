"""Naive Bayes for texts, straight from strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from verosim.axes import Axes, Hashed, TokenCodes, Vocabulary
from verosim.data import Documents
from verosim.data.adapters import is_stream
from verosim.data.names import feature_names
from verosim.data.readers import TextReader
from verosim.data.schema import Schema
from verosim.data.tables import Table
from verosim.densities import Bernoulli, Complement, Density, Multinomial
from verosim.errors import VerosimError, VerosimWarning, listed, warn
from verosim.estimators.base import GenerativeClassifier
from verosim.kinds.look import look
from verosim.kinds.text import TEXT
from verosim.models import Spec, derive
from verosim.models.settings import finite, one_of
from verosim.stats import Tokens

MODELS = {"multinomial": Multinomial, "bernoulli": Bernoulli, "complement": Complement}


@dataclass(frozen=True, eq=False, kw_only=True)
class TextSpec(Spec):
    """Tokens of one column of texts."""

    model: str = "multinomial"
    ngrams: Any = (1, 1)
    min_count: float = 1
    vocabulary: Any = None
    hashed: int | None = None
    lowercase: bool = True
    alpha: Any = 1.0

    reads_values = True

    @property
    def presence(self) -> bool:
        """Whether a document counts each token once."""
        return isinstance(self.model, str) and self.model == "bernoulli"

    @property
    def statistic_settings(self) -> dict[str, Any]:
        return {
            "ngrams": self.ngrams, "vocabulary": self.vocabulary, "hashed": self.hashed,
            "lowercase": self.lowercase, "model": self.presence,
        }  # fmt: skip

    @property
    def prior_setting(self) -> Any:
        """Complement scores are usually given no priors of their own."""
        return "uniform" if self.priors is None and self.model == "complement" else self.priors

    # Reading texts -------------------------------------------------------------------------

    def matrix(self, X: Any, names: Any) -> Documents:
        texts = Documents.of(X)
        if not len(texts):
            raise VerosimError("Found array with 0 sample(s) while a minimum of 1 is required.")
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
            what = f"several texts, {listed([c.name for c in texts])}" if texts else "no text"
            raise VerosimError(
                f"TextNB reads one column of texts, and the table has {what}.",
                "give the column alone, or say which it is: "
                "schema=verosim.look(…).edit({'body': 'text', 'title': 'ignore'}).",
            )
        others = {column.name: "ignore" for column in schema.used if column is not texts[0]}
        return TextReader(schema.edit(others))

    # Counting tokens -----------------------------------------------------------------------

    def plan(self, axes: Axes, source: Any) -> Tokens:
        self.density  # noqa: B018  bad parameters are reported before the texts are read
        return Tokens(
            axes.with_codes(self.codes()),
            ngrams=_ngrams(self.ngrams),
            lowercase=bool(self.lowercase),
            presence=self.presence,
        )

    def codes(self) -> TokenCodes:
        """The tokens that are counted: growing, given, or hashed."""
        if self.hashed is not None:
            if self.vocabulary is not None:
                raise VerosimError(
                    "Both `vocabulary` and `hashed` are given, and tokens are counted by one.",
                    "leave one of them None.",
                )
            whole = isinstance(self.hashed, int | np.integer) and not isinstance(self.hashed, bool)
            if not whole:
                raise VerosimError(f"hashed={self.hashed!r}: a power of two is needed.")
            return Hashed(int(self.hashed))
        if self.vocabulary is None:
            return Vocabulary.empty()
        tokens = _listed_tokens(self.vocabulary)
        if self.lowercase and any(token != token.lower() for token in tokens):
            odd = next(token for token in tokens if token != token.lower())
            warn(
                f"The vocabulary has {odd!r}, which no lowercased text has. "
                "Lower it, or set lowercase=False.",
                VerosimWarning,
            )
        return Vocabulary.of(tokens, open=False)

    @cached_property
    def density(self) -> Density:
        one_of("model", self.model, tuple(MODELS))
        finite("min_count", self.min_count, least=0)
        return MODELS[self.model](self.pseudo_count(), min_count=self.min_count)


class TextNB(GenerativeClassifier):
    """Naive Bayes for texts: one compiled pass from strings to class × token counts.

    multinomial   φ_i|k = (ñ_ik + α) / (ñ_k + αV),   log p(x | k) = Σ over tokens of log φ_i|k
    bernoulli     φ_i|k = (n_ik + α) / (n_k + 2α),   absent tokens count too
    complement    each class is judged by the tokens of all the others

    X is a list, array, series or column of strings. Tokens are those of scikit-learn's
    `CountVectorizer`: lowercased runs of two or more word characters, on all of Unicode. The
    vocabulary grows with every text; tokens never seen at fit are ignored at predict, and a
    missing text has no tokens.

    Parameters
    ----------
    model : "multinomial", "bernoulli" or "complement"; the first and last share their counts, so
        changing between them needs no new fit
    ngrams : shortest and longest n-gram, in tokens
    min_count : tokens that occur less often in all are ignored, as if unknown; `prune` removes them
    vocabulary : the tokens to count and no others; None lets them grow
    hashed : number of buckets, a power of two, to count token hashes in instead of tokens:
        bounded memory, no names
    lowercase : whether 'Word' and 'word' are the same token
    alpha : pseudo-count of every token; or "cv": chosen by held-out log-loss, see `alpha_`
    priors : None (n_k/n; uniform for "complement"), "laplace", "uniform", array or dict by label

    References
    ----------
    McCallum & Nigam (1998), A comparison of event models for naive Bayes text classification.
    Rennie et al. (2003), Tackling the poor assumptions of naive Bayes text classifiers.

    Examples
    --------
    >>> texts = ["win cash now", "cash prize, win", "lunch at noon?", "see you at lunch"]
    >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["a cash prize", "noon, then"]).tolist()
    ['spam', 'ham']
    >>> [token for token, _ in model.top_tokens(2)["ham"]]
    ['at', 'lunch']
    """

    def __init__(
        self,
        model: str = "multinomial",
        ngrams: tuple[int, int] = (1, 1),
        min_count: float = 1,
        vocabulary: Any = None,
        hashed: int | None = None,
        lowercase: bool = True,
        alpha: float | str = 1.0,
        priors: Any = None,
    ) -> None:
        self.model = model
        self.ngrams = ngrams
        self.min_count = min_count
        self.vocabulary = vocabulary
        self.hashed = hashed
        self.lowercase = lowercase
        self.alpha = alpha
        self.priors = priors

    def spec(self) -> TextSpec:
        return TextSpec(**self.settings(TextSpec))

    def check_columns(self, X: Any) -> None:
        if self.state_.schema is not None or is_stream(X):
            return  # a table's columns are found by name
        names, known = feature_names(X), self.stats_.axes.columns.names
        if names is not None and known is not None and tuple(names) != known:
            raise VerosimError(
                f"The column of texts is {names[0]!r} here and was {known[0]!r} at fit.",
                "give the same column, or its values alone.",
            )

    # Tokens ------------------------------------------------------------------------------

    def prune(self, min_count: float) -> Self:
        """Remove the tokens that occur less often in all, for good, in place.

        Nothing is left of them in the model or its pickles. A token met again later starts from
        nothing, and documents that held pruned ones can still be forgotten.
        """
        finite("min_count", min_count, least=0)
        state = self.checked_state()
        statistic: Any = state.statistic
        kept = statistic.pruned(float(min_count))
        return self.set_state(derive(self.spec(), kept, state.schema, state.tuned, streaming=True))

    @property
    def tokens_(self) -> np.ndarray:
        """(V,) the tokens in use, in the order of `feature_log_prob_`."""
        codes = self.fitted("tokens_").params.codes
        if not isinstance(codes, Vocabulary):
            raise AttributeError("Buckets of hashed tokens have no names.")
        return np.array(codes.tokens(), dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """Token to column of `feature_log_prob_`, of the tokens in use."""
        return {token: i for i, token in enumerate(self.tokens_.tolist())}

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """(C, V) log φ."""
        return self.fitted("feature_log_prob_").params.log_mass.T

    def top_tokens(self, n: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """For every class the n tokens that mark it most, and how much, for a person to read.

        Ranked by φ_ik log(φ_ik / φ_i), φ_i = Σ_k π_k φ_ik: what token i adds to the divergence of
        class k's texts from all texts, so common and rare words both stand back.
        """
        if not isinstance(self.checked_state().statistic.axes.codes, Vocabulary):
            raise VerosimError("Buckets of hashed tokens have no names.", "fit with hashed=None.")
        tokens = self.tokens_
        mass = np.exp(self.feature_log_prob_)  # (C, V)
        there = self.class_count_ > 0
        share = np.where(there, self.class_count_, 0.0)
        overall = (share / share.sum()) @ mass
        out: dict[Any, list[tuple[str, float]]] = {}
        for c, label in enumerate(self.classes_.tolist()):
            if not there[c]:
                out[label] = []
                continue
            score = mass[c] * np.log(mass[c] / overall)
            out[label] = [(str(tokens[i]), float(score[i])) for i in _best(score, tokens, n)]
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        tags.input_tags.two_d_array = False
        return tags


def _best(score: np.ndarray, tokens: np.ndarray, n: int) -> list[int]:
    """The n highest scores; tokens that tie in the order of the alphabet."""
    n = min(n, len(score))
    if n < 1:
        return []
    some = np.flatnonzero(score >= np.partition(score, -n)[-n]).tolist()
    return sorted(some, key=lambda i: (-score[i], tokens[i]))[:n]


def _ngrams(value: Any) -> tuple[int, int]:
    pair = isinstance(value, list | tuple | np.ndarray) and len(value) == 2
    if not pair or not all(isinstance(n, int | np.integer) and n >= 1 for n in value):
        raise VerosimError(
            f"ngrams={value!r}: the shortest and the longest, in tokens.", "(1, 2), for one."
        )
    low, high = (int(n) for n in value)
    if low > high:
        raise VerosimError(f"ngrams={value!r}: the shortest is longer than the longest.")
    return low, high


def _listed_tokens(vocabulary: Any) -> list[str]:
    """The tokens the user wants counted, in order."""
    if isinstance(vocabulary, str | bytes):
        raise VerosimError("vocabulary is a list of tokens, not one text.", "[token, token, …].")
    if isinstance(vocabulary, Mapping):
        places = list(vocabulary.values())
        if sorted(places) != list(range(len(places))):
            raise VerosimError(
                f"vocabulary maps {len(places)} tokens to places other than 0 … {len(places) - 1}."
            )
        tokens = sorted(vocabulary, key=lambda token: vocabulary[token])
    else:
        tokens = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    for token in tokens:
        if not isinstance(token, str) or not _is_utf8(token):
            raise VerosimError(f"vocabulary holds {token!r}, and tokens are strings.")
    if not tokens:
        raise VerosimError("vocabulary is empty.", "None lets it grow from the texts.")
    return [str(token) for token in tokens]


def _is_utf8(token: str) -> bool:
    try:
        token.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True
