"""Units, row order, forgetting and folds of Gaussian models with classes of one row or more.

The law and its condition are in `tests/fuzz/units.py`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import verosim
from tests.fuzz.units import ALLOWED, check_units, condition, fitted, table

FULL = (verosim.LDA, verosim.QDA, verosim.RDA)
DIAGONAL = (verosim.GaussianNB, verosim.NaiveLDA)
WITHOUT_TARGET: list[dict[str, Any]] = [{}, {"covariance": "unbiased"}, {"floor": 0.01}]
WITH_TARGET: list[dict[str, Any]] = [
    {"shrinkage": "ledoit_wolf"}, {"shrinkage": "oas"}, {"shrinkage": 0.1},
    {"shrinkage": "ledoit_wolf", "covariance": "unbiased"},
]  # fmt: skip
MODELS: dict[str, tuple[Any, bool]] = {}  # by name: the model, and whether columns may have units
for kind in (*DIAGONAL, *FULL):
    for given_ in (*WITHOUT_TARGET, *WITH_TARGET):
        settings = {"shrinkage": 0.0, **given_} if kind is verosim.RDA else given_
        model = kind(**settings)
        MODELS[repr(model)] = model, given_ not in WITH_TARGET
for settings in ({"pooling": "auto"}, {"pooling": 0.1}):
    MODELS[f"RDA {settings}"] = verosim.RDA(shrinkage=0.0, **settings), True


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 2**32 - 1))
def test_units_and_row_order_do_not_matter(name, seed):
    model, by_column = MODELS[name]
    check_units(lambda: clone(model), by_column, seed, most=5)


@pytest.mark.slow
@pytest.mark.parametrize("model", [verosim.GaussianNB, verosim.LDA])
@given(seed=st.integers(0, 2**32 - 1))
def test_units_and_row_order_do_not_matter_to_a_robust_fit(model, seed):
    check_units(lambda: model(robust=True), True, seed, 6, 30)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"shrinkage": "ledoit_wolf"}, {"of": "total"}])
@given(seed=st.integers(0, 2**32 - 1))
def test_whitened_distances_do_not_depend_on_units(settings, seed):
    X, y = table(seed, 2, 5)
    rng = np.random.default_rng(seed + 1)
    units = [0.1, 10.0 ** rng.uniform(-30, 30)]
    if "shrinkage" not in settings:
        units.append(10.0 ** rng.uniform(-30, 30, X.shape[1]))

    def distances(rows: np.ndarray) -> tuple[np.ndarray, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", verosim.VerosimWarning)
            white = verosim.Whiten(**settings).fit(rows, y)
        Z, matrix = white.transform(rows), white.covariance_
        deviation = np.sqrt(matrix.diagonal())
        used = deviation > 0
        away = (np.abs(rows).max(axis=0)[used] / deviation[used]).max(initial=1.0)
        correlation = (matrix / deviation[:, None] / deviation)[np.ix_(used, used)]
        grows = np.linalg.cond(correlation) * away if used.any() else 1.0
        return ((Z[:, None] - Z) ** 2).sum(axis=-1), float(grows)

    wanted, grows = distances(X)
    allowed = ALLOWED * grows * max(1.0, wanted.max())
    for unit in units:
        np.testing.assert_allclose(distances(X * unit)[0], wanted, rtol=0, atol=allowed)


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["shared", "own"])
@pytest.mark.parametrize("target", ["diagonal", "sphere"])
@given(seed=st.integers(0, 2**32 - 1))
def test_units_and_row_order_do_not_matter_to_mixtures(covariance, target, seed):
    """EM stops at a tolerance, and its starts must not depend on units either."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], rng.integers(10, 30, 2)))
    X = rng.normal(size=(len(y), 2)) + 3.0 * y[:, None] * rng.integers(0, 3, len(y))[:, None]
    probes, order = X[:4] + rng.normal(size=(4, 2)), rng.permutation(len(y))
    model = verosim.MDA(
        components=2, covariance=covariance, regularisation=0.1, target=target, restarts=1
    )
    wanted = fitted(lambda: clone(model), X, y).predict_proba(probes)
    units = [0.1, 10.0 ** rng.uniform(-30, 30)]
    if target == "diagonal":
        units.append(10.0 ** rng.uniform(-30, 30, 2))
    for rows, labels, unit in [(X[order], y[order], 1.0), *((X * unit, y, unit) for unit in units)]:
        found = fitted(lambda: clone(model), rows, labels).predict_proba(probes * unit)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["shared", "own"])
