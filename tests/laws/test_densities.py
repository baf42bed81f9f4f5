"""The laws of densities, on the densities the library ships."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.strategies import BYTES, PLANS
from verosim import densities, testing

DENSITIES = {
    "GaussianNB": (densities.DiagonalGaussian(), "diagonal"),
    "NaiveLDA": (densities.DiagonalGaussian(shared=True, covariance="unbiased"), "diagonal"),
    "QDA": (densities.FullGaussian(), "full"),
    "LDA": (densities.FullGaussian(pooling=1.0), "full"),
    "RDA": (densities.FullGaussian(pooling=0.3, shrinkage=0.2), "full"),
    "RDA, auto": (densities.FullGaussian(pooling="auto", shrinkage=0.2), "full"),
    "Categorical": (densities.Categorical(0.5), "codes"),
    "Histogram": (densities.Histogram(1.0), "bins"),
    "JointHistogram": (densities.JointHistogramDensity(1.0), "cells"),
    "Bernoulli": (densities.Bernoulli(1.0), "presence"),
    "Multinomial": (densities.Multinomial(1.0), "amount"),
    "Complement": (densities.Complement(1.0), "amount"),
    "Poisson": (densities.Poisson(1.0), "counts"),
    "OneDependence": (densities.OneDependence(), "pairs"),
    "UniformOneDependence": (densities.OneDependence(weighted=False), "pairs"),
    "BackedOffContexts": (densities.ContextDensity(m=20.0), "contexts"),
    "PlainChains": (densities.ContextDensity(m=0.0), "chains"),
    "LaplaceChains": (densities.ContextDensity("laplace", alpha=0.5), "chains"),
}
NO_LIKELIHOOD = ("Poisson", "OneDependence", "UniformOneDependence")  # not from their sums


@pytest.mark.parametrize("name", DENSITIES)
@given(seed=st.integers(0, 10_000), offset=st.sampled_from([0.0, 1e6]))
def test_laws(name, seed, offset):
    density, kind = DENSITIES[name]
    rng = np.random.default_rng(seed)
    n, d = 60, 3
    y = rng.choice(["a", "b", "c"], n)
    X, mixing, means = (rng.normal(size=(rows, d)) for rows in (n, d, 3))
    # A covariance of condition 1e8 leaves 8 of 16 digits, which is what the laws ask for.
    assume(np.linalg.cond(mixing) < 1e4)
    X = X @ mixing + means[np.unique(y, return_inverse=True)[1]]
    if kind in ("diagonal", "full"):
        X = X + offset
    elif kind == "codes":
        X = np.round(X)
    elif kind in ("amount", "counts"):
        X = np.abs(np.round(3 * X))
    elif kind in BYTES:
        X = np.clip(np.round(2 * X + 4), 0, 9).astype(np.uint8)
    statistic = testing.statistic_of(X, y, plan=PLANS[kind], raw=kind in ("codes", *BYTES))
    testing.reads_only(density, statistic)
    if name not in NO_LIKELIHOOD:
        testing.agrees_with_its_statistic(density, statistic, X, y)
    testing.adds_up_by_column(density, statistic, X)
    testing.ratio_is_density(density, statistic, X)
    testing.columns_stand_alone(density, statistic, X)
    if name != "JointHistogram" and kind not in BYTES:  # their features would be their cells
        testing.features_are_linear(density, statistic, X)
    testing.leaves_one_out(density, statistic, X[:5], y[:5])


def test_which_densities_are_additive():
    """Independent columns, each by its own sums: shrinking goes towards a mean of all columns."""
    found = {name for name, (density, _) in DENSITIES.items() if density.is_additive}
    assert found == {"GaussianNB", "NaiveLDA", "Categorical", "Histogram", "Bernoulli", "Poisson"}
    shrunk = densities.DiagonalGaussian(shrinkage=0.5)
    assert shrunk.has_independent_columns
    assert not shrunk.is_additive
    parts = {"a": densities.Poisson(), "text": densities.Multinomial()}
    assert densities.ProductDensity(parts).is_additive
    assert not densities.ProductDensity({**parts, "b": shrunk}).is_additive


def test_work_that_is_shared_changes_nothing():
    """Several settings, and families, from one statistic: in the order asked for."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(90, 4)) @ rng.normal(size=(4, 4)), np.arange(90) % 3
    statistic = testing.statistic_of(X, y, plan=PLANS["full"])
    some = [
        densities.FullGaussian(pooling=1.0, shrinkage=0.3),
        densities.EMGaussian(densities.FullGaussian(pooling=1.0)),
        densities.FullGaussian(pooling=0.0),
        densities.FullGaussian(pooling=0.5, shrinkage="oas"),
    ]
    for density, params in zip(some, densities.estimate_all(some, statistic), strict=True):
        alone = density.estimate(statistic)
        assert type(params) is type(alone)
        np.testing.assert_allclose(params.log_density(X), alone.log_density(X), rtol=1e-10)


# Marginals of Gaussians -------------------------------------------------------------------------

GAUSSIANS = {name: DENSITIES[name] for name in ("GaussianNB", "NaiveLDA", "QDA", "LDA")}


@pytest.mark.filterwarnings("ignore:constant columns")
@pytest.mark.parametrize("columns", [[0], [2, 0], [1, 3]])
@pytest.mark.parametrize("name", GAUSSIANS)
def test_a_marginal_is_the_density_of_those_columns(name, columns):
    """p(x_S | k), the others integrated out, is what the narrowed statistic gives."""
    density, kind = GAUSSIANS[name]
    rng = np.random.default_rng(5)
    X, y = 1e6 + rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4)), np.arange(80) % 3
    X[:, 3] = 1.0  # constant
    statistic = testing.statistic_of(X, y, plan=PLANS[kind])
    at, rows = np.array(columns), np.ascontiguousarray(X[:, columns])
    ours = density.estimate(statistic).marginal(at)
    alone = density.estimate(statistic.narrowed(at))
    assert ours.n_parameters == alone.n_parameters
    for score in ("log_density", "log_ratio", "mahalanobis"):
        found, wanted = (getattr(params, score)(rows) for params in (ours, alone))
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.covariances(), alone.covariances(), rtol=1e-10)


@pytest.mark.parametrize(
    ("density", "kind"),
    [
        (densities.FullGaussian(pooling=0.4, shrinkage=0.3), "full"),
        (densities.EMGaussian(), "patterns"),
        (densities.DiagonalGaussian(shrinkage=0.4), "diagonal"),
    ],
)
def test_a_marginal_integrates_the_other_columns_out(density, kind):
    """∫ p(x₁, x₂ | k) dx₂ by a sum over a fine grid, where settings tie the columns together."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(60, 2)) @ np.array([[1.0, 0.6], [0.0, 0.5]]), np.arange(60) % 2
    if kind == "patterns":
        X[::7, 1] = np.nan
    params = density.estimate(testing.statistic_of(X, y, plan=PLANS[kind]))
    grid = np.linspace(-15, 15, 6001)
    at = np.array([-1.3, 0.0, 0.4, 2.0])
    rows = np.stack(np.meshgrid(at, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.exp(params.log_density(rows)).reshape(len(at), len(grid), -1)
    wanted = np.log(mass.sum(axis=1) * (grid[1] - grid[0]))
    found = params.marginal(np.array([0])).log_density(at[:, None])
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
