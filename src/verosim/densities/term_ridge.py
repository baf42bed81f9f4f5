"""Ridge regression of class indicators on the leading terms of texts, from sums of products.

    w_k = (S + λI)⁻¹ n_k (μ_k − μ),   δ_k(x) = w_kᵀ(z − μ) / σ²

S is the scatter of the rows z about their mean μ, n_k and μ_k are the weight and the mean of class
k, and λ is the penalty. σ² is the penalised mean squared residual of an indicator:

    σ² = Σ_k (n_k (1 − n_k/n) − n_k w_kᵀ(μ_k − μ)) / (n C)

An indicator with Gaussian errors of the variance σ² has this log-likelihood ratio. Reference:
Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §3.4.1 and §4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from verosim import kernels
from verosim.axes import Columns, Vocabulary
from verosim.cached import cached_property
from verosim.data import Documents, Tokenizer
from verosim.densities.attribution import LINEAR, Attribution, AttributionRequest, TokenTerms
from verosim.densities.base import ClassScores, Density, into, no_known_features
from verosim.densities.centred_terms import CentredTerms, variance
from verosim.densities.features import Expansion
from verosim.densities.leave_one_out import Scorer, term_ridge
from verosim.densities.terms import RowLength, Term, TokensTerm, WordsLength
from verosim.densities.token_terms import checked_tokenizer, token_rows
from verosim.linalg import padded
from verosim.stats import TermProducts
from verosim.stats.document_terms import text_lengths
from verosim.stats.term_products import term_weights
from verosim.stats.term_rows import TermRows


@dataclass(frozen=True)
class TermScores(ClassScores):
    """Scores that are linear in the weights of the leading terms of a text."""

    has_attribution: ClassVar[bool] = True

    coef: np.ndarray  # (C, K) w_k / σ²
    bias: np.ndarray  # (C,)
    vocabulary: Vocabulary  # the leading terms
    tokenizer: Tokenizer

    @property
    def n_parameters(self) -> int:
        """The number of weights. Those of all classes have the sum 0."""
        C, K = self.coef.shape
        return max(C - 1, 0) * K

    @cached_property
    def _lanes(self) -> np.ndarray:
        return padded(np.ascontiguousarray(self.coef.T))

    def read(self, rows: Any) -> Documents | TermRows:
        return rows if isinstance(rows, TermRows) else Documents.of(rows)

    def log_ratio(self, block: Documents | TermRows, out: np.ndarray | None = None) -> np.ndarray:
        out = into(out, (len(block), len(self.bias)))
        data, indices, indptr = term_weights(block, self.vocabulary, self.tokenizer)
        absent = np.empty((0, len(self.bias)))  # terms that do not occur have no score
        kernels.score_sparse(data, indices, indptr, False, 0.0, self._lanes, absent, self.bias, out)
        return out

    def attribution(self, block: Documents | TermRows, request: AttributionRequest) -> Attribution:
        """A text is one column: the sum of the scores of its terms, about the mean text."""
        data, indices, indptr = term_weights(block, self.vocabulary, self.tokenizer)
        shape = (len(block), self.coef.shape[1])
        amounts = sparse.csr_array((data, indices, indptr - indptr[0]), shape=shape)
        terms = TokenTerms(self._shown_terms, amounts, self._scores_of_terms)
        parts = self.log_ratio(block)[:, :, None]
        return Attribution(parts, LINEAR, tokens=(terms,))

    @cached_property
    def _shown_terms(self) -> list[str]:
        return self.tokenizer.shown(self.vocabulary.tokens())

    @cached_property
    def _scores_of_terms(self) -> np.ndarray:
        """(K, C)"""
        return np.ascontiguousarray(self.coef.T)

    def row_lengths(self, block: Documents | TermRows) -> np.ndarray:
        return text_lengths(block, self.tokenizer)

    def program_length(self) -> RowLength:
        return WordsLength.of(checked_tokenizer(self.tokenizer))

    def check(self, block: Any, scores: np.ndarray, columns: Columns, start: int) -> None:
        """No check is needed: each text has finite scores."""

    def terms(self) -> tuple[Term, ...]:
        if not self.vocabulary.size:
            return ()
        table = np.ascontiguousarray(self.coef.T)
        rows, by = token_rows(self.vocabulary), checked_tokenizer(self.tokenizer)
        return (TokensTerm.of(by, "unit", rows, self.bias, table),)

    def expansion(self, statistic: Any) -> Expansion:
        """The weight of a term depends on the other terms, so it is not a feature of its own."""
        raise no_known_features()


@dataclass(frozen=True)
class TermRidge(Density):
    """Ridge regression of the indicators of the classes on the leading terms."""

    penalty: float = 1.0  # λ

    has_row_lengths = True

    def estimate(self, statistic: TermProducts) -> TermScores:  # type: ignore[override]
        return self.solve(statistic, CentredTerms.of(statistic))

    @classmethod
    def estimate_family(  # type: ignore[override]
        cls, densities: Sequence[Self], statistic: TermProducts, quiet: bool = False
    ) -> list[TermScores]:
        """Estimate several penalties from one scatter, with one factorisation each."""
        centred = CentredTerms.of(statistic)
        return [density.solve(statistic, centred) for density in densities]

    def leave_one_out(self, statistic: TermProducts) -> Scorer:
        return term_ridge.scorer(self.penalty, statistic)

    def solve(self, statistic: TermProducts, centred: CentredTerms) -> TermScores:
        """The scores from sums that several penalties share."""
        coef = centred.weights(centred.factor(self.penalty) if len(centred.mean) else None)
        coef = coef / variance(centred.residual(coef), centred.weight)
        return TermScores(coef, -coef @ centred.mean, statistic.terms, statistic.tokenizer)
