"""Logistic regression against scikit-learn's at the same objective, and its estimator checks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from verosim.twins.logistic import LogisticRegression

TIGHT = 1e-14
SOLVERS = ("auto", "newton", "lbfgs")


@pytest.mark.slow
@parametrize_with_checks(
    [
        *(LogisticRegression(solver=solver) for solver in SOLVERS),
        LogisticRegression(solver="sgd", random_state=0),
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)


def table(n=400, d=6, C=3, seed=0, spread=1.0):
    """Rows of classes that overlap, drawn from a softmax."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = spread * X @ rng.normal(size=(d, C)) + 0.5 * rng.normal(size=C)
    return X, (scores + rng.gumbel(size=(n, C))).argmax(axis=1)


def theirs(X, y, C=1.0, weights=None, solver="newton-cholesky", **options):
    model = linear_model.LogisticRegression(
        C=C, solver=solver, tol=1e-12, max_iter=10_000, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, weights)


def objective(X, y, coef, intercept, C, weights=None):
    """C Σ w loss + ½ ‖W‖² in plain numpy; y are class numbers."""
    scores = X @ coef.T + intercept
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    top = scores.max(axis=1)
    loss = top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - scores[np.arange(len(y)), y]
    weights = np.ones(len(y)) if weights is None else weights
    return C * (weights * loss).sum() + 0.5 * (coef**2).sum()


def same(model, peer, X, rel=1e-6):
    """Coefficients, intercepts and log-loss, to 1e-6 of the largest coefficient."""
    scale = np.abs(peer.coef_).max()
    assert np.abs(model.coef_ - peer.coef_).max() <= rel * scale
    np.testing.assert_allclose(
        model.predict_log_proba(X), peer.predict_log_proba(X), rtol=rel, atol=rel
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0, 1e2, 1e6])
@pytest.mark.parametrize("classes", [2, 4])
def test_same_weights_for_every_penalty(solver, C, classes):
    X, y = table(C=classes)
    model = LogisticRegression(C=C, solver=solver, tol=TIGHT).fit(X, y)
    same(model, theirs(X, y, C), X)
    assert model.coef_.shape == ((1, 6) if classes == 2 else (classes, 6))


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_same_weights_on_real_tables(load):
    X, y = load(return_X_y=True)
    same(LogisticRegression(tol=TIGHT).fit(X, y), theirs(X, y), X)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("solver", SOLVERS)
def test_default_tolerance_reaches_the_minimum(load, solver):
    X, y = load(return_X_y=True)
    best = theirs(X, y)
    model = LogisticRegression(solver=solver).fit(X, y)
    least = objective(X, y, best.coef_, best.intercept_, 1.0)
    assert objective(X, y, model.coef_, model.intercept_, 1.0) <= least * (1 + 2e-9)
    assert model.objective_ == pytest.approx(least, rel=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_no_penalty_is_maximum_likelihood(classes):
    """At the maximum the expected sums equal the observed: Σ x (p − t) = 0."""
    X, y = table(C=classes)
    model = LogisticRegression(C=np.inf, tol=TIGHT).fit(X, y)
    missed = model.predict_proba(X) - np.eye(classes)[y]
    assert np.abs(X.T @ missed).max() < 1e-6
    assert np.abs(missed.sum(axis=0)).max() < 1e-6
    assert model.regularisation_ == 0
    same(model, theirs(X, y, np.inf), X)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_count_as_repeated_rows(classes):
    X, y = table(C=classes)
    times = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = LogisticRegression(tol=TIGHT).fit(X, y, times)
    repeated = LogisticRegression(tol=TIGHT).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-9)
    same(weighted, theirs(X, y, weights=times), X)


@pytest.mark.parametrize("weight", ["balanced", {0: 1.0, 1: 3.0, 2: 0.5}])
def test_class_weights(weight):
    X, y = table()
    model = LogisticRegression(class_weight=weight, tol=TIGHT).fit(X, y)
    same(model, theirs(X, y, class_weight=weight), X)


@pytest.mark.parametrize("classes", [2, 3])
def test_without_intercept(classes):
    X, y = table(C=classes)
    model = LogisticRegression(fit_intercept=False, tol=TIGHT).fit(X + 1, y)
    assert not model.intercept_.any()
    same(model, theirs(X + 1, y, fit_intercept=False), X + 1)


@pytest.mark.parametrize("solver", [*SOLVERS, "sgd"])
@pytest.mark.parametrize("classes", [2, 3])
def test_sparse_is_dense(solver, classes):
    X, y = table(C=classes)
    X[np.abs(X) < 0.7] = 0
    options = {"solver": solver, "random_state": 0}
    options |= {"max_iter": 5, "tol": 0.0} if solver == "sgd" else {"tol": TIGHT}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense = LogisticRegression(**options).fit(X, y)
        thin = LogisticRegression(**options).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_allclose(thin.intercept_, dense.intercept_, atol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 5])
