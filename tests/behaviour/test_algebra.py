"""Merge, forget, decay, stream: the model of the rows, by whatever road they came."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_wine

import verosim

EDGES = [np.linspace(-4, 4, 9)] * 4
MODELS = {
    "QDA": verosim.QDA(),
    "LDA": verosim.LDA(),
    "RDA": verosim.RDA(),
    "NaiveLDA": verosim.NaiveLDA(),
    "GaussianNB": verosim.GaussianNB(),
    "CategoricalNB": verosim.CategoricalNB(),
    "BernoulliNB": verosim.BernoulliNB(),
    "MultinomialNB": verosim.MultinomialNB(),
    "ComplementNB": verosim.ComplementNB(),
    "HistogramNB": verosim.HistogramNB(bins=EDGES),
    "JointHistogram": verosim.JointHistogram(bins=EDGES),
}
every_model = pytest.mark.parametrize("name", MODELS)


def make(name, rng, n=240, offset=0.0):
    y = rng.choice(["a", "b", "c"], n)
    X = rng.normal(size=(n, 4)) + 0.8 * (y == "b")[:, None] - (y == "c")[:, None]
    if name in ("CategoricalNB", "MultinomialNB", "ComplementNB"):
        X = np.abs(np.round(X))
    return copy.deepcopy(MODELS[name]), X + offset, y


@every_model
def test_merge_is_fit_on_both(name, rng):
    model, X, y = make(name, rng)
    A, B = slice(0, 100), slice(100, None)
    whole = model.fit(X, y).predict_proba(X)
    left, right = (copy.deepcopy(model).fit(X[s], y[s]) for s in (A, B))
    before = left.stats_.fingerprint()
    merged = left + right
    assert left.stats_.fingerprint() == before
    np.testing.assert_allclose(merged.predict_proba(X), whole, atol=1e-10)
    np.testing.assert_allclose(right.merge(left).predict_proba(X), whole, atol=1e-10)
    np.testing.assert_allclose(merged.class_count_, model.class_count_)
    np.testing.assert_allclose(sum([left, right]).predict_proba(X), whole, atol=1e-10)


@every_model
@pytest.mark.parametrize("weighted", [False, True])
def test_forget_is_fit_on_the_rest(name, weighted, rng):
    model, X, y = make(name, rng)
    y[200:] = "d"  # a class that exists only in what is forgotten
    X[205:] = np.round(X[205:]) + (7 if name == "CategoricalNB" else 0)  # and values
    w = rng.choice([0.1, 0.25, 1.0, 0.3], len(y)) if weighted else None
    part = lambda s: None if w is None else w[s]  # noqa: E731
    rest = copy.deepcopy(model).fit(X[:150], y[:150], sample_weight=part(slice(150)))
    model.fit(X, y, sample_weight=w)
    assert model.forget(X[150:], y[150:], sample_weight=part(slice(150, None))) is model
    assert model.classes_.tolist() == rest.classes_.tolist()
    np.testing.assert_allclose(model.predict_proba(X), rest.predict_proba(X), atol=1e-9)
    assert model.n_parameters_ == rest.n_parameters_


@pytest.mark.slow
@every_model
def test_streaming_in_any_chunks_and_order(name, rng):
    """Chunk size, row order and threads move no posterior by more than 1e-10."""
    model, X, y = make(name, rng)
    whole = model.fit(X, y).predict_proba(X)
    order = rng.permutation(len(y))
    shuffled = copy.deepcopy(model).fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.predict_proba(X), whole, atol=1e-10)
    for chunk in (1, 7, 64):
        parts = copy.deepcopy(MODELS[name])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", verosim.SingularWarning)
            for start in range(0, len(y), chunk):
                rows = order[start : start + chunk]
                parts.partial_fit(X[rows], y[rows])
        np.testing.assert_allclose(parts.predict_proba(X), whole, atol=1e-10)
    many = np.tile(X, (80, 1)), np.tile(y, 80)  # enough rows for threads to share
    for threads in (1, 2, 5):
        with verosim.use_threads(threads):
            again = copy.deepcopy(MODELS[name]).fit(
                *many, sample_weight=np.full(len(many[1]), 1 / 80)
            )
            np.testing.assert_allclose(again.predict_proba(X), whole, atol=1e-10)


@pytest.mark.parametrize("name", ["QDA", "LDA", "RDA", "NaiveLDA", "GaussianNB"])
def test_far_from_zero(name, rng):
    """At offset 1e8 chunks, order and threads agree to 1e-10, and with the model near zero."""
    model, X, y = make(name, rng, n=4000)
    X = np.round(X * 2**20) / 2**20  # so that adding the offset is exact
    near = copy.deepcopy(model).fit(X, y).predict_proba(X)
    far = X + 2.0**27
    whole = model.fit(far, y).predict_proba(far)
    np.testing.assert_allclose(whole, near, atol=1e-10)
    order = rng.permutation(len(y))
    parts = copy.deepcopy(MODELS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.SingularWarning)
        for start in range(0, len(y), 501):
            rows = order[start : start + 501]
            parts.partial_fit(far[rows], y[rows])
    np.testing.assert_allclose(parts.predict_proba(far), whole, atol=1e-10)
    for threads in (1, 2, 5):
        with verosim.use_threads(threads):
            big = copy.deepcopy(MODELS[name]).fit(np.tile(far, (6, 1)), np.tile(y, 6))
            np.testing.assert_allclose(big.predict_proba(far), whole, atol=1e-10)


def test_forgetting_a_gross_outlier_warns():
    """When the budget is gone it says so, and the variance is not silently zero."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), np.repeat(["a", "b"], 50)
    X[7, 1] = 1e9
    for model in (verosim.GaussianNB(), verosim.NaiveLDA(), verosim.QDA(), verosim.LDA()):
        model.fit(X, y)
        with pytest.warns(verosim.VerosimWarning) as caught:
            model.forget(X[7:8], y[7:8])
        (text,) = [str(w.message) for w in caught if w.category is verosim.PrecisionWarning]
        assert text.startswith("Column 'x1', class 'a'")
        assert "digits of the variance are correct" in text
        found = model.covariances_
        spread = found if found.ndim == 1 or model.stats_.layout == "diagonal" else (
            np.diagonal(found, axis1=-2, axis2=-1)
        )  # fmt: skip
        assert (spread > 0).all()
        assert np.isfinite(model.predict_proba(X)).all()


