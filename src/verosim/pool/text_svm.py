"""A linear support vector machine on tf-idf rows, as an expert of a pool of texts.

    x_ij = (1 + ln tf_ij) idf_j / norm,   idf_j = 1 + ln((1 + n) / (1 + df_j))

tf_ij is how often term j occurs in text i, df_j the number of texts with term j, and n the number
of texts. The machine needs all rows, so a pool with it cannot add, remove or merge rows. It shares
the counts of naive Bayes on words and pairs, which give df.
Reference: Joachims (1998), Text categorization with support vector machines, ECML 1998.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from verosim.axes import Columns, Vocabulary
from verosim.bayes.rule import Decision
from verosim.cached import cached_property
from verosim.data import Documents, Tokenizer
from verosim.data.labels import positions
from verosim.data.source import RowSource
from verosim.densities import ClassScores, Density, Expansion
from verosim.densities.attribution import LINEAR, Attribution, AttributionRequest, TokenTerms
from verosim.densities.base import into, no_known_features
from verosim.densities.terms import Term, TokensTerm
from verosim.densities.token_terms import checked_tokenizer, token_rows
from verosim.errors import VerosimError
from verosim.estimators.robust import Refused
from verosim.estimators.text import TextSpec
from verosim.stats import Statistic
from verosim.stats.document_terms import document_terms, text_lengths
from verosim.stats.term_rows import TermRows
from verosim.twins.svm import LinearSVM

SVM_TOLERANCE = 1e-3  # share of the objective at which the machine stops
MOST_PASSES = 200


@dataclass(frozen=True)
class MarginScores(ClassScores):
    """Margins that are linear in tf-idf rows."""

    has_attribution: ClassVar[bool] = True

    coef: np.ndarray  # (C, K)
    bias: np.ndarray  # (C,)
    idf: np.ndarray  # (K,)
    vocabulary: Vocabulary
    tokenizer: Tokenizer

    @property
    def n_parameters(self) -> int:
        """The number of weights and intercepts."""
        return self.coef.size + self.bias.size

    def read(self, rows: Any) -> Documents | TermRows:
        return rows if isinstance(rows, TermRows) else Documents.of(rows)

    def log_ratio(self, block: Documents | TermRows, out: np.ndarray | None = None) -> np.ndarray:
        out = into(out, (len(block), len(self.bias)))
        out[...] = tfidf_rows(block, self.vocabulary, self.tokenizer, self.idf) @ self.coef.T
        out += self.bias
        return out

    def attribution(self, block: Documents | TermRows, request: AttributionRequest) -> Attribution:
        """A text is one column: the sum of the scores of its terms."""
        amounts = tfidf_rows(block, self.vocabulary, self.tokenizer, self.idf)
        names = self.tokenizer.shown(self.vocabulary.tokens())
        terms = TokenTerms(names, amounts, np.ascontiguousarray(self.coef.T))
        return Attribution(self.log_ratio(block)[:, :, None], LINEAR, tokens=(terms,))

    def row_lengths(self, block: Documents | TermRows) -> np.ndarray:
        return text_lengths(block, self.tokenizer)

    def terms(self) -> tuple[Term, ...]:
        if not self.vocabulary.size:
            return ()
        table = np.ascontiguousarray(self.coef.T)
        rows, by = token_rows(self.vocabulary), checked_tokenizer(self.tokenizer)
        return (TokensTerm.of(by, "unit", rows, self.bias, table, idf=self.idf),)

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        """No check is needed: each text has finite scores."""

    def expansion(self, statistic: Any) -> Expansion:
        raise no_known_features()

    def of_classes(self, mine: np.ndarray, classes: np.ndarray) -> MarginScores:
        """The scores of other classes. A class that is new has the score 0."""
        coef, bias = np.zeros((len(classes), len(self.idf))), np.zeros(len(classes))
        at = positions(mine, classes)
        coef[at[at >= 0]], bias[at[at >= 0]] = self.coef[at >= 0], self.bias[at >= 0]
        return replace(self, coef=coef, bias=bias)


@dataclass(frozen=True)
class FoundMargins(Density):
    """Margins that were found in the rows. The statistic only gives the classes."""

    margins: MarginScores
    classes: np.ndarray  # (C,) of the margins

    def estimate(self, statistic: Any) -> MarginScores:  # type: ignore[override]
        return self.margins.of_classes(self.classes, statistic.axes.groups.classes)


def tfidf_rows(
    texts: Documents | TermRows, terms: Vocabulary, tokenizer: Tokenizer, idf: np.ndarray
) -> sparse.csr_array:
    """(n, K) the tf-idf rows of some texts, with the norm 1."""
    rows = document_terms(texts, terms, tokenizer, "l2")
    data = rows.data * idf[rows.indices]
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    norm = np.sqrt(np.bincount(row, data**2, minlength=rows.shape[0]))
    return sparse.csr_array((data / norm[row], rows.indices, rows.indptr), shape=rows.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextSVMSpec(TextSpec):
    """The settings of the machine. Its weights are found in the rows."""

    C: float = 1.0
    margins: MarginScores | None = None
    classes: np.ndarray | None = None  # (C,) of the margins

    @property
    def family(self) -> str:
        return "TextNB"  # the same statistic

    @property
    def prior_setting(self) -> Any:
        return "uniform"  # the intercepts contain the shares of the classes

    @property
    def is_decomposable(self) -> bool:
        return False

    @property
    def needs_rows(self) -> bool:
        return self.margins is None

    def check_updates(self, verb: str) -> None:
        raise Refused(
            f"{verb} is not available for {self.name}, because a support vector machine needs all "
            "rows.",
            f"Fit {self.name} again on all rows, or use TextRidge.",
        )

    def resolved(self, tuned: Mapping[str, Any]) -> Self:
        if self.margins is not None:  # the classes are those of the rows that were read
            return self
        known = {name: tuned[name] for name in ("margins", "classes") if name in tuned}
        return replace(self, **known) if "margins" in known else self

    def found_in_rows(self, source: RowSource, statistic: Statistic) -> dict[str, Any]:
        if not source.takes_rows:
            raise VerosimError(
                f"{self.name} needs all texts in memory, and the file is too large.",
                "Use a part of the texts, or leave this model out.",
            )
        counts: Any = statistic
        kept = counts.frequent(self.min_count)
        rows = source.take(np.flatnonzero(np.ones(source.rows or 0, dtype=bool)))
        every = statistic.axes.groups.classes
        used = np.unique(rows.groups)
        idf = 1 + np.log((1 + len(rows)) / (1 + kept.arrays["cells"].sum(axis=0)))
        terms = kept.codes
        assert isinstance(terms, Vocabulary)
        margins = MarginScores(
            np.zeros((len(used), terms.size)), np.zeros(len(used)), idf, terms, self.tokenization
        )
        if len(used) > 1 and terms.size:
            X = tfidf_rows(rows.X, terms, self.tokenization, idf)
            machine = LinearSVM(self.C, tol=SVM_TOLERANCE, max_iter=MOST_PASSES, random_state=0)
            machine.fit(X, rows.groups, rows.weights if len(rows.weights) else None)
            coef, bias = machine.coef_, machine.intercept_
            if len(used) == 2:
                coef, bias = np.concatenate([-coef, coef]), np.concatenate([-bias, bias])
            margins = replace(margins, coef=coef, bias=bias)
        return {"margins": margins, "classes": every[used]}

    @cached_property
    def density(self) -> Density:
        if self.margins is None or self.classes is None:
            return super().density
        return FoundMargins(self.margins, self.classes)

    def rule(self, params: Any, statistic: Statistic, streaming: bool = False) -> Decision:
        weight, rows = statistic.weight[:, 0], statistic.rows[:, 0]
        log_prior = self.log_prior(statistic.axes.groups.classes, weight, rows, streaming)
        return Decision(log_prior, params, statistic.axes.columns)


class TextSVM:
    """The settings of the expert, as an estimator has them."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def __repr__(self) -> str:
        return f"TextSVM(C={self.C!r})"

    def spec(self) -> TextSVMSpec:
        """The settings as a spec."""
        return TextSVMSpec(
            name=type(self).__name__, C=self.C, model="contrast", weighting="l2", ngrams=(1, 2),
            min_count=2,
        )  # fmt: skip
