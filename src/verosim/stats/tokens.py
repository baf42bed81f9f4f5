"""Counts of tokens per class, read directly from texts without a document–term matrix.

    count_ki = Σ w · a_i   over the documents of class k

where a_i is the amount of token i in the document. With tf_i the number of times that the token
occurs, it is

    counts     a_i = tf_i
    presence   a_i = [tf_i > 0]
    l2         a_i = (1 + ln tf_i) / √(Σ_j (1 + ln tf_j)²)   over all tokens j of the document
    squares    the square of l2

The norm needs neither the vocabulary nor other documents, so all of them are sums. The vocabulary
is the code axis. It grows while texts are read, and two vocabularies merge by token.
References: McCallum & Nigam (1998), A comparison of event models for naive Bayes text
classification, AAAI-98 Workshop on Learning for Text Categorization; Rennie et al. (2003), Tackling
the poor assumptions of naive Bayes text classifiers, Proceedings of ICML 2003.
"""

from __future__ import annotations

from dataclasses import replace
from operator import iadd, isub
from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes, Hashed, TokenCodes, Vocabulary
from verosim.data import Batch, Documents, Tokenizer
from verosim.data.prepared_texts import TokenFunction
from verosim.data.tokens import WEIGHTINGS, Tables
from verosim.errors import VerosimWarning, warn
from verosim.stats.fields import BASE_FIELDS, Field, G
from verosim.stats.forgetting import fixed_tokens
from verosim.stats.growing import GrowingCounts
from verosim.stats.sparse_sums import SparseSums
from verosim.stats.state import restorable
from verosim.stats.tally import Tally
from verosim.stats.term_rows import TermRows

TOKEN_FIELDS = {
    **BASE_FIELDS,
    "count": Field((*G, "code")),
    # The number of occurrences, or of documents unless weighting="counts", without weights. It
    # alone decides whether a token exists.
    "cells": Field(("fold", "code"), "rows"),
    # Tokens with a smaller count may have been removed. Decay multiplies it as it does counts.
    "pruned": Field((), "peak"),
}
MOST_DIFFERENT_TOKENS = 1 << 24  # a vocabulary of this size takes 2 to 4 GB
COUNT_ROUNDING = 1e-9  # share of a count that is ignored when it is compared with a threshold