def test_forgetting_ordinary_rows_does_not_warn(rng):
    X, y = load_wine(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verosim.GaussianNB().fit(X, y).forget(X[:30], y[:30])
        binary = rng.integers(0, 2, (60, 3)).astype(float)
        binary[5:20, 0] = 0.0
        labels = np.repeat([0, 1], 30)
        verosim.GaussianNB().fit(binary, labels).forget(binary[:5], labels[:5])
        few, own = [[0.1], [0.2], [0.7], [0.9], [6.0], [7]], [0, 0, 0, 0, 1, 1]
        verosim.GaussianNB().fit(few, own).forget(few[:2], own[:2])


def test_forgetting_in_parts(rng):
    """A row forgotten by half its weight is still there; by both halves it is gone."""
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
    zero = y == 0
    model = verosim.GaussianNB().fit(X, y)
    half = np.full(20, 0.5)
    model.forget(X[zero], y[zero], sample_weight=half)
    assert model.class_count_.tolist() == [10, 20, 20]
    np.testing.assert_allclose(model.means_, verosim.GaussianNB().fit(X, y).means_, atol=1e-12)
    model.forget(X[zero], y[zero], sample_weight=half)
    assert model.classes_.tolist() == [1, 2]
    words = verosim.CategoricalNB().fit([["a"], ["b"], ["b"], ["a"]], [0, 0, 1, 1])
    words.forget([["a"], ["a"]], [0, 1], sample_weight=[0.5, 0.5])
    assert words.categories_ == [["a", "b"]]


@every_model
def test_forgetting_rows_that_were_never_there(name, rng):
    model, X, y = make(name, rng)
    model.fit(X, y)
    before = model.stats_.fingerprint()
    a = y == "a"
    with pytest.raises(verosim.VerosimError, match=r"Class 'a'.*more would be forgotten"):
        model.forget(np.tile(X[a], (3, 1)), np.tile(y[a], 3))
    with pytest.raises(verosim.VerosimError, match="'zebra' is not one of the model's classes"):
        model.forget(X[:1], ["zebra"])
    with pytest.raises(verosim.VerosimError, match="Every row would be forgotten"):
        model.forget(X, y)
    assert model.stats_.fingerprint() == before


def test_forgetting_cells_that_were_never_there():
    X = np.array([[0.0, np.nan], [1.0, np.nan], [0.5, 3.0], [2.0, 4.0]])
    model = verosim.GaussianNB().fit(X, [0, 0, 1, 1])
    with pytest.raises(verosim.VerosimError, match="Class 0, column 'x1'"):
        model.forget([[0.0, 5.0]], [0])
    with pytest.raises(verosim.VerosimError, match="model was not fitted on some of these rows"):
        verosim.GaussianNB().fit(X[:, :1], [0, 0, 1, 1]).forget([[1000.0]], [1])


@every_model
def test_decay_scales_weights_not_the_model(name, rng):
    model, X, y = make(name, rng)
    smooth = {"alpha": 0.0} if "alpha" in model.get_params() else {}
    model.set_params(**smooth).fit(X, y)
    before, count = model.predict_proba(X), model.class_count_
    assert model.decay(0.5) is model
    np.testing.assert_allclose(model.class_count_, count / 2)
    if name not in ("BernoulliNB", "MultinomialNB", "ComplementNB"):  # α is never quite 0 there
        np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-9)
    for factor in (0, -1, 1.5, "a"):
        with pytest.raises(verosim.VerosimError, match=r"decay|factor must be a number"):
            model.decay(factor)


