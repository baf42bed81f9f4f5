"""What odd rows did to the twins once, and must not again."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import verosim
from verosim import ConvergenceWarning, VerosimError


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits])
def test_slight_penalty_is_slight_whatever_the_units(load):
    """Separable rows in raw units without a penalty: parted without a mistake, weights finite."""
    X, y = load(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="separates the classes without errors"):
        model = verosim.LogisticRegression(C=np.inf).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
def test_a_row_a_class(solver, rng):
    X = rng.normal(size=(5, 3))
    with pytest.warns(ConvergenceWarning, match="separates the classes"):
        model = verosim.LogisticRegression(C=np.inf, solver=solver).fit(X, np.arange(5))
    np.testing.assert_array_equal(model.predict(X), np.arange(5))


@pytest.mark.parametrize("size", [1e2, 1e5, 1e10])
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
def test_warm_start_from_nonsense(size, solver, iris, rng):
    """The minimum is the same from wherever the descent begins."""
    X, y = iris
    expected = verosim.LogisticRegression(solver=solver, tol=1e-12).fit(X, y)
    model = verosim.LogisticRegression(solver=solver, tol=1e-12, warm_start=True).fit(X, y)
    model.coef_ = size * rng.normal(size=model.coef_.shape)
    model.intercept_ = size * rng.normal(size=3)
    np.testing.assert_allclose(model.fit(X, y).coef_, expected.coef_, atol=1e-5)


def test_strong_penalty_on_wide_rows_is_no_alarm(rng):
    X, y = rng.normal(size=(60, 200)), np.arange(60) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = verosim.LogisticRegression(C=1e-3).fit(X, y)
    assert model.gap_ < 1e-9


def test_wide_columns_that_say_nearly_the_same(rng):
    """The diagonal tells little of these: the Hessian is made after all, and the minimum found."""
    X = rng.normal(size=(1500, 5)) @ rng.normal(size=(5, 650)) + 0.02 * rng.normal(size=(1500, 650))
    y = (X[:, 0] + rng.normal(size=1500) > 0).astype(int)
    found = verosim.LogisticRegression(C=100).fit(X, y)
    exact = verosim.LogisticRegression(C=100, solver="newton").fit(X, y)
    assert found.objective_ <= exact.objective_ * (1 + 2e-9)


def test_descent_that_settles_far_off_says_so():
    """Wine's columns differ a thousandfold: no one step suits them all."""
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="Scale the columns"):
        model = verosim.LogisticRegression(solver="sgd", random_state=0).fit(X, y)
    assert model.objective_ > 5 * verosim.LogisticRegression().fit(X, y).objective_


def test_hinge_on_raw_columns_goes_on_to_newton():
    X, y = load_breast_cancer(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = verosim.LinearSVM(loss="hinge", random_state=1).fit(X, y)
    assert (model.gap_ <= 1e-6 * model.objective_).all()


@pytest.mark.parametrize(
    "model", [verosim.LDA(missing="marginalise"), verosim.NaiveLDA()], ids=repr
)
def test_a_row_with_holes_has_no_distance(model, iris):
    X, y = iris
    with pytest.raises(VerosimError, match="column 'x1', row 2"):
        model.fit(X, y).signed_distance(np.where([[0], [0], [1]] * np.eye(4)[1], np.nan, X[:3]))


@pytest.mark.parametrize("make", [verosim.MultinomialNB, verosim.BernoulliNB, verosim.ComplementNB])
@pytest.mark.parametrize("classes", [2, 3])
def test_distances_of_counts(make, classes, rng):
    """Linear in counts, or in presence: the sign is the decision."""
    X, y = rng.poisson(1, (80, 6)).clip(0, 1), rng.integers(0, classes, 80)
    model = make().fit(X, y)
    r = model.signed_distance(X)
    own = (r > 0).astype(int) if classes == 2 else r.argmax(axis=1)
    clear = np.abs(r if classes == 2 else r.max(axis=1)) > 1e-12
    np.testing.assert_array_equal(model.classes_[own][clear], model.predict(X)[clear])


class TestTwin:
    def test_absurd_weights_of_the_model_are_no_start(self, iris):
        """Constant columns within a class make weights of 1e10; the twin is not led astray."""
        X, y = iris
        flags = (X.mean(axis=0) < X).astype(float)
        assert verosim.Twin(verosim.GaussianNB()).fit(flags, y).score(flags, y) > 0.7

    def test_holes_at_predict_only(self, iris):
        X, y = iris
        model = verosim.GaussianNB().fit(X, y)
        fresh = np.where(np.arange(4) == 1, np.nan, X[:20])
        other = verosim.twin(model)
        np.testing.assert_allclose(other.predict_proba(fresh), model.predict_proba(fresh))
        assert np.isfinite(other.fit(X, y).predict_proba(fresh)).all()

    def test_values_never_seen_keep_the_models_weight(self, rng):
        X, y = rng.integers(0, 3, (100, 4)), rng.integers(0, 2, 100)
        model = verosim.CategoricalNB().fit(X, y)
        other = verosim.twin(model)
        new = [name.endswith("is new") for name in other.features_]
        before = other.coef_[:, new].copy()
        np.testing.assert_array_equal(other.fit(X, y).coef_[:, new], before)

    def test_other_columns(self, iris):
        X, y = iris
        with pytest.raises(VerosimError, match="X has 2 features"):
            verosim.twin(verosim.LDA().fit(X, y)).fit(X[:, :2], y)

    def test_one_class_by_weight(self, iris):
        X, y = iris
        labels = np.where(y == 1, "b", "a")
        with pytest.raises(VerosimError, match=r"Twin needs at least two classes.*'b'"):
            verosim.Twin(verosim.LDA()).fit(X, labels, sample_weight=(y == 1) * 1.0)

    def test_gap_is_not_the_penaltys(self, iris):
        """Of several strengths the twin has the one that serves it best."""
        X, y = iris
        found = verosim.generative_gap(verosim.LDA(), X, y)
        weak = verosim.generative_gap(verosim.LDA(), X, y, C=0.01)
        assert found.losses()[1].mean() < weak.losses()[1].mean()
        assert found.C > 0.01


class TestCompare:
    def test_nothing_to_compare(self, iris):
        X, y = iris
        X = np.where(np.eye(150, 4) > 0, np.nan, X)
        models = {"f": verosim.LogisticRegression(), "nb": verosim.NaiveLDA()}
        with pytest.warns(verosim.VerosimWarning, match="fits failed"):
            found = verosim.compare(models, X, y, sizes=[100], repeats=2)
        assert "no size has values of both models" in str(found)

    def test_order_in_memory_does_not_matter(self, iris):
        X, y = iris
        models = [verosim.NaiveLDA(), verosim.LDA()]
        first = verosim.compare(models, X, y, sizes=[20], repeats=2)
        more = verosim.compare(models, np.asfortranarray(X), y, sizes=[20], repeats=3, resume=first)
        assert more.repeats == 3


def test_weights_that_overflow_are_refused():
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 5)
    X = np.column_stack([3e60 * y, 1e-114 * rng.normal(size=10)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.VerosimWarning)
        with pytest.raises(verosim.VerosimError, match="weights of the model overflow"):
            verosim.Twin(verosim.LDA(shrinkage=0.1)).fit(X, y)
