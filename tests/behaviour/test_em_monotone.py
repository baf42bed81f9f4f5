"""No iteration of EM lowers the likelihood by more than rounding errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import verosim
from verosim import testing
from verosim.densities import EMGaussian, FullGaussian
from verosim.densities.observed import Observed
from verosim.errors import ConvergenceWarning, PrecisionWarning, SingularWarning
from verosim.stats import Patterns

ROUNDING = 2e-12  # of the log-likelihood; 1e-12 is what EM accepts


@st.composite
def nearly_singular(draw):
    """Rows with a column that is nearly the copy of another, tiny classes and many holes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(12, 120)), draw(st.integers(2, 6))
    apart = 10.0 ** -draw(st.integers(0, 8))
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[:, -1] = X[:, 0] + apart * rng.normal(size=n)
    X += draw(st.sampled_from([0.0, 1e3]))
    y = np.arange(n) % draw(st.integers(1, 3))
    if draw(st.booleans()):
        y[: draw(st.integers(1, 5))] = 3  # a tiny class
    X[rng.random(X.shape) < draw(st.sampled_from([0.02, 0.1, 0.3, 0.6]))] = np.nan
    X[-1, 0] = 1.0  # a row with a missing cell, and one with a value
    X[0, 1] = np.nan
    return X, y


@given(nearly_singular(), st.sampled_from([verosim.LDA, verosim.QDA]))
def test_the_likelihood_never_falls_or_a_warning_says_why(rows, estimator):
    X, y = rows
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator(missing="marginalise").fit(X, y)
    kinds = [one.category for one in caught]
    for kind in (ConvergenceWarning, PrecisionWarning, SingularWarning):
        assert kinds.count(kind) <= 1
    shown = model.convergence_
    assert np.isfinite(shown.log_likelihood).all()
    assert shown.converged or ConvergenceWarning in kinds
    if shown.regularised:  # a singular covariance is shrunk, so EM maximises something else
        assert SingularWarning in kinds
        return
    size = np.maximum(np.abs(shown.log_likelihood), len(y))
    best = np.maximum.accumulate(shown.log_likelihood)
    assert (shown.log_likelihood >= best - ROUNDING * size).all()


def test_the_course_of_regularised_em_says_so():
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    plain = verosim.LDA(missing="marginalise").fit(X, y).convergence_
    shrunk = verosim.LDA(missing="marginalise", shrinkage=0.2).fit(X, y).convergence_
    assert not plain.regularised
    assert shrunk.regularised
    assert "can lower the likelihood" in repr(shrunk)
    assert "can lower the likelihood" not in repr(plain)


@pytest.mark.parametrize("settings", [
    {}, {"pooling": 1.0}, {"pooling": 0.3}, {"pooling": "auto"}, {"shrinkage": 0.1},
    {"shrinkage": "oas"}, {"shrinkage": "ledoit_wolf"}, {"floor": 0.2},
    {"pooling": 0.5, "shrinkage": "oas"}, {"pooling": 1.0, "shrinkage": "ledoit_wolf"},
])  # fmt: skip
@pytest.mark.parametrize("few", [False, True])
def test_the_estimate_is_a_fixed_point_of_the_formulas_for_complete_rows(settings, few, rng):
    """The compiled M step and `FullGaussian.solve` agree at the end of EM, to the tolerance."""
    X, y = load_iris(return_X_y=True)
    X *= [1.0, 100.0, 0.01, 5.0]
    X[rng.random(X.shape) < 0.15] = np.nan
    if few:  # the covariance of a class with three rows is singular
        kept = np.r_[0:3, 50:150]
        X, y = X[kept], y[kept]
    gaussian = FullGaussian(missing="marginalise", **settings)
    statistic = testing.statistic_of(X, y, plan=Patterns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularWarning)
        params = EMGaussian(gaussian).estimate(statistic)
    observed = Observed(statistic)
    mean, covariance = observed.place(params)
    _, first, second = observed.expect(mean, covariance)
    maximum = settings in ({}, {"pooling": 1.0})  # of the likelihood: a singular one is shrunk
    trouble = observed.hopeless(gaussian.pooling == 1) if maximum else {}
    again = observed.place(gaussian.solve(observed.completed(mean, first, second), trouble))
    deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    np.testing.assert_allclose(again[0] / deviation, mean / deviation, atol=1e-8)
    shape = deviation[:, :, None] * deviation[:, None, :]
    np.testing.assert_allclose(again[1] / shape, covariance / shape, atol=1e-8)


@pytest.mark.parametrize("covariance", ["shared", "own"])
@pytest.mark.parametrize("regularisation", [0.0, 0.1])
def test_mixtures_never_lower_their_objective(covariance, regularisation, rng):
    """Nearly singular components, and components that lose all their rows."""
    for seed in range(3):
        draws = np.random.default_rng(seed)
        X = draws.normal(size=(60, 3))
        X[:, 2] = X[:, 0] + 1e-5 * draws.normal(size=60)
        y = np.arange(60) % 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = verosim.MDA(
                components=5, covariance=covariance, regularisation=regularisation, max_iter=100,
                tol=0.0, random_state=seed,
            ).fit(X, y)  # fmt: skip
        likelihood = model.convergence_.log_likelihood
        best = np.maximum.accumulate(likelihood)
        assert (likelihood >= best - ROUNDING * np.maximum(np.abs(likelihood), len(y))).all()