def test_decay_follows_drift(rng):
    model = verosim.GaussianNB()
    for t in range(200):
        model.partial_fit(rng.normal(t / 10, 1, (20, 1)), np.zeros(20, int))
        model.decay(0.8)
    assert model.means_[0, 0] == pytest.approx(19.9, abs=1.0)


@every_model
def test_new_classes_mid_stream(name, rng):
    model, X, y = make(name, rng)
    whole = copy.deepcopy(model).fit(X, y)
    order = np.argsort(y == "a", kind="stable")  # class a arrives last
    first, last = order[:150], order[150:]
    model.partial_fit(X[first], y[first]).partial_fit(X[last], y[last])
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-10)


@every_model
def test_declared_classes_without_rows(name, rng):
    model, X, y = make(name, rng)
    plain = copy.deepcopy(model).fit(X, y)
    model.partial_fit(X, y, classes=["a", "b", "c", "z", "0"])
    assert model.classes_.tolist() == ["0", "a", "b", "c", "z"]
    proba = model.predict_proba(X)
    assert (proba[:, [0, 4]] == 0).all()
    np.testing.assert_allclose(proba[:, 1:4], plain.predict_proba(X), atol=1e-10)
    assert set(model.predict(X)) <= {"a", "b", "c"}
    with pytest.raises(verosim.VerosimError, match="Class '0', 'z' has no rows"):
        model.with_priors([0.2] * 5)
    model.forget(X[:1], y[:1])
    assert model.classes_.tolist() == ["0", "a", "b", "c", "z"]


@every_model
def test_weights_repeat_and_vanish(name, rng):
    model, X, y = make(name, rng)
    w = rng.integers(0, 4, len(y))
    twice = copy.deepcopy(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    model.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.predict_proba(X), twice.predict_proba(X), atol=1e-10)
    fractions = copy.deepcopy(model).fit(X, y, sample_weight=w * 0.1)
    np.testing.assert_allclose(fractions.class_count_, model.class_count_ * 0.1)


def test_first_block_without_weight():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300_000, 1)), rng.integers(0, 2, 300_000)
    w = np.ones(300_000)
    w[:200_000] = 0
    model = verosim.GaussianNB().fit(X, y, sample_weight=w)
    assert model.class_count_.sum() == 100_000