@pytest.mark.parametrize("target", ["diagonal", "sphere"])
@given(seed=st.integers(0, 2**32 - 1))
def test_rounding_does_not_remove_all_components_of_a_class(covariance, target, seed):
    X, y = table(seed, 1, 8)
    unit = np.random.default_rng([seed, 4]).choice([1.0, 0.1, 3.0])
    model = verosim.MDA(
        components=2, covariance=covariance, regularisation=0.01, target=target, restarts=1
    )
    found = fitted(lambda: clone(model), X * unit, y)
    assert (found.n_components_ >= 1).all()
    np.testing.assert_allclose(found.predict_proba(X * unit).sum(axis=1), 1.0)


# Forgetting and folds ---------------------------------------------------------------------------

ESTIMATED = [
    (kind, shrinkage)
    for kind in (verosim.GaussianNB, *FULL)
    for shrinkage in ("ledoit_wolf", "oas")
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "shrinkage"), ESTIMATED)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_class_that_becomes_tiny_by_forgetting_is_as_one_that_always_was(kind, shrinkage, seed):
    X, y = table(seed, 1, 5)
    rng = np.random.default_rng([seed, 2])
    more = rng.integers(0, y.max() + 1, 6)
    Z = X[rng.integers(0, len(X), 6)] + rng.normal(size=(6, X.shape[1]))
    model = kind(shrinkage=shrinkage)
    probes = np.vstack([X[:2], X.mean(axis=0) + rng.normal(size=(2, X.shape[1]))])
    fresh = fitted(lambda: clone(model), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.VerosimWarning)
        model.fit(np.vstack([X, Z]), np.r_[y, more]).forget(Z, more)
    found = model.predict_log_proba(probes)
    # The rounding errors are those of the rows that were there.
    spread = np.ptp(np.vstack([X, Z]), axis=0) ** 2
    variance = np.maximum(np.asarray([X[y == k].var(axis=0) for k in set(y.tolist())]), 0.0)
    lost = max(1.0, (spread / np.where(variance > 0, variance, np.inf)).max())
    allowed = ALLOWED * condition(fresh, X, probes) * lost
    np.testing.assert_allclose(np.exp(found), fresh.predict_proba(probes), rtol=0, atol=allowed)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "shrinkage"), ESTIMATED)
@pytest.mark.parametrize("cv", [3, "loo"])
@given(seed=st.integers(0, 2**32 - 1))
def test_held_out_scores_do_not_depend_on_units(kind, shrinkage, cv, seed):
    X, y = table(seed, 3, 6)
    model = kind(shrinkage=shrinkage)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.VerosimWarning)
        wanted, found = (
            verosim.cross_validate(model, X * unit, y, cv=cv, scoring="neg_log_loss")
            for unit in (1.0, 0.1)
        )
    # The condition of a fold is not known here; only rows of ordinary size are compared.
    a, b = (np.ravel(one.scores["neg_log_loss"]) for one in (wanted, found))
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


# Weights ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_row_of_weight_3_is_three_equal_rows(name, seed):
    """Also in a class of one row, and in a class in which all rows are equal."""
    model, _ = MODELS[name]
    X, y = table(seed, 1, 3)
    rng = np.random.default_rng([seed, 3])
    if rng.random() < 0.5:
        X[y == 0] = X[0]
    weights = rng.integers(1, 4, len(y))
    probes = np.vstack([X[:2], X.mean(axis=0) + rng.normal(size=(2, X.shape[1]))])
    copies = fitted(lambda: clone(model), np.repeat(X, weights, axis=0), np.repeat(y, weights))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.VerosimWarning)
        found = clone(model).fit(X, y, weights).predict_proba(probes)
    allowed = ALLOWED * condition(copies, X, probes)
    np.testing.assert_allclose(found, copies.predict_proba(probes), rtol=0, atol=allowed)
