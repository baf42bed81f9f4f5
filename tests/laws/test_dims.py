"""An array may have a dim twice: a toy statistic, pairs of codes in a row, obeys every law."""

from __future__ import annotations

import numpy as np
import pytest

from tests.laws.strategies import Rows, operands, summed
from tests.laws.test_statistics import law
from verosim import testing
from verosim.axes import CappedCategories, Categories, CodedColumns
from verosim.axes.value_hashes import hashes_of
from verosim.data import Batch
from verosim.stats import ArrayStatistic, Field, restorable
from verosim.stats.fields import BASE_FIELDS, G

KINDS = ("values", "words")


@restorable
class CodePairs(ArrayStatistic):
    """How often two codes occur in the same row."""

    fields = {  # noqa: RUF012
        **BASE_FIELDS,
        "pairs": Field((*G, "code", "code")),
        "exact": Field(("fold", "code", "code"), "pair"),  # the same over all classes
        "most": Field(("fold", "code", "code"), "peak"),
        "cells": Field(("fold", "code"), "rows"),
    }

    def absorb(self, batch: Batch) -> None:
        wider = self.align(self.axes.with_codes(self.axes.codes.widened(batch.block)))
        self.axes, self.arrays, self.lows = wider.axes, wider.arrays, wider.lows
        codes, _ = self.axes.codes.encode(batch.block)
        one_hot = (codes[:, :, None] == np.arange(self.axes.codes.size)).any(axis=1)  # (n, K)
        weights = batch.weights if len(batch.weights) else np.ones(len(batch))
        for row, g, w in zip(one_hot, batch.groups.tolist(), weights, strict=True):
            self.by_group("pairs")[g] += w * np.outer(row, row)
            f = g % self.axes.groups.folds
            self.arrays["exact"][f] += w * np.outer(row, row)
            self.arrays["cells"][f] += row
        self.count_rows(batch)
        self.note_peaks()

    def note_peaks(self) -> None:
        np.maximum(self.arrays["most"], self.arrays["exact"], out=self.arrays["most"])

    def cleared(self):
        out = super().cleared()
        kept = (out.arrays["cells"] != 0).any(axis=0)
        return out if kept.all() else out.keep("code", kept)


def pairs(kind: str, rows: Rows, folded: bool = False) -> CodePairs:
    """`words` keep three texts a column; the others share a bucket, so codes merge."""
    d = rows.X.shape[1]
    if kind == "values":
        empty = Categories.empty(d)
        return summed(rows.X, rows, folded, lambda axes: CodePairs(axes.with_codes(empty)))
    found = [np.unique(column, return_inverse=True) for column in rows.X.T]
    indexes = tuple(index.astype(np.int32) for _, index in found)
    texts = tuple([None if np.isnan(v) else f"{v + 0.0:g}" for v in values] for values, _ in found)
    words = CappedCategories.none_yet((3,) * d, (hashes_of(["5"]),) * d)
    block = CodedColumns(indexes, texts, len(rows.X))
    return summed(block, rows, folded, lambda axes: CodePairs(axes.with_codes(words)))


def drawn(data, count: int) -> list[Rows]:
    return data.draw(operands("codes", count))


@law(0, kinds=KINDS)
def test_it_is_a_vector(kind, tables, data):
    a, b, c = (pairs(kind, rows) for rows in drawn(data, 3))
    testing.associative(a, b, c)
    testing.commutative(a, b)
    testing.has_zero(a)
    testing.invertible(a, b)
    testing.scales(a, b, 0.5)
    testing.passes_through_empty(a, b)
    testing.aligns(a, b)
    testing.restores(a)


@law(0, kinds=KINDS)
def test_it_folds_and_splits(kind, tables, data):
    (rows,) = drawn(data, 1)
    testing.folds_add_up(pairs(kind, rows, folded=True), pairs(kind, rows))
    if rows.weights is None:
        n = len(rows.y)
        testing.splits(lambda at: pairs(kind, rows.take(at)), [range(n // 2), range(n // 2, n)])


@law(0, kinds=("values",))
def test_both_axes_move_and_both_are_cut(kind, tables, data):
    """Against the rows themselves: an entry is found by the two values it counts."""
    rows, other = drawn(data, 2)
    a = pairs(kind, rows)
    wide = a.align(a.axes.union(pairs(kind, other).axes))
    assert by_value(wide) == by_value(a)

    kept = np.arange(a.axes.codes.size) % 2 == 0
    cut = a.keep("code", kept)
    for name in ("pairs", "exact", "most"):
        expected = a.arrays[name][..., kept, :][..., kept]
        np.testing.assert_array_equal(cut.arrays[name], expected)
    np.testing.assert_array_equal(cut.lows["exact"], a.lows["exact"][..., kept, :][..., kept])

    d = rows.X.shape[1]
    some = np.arange(d)[:: -1 if d > 1 else 1][:2]
    narrow = Rows(rows.kind, rows.X[:, some], rows.y, rows.weights, rows.folds)
    assert by_value(a.narrowed(some)) == by_value(pairs(kind, narrow))
    columns = np.isin(np.arange(d), some)
    assert a.keep("column", columns).fingerprint() == a.narrowed(np.sort(some)).fingerprint()


def by_value(statistic: CodePairs) -> dict:
    """The counts that are not zero, by class and the two (column, value) they count."""
    codes, labels = statistic.axes.codes, statistic.axes.groups.classes.tolist()
    value = [codes.label(k, statistic.axes.columns) for k in range(codes.size)]
    counts = statistic.arrays["pairs"][:, 0]
    return {(labels[c], value[j], value[k]): counts[c, j, k] for c, j, k in np.argwhere(counts)}


def test_values_that_share_a_bucket_share_their_pairs():
    """Three words of a column are kept; the pairs of the others are sums over what they were."""
    values = np.arange(8.0)
    X = np.column_stack([values, np.zeros(8)])
    rows = Rows("codes", X, ["a"] * 8, None, np.zeros(8, dtype=int))
    whole = sum_of(pairs("words", rows.take([i])) for i in range(8))
    assert whole.axes.codes.size == 5  # three, the bucket, and the other column's zero
    count = whole.arrays["pairs"][0, 0]
    np.testing.assert_array_equal(np.sort(count[-1]), [1, 1, 1, 5, 8])
    np.testing.assert_array_equal(count, count.T)
    np.testing.assert_array_equal(whole.arrays["exact"][0], count)


def sum_of(parts):
    parts = iter(parts)
    total = next(parts)
    for part in parts:
        total = total + part
    return total


def test_a_removal_names_both_values():
    rows = Rows("codes", np.array([[1.0, 2.0]]), ["a"], None, np.zeros(1, dtype=int))
    a = pairs("values", rows)
    a.arrays["pairs"] *= 0.25
    with pytest.raises(ValueError, match=r"Class 'a', column 'x0', value 1.0, column 'x0', value"):
        a.without(pairs("values", rows))