@every_model
def test_set_params_takes_effect_without_data(name, rng):
    model, X, y = make(name, rng)
    model.fit(X, y)
    changed = {"alpha": 0.3} if "alpha" in model.get_params() else {"covariance": "unbiased"}
    for setting in (changed, {"priors": "uniform"}, {"priors": {"a": 0.5, "b": 0.25, "c": 0.25}}):
        model.set_params(**setting)
        again = copy.deepcopy(model).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-12)


def test_a_failed_call_changes_nothing(rng):
    model, X, y = make("CategoricalNB", rng)
    model.fit(X, y)
    proba = model.predict_proba(X)
    for bad in ({"alpha": -1.0}, {"priors": "nonsense"}, {"alpha": 50.0, "bogus": 1}):
        with pytest.raises(ValueError):
            model.set_params(**bad)
        assert model.alpha == 1.0
        assert model.priors is None
        np.testing.assert_array_equal(model.predict_proba(X), proba)
    model, X, y = make("GaussianNB", rng)
    model.fit(X, y)
    before = model.stats_.fingerprint()
    X[3, 2] = np.inf
    with pytest.raises(verosim.VerosimError):
        model.partial_fit(X, y)
    assert model.stats_.fingerprint() == before


def test_a_statistic_parameter_needs_a_refit(rng):
    model, X, y = make("HistogramNB", rng)
    model.fit(X, y).set_params(bins=5)
    with pytest.raises(verosim.VerosimError, match=r"bins changed.*Fit the model again"):
        model.predict(X)
    model.fit(X, y).predict(X)
    flags = verosim.BernoulliNB().fit(X, y).set_params(binarize=1.0)
    with pytest.raises(verosim.VerosimError, match="binarize changed"):
        flags.partial_fit(X, y)


@every_model
def test_with_priors(name, rng):
    model, X, y = make(name, rng)
    model.fit(X, y)
    before = model.predict_proba(X)
    other = model.with_priors([0.7, 0.2, 0.1])
    np.testing.assert_array_equal(model.predict_proba(X), before)
    expected = model.log_joint(X) - np.log(model.class_prior_) + np.log([0.7, 0.2, 0.1])
    np.testing.assert_allclose(other.log_joint(X), expected, atol=1e-9)
    np.testing.assert_allclose(model.with_priors("laplace").class_prior_,
                               (model.class_count_ + 1) / (len(y) + 3))  # fmt: skip


@every_model
def test_pickle_and_copy(name, rng):
    model, X, y = make(name, rng)
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.partial_fit(X, y)
    assert again.class_count_.sum() == 2 * model.class_count_.sum()


