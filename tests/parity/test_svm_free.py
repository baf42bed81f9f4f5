"""LinearSVM with a free intercept against LIBSVM (scikit-learn's SVC) and scipy's minimisers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from verosim import OneVsRest
from verosim.errors import VerosimError
from verosim.twins.svm import LinearSVM

LOSSES = ("squared_hinge", "hinge")
SOLVERS = ("dual", "newton", "sparse")


def fitted(X, y, solver, sample_weight=None, **options):
    """By the solver, or by "dual" on CSR rows; warnings are errors."""
    given = sparse.csr_matrix(X) if solver == "sparse" else X
    solver = "dual" if solver == "sparse" else solver
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return LinearSVM(solver=solver, random_state=0, **options).fit(given, y, sample_weight)


def objective(theta, X, t, cost, loss):
    """½ ‖w‖² + Σ c ℓ(t (wᵀx + b)) at θ = (w, b), from the rows."""
    w, left = theta[:-1], np.maximum(1 - t * (X @ theta[:-1] + theta[-1]), 0)
    return 0.5 * w @ w + cost @ (left**2 if loss == "squared_hinge" else left)


def reached(model, X, y, cost, loss):
    """(C or 1,) the objectives of a fitted model, one class against the rest."""
    labels = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    theta = np.column_stack([model.coef_, model.intercept_])
    signs = [np.where(y == label, 1.0, -1.0) for label in labels]
    return np.array([objective(theta[k], X, t, cost, loss) for k, t in enumerate(signs)])


def least_squared(X, t, cost):
    """The minimum for the squared hinge and its θ, by L-BFGS and then Newton's method in scipy."""
    rows = np.column_stack([X, np.ones(len(X))])

    def slope(theta):
        left = np.maximum(1 - t * (rows @ theta), 0)
        return np.append(theta[:-1], 0) - 2 * (cost * t * left) @ rows

    def bend(theta):
        inside = (t * (rows @ theta) < 1) * 2 * cost
        return np.diag(np.append(np.ones(X.shape[1]), 0)) + (rows.T * inside) @ rows

    given = (X, t, cost, "squared_hinge")
    start = minimize(
        objective, np.zeros(rows.shape[1]), given, "L-BFGS-B", lambda th, *_: slope(th)
    )
    end = minimize(
        objective, start.x, given, "trust-exact", lambda th, *_: slope(th), lambda th, *_: bend(th),
        options={"gtol": 1e-10},
    )  # fmt: skip
    assert np.abs(slope(end.x)).max() < 1e-6
    return end.fun, end.x


def libsvm(X, y, sample_weight=None, **options):
    return SVC(kernel="linear", tol=1e-8, **options).fit(X, y, sample_weight)


def problem(kind):
    X, y = load_iris(return_X_y=True) if kind == "several" else load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [0.02, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_hinge_of_libsvm(solver, C, weighted, rng):
    """Two classes: objective, weights, intercept and predictions of SVC(kernel="linear")."""
    X, y = problem("two")
    weights = rng.uniform(0.2, 3.0, len(y)) if weighted else None
    cost = C * (weights if weighted else np.ones(len(y)))
    model = fitted(X, y, solver, weights, C=C, loss="hinge")
    peer = libsvm(X, y, weights, C=C)
    ours, theirs = (reached(m, X, y, cost, "hinge") for m in (model, peer))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    np.testing.assert_allclose(model.objective_, ours, rtol=1e-10)
    assert model.gap_ <= 1e-6 * model.objective_
    assert model.objective_ - model.gap_ <= theirs * (1 + 1e-12)
    apart = np.linalg.norm(model.coef_ - peer.coef_)  # ‖w − w*‖² ≤ 2 gap, by strong convexity
    assert apart <= np.sqrt(2 * model.gap_[0]) + 1e-4
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=5e-3)
    far = np.abs(peer.decision_function(X)) > 0.01
    np.testing.assert_array_equal(model.predict(X)[far], peer.predict(X)[far])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_class_weights(solver, class_weight):
    """Of both classes, and with the weights of rows, as SVC has them."""
    X, y = problem("two")
    keep = np.flatnonzero((y == 0) | (np.arange(len(y)) % 3 > 0))
    X, y = X[keep], y[keep]
    weights = 0.5 + np.arange(len(y)) % 4
    if class_weight == "balanced":  # by sums of weights here, by rows in SVC
        weights = None
    options = {"C": 0.3, "class_weight": class_weight}
    model = fitted(X, y, solver, weights, loss="hinge", **options)
    peer = libsvm(X, y, weights, **options)
    cost = 0.3 * peer.class_weight_[y] * (1.0 if weights is None else weights)
    ours, theirs = (reached(m, X, y, cost, "hinge") for m in (model, peer))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    np.testing.assert_allclose(model.objective_, ours, rtol=1e-10)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_against_the_rest(solver):
    """Several classes are SVC within scikit-learn's OneVsRestClassifier, and ours in OneVsRest."""
    X, y = problem("several")
    model = fitted(X, y, solver, loss="hinge", tol=1e-8)
    peer = OneVsRestClassifier(SVC(kernel="linear", tol=1e-8)).fit(X, y)
    for k, machine in enumerate(peer.estimators_):
        t = np.where(y == k, 1.0, -1.0)
        theta = np.append(machine.coef_[0], machine.intercept_)
        theirs = objective(theta, X, t, np.ones(len(y)), "hinge")
        assert model.objective_[k] == pytest.approx(theirs, rel=1e-6)
        np.testing.assert_allclose(model.coef_[k], machine.coef_[0], atol=2e-3)
    assert (model.predict(X) == peer.predict(X)).mean() > 0.98  # b need not be unique
    alone = OneVsRest(LinearSVM(loss="hinge", solver="newton", tol=1e-8)).fit(X, y)
    for k, machine in enumerate(alone.estimators_):
        assert model.objective_[k] == pytest.approx(machine.objective_[0], rel=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["two", "several"])
