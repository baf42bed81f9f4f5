"""The local engine gives the same statistic on any number of threads."""

from __future__ import annotations

import pytest
from scipy import sparse

from tests.laws.strategies import PLANS
from verosim import testing
from verosim.axes import Axes, Columns, Groups
from verosim.data import ArraySource, as_matrix, encode_labels


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads(kind, threads, rng):
    n, d = 20_000, 6
    X = rng.normal(size=(n, d)) + 1e4
    if kind == "codes":
        X = rng.integers(0, 40, (n, d))
    y = rng.choice(["a", "b", "c"], n, p=[0.98, 0.01, 0.01])
    codes, labels = encode_labels(y)
    source = ArraySource(X, codes, rng.choice([0.0, 0.5, 1.0], n), raw=kind == "codes")
    testing.same_on_any_threads(source, PLANS[kind](Axes(Groups(labels), Columns(d))), threads)


@pytest.mark.parametrize("kind", ["diagonal", "presence", "amount"])
def test_threads_on_sparse_rows(kind, rng):
    n, d = 30_000, 20
    X = sparse.random(n, d, density=0.2, format="csr", random_state=0)
    codes, labels = encode_labels(rng.integers(0, 4, n))
    source = ArraySource(as_matrix(X, sparse_allowed=True), codes)
    testing.same_on_any_threads(source, PLANS[kind](Axes(Groups(labels), Columns(d))), 3)
