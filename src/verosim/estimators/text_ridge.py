"""Ridge regression on the leading terms of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.arguments import finite, whole
from verosim.axes import Axes, Vocabulary
from verosim.axes.value_hashes import HashedText, hash_of_values
from verosim.bayes.rule import Decision
from verosim.cached import cached_property
from verosim.data.schema import Schema
from verosim.densities import ClassScores, TermRidge
from verosim.estimators.text import DocumentSpec
from verosim.estimators.text_classifier import TextClassifier
from verosim.models.terms import choose_terms, leading_terms
from verosim.stats import Statistic, TermProducts
from verosim.stats.term_rows import TermRows

if TYPE_CHECKING:
    from verosim.kinds.first_rows import FirstRows
    from verosim.typing import Priors

MOST_LEADING_TERMS = 8192  # their products are 0.5 GB for each fold


@dataclass(frozen=True, eq=False, kw_only=True)
class TextRidgeSpec(DocumentSpec):
    """The settings of TextRidge."""

    d: Any = 2048
    penalty: Any = 1.0
    min_count: Any = 2

    @property
    def statistic_settings(self) -> dict[str, Any]:
        names = ("d", "ngrams", "min_count", "vocabulary", "lowercase", "analyzer")
        return {name: getattr(self, name) for name in names}

    @property
    def is_density(self) -> bool:
        return False

    @property
    def has_free_scale(self) -> bool:
        return True

    # The leading terms -----------------------------------------------------------------------

    @property
    def terms_key(self) -> str:
        """The settings on which the leading terms depend."""
        options = self.tokenization.options
        return f"d={int(self.d)}, min_count={float(self.min_count)}, {options}"

    def check_terms(self) -> None:
        """Check the settings of the leading terms."""
        whole("d", self.d, 1, MOST_LEADING_TERMS)
        finite("min_count", self.min_count, least=0)
        if "penalty" not in self.open_settings:
            self.density  # noqa: B018  check the penalty before the texts are read

    def look_closer(self, schema: Schema, first: FirstRows) -> Schema:
        self.check_terms()
        return schema

    def complete(self, schema: Schema, rows: Any) -> Schema:
        if self.vocabulary is not None or self.terms_key in dict(schema.terms):
            return schema
        reader = self.reader(schema)
        found = (self.terms_key, self.leading_terms(rows.read_as(self.reading, reader)))
        schema = schema if self.joins else reader.schema
        return replace(schema, terms=(*schema.terms, found))

    def leading_terms(self, source: Any) -> tuple[str, ...]:
        """The terms that describe the texts best, chosen without labels."""
        texts = getattr(source, "X", None)
        if isinstance(texts, TermRows):
            rows = texts.matrix(self.tokenization)
            return leading_terms(rows, int(self.d), float(self.min_count))
        return choose_terms(source, self.tokenization, int(self.d), float(self.min_count))

    def plan(self, axes: Axes, source: Any) -> TermProducts:
        self.check_terms()
        if self.vocabulary is not None:
            terms = self.given_terms()
            return TermProducts(axes.with_codes(terms), **self.tokenization.options)
        found: tuple[HashedText, ...]
        if source.schema is None:
            found = self.leading_terms(source)
        else:
            found = dict(source.reader.schema.terms)[self.terms_key]
        known = [term for term in found if isinstance(term, str)]
        terms = Vocabulary.of(known, open=False, chosen=hash_of_values(found))
        return TermProducts(axes.with_codes(terms), **self.tokenization.options)

    # Estimating --------------------------------------------------------------------------------

    def rule(self, params: ClassScores, statistic: Statistic, streaming: bool = False) -> Decision:
        weight, rows = statistic.weight[:, 0], statistic.rows[:, 0]
        log_prior = self.log_prior(statistic.axes.groups.classes, weight, rows, streaming)
        return Decision(log_prior, params, statistic.axes.columns)

    @cached_property
    def density(self) -> TermRidge:
        penalty = self.setting("penalty")
        finite("penalty", penalty, least=np.finfo(float).tiny)
        return TermRidge(float(penalty))


class TextRidge(TextClassifier):
    """Ridge regression on the leading terms of texts, from sums of products.

    Use it to classify texts if words and pairs of words decide together: unlike naive Bayes, the
    model accounts for terms that occur together. It is a sum over texts, so models merge, texts can
    be forgotten, folds need no new fit, and another `penalty` needs no texts. The model chooses d
    terms without labels, those with the largest

        idf_j² Σ_i x_ij²,   x_ij = (1 + log c_ij) / norm,   idf_j = 1 + log((1 + n) / (1 + df_j))

    where c_ij is the number of times that term j occurs in text i, the norm is that of 1 + log c_ij
    over all terms of the text, df_j is the number of texts with term j, and n is the number of
    texts. The row z_i of a text has the same weights for the d chosen terms, with the norm 1 over
    these terms. The discriminants are those of a regression of class indicators:

        w_k = (S + λI)⁻¹ n_k (μ_k − μ),   δ_k(x) = log π_k + w_kᵀ(z − μ) / σ²

    where S is the scatter of the rows about their mean μ, n_k and μ_k are the weight and the mean
    of class k, λ is the penalty, π_k is the prior, and σ² is the mean squared residual of an
    indicator, with the penalty. The regression describes the classes and not the texts, so
    `log_density`, `log_joint` and `sample` are not available. Use `calibrate` if you need
    probabilities.

    Parameters
    ----------
    d : int, default=2048
        The number of terms, from 1 to 8192. The time of a fit grows with d³ and the memory with
        d²: 34 MB per fold for 2048.
    penalty : float or "cv", default=1.0
        The penalty λ > 0 on the squared weights. All rows have the norm 1, so 1 counts like one
        text. "cv" chooses it from 0.03, 0.1, 0.3, 1 and 3 by the log-loss on held-out rows, at the
        best temperature.
    ngrams : tuple of (int, int), default=(1, 2)
        The shortest and the longest n-gram, in tokens, or in characters with
        `analyzer="char_wb"`.
    min_count : float, default=2
        Terms that fewer texts have are not chosen.
    vocabulary : list of str, set of str, dict or None, default=None
        The terms to use instead of a choice, such as `terms_` of another model. Models of arrays
        can be merged if they have the same terms.
    lowercase : bool, default=True
        True counts 'Word' and 'word' as the same token.
    analyzer : {"word", "char_wb"}, default="word"
        "word" counts words. "char_wb" counts the n-grams of the characters of each word, with a
        space before and after the word.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    class_count_ : ndarray of shape (C,)
        The total weight of the texts of each class.
    class_prior_ : ndarray of shape (C,)
        The class priors π_k in use.
    penalty_ : float
        The penalty in use: the parameter `penalty`, or the value chosen for "cv".
    terms_ : ndarray of shape (d,)
        The terms in use, in the order of the columns of `coef_`.
    coef_ : ndarray of shape (C, d)
        The weights w_k / σ² of the terms.
    intercept_ : ndarray of shape (C,)
        The discriminants of a text without any of the terms, without the priors.
    n_parameters_ : int
        The number of free parameters: (C − 1) d weights, and C − 1 priors if they are estimated.
    n_features_in_ : int
        The number of columns of X at fit, which is 1.
    feature_names_in_ : ndarray of shape (1,)
        The name of the column of texts. It exists only if X had a name.
    schema_ : Schema
        How each column of the table is read, with the chosen terms. It exists only after a fit on a
        table. `fit(…, schema=model.schema_)` makes a model that can be merged with this one.
    stats_ : Statistic
        The sums and products of the terms. The model is computed from them.

    See Also
    --------
    TextNB : Naive Bayes for texts, which uses all terms and is faster.
    LinearSVM : A large margin on all terms, which is not a sum over rows.

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §3.4.1 and §4.2.
    Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, §6.2.

    Examples
    --------
    >>> texts = ["not good", "not bad", "very good", "very bad", "not good at all", "very good!"]
    >>> labels = ["-", "+", "+", "-", "-", "+"]
    >>> model = TextRidge(penalty=0.1).fit(texts, labels)
    >>> model.terms_.tolist()
    ['bad', 'good', 'not', 'not good', 'very', 'very good']
    >>> model.predict(["that is very good", "it was not good"]).tolist()
    ['+', '-']
    """

    def __init__(
        self,
        d: int = 2048,
        penalty: float | Literal["cv"] = 1.0,
        ngrams: tuple[int, int] = (1, 2),
        min_count: float = 2,
        vocabulary: Iterable[str] | Mapping[str, int] | None = None,
        lowercase: bool = True,
        analyzer: Literal["word", "char_wb"] = "word",
        priors: Priors = None,
    ) -> None:
        self.d = d
        self.penalty = penalty
        self.ngrams = ngrams
        self.min_count = min_count
        self.vocabulary = vocabulary
        self.lowercase = lowercase
        self.analyzer = analyzer
        self.priors = priors

    def spec(self) -> TextRidgeSpec:
        return TextRidgeSpec(**self.settings(TextRidgeSpec))

    @property
    def penalty_(self) -> float:
        """The penalty in use: the parameter `penalty`, or the value chosen for "cv"."""
        spec: Any = self.fitted("penalty_").spec
        return float(spec.density.penalty)

    @property
    def terms_(self) -> np.ndarray:
        """(d,) the terms in use, in the order of the columns of `coef_`."""
        return np.array(self.fitted("terms_").params.vocabulary.tokens(), dtype=object)

    @property
    def coef_(self) -> np.ndarray:
        """(C, d) the weights w_k / σ² of the terms."""
        return self.fitted("coef_").params.coef

    @property
    def intercept_(self) -> np.ndarray:
        """(C,) the discriminants of a text without any of the terms, without the priors."""
        return self.fitted("intercept_").params.bias
