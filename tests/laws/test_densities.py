"""The laws of densities, on the densities the library ships."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.strategies import PLANS
from verosim import densities, testing

DENSITIES = {
    "GaussianNB": (densities.DiagonalGaussian(), "diagonal"),
    "NaiveLDA": (densities.DiagonalGaussian(shared=True, covariance="unbiased"), "diagonal"),
    "QDA": (densities.FullGaussian(), "full"),
    "LDA": (densities.FullGaussian(pooling=1.0), "full"),
    "RDA": (densities.FullGaussian(pooling=0.3, shrinkage=0.2), "full"),
    "Categorical": (densities.Categorical(0.5), "codes"),
    "Histogram": (densities.Histogram(1.0), "bins"),
    "JointHistogram": (densities.JointHistogramDensity(1.0), "cells"),
    "Bernoulli": (densities.Bernoulli(1.0), "presence"),
    "Multinomial": (densities.Multinomial(1.0), "amount"),
    "Complement": (densities.Complement(1.0), "amount"),
    "Poisson": (densities.Poisson(1.0), "counts"),
}


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
    statistic = testing.statistic_of(X, y, plan=PLANS[kind], raw=kind == "codes")
    testing.reads_only(density, statistic)
    if name != "Poisson":  # whose likelihood has Σ log x!, which is no sum that is kept
        testing.agrees_with_its_statistic(density, statistic, X, y)
    testing.adds_up_by_column(density, statistic, X)
    testing.ratio_is_density(density, statistic, X)
