"""Loops that handle eight numbers at once agree with plain formulas for every shape."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from verosim import BernoulliNB, kernels
from verosim.densities.full_params import panels_of
from verosim.kernels.constants import NOT_FINITE
from verosim.kernels.row_scores import score_near_rows
from verosim.linalg import padded

SHAPES = [(1, 1, 1), (3, 7, 2), (8, 8, 8), (9, 9, 9), (17, 50, 5), (70, 23, 3), (200, 3, 17)]


def drawn(n: int, d: int, C: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n * d * C)
    X, pivot, centre = rng.normal(size=(n, d)), 9 + rng.normal(size=d), rng.normal(size=d)
    return X + 10, pivot, centre, rng.normal(size=(C, d)), rng.normal(size=C), np.empty((n, C))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "d", "C"), SHAPES)
def test_linear_scores_and_distances_to_means(n: int, d: int, C: int, dtype: type) -> None:
    X, pivot, centre, coef, bias, out = drawn(n, d, C)
    X = X.astype(dtype)
    kernels.score_linear(X, pivot, centre, coef, bias, out)
    np.testing.assert_allclose(out, (X - pivot - centre) @ coef.T + bias, rtol=1e-12, atol=1e-12)
    precision = 1 / np.exp(coef)
    score_near_rows(X, pivot, coef, precision, bias, out)
    z = X[:, None] - pivot - coef
    np.testing.assert_allclose(out, bias - 0.5 * (z * z * precision).sum(axis=2), rtol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("n", "d", "C"), SHAPES)
def test_distances_with_triangular_matrices(n: int, d: int, C: int, shared: bool) -> None:
    X, pivot, _, shift, _, out = drawn(n, d, C)
    R = np.triu(np.random.default_rng(0).normal(size=(1 if shared else C, d, d)))
    kernels.squared_distances(X, pivot, panels_of(R), shift, out)
    white = np.einsum("cij,nj->nci", np.broadcast_to(R, (C, d, d)), X - pivot)
    np.testing.assert_allclose(out, ((white - shift) ** 2).sum(axis=2), rtol=1e-11)


@pytest.mark.parametrize("order", ["C", "F"])
def test_posteriors_of_arrays_in_both_orders(order: str) -> None:
    scores = np.random.default_rng(0).normal(size=(21, 11))
    found = np.array(scores, order=order)  # type: ignore[call-overload]
    assert kernels.normalise(found, np.zeros(11), 4, np.zeros(21)) == 0
    power = np.exp(scores)
    np.testing.assert_allclose(found, power / power.sum(axis=1, keepdims=True), rtol=1e-14)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 7, 8, 18])
def test_a_score_that_is_not_finite_is_noticed(bad: float, row: int) -> None:
    for mode in range(5):
        scores = np.zeros((19, 3))
        scores[row, 2] = bad
        assert kernels.normalise(scores, np.zeros(3), mode, np.zeros(19)) & NOT_FINITE


@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
@pytest.mark.parametrize(("n", "d", "C"), SHAPES)
def test_counts_and_scores_of_small_integers(n: int, d: int, C: int, dtype: type) -> None:
    rng = np.random.default_rng(n)
    X, groups = rng.integers(2, 9, (n, d)).astype(dtype), rng.integers(0, C, n).astype(np.int32)
    low, offset = np.full(d, 2), np.arange(d + 1) * 7
    rows, tally = np.zeros(C, np.int64), np.zeros((C, 7 * d), np.int32)
    assert kernels.tally_integers(X, low, offset, groups, 0, rows, tally) == n
    np.testing.assert_array_equal(rows, np.bincount(groups, minlength=C))
    expected = np.zeros_like(tally)
    np.add.at(expected, (groups[:, None], X + offset[:-1] - 2), 1)
    np.testing.assert_array_equal(tally, expected)
    X[n // 2, d // 2], X[-1, 0] = 99, 0  # both are outside the slots
    first = min(n // 2, n - 1)
    assert kernels.tally_integers(X, low, offset, groups, 0, rows, tally) == first
    np.add.at(expected, (groups[:first, None], X[:first] + offset[:-1] - 2), 1)
    np.testing.assert_array_equal(tally, expected)
    table = np.zeros((8 * d, -(-C // 8) * 8))
    table[:, :C] = rng.normal(size=(8 * d, C))
    out = np.empty((n, C))
    kernels.score_integers(X, low, offset, table.reshape(-1), out)
    inside = (X >= 2) & (X < 9)
    at = np.where(inside, X.astype(np.int64) + offset[:-1] - 2, 7 * d + np.arange(d))
    np.testing.assert_allclose(out, table[at, :C].sum(axis=1), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32])
@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize(("n", "d", "C"), SHAPES)
def test_scores_of_sparse_rows(n: int, d: int, C: int, presence: bool, dtype: type) -> None:
    rng = np.random.default_rng(n)
    X = np.where(rng.random((n, d)) < 0.6, rng.integers(0, 4, (n, d)), 0).astype(dtype)
    X[0] = 0  # a row without stored cells
    table, base, out = rng.normal(size=(d, C)), rng.normal(size=C), np.empty((n, C))
    rows = sparse.csr_array(X)
    given = rows.data, rows.indices, rows.indptr, presence, 1.0
    kernels.score_sparse(*given, padded(table), np.zeros((d, C)), base, out)
    amounts = X > 1 if presence else X
    np.testing.assert_allclose(out, base + amounts @ table, rtol=1e-12, atol=1e-12)


def test_more_rows_than_a_small_counter_can_count() -> None:
    n = 4 * 65536 + 5
    X = np.ones((n, 2))
    X[::3, 1] = 0
    y = np.arange(n) % 5 == 0
    model = BernoulliNB().fit(sparse.csr_array(X), y)
    expected = np.array([X[~y].sum(axis=0), X[y].sum(axis=0)])
    np.testing.assert_array_equal(model.feature_count_, expected)
