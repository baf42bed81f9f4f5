"""LeastSquares against numpy.linalg.lstsq, scikit-learn's regressions, and its own refits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from verosim import LDA, VerosimError, cross_validate, search
from verosim.twins.least_squares import LeastSquares

SETS = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,  # three columns are constant
}


@pytest.fixture(params=SETS)
def rows(request):
    return SETS[request.param](return_X_y=True)


def one_hot(y):
    return (y[:, None] == np.unique(y)).astype(float)


def values(model, X):
    return model.state_.params.log_ratio(np.asarray(X, dtype=float))


@parametrize_with_checks([LeastSquares(), LeastSquares(ridge=1.0)])
def test_check_estimator(estimator, check):
    check(estimator)


class TestSolution:
    def test_is_lstsq(self, rows):
        """Θ minimises ‖T − X̃Θ‖²: numpy's lstsq, with the column of ones."""
        X, y = rows
        wide = np.column_stack([np.ones(len(X)), X])
        theta = np.linalg.lstsq(wide, one_hot(y), rcond=None)[0]
        np.testing.assert_allclose(values(LeastSquares().fit(X, y), X), wide @ theta, atol=1e-9)

    def test_coefficients_are_those_of_least_norm(self, rows):
        X, y = rows
        peer = LinearRegression().fit(X, one_hot(y))
        coef, intercept = peer.coef_, peer.intercept_
        if len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        model = LeastSquares().fit(X, y)
        np.testing.assert_allclose(model.coef_, coef, atol=1e-9 * np.abs(coef).max())
        np.testing.assert_allclose(model.intercept_, intercept, atol=1e-8)

    def test_collinear_columns(self, rng):
        """Columns that depend on each other, in very different units."""
        X, y = load_iris(return_X_y=True)
        more = np.column_stack([X, 1e4 * (X[:, 0] + X[:, 1]), X[:, 2], np.ones(len(X))])
        model = LeastSquares().fit(more, y)
        peer = LinearRegression().fit(more, one_hot(y))
        assert model.rank_ == 4
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-10)
        np.testing.assert_allclose(values(model, more), peer.predict(more), atol=1e-9)

    def test_more_columns_than_rows(self, rng):
        X, y = rng.normal(size=(20, 50)), np.arange(20) % 3
        model = LeastSquares().fit(X, y)
        peer = LinearRegression().fit(X, one_hot(y))
        assert model.rank_ == 19
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-10)
        assert (model.predict(X) == y).all()

    @pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0])
    def test_ridge(self, rows, ridge):
        X, y = rows
        found = LeastSquares(ridge).fit(X, y).decision_function(X)
        peer = RidgeClassifier(alpha=ridge, solver="svd").fit(X, y).decision_function(X)
        found = found if found.ndim == 1 else 2 * found - 1  # its targets are −1 and 1
        np.testing.assert_allclose(found, peer, atol=1e-9)

    def test_weights(self, rows, rng):
        X, y = rows
        w = rng.integers(0, 4, len(y)).astype(float)
        twice = np.repeat(np.arange(len(y)), w.astype(int))
        np.testing.assert_allclose(
            values(LeastSquares().fit(X, y, w), X),
            values(LeastSquares().fit(X[twice], y[twice]), X),
            atol=1e-9,
        )

    def test_far_from_zero(self):
        X, y = load_iris(return_X_y=True)
        np.testing.assert_allclose(
            values(LeastSquares().fit(X + 1e6, y), X + 1e6),
            values(LeastSquares().fit(X, y), X),
            atol=1e-7,
        )

    def test_two_classes_have_ldas_direction(self):
        """Fisher's: least squares and LDA agree on w up to its length (ESL, exercise 4.2)."""
        X, y = load_breast_cancer(return_X_y=True)
        a, b = LeastSquares().fit(X, y).coef_[0], LDA().fit(X, y).coef_[0]
        np.testing.assert_allclose(a / np.linalg.norm(a), b / np.linalg.norm(b), atol=1e-9)

    def test_values_sum_to_one(self, rows):
        X, y = rows
        np.testing.assert_allclose(values(LeastSquares().fit(X, y), X).sum(axis=1), 1, atol=1e-9)


class TestAlgebra:
    def test_merge_forget_stream(self, rows):
        X, y = rows
        whole = LeastSquares().fit(X, y)
        order = np.random.default_rng(0).permutation(len(y))
        first, second = np.array_split(order, 2)
        a, b = (LeastSquares().fit(X[half], y[half]) for half in (first, second))
        scale = np.abs(whole.coef_).max()
        np.testing.assert_allclose((a + b).coef_, whole.coef_, atol=1e-9 * scale)
        back = (a + b).forget(X[second], y[second])
        np.testing.assert_allclose(back.coef_, a.coef_, atol=1e-8 * np.abs(a.coef_).max())
        piecewise = LeastSquares()
        for part in np.array_split(order, 7):
            piecewise.partial_fit(X[part], y[part])
        np.testing.assert_allclose(piecewise.coef_, whole.coef_, atol=1e-9 * scale)

    def test_table(self, tmp_path):
        frame = load_iris(as_frame=True).frame
        frame.to_csv(tmp_path / "iris.csv", index=False)
        model = LeastSquares().fit(tmp_path / "iris.csv", "target")
        X, y = load_iris(return_X_y=True)
        np.testing.assert_allclose(model.coef_, LeastSquares().fit(X, y).coef_, atol=1e-12)

    def test_ridge_needs_no_data(self):
        X, y = load_wine(return_X_y=True)
        model = LeastSquares().fit(X, y).set_params(ridge=3.0)
        np.testing.assert_array_equal(model.coef_, LeastSquares(3.0).fit(X, y).coef_)

    def test_ldas_statistic_serves(self):
        """One pass for both: LDA + LeastSquares is the LDA of all rows."""
        X, y = load_wine(return_X_y=True)
        both = LDA().fit(X[::2], y[::2]) + LeastSquares().fit(X[1::2], y[1::2])
        np.testing.assert_allclose(both.coef_, LDA().fit(X, y).coef_, rtol=1e-8)


