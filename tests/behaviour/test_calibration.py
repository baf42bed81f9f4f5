"""Posteriors calibrated by out-of-fold scores, and rows that are rejected."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import clone
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold

from verosim import (
    LDA,
    QDA,
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    HistogramNB,
    JointHistogram,
    NaiveBayes,
    NaiveLDA,
    TextNB,
    VerosimError,
)
from verosim.folds import HeldOutEngine, inputs_of
from verosim.folds.evaluation import out_of_fold
from verosim.validate import contributions
from verosim.validate.calibration import Calibrated, calibrate
from verosim.validate.calibration_maps import PRIOR_ROWS, Isotonic, Temperature, log_odds
from verosim.validate.column_weights import (
    COMMON_STRENGTH,
    MOST_EVIDENCE,
    PENALTY_STRENGTHS,
    ColumnWeights,
    Evidence,
    Likelihood,
    Prior,
    clipped_evidence,
)
from verosim.validate.cross_validation import cross_validate
from verosim.validate.reject import Reject, reject
from verosim.validate.reliability import reliability

METHODS = ["temperature", "isotonic"]
EVERY = [*METHODS, "columns"]


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def adult(data):
    frame = pd.read_parquet(data / "adult" / "adult.parquet").drop(columns="split")
    return frame.sample(12_000, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="module")
def newsgroups(data):
    frame = pd.read_parquet(data / "20news_bydate" / "20news_bydate.parquet")
    frame = frame[frame["split"] == "train"].sample(4_000, random_state=0)
    return frame["text"].tolist(), frame["group"].to_numpy()


def posteriors(rng, n=400, C=3, scale=2.0):
    """Log-posteriors, and labels drawn from them: calibrated by construction."""
    scores = scale * rng.normal(size=(n, C))
    log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    labels = np.array([rng.choice(C, p=np.exp(row)) for row in log_p])
    return log_p, labels


# Reliability -----------------------------------------------------------------------------------


def test_reliability_by_hand():
    """Four rows, two bins, by pencil: bins [0.6, 0.7] and [0.9, 0.9], each half right."""
    p = np.array([[0.6, 0.4], [0.3, 0.7], [0.9, 0.1], [0.1, 0.9]])
    found = reliability([0, 0, 0, 0], np.column_stack([p[:, 0], p[:, 1]]), [0, 1], bins=4)
    np.testing.assert_allclose(found.confidence, [0.65, 0.9])
    np.testing.assert_allclose(found.accuracy, [0.5, 0.5])
    np.testing.assert_allclose(found.weight, [2, 2])
    assert found.error == pytest.approx(0.5 * 0.15 + 0.5 * 0.4)
    assert found.log_loss == pytest.approx(-np.log([0.6, 0.3, 0.9, 0.1]).mean())
    assert "expected calibration error 0.2750" in str(found)


@pytest.mark.parametrize(("strategy", "theirs"), [("width", "uniform"), ("mass", "quantile")])
def test_reliability_agrees_with_scikit_learn(rng, strategy, theirs):
    """Two classes: the curve of class 1 is `calibration_curve`, the scores those of its metrics."""
    log_p, labels = posteriors(rng, C=2)
    found = reliability(labels, log_proba=log_p, bins=8, strategy=strategy)
    p = np.exp(log_p)
    assert found.log_loss == pytest.approx(log_loss(labels, p))
    # Brier's sum over classes is twice the score of one of two.
    assert found.brier == pytest.approx(2 * brier_score_loss(labels, p[:, 1]))
    share, mean = calibration_curve(labels, p[:, 1], n_bins=8, strategy=theirs)
    edges = np.linspace(0, 1, 9) if strategy == "width" else np.quantile(p[:, 1], np.arange(9) / 8)
    weight = np.histogram(p[:, 1], edges)[0]
    expected = np.average(np.abs(share - mean), weights=weight[weight > 0])
    # Either class gives the same bins, mirrored.
    assert found.classwise_error == pytest.approx(expected, abs=0.01)


def test_weights_are_repetitions(rng):
    log_p, labels = posteriors(rng)
    w = rng.integers(0, 4, len(labels))
    again = np.repeat(np.arange(len(labels)), w)
    for strategy in ("width", "mass"):
        a = reliability(labels, log_proba=log_p, sample_weight=w, strategy=strategy)
        b = reliability(labels[again], log_proba=log_p[again], strategy=strategy)
        for name in ("confidence", "accuracy", "weight", "error", "classwise_error", "brier"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-12)
        assert a.log_loss == pytest.approx(b.log_loss)


def test_log_loss_is_not_clipped():
    """log p = −1e4 costs 1e4, and a class thought impossible costs infinity."""
    log_p = np.array([[0.0, -1e4], [0.0, -np.inf]])
    assert reliability([1, 0], log_proba=log_p, classes=[0, 1]).log_loss == pytest.approx(5e3)
    assert reliability([1, 1], log_proba=log_p, classes=[0, 1]).log_loss == np.inf


def test_reliability_errors():
    with pytest.raises(VerosimError, match=r"sum to 1\.5"):
        reliability([0], [[1.0, 0.5]], [0, 1])
    with pytest.raises(VerosimError, match="Either proba or log_proba must be given"):
        reliability([0])
    with pytest.raises(VerosimError, match="not one of the model's classes"):
        reliability([2], [[0.5, 0.5]], [0, 1])
    with pytest.raises(VerosimError, match="2 labels"):
        reliability([0, 1], [[0.5, 0.5]], [0, 1])
    with pytest.raises(VerosimError, match="bins"):
        reliability([0, 1], [[0.5, 0.5], [0.5, 0.5]], [0, 1], bins=0)


# Maps ------------------------------------------------------------------------------------------


def test_log_odds_do_not_saturate():
    """log-odds of k = log p_k − log Σ_{l≠k} p_l, where 1 − p_k is below every float."""
    log_p = np.array([[0.0, -700.0, -710.0], [np.log(0.5), np.log(0.3), np.log(0.2)]])
    found = log_odds(log_p)
    np.testing.assert_allclose(found[0], [700 - np.log1p(np.exp(-10)), -700, -710])
    p = np.exp(log_p[1])
    np.testing.assert_allclose(found[1], np.log(p / (1 - p)))
    assert np.isfinite(log_odds(np.array([[0.0, -np.inf], [-np.inf, 0.0]]))).all()


@pytest.mark.parametrize("tau", [0.05, 0.5, 3.0])
def test_temperature_is_found(rng, tau):
    """Labels drawn from p, posteriors reported as p^(1/τ): the map that undoes it is τ."""
    log_p, labels = posteriors(rng, n=20_000)
    found = Temperature.fit(log_p / tau, labels, np.ones(len(labels)))
    assert found.tau == pytest.approx(tau, rel=0.03)


def test_temperature_minimises_the_log_loss(rng):
    """By another optimiser, with the prior's τ − log τ."""
    log_p, labels = posteriors(rng, n=300)
    w = rng.random(300)

    def loss(tau):
        calibrated = Temperature(tau)(log_p * 4)
        own = calibrated[np.arange(300), labels]
        return -(w @ own) + PRIOR_ROWS * (tau - np.log(tau))

    best = minimize_scalar(loss, bounds=(1e-3, 10), method="bounded", options={"xatol": 1e-10})
    assert Temperature.fit(log_p * 4, labels, w).tau == pytest.approx(best.x, rel=1e-5)


