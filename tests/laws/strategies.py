"""Rows for the laws: few, but with everything that breaks false groups in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from verosim.axes import Axes, Bins, Categories, Cells
from verosim.stats import Counts, Moments, Product
from verosim.stats.base import Statistic
from verosim.testing import statistic_of

NUMERIC = ("diagonal", "full", "pooled")
KINDS = (*NUMERIC, "codes", "bins", "cells", "presence", "amount", "product")
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
            raw=self.kind == "codes", **more,
        )  # fmt: skip


def codes(axes: Axes) -> Counts:
    return Counts(axes.with_codes(Categories.empty(axes.size("column"))))


def bins(axes: Axes) -> Counts:
    return Counts(
        axes.with_codes(Bins([np.array([-50.0, -1.0, 0.0, 2.0, 50.0])] * axes.size("column")))
    )


def cells(axes: Axes) -> Counts:
    return Counts(axes.with_codes(Cells(bins(axes).axes.codes, Categories.empty(1))))


PLANS = {
    "diagonal": lambda axes: Moments(axes, layout="diagonal"),
    "full": lambda axes: Moments(axes, layout="full"),
    "pooled": lambda axes: Moments(axes, layout="pooled"),
    "codes": codes,
    "bins": bins,
    "cells": cells,
    "presence": lambda axes: Counts(axes, what="presence"),
    "amount": lambda axes: Counts(axes, what="amount"),
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
    if kind in NUMERIC:
        X = (X + offset) * np.array(scale)
    elif kind == "amount":
        X = np.abs(X)
    elif kind == "codes":
        X = np.round(X)
    if kind not in ("full", "pooled", "cells") and holes:
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
    base = "diagonal" if kind == "product" else kind
    return [draw(rows_of(base, d, **bounds)) for _ in range(count)]


def statistic(kind: str, rows: Rows, folded: bool = False) -> Statistic:
    if kind != "product":
        return rows.statistic(folded)
    numbers = rows.statistic(folded)
    X = np.where(np.isnan(rows.X), np.nan, np.round(np.clip(rows.X, -5, 5)))
    other = Rows("codes", X, rows.y, rows.weights, rows.folds).statistic(folded)
    return Product({"numbers": numbers, "codes": other})
