"""Sums of the rows of leading terms, and of their products, read directly from texts.

    Σw z per class and fold,   Σw z zᵀ per fold,   z_j = (1 + ln tf_j) / norm over the leading terms

tf_j is how often term j occurs in the text. A text without leading terms has z = 0. The terms are a
fixed vocabulary, and a text has few of them, so the products of a text are few.
Reference: Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §3.4.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim import kernels
from verosim.axes import Axes, Vocabulary
from verosim.data import Batch, Documents, Tokenizer
from verosim.stats.arrays import ArrayStatistic
from verosim.stats.document_terms import TextPlace, document_terms
from verosim.stats.fields import BASE_FIELDS, Field, G
from verosim.stats.state import restorable
from verosim.stats.term_rows import TermRows

TERM_FIELDS = {
    **BASE_FIELDS,
    "sum": Field((*G, "code")),
    "product": Field(("fold", "code", "code")),
}


@restorable
class TermProducts(ArrayStatistic):
    """The sums and products of the weights of leading terms. The terms are the codes."""

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
        self.count_rows(batch)


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
