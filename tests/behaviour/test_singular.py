"""Constant and collinear columns, tiny classes: one warning, and a fallback that predicts."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits

import verosim
from tests.fuzz import oracles
from tests.fuzz.lives import Ledger, Row

FULL = [verosim.QDA, verosim.LDA]


@pytest.fixture
def collinear(rng):
    X, y = rng.normal(size=(120, 3)), np.repeat(["a", "b", "c"], 40)
    X += 2 * (y == "b")[:, None]
    return np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.full(120, 7.0)]), y


@pytest.mark.parametrize("estimator", FULL)
def test_one_warning_names_class_and_columns(estimator, collinear):
    X, y = collinear
    with pytest.warns(verosim.SingularWarning) as caught:
        model = estimator().fit(X, y)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "constant columns 'x4'" in text
    assert ("class 'a'" in text) == (estimator is verosim.QDA)
    assert any(f"'x{j}'" in text.split("dependent columns:")[1] for j in (0, 1, 3))
    assert caught[0].filename == __file__
    assert model.score(X, y) > 0.6
    with pytest.raises(verosim.VerosimError, match="singular"):
        estimator(on_singular="raise").fit(X, y)


@pytest.mark.parametrize("estimator", [*FULL, verosim.RDA, verosim.GaussianNB, verosim.NaiveLDA])
def test_units_do_not_matter(estimator, collinear):
    X, y = collinear
    settings = {"shrinkage": 0.0} if estimator is verosim.RDA else {}
    units = np.array([1e6, 1e-6, 1.0, 1e3, 1e-3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.SingularWarning)
        a = estimator(**settings).fit(X, y).predict_proba(X)
        b = estimator(**settings).fit(X * units, y).predict_proba(X * units)
    np.testing.assert_allclose(a, b, atol=1e-7)


def test_fewer_rows_than_columns(rng):
    X, y = load_digits(return_X_y=True)
    train = rng.permutation(len(y))[:300]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.SingularWarning)
        for model, least in ((verosim.QDA(), 0.85), (verosim.LDA(), 0.85)):
            assert model.fit(X[train], y[train]).score(X, y) > least


def test_a_class_of_one_row(rng):
    X, y = rng.normal(size=(41, 3)), np.repeat(["a", "b", "rare"], [20, 20, 1])
    X[40] += 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.SingularWarning)
        for model in (verosim.QDA(), verosim.LDA(), verosim.QDA(covariance="unbiased"),
                      verosim.GaussianNB(covariance="unbiased"), verosim.NaiveLDA()):  # fmt: skip
            model.fit(X, y)
            assert np.isfinite(model.predict_proba(X)).all()
            near = X[40:] + 0.1
            assert model.predict(near).tolist() == ["rare"]


def test_a_perfect_separator_decides(rng):
    """A column constant within each class and different between them is not thrown away."""
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    X[:, 1] = y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.SingularWarning)
        for model in (verosim.LDA(), verosim.QDA(), verosim.GaussianNB(), verosim.NaiveLDA()):
            assert model.fit(X, y).score(X, y) == 1.0


def test_a_constant_column_says_nothing(rng):
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    X[:, 1] = 3.0
    for model in (verosim.GaussianNB(), verosim.NaiveLDA(), verosim.HistogramNB()):
        model.fit(X, y)
        Z = X.copy()
        Z[:, 1] = 1e5
        np.testing.assert_allclose(model.predict_proba(Z), model.predict_proba(X))


def test_constant_after_forgetting(rng):
    """A column that becomes constant in a class by subtraction is as one that always was."""
    X, y = rng.normal(size=(200, 2)), np.repeat([0, 1], 100)
    X[:, 1] = rng.integers(0, 2, 200)
    X[y == 0, 1] = 0
    X[:3, 1] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.SingularWarning)
        forgotten = verosim.QDA().fit(X, y).forget(X[:3], y[:3])
        refitted = verosim.QDA().fit(X[3:], y[3:])
    np.testing.assert_allclose(forgotten.log_joint(X), refitted.log_joint(X), rtol=1e-6)


def test_nothing_varies():
    X, y = np.ones((4, 2)), [0, 0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (verosim.QDA(shrinkage="oas"), verosim.LDA(shrinkage="ledoit_wolf"),
                      verosim.RDA(), verosim.GaussianNB(shrinkage=0.5),
                      verosim.HistogramNB()):  # fmt: skip
            np.testing.assert_allclose(model.fit(X, y).predict_proba(X), 0.5)


def test_no_warning_on_healthy_data():
    X, y = load_breast_cancer(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (verosim.QDA(), verosim.LDA(), verosim.GaussianNB(), verosim.NaiveLDA()):
            model.fit(X, y).predict_proba(X)


def test_floor_is_relative_to_each_column(rng):
    """max(var, floor · total var), never added, never taken from the largest column."""
    X, y = rng.normal(size=(100, 2)) * [1.0, 1e6], rng.integers(0, 2, 100)
    plain, floored = verosim.GaussianNB(floor=0).fit(X, y), verosim.GaussianNB(floor=0.01).fit(X, y)
    np.testing.assert_allclose(plain.covariances_, floored.covariances_)
    X[y == 0, 0] = 1.0
    model = verosim.GaussianNB(floor=0.01).fit(X, y)
    assert model.covariances_[0, 0] == pytest.approx(0.01 * X[:, 0].var())
    full = verosim.QDA(floor=0.01).fit(X, y)
    assert full.covariances_[0, 0, 0] == pytest.approx(0.01 * X[:, 0].var())


@pytest.mark.parametrize("d", [5, 16, 60])
def test_as_many_rows_as_columns_is_always_seen(d):
    """n_k = d leaves rank d − 1: no seed slips through."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(2 * d, d)), np.arange(2 * d) % 2
        with pytest.raises(verosim.VerosimError, match=r"class 0 is singular.*class 1 is singular"):
            verosim.QDA(on_singular="raise").fit(X, y)
        with pytest.raises(verosim.VerosimError, match="singular"):
            verosim.LDA(on_singular="raise").fit(X[: d + 1], y[: d + 1])


