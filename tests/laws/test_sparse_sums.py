"""Sparse sums give the numbers of the dense array that they stand for."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verosim.stats.sparse_sums import LEAST_LOG_ENTRIES, SparseSums

SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 5))


@st.composite
def dense(draw, count: int = 1):
    shape = draw(SHAPES)
    cell = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.5, -1.0])
    size = int(np.prod(shape))
    arrays = [
        np.array(draw(st.lists(cell, min_size=size, max_size=size))).reshape(shape)
        for _ in range(count)
    ]
    return arrays if count > 1 else arrays[0]


@given(dense(2), st.sampled_from([0.5, 3.0]))
def test_algebra(pair, factor):
    a, b = pair
    x, y = SparseSums.of(a), SparseSums.of(b)
    total = x.copy()
    total += y
    total *= factor
    np.testing.assert_array_equal(np.asarray(total), (a + b) * factor)
    total -= x
    np.testing.assert_array_equal(np.asarray(total), (a + b) * factor - a)
    np.testing.assert_array_equal(np.asarray(x), a)  # a copy does not change the first


@given(dense())
def test_parts(a):
    x = SparseSums.of(a)
    for axis in (None, 0, (0, 1), 1):
        np.testing.assert_allclose(x.sum(axis=axis), a.sum(axis=axis))
    for axis in range(3):
        at = np.arange(a.shape[axis])[::-1]
        np.testing.assert_array_equal(np.asarray(x.take(at, axis)), a.take(at, axis))
    np.testing.assert_array_equal(x[:, a.shape[1] - 1], a[:, -1])
    np.testing.assert_array_equal(x[0, 0], a[0, 0])
    np.testing.assert_array_equal(np.stack(x.negative()), np.stack(np.nonzero(a < 0)))
    np.testing.assert_array_equal(x[x.negative()], a[a < 0])
    np.testing.assert_array_equal(x.largest(), np.abs(a).max(axis=2, initial=0))
    assert x.size == np.count_nonzero(a)
    assert x.any() == a.any()


@given(dense())
def test_same_sums_have_the_same_bytes(a):
    x = SparseSums.of(a)
    other = SparseSums.zeros(a.shape)
    other -= x
    other += x
    other += x  # stored in another order, with zeros
    assert other.tobytes() == x.tobytes() == pickle.loads(pickle.dumps(x)).tobytes()
    again = SparseSums.from_state(a.shape, x.state())
    assert again is not None
    assert again.tobytes() == x.tobytes()
    assert SparseSums.from_state((a.shape[0] + 1, *a.shape[1:]), x.state()) is None


@given(dense(), st.data())
def test_setting_to_zero(a, data):
    groups = np.array(data.draw(st.lists(st.booleans(), min_size=a[..., 0:1].size or 1)))
    groups = np.resize(groups, a.shape[:2])
    codes = np.resize(groups, a.shape[1:])
    for key in (groups, (slice(None), codes)):
        x, expected = SparseSums.of(a), a.copy()
        x[key] = 0.0
        expected[key] = 0.0
        np.testing.assert_array_equal(np.asarray(x), expected)


def test_rows_go_through_the_log():
    """The log is added when it is full and when the sums are read; both give the same sums."""
    rng = np.random.default_rng(0)
    C, F, K, n = 3, 2, 50, 400
    codes, ends = rng.integers(0, K, 2_000).astype(np.int32), np.arange(5, 2_001, 5)
    groups, weights = rng.integers(0, C * F, n), rng.integers(1, 4, n).astype(float)
    expected = np.zeros((C * F, K))
    np.add.at(expected, (np.repeat(groups, 5), codes), np.repeat(weights, 5))
    for step in (n, 7):
        sums = SparseSums.zeros((C, F, 0))
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            log = sums.open_log(weighed=False, least=LEAST_LOG_ENTRIES - 1_000)
            used = ends[part] - 5 * start
            log.codes[log.used : log.used + used[-1]] = codes[5 * start : 5 * start + used[-1]]
            log.append(log.used + used, groups[part], weights[part])
            sums.widen(K)
        np.testing.assert_array_equal(np.asarray(sums).reshape(C * F, K), expected)


@given(dense(2))
def test_places_of_other_sums(pair):
    a, b = pair
    x, y = SparseSums.of(a), SparseSums.of(b)
    np.testing.assert_array_equal(x.at_places_of(y), a[b != 0])
    np.testing.assert_array_equal(x.at_places_of(x.copy()), a[a != 0])
    _, sums = y.stored()
    y.drop(sums < 2)
    np.testing.assert_array_equal(np.asarray(y), np.where(b < 2, 0.0, b))
