"""The generative side: samples, densities, boundaries, parameters counted, rows needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import verosim
from verosim import estimators

X, y = load_iris(return_X_y=True)
# TextNB and TextRidge read texts, and LiftedLDA is not a density of the columns.
ROWS = [name for name in estimators.__all__ if name not in ("TextNB", "TextRidge", "LiftedLDA")]
GAUSSIAN = [verosim.QDA, verosim.LDA, verosim.RDA, verosim.NaiveLDA, verosim.GaussianNB]


@pytest.mark.parametrize("estimator", GAUSSIAN)
def test_samples_recover_the_parameters(estimator):
    model = estimator().fit(X, y)
    drawn, labels = model.sample(60_000, random_state=1)
    assert drawn.shape == (60_000, 4)
    again = type(model)(**model.get_params()).fit(drawn, labels)
    np.testing.assert_allclose(again.class_prior_, model.class_prior_, atol=0.02)
    np.testing.assert_allclose(again.means_, model.means_, atol=0.03)
    if estimator is not verosim.RDA:  # whose covariance is not the rows' own
        np.testing.assert_allclose(again.covariances_, model.covariances_, atol=0.02)


@pytest.mark.parametrize(
    "name", ["CategoricalNB", "BernoulliNB", "HistogramNB", "JointHistogram", "MultinomialNB"]
)
def test_samples_of_counts_recover_the_posteriors(name):
    Z = np.round(X)
    settings = {"binarize": 3.0} if name == "BernoulliNB" else {}
    model = getattr(verosim, name)(alpha=1e-3, **settings).fit(Z, y)
    drawn, labels = model.sample(40_000, random_state=1)
    again = clone(model).set_params(
        **({"bins": model.bin_edges_} if "bins" in model.get_params() else {})
    )
    again.fit(drawn, labels)
    np.testing.assert_allclose(again.predict_proba(Z), model.predict_proba(Z), atol=0.1)


@pytest.mark.parametrize("name", ROWS)
def test_sample_of_a_given_class(name):
    model = getattr(verosim, name)().fit(X, np.array(["s", "v", "w"])[y])
    drawn, labels = model.sample(5, y="v", random_state=0)
    assert labels.tolist() == ["v"] * 5
    again, _ = model.sample(5, y="v", random_state=0)
    np.testing.assert_array_equal(drawn, again)
    _, labels = model.sample(3, y=["w", "s", "w"], random_state=0)
    assert labels.tolist() == ["w", "s", "w"]
    assert len(model.sample(0)[0]) == 0
    for n, label in ((1, "z"), (-1, None), (2.5, None), (2, [["s"], ["v"]]), (5, ["s", "v"])):
        with pytest.raises(verosim.VerosimError):
            model.sample(n, y=label)


@pytest.mark.parametrize("name", ROWS)
def test_the_three_forms_agree(name):
    """posterior = softmax of δ, p(x) = Σ exp δ, decision = δ up to what classes share"""
    model = getattr(verosim, name)().fit(X, y)
    joint = model.log_joint(X)
    evidence = logsumexp(joint, axis=1)
    np.testing.assert_allclose(model.predict_log_proba(X), joint - evidence[:, None], atol=1e-9)
    np.testing.assert_allclose(
        model.predict_proba(X), np.exp(model.predict_log_proba(X)), atol=1e-12
    )
    if name != "ComplementNB":  # whose scores are no density
        np.testing.assert_allclose(model.log_density(X), evidence, atol=1e-9)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores - scores[:, :1], joint - joint[:, :1], atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    two = getattr(verosim, name)().fit(X[:100], y[:100])
    difference = two.log_joint(X[:100])
    np.testing.assert_allclose(
        two.decision_function(X[:100]), difference[:, 1] - difference[:, 0], atol=1e-8
    )


def test_novelty_is_log_density():
    model = verosim.QDA().fit(X, y)
    assert model.log_density([[50.0, 50, 50, 50]])[0] < model.log_density(X).min() - 100


@pytest.mark.parametrize("estimator", GAUSSIAN)
@pytest.mark.parametrize("offset", [0.0, 2.0**27])
def test_boundaries_are_where_discriminants_tie(estimator, offset):
    Z = np.round(load_wine(return_X_y=True)[0][:, :4] * 1024) / 1024
    labels = np.array(["a", "b", "c"])[load_wine(return_X_y=True)[1]]
    model = estimator().fit(Z + offset, labels)
    for i, j in (("a", "b"), ("c", "a")):
        line = model.boundary(i, j)
        joint = model.log_joint(Z + offset)
        a, b = "abc".index(i), "abc".index(j)
        np.testing.assert_allclose(
            line(Z + offset), joint[:, a] - joint[:, b], rtol=1e-7, atol=1e-7
        )
        assert line.is_linear == (estimator in (verosim.LDA, verosim.NaiveLDA))
    # walk from one mean to the other and stop where the equation is zero: the classes tie there
    low, high = model.means_[0], model.means_[1]
    line = model.boundary("a", "b")
    left, right = 0.0, 1.0
    for _ in range(80):
        middle = (left + right) / 2
        left, right = (middle, right) if line(low + middle * (high - low)) > 0 else (left, middle)
    tie = model.log_joint((low + left * (high - low))[None])[0]
    assert tie[0] == pytest.approx(tie[1], abs=1e-5)


def test_a_boundary_prints_its_equation():
    model = verosim.LDA().fit(X[:, :2], y)
    text = str(model.boundary(0, 1))
    assert text.endswith("= 0")
    assert "x0" in text
    assert "²" not in text
    assert "²" in str(verosim.QDA().fit(X[:, :2], y).boundary(0, 1))
    line = model.boundary(0, 1)
    np.testing.assert_allclose(
        verosim.bayes.Quadratic(line.A, line.b, line.c)(X[:, :2]), line(X[:, :2])
    )
    for i, j in ((0, 9), ([0], 1)):
        with pytest.raises(verosim.VerosimError, match=r"not one of the model's classes|i must be"):
            model.boundary(i, j)


def test_parameters_are_counted():
    """K − 1 priors, Kd means, d(d + 1)/2 per full covariance, d per diagonal."""
    d, K, n = 4, 3, 150
    counts = verosim.theory.parameter_counts(d, K, n, bins=10)
    assert counts["QDA"] == (K - 1) + K * d + K * d * (d + 1) // 2 == 44
    assert counts["kNN"] == d * n
    for name in ("QDA", "LDA", "GaussianNB", "NaiveLDA", "BernoulliNB", "MultinomialNB"):
        assert getattr(verosim, name)().fit(X, y).n_parameters_ == counts[name], name
    edges = [np.linspace(0, 8, 11)] * d
    assert verosim.HistogramNB(bins=edges).fit(X, y).n_parameters_ == counts["HistogramNB"]
    assert verosim.JointHistogram(bins=edges).fit(X, y).n_parameters_ == counts["JointHistogram"]
    assert verosim.QDA(priors=np.full(3, 1 / 3)).fit(X, y).n_parameters_ == counts["QDA"] - 2
    cats = verosim.CategoricalNB().fit(np.round(X), y)
    assert verosim.RDA().fit(X, y).n_parameters_ == counts["RDA"]
    assert verosim.ComplementNB().fit(X, y).n_parameters_ == counts["ComplementNB"]
    assert cats.n_parameters_ == 2 + 3 * sum(len(v) - 1 for v in cats.categories_)


def test_rows_that_are_enough(rng):
    n = verosim.theory.rows_for_priors(0.05, 0.1, n_classes=3)
    assert n == int(np.ceil(np.log(2 * 3 / 0.1) / (2 * 0.05**2)))
    truth = np.array([0.5, 0.3, 0.2])
    off = np.abs(rng.multinomial(n, truth, 2000) / n - truth).max(axis=1) > 0.05
    assert off.mean() <= 0.1
    assert verosim.theory.rows_for_gaussian(10, 0.1) == 10_000
    assert verosim.theory.rows_for_histogram(5, 10) == 10**6
    assert verosim.theory.rows_for_histogram(5, 10, naive=True) == 100
    assert verosim.theory.rows_for_histogram(50, 10, naive=True) == 100  # for any number of columns
    assert verosim.theory.rows_for_priors(1, 0.1, 2) == 2  # an error of 1 is allowed
    assert verosim.theory.rows_for_gaussian(10, 1) == 100
    for epsilon, delta, n_classes in ((0, 0.1, 2), (1.01, 0.1, 2), (0.1, 2, 2), (0.1, 0.1, 0)):
        with pytest.raises(verosim.VerosimError):
            verosim.theory.rows_for_priors(epsilon, delta, n_classes)
    for delta in (0, 1, -0.1):
        with pytest.raises(verosim.VerosimError, match="delta must be between 0 and 1"):
            verosim.theory.rows_for_histogram(5, 10, delta=delta)


@pytest.mark.parametrize("naive", [True, False])
@pytest.mark.parametrize(("d", "bins", "m"), [(3, 4, 10), (2, 6, 1), (4, 3, 50)])
def test_rows_that_fill_every_cell(rng, naive, d, bins, m):
    """With delta, all cells contain m rows at least this often; the bound is not far too large."""
    n = verosim.theory.rows_for_histogram(d, bins, m, naive=naive, delta=0.1)
    average = verosim.theory.rows_for_histogram(d, bins, m, naive=naive)
    per_row = [bins] * d if naive else [bins**d]
    repeats = 400

    def some_cell_is_short(n):
        least = [rng.multinomial(n, np.full(B, 1 / B), repeats).min(axis=1) for B in per_row]
        return (np.min(least, axis=0) < m).mean()

    assert some_cell_is_short(n) <= 0.1
    assert some_cell_is_short(average) > 0.5
    assert some_cell_is_short(n // 3) > 0.1
    more = verosim.theory.rows_for_histogram(10 * d, bins, m, naive=True, delta=0.1)
    naive_rows = verosim.theory.rows_for_histogram(d, bins, m, naive=True, delta=0.1)
    assert naive_rows < more < 1.7 * naive_rows  # columns count by their logarithm
    assert verosim.theory.rows_for_histogram(2000, 10, naive=False, delta=0.1) > 10**2000


def test_lda_is_nearest_mean_after_whitening():
    model = verosim.LDA(priors="uniform").fit(X, y)
    assert (model.mahalanobis(X).argmin(axis=1) == model.predict(X)).all()
    projected = model.transform(X)
    centres = model.transform(model.means_)
    nearest = ((projected[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest, model.predict(X))
    within = projected - centres[y]
    np.testing.assert_allclose(within.T @ within / len(y), np.eye(2), atol=1e-10)


def test_among_scikit_learn_tools():
    assert cross_val_score(verosim.LDA(), X, y, cv=5).mean() > 0.95
    pipe = make_pipeline(StandardScaler(), verosim.LDA(n_components=2), verosim.QDA())
    assert pipe.fit(X, y).score(X, y) > 0.95
    search = GridSearchCV(verosim.RDA(), {"pooling": [0, 0.5, 1], "shrinkage": [0, 0.1]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.95
    calibrated = CalibratedClassifierCV(verosim.GaussianNB(), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    out = verosim.LDA().set_output(transform="pandas").fit(X, y).transform(X)
    assert list(out.columns) == ["lda0", "lda1"]


def test_far_classes_do_not_spoil_near_ones():
    """One class 1e9 deviations away leaves the decision between two near ones exact."""
    rng = np.random.default_rng(0)
    Z = np.r_[rng.normal(0, 1, (200, 1)), rng.normal(3, 1, (200, 1)), rng.normal(1e9, 1, (200, 1))]
    labels = np.repeat([0, 1, 2], 200)
    for estimator in (verosim.LDA, verosim.NaiveLDA):
        near = estimator(floor=0).fit(Z[:400], labels[:400])
        all_three = estimator(floor=0).fit(Z, labels)
        assert (near.predict(Z[:400]) == all_three.predict(Z[:400])).mean() > 0.99


def test_rows_no_class_explains():
    model = verosim.GaussianNB().fit([[0.0], [1], [5], [6], [7]], [0, 0, 1, 1, 1])
    for score in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(verosim.VerosimError, match=r"1e\+200\) in column 'x0', row 0"):
            score([[1e200]])


def test_ledoit_wolf_survives_forgetting(rng):
    Z, labels = rng.normal(size=(1000, 5)), np.repeat([0, 1], 500)
    Z[3] = 1e5
    model = verosim.QDA(shrinkage="ledoit_wolf").fit(Z, labels).forget(Z[3:4], labels[3:4])
    keep = np.arange(1000) != 3
    again = verosim.QDA(shrinkage="ledoit_wolf").fit(Z[keep], labels[keep])
    np.testing.assert_allclose(model.covariances_, again.covariances_, atol=0.01)
    for scale in (1e60, 1e-60):
        scaled = verosim.QDA(shrinkage="ledoit_wolf").fit(Z * scale, labels)
        assert np.isfinite(scaled.predict_proba(Z * scale)).all()
    for scale in (1e80, 1e-80):  # a double does not hold the fourth powers
        with pytest.raises(verosim.VerosimError, match="needs the fourth powers"):
            verosim.QDA(shrinkage="ledoit_wolf").fit(Z * scale, labels)
