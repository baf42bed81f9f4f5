"""The laws of verosim.testing on every statistic."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.strategies import KINDS, NUMERIC, operands, statistic
from verosim import testing
from verosim.data import Batch
from verosim.stats import Moments, Statistic, from_state


def law(count: int, kinds=KINDS, **bounds):
    """A test of a law on `count` statistics of each kind."""

    def decorate(check):
        @pytest.mark.parametrize("kind", kinds)
        @given(data=st.data())
        def test(kind, data):
            tables = data.draw(operands(kind, count, **bounds))
            check(kind, tables, data)

        test.__doc__ = check.__doc__
        return test

    return decorate


@law(3)
def test_associative(kind, tables, data):
    testing.associative(*(statistic(kind, t) for t in tables))


@law(2)
def test_commutative(kind, tables, data):
    testing.commutative(*(statistic(kind, t) for t in tables))


@law(1)
def test_zero(kind, tables, data):
    testing.has_zero(statistic(kind, tables[0]))


@law(2)
def test_invertible(kind, tables, data):
    testing.invertible(*(statistic(kind, t) for t in tables))


@law(2)
def test_scales(kind, tables, data):
    factor = data.draw(st.sampled_from([0.5, 0.99, 1e-3, 7.0]))
    testing.scales(*(statistic(kind, t) for t in tables), factor)


@law(2)
def test_passes_through_empty_groups(kind, tables, data):
    testing.passes_through_empty(*(statistic(kind, t) for t in tables))


@law(1)
def test_folds(kind, tables, data):
    testing.folds_add_up(statistic(kind, tables[0], folded=True), statistic(kind, tables[0]))


@law(2)
def test_fingerprints_tell_states_apart(kind, tables, data):
    a, b = (statistic(kind, t) for t in tables)
    if kind in NUMERIC:
        same = all(
            np.array_equal(x, y, equal_nan=True)
            for x, y in ((a.arrays[n], b.arrays[n]) for n in a.arrays)
            if x.shape == y.shape
        )
        assert same or a.fingerprint() != b.fingerprint()
    assert (a + b).fingerprint() != a.fingerprint()


@law(1)
def test_restores(kind, tables, data):
    for folded in (False, True):
        testing.restores(statistic(kind, tables[0], folded))


@law(2)
def test_pickles(kind, tables, data):
    """A copy from another process adds like the first."""
    a, b = (statistic(kind, t) for t in tables)
    again = pickle.loads(pickle.dumps(a))
    assert again.fingerprint() == a.fingerprint()
    assert (again + b).fingerprint() == (a + b).fingerprint()


@law(2)
def test_a_restored_statistic_goes_on(kind, tables, data):
    """A state that went through lists and bytes, as in a file, adds and forgets like the first."""
    a, b = (statistic(kind, t) for t in tables)
    again = from_state(through_a_file((a + b).state()))
    assert again.fingerprint() == (a + b).fingerprint()
    assert again.without(b).fingerprint() == (a + b).without(b).fingerprint()
    assert (b + again).fingerprint() == (b + (a + b)).fingerprint()
    assert isinstance(again, Statistic)


def through_a_file(state):
    """Plain data as a file would give it back: tuples as lists, arrays from their bytes."""
    if isinstance(state, dict):
        assert all(isinstance(key, str) for key in state)
        return {key: through_a_file(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [through_a_file(value) for value in state]
    if isinstance(state, np.ndarray):
        assert state.dtype.kind in "biuf"
        flat = np.frombuffer(np.ascontiguousarray(state).tobytes(), dtype=state.dtype)
        return flat.reshape(state.shape)
    assert isinstance(state, str | bytes | int | float | bool | None)
    assert not isinstance(state, np.generic)
    return state


@law(2)
def test_aligns(kind, tables, data):
    testing.aligns(*(statistic(kind, t) for t in tables))


@law(1, at_least=2, most=9)
def test_splitting_and_permuting(kind, tables, data):
    (table,) = tables
    n = len(table.y)
    order = data.draw(st.permutations(range(n)))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=3)))
    parts = [order[a:b] for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    if table.weights is not None:  # a part of nothing but zero weights is refused at the door
        assume(all(len(p) == 0 or table.weights[p].any() for p in map(list, parts)))
    testing.splits(lambda rows: statistic(kind, table.take(rows)), [list(p) for p in parts])


@law(1, kinds=NUMERIC)
def test_repivoting(kind, tables, data):
    a = statistic(kind, tables[0])
    at = a.arrays["pivot"]
    step = data.draw(st.sampled_from([0.5, -3.0, 20.0]))
    spread = np.maximum(np.sqrt(np.nanmax(np.abs(a.arrays["absorbed"]), initial=0)), 1e-3)
    testing.repivots(a, at + step * spread / 10)


@law(1, kinds=NUMERIC, at_least=2)
def test_a_pivot_first_seen_mid_stream(kind, tables, data):
    """Row by row from unset pivots, or at once: the same."""
    (table,) = tables
    table.weights = None
    whole = statistic(kind, table)
    labels = whole.axes.groups.classes.tolist()
    batches = [
        Batch(table.X[i : i + 1], np.array([labels.index(label)], dtype=np.int32))
        for i, label in enumerate(table.y)
    ]
    testing.streams(whole.like(whole.axes), batches, whole)


@law(1, kinds=("diagonal", "full"), at_least=2, most=9)
def test_squares_are_exact(kind, tables, data):
    """Σ(x − mean)² against rational arithmetic, offset 1e8 and scales 1e12 apart included."""
    (table,) = tables
    table.weights = None
    s = statistic(kind, table)
    assert isinstance(s, Moments)
    for c, label in enumerate(s.axes.groups.classes.tolist()):
        for j in range(table.X.shape[1]):
            x = [Fraction(v) for v, y in zip(table.X[:, j], table.y, strict=True)
                 if y == label and not np.isnan(v)]  # fmt: skip
            if not x:
                continue
            mean = sum(x) / len(x)
            exact = sum((v - mean) ** 2 for v in x)
            W = len(x)
            S, Q = s.arrays["sum"][c, 0, j], s.squares()[c, 0, j]
            found = Q - S * S / W
            peak = s.arrays["absorbed"][c, 0, j]
            assert abs(found - float(exact)) <= 1e-14 * max(peak, float(exact))
            about = float(mean - Fraction(float(s.arrays["pivot"][c, j])))
            assert abs(S / W - about) <= 1e-14 * np.sqrt(max(peak, 1e-300))