def test_temperature_where_all_is_right_or_impossible():
    """Separable rows leave τ finite; a class its fold never saw does not stop the fit."""
    log_p = np.log([[0.9, 0.1], [0.2, 0.8]] * 50)
    labels = np.array([0, 1] * 50)
    right = Temperature.fit(log_p, labels, np.ones(100))
    assert 1 < right.tau < 20
    wrong = Temperature.fit(log_p, 1 - labels, np.ones(100))
    assert 0 < wrong.tau < 1
    sure = np.array([[0.0, -800.0], [-800.0, 0.0]] * 50)
    assert Temperature.fit(sure, labels, np.ones(100)).tau == pytest.approx(1.0)
    unseen = np.vstack([log_p, [[0.0, -np.inf]]])
    found = Temperature.fit(unseen, np.append(labels, 1), np.ones(101))
    assert found.tau == pytest.approx(right.tau)


def test_isotonic_is_pool_adjacent_violators(rng):
    """Away from the ends it is scikit-learn's PAV; at the ends Laplace keeps it off 0 and 1."""
    log_p, labels = posteriors(rng, n=2_000, C=2)
    found = Isotonic.fit(log_p, labels, np.ones(len(labels)))
    z = log_odds(log_p)[:, 1]
    theirs = IsotonicRegression(out_of_bounds="clip").fit(z, labels).predict(z)
    ours = np.exp(found(log_p))[:, 1]
    middle = (theirs > 0.05) & (theirs < 0.95)
    np.testing.assert_allclose(ours[middle], theirs[middle], atol=1e-8)
    assert ours.min() > 0
    assert ours.max() < 1
    assert (np.diff(ours[np.argsort(z)]) >= -1e-12).all()


def test_isotonic_of_classes_never_seen():
    log_p = np.log([[0.6, 0.3, 0.1]] * 5 + [[0.1, 0.3, 0.6]] * 5)
    found = Isotonic.fit(log_p, np.array([0] * 5 + [1] * 5), np.ones(10))
    for row in ([[0.0, -np.inf, -np.inf]], [[-np.inf, 0.0, -800.0]]):
        assert np.isfinite(found(np.array(row))).all()


# Calibrated models -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", EVERY)
def test_naive_bayes_is_cured(cancer, method):
    found = calibrate(GaussianNB(), *cancer, method=method)
    assert found.after_.error < 0.5 * found.before_.error
    assert found.after_.log_loss < 0.5 * found.before_.log_loss
    assert found.after_.brier < found.before_.brier


@pytest.mark.slow
@pytest.mark.parametrize("method", EVERY)
def test_adult(adult, method):
    """NaiveBayes on the table as it is: overconfident before, calibrated after."""
    found = calibrate(NaiveBayes(), adult, "income", method=method)
    assert found.before_.error > 0.07
    assert found.after_.error < 0.02
    assert found.after_.log_loss < found.before_.log_loss - 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("method", "least"), [("temperature", 0.8), ("isotonic", 0.3)])
