"""LinearSVM against LIBLINEAR (scikit-learn's LinearSVC), which penalises the intercept."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from verosim.engines import use_threads
from verosim.errors import ConvergenceWarning, VerosimError
from verosim.twins.svm import LinearSVM

LOSSES = ("squared_hinge", "hinge")


def penalized(*args, **options):
    """A machine of LIBLINEAR's objective."""
    return LinearSVM(*args, penalize_intercept=True, **options)


BOTH = pytest.mark.parametrize("machine", [LinearSVM, penalized])


@pytest.mark.slow
@parametrize_with_checks(
    [
        machine(**options)
        for machine in (LinearSVM, penalized)
        for options in ({}, {"loss": "hinge"}, {"solver": "dual"}, {"solver": "newton"})
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def objective(coef, intercept, X, own, cost, loss, scaling=1.0):
    """½‖w‖² + ½ (b / scaling)² + Σ c ℓ(t (wᵀx + b)), from the rows."""
    left = np.maximum(1 - np.where(own, 1.0, -1.0) * (X @ coef + intercept), 0)
    penalty = 0.5 * (coef @ coef + (intercept / scaling) ** 2)
    return penalty + cost @ (left**2 if loss == "squared_hinge" else left)


def objectives(model, X, y, cost, loss, favour=None, scaling=1.0):
    """(C or 1,) what a fitted model reaches, one class against the rest."""
    classes = model.classes_
    wanted = [classes[1]] if len(classes) == 2 else list(classes)
    favour = dict.fromkeys(classes, 1.0) if favour is None else favour
    rest = favour[classes[0]] if len(classes) == 2 else 1.0
    return np.array(
        [
            objective(
                model.coef_[k], np.atleast_1d(model.intercept_)[k], X, y == label,
                cost * np.where(y == label, favour[label], rest), loss, scaling,
            )
            for k, label in enumerate(wanted)
        ]
    )  # fmt: skip


def liblinear(X, y, loss, sample_weight=None, **options):
    """At a tolerance that leaves nothing to gain."""
    peer = LinearSVC(loss=loss, dual=True, tol=1e-9, max_iter=2_000_000, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return peer.fit(X, y, sample_weight=sample_weight)


def problem(kind):
    X, y = load_iris(return_X_y=True) if kind == "several" else load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["two", "several"])
@pytest.mark.parametrize("solver", ["dual", "newton"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_of_liblinear(loss, kind, solver, weighted, rng):
    """Within 1e-6 of LIBLINEAR's, and `objective_` and `gap_` say so themselves."""
    X, y = problem(kind)
    weights = rng.uniform(0.2, 3.0, len(y)) if weighted else None
    cost = 0.7 * (weights if weighted else np.ones(len(y)))
    model = penalized(C=0.7, loss=loss, solver=solver, random_state=0).fit(X, y, weights)
    peer = liblinear(X, y, loss, weights, C=0.7)
    ours, theirs = (objectives(m, X, y, cost, loss) for m in (model, peer))
    assert (ours <= theirs * (1 + 1e-6)).all()
    np.testing.assert_allclose(model.objective_, ours, rtol=1e-10)
    assert (model.gap_ <= 1e-6 * model.objective_).all()
    # ‖w − w*‖² ≤ 2 gap, by strong convexity; LIBLINEAR is next to w*
    apart = np.sum((model.coef_ - peer.coef_) ** 2, axis=1)
    assert (np.sqrt(apart) <= np.sqrt(2 * model.gap_) + 1e-4).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_small_problems_are_finished_to_rounding(loss):
    """Coefficients, where they are unique, agree with LIBLINEAR's far beyond `tol`."""
    X, y = problem("several")
    model, peer = penalized(loss=loss).fit(X, y), liblinear(X, y, loss)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-6)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=2e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 4])
def test_sparse_rows(loss, classes, rng):
    """CSR and dense rows reach the same optimum, which is LIBLINEAR's."""
    X = sparse.random(400, 300, 0.05, random_state=1, format="csr")
    X.data = rng.poisson(1.0, X.nnz) + 1.0
    y = np.argmax(X @ rng.normal(size=(300, classes)) + rng.normal(size=(400, classes)), axis=1)
    cost = np.full(400, 0.1)
    model = penalized(C=0.1, loss=loss, random_state=3).fit(X, y)
    dense = penalized(C=0.1, loss=loss, solver="dual", random_state=3).fit(X.toarray(), y)
    least = objectives(liblinear(X, y, loss, C=0.1), X, y, cost, loss)
    for found in (model, dense):
        assert (objectives(found, X, y, cost, loss) <= least * (1 + 1e-6)).all()
    np.testing.assert_allclose(model.decision_function(X), dense.decision_function(X), atol=0.01)


@BOTH
def test_sparse_columns_are_told_apart(rng, machine):
    """Weights go back to their columns, those that do not occur have none, whatever the types."""
    X = rng.poisson(np.geomspace(2, 0.05, 8), (300, 8)).astype(float)
    wide = np.zeros((300, 40))
    wide[:, 3::5] = X
    y = (X @ rng.normal(size=8) > 0).astype(int)
    narrow = machine(solver="dual", tol=1e-12, random_state=0).fit(X, y)
    whole = sparse.csr_matrix(wide)
    longer = whole.copy()
    longer.indices, longer.indptr = whole.indices.astype(np.int64), whole.indptr.astype(np.int64)
    for given in (whole, longer, whole.astype(np.int32), whole.astype(np.float32), whole.tocsc()):
        model = machine(tol=1e-12, random_state=0).fit(given, y)
        np.testing.assert_allclose(model.coef_[:, 3::5], narrow.coef_, atol=1e-6)
        assert not np.delete(model.coef_, np.arange(3, 40, 5), axis=1).any()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["two", "several"])