def test_one_row_left_with_shrinkage(rng):
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)
    for settings in ({"shrinkage": 0.1}, {"shrinkage": "oas"}, {"shrinkage": "ledoit_wolf"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", verosim.VerosimWarning)
            left = verosim.QDA(**settings).fit(X, y).forget(X[1:20], y[1:20])
            fresh = verosim.QDA(**settings).fit(
                np.delete(X, np.s_[1:20], 0), np.delete(y, np.s_[1:20])
            )
        np.testing.assert_allclose(left.covariances_, fresh.covariances_, rtol=1e-6)


def test_a_weight_of_one_and_a_bit():
    """Degrees of freedom are not what rounding leaves above one."""
    X = np.array([[0.0], [1], [2], [3], [5], [6], [8], [9]])
    y = np.repeat([0, 1], 4)
    w = np.array([0.2, 0.4, 0.3, 0.1, 1, 1, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.SingularWarning)
        for estimator in (verosim.GaussianNB, verosim.QDA):
            model = estimator(covariance="unbiased").fit(X, y, sample_weight=w)
            assert model.covariances_.max() < 10


@pytest.mark.parametrize("covariance", ["mle", "unbiased"])
@given(seed=st.integers(0, 2**32 - 1), missing=st.booleans())
def test_one_row_has_the_pooled_variance_in_a_naive_gaussian(covariance, seed, missing):
    """S/n or S/(n − K) over all classes, and a warning with the class, as QDA gives."""
    rng = np.random.default_rng(seed)
    sizes = [*rng.integers(2, 6, rng.integers(1, 4)), 1]
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), 2)) * rng.choice([1e-6, 1.0, 1e6], 2)
    if missing:  # the first class has one value left in the first column
        X[1 : sizes[0], 0] = np.nan
    with pytest.warns(verosim.SingularWarning, match=rf"class {len(sizes) - 1} \(1 row") as caught:
        model = verosim.GaussianNB(covariance=covariance).fit(X, y)
    assert ("with values in 'x0'" in str(caught[0].message)) == missing
    found = np.asarray(model.covariances_)
    for j in range(2):
        parts = [part[~np.isnan(part)] for part in (X[y == k, j] for k in range(len(sizes)))]
        squares = sum(((part - part.mean()) ** 2).sum() for part in parts)
        n = sum(map(len, parts)) - (covariance == "unbiased") * len(parts)
        alone = squares / n if n > 0 else squares / sum(map(len, parts))
        alone = max(alone, 1e-9 * np.nanvar(X[:, j]))
        for k, part in enumerate(parts):
            wanted = part.var(ddof=covariance == "unbiased") if len(part) > 1 else alone
            assert found[k, j] == pytest.approx(max(wanted, 1e-9 * np.nanvar(X[:, j])), rel=1e-9)


