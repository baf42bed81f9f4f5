"""Missing cells: skipped at fit and marginalised at predict, or named in an error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris

import verosim


@pytest.fixture
def holes(rng):
    X, y = load_iris(return_X_y=True)
    X = X.copy()
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


def test_gaussian_nb_skips_cells(holes):
    X, y = holes
    model = verosim.GaussianNB().fit(X, y)
    np.testing.assert_allclose(model.means_, [np.nanmean(X[y == k], axis=0) for k in range(3)])
    np.testing.assert_allclose(
        model.covariances_, [np.nanvar(X[y == k], axis=0) for k in range(3)], rtol=1e-12
    )


@pytest.mark.parametrize(
    "model", [verosim.GaussianNB(), verosim.NaiveLDA(), verosim.HistogramNB(),
              verosim.CategoricalNB(), verosim.BernoulliNB(binarize=2.0)],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_a_missing_cell_is_the_model_without_its_column(model, holes):
    X, y = holes
    X = np.round(X)
    model.fit(X, y)
    others = [0, 1, 3]
    without = type(model)(**model.get_params()).fit(X[:, others], y)
    hidden = X.copy()
    hidden[:, 2] = np.nan
    np.testing.assert_allclose(
        model.predict_proba(hidden), without.predict_proba(X[:, others]), atol=1e-12
    )
    np.testing.assert_allclose(model.log_joint(hidden), without.log_joint(X[:, others]), atol=1e-9)


def test_a_row_of_nothing_gets_the_prior(holes):
    X, y = holes
    nothing = np.full((1, 4), np.nan)
    for model in (verosim.GaussianNB(), verosim.NaiveLDA(), verosim.HistogramNB()):
        np.testing.assert_allclose(model.fit(X, y).predict_proba(nothing)[0], [1 / 3] * 3)


@pytest.mark.parametrize("estimator", [verosim.QDA, verosim.LDA, verosim.RDA])
def test_full_covariance_marginalises_at_predict(estimator, rng):
    X, y = load_iris(return_X_y=True)
    model = estimator(missing="marginalise").fit(X, y)
    Z = X.copy()
    Z[rng.random(Z.shape) < 0.3] = np.nan
    Z[0] = np.nan
    found = model.log_joint(Z)
    for i, row in enumerate(Z):
        seen = np.flatnonzero(~np.isnan(row))
        for c, k in enumerate(model.classes_):
            sigma = model.covariances_ if model.covariances_.ndim == 2 else model.covariances_[c]
            expected = np.log((y == k).mean())
            if len(seen):
                expected += multivariate_normal(
                    model.means_[c, seen], sigma[np.ix_(seen, seen)]
                ).logpdf(row[seen])
            assert found[i, c] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(model.predict_proba(Z).sum(axis=1), 1)
    joint = np.exp(found - found.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        model.predict_proba(Z), joint / joint.sum(axis=1, keepdims=True), atol=1e-10
    )
    distances = model.mahalanobis(Z)
    assert np.isfinite(distances).all()
    assert (distances[0] == 0).all()


@pytest.mark.parametrize("estimator", [verosim.QDA, verosim.LDA, verosim.RDA])
def test_full_covariance_names_the_cell(estimator, holes):
    X, y = holes
    i, j = np.argwhere(np.isnan(X))[0]
    with pytest.raises(verosim.VerosimError, match=f"NaN: column 'x{j}', row {i}, class {y[i]}"):
        estimator().fit(X, y)
    complete, labels = load_iris(return_X_y=True)
    with pytest.raises(verosim.VerosimError, match=f"NaN: column 'x{j}', row {i}"):
        estimator().fit(complete, labels).predict(X)


def test_the_tag_follows_the_setting():
    assert verosim.GaussianNB().__sklearn_tags__().input_tags.allow_nan
    assert not verosim.QDA().__sklearn_tags__().input_tags.allow_nan
    assert verosim.QDA(missing="marginalise").__sklearn_tags__().input_tags.allow_nan


def test_a_column_missing_in_one_class_only(rng):
    X, y = rng.normal(size=(90, 2)), np.repeat([0, 1, 2], 30)
    X[y == 0, 1] = np.nan
    for model in (verosim.GaussianNB(), verosim.NaiveLDA(), verosim.HistogramNB()):
        proba = model.fit(X, y).predict_proba(X)
        assert np.isfinite(proba).all()
    # naive LDA: the class that never showed the column does not change the others' variance
    shared = verosim.NaiveLDA().fit(X, y)
    within = [X[y == k, 1] - X[y == k, 1].mean() for k in (1, 2)]
    assert shared.covariances_[1] == pytest.approx(np.concatenate(within).var())


def test_sparse_holes_equal_dense_holes(rng):
    X = rng.poisson(0.7, (200, 5)).astype(float)
    y = rng.integers(0, 3, 200)
    X[rng.random(X.shape) < 0.1] = np.nan
    for model in (
        verosim.GaussianNB(),
        verosim.NaiveLDA(),
        verosim.BernoulliNB(),
        verosim.MultinomialNB(),
    ):
        dense = model.fit(X, y).predict_proba(X)
        stored = sparse.csr_matrix(np.where(np.isnan(X), -1, X))
        stored.data[stored.data == -1] = np.nan
        np.testing.assert_allclose(model.predict_proba(stored), dense, atol=1e-12)
        np.testing.assert_allclose(model.fit(stored, y).predict_proba(X), dense, atol=1e-12)
