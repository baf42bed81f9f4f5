"""Logistic regression: separable rows, stochastic descent, warnings and errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris

import verosim
from verosim.errors import ConvergenceWarning, VerosimError, VerosimWarning
from verosim.twins.logistic import LogisticRegression
from verosim.twins.solvers.softmax import Softmax
from verosim.twins.solvers.start import generative_start, middle, subsample

NO_WEIGHTS = np.empty(0)


def two_classes(n=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ np.arange(1, d + 1)))).astype(int)
    return X, y


def apart(n=60, classes=2):
    """Rows a hyperplane parts: clusters far from one another."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 2)) + 20 * np.eye(classes, 2)[y], y


def quietly(model, *rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(*rows)


# Separable rows -------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
@pytest.mark.parametrize("classes", [2, 3])
def test_separable_rows_without_penalty_get_a_slight_one(solver, classes):
    X, y = apart(classes=classes)
    with pytest.warns(ConvergenceWarning, match="separates the classes") as told:
        model = LogisticRegression(C=np.inf, solver=solver).fit(X, y)
    assert len(told) == 1
    assert np.isfinite(model.coef_).all()
    assert model.regularisation_ > 0
    assert f"{model.regularisation_:.3g}" in str(told[0].message)
    assert (model.predict(X) == y).all()
    same = LogisticRegression(C=1 / model.regularisation_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same.fit(X, y)
    np.testing.assert_allclose(same.coef_, model.coef_, rtol=1e-4)


def test_wide_sparse_rows_are_separable_too():
    rng = np.random.default_rng(0)
    X = sparse.random(80, 3000, 0.02, "csr", random_state=0)
    y = rng.integers(0, 2, 80)
    with pytest.warns(ConvergenceWarning, match="separates the classes"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert (model.predict(X) == y).all()


def test_a_weak_penalty_on_separable_rows_is_told_once():
    X, y = apart()
    with pytest.warns(VerosimWarning, match="only the penalty keeps the weights finite") as told:
        LogisticRegression(C=1e8).fit(X, y)
    assert len(told) == 1


def test_separable_rows_with_the_usual_penalty_need_no_warning():
    X, y = apart()
    quietly(LogisticRegression(), X, y)
    X, y = load_iris(return_X_y=True)
    quietly(LogisticRegression(), X[:100], y[:100])


def test_overlapping_rows_without_penalty_need_none():
    model = quietly(LogisticRegression(C=np.inf), *two_classes())
    assert model.regularisation_ == 0


def test_norm_grows_on_separable_rows_by_stochastic_descent():
    """‖w‖ without a penalty grows from pass to pass, and with one it does not."""
    X, y = apart(20)
    X = X - X.mean(axis=0)
    options = {"solver": "sgd", "tol": 0.0, "max_iter": 60, "decay": 0.0, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        free = LogisticRegression(C=np.inf, **options).fit(X, y)
        held = LogisticRegression(C=0.01, **options).fit(X, y)
    assert (np.diff(free.norm_curve_) > 0).all()
    assert held.norm_curve_[-1] < 0.8 * free.norm_curve_[-1]
    assert len(free.loss_curve_) == len(free.norm_curve_) == free.n_iter_ == 60
    assert free.loss_curve_[-1] < free.loss_curve_[0]


# Stochastic descent ---------------------------------------------------------------------


def test_one_row_at_a_time_as_written():
    """θ ← θ + η (t − σ(θᵀx)) x over the rows in order, the intercept among them."""
    X, y = two_classes(50)
    model = LogisticRegression(C=np.inf, solver="sgd", learning_rate=0.1, decay=0.0)
    model.partial_fit(X, y)
    theta = np.zeros(4)
    for x, t in zip(np.column_stack([X, np.ones(50)]), y, strict=True):
        theta += 0.1 * (t - 1 / (1 + np.exp(-theta @ x))) * x
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), theta, rtol=1e-10)


@pytest.mark.parametrize("batch", [1, 7])
def test_softmax_steps_as_written(batch):
    """Several classes, several rows a step, a penalty and a rate that falls."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::3] - X.mean(axis=0), y[::3]
    model = LogisticRegression(
        C=2.0, solver="sgd", learning_rate=0.3, decay=0.5, batch_size=batch
    ).partial_fit(X, y)
    n = len(y)
    W, b = np.zeros((3, 4)), np.zeros(3)
    for first in range(0, n, batch):
        rows = slice(first, first + batch)
        scores = X[rows] @ W.T + b
        p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        missed = np.eye(3)[y[rows]] - p
        eta = 0.3 * (1 + first / n) ** -0.5
        W = (1 - eta / (2.0 * n)) * W + eta * missed.T @ X[rows] / len(missed)
        b = b + eta * missed.mean(axis=0)
    np.testing.assert_allclose(model.coef_, W, rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-10)


def test_stochastic_descent_comes_near_the_minimum():
    X, y = two_classes(2000)
    best = LogisticRegression().fit(X, y)
    model = LogisticRegression(solver="sgd", random_state=0, max_iter=200).fit(X, y)
    assert best.objective_ <= model.objective_ <= best.objective_ * 1.002
    above = model.objective_ / best.objective_ - 1
    assert 0.5 * above < model.gap_ < 2 * above  # by the Hessian: near the minimum it is right


def test_stochastic_descent_repeats_by_its_seed_and_ignores_the_order_of_rows():
    X, y = two_classes(300)
    fit = LogisticRegression(solver="sgd", random_state=3).fit
    first = fit(X, y).coef_
    np.testing.assert_array_equal(clone(fit.__self__).fit(X, y).coef_, first)
    moved = np.random.default_rng(0).permutation(300)
    np.testing.assert_array_equal(fit(X[moved], y[moved]).coef_, first)
    assert (LogisticRegression(solver="sgd", random_state=4).fit(X, y).coef_ != first).any()


def test_partial_fit_goes_on_and_knows_its_classes():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(solver="sgd")
    model.partial_fit(X[:50], y[:50], classes=[0, 1, 2])  # one class among the first rows
    assert model.classes_.tolist() == [0, 1, 2]
    before = model.coef_
    model.partial_fit(X[50:], y[50:])
    assert (model.coef_ != before).any()
    assert model.n_iter_ == 2
    with pytest.raises(VerosimError, match="7"):
        model.partial_fit(X[:2], [0, 7])
    with pytest.raises(VerosimError, match="3 features"):
        model.partial_fit(X[:2, :3], y[:2])
    with pytest.raises(VerosimError, match="two or more classes"):
        LogisticRegression(solver="sgd").partial_fit(X[:50], y[:50])


def test_only_stochastic_descent_learns_by_parts():
    assert not hasattr(LogisticRegression(), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        LogisticRegression().partial_fit([[0.0], [1.0]], [0, 1])
    assert hasattr(LogisticRegression(solver="sgd"), "partial_fit")


def test_steps_too_long_are_an_error():
    X, y = two_classes(100)
    with pytest.raises(VerosimError, match="steps are too long"):
        LogisticRegression(solver="sgd", learning_rate=1e300, decay=0.0).fit(1e10 * X, y)


# Starts and stops -----------------------------------------------------------------------


def test_the_start_is_the_generative_answer():
    """At the start, the weights are LDA's closed form."""
    X, y = load_iris(return_X_y=True)
    objective = Softmax(X, y.astype(np.int32), NO_WEIGHTS, 3, 0.0, middle(X))
    B = generative_start(objective)
    lda = verosim.LDA().fit(X, y)
    scores = (X - objective.pivot) @ B[:-1] + B[-1]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, lda.predict_proba(X), atol=1e-8)


def test_a_sample_of_rows_stands_for_all():
    """Weights of the sample add up to each class's rows, rare classes are kept in full."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [9000, 980, 20]).astype(np.int32)
    objective = Softmax(rng.normal(size=(10_000, 3)), codes, NO_WEIGHTS, 3, 1.0, np.zeros(3))
    part = subsample(objective, 500, rng)
    assert len(part.codes) < 700
    mass = np.bincount(part.codes, part.weights)
    np.testing.assert_allclose(mass, [9000, 980, 20])
    assert (part.codes == 2).sum() == 20


def test_warm_start_needs_fewer_steps_and_ends_in_the_same_place():
    X, y = load_breast_cancer(return_X_y=True)
    cold = LogisticRegression(C=1.1, tol=1e-13).fit(X, y)
    model = LogisticRegression(C=1.0, warm_start=True, tol=1e-13).fit(X, y)
    model.set_params(C=1.1).fit(X, y)
    assert model.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(model.coef_, cold.coef_, atol=1e-7)


def test_warm_start_with_other_classes_or_columns_begins_anew():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(warm_start=True).fit(X, y)
    model.fit(X[:, :2], y)
    np.testing.assert_allclose(model.coef_, LogisticRegression().fit(X[:, :2], y).coef_, atol=1e-4)


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_columns_that_say_nothing(solver, C):
    """Constant columns, balanced classes: the start is the minimum."""
    model = quietly(LogisticRegression(C=C, solver=solver), np.ones((50, 2)), np.arange(50) % 2)
    assert not model.coef_.any()
    assert model.objective_ == pytest.approx(50 * np.log(2))


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
def test_a_category_of_one_class_only(solver):
    """Separable in part: no minimum is reached, but the objective is as near as asked, and the
    weights stay finite."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 200)
    y = rng.integers(0, 2, 200)
    y[group == 2] = 1
    model = quietly(LogisticRegression(C=np.inf, solver=solver), np.eye(3)[group], y)
    rest = [(group == g) & (y == c) for g in (0, 1) for c in (0, 1)]
    count = [int(at.sum()) for at in rest]
    least = -sum(
        k * np.log(k / (count[i] + count[i + 1])) for i in (0, 2) for k in count[i : i + 2]
    )
    assert model.objective_ == pytest.approx(least, rel=1e-8)
    assert np.abs(model.coef_).max() < 50


def test_stopped_early_says_how_far_it_is():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"above its minimum.*max_iter=2") as told:
        model = LogisticRegression(max_iter=2).fit(X, y)
    assert len(told) == 1
    assert model.gap_ > 1e-9
    with pytest.warns(
        ConvergenceWarning, match="Stochastic gradient descent stopped after 2 passes"
    ):
        LogisticRegression(solver="sgd", max_iter=2).fit(X / X.std(axis=0), y)