@pytest.mark.parametrize("settings", [{}, {"covariance": "unbiased"}, {"shrinkage": "oas"}])
@given(seed=st.integers(0, 2**32 - 1))
def test_a_class_that_is_left_with_one_row_is_as_one_that_always_had_one(settings, seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], rng.integers(2, 5, 3))
    X = rng.normal(size=(len(y), 2))
    gone = np.flatnonzero(y == 0)[1:]
    kept = np.delete(np.arange(len(y)), gone)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.SingularWarning)
        left = verosim.GaussianNB(**settings).fit(X, y).forget(X[gone], y[gone])
        fresh = verosim.GaussianNB(**settings).fit(X[kept], y[kept])
        np.testing.assert_allclose(left.covariances_, fresh.covariances_, rtol=1e-10)
        full = verosim.GaussianNB(**settings).fit(X, y)
        scores = verosim.cross_validate(full, X, y, cv="loo").log_proba
        for i in range(len(y)):
            rest = np.delete(np.arange(len(y)), i)
            one = verosim.GaussianNB(**settings).fit(X[rest], y[rest])
            np.testing.assert_allclose(scores[i], one.predict_log_proba(X[i : i + 1])[0], rtol=1e-8)


@pytest.mark.parametrize("shrinkage", [None, "ledoit_wolf", "oas", 0.0])
def test_advice_does_not_name_the_setting_in_use(shrinkage):
    X, y = np.array([[0.0, 1], [1, 3], [5, 5], [7, 6], [9, 9]]), np.array([0, 0, 1, 1, 2])
    with pytest.raises(verosim.VerosimError, match="singular") as caught:
        verosim.QDA(shrinkage=shrinkage, on_singular="raise").fit(X, y)
    assert f'shrinkage="{shrinkage}"' not in str(caught.value)


@pytest.mark.parametrize("kind", FULL)
@given(seed=st.integers(0, 2**32 - 1), closeness=st.floats(3.0, 7.5))
def test_the_digits_in_a_warning_are_correct(kind, seed, closeness):
    """Log densities of nearly dependent columns, compared with exact arithmetic."""
    rng = np.random.default_rng(seed)
    y = np.arange(12) % 2
    X = rng.normal(size=(12, 3)) + rng.choice([0.0, 10.0])
    X[:, 2] = X[:, 0] - X[:, 1] + 10.0**-closeness * rng.normal(size=12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = kind().fit(X, y)
    stated = [re.search(r"about (\d+) correct digits", str(one.message)) for one in caught]
    assume(any(stated) and not any(one.category is verosim.SingularWarning for one in caught))
    digits = min(int(one[1]) for one in stated if one)
    ledger = Ledger()
    ledger.add([Row(tuple(x), k, 1.0) for x, k in zip(X.tolist(), y.tolist(), strict=True)])
    joint = oracles.full(oracles.Truth.of(ledger, [0, 1]), {}, 3, float(kind is verosim.LDA))
    probes = np.vstack([X[:2], X.mean(axis=0) + rng.normal(size=(2, 3))])
    scores, squares = model.log_joint(probes) - np.log(0.5), model.mahalanobis(probes) ** 2
    for cells, found, square in zip(probes.tolist(), scores, squares, strict=True):
        exact = [float(value) for value in joint(tuple(cells))[0]]
        assert (np.abs(found - exact) <= 10.0**-digits * np.maximum(1.0, square)).all()