def test_newsgroups(newsgroups, method, least):
    """Posteriors of texts are off by hundreds of nats."""
    found = calibrate(TextNB(), *newsgroups, cv=5, method=method)
    assert found.before_.log_loss > 5
    assert found.after_.log_loss < 2
    assert found.after_.error < least * found.before_.error


@pytest.mark.slow
@pytest.mark.parametrize("method", EVERY)
def test_new_rows_are_calibrated_too(adult, method):
    """What `after` says of the rows at hand holds for rows kept out of it all."""
    known, new = adult[:8_000], adult[8_000:]
    found = calibrate(NaiveBayes(), known, "income", method=method)
    log_p = found.predict_log_proba(new)
    fresh = reliability(new["income"], log_proba=log_p, classes=found.classes_)
    own = log_p[np.arange(len(new)), np.searchsorted(found.classes_, new["income"].to_numpy())]
    spread = own.std() * np.sqrt(1 / len(known) + 1 / len(new))  # of a difference of two means
    assert abs(fresh.log_loss - found.after_.log_loss) < 4 * spread
    assert fresh.error == pytest.approx(found.after_.error, abs=0.02)


def test_temperature_keeps_every_prediction(cancer, newsgroups):
    for model, X, y in ((GaussianNB(), *cancer), (TextNB(), *newsgroups)):
        found = calibrate(model, X, y, cv=3)
        np.testing.assert_array_equal(found.predict(X), found.model_.predict(X))
        tau = found.map_.tau
        raw = tau * found.model_.predict_log_proba(X)
        raw -= np.logaddexp.reduce(raw, axis=1)[:, None]
        np.testing.assert_allclose(found.predict_log_proba(X), raw, rtol=1e-10, atol=1e-10)


def test_isotonic_keeps_the_order_of_two_classes(cancer):
    X, y = cancer
    found = calibrate(GaussianNB(), X, y, method="isotonic")
    order = np.argsort(found.model_.decision_function(X))
    assert (np.diff(found.predict_proba(X)[order, 1]) >= -1e-12).all()


def test_isotonic_leaves_ties_to_the_model():
    """Equal steps: the class the model prefers is called."""
    X, y = load_iris(return_X_y=True)
    found = calibrate(LDA(), X, y, method="isotonic")
    found.map_ = Isotonic(((np.zeros(1), np.full(1, 0.3)),) * 3)  # one step for all
    np.testing.assert_array_equal(found.predict(X), found.model_.predict(X))
    np.testing.assert_allclose(found.predict_proba(X), 1 / 3, rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_after_is_cross_fitted(cancer, method):
    """Each fold's posteriors go through a map that never saw the fold, by explicit loops."""
    X, y = cancer
    folds = np.arange(len(y)) % 5
    found = calibrate(GaussianNB(), X, y, cv=folds, method=method)
    out = cross_validate(GaussianNB(), X, y, cv=folds).log_proba
    kind = {"temperature": Temperature, "isotonic": Isotonic}[method]
    calibrated = np.empty_like(out)
    for f in range(5):
        held = folds == f
        calibrated[held] = kind.fit(out[~held], y[~held], np.ones((~held).sum()))(out[held])
    expected = reliability(y, log_proba=calibrated)
    assert found.after_.log_loss == pytest.approx(expected.log_loss, rel=1e-9)
    assert found.after_.error == pytest.approx(expected.error, rel=1e-9)
    assert found.before_.log_loss == pytest.approx(reliability(y, log_proba=out).log_loss)


def test_leave_one_out_pools_the_maps(cancer):
    X, y = cancer
    found = calibrate(LDA(), X[::3], y[::3], cv="loo")
    assert found.after_.log_loss < 1.1 * found.before_.log_loss


def test_weights_count_as_rows(cancer, rng):
    """Weight two is the row twice, in the model, the map and the reports."""
    X, y = cancer
    w = rng.integers(1, 3, len(y)).astype(float)
    folds = np.arange(len(y)) % 4
    again = np.repeat(np.arange(len(y)), w.astype(int))
    a = calibrate(GaussianNB(), X, y, cv=folds, sample_weight=w)
    b = calibrate(GaussianNB(), X[again], y[again], cv=folds[again])
    assert a.map_.tau == pytest.approx(b.map_.tau, rel=1e-6)
    assert a.after_.error == pytest.approx(b.after_.error, rel=1e-6)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("method", EVERY)
def test_rows_of_zero_weight_do_not_exist(cancer, method):
    """Not even where they alone have a label."""
    X, y = cancer
    w = (np.arange(len(y)) % 5 > 0).astype(float)
    folds = np.arange(len(y)) % 4
    odd = np.where(w > 0, y, 7)
    a = calibrate(GaussianNB(), X, odd, cv=folds, method=method, sample_weight=w)
    b = calibrate(GaussianNB(), X[w > 0], y[w > 0], cv=folds[w > 0], method=method)
    assert a.classes_.tolist() == [0, 1]
    assert repr(a.after_) == repr(b.after_)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-9)
    c = reject(GaussianNB(), X, odd, novelty=0.05, sample_weight=w, cv=folds)
    d = reject(GaussianNB(), X[w > 0], y[w > 0], novelty=0.05, cv=folds[w > 0])
    assert c.log_least_ == pytest.approx(d.log_least_)


