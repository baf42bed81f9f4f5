"""The local engine gives the same statistic on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tests.laws.strategies import BYTES, PLANS
from verosim import testing
from verosim.axes import Axes, Columns, Groups
from verosim.data import ArraySource, Parts, as_matrix, encode_labels
from verosim.engines import summarise, use_threads
from verosim.stats import Product


def axes(labels, d):
    return Axes(Groups(labels), Columns(d))


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads(kind, threads, rng):
    n, d = 20_000, 6
    X = rng.normal(size=(n, d)) + 1e4
    if kind == "codes":
        X = rng.integers(0, 40, (n, d))
    elif kind in BYTES:
        X = rng.integers(0, 10, (n, d), dtype=np.uint8)
    y = rng.choice(["a", "b", "c"], n, p=[0.98, 0.01, 0.01])
    codes, labels = encode_labels(y)
    raw = kind in ("codes", *BYTES)
    source = ArraySource(X, codes, rng.choice([0.0, 0.5, 1.0], n), raw=raw)
    with use_threads(threads):
        testing.adds_like_one_thread(summarise, source, PLANS[kind](axes(labels, d)))


@pytest.mark.parametrize("kind", ["diagonal", "presence", "amount"])
def test_threads_on_sparse_rows(kind, rng):
    n, d = 30_000, 20
    X = sparse.random(n, d, density=0.2, format="csr", random_state=0)
    codes, labels = encode_labels(rng.integers(0, 4, n))
    source = ArraySource(as_matrix(X, sparse_allowed=True), codes)
    with use_threads(3):
        testing.adds_like_one_thread(summarise, source, PLANS[kind](axes(labels, d)))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_product_goes_the_same_road(threads, rng):
    """Numbers beside categories: a Product absorbs what its parts would absorb alone."""
    n = 20_000
    numbers = np.asfortranarray(rng.normal(size=(n, 3)))
    labels = rng.choice(np.array(["u", "v", "w"], dtype=object), (n, 2))
    codes, classes = encode_labels(rng.integers(0, 3, n))
    w = rng.choice([0.0, 0.5, 1.0], n)
    plan = Product(
        {"numbers": PLANS["full"](axes(classes, 3)), "labels": PLANS["codes"](axes(classes, 2))}
    )
    source = ArraySource(Parts(numbers=numbers, labels=labels), codes, w)
    with use_threads(threads):
        testing.adds_like_one_thread(summarise, source, plan)
        found = summarise(source, plan)
    for name, block in (("numbers", numbers), ("labels", labels)):
        alone = summarise(ArraySource(block, codes, w, raw=name == "labels"), plan.parts[name])
        testing.assert_same(found.parts[name], alone, rounding=1e-11)
