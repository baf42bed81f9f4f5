"""Missing cells at fit: EM on statistics gives the likelihood's maximum, and stays algebra."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import verosim
from verosim import testing
from verosim.axes import Axes, Columns, Groups
from verosim.data import ArraySource, encode_labels
from verosim.densities import EMGaussian, FullGaussian
from verosim.engines import summarise, use_threads
from verosim.errors import ConvergenceWarning
from verosim.stats import Moments, Patterns, cohorts

MODELS = [verosim.QDA, verosim.LDA, verosim.RDA]
MAXIMA = [verosim.QDA, verosim.LDA]  # of the likelihood; RDA is not one


def holed(X, share, seed=0):
    X = np.array(X, dtype=float)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    X = holed(X, 0.15)
    X[70] = np.nan  # a row of nothing
    return X, y


def em(estimator=verosim.QDA, **settings):
    return estimator(missing="marginalise", **settings)


def assert_same_model(a, b, atol=1e-8):
    scale = np.sqrt(np.diagonal(np.atleast_3d(b.covariances_.T).T, axis1=-2, axis2=-1)).max(axis=0)
    np.testing.assert_allclose(a.means_ / scale, b.means_ / scale, atol=atol)
    shape = scale[:, None] * scale
    np.testing.assert_allclose(a.covariances_ / shape, b.covariances_ / shape, atol=atol)
    np.testing.assert_allclose(a.class_prior_, b.class_prior_, rtol=1e-12)


def rowwise_em(X, y, w=None, shared=False, steps=5000):
    """The textbook, row by row: means (C, d) and covariances (C, d, d)."""
    keep = ~np.isnan(X).all(axis=1)
    X, y, w = X[keep], y[keep], (np.ones(len(X)) if w is None else w)[keep]
    classes, d = np.unique(y), X.shape[1]
    mu = np.array([np.nanmean(X[y == k], axis=0) for k in classes])
    sigma = np.array([np.diag(np.nanvar(X[y == k], axis=0)) for k in classes])
    for _ in range(steps):
        before, scatter = (mu.copy(), sigma.copy()), np.zeros_like(sigma)
        for c, k in enumerate(classes):
            filled, rest = X[y == k].copy(), np.zeros((d, d))
            for x, weight in zip(filled, w[y == k], strict=True):
                m, o = np.isnan(x), ~np.isnan(x)
                B = sigma[c][np.ix_(m, o)] @ np.linalg.inv(sigma[c][np.ix_(o, o)])
                x[m] = mu[c][m] + B @ (x[o] - mu[c][o])
                rest[np.ix_(m, m)] += weight * (sigma[c][np.ix_(m, m)] - B @ sigma[c][np.ix_(o, m)])
            mu[c] = np.average(filled, axis=0, weights=w[y == k])
            z = filled - mu[c]
            scatter[c] = (w[y == k, None] * z).T @ z + rest
        mass = np.array([w[y == k].sum() for k in classes])[:, None, None]
        sigma = np.tile(scatter.sum(0) / w.sum(), (len(mass), 1, 1)) if shared else scatter / mass
        if max(abs(mu - before[0]).max(), abs(sigma - before[1]).max()) < 1e-13:
            break
    return mu, sigma[0] if shared else sigma


# The estimate ------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", MODELS)
@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_missing_is_the_plain_fit_to_the_bit(estimator, threads, rng):
    X, y = rng.normal(size=(30_000, 6)) + 1e5, rng.choice(list("abc"), 30_000)
    w = rng.choice([0.0, 0.5, 1.0], len(y))
    for settings in ({}, {"shrinkage": "ledoit_wolf"}, {"covariance": "unbiased", "floor": 0.1}):
        if estimator is verosim.RDA:
            settings.pop("shrinkage", None)
        with use_threads(threads):
            plain = estimator(**settings).fit(X, y, sample_weight=w)
            model = em(estimator, **settings).fit(X, y, sample_weight=w)
        np.testing.assert_array_equal(model.means_, plain.means_)
        np.testing.assert_array_equal(model.covariances_, plain.covariances_)
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
        assert model.convergence_.iterations == 0
        assert model.convergence_.converged
        assert not hasattr(plain, "convergence_")


@pytest.mark.slow
@pytest.mark.parametrize("estimator", MAXIMA)
@pytest.mark.parametrize("weighted", [False, True])
def test_against_em_row_by_row(estimator, weighted, iris, rng):
    X, y = iris
    w = rng.choice([0.5, 1.0, 3.0], len(y)) if weighted else None
    model = em(estimator).fit(X, y, sample_weight=w)
    mu, sigma = rowwise_em(X, y, w, shared=estimator is verosim.LDA)
    np.testing.assert_allclose(model.means_, mu, atol=1e-8)
    np.testing.assert_allclose(model.covariances_, sigma, atol=1e-8)
    assert model.convergence_.converged


def test_the_factored_likelihood(rng):
    """Anderson (1957): where one column is always shown, the maximum is a regression.

    JASA 52, Maximum likelihood estimates for a multivariate normal distribution when some
    observations are missing.
    """
    n = 200
    y = np.arange(n) % 2
    first = rng.normal(size=n) + y
    second = 0.7 * first + rng.normal(size=n) * (1 + y)
    shown = rng.random(n) < 1 / (1 + np.exp(2 * first))  # at random given `first`
    model = em().fit(np.column_stack([first, np.where(shown, second, np.nan)]), y)
    for c in (0, 1):
        x1, both = first[y == c], shown[y == c]
        a, b = x1[both], second[y == c][both]
        slope = np.cov(a, b, bias=True)[0, 1] / a.var()
        residual = (b - b.mean() - slope * (a - a.mean())).var()
        mean = [x1.mean(), b.mean() + slope * (x1.mean() - a.mean())]
        v = x1.var()
        sigma = [[v, slope * v], [slope * v, residual + slope**2 * v]]
        np.testing.assert_allclose(model.means_[c], mean, atol=1e-8)
        np.testing.assert_allclose(model.covariances_[c], sigma, atol=1e-8)


@pytest.mark.parametrize("estimator", MAXIMA)
@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_the_likelihood_never_falls(estimator, share):
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = em(estimator).fit(holed(X, share), y)
    shown = model.convergence_
    assert len(shown.log_likelihood) == shown.iterations > 1
    gains = np.diff(shown.log_likelihood)
    assert gains.min() > -1e-10 * abs(shown.log_likelihood[-1])
    assert shown.log_likelihood[-1] > shown.log_likelihood[0] + 1


@pytest.mark.parametrize("estimator", MAXIMA)
def test_no_step_aside_is_better(estimator, iris, rng):
    """The log-likelihood of the rows themselves is what the statistic says, and a maximum."""
    X, y = iris
    model = em(estimator).fit(X, y)

    def score(means, covariances):
        total = 0.0
        for row, c in zip(X, y, strict=True):
            o = ~np.isnan(row)
            sigma = covariances if covariances.ndim == 2 else covariances[c]
            if o.any():
                total += multivariate_normal(means[c, o], sigma[np.ix_(o, o)]).logpdf(row[o])
        return total

    best = score(model.means_, model.covariances_)
    assert best == pytest.approx(model.convergence_.log_likelihood[-1], abs=1e-8)
    for _ in range(10):
        aside = rng.normal(size=model.covariances_.shape) * 1e-3
        aside += np.swapaxes(aside, -1, -2)
        moved = model.means_ + rng.normal(size=model.means_.shape) * 1e-3
        assert score(moved, model.covariances_) < best
        assert score(model.means_, model.covariances_ + aside) < best


@pytest.mark.parametrize("estimator", MODELS)
def test_units_and_places_do_not_matter(estimator, iris):
    X, y = iris
    settings = {"shrinkage": 0.0} if estimator is verosim.RDA else {}
    model = em(estimator, **settings).fit(X, y)
    units, place = np.array([1e6, 1.0, 1e-6, 1024.0]), np.array([0.0, 2.0**27, 0.0, 1.0])
    moved = em(estimator, **settings).fit(X * units + place, y)
    np.testing.assert_allclose(moved.predict_proba(X * units + place), model.predict_proba(X),
                               atol=1e-6)  # fmt: skip
    shape = units[:, None] * units
    # The second column is read to 2⁻²⁵: only that is lost.
    np.testing.assert_allclose(moved.covariances_ / shape, model.covariances_, atol=1e-7)


def test_unbiased_is_the_same_with_one_row_less(iris):
    X, y = iris
    mle, unbiased = em().fit(X, y), em(covariance="unbiased").fit(X, y)
    n = np.array([50, 49, 50])[:, None, None]  # a row of nothing counts for the prior only
    np.testing.assert_allclose(unbiased.covariances_, mle.covariances_ * n / (n - 1), rtol=1e-8)
    np.testing.assert_allclose(unbiased.class_prior_, [1 / 3] * 3)


def test_ledoit_wolf_takes_gaussian_fourth_powers(iris):
    X, y = iris
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = em(verosim.LDA, shrinkage="ledoit_wolf").fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.convergence_.converged


# Algebra -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("estimator", MODELS)
def test_merge_forget_order_and_chunks(estimator, iris, rng):
    X, y = iris
    y = np.array(["a", "b", "c"])[y]
    model = em(estimator).fit(X, y)
    order = rng.permutation(len(y))
    assert_same_model(em(estimator).fit(X[order], y[order]), model)
    parts = [em(estimator).fit(X[i::3], y[i::3]) for i in range(3)]
    assert_same_model(sum(parts), model)
    stream = em(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", verosim.SingularWarning)  # of the first few rows
        for i in range(0, 150, 25):
            stream.partial_fit(X[order][i : i + 25], y[order][i : i + 25])
    assert_same_model(stream, model)
    testing.assert_same(stream.stats_, model.stats_)
    stream.forget(X[:30], y[:30])
    assert_same_model(stream, em(estimator).fit(X[30:], y[30:]))
    stream.forget(X[30:50], y[30:50])
    assert stream.classes_.tolist() == ["b", "c"]
    assert_same_model(stream, em(estimator).fit(X[50:], y[50:]))
    assert_same_model(stream.decay(0.25), em(estimator).fit(X[50:], y[50:]))


def test_a_statistic_of_folds(iris):
    X, y = iris
    folds = np.arange(len(y)) % 5
    folded = testing.statistic_of(X, y, plan=Patterns, folds=folds, n_folds=5)
    for f in range(5):
        rest = EMGaussian().estimate(folded.complement("fold").fold(f))
        alone = em().fit(X[folds != f], y[folds != f])
        np.testing.assert_allclose(rest.means, alone.means_, atol=1e-8)
        np.testing.assert_allclose(rest.covariances(), alone.covariances_, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads(threads, rng):
    n, d = 20_000, 70  # patterns of more than one word
    X = rng.normal(size=(n, d)) + 1e4
    X[:, :9][rng.random((n, 9)) < 0.1] = np.nan
    codes, labels = encode_labels(rng.choice(["a", "b", "c"], n, p=[0.98, 0.01, 0.01]))
    source = ArraySource(X, codes, rng.choice([0.0, 0.5, 1.0], n))
    with use_threads(threads):
        testing.adds_like_one_thread(summarise, source, Patterns(Axes(Groups(labels), Columns(d))))


def test_forgetting_what_was_never_seen(iris):
    X, y = iris
    model = em().fit(X, y)
    before = model.stats_.fingerprint()
    unseen = X[:1].copy()
    unseen[0] = [np.nan, 1.0, np.nan, np.nan]
    with pytest.raises(
        verosim.VerosimError, match=r"Class 0.*not fitted on|more would be forgotten"
    ):
        model.forget(unseen, y[:1])
    assert model.stats_.fingerprint() == before


def test_settings_change_without_data(iris):
    X, y = iris
    model = em(verosim.RDA, pooling=0.0, shrinkage=0.0).fit(X, y)
    assert_same_model(model, em().fit(X, y))
    assert_same_model(model.set_params(shrinkage=0.2), em(shrinkage=0.2).fit(X, y))
    both = model.set_params(shrinkage=0.0, pooling=1.0)
    np.testing.assert_allclose(both.covariances_, em(verosim.LDA).fit(X, y).covariances_, atol=1e-8)
    np.testing.assert_allclose(both.with_priors("uniform").class_prior_, [1 / 3] * 3)


@pytest.mark.parametrize("estimator", MODELS)
def test_complete_rows_meet_rows_with_holes(estimator, iris):
    X, y = iris
    whole, _ = load_iris(return_X_y=True)
    complete, missing = estimator().fit(whole[::2], y[::2]), em(estimator).fit(X[1::2], y[1::2])
    rows, labels = np.vstack([whole[::2], X[1::2]]), np.concatenate([y[::2], y[1::2]])
    together = em(estimator).fit(rows, labels)
    assert_same_model(missing.merge(complete), together)
    with pytest.raises(verosim.VerosimError, match=r'missing="error".*Use missing="marginalise"'):
        complete.merge(missing)
    before = complete.predict_proba(whole)
    complete.set_params(missing="marginalise")  # takes effect at once: nothing was lost
    np.testing.assert_array_equal(complete.predict_proba(whole), before)
    assert isinstance(complete.stats_, Moments)
    assert_same_model(complete.merge(missing), together)
    assert_same_model(complete.partial_fit(X[1::2], y[1::2]), together)
    with pytest.raises(verosim.VerosimError, match='missing="error"'):
        complete.set_params(missing="error")
    assert complete.missing == "marginalise"
    complete.forget(X[1::2], y[1::2]).set_params(missing="error")
    np.testing.assert_allclose(complete.predict_proba(whole), before, atol=1e-10)
    again = estimator().fit(whole[::2], y[::2]).merge(em(estimator).fit(whole[1::2], y[1::2]))
    assert_same_model(again, estimator().fit(whole, y))


@pytest.mark.parametrize("estimator", MODELS)
def test_the_rest_of_the_model_works(estimator, iris):
    X, y = iris
    model = em(estimator).fit(X, y)
    testing.agrees_with_its_statistic(model.spec().density, model.stats_, X, y)
    testing.adds_up_by_column(model.spec().density, model.stats_, X)
    testing.ratio_is_density(model.spec().density, model.stats_, X)
    testing.reads_only(model.spec().density, model.stats_)
    rows, labels = model.sample(4000, random_state=0)
    again = estimator().fit(rows, labels)
    assert abs(again.means_ - model.means_).max() < 0.1
    assert np.isfinite(model.mahalanobis(X)).all()
    assert model.boundary(0, 1) is not None
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    assert twin.stats_.fingerprint() == model.stats_.fingerprint()


@pytest.mark.parametrize("estimator", MODELS)
def test_posteriors_are_those_of_the_marginal(estimator, iris):
    X, y = iris
    model = em(estimator).fit(X, y)
    joint = np.zeros((len(X), 3))
    for i, row in enumerate(X):
        o = ~np.isnan(row)
        for c in range(3):
            sigma = model.covariances_ if model.covariances_.ndim == 2 else model.covariances_[c]
            joint[i, c] = model.class_prior_[c] * (
                multivariate_normal(model.means_[c, o], sigma[np.ix_(o, o)]).pdf(row[o])
                if o.any() else 1.0
            )  # fmt: skip
    np.testing.assert_allclose(
        model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), atol=1e-10
    )
    np.testing.assert_allclose(model.predict_proba(X)[70], model.class_prior_)


def test_transform_puts_a_row_where_the_model_expects_it(iris):
    """The mean of the scores of many ways to fill the row, drawn from the model."""
    X, y = iris
    model = em(verosim.LDA).fit(X, y)
    rows, _ = model.sample(400_000, random_state=1)
    near = np.abs(rows[:, 0] - 5.8) < 0.02
    expected = model.transform(rows[near]).mean(axis=0)
    found = model.transform([[5.8, np.nan, np.nan, np.nan]])[0]
    np.testing.assert_allclose(found, expected, atol=0.15)
    nothing = model.transform([[np.nan] * 4])[0]
    np.testing.assert_allclose(nothing, model.transform(rows).mean(axis=0), atol=0.05)
    whole, _ = load_iris(return_X_y=True)
    assert np.isfinite(model.transform(X)).all()
    assert np.corrcoef(model.transform(X)[:, 0], model.transform(whole)[:, 0])[0, 1] > 0.9


# What the data leave open --------------------------------------------------------------------


@pytest.fixture
def three(rng):
    X, y = rng.normal(size=(150, 3)), np.repeat(["a", "b", "c"], 50)
    X[:, 0] += 2 * (y == "b")
    X[:, 2] += X[:, 1]
    return holed(X, 0.2), y


@pytest.mark.parametrize("estimator", MODELS)
def test_a_class_that_never_shows_a_column(estimator, three):
    X, y = three
    X[y == "a", 1] = np.nan
    with pytest.warns(verosim.SingularWarning, match="Class 'a' has no values in 'x1'") as caught:
        model = em(estimator).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.means_[0, 1] == pytest.approx(model.means_[1:, 1].mean(), rel=0.1, abs=0.05)
    with pytest.raises(verosim.VerosimError, match="has no values in"):
        em(estimator, on_singular="raise").fit(X, y)
    if estimator is verosim.LDA:  # rows without the column say nothing of its covariance
        others = em(verosim.LDA).fit(X[y != "a"], y[y != "a"])
        assert model.covariances_[1, 1] == pytest.approx(others.covariances_[1, 1], rel=0.05)


def test_a_class_of_nothing(three):
    X, y = three
    X[y == "a"] = np.nan
    for estimator in MAXIMA:
        with pytest.warns(verosim.SingularWarning, match="Class 'a' has no values in"):
            model = em(estimator).fit(X, y)
        assert model.class_prior_[0] == pytest.approx(1 / 3)
        assert np.isfinite(model.predict_proba(X)).all()
        rest = em(estimator).fit(X[y != "a"], y[y != "a"])
        np.testing.assert_allclose(model.means_[1:], rest.means_, atol=1e-7)


def test_a_column_nobody_shows(three):
    X, y = three
    X[:, 1] = np.nan
    with pytest.warns(verosim.SingularWarning, match="'x1' are not used"):
        model = em().fit(X, y)
    others = em().fit(X[:, [0, 2]], y).predict_proba(X[:, [0, 2]])
    np.testing.assert_allclose(model.predict_proba(X), others, atol=1e-9)


@pytest.mark.parametrize("estimator", MAXIMA)
def test_dependent_columns_warn_once(estimator, three):
    X, y = three
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    X[::7, 0] = np.nan
    with pytest.warns(verosim.SingularWarning) as caught:
        model = em(estimator).fit(X, y)
    assert len(caught) == 1
    assert model.convergence_.converged
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(verosim.VerosimError, match="singular"):
        em(estimator, on_singular="raise").fit(X, y)


def test_an_unbounded_likelihood_is_caught():
    """Fewer complete rows than columns: the likelihood may grow without end (wine, 10 % holes)."""
    X, y = load_wine(return_X_y=True)
    with pytest.warns(verosim.SingularWarning, match="class 2 is singular"):
        model = em().fit(holed(X, 0.1), y)
    assert model.convergence_.converged
    assert np.linalg.cond(np.corrcoef(model.sample(2000, y=2, random_state=0)[0].T)) < 1e3


def test_stopping_early_is_said(iris):
    X, y = iris
    statistic = testing.statistic_of(X, y, plan=Patterns)
    with pytest.warns(ConvergenceWarning, match="stopped after 3 iterations"):
        params = EMGaussian(FullGaussian(missing="marginalise"), most=3).estimate(statistic)
    assert not params.convergence.converged
    assert "stopped before" in repr(params.convergence)


def test_convergence_is_shown(iris):
    X, y = iris
    lines = str(em().fit(X, y).convergence_).splitlines()
    assert lines[0].endswith("iterations, converged")
    assert lines[1].split() == ["iteration", "log-likelihood", "gain"]
    assert len(lines) <= 10


def test_too_many_patterns(monkeypatch, rng):
    monkeypatch.setattr(cohorts, "COHORT_SCATTER_BUDGET", 1 << 12)
    X, y = holed(rng.normal(size=(500, 8)), 0.4), rng.integers(0, 2, 500)
    with pytest.raises(verosim.VerosimError, match=r"\d+ patterns of missing cells.*GaussianNB"):
        em().fit(X, y)
    few = X.copy()
    few[:, 1:] = rng.normal(size=(500, 7))
    model = em().fit(few, y)
    other = em().fit(np.roll(few, 3, axis=1), y)
    monkeypatch.setattr(cohorts, "COHORT_SCATTER_BUDGET", 300)
    with pytest.raises(verosim.VerosimError, match="3 patterns of missing cells"):
        model.merge(other)


def test_infinity_is_named(iris):
    X, y = iris
    X[60, 2] = -np.inf
    with pytest.raises(verosim.VerosimError, match=r"infinity.*column 'x2', row 60, class 1"):
        em().fit(X, y)


def test_inputs_of_every_kind(iris):
    X, y = iris
    model = em().fit(X, y)
    for rows in (np.asfortranarray(X), X.tolist(), pd.DataFrame(X), np.ma.masked_invalid(X)):
        assert_same_model(em().fit(rows, y), model)
    single = em().fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.means_, model.means_, rtol=1e-6)
    w = np.where(np.arange(150) % 5 == 0, 0.0, 1.0)
    kept = w > 0
    assert_same_model(em().fit(X, y, sample_weight=w), em().fit(X[kept], y[kept]))


def test_one_scatter_for_many_classes(monkeypatch, iris):
    """Past its budget LDA keeps one scatter: complete rows at fit, holes at predict."""
    monkeypatch.setattr("verosim.estimators.discriminant.SCATTER_BUDGET", 1)
    X, y = iris
    whole, _ = load_iris(return_X_y=True)
    model = em(verosim.LDA).fit(whole, y)
    assert model.stats_.layout == "pooled"
    monkeypatch.undo()
    np.testing.assert_allclose(
        model.predict_proba(X), em(verosim.LDA).fit(whole, y).predict_proba(X), atol=1e-10
    )


# Real data -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_penguins(data):
    """Two rows of nothing and no other holes: the fit without them, but for the priors."""
    table = pd.read_csv(data / "penguins" / "penguins.csv")
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    X, y = table[columns], table["species"]
    model, shown = em().fit(X, y), X.notna().all(axis=1)
    complete = verosim.QDA().fit(X[shown], y[shown])
    np.testing.assert_allclose(model.means_, complete.means_, rtol=1e-12)
    np.testing.assert_allclose(model.covariances_, complete.covariances_, rtol=1e-9)
    np.testing.assert_allclose(model.class_count_, y.value_counts().sort_index())
    assert model.score(X[shown], y[shown]) > 0.98
    punched = X.where(np.random.default_rng(0).random(X.shape) > 0.2)
    model = em().fit(punched, y)
    mu, sigma = rowwise_em(punched.to_numpy(), y.to_numpy())
    np.testing.assert_allclose(model.means_, mu, rtol=1e-7)
    np.testing.assert_allclose(model.covariances_, sigma, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("estimator", MAXIMA)
def test_holes_cost_little(estimator, data):
    """EM beside the complete table and beside the rows left complete, on held-out rows."""
    table = pd.read_csv(data / "pima_mass" / "pima_mass.csv").drop(columns="split")
    X, y = table.drop(columns="type").to_numpy(float), table["type"].to_numpy()
    first = np.arange(len(y)) % 2 == 0
    train, labels = holed(X[first], 0.1), y[first]
    complete = estimator().fit(X[first], labels)
    missing = em(estimator).fit(train, labels)
    kept = ~np.isnan(train).any(axis=1)
    dropped = estimator().fit(train[kept], labels[kept])

    def off(model):
        return np.abs(model.predict_proba(X[~first]) - complete.predict_proba(X[~first])).mean()

    assert missing.convergence_.converged
    assert off(missing) < 0.7 * off(dropped)


def test_breast_cancer_with_holes():
    """Near-collinear columns and nearly as many patterns as rows."""
    X, y = load_breast_cancer(return_X_y=True)
    Z = holed(X, 0.03)
    model = em(verosim.LDA, shrinkage=1e-3).fit(Z, y)
    assert model.convergence_.converged
    assert model.score(X, y) > 0.94