def test_tables_and_files(adult, tmp_path):
    """A file and the name of its target; weights by name; predictions stream."""
    some = adult[:1_500].assign(w=np.arange(1_500) % 3)
    some.to_csv(tmp_path / "adult.csv", index=False)
    found = calibrate(NaiveBayes(), tmp_path / "adult.csv", "income", cv=5, sample_weight="w")
    assert "w" not in found.feature_names_in_
    assert found.n_features_in_ == some.shape[1] - 2
    p = found.predict_proba(some)
    np.testing.assert_allclose(p, found.predict_proba(iter([some[:700], some[700:]])))
    table = found.predict_table(tmp_path / "adult.csv", keep="age").read_all().to_pandas()
    np.testing.assert_allclose(table["p_>50K"], p[:, 1], rtol=1e-9)
    by_name = found.score(tmp_path / "adult.csv", "income", sample_weight="w")
    assert by_name == pytest.approx(found.score(some, some["income"], some["w"]))
    np.testing.assert_allclose(found.log_density(some), found.model_.log_density(some))


@pytest.mark.parametrize("method", EVERY)
def test_columns_that_part_the_rows_are_not_learnt_from(adult, method):
    some = adult[:1_500].assign(part=np.arange(1_500) % 4)
    for given in ({"groups": "education"}, {"cv": "part"}):
        found = calibrate(NaiveBayes(), some, "income", method=method, **given)
        (name,) = given.values()
        assert name not in found.feature_names_in_
        changed = some.assign(**{name: some[name].iloc[0]})
        np.testing.assert_array_equal(found.predict_proba(changed), found.predict_proba(some))


def test_an_estimator_like_any_other(cancer):
    X, y = cancer
    found = calibrate(GaussianNB().fit(X[:50], y[:50]), X, y, cv=4)
    again = clone(found).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))
    assert again.get_params()["model__floor"] == 1e-9
    back = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(back.predict_proba(X), found.predict_proba(X))
    assert found.model_.merge(found.model_).class_count_.sum() == 2 * len(y)
    with pytest.raises(VerosimError, match="not fitted"):
        Calibrated(LDA()).predict(X)
    with pytest.raises(VerosimError, match="method"):
        calibrate(LDA(), X, y, method="platt")
    with pytest.raises(VerosimError, match="exactly once"):
        calibrate(LDA(), X, y, cv=[(np.arange(300), np.arange(300, 400))])
    with pytest.raises(VerosimError, match="generative classifier"):
        calibrate(IsotonicRegression(), X, y)
    with pytest.raises(VerosimError, match="generative classifier"):
        calibrate(Calibrated(LDA()), X, y)
    for fit in (calibrate, reject):
        with pytest.raises(TypeError, match="metod"):
            fit(LDA(), X, y, metod="isotonic")


