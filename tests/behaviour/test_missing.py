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


def marginal(model, Z):
    """(n, C) log π_k + log N(x_o; μ_ko, Σ_koo) and the distances, pattern by pattern."""
    joint = np.tile(np.log(model.class_prior_), (len(Z), 1))
    distances = np.zeros(joint.shape)
    patterns, which = np.unique(np.isnan(Z), axis=0, return_inverse=True)
    for p, missing in enumerate(patterns):
        at, o = np.flatnonzero(which.reshape(-1) == p), np.flatnonzero(~missing)
        if not len(o):
            continue
        for c in range(joint.shape[1]):
            sigma = model.covariances_ if model.covariances_.ndim == 2 else model.covariances_[c]
            normal = multivariate_normal(model.means_[c, o], sigma[np.ix_(o, o)])
            joint[at, c] += normal.logpdf(Z[np.ix_(at, o)])
            z = Z[np.ix_(at, o)] - normal.mean
            distances[at, c] = np.sqrt((z * np.linalg.solve(normal.cov, z.T).T).sum(axis=1))
    return joint, distances, len(patterns)


def posterior(joint):
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


@pytest.fixture
def wide(rng):
    """Correlated columns, classes that overlap, cells that stay exact far from zero."""
    y = rng.integers(0, 3, 4000)
    X = rng.normal(size=(4000, 12)) @ rng.normal(size=(12, 12)) + rng.normal(size=(3, 12))[y]
    X = np.round(X * (1 + 0.2 * y[:, None]) * 2**20) / 2**20
    Z = X.copy()
    Z[rng.random(X.shape) < 0.4] = np.nan
    Z[7] = np.nan
    return X, y, Z


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [verosim.QDA, verosim.LDA])
@pytest.mark.parametrize("place", [0.0, 1e8])
@pytest.mark.parametrize("scale", [0, 9])
def test_thousands_of_patterns(estimator, place, scale, wide, rng):
    """Posteriors are those of the marginal, wherever the columns lie, whatever their units."""
    X, y, Z = wide
    plain = estimator(missing="marginalise").fit(X, y)
    joint, distances, patterns = marginal(plain, Z)
    assert patterns > 2000
    units = 2.0 ** rng.integers(-4 * scale, 4 * scale + 1, X.shape[1])
    moved = estimator(missing="marginalise").fit((X + place) * units, y)
    Z = (Z + place) * units
    np.testing.assert_allclose(moved.predict_proba(Z), posterior(joint), rtol=0, atol=1e-10)
    np.testing.assert_allclose(moved.predict_proba(Z)[7], moved.class_prior_, rtol=1e-14)
    np.testing.assert_allclose(moved.mahalanobis(Z), distances, rtol=1e-9)
    joint -= (~np.isnan(Z) @ np.log(units))[:, None]
    np.testing.assert_allclose(moved.log_joint(Z), joint, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("estimator", [verosim.QDA, verosim.LDA])
def test_a_missing_copy_costs_no_digits(estimator, wide, rng):
    """With its near copy in the model a column's Σ⁻¹ is some 1e10; what is shown has none of it."""
    X, y, Z = wide
    X = np.column_stack([X, X[:, :2] + 1e-5 * rng.normal(size=(len(X), 2))])
    Z = np.column_stack([np.where(rng.random(Z.shape) < 0.2, np.nan, X[:, :12]), X[:, 12:]])[:500]
    Z[::2, 12:] = np.nan
    Z[1::2, :2] = np.nan
    model = estimator(missing="marginalise").fit(X, y)
    joint, _, _ = marginal(model, Z)
    np.testing.assert_allclose(model.predict_proba(Z), posterior(joint), rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.log_joint(Z), joint, rtol=1e-10)


@pytest.mark.parametrize("estimator", [verosim.QDA, verosim.LDA])
def test_classes_far_apart_where_nothing_is_shown(estimator, wide, rng):
    """Classes 5e4 deviations apart in a hidden column, and overlapping in the others."""
    X, y, Z = wide
    X[:, 0] = X[:, 1] + 0.1 * rng.normal(size=len(X)) + 5e3 * y
    Z[:, 0] = np.nan
    model = estimator(missing="marginalise").fit(X, y)
    joint, _, _ = marginal(model, Z[:500])
    np.testing.assert_allclose(model.predict_proba(Z[:500]), posterior(joint), rtol=0, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [verosim.QDA, verosim.LDA])
def test_holes_beside_constant_columns(estimator, rng):
    """More than 64 columns, two of them constant: as if those were not there."""
    X, y = rng.normal(size=(300, 70)) + 3.0, rng.integers(0, 3, 300)
    X[:, [5, 66]] = 2.0
    Z = X.copy()
    Z[rng.random(X.shape) < 0.1] = np.nan
    rest = np.delete(np.arange(70), [5, 66])
    Z[3, rest] = np.nan
    with pytest.warns(verosim.SingularWarning, match="'x5', 'x66' are not used"):
        model = estimator(missing="marginalise").fit(X, y)
    without = estimator(missing="marginalise").fit(X[:, rest], y)
    np.testing.assert_allclose(
        model.predict_proba(Z), without.predict_proba(Z[:, rest]), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(model.log_joint(Z), without.log_joint(Z[:, rest]), rtol=1e-12)
    np.testing.assert_allclose(
        without.predict_proba(Z[:, rest]),
        posterior(marginal(without, Z[:, rest])[0]),
        rtol=0,
        atol=1e-10,
    )
    for j in (5, 6):
        wrong = Z.copy()
        wrong[20, j] = np.inf
        with pytest.raises(verosim.VerosimError, match=f"infinity in column 'x{j}', row 20"):
            model.predict_proba(wrong)


@pytest.mark.parametrize("estimator", [verosim.QDA, verosim.LDA, verosim.RDA])
def test_full_covariance_names_the_cell(estimator, holes):
    X, y = holes
    i, j = np.argwhere(np.isnan(X))[0]
    with pytest.raises(verosim.VerosimError, match=f"NaN in column 'x{j}', row {i}, class {y[i]}"):
        estimator().fit(X, y)
    complete, labels = load_iris(return_X_y=True)
    with pytest.raises(verosim.VerosimError, match=f"NaN in column 'x{j}', row {i}"):
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