@pytest.mark.parametrize("class_weight", ["balanced", "named"])
def test_class_weights(loss, kind, class_weight):
    """Of two classes both weights count, of several the weight of the class against the rest."""
    X, y = problem(kind)
    keep = np.flatnonzero((y == 0) | (np.arange(len(y)) % 3 > 0))
    X, y = X[keep], y[keep]
    labels, counts = np.unique(y, return_counts=True)
    if class_weight == "named":
        class_weight = favour = {label: 1.0 + 0.5 * k for k, label in enumerate(labels.tolist())}
    else:
        favour = dict(zip(labels, len(y) / (len(labels) * counts), strict=True))
    model = penalized(loss=loss, class_weight=class_weight).fit(X, y)
    peer = liblinear(X, y, loss, class_weight=class_weight)
    ours, theirs = (objectives(m, X, y, np.ones(len(y)), loss, favour) for m in (model, peer))
    assert (ours <= theirs * (1 + 1e-6)).all()
    np.testing.assert_allclose(model.objective_, ours, rtol=1e-10)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-3)


@pytest.mark.parametrize("solver", ["dual", "newton"])
@pytest.mark.parametrize("loss", LOSSES)
def test_intercepts(solver, loss):
    """None, or penalised through the column it stands for."""
    X, y = problem("two")
    X = X[:, :5]
    for options in ({"fit_intercept": False}, {"intercept_scaling": 10.0}):
        model = penalized(loss=loss, solver=solver, **options).fit(X, y)
        peer = liblinear(X, y, loss, **options)
        given = (X, y, np.ones(len(y)), loss, None, options.get("intercept_scaling", 1.0))
        ours, theirs = (objectives(m, *given) for m in (model, peer))
        assert (ours <= theirs * (1 + 1e-6)).all()
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=5e-3)
    for machine in (LinearSVM, penalized):
        assert machine(fit_intercept=False).fit(X, y).intercept_ == 0


@BOTH
@pytest.mark.parametrize("loss", LOSSES)
def test_many_rows(loss, machine):
    """Dense rows by the thousand: both solvers, float32 and float64, one thread and several."""
    X, y = make_classification(4000, 20, n_informative=10, random_state=0)
    given = (X, y, np.ones(len(y)), loss, None, 1.0 if machine is penalized else np.inf)
    newton = machine(loss=loss, tol=1e-8).fit(X, y)
    least = newton.objective_ - newton.gap_
    narrow = machine(loss=loss, solver="newton").fit(X.astype(np.float32), y)
    with use_threads(1):
        alone = machine(loss=loss, solver="newton").fit(X, y)
    descent = machine(loss=loss, solver="dual", random_state=0).fit(X, y)
    for model in (newton, narrow, alone, descent):
        assert (objectives(model, *given) <= least * (1 + 2e-6)).all()
        assert model.gap_ <= 1e-6 * model.objective_