@pytest.mark.parametrize("C", [0.01, 0.5])
def test_the_squared_hinge_of_scipy(solver, kind, C, rng):
    X, y = problem(kind)
    weights = rng.uniform(0.2, 3.0, len(y))
    model = fitted(X, y, solver, weights, C=C)
    labels = model.classes_[1:] if kind == "two" else model.classes_
    np.testing.assert_allclose(
        model.objective_, reached(model, X, y, C * weights, "squared_hinge"), rtol=1e-10
    )
    for k, label in enumerate(labels):
        t = np.where(y == label, 1.0, -1.0)
        least, theta = least_squared(X, t, C * weights)
        assert model.objective_[k] == pytest.approx(least, rel=1e-6)
        assert model.objective_[k] - model.gap_[k] <= least * (1 + 1e-12)
        np.testing.assert_allclose(model.coef_[k], theta[:-1], atol=1e-5)
        assert model.intercept_[k] == pytest.approx(theta[-1], abs=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("passes", [1, 2, 3, 5, 10, 30])
def test_the_gap_is_a_bound(solver, loss, passes):
    """Wherever a fit stops, objective_ − gap_ is not above the minimum."""
    X, y = make_classification(1500, 12, n_informative=6, weights=[0.8], random_state=1)
    least = LinearSVM(C=0.3, loss=loss, solver="newton", tol=1e-10).fit(X, y).objective_
    given = sparse.csr_matrix(X) if solver == "sparse" else X
    solver = "dual" if solver == "sparse" else solver
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVM(C=0.3, loss=loss, solver=solver, max_iter=passes, random_state=0)
        model.fit(given, y)
    assert model.objective_ - model.gap_ <= least * (1 + 1e-9)
    assert model.objective_ >= least * (1 - 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["two", "several"])
def test_a_shift_of_the_columns_changes_the_intercept_alone(solver, loss, kind, rng):
    X, y = problem(kind)
    X = X[:, :6]
    options = {"loss": loss, "C": 0.1, "tol": 1e-9}
    here = fitted(X, y, solver, **options)
    for shift in (np.full(X.shape[1], 6.0), rng.normal(scale=10, size=X.shape[1])):
        if solver == "sparse":
            shift = 0.3 * shift  # coordinate descent on rows that are not centred takes its time
        there = fitted(X + shift, y, solver, **options)
        np.testing.assert_allclose(there.objective_, here.objective_, rtol=2e-9)
        np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-4)
        moved = here.decision_function(X), there.decision_function(X + shift)
        np.testing.assert_allclose(*moved, atol=5e-4)
        clear = np.abs(moved[0]) > 1e-3
        clear = clear.all(axis=1) if clear.ndim == 2 else clear
        np.testing.assert_array_equal(there.predict(X + shift)[clear], here.predict(X)[clear])
    penalized = fitted(X + 6.0, y, "newton", penalize_intercept=True, **options)
    assert (penalized.objective_ > here.objective_ * 1.001).any()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-8, 1e-3, 1.0, 1e3])
