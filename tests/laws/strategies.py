"""Rows for the laws: few, but with everything that breaks false groups in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from verosim.axes import (
    Axes,
    Bins,
    CappedCategories,
    Categories,
    CellCodes,
    CodedColumns,
    Columns,
    ContextCodes,
    Groups,
    JointBins,
    Vocabulary,
)
from verosim.axes.value_hashes import hashes_of
from verosim.data import ArraySource, Documents, as_weights, encode_labels
from verosim.data.lift import Lift
from verosim.engines import summarise
from verosim.stats import (
    Contexts,
    Counts,
    LiftedMoments,
    Moments,
    Pairs,
    Patterns,
    Product,
    Statistic,
    TermProducts,
    Tokens,
)  # fmt: skip
from verosim.testing import statistic_of

NUMERIC = ("diagonal", "full", "pooled")
BYTES = ("pairs", "contexts", "chains")  # statistics of tables that were read as cells
KINDS = (
    *NUMERIC, "patterns", "codes", "words", "bins", "cells", "presence", "amount", "tokens",
    "weights", "terms", "pairs", "contexts", "chains", "lifted", "product",
)  # fmt: skip
OFFSETS = (0.0, 1e8, -3e5)
SCALES = ((1.0, 1.0, 1.0), (1e12, 1.0, 1e-3), (1e-6, 1e6, 1.0))


@dataclass
class Rows:
    kind: str
    X: np.ndarray  # (n, d)
    y: list[str]
    weights: np.ndarray | None
    folds: np.ndarray  # (n,) 0 or 1

    def take(self, rows) -> Rows:
        rows = np.asarray(rows, dtype=int)
        weights = None if self.weights is None else self.weights[rows]
        return Rows(self.kind, self.X[rows], [self.y[i] for i in rows], weights, self.folds[rows])

    def statistic(self, folded: bool = False) -> Statistic:
        more = {"folds": self.folds, "n_folds": 2} if folded else {}
        return statistic_of(
            self.X, self.y, plan=PLANS[self.kind], weights=self.weights,
            raw=self.kind in ("codes", *BYTES), **more,
        )  # fmt: skip


def codes(axes: Axes) -> Counts:
    return Counts(axes.with_codes(Categories.empty(axes.size("column"))))


def bins(axes: Axes) -> Counts:
    return Counts(
        axes.with_codes(Bins([np.array([-50.0, -1.0, 0.0, 2.0, 50.0])] * axes.size("column")))
    )


def cells(axes: Axes) -> Counts:
    return Counts(axes.with_codes(JointBins(bins(axes).axes.codes, Categories.empty(1))))


def byte_codes(d: int) -> CellCodes:
    """Cells 0 … 9 of every column: in pairs, from the second column on in threes; 9 is missing."""
    maps = np.full((d, 256), 0)
    for j in range(d):
        step = 2 + (j > 0)
        maps[j, :9] = np.arange(9) // step
        maps[j, 9:] = 8 // step + 1
    return CellCodes(maps, maps.max(axis=1) + 1, cells=np.full(d, 10))


def pairs(axes: Axes) -> Pairs:
    return Pairs(axes.with_codes(byte_codes(axes.size("column"))))


def contexts(axes: Axes) -> Contexts:
    """Every column depends on the column before it."""
    d = axes.size("column")
    parents = tuple((j - 1,) if j else () for j in range(d))
    return Contexts(axes.with_codes(ContextCodes(byte_codes(d), parents)))


def chains(axes: Axes) -> Contexts:
    """Every column depends on all columns before it."""
    d = axes.size("column")
    parents = tuple(tuple(range(j)) for j in range(d))
    return Contexts(axes.with_codes(ContextCodes(byte_codes(d), parents)))


def lifted(axes: Axes) -> LiftedMoments:
    return LiftedMoments.plan(axes, Lift(axes.size("column"), 2, 0.1, 0))


PLANS = {
    "diagonal": lambda axes: Moments(axes, layout="diagonal"),
    "full": lambda axes: Moments(axes, layout="full"),
    "pooled": lambda axes: Moments(axes, layout="pooled"),
    "patterns": Patterns,
    "codes": codes,
    "bins": bins,
    "cells": cells,
    "presence": lambda axes: Counts(axes, what="presence"),
    "amount": lambda axes: Counts(axes, what="amount"),
    "counts": lambda axes: Moments(axes, layout="diagonal"),
    "pairs": pairs,
    "contexts": contexts,
    "chains": chains,
    "lifted": lifted,
}

SPECIAL = np.array([0.0, 1e-3, 50.0, -1.0, 1.0])
WEIGHTS = np.array([1.0, 0.1, 0.25, 0.3, 3.0, 1e-3])


def some_cells(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Ties, integers, fractions and special values, mixed."""
    mixed = [
        rng.integers(-4, 5, shape).astype(float),
        rng.normal(0, 30, shape),
        rng.choice(SPECIAL, shape),
    ]
    return np.choose(rng.integers(0, 3, shape), mixed)


