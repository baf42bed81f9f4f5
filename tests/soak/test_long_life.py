"""A model's long life: thousands of arrivals and departures, and still the model of who is left."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import verosim

MODELS = [
    verosim.GaussianNB(), verosim.NaiveLDA(), verosim.LDA(), verosim.QDA(shrinkage=0.1),
    verosim.CategoricalNB(), verosim.BernoulliNB(), verosim.MultinomialNB(),
]  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_arrivals_and_departures(model, offset):
    rng = np.random.default_rng(0)
    n = 20_000
    y = rng.choice(["a", "b", "c"], n)
    X = rng.normal(size=(n, 4)) + 2.0 * (y == "b")[:, None] + offset
    if isinstance(model, verosim.CategoricalNB | verosim.BernoulliNB | verosim.MultinomialNB):
        X = np.abs(np.round(X - offset))
    model = copy.deepcopy(model)
    here: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.SingularWarning)
        for step in range(4000):
            if len(here) < 50 or rng.random() < 0.5:
                rows = rng.integers(0, n, rng.integers(1, 30))
                model.partial_fit(X[rows], y[rows])
                here += rows.tolist()
            else:
                gone = rng.choice(len(here), rng.integers(1, 30), replace=False)
                rows = np.array([here[i] for i in gone])
                model.forget(X[rows], y[rows])
                kept = np.ones(len(here), dtype=bool)
                kept[gone] = False
                here = [row for row, stays in zip(here, kept, strict=True) if stays]
            if step % 500 == 499:
                again = copy.deepcopy(model).fit(X[here], y[here])
                np.testing.assert_allclose(
                    model.predict_proba(X[:500]), again.predict_proba(X[:500]), atol=1e-8
                )