def test_wide_sparse_rows(classes, intercept):
    """More weights than a Hessian is made of: steps by conjugate gradients."""
    rng = np.random.default_rng(0)
    X = sparse.random(
        300, 4000, 0.01, "csr", random_state=0, data_rvs=lambda k: 1.0 + rng.poisson(1, k)
    )
    y = rng.integers(0, classes, 300)
    weights = rng.integers(1, 4, 300).astype(float)
    peer = theirs(X, y, 0.5, weights, solver="lbfgs", fit_intercept=intercept)
    model = LogisticRegression(C=0.5, tol=1e-13, fit_intercept=intercept).fit(X, y, weights)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-6 * np.abs(peer.coef_).max())
    mine = objective(X, y, model.coef_, model.intercept_, 0.5, weights)
    assert mine <= objective(X, y, peer.coef_, peer.intercept_, 0.5, weights) * (1 + 1e-12)
    slow = LogisticRegression(C=0.5, solver="lbfgs", tol=1e-13, fit_intercept=intercept)
    slow.fit(X, y, weights)
    np.testing.assert_allclose(slow.coef_, model.coef_, atol=1e-5 * np.abs(peer.coef_).max())


def test_float32_is_float64():
    X, y = table(2000)
    X = X.astype(np.float32)
    single, double = (LogisticRegression(tol=TIGHT).fit(x, y) for x in (X, X.astype(np.float64)))
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-9)


def test_labels_of_any_kind():
    X, y = table()
    names = np.array(["pear", "apple", "fig"])[y]
    model, peer = LogisticRegression(tol=TIGHT).fit(X, names), theirs(X, names)
    assert model.classes_.tolist() == ["apple", "fig", "pear"]
    same(model, peer, X)
    assert (model.predict(X) == peer.predict(X)).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("d", [60, 500])
def test_more_columns_than_rows(classes, d):
    X, y = table(40, d, classes)
    model, peer = LogisticRegression(tol=1e-13).fit(X, y), theirs(X, y, solver="lbfgs")
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-6 * np.abs(peer.coef_).max())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_columns_that_repeat_others_or_nothing(solver, classes):
    """Collinear columns share the weight, a constant one gets none."""
    X, y = table(C=classes)
    X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2], np.full(len(X), 7.3), np.zeros(len(X))])
    model = LogisticRegression(solver=solver, tol=TIGHT).fit(X, y)
    same(model, theirs(X, y), X)
    np.testing.assert_allclose(model.coef_[:, 0], model.coef_[:, 6], atol=1e-7)
    assert np.abs(model.coef_[:, 8:]).max() < 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_columns_of_any_scale(solver, classes):
    """Scales from 1e-8 to 1e8: scaling a column by s and its penalty by s² changes nothing, so the
    weights of the scaled problem are those of a penalty per column, solved here by Newton."""
    X, y = table(C=classes)
    scale = np.array([1e-8, 1e-3, 1.0, 10.0, 1e3, 1e8])
    model = LogisticRegression(solver=solver, tol=TIGHT).fit(X * scale, y)
    peer = theirs(X * scale, y)
    mine = objective(X * scale, y, model.coef_, model.intercept_, 1.0)
    assert mine <= objective(X * scale, y, peer.coef_, peer.intercept_, 1.0) * (1 + 1e-10)
    missed = model.predict_proba(X * scale) - np.eye(classes)[y]
    slope = (missed[:, 1:] if classes == 2 else missed).T @ X + model.coef_ / scale
    assert np.abs(slope).max() < 1e-5  # ∇f in units of each column


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_far_from_zero(solver, classes):
    """The intercept is not penalised, so moving the rows does not change the weights."""
    X, y = table(C=classes)
    near = LogisticRegression(solver=solver, tol=TIGHT).fit(X, y)
    far = LogisticRegression(solver=solver, tol=TIGHT).fit(X + 1e6, y)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=2e-6)
    np.testing.assert_allclose(far.predict_proba(X + 1e6), near.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_many_rows_by_a_sample_of_them(classes):
    """Enough rows that the Hessian is a sample's: the minimum is that of all rows."""
    X, y = table(20_000, 8, classes)
    X[:, 3] = X[:, 2] + 1e-3 * X[:, 3]
    weights = np.random.default_rng(2).integers(1, 3, len(y)).astype(float)
    for given in (None, weights):
        peer = theirs(X, y, 1.0, given)
        least = objective(X, y, peer.coef_, peer.intercept_, 1.0, given)
        model = LogisticRegression().fit(X, y, given)
        mine = objective(X, y, model.coef_, model.intercept_, 1.0, given)
        assert mine <= least * (1 + 2e-9)
        tight = LogisticRegression(tol=TIGHT).fit(X, y, given)
        np.testing.assert_allclose(tight.coef_, peer.coef_, atol=1e-6 * np.abs(peer.coef_).max())


def test_a_rare_class_among_many_rows():
    """A sample keeps rare classes in full. The weights of twenty rows hardly move the objective of
    30,000, so they are known to fewer digits than it."""
    X, y = table(30_000, 5, 3)
    y[y == 2] = 0
    y[:20] = 2
    X[:20] += 2
    model, peer = LogisticRegression(tol=TIGHT).fit(X, y), theirs(X, y)
    least = objective(X, y, peer.coef_, peer.intercept_, 1.0)
    assert objective(X, y, model.coef_, model.intercept_, 1.0) <= least * (1 + 1e-12)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