@st.composite
def rows_of(draw, kind: str, d: int, at_least: int = 1, most: int = 7) -> Rows:
    n = draw(st.integers(at_least, most))
    offset, scale = draw(st.sampled_from(OFFSETS)), draw(st.sampled_from(SCALES))[:d]
    holes, weighted, zeros = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    # Drawing every cell through hypothesis costs ten times more and finds no more.
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = some_cells(rng, (n, d))
    if kind in (*NUMERIC, "patterns"):
        X = (X + offset) * np.array(scale)
    elif kind == "amount":
        X = np.abs(X)
    elif kind == "codes":
        X = np.round(X)
    elif kind in BYTES:
        X = np.clip(np.round(X) + 4, 0, 9).astype(np.uint8)
    if kind not in ("full", "pooled", "cells", "lifted", *BYTES) and holes:
        X[rng.random((n, d)) < 0.3] = np.nan
    y = rng.choice(list("abc"), n).tolist()
    weights = rng.choice(WEIGHTS, n) if weighted else None
    if weights is not None and zeros:
        weights[1:][rng.random(n - 1) < 0.3] = 0.0
    return Rows(kind, X, y, weights, rng.integers(0, 2, n))


@st.composite
def operands(draw, kind: str, count: int, **bounds) -> list[Rows]:
    """Several tables of the same kind and columns, with classes and scales of their own."""
    d = draw(st.integers(1, 3))
    base = {"product": "diagonal", "tokens": "codes", "weights": "codes", "words": "codes"}.get(
        kind, kind
    )
    return [draw(rows_of(base, d, **bounds)) for _ in range(count)]


def statistic(kind: str, rows: Rows, folded: bool = False) -> Statistic:
    if kind in ("tokens", "weights", "terms"):
        return tokens(rows, folded, kind)
    if kind == "words":
        return words(rows, folded)
    if kind != "product":
        return rows.statistic(folded)
    numbers = rows.statistic(folded)
    X = np.where(np.isnan(rows.X), np.nan, np.round(np.clip(rows.X, -5, 5)))
    other = Rows("codes", X, rows.y, rows.weights, rows.folds).statistic(folded)
    return Product({"numbers": numbers, "codes": other})


def tokens(rows: Rows, folded: bool = False, kind: str = "tokens") -> Statistic:
    """The same rows as texts: a word for every value, of few bytes or many."""
    texts = [
        " ".join(f"w{v:g}" * (1 + 5 * (v > 2)) for v in row if not np.isnan(v)) for row in rows.X
    ]
    plans = {
        "tokens": Tokens,
        "weights": lambda axes: Tokens(axes, weighting="l2"),
        "terms": lambda axes: TermProducts(axes.with_codes(TERMS)),
    }
    return summed(Documents.of(texts), rows, folded, plans[kind])


TERMS = Vocabulary.of([f"w{v}" for v in (-3, -2, -1, 0, 1, 2)], open=False)


def words(rows: Rows, folded: bool = False) -> Statistic:
    """The same rows as words, of which a column keeps three and '5' first of all."""
    indexes, texts = [], []
    for column in rows.X.T:
        found, index = np.unique(column, return_inverse=True)
        indexes.append(index.astype(np.int32))
        texts.append([None if np.isnan(v) else f"{v + 0.0:g}" for v in found])
    block = CodedColumns(tuple(indexes), tuple(texts), len(rows.X))
    d = rows.X.shape[1]
    codes = CappedCategories.none_yet((3,) * d, (hashes_of(["5"]),) * d)
    return summed(block, rows, folded, lambda axes: Counts(axes.with_codes(codes)))


def summed(block, rows: Rows, folded: bool, plan) -> Statistic:
    codes, labels = encode_labels(np.array(rows.y))
    F = 2 if folded else 1
    groups = (codes * F + rows.folds * (F - 1)).astype(np.int32)
    weights = as_weights(rows.weights, len(block))
    axes = Axes(Groups(labels, F), Columns(block.shape[1]))
    return summarise(ArraySource(block, groups, weights, raw=True), plan(axes))