@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_agree_with_posteriors(cancer, method, classes):
    """The decision function orders classes as the calibrated posteriors do, to a constant a row."""
    X, y = cancer if classes == 2 else load_wine(return_X_y=True)
    found = calibrate(GaussianNB(), X, y, method=method)
    scores, log_p = found.decision_function(X), found.predict_log_proba(X)
    if classes == 2:
        np.testing.assert_allclose(scores, log_p[:, 1] - log_p[:, 0], rtol=1e-9)
    else:
        np.testing.assert_allclose(scores - scores[:, :1], log_p - log_p[:, :1], atol=1e-7)
        np.testing.assert_array_equal(found.predict(X), found.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("method", EVERY)
def test_fewer_rows_than_folds(cancer, method):
    """cv=10 of seven rows that count is cv=7: one row a fold."""
    at = np.arange(7)
    X, y = cancer[0][10:30:3, :4], np.array([0, 1, 0, 1, 0, 1, 1])
    few = calibrate(GaussianNB(), X, y, method=method)
    seven = calibrate(GaussianNB(), X, y, method=method, cv=at)
    np.testing.assert_allclose(few.predict_proba(X), seven.predict_proba(X), rtol=1e-9)
    w = np.where(at < 5, 1.0, 0.0)
    some = calibrate(GaussianNB(), X, y, method=method, sample_weight=w)
    five = calibrate(GaussianNB(), X[:5], y[:5], method=method, cv=at[:5])
    np.testing.assert_allclose(some.predict_proba(X), five.predict_proba(X), rtol=1e-9)
    with pytest.raises(VerosimError, match="n_samples=1"):
        calibrate(GaussianNB(), X[:1], y[:1], method=method)


# Columns weighted --------------------------------------------------------------------------------


def said(rng, n=120, C=3, d=4, scale=1.0):
    """What d columns say of n rows, and their labels; class 2 is unknown to some folds."""
    codes = rng.integers(0, C, n)
    parts = scale * rng.normal(size=(n, C, d))
    parts[np.arange(n), codes] += 0.5
    log_prior = np.tile(np.log(np.full(C, 1 / C)), (n, 1))
    log_prior[(np.arange(n) % 7 == 0) & (codes != C - 1), C - 1] = -np.inf
    return (
        Evidence(clipped_evidence(parts, np.isfinite(log_prior)), log_prior),
        codes,
        rng.random(n) + 0.5,
    )


def by_hand(model, weights, offsets, X):
    """log p̂(k | x) straight from the definition, no cell being loud."""
    rule = model.state_.rule
    scores = rule.log_prior + offsets + rule.params.contributions(X) @ weights
    return scores - np.logaddexp.reduce(scores, axis=1)[:, None]


class TestColumns:
    """Weighted naive Bayes of Zaidi et al. (2013)."""

    def test_weights_are_the_mode(self, rng):
        """The gradient of the penalised loss is zero to rounding, beyond where L-BFGS stops."""
        evidence, codes, w = said(rng, n=300, d=10)
        found = ColumnWeights.fit(evidence, codes, w)
        known = np.isfinite(evidence.log_prior[np.arange(len(codes)), codes])
        like = Likelihood(
            evidence.against[known], evidence.log_prior[known], codes[known], w[known]
        )
        theta = np.concatenate([found.weights, found.offsets])
        precision = Prior(like.d, like.C, found.strength, COMMON_STRENGTH).precision
        gradient = like.loss(theta)[1] + precision @ (theta - like.start)
        np.testing.assert_allclose(gradient, 0, atol=1e-10)

    def test_gradient_and_curvature(self, rng):
        """Both are those of finite differences, where classes are unknown to folds too."""
        seen, codes, w = said(rng)
        like = Likelihood(seen.against, seen.log_prior, codes, w)
        theta = like.start + 0.3 * rng.normal(size=7)
        step = 1e-6 * np.eye(7)
        slopes = [(like.loss(theta + e)[0] - like.loss(theta - e)[0]) / 2e-6 for e in step]
        bends = [(like.loss(theta + e)[1] - like.loss(theta - e)[1]) / 2e-6 for e in step]
        np.testing.assert_allclose(like.loss(theta)[1], slopes, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(like.hessian(theta), bends, rtol=1e-6, atol=1e-6)

    def test_prior(self):
        """With τ ~ N(1, 1/c) integrated out, Cov(w) = 11ᵀ/c + I/λ and Cov(β) = I/λ."""
        prior = Prior(3, 2, strength=5.0, common=0.7)
        expected = np.eye(5) / 5.0
        expected[:3, :3] += 1 / 0.7
        np.testing.assert_allclose(np.linalg.inv(prior.precision), expected, atol=1e-12)
        assert prior.log_det == pytest.approx(np.linalg.slogdet(prior.precision)[1])

    def test_mode_and_evidence(self, rng):
        """The mode is another optimiser's, the evidence near the integral over a fine grid."""
        seen, codes, w = said(rng, n=300, C=2, d=1)
        like, prior = Likelihood(seen.against, seen.log_prior, codes, w), Prior(1, 2, 10.0, 1.0)

        def loss(theta):
            apart = theta - like.start
            return like.loss(theta)[0] + 0.5 * apart @ prior.precision @ apart

        theta, evidence = like.mode(prior, like.start)
        best = minimize(loss, like.start, method="Nelder-Mead",
                        options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 5_000})  # fmt: skip
        np.testing.assert_allclose(theta, best.x, atol=1e-5)
        root = np.linalg.cholesky(np.linalg.inv(like.hessian(theta) + prior.precision))
        axis = np.linspace(-5, 5, 13)
        grid = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
        mass = np.exp([best.fun - loss(theta + root @ z) for z in grid]).sum() * (10 / 12) ** 3
        mass *= np.linalg.det(root) / (2 * np.pi) ** 1.5
        integral = np.log(mass) - best.fun + 0.5 * prior.log_det
        assert evidence == pytest.approx(integral, abs=0.05)

    def test_a_strong_prior_is_the_model(self, cancer):
        """Strong beliefs in w = 1 give naive Bayes; in equal weights alone, a temperature."""
        X, y = cancer
        found = calibrate(NaiveLDA(), X, y, cv=5, method="columns")
        engine = HeldOutEngine([NaiveLDA().spec()], inputs_of(X, y), 5)
        held = contributions.held_out_contributions(engine, "")
        known = np.isfinite(held.log_prior)
        seen = Evidence(clipped_evidence(held.parts, known), held.log_prior)
        stiff = ColumnWeights.fit(seen, held.own, held.weights, (1e9,), common=1e9)
        np.testing.assert_allclose(stiff.weights, 1, atol=1e-5)
        order = np.argsort(engine.rows.folds.numbers, kind="stable")
        plain = cross_validate(NaiveLDA(), X, y, cv=5).log_proba[order]
        np.testing.assert_allclose(np.exp(stiff(seen)), np.exp(plain), atol=1e-5)
        alike = ColumnWeights.fit(seen, held.own, held.weights, (1e9,))
        tau = Temperature.fit(plain, held.own, held.weights).tau
        np.testing.assert_allclose(alike.weights, tau, rtol=0.03)  # priors differ
        assert found.map_.strength in PENALTY_STRENGTHS
        assert np.ptp(found.map_.weights) > 0.1

    def test_copies_share_one_weight(self, cancer):
        """A column given four times: naive Bayes is misled, the weighted one hardly notices."""
        X, y = cancer[0][:, [21, 27, 13]], cancer[1]
        copied = np.column_stack([X, X[:, [1, 1, 1]]])
        once, often = (calibrate(GaussianNB(), Z, y, method="columns") for Z in (X, copied))
        w, v = once.map_.weights, often.map_.weights
        np.testing.assert_allclose(v[3:], v[1], atol=1e-3)
        assert v[1] < 0.5 * w[1]
        assert v[[1, 3, 4, 5]].sum() == pytest.approx(w[1], rel=0.25)
        gap = np.abs(often.predict_proba(copied) - once.predict_proba(X)).mean()
        raw = np.abs(often.model_.predict_proba(copied) - once.model_.predict_proba(X)).mean()
        assert gap < 0.01
        assert gap < 0.2 * raw
        assert often.after_.log_loss == pytest.approx(once.after_.log_loss, rel=0.05)

    def test_votes(self, data):
        """Of rows kept out of it all the log-loss falls, and more are right; adult is above."""
        votes = pd.read_csv(data / "votes" / "votes.csv", keep_default_na=False, na_values=[""])
        votes = votes.sample(frac=1, random_state=0)
        known, new = votes[:290], votes[290:]
        found = calibrate(NaiveBayes(), known, "Class", method="columns")
        plain, calibrated = (
            log_loss(new["Class"], by.predict_proba(new)) for by in (found.model_, found)
        )
        assert calibrated < 0.5 * plain
        assert found.after_.log_loss < 0.5 * found.before_.log_loss
        assert found.score(new, "Class") > found.model_.score(new, "Class")

    def test_better_than_one_temperature(self, cancer):
        """Where columns differ in what they repeat, one number cannot mend them all."""
        for model in (GaussianNB(), HistogramNB()):
            one, each = (calibrate(model, *cancer, method=m) for m in ("temperature", "columns"))
            assert each.after_.log_loss < 0.7 * one.after_.log_loss

    @pytest.mark.parametrize(
        "model",
        [
            GaussianNB(),
            GaussianNB(shrinkage=0.1),
            NaiveLDA(),
            HistogramNB(),
            HistogramNB(alpha="cv"),
            BernoulliNB(binarize=20.0),
            CategoricalNB(),
        ],
        ids=str,
    )
    def test_posteriors_by_definition(self, model):
        """b_k + Σ_j w_j log p_j(x_j | k), by every model that is a sum over columns."""
        X, y = load_wine(return_X_y=True)
        X = X.round() if isinstance(model, CategoricalNB) else X
        found = calibrate(model, X, y, cv=4, method="columns")
        inner, by = found.model_, found.map_
        expected = by_hand(inner, by.weights, by.offsets, X)
        np.testing.assert_allclose(found.predict_log_proba(X), expected, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(found.predict_proba(X), np.exp(expected), atol=1e-10)
        np.testing.assert_array_equal(found.predict(X), expected.argmax(axis=1))
        np.testing.assert_array_equal(found.log_density(X), inner.log_density(X))

    def test_after_is_cross_fitted(self, cancer):
        """Each fold by weights that never saw it, themselves fitted on rows out of fold."""
        X, y = cancer
        folds = np.arange(len(y)) % 5
        found = calibrate(HistogramNB(), X, y, cv=folds, method="columns")
        edges = found.model_.bin_edges_
        parts = np.empty((len(y), 2, X.shape[1]))
        prior = np.empty((len(y), 2))
        for f in range(5):
            held = folds == f
            rule = HistogramNB(edges).fit(X[~held], y[~held]).state_.rule
            parts[held], prior[held] = rule.params.contributions(X[held]), rule.log_prior
        calibrated = np.empty((len(y), 2))
        seen = Evidence(clipped_evidence(parts, np.isfinite(prior)), prior)
        for f in range(5):
            held = folds == f
            by = ColumnWeights.fit(seen[~held], y[~held], np.ones((~held).sum()))
            calibrated[held] = by(seen[held])
        expected = reliability(y, log_proba=calibrated)
        assert found.after_.log_loss == pytest.approx(expected.log_loss, rel=1e-5)
        by = ColumnWeights.fit(seen, y, np.ones(len(y)))
        np.testing.assert_allclose(found.map_.weights, by.weights, atol=1e-4)

    def test_weights_count_as_rows(self, cancer, rng):
        X, y = cancer
        w = rng.integers(1, 3, len(y))
        folds = np.arange(len(y)) % 4
        again = np.repeat(np.arange(len(y)), w)
        a = calibrate(NaiveLDA(), X, y, cv=folds, method="columns", sample_weight=w.astype(float))
        b = calibrate(NaiveLDA(), X[again], y[again], cv=folds[again], method="columns")
        np.testing.assert_allclose(a.map_.weights, b.map_.weights, atol=1e-4)
        assert a.after_.error == pytest.approx(b.after_.error, abs=1e-4)

    def test_a_class_unknown_to_a_fold(self):
        """Rows whose class the other folds never saw teach nothing about weights."""
        X, y = load_iris(return_X_y=True)
        found = calibrate(GaussianNB(), X, y, cv=np.minimum(y, 1) * (1 + np.arange(150) % 3),
                          method="columns")  # fmt: skip
        assert np.isfinite(found.map_.weights).all()
        assert found.score(X, y) > 0.9

    def test_tables(self, rng):
        """Dates, texts, gaps and a missing column; pieces, streams and record batches agree."""
        n = 600
        at = rng.integers(0, 2, n)
        words = np.array([["red hot", "warm sun"], ["ice cold", "deep snow"]])
        frame = pd.DataFrame({
            "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(at, 1)),
            "note": words[at ^ (rng.random(n) < 0.2), rng.integers(0, 2, n)],
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D"),
            "hue": np.where(rng.random(n) < 0.7, np.array(["blue", "green"])[at], "grey"),
            "kind": np.array(["x", "y"])[at],
        })  # fmt: skip
        model = NaiveBayes(columns={"note": "text", "seen": "date+trend"}, missing="category")
        found = calibrate(model, frame, "kind", method="columns")
        names = found.map_.names
        assert {"size", "note", "hue", "seen", "seen.month", "size missing"} <= set(names)
        assert len(names) == len(found.map_.weights)
        assert "note " in str(found.map_)
        p = found.predict_proba(frame)
        np.testing.assert_allclose(found.predict_proba(iter([frame[:250], frame[250:]])), p)
        table = found.predict_table(frame, keep="size").read_all().to_pandas()
        np.testing.assert_allclose(table["p_y"], p[:, 1])
        np.testing.assert_allclose(table["log_density"], found.model_.log_density(frame))
        skip = calibrate(NaiveBayes(columns={"note": "text"}), frame, "kind", method="columns")
        gone = skip.predict_proba(frame.drop(columns="note"))
        np.testing.assert_array_equal(gone, skip.predict_proba(frame.assign(note=None)))
        assert np.abs(gone - skip.predict_proba(frame)).max() > 0.1
        nothing = skip.predict_log_proba(pd.DataFrame({"size": [None]}))
        b = skip.model_.state_.rule.log_prior + skip.map_.offsets
        np.testing.assert_allclose(nothing[0], b - np.logaddexp.reduce(b), atol=1e-10)

    def test_sparse_rows(self, rng):
        y = rng.integers(0, 3, 400)
        X = (rng.random((400, 30)) < np.where(np.arange(30) % 3 == y[:, None], 0.4, 0.2)) * 1.0
        a, b = (calibrate(BernoulliNB(), Z, y, cv=5, method="columns")
                for Z in (X, sparse.csr_array(X)))  # fmt: skip
        np.testing.assert_allclose(a.map_.weights, b.map_.weights, atol=1e-8)
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(sparse.csr_array(X)))

    def test_one_mad_column(self, rng):
        """A variance that is all but zero shouts 1e9 nats; it is turned down, the rest is heard."""
        y = rng.integers(0, 2, 300)
        X = np.column_stack([rng.normal(y, 1), np.where(y == 0, 3.0, rng.normal(3, 2, 300))])
        X[::50, 1] = 7.0
        found = calibrate(GaussianNB(), X, y, method="columns")
        assert np.isfinite(found.map_.weights).all()
        assert found.after_.log_loss < 0.7
        against = clipped_evidence(np.array([[[0.0], [-1e9]]]), np.ones((1, 2), bool))
        assert against.min() == -MOST_EVIDENCE

    def test_errors(self, cancer, monkeypatch):
        X, y = cancer
        for model in (LDA(), QDA(shrinkage="cv"), JointHistogram(), TextNB()):
            with pytest.raises(VerosimError, match="temperature"):
                calibrate(model, X, y, method="columns")
        with pytest.raises(VerosimError, match="Use a number of folds"):
            calibrate(GaussianNB(), X, y, cv="loo", method="columns")
        pairs = [(np.arange(300), np.arange(300, 400))]
        with pytest.raises(VerosimError, match="exactly once"):
            calibrate(GaussianNB(), X, y, cv=pairs, method="columns")
        far = np.where(np.arange(30) == 3, np.inf, X[:1])
        with pytest.raises(VerosimError, match="infinity in column 'x3'"):
            calibrate(HistogramNB(), X, y, method="columns").predict(far)
        monkeypatch.setattr(contributions, "MOST_NUMBERS_KEPT", 10_000)
        with pytest.raises(VerosimError, match="a sample of the rows"):
            calibrate(GaussianNB(), X, y, method="columns")


# Reject ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits(data):
    frame = pd.read_csv(data / "optdigits" / "optdigits.csv")
    order = np.random.default_rng(0).permutation(len(frame))
    return frame.drop(columns="class").to_numpy(float)[order], frame["class"].to_numpy()[order]


@pytest.mark.parametrize("novelty", [0.01, 0.05])
def test_digits_never_taught_are_none_of_these(digits, novelty):
    """QDA taught nine digits: the tenth is rejected, and of the nine a share `novelty`.

    An 8 looks much like other digits: at 1 % about half of them pass for one.
    """
    X, y = digits
    new = np.arange(len(y)) >= 4_000
    for left_out, least in ((0, 0.9), (8, 0.9 if novelty == 0.05 else 0.4)):
        taught = y != left_out
        found = reject(QDA(shrinkage=0.1), X[taught & ~new], y[taught & ~new], novelty=novelty)
        known = found.rejected(X[taught & new])
        # Four standard errors of two shares: of the quantile's rows and of the new ones.
        spread = np.sqrt(novelty * (1 - novelty) * (1 / len(known) + 1 / (taught & ~new).sum()))
        assert abs(known.mean() - novelty) < 4 * spread
        assert found.rejected(X[~taught]).mean() > least
        answers = found.predict(X[new])
        assert answers.dtype == object
        np.testing.assert_array_equal(answers == None, found.rejected(X[new]))  # noqa: E711


def test_the_quantile_is_out_of_fold(digits):
    """Thresholds from explicit refits, fold by fold; on its own rows a model is too generous."""
    X, y = digits[0][:1_500], digits[1][:1_500]
    model = QDA(shrinkage=0.1)
    out = np.empty(len(y))
    for train, test in StratifiedKFold(10).split(X, y):
        out[test] = clone(model).fit(X[train], y[train]).log_density(X[test])
    engine = HeldOutEngine([model.spec()], inputs_of(X, y), 10)
    held, _ = out_of_fold(engine, lambda rule, rows: rule.evidence(rows))
    np.testing.assert_allclose(held.scores, out, rtol=1e-9)
    found = reject(model, X, y, novelty=0.05)
    k = int(0.05 * (len(y) + 1))
    assert found.log_least_ == pytest.approx(np.sort(out)[k - 1], rel=1e-9)
    assert found.rejected(X).mean() < 0.03


def test_reasons_and_labels(digits):
    X, y = digits[0][:1_500], digits[1][:1_500]
    found = reject(Calibrated(GaussianNB(floor=0.01)), X, y, novelty=0.02, confidence=0.6, label=-1)
    far = np.full((1, X.shape[1]), 1e4)
    rows = np.vstack([X, far])
    reasons = found.reasons(rows)
    assert reasons[-1] == "novel"
    p = found.predict_proba(rows)
    novel = found.log_density(rows) < found.log_least_
    np.testing.assert_array_equal(reasons == "novel", novel)
    np.testing.assert_array_equal(reasons == "unsure", ~novel & (p.max(axis=1) < 0.6))
    assert (reasons == "unsure").any()
    answers = found.predict(rows)
    assert answers.dtype.kind == "i"
    np.testing.assert_array_equal(answers == -1, reasons != "")
    kept = reasons == ""
    np.testing.assert_array_equal(answers[kept], found.model_.predict(rows)[kept])
    words = Reject(GaussianNB(floor=0.01), label="none").fit(X, y).predict(far)
    assert words.tolist() == ["none"]
    with pytest.raises(VerosimError, match="one of the classes"):
        reject(LDA(shrinkage=0.1), X, y, label=3)
    with pytest.raises(VerosimError, match="novelty"):
        reject(LDA(), X, y, novelty=1.5)


def test_predictions_have_the_type_of_the_classes():
    """Where no row is rejected, whatever the label; rejected, a label of one kind keeps it."""
    X, y = load_iris(return_X_y=True)
    names = load_iris().target_names[y]
    far = np.vstack([X[:3], [[1e3] * 4]])
    for labels, label, kind in ((y, None, "O"), (y, "none", "O"), (y, -1, "i"),
                                (names, None, "O"), (names, "none of these", "U")):  # fmt: skip
        found = reject(GaussianNB(), X, labels, novelty=0.05, label=label)
        assert found.predict(X[:3]).dtype.kind == labels.dtype.kind
        answers = found.predict(far)
        assert answers.dtype.kind == kind
        assert answers.tolist() == [*labels[:3].tolist(), label]
    np.testing.assert_array_equal(found.decision_function(far), found.model_.decision_function(far))


def test_nothing_asked_nothing_rejected():
    X, y = load_wine(return_X_y=True)
    found = reject(LDA(), X, y, novelty=None)
    assert not found.rejected(np.vstack([X, X + 1e6])).any()
    np.testing.assert_array_equal(found.predict(X).astype(int), found.model_.predict(X))
    few = reject(LDA(), X, y, novelty=0.001)  # less than one row of 178
    assert few.log_least_ == -np.inf


def test_reject_on_tables(adult, tmp_path):
    """Streams, names, groups of a column and a file give what arrays of the same rows do."""
    some = adult[:3_000].assign(w=1 + np.arange(3_000) % 2)
    some.to_parquet(tmp_path / "adult.parquet")
    a = reject(NaiveBayes(), tmp_path / "adult.parquet", "income", novelty=0.02, sample_weight="w")
    b = reject(NaiveBayes(), some, "income", novelty=0.02, sample_weight="w")
    assert a.log_least_ == pytest.approx(b.log_least_)
    share = np.average(a.rejected(some), weights=some["w"])
    assert 0.005 < share < 0.03
    np.testing.assert_array_equal(a.predict(iter([some[:10], some[10:90]])), b.predict(some[:90]))
    table = a.predict_table(some, keep="age").read_all().to_pandas()
    assert table.columns.tolist()[:3] == ["age", "prediction", "reason"]
    np.testing.assert_array_equal(table["prediction"].isna(), a.rejected(some))
    np.testing.assert_array_equal(table["reason"], a.reasons(some))
    named = some[["income"]].to_numpy().ravel()
    assert a.score(some, "income") == pytest.approx(a.score(some, named))
    grouped = reject(NaiveBayes(), some, "income", novelty=0.02, groups="education")
    assert np.isfinite(grouped.log_least_)
