"""Posteriors equal scikit-learn's at the same settings, to 1e-10."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import covariance, naive_bayes
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import verosim

TABLES = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}


def close(ours, theirs, X, tolerance=1e-10):
    assert np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).max() <= tolerance
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def peer_qda(**settings):
    """Without a smaller tol the peer refuses breast cancer as rank deficient."""
    return QuadraticDiscriminantAnalysis(tol=1e-12, **settings)


@pytest.fixture(params=TABLES)
def table(request):
    return TABLES[request.param](return_X_y=True)


def test_gaussian_nb(table):
    X, y = table
    close(verosim.GaussianNB().fit(X, y), naive_bayes.GaussianNB(var_smoothing=0).fit(X, y), X)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_lda(table, solver):
    X, y = table
    ours, theirs = verosim.LDA().fit(X, y), LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    # The peer's own solvers agree with each other to about 1e-9 on breast cancer.
    close(ours, theirs, X, 1e-10 if solver == "svd" else 1e-8)


def test_lda_weights_and_decision(table):
    X, y = table
    ours, theirs = verosim.LDA().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-8, atol=1e-8
    )
    assert ours.decision_function(X).shape == theirs.decision_function(X).shape


def test_lda_transform(table):
    X, y = table
    a, b = verosim.LDA().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(np.abs(a.transform(X)), np.abs(b.transform(X)), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(a.explained_variance_ratio_, b.explained_variance_ratio_, rtol=1e-8)
    assert a.get_feature_names_out()[0] == "lda0"


@pytest.mark.parametrize("shrinkage", [0.0, 0.2, 1.0])
def test_lda_shrinkage(table, shrinkage):
    X, y = table
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    close(verosim.LDA(shrinkage=shrinkage).fit(X, y), theirs, X, 1e-8)


def test_qda(table):
    X, y = table
    close(verosim.QDA().fit(X, y), peer_qda().fit(X, y), X)


def test_priors(table):
    X, y = table
    k = len(np.unique(y))
    p = np.arange(1, k + 1) / (k * (k + 1) / 2)
    close(verosim.QDA(priors=p).fit(X, y), peer_qda(priors=p).fit(X, y), X)
    theirs = naive_bayes.GaussianNB(priors=p, var_smoothing=0).fit(X, y)
    close(verosim.GaussianNB().fit(X, y).with_priors(p), theirs, X)


def test_sample_weight(table, rng):
    X, y = table
    w = rng.random(len(y))
    theirs = naive_bayes.GaussianNB(var_smoothing=0).fit(X, y, sample_weight=w)
    close(verosim.GaussianNB().fit(X, y, sample_weight=w), theirs, X)


@pytest.mark.parametrize("alpha", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("fmt", ["dense", "csr", "csc"])
@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB"])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts(name, fmt, alpha, weighted, rng):
    X, y = load_digits(return_X_y=True)
    w = rng.random(len(y)) if weighted else None
    Z = X if fmt == "dense" else sparse.csr_matrix(X).asformat(fmt)
    ours = getattr(verosim, name)(alpha=alpha).fit(Z, y, sample_weight=w)
    theirs = getattr(naive_bayes, name)(alpha=alpha).fit(Z, y, sample_weight=w)
    close(ours, theirs, Z)


def test_complement_norm():
    X, y = load_digits(return_X_y=True)
    close(
        verosim.ComplementNB(norm=True).fit(X, y), naive_bayes.ComplementNB(norm=True).fit(X, y), X
    )


@pytest.mark.parametrize("alpha", [1.0, 0.3])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float64, object])
def test_categorical(alpha, dtype, rng):
    X, y = rng.integers(0, 7, (500, 6)), rng.integers(0, 3, 500)
    theirs = naive_bayes.CategoricalNB(alpha=alpha).fit(X, y)
    Z = X.astype(dtype)
    ours = verosim.CategoricalNB(alpha=alpha).fit(Z, y)
    assert np.abs(ours.predict_proba(Z) - theirs.predict_proba(X)).max() <= 1e-10


def test_ledoit_wolf_from_the_statistics_alone(table):
    """Per class, equal to ledoit_wolf(X) of the rows."""
    X, y = table
    model = verosim.QDA(shrinkage="ledoit_wolf").fit(X, y)
    for c, label in enumerate(model.classes_):
        expected, _ = covariance.ledoit_wolf(X[y == label])
        np.testing.assert_allclose(model.covariances_[c], expected, rtol=1e-9, atol=1e-12)


def test_oas_from_the_statistics_alone(table):
    X, y = table
    model = verosim.QDA(shrinkage="oas").fit(X, y)
    for c, label in enumerate(model.classes_):
        expected, _ = covariance.oas(X[y == label])
        np.testing.assert_allclose(model.covariances_[c], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shrinkage", ["ledoit_wolf", "oas"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_pooled_shrinkage(table, shrinkage, offset):
    """LDA shrinks the within-class rows as one centred sample, wherever the data lie."""
    X, y = table
    within = X - np.array([X[y == k].mean(axis=0) for k in y])
    estimate = {"ledoit_wolf": covariance.ledoit_wolf, "oas": covariance.oas}[shrinkage]
    expected, _ = estimate(within, assume_centered=True)
    model = verosim.LDA(shrinkage=shrinkage).fit(X + offset, y)
    np.testing.assert_allclose(model.covariances_, expected, rtol=1e-6, atol=1e-6)


def test_partial_fit_is_fit(table):
    """Chunks do not change the variances, unlike a floor taken from the first chunk."""
    X, y = table
    for model in (verosim.GaussianNB, verosim.LDA, verosim.QDA):
        whole, parts = model().fit(X, y), model()
        for i in range(0, len(y), 5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", verosim.SingularWarning)
                parts.partial_fit(X[i : i + 5], y[i : i + 5])
        np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-10)
