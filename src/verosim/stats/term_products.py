"""Sums of the rows of leading terms, and of their products, read directly from texts.

    Σw z per class and fold,   Σw z zᵀ per fold,   z_j = (1 + ln tf_j) / norm over the leading terms

tf_j is how often term j occurs in the text. A text without leading terms has z = 0. The terms are a
fixed vocabulary, and a text has few of them, so the products of a text are few.
Reference: Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §3.4.1.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes, Vocabulary
from verosim.data import Batch, Documents, Tokenizer
from verosim.errors import VerosimError
from verosim.stats.arrays import ArrayStatistic
from verosim.stats.document_terms import TextPlace, document_terms
from verosim.stats.fields import BASE_FIELDS, Field, G
from verosim.stats.forgetting import fixed_tokens, settled
from verosim.stats.state import restorable
from verosim.stats.term_rows import TermRows

TERM_FIELDS = {
    **BASE_FIELDS,
    "sum": Field((*G, "code")),
    "product": Field(("fold", "code", "code")),
    # The number of texts with each term. It alone decides whether a chosen term stays.
    "cells": Field(("fold", "code"), "rows"),
    # Terms of fewer texts may have been removed.
    "pruned": Field((), "peak"),
}


@restorable
class TermProducts(ArrayStatistic):
    """The sums and products of the weights of leading terms. The terms are the codes.

    If the terms were chosen from texts, `forget` drops those that no text has any more. Terms that
    the user has given all stay.
    """

    sums_of = "terms"

    def __init__(
        self,
        axes: Axes,
        arrays: dict[str, np.ndarray] | None = None,
        lows: dict[str, np.ndarray] | None = None,
        *,
        ngrams: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        analyzer: str = "word",
    ) -> None:
        shortest, longest = ngrams
        self.tokenizer = Tokenizer((shortest, longest), lowercase, analyzer)
        super().__init__(axes, arrays, lows)

    @property
    def fields(self) -> dict[str, Field]:
        return TERM_FIELDS

    @property
    def options(self) -> dict[str, Any]:
        return self.tokenizer.options

    def count_names(self) -> list[str]:
        return self.terms.tokens()

    @property
    def terms(self) -> Vocabulary:
        """The leading terms."""
        assert isinstance(self.axes.codes, Vocabulary)
        return self.axes.codes

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        name = self.axes.columns.name(0)
        rows = term_weights(
            batch.block, self.terms, self.tokenizer, lambda i: f"column {name!r}, {batch.place(i)}"
        )
        kernels.add_outer_rows(
            *rows, batch.weights, batch.groups, self.axes.groups.folds, self.by_group("sum"),
            self.arrays["product"],
        )  # fmt: skip
        self._count_texts(batch.groups, *rows[1:])
        self.count_rows(batch)

    def _count_texts(self, groups: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> None:
        """Add the number of texts with each term, in place. A text lists each term once."""
        F, K = self.arrays["cells"].shape
        fold = np.repeat(groups % F, np.diff(indptr)).astype(np.int64)
        self.arrays["cells"] += np.bincount(fold * K + indices, minlength=F * K).reshape(F, K)

    # Algebra -----------------------------------------------------------------------------

    def settle_rows(self, before: Self) -> None:
        super().settle_rows(before)
        sums, then = (x.arrays["sum"].sum(axis=0) for x in (self, before))  # (F, K)
        self.arrays["cells"][...] = settled(self.arrays["cells"], sums, then)
        # What is left of heavy texts is rounding. Products stay symmetric, and squares at least 0.
        product = self.arrays["product"]  # (F, K, K)
        product[...] = (product + product.swapaxes(1, 2)) / 2
        squares = np.arange(product.shape[1])
        product[:, squares, squares] = np.maximum(product[:, squares, squares], 0.0)

    @property
    def has_values(self) -> bool:
        return True

    def pruned(self, min_count: float) -> Self:
        """The statistic without terms that fewer texts have."""
        if not self.terms.chosen:
            raise fixed_tokens("a fixed vocabulary")
        out = self.keep("code", self.arrays["cells"].sum(axis=0) >= min_count)
        np.maximum(out.arrays["pruned"], float(min_count), out=out.arrays["pruned"])
        return out

    def __mul__(self, factor: float) -> Self:
        out = super().__mul__(factor)
        out.arrays["pruned"][...] = self.arrays["pruned"]  # a number of texts does not decay
        return out

    def without(self, part: Self) -> Self:
        if self.arrays["pruned"] > 0:  # a text had another norm with the terms that are gone
            raise VerosimError(
                "Texts cannot be forgotten after terms were pruned, because the weights of the "
                "other terms of a text depend on them.",
                "Forget the texts before prune, or fit the model again.",
            )
        return super().without(part)

    def without_traces(self) -> Self:
        kept: np.ndarray = self.arrays["cells"].sum(axis=0) > 0  # (K,)
        rest = self if not self.terms.chosen or kept.all() else self.keep("code", kept)
        return rest.like(rest.axes.with_codes(rest.terms.alone()), rest.arrays, rest.lows)


def term_weights(
    documents: Documents | TermRows,
    terms: Vocabulary,
    tokenizer: Tokenizer,
    place: TextPlace | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows z of some texts in CSR form: data, indices and indptr.

    The norm of every row is 1, or 0 if the text has no leading term.
    """
    rows = document_terms(documents, terms, tokenizer, "l2", place)
    row = np.repeat(np.arange(len(documents)), np.diff(rows.indptr))
    norm = np.sqrt(np.bincount(row, rows.data**2, minlength=len(documents)))
    return rows.data / norm[row], rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