@pytest.mark.parametrize("loss", LOSSES)
def test_text(data, loss):
    """20 Newsgroups, atheism against christianity, tf-idf: within 1e-6 of LIBLINEAR."""
    import pyarrow.parquet as pq
    from sklearn.feature_extraction.text import TfidfVectorizer

    rows = pq.read_table(data / "20news_bydate" / "20news_bydate.parquet").to_pydict()
    groups, split = np.array(rows["group"]), np.array(rows["split"])
    pair = np.isin(groups, ["alt.atheism", "soc.religion.christian"]) & (split == "train")
    X = TfidfVectorizer().fit_transform([rows["text"][i] for i in np.flatnonzero(pair)])
    y = groups[pair]
    model, peer = penalized(loss=loss, random_state=0).fit(X, y), liblinear(X, y, loss)
    ours, theirs = (objectives(m, X, y, np.ones(len(y)), loss) for m in (model, peer))
    assert (ours <= theirs * (1 + 1e-6)).all()
    assert (model.predict(X) == peer.predict(X)).mean() > 0.999


@BOTH
def test_the_seed_decides(rng, machine):
    X, y = rng.normal(size=(3000, 40)), rng.integers(0, 3, 3000)
    fits = [machine(solver="dual", tol=1e-3, random_state=s).fit(X, y).coef_ for s in (5, 5, 6)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


@BOTH
@pytest.mark.parametrize("solver", ["dual", "newton"])
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_as_they_come(solver, loss, rng, machine):
    """Strided, Fortran-ordered, integer and very few rows; rows of zeros; columns of zeros."""
    X, y = rng.normal(size=(200, 6)), np.repeat([0, 1], 100)
    X[y == 1] += 0.5
    X[3], X[:, 2] = 0.0, 0.0
    wide = np.zeros((400, 12))
    wide[::2, ::2] = X
    plain = machine(loss=loss, solver=solver, tol=1e-9, random_state=0).fit(X, y)
    for given in (wide[::2, ::2], np.asfortranarray(X)):
        other = machine(loss=loss, solver=solver, tol=1e-9, random_state=0).fit(given, y)
        np.testing.assert_array_equal(plain.coef_, other.coef_)
    assert plain.coef_[0, 2] == pytest.approx(0, abs=1e-12)
    tiny = machine(loss=loss, solver=solver).fit([[-1], [1]], ["a", "b"])
    assert tiny.predict([[-3], [3]]).tolist() == ["a", "b"]


@BOTH
def test_weights_are_repeats(rng, machine):
    """A row of weight three is three rows, one of weight zero none."""
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    times = rng.integers(0, 4, 60)
    for loss in LOSSES:
        weighted = machine(loss=loss).fit(X, y, times)
        repeated = machine(loss=loss).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)


@BOTH
def test_not_converged_is_said(rng, machine):
    X, y = rng.normal(size=(300, 5)) * 100, rng.integers(0, 3, 300)
    with pytest.warns(ConvergenceWarning, match=r"gap of class \d is .* max_iter"):
        model = machine(solver="dual", max_iter=2, random_state=0).fit(X, y)
    assert (model.gap_ > 1e-6 * model.objective_).any()
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        machine(solver="newton", loss="hinge", max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C must be .* got 0"),
        ({"C": "one"}, "C must be .*; got 'one'"),
        ({"loss": "log"}, "loss must be one of .*; got 'log'"),
        ({"solver": "sgd"}, "solver must be one of .*; got 'sgd'"),
        ({"tol": -1}, "tol must be .*; got -1"),
        ({"max_iter": 0.5}, "max_iter"),
        ({"max_iter": 2.5}, "whole number"),
        ({"intercept_scaling": 0}, "intercept_scaling must be .*; got 0"),
        ({"class_weight": "even"}, "class_weight='even'"),
        ({"class_weight": {0: 0.0, 1: 1.0}}, "above zero"),
    ],
)
def test_nonsense_is_refused(options, message):
    X, y = np.arange(8.0).reshape(4, 2), [0, 0, 1, 1]
    with pytest.raises(VerosimError, match=message):
        LinearSVM(**options).fit(X, y)


@BOTH
def test_columns_far_from_zero(rng, machine):
    """Offsets of 1e6 leave the squared hinge its digits; the hinge says what it could not do."""
    X, y = rng.normal(size=(5000, 20)), rng.integers(0, 2, 5000)
    X[y == 1] += 0.2
    X += 1e6
    model = machine().fit(X, y)
    assert model.gap_ <= 1e-6 * model.objective_
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = machine(loss="hinge").fit(X, y)
    assert {w.category for w in told} <= {ConvergenceWarning}
    assert (model.gap_ <= 1e-6 * model.objective_) or "rounding" in str(told[0].message)
    assert model.gap_ <= 1e-3 * model.objective_


def test_newton_reads_dense_rows_only():
    with pytest.raises(VerosimError, match=r"solver='dual'"):
        LinearSVM(solver="newton").fit(sparse.csr_matrix(np.eye(4)), [0, 0, 1, 1])
