"""What the perceptron promises: it ends where classes can be parted, and says where not."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_circles
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from verosim.errors import ConvergenceWarning, VerosimError
from verosim.twins.perceptron import Perceptron


@pytest.mark.parametrize("gap", [0.5, 0.1, 0.02])
def test_novikoff(gap, rng):
    """At most (R/γ)² mistakes where a unit θ parts the classes by γ and rows are no longer than R
    (Novikoff 1962), and then none."""
    w = rng.normal(size=5)
    w /= np.linalg.norm(w)
    X = rng.normal(size=(3000, 5))
    X = X[np.abs(X @ w) >= gap]
    y = (X @ w > 0).astype(int)
    model = Perceptron(fit_intercept=False, max_iter=100_000, random_state=0).fit(X, y)
    R, gamma = np.linalg.norm(X, axis=1).max(), np.abs(X @ w).min()
    assert model.converged_
    assert model.mistakes_[-1] == 0
    assert model.mistakes_.sum() <= (R / gamma) ** 2
    assert model.criterion_[-1] == 0
    assert (model.predict(X) == y).all()


def test_several_classes_that_can_be_parted(rng):
    """Kesler's construction makes it one perceptron: R² = 2 max‖φ‖², γ of the joint θ."""
    theta = rng.normal(size=(4, 3))
    theta /= np.linalg.norm(theta)
    X = rng.normal(size=(2000, 3))
    scores = np.sort(X @ theta.T, axis=1)
    X = X[scores[:, -1] - scores[:, -2] > 0.05]
    y = np.argmax(X @ theta.T, axis=1)
    scores = np.sort(X @ theta.T, axis=1)
    model = Perceptron(fit_intercept=False, max_iter=100_000, random_state=0).fit(X, y)
    bound = 2 * (X**2).sum(axis=1).max() / (scores[:, -1] - scores[:, -2]).min() ** 2
    assert model.converged_
    assert model.mistakes_.sum() <= bound
    assert (model.predict(X) == y).all()


def test_classes_that_cannot_be_parted_are_said(rng):
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    with pytest.warns(ConvergenceWarning, match=r"\d+ mistakes .*averaged=True.*features=") as told:
        model = Perceptron(max_iter=7, random_state=0).fit(X, y)
    assert len(told) == 1
    assert f"{model.mistakes_[-1]} mistakes" in str(told[0].message)
    assert not model.converged_
    assert model.n_iter_ == 7 == len(model.criterion_)
    assert (model.criterion_ >= 0).all()


@pytest.mark.filterwarnings("ignore::verosim.errors.ConvergenceWarning")
def test_the_mean_settles_where_the_last_does_not():
    """Two of the irises overlap: from epoch to epoch the mean moves less, and errs less."""
    X, y = load_iris(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[50:]), y[50:]

    def scores(averaged):
        models = [Perceptron(averaged=averaged, random_state=0, max_iter=k) for k in range(20, 60)]
        return np.array([model.fit(X, y).score(X, y) for model in models])

    assert scores(True).std() < 0.5 * scores(False).std()
    assert scores(True).mean() > scores(False).mean()


def test_features_bend_the_boundary():
    X, y = make_circles(300, noise=0.03, factor=0.5, random_state=0)
    for features in ("polynomial", PolynomialFeatures(2), "fourier"):
        model = Perceptron(features, max_iter=1000, random_state=0).fit(X, y)
        assert model.converged_
        assert model.score(X, y) == 1
        assert model.n_features_in_ == 2
        assert model.coef_.shape == (1, model.features_.transform(X).shape[1])
    with pytest.warns(ConvergenceWarning):
        assert Perceptron(max_iter=20).fit(X, y).score(X, y) < 0.8


@pytest.mark.filterwarnings("ignore::verosim.errors.ConvergenceWarning")
def test_fourier_is_decided_by_the_seed(rng):
    X, y = rng.normal(size=(80, 3)), np.repeat(["a", "b"], 40)
    fits = [
        Perceptron("fourier", random_state=s, max_iter=500).fit(X, y).decision_function(X)
        for s in (1, 1, 2)
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


@pytest.mark.filterwarnings("ignore::verosim.errors.ConvergenceWarning")
def test_frames_pipelines_and_clones(rng):
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    y = (frame["a"] * frame["b"] > 0).to_numpy()
    model = Perceptron("polynomial", random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            model.predict(frame), clone(model).fit(frame, y).predict(frame)
        )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    with pytest.raises(VerosimError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))
    piped = make_pipeline(StandardScaler(), Perceptron(PolynomialFeatures(3))).fit(frame, y)
    assert piped.set_params(perceptron__features__degree=2).fit(frame, y)[-1].coef_.shape == (1, 10)
    # rows of zeros and twos, sparse or not
    counts = rng.poisson(0.5, (100, 4)).astype(float)
    labels = (counts[:, 0] * counts[:, 1] > counts[:, 2]).astype(int)
    for features in ("polynomial", "fourier"):
        fits = [
            Perceptron(features, random_state=0, max_iter=5).fit(given, labels)
            for given in (counts, sparse.csr_matrix(counts))
        ]
        np.testing.assert_allclose(
            fits[0].decision_function(counts), fits[1].decision_function(sparse.csr_array(counts)),
            rtol=1e-7, atol=1e-9,
        )  # fmt: skip


def test_a_transformer_reads_what_numbers_cannot_say():
    frame = pd.DataFrame({"colour": ["red", "blue", "red", "green"] * 5, "size": np.arange(20.0)})
    y = np.array(["yes", "no", "yes", "no"] * 5)
    features = make_column_transformer((OneHotEncoder(), ["colour"]))
    model = Perceptron(features).fit(frame, y)
    assert (model.predict(frame) == y).all()
    assert model.n_features_in_ == 2
    model.partial_fit(frame[:4], y[:4])
    assert model.converged_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "wavelet"}, "features must be 'polynomial', .* got 'wavelet'"),
        ({"features": 3}, "features must be .* got 3"),
        ({"max_iter": 0}, "max_iter must be .*; got 0"),
        ({"max_iter": 1.5}, "whole number"),
        ({"eta": 0}, "eta must be a finite number above 0; got 0"),
        ({"eta": "fast"}, "eta must be .*; got 'fast'"),
    ],
)
def test_nonsense_is_refused(options, message):
    with pytest.raises(VerosimError, match=message):
        Perceptron(**options).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.filterwarnings("ignore::verosim.errors.ConvergenceWarning")
def test_bad_rows_are_named(rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(VerosimError, match="one class"):
        Perceptron().fit(X, np.ones(6))
    with pytest.raises(VerosimError, match="one class"):
        Perceptron().partial_fit(X, np.ones(6), classes=[1])
    holed = X.copy()
    holed[4, 1] = np.nan
    y = [0, 1, 0, 1, 0, 1]
    for features in (None, "polynomial", "fourier"):
        with pytest.raises(VerosimError, match=r"'x1'.*row 4"):
            Perceptron(features).fit(holed, y)
        with pytest.raises(VerosimError, match=r"'x1'.*row 4"):
            Perceptron(features, random_state=0, max_iter=10_000).fit(X, y).predict(holed)
    with pytest.raises(VerosimError, match="every weight is zero"):
        Perceptron().partial_fit(X, y, sample_weight=np.zeros(6))
    model = Perceptron().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(VerosimError, match="not one of the model's classes"):
        model.partial_fit(X, [0, 1, 2, 1, 0, 1])
    with pytest.raises(VerosimError, match="3 features"):
        model.partial_fit(np.zeros((2, 3)), [0, 1])