def test_rows_of_nothing_but_a_class(solver, loss, C):
    """Columns of zeros: min_b C (n₊ ℓ(b) + n₋ ℓ(−b)), 2 C n₋ or 4 C n₊n₋/(n₊ + n₋)."""
    y = np.repeat([0, 1], [6, 14])
    model = fitted(np.zeros((20, 3)), y, solver, loss=loss, C=C)
    least = 2 * C * 6 if loss == "hinge" else 4 * C * 6 * 14 / 20
    assert model.objective_ == pytest.approx(least, rel=1e-6)
    assert model.gap_ <= 1e-6 * least
    assert not model.coef_.any()
    assert model.intercept_ == pytest.approx(1.0 if loss == "hinge" else 0.4, abs=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_prices_and_columns_of_any_kind(solver, loss, rng):
    """C from tiny to large, one class rare, columns that are constant or of other units."""
    X, y = rng.normal(size=(300, 4)), (np.arange(300) % 15 == 0).astype(int)
    X[y == 1, 1] += 1.5
    X[:, 3] = 7.0
    for C in (1e-9, 1e-4, 0.1, 10.0):
        model = fitted(X, y, solver, loss=loss, C=C, max_iter=200_000)
        exact = LinearSVM(loss=loss, C=C, solver="newton", tol=1e-9).fit(X[:, :3], y)
        assert model.objective_ == pytest.approx(exact.objective_[0], rel=2e-6)
        assert model.coef_[0, 3] == pytest.approx(0, abs=1e-3 * (1 + np.abs(model.coef_).max()))
    for unit in (1e-4, 1e4):
        scaled = fitted(X * unit, y, solver, loss=loss, C=0.1 / unit**2, max_iter=200_000)
        w = np.append(scaled.coef_[0], scaled.intercept_)
        theirs = objective(w, X * unit, 2.0 * y - 1, np.full(300, 0.1 / unit**2), loss)
        assert scaled.objective_ == pytest.approx(theirs, rel=1e-9)
        assert scaled.gap_ <= 1e-6 * scaled.objective_


def test_the_scaling_of_a_free_intercept_is_ignored():
    X, y = problem("two")
    free = LinearSVM(C=0.1).fit(X, y)
    np.testing.assert_array_equal(
        LinearSVM(C=0.1, intercept_scaling=50.0).fit(X, y).coef_, free.coef_
    )
    # The larger it is, the less a penalised intercept differs from a free one.
    loose = LinearSVM(C=0.1, penalize_intercept=True, intercept_scaling=1e4).fit(X, y)
    np.testing.assert_allclose(loose.coef_, free.coef_, atol=1e-6)
    np.testing.assert_allclose(loose.objective_, free.objective_, rtol=1e-6)


def test_one_class_of_weight_is_refused(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(VerosimError, match="class"):
        LinearSVM().fit(X, y, sample_weight=y)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_text(data, loss):
    """20 Newsgroups, atheism against christianity, tf-idf: the optimum of SVC, or of ours alone."""
    import pyarrow.parquet as pq
    from sklearn.feature_extraction.text import TfidfVectorizer

    rows = pq.read_table(data / "20news_bydate" / "20news_bydate.parquet").to_pydict()
    groups, split = np.array(rows["group"]), np.array(rows["split"])
    pair = np.isin(groups, ["alt.atheism", "soc.religion.christian"]) & (split == "train")
    X = TfidfVectorizer().fit_transform([rows["text"][i] for i in np.flatnonzero(pair)])
    y = groups[pair]
    cost = np.ones(len(y))
    model = LinearSVM(loss=loss, random_state=0).fit(X, y)
    assert model.gap_ <= 1e-6 * model.objective_
    np.testing.assert_allclose(model.objective_, reached(model, X, y, cost, loss), rtol=1e-10)
    if loss == "hinge":
        peer = libsvm(X, y)
        w, b = peer.coef_.toarray()[0], peer.intercept_
        t = np.where(y == model.classes_[1], 1.0, -1.0)
        theirs = objective(np.append(w, b), X, t, cost, loss)
        assert model.objective_ == pytest.approx(theirs, rel=1e-6)
        assert (model.predict(X) == peer.predict(X)).all()


def test_weights_that_are_negative_by_rounding_are_balanced():
    from types import SimpleNamespace

    from verosim.twins.solvers.intercept import balanced

    problem = SimpleNamespace(signs=np.array([1.0, -1.0]), squared=True, cost=np.ones(2))
    np.testing.assert_array_equal(balanced(problem, np.array([-1e-30, 0.0])), [0.0, 0.0])
