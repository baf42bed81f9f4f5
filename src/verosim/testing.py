"""The laws, published: whatever is added to verosim must obey them.

A statistic is a vector with labelled axes, so it must add like one; a density must agree with
the statistic it was estimated from; an engine must give what one thread gives. Each law below is
a plain function that raises AssertionError when broken: feed it your own objects, from a
property-testing library or by hand.

>>> import numpy as np
>>> from verosim.testing import statistic_of, commutative
>>> a = statistic_of(np.array([[1.0], [2.0]]), ["x", "y"])
>>> b = statistic_of(np.array([[3.0]]), ["z"])
>>> commutative(a, b)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from verosim.axes import Axes, Columns, Groups
from verosim.data import ArraySource, as_matrix, as_weights, encode_labels
from verosim.densities import Density
from verosim.densities.leave_one_out import refit
from verosim.engines import summarise, use_threads
from verosim.stats import ArrayStatistic, Moments, Patterns, Product, Statistic, from_state

__all__ = [
    "adds_like_one_thread",
    "adds_up_by_column",
    "agrees_with_its_statistic",
    "aligns",
    "assert_same",
    "associative",
    "columns_stand_alone",
    "commutative",
    "features_are_linear",
    "folds_add_up",
    "has_zero",
    "invertible",
    "leaves_one_out",
    "passes_through_empty",
    "ratio_is_density",
    "reads_only",
    "repivots",
    "restores",
    "scales",
    "size_of",
    "splits",
    "statistic_of",
    "streams",
]


LAW_TOLERANCE = 1e-12  # what sums of a few rows may differ by, in parts of what they have absorbed

LIGHTEST = 1e-3  # the smallest weight of a row that the laws are checked with

Plan = Callable[[Axes], Statistic]
Engine = Callable[[ArraySource, Statistic], Statistic]


def statistic_of(
    X: Any,
    y: Any,
    *,
    plan: Plan = Moments,
    folds: Any = None,
    n_folds: int = 1,
    weights: Any = None,
    raw: bool = False,
) -> Statistic:
    """The statistic of some rows: `plan(axes)` gives the zero it starts from."""
    rows = as_matrix(X, sparse_allowed=True, values=raw)
    codes, labels = encode_labels(np.asarray(y))
    if folds is not None:
        codes = (codes * n_folds + np.asarray(folds)).astype(np.int32)
    axes = Axes(Groups(labels, n_folds), Columns(rows.shape[1]))
    return summarise(ArraySource(rows, codes, as_weights(weights, len(codes)), raw=raw), plan(axes))


# What it means to be the same ----------------------------------------------------------------


def assert_same(a: Statistic, b: Statistic, rounding: float = LAW_TOLERANCE) -> None:
    """Equal on the union of their axes: whole rows exactly, sums to rounding."""
    if isinstance(a, Product):
        assert isinstance(b, Product)
        assert a.parts.keys() == b.parts.keys()
        for name in a.parts:
            assert_same(a.parts[name], b.parts[name], rounding)
        return
    if isinstance(a, Patterns):
        assert isinstance(b, Patterns)
        a, b = a.parts, b.parts
    assert isinstance(a, ArrayStatistic)
    assert isinstance(b, ArrayStatistic)
    a, b = a.on_common_axes(b)
    for name, field in a.fields.items():
        if field.kind in ("pivot", "peak"):
            continue
        x, y = a.arrays[name], b.arrays[name]
        if field.kind == "rows":
            np.testing.assert_array_equal(x, y, err_msg=name)
            continue
        apart = np.abs(x - y)
        if field.kind == "pair":
            apart = np.abs((x - y) + (a.lows[name] - b.lows[name]))
        allowed = rounding * np.maximum(size_of(a, name), size_of(b, name))
        allowed = np.broadcast_to(allowed, apart.shape)
        if not (apart <= allowed).all():
            worst = np.unravel_index(np.argmax(apart - allowed), apart.shape)
            raise AssertionError(
                f"{name}{[int(i) for i in worst]}: {x[worst]!r} and {y[worst]!r} differ by "
                f"{apart[worst]:.3g}, more than rounding, {allowed[worst]:.3g}"
            )


def size_of(statistic: ArrayStatistic, name: str) -> np.ndarray:
    """The size of what an array has absorbed, entry by entry: rounding errors are parts of it."""
    array = statistic.arrays[name]
    largest = np.broadcast_to(np.abs(array).max(initial=1e-300), array.shape)
    if not isinstance(statistic, Moments) or name in ("weight", "cells"):
        return np.maximum(largest, 1.0)
    peak = statistic.arrays["absorbed"]  # Σw z², the largest ever
    weight = max(float(np.abs(statistic.weight).sum()), 1.0)
    peak = np.maximum(peak.max(axis=tuple(range(peak.ndim - 1))), 1e-300)  # (d,)
    root = np.sqrt(peak)
    # Σw z² bounds z only up to the lightest row: z² ≤ peak / w.
    widest = peak.sum() / LIGHTEST
    return {
        "sum": np.sqrt(weight) * root,
        "square": peak,
        "scatter": root[:, None] * root,
        "cube": widest * root * np.sqrt(weight),
        "quartic": np.asarray(widest * peak.sum()),
    }[name]


# Laws of statistics --------------------------------------------------------------------------


def associative(a: Statistic, b: Statistic, c: Statistic) -> None:
    """(a + b) + c = a + (b + c)"""
    assert_same((a + b) + c, a + (b + c))


def commutative(a: Statistic, b: Statistic) -> None:
    """a + b = b + a"""
    assert_same(a + b, b + a)


def has_zero(a: Statistic) -> None:
    """a + 0 = a, and the zero of a has no rows"""
    zero = a.zero()
    assert int(np.abs(zero.rows).sum()) == 0
    assert_same(a + zero, a)
    assert_same(zero + a, a)


def invertible(a: Statistic, b: Statistic) -> None:
    """(a + b) − b = a, and (a − b) + b = a"""
    assert_same((a + b) - b, a)
    assert_same((a - b) + b, a)


def scales(a: Statistic, b: Statistic, factor: float) -> None:
    """f (a + b) = f a + f b, (1/f)(f a) = a, and rows stay whole"""
    assert_same((a + b) * factor, a * factor + b * factor)
    assert_same((a * factor) * (1 / factor), a)
    np.testing.assert_array_equal((a * factor).rows, a.rows)


def passes_through_empty(a: Statistic, b: Statistic) -> None:
    """(a − a) + b = b; a + b − a, pruned, has exactly the classes and rows of b"""
    assert_same((a - a) + b, b)
    rest = ((a + b) - a).prune()
    only = b.prune()
    assert rest.axes.groups.classes.tolist() == only.axes.groups.classes.tolist()
    assert_same(rest, only)
    assert not len((a - a).prune().axes.groups.classes)


def folds_add_up(folded: Statistic, whole: Statistic) -> None:
    """Σ folds = all rows; the complement of a fold is the sum of the others"""
    assert_same(folded.total("fold"), whole)
    complement = folded.complement("fold")
    F = folded.axes.groups.folds
    for f in range(F):
        assert_same(complement.fold(f) + folded.fold(f), whole)
        rest = folded.fold(f).zero()
        for other in range(F):
            if other != f:
                rest = rest + folded.fold(other)
        assert_same(complement.fold(f), rest)


def splits(build: Callable[[Sequence[int]], Statistic], parts: Sequence[Sequence[int]]) -> None:
    """The sum over any split of the rows, in any order, is the statistic of all rows."""
    together = build([i for part in parts for i in part])
    total = None
    for part in parts:
        if len(part):
            total = build(part) if total is None else total + build(part)
    if total is not None:
        assert_same(total, together)


def streams(a: Statistic, batches: Sequence[Any], whole: Statistic) -> None:
    """Absorbing batches one after another, from the zero of a, gives the whole."""
    running = a.zero()
    for batch in batches:
        running.absorb(batch)
    assert_same(running, whole)


def repivots(a: Statistic, pivot: np.ndarray) -> None:
    """Sums about another pivot are the same statistic, and come back"""
    assert isinstance(a, Moments)
    moved = a.about(pivot)
    assert_same(moved, a)
    assert_same(moved.about(a.arrays["pivot"]), a)


def aligns(a: Statistic, b: Statistic) -> None:
    """Laying a on wider axes changes nothing and leaves a alone"""
    before = a.fingerprint()
    assert_same(a.align(a.axes.union(b.axes)), a)
    assert a.fingerprint() == before
    assert a.copy().fingerprint() == before


def restores(a: Statistic) -> None:
    """The state of a, as plain data, gives a back bit by bit, in arrays of its own"""
    before = a.fingerprint()
    again = from_state(a.state())
    assert type(again) is type(a)
    assert again.fingerprint() == before
    again += a
    assert a.fingerprint() == before
    assert_same(again, a + a)


# Laws of densities ---------------------------------------------------------------------------


def agrees_with_its_statistic(density: Density, statistic: Statistic, X: Any, y: Any) -> None:
    """log p of the rows, summed by class, is what the statistic alone says it is"""
    params = density.estimate(statistic)
    labels = statistic.axes.groups.classes.tolist()
    codes = np.array([labels.index(label) for label in np.asarray(y).tolist()])
    scores = params.generative.log_density(params.read(X))[np.arange(len(codes)), codes]
    by_class = np.bincount(codes, weights=scores, minlength=len(labels))
    expected = params.log_likelihood(statistic)
    np.testing.assert_allclose(by_class, expected, rtol=1e-8, atol=1e-6)


def adds_up_by_column(density: Density, statistic: Statistic, X: Any) -> None:
    """Σ_j contributions = log p(x | k)"""
    params = density.estimate(statistic)
    block = params.read(X)
    np.testing.assert_allclose(
        params.contributions(block).sum(axis=2), params.log_density(block), rtol=1e-8, atol=1e-8
    )


def ratio_is_density(density: Density, statistic: Statistic, X: Any) -> None:
    """log_ratio and log_density differ by the same amount in all classes of a row"""
    params = density.estimate(statistic)
    block = params.read(X)
    gap = params.log_ratio(block) - params.log_density(block)
    np.testing.assert_allclose(gap, np.broadcast_to(gap[:, :1], gap.shape), rtol=1e-8, atol=1e-7)


def columns_stand_alone(density: Density, statistic: Statistic, X: Any) -> None:
    """A density that is additive gives each column what that column alone would give it"""
    if not density.is_additive:
        return
    whole = density.estimate(statistic)
    together = whole.contributions(whole.read(X))
    for j in range(X.shape[1]):
        alone = density.estimate(statistic.narrowed(np.array([j])))
        found = alone.contributions(alone.read(np.ascontiguousarray(X[:, [j]])))
        np.testing.assert_allclose(found[:, :, 0], together[:, :, j], rtol=1e-10, atol=1e-10)


def features_are_linear(density: Density, statistic: Statistic, X: Any) -> None:
    """wᵀφ(x) + b and log p(x | k) differ by the same amount in all classes of a row"""
    params = density.estimate(statistic)
    block = params.read(X)
    linear = params.expansion(statistic)
    gap = (linear.features(block) @ linear.coef.T + linear.bias) - params.log_density(block)
    np.testing.assert_allclose(gap, np.broadcast_to(gap[:, :1], gap.shape), rtol=1e-7, atol=1e-7)


def leaves_one_out(density: Density, statistic: Statistic, X: Any, y: Any) -> None:
    """A closed form without a row is what estimating without it gives"""
    labels = statistic.axes.groups.classes.tolist()
    classes = np.array([labels.index(label) for label in np.asarray(y).tolist()])
    block = density.estimate(statistic).read(X)
    ours, again = (
        score(block, classes, np.empty(0))
        for score in (density.leave_one_out(statistic), refit.scorer(density, statistic))
    )
    np.testing.assert_allclose(ours, again, rtol=1e-8, atol=1e-8)


def reads_only(density: Density, statistic: Statistic) -> None:
    """Estimating does not change the statistic"""
    before = statistic.fingerprint()
    density.estimate(statistic)
    assert statistic.fingerprint() == before


# Laws of engines -----------------------------------------------------------------------------


def adds_like_one_thread(engine: Engine, source: ArraySource, plan: Statistic) -> None:
    """Whatever an engine does with the rows, the statistic is that of one thread; the plan stays"""
    before = plan.fingerprint()
    with use_threads(1):
        alone = summarise(source, plan)
    assert_same(engine(source, plan), alone, rounding=1e-11)
    assert plan.fingerprint() == before