def test_merging_what_does_not_fit(rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    E = verosim.VerosimError
    with pytest.raises(E, match="One model has 3 columns and the other has 2"):
        verosim.LDA().fit(X, y).merge(verosim.LDA().fit(X[:, :2], y))
    with pytest.raises(E, match="One model has 3 columns and the other has 2"):
        verosim.CategoricalNB().fit(X, y) + verosim.CategoricalNB().fit(X[:, :2], y)
    with pytest.raises(E, match="Column 'x0' has the bins"):
        verosim.HistogramNB().fit(X, y) + verosim.HistogramNB().fit(X * 2, y)
    with pytest.raises(E, match="sums of different kinds"):
        verosim.LDA().fit(X, y) + verosim.GaussianNB().fit(X, y)
    with pytest.raises(E, match=r"mix integers such as [01] and texts such as 'a'"):
        verosim.LDA().fit(X, y) + verosim.LDA().fit(X, np.where(y, "a", "b"))


def test_lda_becomes_qda_without_data(rng):
    """The statistic of LDA is that of QDA."""
    X, y = load_wine(return_X_y=True)
    rda = verosim.RDA(pooling=1.0, shrinkage=0.0).fit(X, y)
    qda = verosim.QDA().fit(X, y)
    rda.set_params(pooling=0.0)
    np.testing.assert_allclose(rda.predict_proba(X), qda.predict_proba(X), atol=1e-12)
    both = qda + rda  # any two models whose sums are of the same kind
    assert both.class_count_.sum() == 2 * len(y)


def test_pooled_scatter_beyond_the_budget(monkeypatch, rng):
    from verosim.estimators import discriminant

    X, y = load_wine(return_X_y=True)
    full = verosim.LDA().fit(X, y)
    monkeypatch.setattr(discriminant, "SCATTER_BUDGET", 1)
    pooled = verosim.LDA().fit(X[:90], y[:90]).partial_fit(X[90:], y[90:])
    assert pooled.stats_.layout == "pooled"
    np.testing.assert_allclose(pooled.predict_proba(X), full.predict_proba(X), atol=1e-10)
    merged = pooled + full
    np.testing.assert_allclose(merged.predict_proba(X), full.predict_proba(X), atol=1e-10)
    left = pooled.forget(X[150:], y[150:])
    again = verosim.LDA().fit(X[:150], y[:150])
    np.testing.assert_allclose(left.predict_proba(X), again.predict_proba(X), atol=1e-9)
    with pytest.raises(verosim.VerosimError, match="ledoit_wolf"):
        left.set_params(shrinkage="ledoit_wolf")
    assert verosim.LDA(shrinkage="ledoit_wolf").fit(X, y).stats_.layout == "full"


def test_fixed_priors_in_a_stream(rng):
    """Classes come and go; the mass of those not there yet is shared out among the others."""
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    model = verosim.GaussianNB(priors={"a": 0.5, "b": 0.3, "c": 0.2})
    model.partial_fit(X[:40], y[:40])
    np.testing.assert_allclose(model.class_prior_, [0.5 / 0.8, 0.3 / 0.8])
    model.partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(model.class_prior_, [0.5, 0.3, 0.2])
    model.forget(X[40:], y[40:])
    np.testing.assert_allclose(model.class_prior_, [0.5 / 0.8, 0.3 / 0.8])
    listed = verosim.GaussianNB(priors=[0.5, 0.3, 0.2]).partial_fit(
        X[:40], y[:40], classes=["a", "b", "c"]
    )
    np.testing.assert_allclose(listed.class_prior_, [0.625, 0.375, 0.0])
    with pytest.raises(verosim.VerosimError, match="unknown classes 'c'"):
        verosim.GaussianNB(priors={"a": 0.5, "b": 0.3, "c": 0.2}).fit(X[:40], y[:40])
    with pytest.raises(verosim.VerosimError, match="Class 'c' has no rows"):
        listed.sample(2, y="c")
    with pytest.raises(verosim.VerosimError, match="Class 'c' has no rows"):
        listed.boundary("a", "c")


def test_fingerprints_know_the_bins(rng):
    X, y = np.abs(rng.normal(size=(30, 1))), rng.integers(0, 2, 30)
    one, other = (verosim.HistogramNB(bins=[[0, 9, last]]).fit(X, y) for last in (10, 11))
    assert one.stats_.fingerprint() != other.stats_.fingerprint()


def test_drift_does_not_cost_digits():
    """Pivots follow the data: fading one place and arriving at another is a fit on the other."""
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    here, there = rng.normal(size=(2000, 1)), 1e8 + y[:, None] + rng.normal(size=(2000, 1))
    for estimator in (verosim.GaussianNB, verosim.NaiveLDA, verosim.LDA, verosim.QDA):
        moved = estimator().partial_fit(here, y).decay(1e-30).partial_fit(there, y)
        fresh = estimator().fit(there, y)
        np.testing.assert_allclose(moved.covariances_, fresh.covariances_, rtol=1e-6)
        np.testing.assert_allclose(
            moved.predict_proba(there), fresh.predict_proba(there), atol=1e-6
        )
    slow = verosim.GaussianNB()
    for t in range(300):
        slow.partial_fit(1e6 * t + rng.normal(size=(200, 1)), np.zeros(200, int)).decay(1e-15)
    assert slow.covariances_[0, 0] == pytest.approx(1, abs=0.3)


def test_values_forgotten_out_of_a_column():
    """A class with no value left in a column is as one that never had any."""
    X = np.array([[0.0, 5], [1, 7], [2, np.nan], [3, np.nan], [0, 1], [1, 2], [4, 1.5]])
    y, w = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([0.1, 0.2, 1, 1, 1, 1, 1])
    for estimator in (verosim.GaussianNB, verosim.NaiveLDA):
        model = estimator().fit(X, y, sample_weight=w)
        for i in (0, 1):
            model.forget(X[i : i + 1], y[i : i + 1], w[i : i + 1])
        fresh = estimator().fit(X[2:], y[2:], sample_weight=w[2:])
        np.testing.assert_allclose(model.predict_proba([[2, 5]]), fresh.predict_proba([[2, 5]]))


def test_forgotten_by_weight_in_other_rows():
    model = verosim.GaussianNB(priors="uniform").fit([[0.0], [1], [5], [6]], [0, 0, 1, 1])
    model.partial_fit([[100.0], [100.0]], [2, 2], sample_weight=[0.1, 0.2])
    model.forget([[100.0]], [2], sample_weight=[0.3])
    assert model.classes_.tolist() == [0, 1]


def test_concurrent_use_leaves_blas_alone():
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40_000, 8)), np.arange(40_000) % 3
    count = lambda: [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]  # noqa: E731
    before = count()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: verosim.LDA().fit(X, y).predict_proba(X), range(20)))
    assert count() == before


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "CategoricalNB", "GaussianNB"])
def test_forgetting_fractional_weights_row_by_row(name, rng):
    """What earlier subtractions left behind is not mistaken for a row that was never there."""
    model, X, y = make(name, rng, n=60)
    w = rng.choice([0.1, 0.2, 0.3, 0.7], len(y))
    model.fit(X, y, sample_weight=w)
    for i in rng.permutation(len(y))[:57]:
        model.forget(X[i : i + 1], y[i : i + 1], sample_weight=w[i : i + 1])
    assert np.isfinite(model.predict_proba(X)).all()


