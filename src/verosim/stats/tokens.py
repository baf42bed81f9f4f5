"""Counts of tokens per class, read directly from texts without a document–term matrix.

    count_ki = Σ w · a_i   over the documents of class k

where a_i is the number of times that token i occurs in the document, or 1 if it occurs and 0 if
not (`presence`). The vocabulary is the code axis. It grows while texts are read, and two
vocabularies merge by token.
Reference: McCallum & Nigam (1998), A comparison of event models for naive Bayes text
classification, AAAI-98 Workshop on Learning for Text Categorization.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes, Hashed, TokenCodes, Vocabulary
from verosim.data import Batch, Documents, Tokenizer
from verosim.data.tokens import Tables
from verosim.errors import VerosimError
from verosim.stats.arrays import ArrayStatistic
from verosim.stats.fields import BASE_FIELDS, Field, G
from verosim.stats.forgetting import existing_codes, settle_cells
from verosim.stats.state import restorable
from verosim.stats.tally import Tally

TOKEN_FIELDS = {
    **BASE_FIELDS,
    "count": Field((*G, "code")),
    # The number of occurrences, without weights. It alone decides whether a token exists.
    "cells": Field(("fold", "code"), "rows"),
    # Tokens with a smaller count may have been removed. Decay multiplies it as it does counts.
    "pruned": Field((), "peak"),
}
COUNT_ROUNDING = 1e-9  # share of a count that is ignored when it is compared with a threshold


@restorable
class Tokens(ArrayStatistic):
    """Counts of the tokens of one column of texts.

    With `presence`, a token counts once per document, however often it occurs.
    """

    sums_of = "tokens"
    threshold = 0.0

    def __init__(
        self,
        axes: Axes,
        arrays: dict[str, np.ndarray] | None = None,
        lows: dict[str, np.ndarray] | None = None,
        *,
        ngrams: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        presence: bool = False,
    ) -> None:
        shortest, longest = ngrams
        self.tokenizer = Tokenizer((shortest, longest), lowercase)
        self.presence = presence
        self._tally: Tally | None = None
        if axes.codes is None:
            axes = axes.with_codes(Vocabulary.empty())
        super().__init__(axes, arrays, lows)

    @property
    def fields(self) -> dict[str, Field]:
        return TOKEN_FIELDS

    @property
    def options(self) -> dict[str, Any]:
        return {
            "ngrams": self.tokenizer.ngrams,
            "lowercase": self.tokenizer.lowercase,
            "presence": self.presence,
        }

    @property
    def what(self) -> str:
        return "presence" if self.presence else "amount"

    @property
    def codes(self) -> TokenCodes:
        assert isinstance(self.axes.codes, TokenCodes)
        return self.axes.codes

    @property
    def grows(self) -> bool:
        return not self.codes.fixed

    def count_names(self) -> list[str]:
        if isinstance(self.codes, Vocabulary):
            return self.codes.tokens()
        return [f"bucket {i}" for i in range(self.codes.size)]

    # Building ----------------------------------------------------------------------------

    def _zeros(self, axes: Axes) -> dict[str, np.ndarray]:
        arrays = super()._zeros(axes)
        # The counts of one token are adjacent in memory, because loops read them together and
        # because the axis of tokens grows.
        C, F, K = (axes.size(dim) for dim in ("class", "fold", "code"))
        arrays["count"] = np.zeros((K, C, F)).transpose(1, 2, 0)
        arrays["cells"] = np.zeros((K, F), dtype=np.int64).T
        return arrays

    def copy(self) -> Self:
        if not any(array.any() for array in self.arrays.values()):
            return self.like(self.axes)  # new zeros take no memory until they are written
        arrays = {name: array.copy(order="K") for name, array in self.arrays.items()}
        return self.like(self.axes, arrays, {})

    def unplaced(self) -> Self:
        """The zero without tokens; the next texts add their own."""
        return self.like(
            self.axes if self.codes.fixed else self.axes.with_codes(Vocabulary.empty())
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tally": None}

    # Reading texts -----------------------------------------------------------------------

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        tally, documents = self._own_tally(), batch.block
        if tally.grows and not tally.size:  # a first estimate of the room that is needed
            tally.grow(min(documents.size // 64, 1 << 17), documents.size // 16)
        room = self.tokenizer.room(documents)
        folds = self.axes.groups.folds

        def work(some: Documents, first: int, by: Tables) -> tuple[int, int]:
            nonlocal room
            if some.longest > documents.longest:  # lowercase texts can be longer
                room = self.tokenizer.room(some)
            part = slice(first, first + len(some))
            groups, weights = batch.groups[part], batch.weights[part]
            return tally.read(some, by, self.tokenizer, groups, weights, folds, self.presence, room)

        name = self.axes.columns.name(0)
        self.tokenizer.visit(documents, work, lambda i: f"column {name!r}, {batch.place(i)}")
        self.count_rows(batch)
        self._publish(tally)

    def _own_tally(self) -> Tally:
        """The table of this statistic, made from its arrays if it does not exist."""
        tally = self._tally
        if tally is None or tally.shown is not self.arrays["count"]:
            count, cells = _by_code(self.arrays["count"]), self.arrays["cells"].T
            tally = self._tally = Tally(self.codes, count, np.ascontiguousarray(cells))
        return tally

    def _publish(self, tally: Tally) -> None:
        """Set the axes and arrays to views of the table."""
        C, F = self.axes.size("class"), self.axes.size("fold")
        K = tally.size
        if self.codes.size != K:
            self.axes = self.axes.with_codes(Vocabulary(tally.arena, tally.bounds[: K + 1]))
        self.arrays["count"] = tally.count[:K].reshape(K, C, F).transpose(1, 2, 0)
        self.arrays["cells"] = tally.cells[:K].T
        tally.shown = self.arrays["count"]

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
        kernels.add_token_rows(
            tally.count, tally.cells, found, sign,
            _by_code(added.arrays["count"]), np.ascontiguousarray(added.arrays["cells"].T),
        )  # fmt: skip
        for name in ("rows", "weight"):
            out.arrays[name] += sign * added.arrays[name]
        np.maximum(out.arrays["pruned"], added.arrays["pruned"], out=out.arrays["pruned"])
        out._publish(tally)
        return out

    def align(self, axes: Axes) -> Self:
        moved = None if axes is self.axes else self.axes.positions("code", axes)
        if moved is None:
            return super().align(axes)
        out = self.like(axes.with_groups(self.axes.groups))
        for name in ("rows", "weight", "pruned"):
            out.arrays[name] = self.arrays[name].copy()
        out.arrays["count"].transpose(2, 0, 1)[moved] = self.arrays["count"].transpose(2, 0, 1)
        out.arrays["cells"].T[moved] = self.arrays["cells"].T
        return ArrayStatistic.align(out, axes)

    def keep(self, dim: str, kept: np.ndarray) -> Self:
        if dim != "code":
            return super().keep(dim, kept)
        arrays = dict(self.arrays)
        arrays["count"] = self.arrays["count"].transpose(2, 0, 1)[kept].transpose(1, 2, 0)
        arrays["cells"] = self.arrays["cells"].T[kept].T
        return self.like(self.axes.with_codes(self.codes.keep(kept)), arrays, {})

    # Rare tokens -------------------------------------------------------------------------

    def _reaching(self, least: float) -> np.ndarray:
        """(K,) bool: the tokens with a total count of at least `least`."""
        return self.arrays["count"].sum(axis=(0, 1)) >= least * (1 - COUNT_ROUNDING)

    def frequent(self, min_count: float) -> Self:
        """The same statistic without tokens that have a smaller count, as if they were unknown."""
        if min_count <= 1:  # decay can make a count smaller than one, but the token still exists
            return self
        kept = self._reaching(min_count)
        return self if kept.all() else self.keep("code", kept)

    def pruned(self, min_count: float) -> Self:
        """The statistic after tokens with a smaller count are deleted.

        It stores the threshold, so that documents with deleted tokens can still be forgotten.
        """
        if self.codes.fixed:
            given = "a fixed number of buckets" if isinstance(self.codes, Hashed) else (
                "a fixed vocabulary")  # fmt: skip
            raise VerosimError(
                f"Tokens cannot be pruned, because the model was fitted with {given}.",
                "Set min_count to ignore rare tokens, or fit again with a shorter vocabulary.",
            )
        kept = self._reaching(min_count)
        out = self.copy().keep("code", kept) if not kept.all() else self.copy()
        np.maximum(out.arrays["pruned"], float(min_count), out=out.arrays["pruned"])
        return out

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
        part = part.keep("code", self.codes.find(part.codes) >= 0)
        mine, theirs = self.on_common_axes(part)
        excess = np.maximum(theirs.arrays["count"] - mine.arrays["count"], 0.0)
        light = excess.sum(axis=(0, 1)) < self.arrays["pruned"]  # (K,)
        out = theirs.copy()
        np.subtract(out.arrays["count"], excess, out=out.arrays["count"], where=light)
        spare = np.maximum(out.arrays["cells"] - mine.arrays["cells"], 0)
        np.subtract(out.arrays["cells"], spare, out=out.arrays["cells"], where=light)
        return out

    def settle_rows(self, before: Self) -> None:
        super().settle_rows(before)
        settle_cells(self, before)

    def cleared(self) -> Self:
        out = super().cleared()
        kept = existing_codes(out)
        return out if kept.all() or out.codes.fixed else out.keep("code", kept)


def _by_code(count: np.ndarray) -> np.ndarray:
    """Counts (C, F, K) as (K, G) for the kernels; a view if the memory order allows it."""
    C, F, K = count.shape
    return np.ascontiguousarray(count.transpose(2, 0, 1)).reshape(K, C * F)