@pytest.mark.parametrize("classes", [2, 3])
def test_gap_is_honest(classes):
    """What `gap_` says is left is what is left, to a factor of ten."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 6))
    y = (X @ rng.normal(size=(6, classes)) + rng.gumbel(size=(30_000, classes))).argmax(axis=1)
    least = LogisticRegression(solver="newton", tol=1e-15).fit(X, y).objective_
    for tol in (1e-5, 1e-7, 1e-9):
        model = LogisticRegression(tol=tol).fit(X, y)
        assert model.gap_ <= tol
        codes = Softmax(X, y.astype(np.int32), NO_WEIGHTS, classes, 1.0, np.zeros(6))
        B = np.vstack([model.coef_.T, model.intercept_])
        assert codes.value(B)[0] / least - 1 < tol + 1e-12


def test_threads_do_not_change_the_answer():
    X, y = two_classes(20_000)
    many = LogisticRegression(tol=1e-13).fit(X, y)
    with verosim.use_threads(1):
        one = LogisticRegression(tol=1e-13).fit(X, y)
    np.testing.assert_allclose(one.coef_, many.coef_, rtol=1e-8)


# Bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"C": 0}, "C must be .* got 0"),
        ({"C": -1.0}, "C must be .* got -1.0"),
        ({"C": float("nan")}, "C must be .* got nan"),
        ({"solver": "adam"}, "solver must be one of .*; got 'adam'"),
        ({"tol": -1.0}, "tol must be .*; got -1.0"),
        ({"max_iter": 0}, "max_iter must be .*; got 0"),
        ({"batch_size": 0}, "batch_size must be .*; got 0"),
        ({"class_weight": {5: 1.0}}, "class_weight"),
    ],
)
def test_settings_that_make_no_sense(options, told):
    with pytest.raises(VerosimError, match=told):
        LogisticRegression(**options).fit(*two_classes(50))


def test_rows_that_cannot_be_learnt_from():
    X, y = two_classes(50)
    with pytest.raises(VerosimError, match="one class"):
        LogisticRegression().fit(X, np.zeros(50))
    with pytest.raises(VerosimError, match="weight"):
        LogisticRegression().fit(X, y, np.zeros(50))
    X[3, 1] = np.nan
    with pytest.raises(VerosimError, match=r"x1.*row 3|row 3.*x1"):
        LogisticRegression().fit(X, y)


def test_newton_refuses_a_hessian_beyond_memory():
    X = np.zeros((10, 30_000))
    with pytest.raises(VerosimError, match="Hessian of 30,001 weights"):
        LogisticRegression(solver="newton").fit(X, np.arange(10) % 2)
