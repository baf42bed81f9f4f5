"""Densities equal scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_iris, load_wine

import verosim


@pytest.fixture(params=[load_iris, load_wine], ids=["iris", "wine"])
def table(request):
    return request.param(return_X_y=True)


@pytest.mark.parametrize("covariance", ["mle", "unbiased"])
def test_qda_is_a_multivariate_normal_per_class(table, covariance):
    X, y = table
    model = verosim.QDA(covariance=covariance).fit(X, y)
    joint = np.column_stack([
        np.log((y == k).mean()) + multivariate_normal(
            X[y == k].mean(axis=0), np.cov(X[y == k].T, bias=covariance == "mle")
        ).logpdf(X)
        for k in model.classes_
    ])  # fmt: skip
    np.testing.assert_allclose(model.log_joint(X), joint, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.log_density(X), logsumexp(joint, axis=1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("covariance", ["mle", "unbiased"])
def test_lda_shares_one_covariance(table, covariance):
    X, y = table
    model = verosim.LDA(covariance=covariance).fit(X, y)
    k = len(model.classes_)
    within = X - np.array([X[y == c].mean(axis=0) for c in y])
    sigma = within.T @ within / (len(y) - (k if covariance == "unbiased" else 0))
    np.testing.assert_allclose(model.covariances_, sigma, rtol=1e-10)
    joint = np.column_stack([
        np.log((y == c).mean()) + multivariate_normal(X[y == c].mean(axis=0), sigma).logpdf(X)
        for c in model.classes_
    ])  # fmt: skip
    np.testing.assert_allclose(model.log_joint(X), joint, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.log_density(X), logsumexp(joint, axis=1), rtol=1e-9, atol=1e-9)


def test_naive_gaussians(table):
    X, y = table
    model = verosim.GaussianNB().fit(X, y)
    joint = np.column_stack([
        np.log((y == c).mean())
        + norm(X[y == c].mean(axis=0), X[y == c].std(axis=0)).logpdf(X).sum(axis=1)
        for c in model.classes_
    ])  # fmt: skip
    np.testing.assert_allclose(model.log_joint(X), joint, rtol=1e-10)
    shared = verosim.NaiveLDA().fit(X, y)
    within = X - np.array([X[y == c].mean(axis=0) for c in y])
    joint = np.column_stack([
        np.log((y == c).mean())
        + norm(X[y == c].mean(axis=0), within.std(axis=0)).logpdf(X).sum(axis=1)
        for c in shared.classes_
    ])  # fmt: skip
    np.testing.assert_allclose(shared.log_joint(X), joint, rtol=1e-10)
    linear = X @ shared.coef_.T + shared.intercept_
    np.testing.assert_allclose(linear, shared.decision_function(X), rtol=1e-8, atol=1e-8)


def test_friedman_square(table):
    """The corners are QDA, LDA and the nearest mean; between them Friedman's formula holds."""
    X, y = table
    qda, lda = verosim.QDA().fit(X, y), verosim.LDA().fit(X, y)
    rda = verosim.RDA(pooling=0.0, shrinkage=0.0).fit(X, y)
    np.testing.assert_allclose(rda.predict_proba(X), qda.predict_proba(X), atol=1e-12)
    rda.set_params(pooling=1.0)
    np.testing.assert_allclose(rda.predict_proba(X), lda.predict_proba(X), atol=1e-12)
    rda.set_params(shrinkage=1.0, priors="uniform")
    nearest = ((X[:, None] - rda.means_) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(rda.predict(X), nearest)
    rda.set_params(pooling=0.3, shrinkage=0.2)
    scatter = {k: np.cov(X[y == k].T, bias=True) * (y == k).sum() for k in rda.classes_}
    total = sum(scatter.values())
    for c, k in enumerate(rda.classes_):
        sigma = (0.7 * scatter[k] + 0.3 * total) / (0.7 * (y == k).sum() + 0.3 * len(y))
        sigma = 0.8 * sigma + 0.2 * np.trace(sigma) / len(sigma) * np.eye(len(sigma))
        np.testing.assert_allclose(rda.covariances_[c], sigma, rtol=1e-10)


def test_mahalanobis(table):
    X, y = table
    model = verosim.QDA().fit(X, y)
    for c, k in enumerate(model.classes_):
        z = X - X[y == k].mean(axis=0)
        inverse = np.linalg.inv(np.cov(X[y == k].T, bias=True))
        distance = np.sqrt(np.einsum("ij,jk,ik->i", z, inverse, z))
        np.testing.assert_allclose(model.mahalanobis(X)[:, c], distance, rtol=1e-8)