class TestHeldOut:
    @pytest.mark.parametrize("ridge", [0.0, 2.0])
    def test_folds_are_refits(self, rows, ridge):
        X, y = rows
        model = LeastSquares(ridge)
        found = cross_validate(model, X, y, cv=5)
        for f in range(5):
            held = found.folds == f
            peer = clone(model).fit(X[~held], y[~held])
            np.testing.assert_array_equal(found.predictions[held], peer.predict(X[held]))
        assert list(found.scores) == ["accuracy"]

    @pytest.mark.parametrize("ridge", [0.0, 2.0])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_leave_one_out_is_refits(self, ridge, weighted):
        """ŷ without row i = t − (t − ŷ)/(1 − h): the hat matrix against refitting."""
        X, y = load_wine(return_X_y=True)
        w = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
        model = LeastSquares(ridge)
        found = cross_validate(model, X, y, cv="loo", sample_weight=w)
        for i in range(0, len(y), 9):
            others = np.arange(len(y)) != i
            peer = clone(model).fit(X[others], y[others], None if w is None else w[others])
            expected = values(peer, X[i : i + 1])[0]
            expected = expected - np.log(np.exp(expected).sum())
            np.testing.assert_allclose(found.log_proba[i], expected, atol=1e-10)

    def test_leave_one_out_of_a_lonely_row(self, rng):
        """A row that alone varies a column: without it the rank falls, and so it is refitted."""
        X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
        X[:, 2] = 0.0
        X[7, 2] = 5.0
        found = cross_validate(LeastSquares(), X, y, cv="loo")
        others = np.arange(30) != 7
        expected = values(LeastSquares().fit(X[others], y[others]), X[7:8])[0]
        expected = expected - np.log(np.exp(expected).sum())
        np.testing.assert_allclose(found.log_proba[7], expected, atol=1e-10)

    def test_search_goes_by_accuracy(self):
        X, y = load_iris(return_X_y=True)
        found = search(LeastSquares(), X, y, {"ridge": [0, 10, 1000]})
        assert found.scoring == "accuracy"
        assert found.best_settings == {"ridge": 10}

    def test_no_probabilities(self):
        X, y = load_iris(return_X_y=True)
        for scoring in ("neg_log_loss", "roc_auc_ovr"):
            with pytest.raises(VerosimError, match="probabilities, and this model gives none"):
                cross_validate(LeastSquares(), X, y, scoring=scoring)
        assert not hasattr(LeastSquares(), "predict_proba")


class TestSignedDistance:
    """r(x) = y(x)/‖w‖: moving a row by r against the normal puts it on the boundary."""

    def test_two_classes(self):
        X, y = load_breast_cancer(return_X_y=True)
        model = LeastSquares(1.0).fit(X, y)
        r = model.signed_distance(X)
        w = model.coef_[0]
        feet = X - r[:, None] * w / np.linalg.norm(w)
        np.testing.assert_allclose(model.decision_function(feet), 0, atol=1e-9)
        np.testing.assert_array_equal(r > 0, model.predict(X) == 1)

    @pytest.mark.parametrize("make", [LeastSquares, LDA])
    def test_several_classes(self, make):
        """Inside a region nothing within r changes the decision, and just beyond something does."""
        X, y = load_iris(return_X_y=True)
        model = make().fit(X, y)
        r = model.signed_distance(X)
        own = r.argmax(axis=1)
        np.testing.assert_array_equal(model.classes_[own], model.predict(X))
        assert ((r > 0).sum(axis=1) == 1).all()
        for i in range(0, 150, 10):
            k = own[i]
            faces = [
                (w, np.linalg.norm(w)) for j, w in enumerate(model.coef_[k] - model.coef_) if j != k
            ]
            step = max(r[i, k], 0)
            inside = [X[i] - 0.999 * step * w / norm for w, norm in faces]
            beyond = [X[i] - 1.001 * step * w / norm for w, norm in faces]
            assert (model.predict(inside) == model.classes_[k]).all()
            assert (model.predict(beyond) != model.classes_[k]).any()


class TestBadInput:
    def test_one_class(self):
        with pytest.raises(VerosimError, match="one class, 'a'"):
            LeastSquares().fit([[1.0], [2.0]], ["a", "a"])

    def test_negative_ridge(self):
        with pytest.raises(VerosimError, match=r"ridge must be .*; got -1"):
            LeastSquares(-1).fit([[1.0], [2.0]], [0, 1])

    def test_missing_cell(self):
        with pytest.raises(VerosimError, match="NaN in column 'x0', row 1"):
            LeastSquares().fit([[1.0], [np.nan], [2.0]], [0, 1, 1])
