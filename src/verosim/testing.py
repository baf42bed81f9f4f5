"""The laws that every statistic, density and engine of verosim must obey.

A statistic is a vector with labelled axes, so it must add like a vector. A density must agree with
the statistic that it is estimated from. An engine must give the same statistic as one thread. Each
law is a function that raises AssertionError if the law does not hold. Call it with your own
objects, from a property-testing library or by hand.

>>> import numpy as np
>>> from verosim.testing import statistic_of, commutative
>>> a = statistic_of(np.array([[1.0], [2.0]]), ["x", "y"])
>>> b = statistic_of(np.array([[3.0]]), ["z"])
>>> commutative(a, b)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes import Axes, Columns, Groups
from verosim.bayes.program import JOINT_OUTPUT, SCORES_OUTPUT, Program
from verosim.data import as_matrix, as_weights, encode_labels
from verosim.data.source import RowSource
from verosim.data.sources import rows_in_memory
from verosim.densities import Density
from verosim.densities.leave_one_out import refit
from verosim.engines import summarise, use_threads
from verosim.models.program import typed_rows
from verosim.stats import ArrayStatistic, Moments, Patterns, Product, Statistic, from_state

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.data.batch import Batch
    from verosim.typing import Labels, Source, Weights

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
    "program_equals_scores",
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


LAW_TOLERANCE = 1e-12  # largest difference of sums of a few rows, relative to what was absorbed

LIGHTEST = 1e-3  # the smallest weight of a row with which the laws are checked

Plan = Callable[[Axes], Statistic]
Engine = Callable[[RowSource, Statistic], Statistic]


def statistic_of(
    X: Source,
    y: Labels,
    *,
    plan: Plan = Moments,
    folds: ArrayLike | None = None,
    n_folds: int = 1,
    weights: Weights | None = None,
    raw: bool = False,
) -> Statistic:
    """Statistic of some rows.

        T = Σ_i T(x_i, y_i, w_i),   starting from the zero statistic plan(axes)

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The rows.
    y : array-like of shape (n,)
        The labels of the rows.
    plan : callable, default=Moments
        A function of the axes that returns the zero statistic, such as a statistic class.
    folds : array-like of shape (n,) or None, default=None
        The fold of each row, from 0. None puts all rows in one fold.
    n_folds : int, default=1
        The number of folds.
    weights : array-like of shape (n,) or None, default=None
        The weights of the rows. None gives each row the weight 1.
    raw : bool, default=False
        Whether the cells are values of categories instead of numbers.

    Returns
    -------
    Statistic
        The statistic of the rows.
    """
    rows = as_matrix(X, sparse_allowed=True, values=raw)
    codes, labels = encode_labels(np.asarray(y))
    if folds is not None:
        codes = (codes * n_folds + np.asarray(folds)).astype(np.int32)
    axes = Axes(Groups(labels, n_folds), Columns(rows.shape[1]))
    return summarise(
        rows_in_memory(rows, codes, as_weights(weights, len(codes)), raw=raw), plan(axes)
    )


# Equality of statistics ----------------------------------------------------------------------


def assert_same(a: Statistic, b: Statistic, rounding: float = LAW_TOLERANCE) -> None:
    """Two statistics are equal: numbers of rows exactly, sums up to rounding errors.

        |a − b| ≤ rounding · size,   on the union of the axes of a and b

    where size is the size of the values that the sums have absorbed.

    Parameters
    ----------
    a : Statistic
        A statistic.
    b : Statistic
        The statistic to compare it with.
    rounding : float, default=1e-12
        The largest relative difference.
    """
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
        x, y = np.asarray(a.arrays[name]), np.asarray(b.arrays[name])
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
    """Size of the values that an array of a statistic has absorbed, for each entry.

    Rounding errors are relative to this size. For Moments with P = Σ w z² per column and total
    weight W, the size of a sum Σ w z is √(W P), and the size of a square is P.

    Parameters
    ----------
    statistic : ArrayStatistic
        A statistic.
    name : str
        The name of one of its arrays.

    Returns
    -------
    ndarray
        The sizes, in a shape that broadcasts with the array.
    """
    array = np.asarray(statistic.arrays[name])
    largest = np.broadcast_to(np.abs(array).max(initial=1e-300), array.shape)
    if not isinstance(statistic, Moments) or name in ("weight", "cells"):
        return np.maximum(largest, 1.0)
    peak = statistic.arrays["absorbed"]  # the largest Σw z² so far
    weight = max(float(np.abs(statistic.weight).sum()), 1.0)
    peak = np.maximum(peak.max(axis=tuple(range(peak.ndim - 1))), 1e-300)  # (d,)
    root = np.sqrt(peak)
    # A row of weight w can have z² up to peak / w, so the lightest row gives the bound.
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
    """Addition is associative.

        (a + b) + c = a + (b + c)

    Parameters
    ----------
    a : Statistic
        A statistic.
    b : Statistic
        Another statistic of the same kind.
    c : Statistic
        A third statistic of the same kind.
    """
    assert_same((a + b) + c, a + (b + c))


def commutative(a: Statistic, b: Statistic) -> None:
    """Addition is commutative.

        a + b = b + a

    Parameters
    ----------
    a : Statistic
        A statistic.
    b : Statistic
        Another statistic of the same kind.
    """
    assert_same(a + b, b + a)


def has_zero(a: Statistic) -> None:
    """There is a zero, and it has no rows.

        a + 0 = 0 + a = a

    Parameters
    ----------
    a : Statistic
        A statistic.
    """
    zero = a.zero()
    assert int(np.abs(zero.rows).sum()) == 0
    assert_same(a + zero, a)
    assert_same(zero + a, a)


def invertible(a: Statistic, b: Statistic) -> None:
    """Subtraction is the inverse of addition.

        (a + b) − b = a,   (a − b) + b = a

    Parameters
    ----------
    a : Statistic
        A statistic.
    b : Statistic
        Another statistic of the same kind.
    """
    assert_same((a + b) - b, a)
    assert_same((a - b) + b, a)


def scales(a: Statistic, b: Statistic, factor: float) -> None:
    """Multiplication by a factor is linear and does not change the numbers of rows.

        f (a + b) = f a + f b,   (1/f)(f a) = a,   rows(f a) = rows(a)

    Parameters
    ----------
    a : Statistic
        A statistic.
    b : Statistic
        Another statistic of the same kind.
    factor : float
        The factor f, above 0.
    """
    assert_same((a + b) * factor, a * factor + b * factor)
    assert_same((a * factor) * (1 / factor), a)
    np.testing.assert_array_equal((a * factor).rows, a.rows)


def passes_through_empty(a: Statistic, b: Statistic) -> None:
    """A statistic from which all rows were removed is empty.

        (a − a) + b = b,   prune((a + b) − a) = prune(b),   prune(a − a) has no classes

    where prune removes classes without rows.

    Parameters
    ----------
    a : Statistic
        A statistic.
    b : Statistic
        Another statistic of the same kind.
    """
    assert_same((a - a) + b, b)
    rest = ((a + b) - a).prune()
    only = b.prune()
    assert rest.axes.groups.classes.tolist() == only.axes.groups.classes.tolist()
    assert_same(rest, only)
    assert not len((a - a).prune().axes.groups.classes)


def folds_add_up(folded: Statistic, whole: Statistic) -> None:
    """The folds add up to all rows, and the complement of a fold is the sum of the others.

        Σ_f T_f = T,   complement_f = T − T_f = Σ_{g ≠ f} T_g

    Parameters
    ----------
    folded : Statistic
        The statistic of the rows by fold.
    whole : Statistic
        The statistic of the same rows without folds.
    """
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
    """The sum over the parts of any split of the rows is the statistic of all rows.

        Σ_p T(part p) = T(all rows),   for any order of the rows

    Parameters
    ----------
    build : callable
        A function of a sequence of row numbers that returns the statistic of these rows.
    parts : sequence of sequences of int
        The row numbers of each part.
    """
    together = build([i for part in parts for i in part])
    total = None
    for part in parts:
        if len(part):
            total = build(part) if total is None else total + build(part)
    if total is not None:
        assert_same(total, together)


def streams(a: Statistic, batches: Sequence[Batch], whole: Statistic) -> None:
    """Absorbing batches one after another gives the statistic of all rows.

        0 + T(batch 1) + … + T(batch m) = T(all rows)

    Parameters
    ----------
    a : Statistic
        A statistic. Its zero is the start.
    batches : sequence of Batch
        The rows in batches.
    whole : Statistic
        The statistic of all rows.
    """
    running = a.zero()
    for batch in batches:
        running.absorb(batch)
    assert_same(running, whole)


def repivots(a: Statistic, pivot: np.ndarray) -> None:
    """Sums about another pivot are the same statistic, and the change can be reversed.

        a about p = a,   (a about p) about pivot(a) = a

    Parameters
    ----------
    a : Moments
        Moments of some rows.
    pivot : ndarray of shape (d,)
        The new pivot p.
    """
    assert isinstance(a, Moments)
    moved = a.about(pivot)
    assert_same(moved, a)
    assert_same(moved.about(a.arrays["pivot"]), a)


def aligns(a: Statistic, b: Statistic) -> None:
    """Aligning a statistic to wider axes does not change its values.

        align(a, axes(a) ∪ axes(b)) = a

    The statistic itself is not modified, and a copy is equal to it bit by bit.

    Parameters
    ----------
    a : Statistic
        A statistic.
    b : Statistic
        A statistic of the same kind, with other axes.
    """
    before = a.fingerprint()
    assert_same(a.align(a.axes.union(b.axes)), a)
    assert a.fingerprint() == before
    assert a.copy().fingerprint() == before


def restores(a: Statistic) -> None:
    """A statistic is restored from its state bit by bit.

        from_state(state(a)) = a

    The restored statistic has its own arrays, so changing it does not change the original.

    Parameters
    ----------
    a : Statistic
        A statistic.
    """
    before = a.fingerprint()
    again = from_state(a.state())
    assert type(again) is type(a)
    assert again.fingerprint() == before
    again += a
    assert a.fingerprint() == before
    assert_same(again, a + a)


# Laws of densities ---------------------------------------------------------------------------


def agrees_with_its_statistic(density: Density, statistic: Statistic, X: Source, y: Labels) -> None:
    """The log-likelihood by class is the same from the rows and from the statistic.

        Σ_{i: y_i = k} log p(x_i | k) = log_likelihood(statistic)_k

    Parameters
    ----------
    density : Density
        The density to check.
    statistic : Statistic
        The statistic of the rows.
    X : array-like of shape (n, d)
        The rows.
    y : array-like of shape (n,)
        The labels of the rows.
    """
    params = density.estimate(statistic)
    labels = statistic.axes.groups.classes.tolist()
    codes = np.array([labels.index(label) for label in np.asarray(y).tolist()])
    scores = params.generative.log_density(params.read(X))[np.arange(len(codes)), codes]
    by_class = np.bincount(codes, weights=scores, minlength=len(labels))
    expected = params.log_likelihood(statistic)
    np.testing.assert_allclose(by_class, expected, rtol=1e-8, atol=1e-6)


def adds_up_by_column(density: Density, statistic: Statistic, X: Source) -> None:
    """The contributions of the columns sum to the log-density.

        Σ_j contribution_j(x, k) = log p(x | k)

    Parameters
    ----------
    density : Density
        The density to check.
    statistic : Statistic
        The statistic of the rows.
    X : array-like of shape (n, d)
        The rows.
    """
    params = density.estimate(statistic)
    block = params.read(X)
    np.testing.assert_allclose(
        params.contributions(block).sum(axis=2), params.log_density(block), rtol=1e-8, atol=1e-8
    )


def ratio_is_density(density: Density, statistic: Statistic, X: Source) -> None:
    """log_ratio and log_density differ by the same amount in all classes of a row.

        log_ratio(x, k) = log p(x | k) + c(x),   where c does not depend on the class k

    Parameters
    ----------
    density : Density
        The density to check.
    statistic : Statistic
        The statistic of the rows.
    X : array-like of shape (n, d)
        The rows.
    """
    params = density.estimate(statistic)
    block = params.read(X)
    gap = params.log_ratio(block) - params.log_density(block)
    np.testing.assert_allclose(gap, np.broadcast_to(gap[:, :1], gap.shape), rtol=1e-8, atol=1e-7)


def columns_stand_alone(density: Density, statistic: Statistic, X: np.ndarray) -> None:
    """In an additive density, the contribution of a column does not depend on other columns.

        contribution_j(x, k) of all columns = contribution(x_j, k) of column j alone

    A density that is not additive is not checked.

    Parameters
    ----------
    density : Density
        The density to check.
    statistic : Statistic
        The statistic of the rows.
    X : ndarray of shape (n, d)
        The rows.
    """
    if not density.is_additive:
        return
    whole = density.estimate(statistic)
    together = whole.contributions(whole.read(X))
    for j in range(X.shape[1]):
        alone = density.estimate(statistic.narrowed(np.array([j])))
        found = alone.contributions(alone.read(np.ascontiguousarray(X[:, [j]])))
        np.testing.assert_allclose(found[:, :, 0], together[:, :, j], rtol=1e-10, atol=1e-10)


def features_are_linear(density: Density, statistic: Statistic, X: Source) -> None:
    """The log-density is linear in the features, up to a term that all classes share.

        w_kᵀφ(x) + b_k = log p(x | k) + c(x),   where c does not depend on the class k

    Parameters
    ----------
    density : Density
        The density to check.
    statistic : Statistic
        The statistic of the rows.
    X : array-like of shape (n, d)
        The rows.
    """
    params = density.estimate(statistic)
    block = params.read(X)
    linear = params.expansion(statistic)
    gap = (linear.features(block) @ linear.coef.T + linear.bias) - params.log_density(block)
    np.testing.assert_allclose(gap, np.broadcast_to(gap[:, :1], gap.shape), rtol=1e-7, atol=1e-7)


def leaves_one_out(density: Density, statistic: Statistic, X: Source, y: Labels) -> None:
    """The closed form for leaving a row out gives the same scores as a new estimate.

        scores of x_i by the closed form = scores of x_i by the density estimated without row i

    Parameters
    ----------
    density : Density
        The density to check.
    statistic : Statistic
        The statistic of the rows.
    X : array-like of shape (n, d)
        The rows.
    y : array-like of shape (n,)
        The labels of the rows.
    """
    labels = statistic.axes.groups.classes.tolist()
    classes = np.array([labels.index(label) for label in np.asarray(y).tolist()])
    block = density.estimate(statistic).read(X)
    ours, again = (
        score(block, classes, np.empty(0))
        for score in (density.leave_one_out(statistic), refit.scorer(density, statistic))
    )
    np.testing.assert_allclose(ours, again, rtol=1e-8, atol=1e-8)


def reads_only(density: Density, statistic: Statistic) -> None:
    """Estimating a density does not change the statistic.

        fingerprint(statistic) is the same before and after estimate(statistic)

    Parameters
    ----------
    density : Density
        The density to check.
    statistic : Statistic
        The statistic of the rows.
    """
    before = statistic.fingerprint()
    density.estimate(statistic)
    assert statistic.fingerprint() == before


# Laws of engines -----------------------------------------------------------------------------


def program_equals_scores(model: Any, X: Source, rows: Source | None = None) -> None:
    """The program of a fitted model has the scores of the model, and so has its JSON.

        |program − model| ≤ 1e-12 · (1 + size)

    where size is the sum of the absolute values of all products in the score. The scores are
    `log_joint`, or `predict_log_proba` if the output of the program is "log_posterior". If it is
    "scores", they are `decision_function`, which is the difference of the scores of two classes.
    Reading the JSON of the program gives an equal program with the same scores, bit by bit.

    Parameters
    ----------
    model : classifier
        A fitted model with the method `program`.
    X : array-like of shape (n, d) or table
        The rows, in any form that the model reads.
    rows : mapping, ndarray or list of str, or None, default=None
        The same rows as the typed cells that the program takes. None means that they are read as
        the model reads them.
    """
    program = model.program()
    if rows is None:
        read = getattr(getattr(model, "model_", model), "checked_state", None)
        rows = X if read is None else typed_rows(read(), program, X)
    scores, size = program.evaluate_with_size(rows)
    again = Program.from_json(program.to_json())
    assert again == program
    np.testing.assert_array_equal(again.evaluate(rows), scores)
    if program.output == SCORES_OUTPUT:
        wanted = model.decision_function(X)
        if wanted.ndim == 1:
            scores, size = np.diff(scores, axis=1), size.sum(axis=1, keepdims=True)
            wanted = wanted[:, None]
    else:
        joint = program.output == JOINT_OUTPUT
        wanted = model.log_joint(X) if joint else model.predict_log_proba(X)
    impossible = np.isneginf(wanted)
    np.testing.assert_array_equal(np.isneginf(scores), impossible)
    apart = np.abs(np.where(impossible, 0.0, scores) - np.where(impossible, 0.0, wanted))
    assert (apart <= LAW_TOLERANCE * (1 + size)).all(), f"{np.max(apart / (1 + size)):.1e}"


def adds_like_one_thread(
    engine: Engine,
    source: RowSource,
    plan: Statistic,
    there: RowSource | None = None,
) -> None:
    """An engine gives the same statistic as one thread and does not change the plan.

        engine(source, plan) = summarise(source, plan) with one thread

    Counts must be equal, and other sums equal up to rounding.

    Parameters
    ----------
    engine : callable
        A function of a source and a plan that returns the statistic.
    source : source
        The rows.
    plan : Statistic
        The zero statistic.
    there : source or None, default=None
        The same rows where the engine reads them, such as a cluster. None means `source`.
    """
    before = plan.fingerprint()
    with use_threads(1):
        alone = summarise(source, plan)
    assert_same(engine(source if there is None else there, plan), alone, rounding=1e-11)
    assert plan.fingerprint() == before