def test_one_blas_thread_whichever_thread_asks():
    """A limit first set by a worker must not keep the others from setting theirs."""
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info

    from verosim.engines import one_blas_thread

    def blas_threads():
        with one_blas_thread:
            return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before = [pool["num_threads"] for pool in threadpool_info()]
    with ThreadPoolExecutor(1) as worker:
        assert worker.submit(blas_threads).result() <= {1}
        assert blas_threads() <= {1}  # while that worker is alive
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_light_rows_are_forgotten_after_heavy_ones():
    """After a heavy row, the sums of light rows have few digits; this is not a wrong row."""
    X = np.array([[2.0, 2.0], [1.0, 5.0], [1.0, 1.0], [3.0, 1.0]])
    y, w = [0, 0, 1, 0], [0.126, 2.5e-9, 1.0, 1.8e-9]
    for model in (verosim.MultinomialNB(), verosim.ComplementNB()):
        model.fit(X, y, sample_weight=w)
        for row in (0, 1):
            model.forget(X[[row]], [0], sample_weight=[w[row]])
        again = type(model)().fit(X[2:], y[2:], sample_weight=w[2:])
        np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), rtol=1e-6)


@given(
    heavier=st.floats(0, 10), farther=st.floats(0, 7), seed=st.integers(0, 2**32 - 1),
    unbiased=st.booleans(),
)  # fmt: skip
def test_one_value_is_left_after_a_heavy_row_far_away_was_forgotten(
    heavier, farther, seed, unbiased
):
    """The rounding error of the weight is not a variance of the value that is left."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 10**farther, (10, 2))
    X[1] = rng.normal(0, 1, 2)
    X[2, 0] = np.nan
    y, w = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2]), rng.uniform(0.5, 2, 10)
    w[:3] *= 10**heavier, 0.2, 1  # the pivot is the heavy row, and the value is a light one
    model = verosim.GaussianNB(covariance="unbiased" if unbiased else "mle")
    with warnings.catch_warnings(action="ignore"):
        left = clone(model).fit(X, y, sample_weight=w).forget(X[:1], y[:1], sample_weight=w[:1])
        again = clone(model).fit(X[1:], y[1:], sample_weight=w[1:])
    # The weight of the row has lost as many digits as the forgotten weight is larger.
    np.testing.assert_allclose(left.var_[:, 0], again.var_[:, 0], rtol=1e-13 * 10**heavier + 1e-9)