@restorable
class Tokens(GrowingCounts):
    """Counts of the tokens of one column of texts.

    `weighting` is the amount of a token in a document: "counts", "presence", "l2" or "squares".
    "repeats" is the same as "counts", but its `cells` are numbers of documents.
    With more than `max_tokens` tokens, the rarest are deleted.
    """

    sums_of = "tokens"
    threshold = 0.0
    arrays: dict[str, Any]  # the counts are SparseSums
    before_weights: Tokens | None = None  # class weights do not change which tokens are frequent

    def __init__(
        self,
        axes: Axes,
        arrays: dict[str, Any] | None = None,
        lows: dict[str, np.ndarray] | None = None,
        *,
        ngrams: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        analyzer: str = "word",
        weighting: str = "counts",
        max_tokens: int = MOST_DIFFERENT_TOKENS,
        stop_words: tuple[str, ...] = (),
        strip_accents: str | None = None,
        function: TokenFunction | None = None,
    ) -> None:
        shortest, longest = ngrams
        self.tokenizer = Tokenizer(
            (shortest, longest), lowercase, analyzer, tuple(stop_words), strip_accents, function
        )
        self.weighting, self.max_tokens = weighting, max_tokens
        if axes.codes is None:
            axes = axes.with_codes(Vocabulary.empty())
        if arrays is not None:
            arrays = {**arrays, "count": SparseSums.of(arrays["count"])}
        super().__init__(axes, arrays, lows)

    @property
    def fields(self) -> dict[str, Field]:
        return TOKEN_FIELDS

    @property
    def options(self) -> dict[str, Any]:
        return {
            **self.tokenizer.options, "weighting": self.weighting, "max_tokens": self.max_tokens,
        }  # fmt: skip

    @property
    def what(self) -> str:
        return "presence" if self.weighting == "presence" else "amount"

    @property
    def weighed(self) -> bool:
        """Whether the amounts of the tokens of a document depend on each other."""
        return self.weighting in ("l2", "squares")

    @property
    def scored_weighting(self) -> str:
        """The amount of a token in a text that is scored."""
        return "counts" if self.weighting == "repeats" else self.weighting

    @property
    def lists_tokens(self) -> bool:
        """Whether each token of a document is counted once, with its amount."""
        return self.weighed or self.weighting == "repeats"

    @property
    def codes(self) -> TokenCodes:
        assert isinstance(self.axes.codes, TokenCodes)
        return self.axes.codes

    @property
    def has_values(self) -> bool:
        return True

    @property
    def grows(self) -> bool:
        return not self.codes.fixed

    def count_names(self) -> list[str]:
        if isinstance(self.codes, Vocabulary):
            return self.codes.tokens()
        return [f"bucket {i}" for i in range(self.codes.size)]

    # Building ----------------------------------------------------------------------------

    def _check_memory(self) -> None:
        """No check: most counts are zero, and these are not stored."""

    def _zeros(self, axes: Axes) -> dict[str, Any]:
        sizes = axes.sizes()
        C, F, K = (sizes[dim] for dim in ("class", "fold", "code"))
        sparse = {"count": SparseSums.zeros((C, F, K)), "cells": np.zeros((K, F), np.int64).T}
        return {
            name: sparse[name] if name in sparse else field.zeros(sizes)
            for name, field in self.fields.items()
        }

    def unplaced(self) -> Self:
        """The zero without tokens; the next texts add their own."""
        return self.like(
            self.axes if self.codes.fixed else self.axes.with_codes(Vocabulary.empty())
        )

    # Reading texts -----------------------------------------------------------------------

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        if isinstance(batch.block, TermRows):
            if self.weighting == "l2" and isinstance(self.codes, Vocabulary):
                self._absorb_terms(batch)
                return
            batch = replace(batch, block=batch.block.documents)
        tally, documents = self._own_tally(), batch.block
        sums = self.arrays["count"]
        if tally.grows and not tally.size:  # a first estimate of the room that is needed
            shortest, longest = self.tokenizer.ngrams
            tokens = min(documents.size // 64, 1 << 17)
            tally.grow(tokens, documents.size // 16, (longest - shortest) * tokens)
        room = self.tokenizer.room(documents, self.lists_tokens)
        folds, weighting = self.axes.groups.folds, WEIGHTINGS[self.weighting]

        def work(some: Documents, first: int, by: Tables) -> tuple[int, int]:
            nonlocal room
            if some.longest > documents.longest:  # lowercase texts can be longer
                room = self.tokenizer.room(some, self.lists_tokens)
            part = slice(first, first + len(some))
            groups, weights = batch.groups[part], batch.weights[part]
            return tally.read(
                some, by, self.tokenizer, groups, weights, folds, weighting, sums, room
            )

        name = self.axes.columns.name(0)
        self.tokenizer.visit(documents, work, lambda i: f"column {name!r}, {batch.place(i)}")
        self.count_rows(batch)
        self._publish(tally)
        self._limit()

    def _absorb_terms(self, batch: Batch) -> None:
        """Add texts that were divided into n-grams before. They may bring n-grams of zero texts."""
        rows = batch.block.matrix(self.tokenizer)
        codes = self.codes
        if not codes.fixed and not codes.size:
            self.axes = self.axes.with_codes(rows.vocabulary)
            self.arrays |= {name: self._zeros(self.axes)[name] for name in ("count", "cells")}
        elif codes.fixed:
            rows = rows.known(codes)
        elif codes is not rows.vocabulary:
            more = self.like(self.axes.with_codes(rows.vocabulary))
            more._absorb_terms(batch)
            found: np.ndarray = more.arrays["cells"].sum(axis=0) > 0  # (K,)
            self._combined(more.keep("code", found), 1, owned=True)
            return
        part = slice(rows.indptr[0], rows.indptr[-1])
        starts, amounts = rows.indptr - part.start, rows.data[part]
        if len(batch.weights):
            amounts = amounts * np.repeat(batch.weights, np.diff(starts))
        self.arrays["count"].log_rows(starts, batch.groups, rows.indices[part], amounts)
        cells = self.arrays["cells"].T
        kernels.count_terms(starts, rows.indices[part], batch.groups, self.axes.groups.folds, cells)
        self.count_rows(batch)
        self._limit()

    def _own_tally(self) -> Tally:
        """The table of this statistic, made from its arrays if it does not exist."""
        tally: Tally | None = self.growing()
        if tally is None:
            cells = np.ascontiguousarray(self.arrays["cells"].T)
            tally = Tally(self.codes, cells, self.tokenizer.counts_shorter)
            self.arrays["count"] = self.arrays["count"].copy()
        return tally

    def _publish(self, tally: Tally) -> None:
        """Set the axes and the cells to views of the table."""
        K = tally.size
        if self.codes.size != K:
            self.axes = self.axes.with_codes(tally.vocabulary())
        self.arrays["count"].widen(K)
        self.arrays["count"].settle_long_log()
        self.show(tally)

    # Algebra -----------------------------------------------------------------------------

    def _combined(self, other: Self, sign: int, owned: bool = False) -> Self:
        """Add or subtract. A growing vocabulary looks up the other tokens one by one."""
        theirs, codes = getattr(other.axes, "codes", None), self.codes
        if (
            codes.fixed
            or codes is theirs
            or not isinstance(theirs, Vocabulary)
            or theirs.fixed
            or self.options != other.options
        ):
            return super()._combined(other, sign, owned)
        groups = self.axes.groups.union(other.axes.groups)
        axes = Axes(groups, self.axes.columns.union(other.axes.columns), codes)
        out = self
        if not owned or groups is not self.axes.groups:
            out = self.align(axes).copy()
        added = other.align(Axes(groups, axes.columns, theirs))
        tally = out._own_tally()
        found = tally.meet(theirs)
        tally.cells[found] += sign * added.arrays["cells"].T
        count = out.arrays["count"]
        count.widen(tally.size)
        moved = added.arrays["count"].placed(count.shape, None, found)
        out.arrays["count"] = (iadd if sign > 0 else isub)(count, moved)
        for name in ("rows", "weight"):
            out.arrays[name] += sign * added.arrays[name]
        np.maximum(out.arrays["pruned"], added.arrays["pruned"], out=out.arrays["pruned"])
        out._publish(tally)
        out._limit()
        return out

    def complement(self, dim: str = "fold") -> Self:
        out = super().complement(dim)
        out.arrays["count"] = SparseSums.of(out.arrays["count"])
        return out

    # Rare tokens -------------------------------------------------------------------------

    def __mul__(self, factor: float) -> Self:
        out = super().__mul__(factor)
        if self.weighed:  # the threshold is a number of documents, which does not decay
            out.arrays["pruned"][...] = self.arrays["pruned"]
        return out

    def with_class_weights(self, factors: np.ndarray) -> Self:
        out = super().with_class_weights(factors)
        out.before_weights = self
        return out

    def reaching(self, least: float) -> np.ndarray:
        """(K,) bool: the tokens with a total count of at least `least`.

        With weighting="l2", the number of documents that have the token counts.
        """
        if self.weighed:
            found: np.ndarray = self.arrays["cells"].sum(axis=0) >= least
            return found
        return self.arrays["count"].sum(axis=(0, 1)) >= least * (1 - COUNT_ROUNDING)

    def in_documents(self, least: float, most: float) -> Self:
        """The same statistic without tokens that too few or too many documents have.

        A whole number is a number of documents, and another number is a share of all documents.
        """
        n = int(self.rows.sum())
        low, high = (
            bound if isinstance(bound, int | np.integer) else bound * n for bound in (least, most)
        )
        have = self.arrays["cells"].sum(axis=0)  # (K,) documents
        kept = (have >= low) & (have <= high)
        if not kept.any():  # the first texts of a stream may be too few for min_df
            warn(
                f"No token is in at least {low:g} and at most {high:g} of the {n:,} texts, so the "
                "model uses no token. Use a smaller min_df or a larger max_df.",
                VerosimWarning,
            )
        return self if kept.all() else self.keep("code", kept)

    def frequent(self, min_count: float) -> Self:
        """The same statistic without tokens that have a smaller count, as if they were unknown."""
        if min_count <= 1:  # decay can make a count smaller than one, but the token still exists
            return self
        kept = (self.before_weights or self).reaching(min_count)
        return self if kept.all() else self.keep("code", kept)

    def lean(self, least: float) -> Self:
        if least <= 1 or not isinstance(self.codes, Vocabulary) or self.codes.fixed:
            return self
        kept: Any = self.frequent(least)
        return kept.like(kept.axes.with_codes(kept.codes.closed()), kept.arrays, {})

    def pruned(self, min_count: float) -> Self:
        """The statistic after tokens with a smaller count are deleted.

        It stores the threshold, so that documents with deleted tokens can still be forgotten.
        """
        if self.codes.fixed:
            given = "a fixed number of buckets" if isinstance(self.codes, Hashed) else (
                "a fixed vocabulary")  # fmt: skip
            raise fixed_tokens(given)
        kept = self.reaching(min_count)
        out = self.copy().keep("code", kept) if not kept.all() else self.copy()
        np.maximum(out.arrays["pruned"], float(min_count), out=out.arrays["pruned"])
        return out

    def _limit(self) -> None:
        """Delete the rarest tokens if there are more than `max_tokens`, in place."""
        if self.codes.fixed or self.codes.size <= self.max_tokens:
            return
        if (self.arrays["cells"] > 0).any(axis=0).sum() <= self.max_tokens:
            return  # a part of a model has the tokens of the model, and few of them occur in it
        least = max(2, int(self.arrays["pruned"]))
        while self.reaching(least).sum() > self.max_tokens:
            least += 1
        kept = self.pruned(least)
        self.axes, self.arrays = kept.axes, kept.arrays
        counted = "occurrences" if self.weighting in ("counts", "repeats") else "texts"
        warn(
            f"The texts have more than max_tokens={self.max_tokens} different tokens, so tokens "
            f"with fewer than {least} {counted} so far were deleted. "
            "Set max_tokens to a larger number if there is enough memory, or set hashed.",
            VerosimWarning,
        )

    def without(self, part: Self) -> Self:
        if self.arrays["pruned"] > 0 and not self.codes.fixed:
            part = self._remembered(part)
        return super().without(part)

    def _remembered(self, part: Self) -> Self:
        """The part of another statistic that can still be subtracted after pruning.

        A pruned token is not in this statistic any more. If it occurred again later, its count is
        too small by less than the threshold.
        """
        assert isinstance(part.codes, Vocabulary)
        assert isinstance(self.codes, Vocabulary)
        found = self.codes.find(part.codes)
        shared = np.zeros(self.codes.size, dtype=bool)
        shared[found[found >= 0]] = True
        # Dense counts of the tokens of the part only.
        mine, theirs = self.keep("code", shared).on_common_axes(part.keep("code", found >= 0))
        learned, count = np.asarray(mine.arrays["count"]), np.asarray(theirs.arrays["count"])
        excess = np.maximum(count - learned, 0.0)
        spare = np.maximum(theirs.arrays["cells"] - mine.arrays["cells"], 0)
        lacking = spare.sum(axis=0) if self.weighed else excess.sum(axis=(0, 1))
        light = lacking < self.arrays["pruned"]  # (K,)
        out = theirs.copy()
        out.arrays["count"] = SparseSums.of(np.where(light, count - excess, count))
        np.subtract(out.arrays["cells"], spare, out=out.arrays["cells"], where=light)
        return out
