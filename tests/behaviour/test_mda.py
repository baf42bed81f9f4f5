"""Mixture discriminant analysis: EM climbs, finds simulated mixtures, and contains LDA and QDA."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold

import verosim
from verosim import LDA, MDA, QDA
from verosim.axes import Axes, Columns, Groups
from verosim.data import ArraySource, encode_labels
from verosim.engines import summarise
from verosim.errors import ConvergenceWarning
from verosim.estimators.mixture.em import Components, CovariancePrior, expect, maximise, run_em
from verosim.estimators.mixture.fitting import white_rows
from verosim.estimators.mixture.rows import LabelledRows
from verosim.estimators.mixture.start import clusters, start
from verosim.stats import Moments

MEANS = np.array([[[0, 0], [4, 4], [0, 6]], [[4, 0], [0, 3], [-4, 0]]], dtype=float)  # (C, G, d)
SHARES = np.array([0.5, 0.3, 0.2])
ROOTS = np.array([[[0.5, 0.0], [0.3, 0.6]], [[0.7, 0.0], [-0.4, 0.4]]])  # one for each class


def simulated(n: int, seed: int = 0):
    """Two classes of three components; the components of a class have one covariance."""
    rng = np.random.default_rng(seed)
    y, g = rng.integers(0, 2, n), rng.choice(3, n, p=SHARES)
    noise = np.einsum("nij,nj->ni", ROOTS[y], rng.normal(size=(n, 2)))
    return MEANS[y, g] + noise, y


def true_log_density(X):
    """log p(x) of the simulated rows."""
    parts = [
        0.5 * SHARES[g] * multivariate_normal(MEANS[k, g], ROOTS[k] @ ROOTS[k].T).pdf(X)
        for k in range(2)
        for g in range(3)
    ]
    return np.log(np.sum(parts, axis=0))


def white(X, y):
    """Rows as EM reads them."""
    codes, labels = encode_labels(y)
    source = ArraySource(np.asarray(X, dtype=float), codes, np.ones(len(y)))
    axes = Axes(Groups(labels), Columns(np.shape(X)[1]))
    rows = LabelledRows.of(source, axes.groups)
    return white_rows(rows, summarise(source, Moments(axes, layout="full"))), rows


# Special cases and references -------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize(("covariance", "other"), [("shared", LDA()), ("own", QDA())])
def test_one_component_is_lda_or_qda(load, covariance, other):
    X, y = load(return_X_y=True)
    model = MDA(1, covariance, regularisation=0).fit(X, y)
    other.fit(X, y)
    np.testing.assert_allclose(model.log_joint(X), other.log_joint(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.covariances_, other.covariances_, rtol=1e-9, atol=1e-12)
    assert model.n_parameters_ == other.n_parameters_
    np.testing.assert_allclose(verosim.bic(model), verosim.bic(other), rtol=1e-9)


def test_the_log_likelihood_of_gaussian_mixture_from_the_same_start(rng):
    """Each class of MDA is scikit-learn's GaussianMixture, iteration by iteration."""
    X, y = simulated(600)
    rows, sorted_rows = white(X, y)
    root = rows.units[1]
    centres = rng.normal(size=(2, 3, 2))
    owner = np.repeat([0, 1], 3)
    frame = rows.frame
    first = Components(
        owner, np.full(6, 1 / 3), centres.reshape(6, 2), np.tile(np.eye(2), (6, 1, 1)), shared=False
    )
    nothing = CovariancePrior(np.zeros(2), np.eye(2))
    for iterations in (1, 2, 5, 20):
        found = run_em(rows, first, nothing, 0.0, 0.0, iterations)
        for k in range(2):
            own = sorted_rows.X[sorted_rows.codes == k]
            means = frame.means[k] + centres[k] @ root.T
            sigma = np.tile(np.linalg.inv(frame.covariance_[0]), (3, 1, 1))
            reference = GaussianMixture(
                3, reg_covar=0, tol=0, max_iter=iterations, means_init=means,
                weights_init=np.full(3, 1 / 3), precisions_init=sigma,
            )  # fmt: skip
            with np.errstate(all="ignore"), pytest.warns(UserWarning, match="converge"):
                reference.fit(own)
            level = -0.5 * frame.log_det[0] * len(own)
            np.testing.assert_allclose(
                found.log_likelihood[k] + level, reference.score(own) * len(own), rtol=1e-9
            )


@pytest.mark.parametrize("covariance", ["shared", "own"])
def test_the_log_likelihood_is_that_of_the_rows(covariance):
    X, y = simulated(400)
    model = MDA(3, covariance, regularisation=0).fit(X, y)
    own = model.log_joint(X)[np.arange(400), y] - np.log(model.class_prior_)[y]
    np.testing.assert_allclose(model.convergence_.log_likelihood[-1], own.sum(), rtol=1e-9)
    np.testing.assert_allclose(
        model.state_.params.log_likelihood(model.stats_),
        [own[y == 0].sum(), own[y == 1].sum()], rtol=1e-9,
    )  # fmt: skip


def test_the_density_is_the_sum_over_components():
    X, y = simulated(300)
    model = MDA(2, "own", 0.1).fit(X, y)
    joint = np.zeros((300, 2))
    for w, mean, sigma, k in zip(
        model.weights_, model.means_, model.covariances_, model.component_classes_, strict=True
    ):
        joint[:, k] += model.class_prior_[k] * w * multivariate_normal(mean, sigma).pdf(X)
    np.testing.assert_allclose(np.exp(model.log_joint(X)), joint, rtol=1e-8)
    np.testing.assert_allclose(model.log_density(X), np.log(joint.sum(axis=1)), rtol=1e-8)
    np.testing.assert_allclose(
        model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), rtol=1e-7, atol=1e-12
    )


# EM ---------------------------------------------------------------------------------------------


def test_em_stops_with_a_warning_after_max_iter():
    """Two iterations from a start where many more would still raise the log-likelihood."""
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        model = MDA(3, "own", 0.0, max_iter=2, tol=0).fit(*load_iris(return_X_y=True))
    assert not model.convergence_.converged
    assert np.diff(model.convergence_.log_likelihood).min() > 0.1  # far more than rounding
    assert model.n_iter_ == 3


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("amount", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("sphere", [False, True])
def test_the_objective_never_falls(shared, amount, sphere):
    """No iteration lowers the (penalised) log-likelihood, unless a component is removed."""
    steps = 0
    for X, y in (load_wine(return_X_y=True), load_iris(return_X_y=True), simulated(500)):
        rows, _ = white(X, y)
        target = rows.diagonal_of(np.eye(X.shape[1]), sphere)
        prior = CovariancePrior(amount * rows.class_weight, target)
        now = start(rows, np.full(len(rows.counts), 3), [0], 1e-6)
        now = now if shared else now.with_own_covariances()
        before = -np.inf
        for _ in range(40):
            sums = expect(rows, now)
            objective = float((sums.log_likelihood + prior.penalty(now)).sum())
            assert objective > before - 1e-9 * abs(objective)
            after = maximise(rows, sums, now.owner, prior, 1e-6)
            removed = len(after.owner) < len(now.owner)
            now, before = after, -np.inf if removed else objective
            steps += not removed
    assert steps > 100


@pytest.mark.parametrize("covariance", ["shared", "own"])
def test_a_simulated_mixture_is_recovered(covariance):
    X, y = simulated(6000)
    model = MDA(3, covariance, regularisation=0).fit(X, y)
    for k in range(2):
        at = model.component_classes_ == k
        means, shares = model.means_[at], model.weights_[at]
        nearest = ((means[:, None] - MEANS[k]) ** 2).sum(axis=2).argmin(axis=0)
        assert sorted(nearest.tolist()) == [0, 1, 2]
        np.testing.assert_allclose(means[nearest], MEANS[k], atol=0.1)
        np.testing.assert_allclose(shares[nearest], SHARES, atol=0.03)
        if covariance == "own":
            for sigma in model.covariances_[at]:
                np.testing.assert_allclose(sigma, ROOTS[k] @ ROOTS[k].T, atol=0.1)
    test, _ = simulated(2000, seed=1)
    if covariance == "own":
        assert abs((model.log_density(test) - true_log_density(test)).mean()) < 0.01


def test_the_number_of_components_is_found():
    """XOR of four clusters needs two components per class, and three do not help."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (1000, 2))
    X, y = corner + 0.25 * rng.normal(size=(1000, 2)), corner[:, 0] ^ corner[:, 1]
    model = MDA().fit(X, y)
    assert model.n_components_.tolist() == [2, 2]
    assert model.score(X, y) > 0.93 > 0.75 > LDA().fit(X, y).score(X, y)
    chosen = model.log_losses_[model.covariance_, model.regularisation_, model.target_, 2]
    assert chosen < 1.02 * min(model.log_losses_.values())
    assert chosen < 0.7 * min(loss for key, loss in model.log_losses_.items() if key[3] == 1)


def test_components_without_rows_are_removed():
    """Twelve components for three different rows: k-means finds three."""
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0], [6.0, 5.0], [5.0, 6.0]], 9, 0)
    y = np.repeat([0, 1], 27)
    model = MDA(12, "own", 0.1).fit(X, y)
    assert model.n_components_.tolist() == [3, 3]
    assert np.isfinite(model.log_density(X)).all()
    np.testing.assert_allclose(model.weights_, 1 / 3, atol=1e-6)


def test_components_by_class():
    X, y = simulated(500)
    labels = np.array(["a", "b"])[y]
    model = MDA({"a": 1, "b": 3}, "own", 0.1).fit(X, labels)
    assert model.n_components_.tolist() == [1, 3]
    assert model.component_classes_.tolist() == ["a", "b", "b", "b"]
    with pytest.raises(
        verosim.VerosimError, match="a number for each class; there is none for 'b'"
    ):
        MDA({"a": 1}).fit(X, labels)
    with pytest.raises(verosim.VerosimError, match="'c' is not one of the model's classes"):
        MDA({"a": 1, "b": 1, "c": 2}).fit(X, labels)


def test_k_means_finds_clusters(rng):
    Z = np.concatenate([rng.normal(size=(50, 3)) + 20 * np.eye(3)[i] for i in range(3)])
    weight, mean = clusters(Z, np.ones(150), 3, rng)
    assert sorted(weight.tolist()) == [50, 50, 50]
    np.testing.assert_allclose(np.sort(mean.max(axis=1)), 20, atol=1)


# Reproducible, and independent of what should not matter ----------------------------------------


def fitted(X, y, **more):
    return MDA(3, "own", 0.05, **more).fit(X, y)


def test_the_same_seed_gives_the_same_model_with_any_number_of_threads():
    X, y = simulated(5000)
    with verosim.use_threads(1):
        one = MDA(covariance="own").fit(X, y)
    with verosim.use_threads(3):
        three = MDA(covariance="own").fit(X, y)
    assert one.log_losses_.keys() == three.log_losses_.keys()
    np.testing.assert_allclose(one.means_, three.means_, rtol=1e-10)
    np.testing.assert_allclose(one.log_density(X), three.log_density(X), rtol=1e-10)


def test_the_order_of_rows_and_the_units_of_columns_do_not_matter(rng):
    X, y = simulated(600)
    model = fitted(X, y)
    order = rng.permutation(600)
    other = fitted(X[order], y[order])
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-8)
    scale, shift = np.array([1e-3, 50.0]), np.array([1e6, -2.0])
    other = fitted(X * scale + shift, y)
    np.testing.assert_allclose(
        other.predict_proba(X * scale + shift), model.predict_proba(X), atol=1e-5
    )


def test_a_weight_is_a_number_of_rows(rng):
    X, y = simulated(400)
    weights = rng.integers(0, 4, 400)
    weighted = MDA(random_state=3).fit(X, y, sample_weight=weights)
    repeated = MDA(random_state=3).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    doubled = MDA(random_state=3).fit(X, y, sample_weight=2.5 * weights)
    np.testing.assert_allclose(weighted.predict_proba(X), doubled.predict_proba(X), atol=1e-7)


def test_tables_give_the_model_of_arrays():
    X, y = simulated(300)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.array(["no", "yes"])[y])
    model = fitted(table, "y")
    arrays = fitted(X, table["y"].to_numpy())
    np.testing.assert_allclose(model.predict_proba(table), arrays.predict_proba(X), atol=1e-9)
    once = fitted((table.iloc[i : i + 100] for i in range(0, 300, 100)), "y")
    np.testing.assert_allclose(once.means_, model.means_, rtol=1e-9)


# A density --------------------------------------------------------------------------------------


def test_samples_have_the_means_of_the_components():
    X, y = simulated(3000)
    model = fitted(X, y)
    rows, labels = model.sample(20_000, random_state=0)
    for k in range(2):
        at = model.component_classes_ == k
        np.testing.assert_allclose(
            rows[labels == k].mean(axis=0), model.weights_[at] @ model.means_[at], atol=0.1
        )
    again = fitted(rows, labels)
    gap = again.log_density(X).mean() - model.log_density(X).mean()
    assert abs(gap) < 0.05


def test_contributions_sum_to_the_log_density():
    X, y = load_iris(return_X_y=True)
    params = fitted(X, y).state_.params
    np.testing.assert_allclose(params.contributions(X).sum(axis=2), params.log_density(X))


def test_new_priors_need_no_rows():
    X, y = simulated(400)
    model = fitted(X, y)
    other = model.with_priors([0.9, 0.1])
    np.testing.assert_allclose(
        other.log_joint(X), model.log_joint(X) + np.log([0.9, 0.1]) - np.log(model.class_prior_)
    )
    assert pickle.loads(pickle.dumps(model)).score(X, y) == model.score(X, y)


# Refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["partial_fit", "forget"])
def test_row_updates_are_refused_by_name(verb):
    model = fitted(*simulated(100))
    assert not hasattr(model, verb)
    with pytest.raises(verosim.VerosimError, match=f"{verb} is not available for MDA"):
        getattr(model, verb)


def test_merging_is_refused_by_name():
    model = fitted(*simulated(100))
    with pytest.raises(verosim.VerosimError, match="merge is not available for MDA"):
        model + model
    with pytest.raises(verosim.VerosimError, match="SemiSupervised is not available for MDA"):
        verosim.SemiSupervised(MDA()).fit([[1.0], [2.0], [3.0]], [0, 1, -1])


def test_missing_values_are_refused():
    X, y = simulated(100)
    X[7, 1] = np.nan
    with pytest.raises(verosim.VerosimError, match=r"NaN.*row 7"):
        MDA().fit(X, y)
    model = fitted(*simulated(100))
    with pytest.raises(verosim.VerosimError, match=r"NaN.*row 7"):
        model.predict(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"components": 0}, "components must be a whole number from 1"),
        ({"components": "many"}, "components must be a whole number, 'cv' or a dict; got 'many'"),
        ({"components": {0: 1.5, 1: 1}}, r"components\[0\] must be a whole number"),
        ({"covariance": "full"}, "covariance must be one of"),
        ({"regularisation": 1.0}, "regularisation must be a number"),
        ({"target": "cube"}, "target must be one of"),
        ({"restarts": 0}, "restarts must be a whole number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"tol": -1}, "tol must be a finite number"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(verosim.VerosimError, match=message):
        MDA(**settings).fit(*simulated(50))


def test_a_setting_that_changes_the_components_needs_a_new_fit():
    X, y = simulated(100)
    model = fitted(X, y).set_params(components=2)
    with pytest.raises(verosim.VerosimError, match="components changed after the rows were read"):
        model.predict(X)


# Odd rows ---------------------------------------------------------------------------------------


def test_few_rows_and_constant_columns():
    X = np.array([[0.0, 1.0], [1.0, 1.0], [5.0, 1.0], [6.0, 1.0], [9.0, 1.0]])
    with pytest.warns(verosim.SingularWarning, match="constant columns 'x1'"):
        model = MDA(3).fit(X, ["a", "a", "b", "b", "c"])
    assert model.predict(X).tolist() == ["a", "a", "b", "b", "c"]
    assert np.isfinite(model.log_density(X)).all()


def test_dependent_columns_and_tight_clusters(rng):
    """Own covariances without regularisation have a floor, so that no density is infinite."""
    X, y = simulated(300)
    X = np.column_stack([X, X @ [1.0, -2.0]])
    X[:20] = X[0]
    y[:20] = 0
    with pytest.warns(verosim.SingularWarning):
        model = MDA(4, "own", 0.0).fit(X, y)
    assert np.isfinite(model.log_density(X)).all()


# Validation and accuracy ------------------------------------------------------------------------


def test_validation_fits_each_fold_again():
    X, y = simulated(400)
    found = verosim.cross_validate(MDA(3, "own", 0.05), X, y, cv=4)
    for fold in range(4):
        test = found.folds == fold
        alone = fitted(X[~test], y[~test]).predict_proba(X[test])
        np.testing.assert_allclose(found.proba[test], alone, atol=1e-9)
    assert verosim.calibrate(MDA(3, "own", 0.05), X, y).score(X, y) > 0.95


def held_out(model, X, y):
    """Accuracy and log-loss over five stratified folds."""
    right, loss = [], []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        p = clone(model).fit(X[train], y[train]).predict_proba(X[test])
        right.append(p.argmax(axis=1) == y[test])
        loss.append(-np.log(np.maximum(p[np.arange(len(test)), y[test]], 1e-15)))
    return np.concatenate(right).mean(), np.concatenate(loss).mean()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::verosim.SingularWarning")
def test_digits_are_read_better_than_by_lda_and_qda():
    X, y = load_digits(return_X_y=True)
    accuracy, loss = held_out(MDA(), X, y)
    assert accuracy > 0.985
    assert loss < 0.1
    for other in (LDA(), QDA()):
        plain = held_out(other, X, y)
        assert accuracy > plain[0]
        assert loss < plain[1] / 2


@pytest.mark.slow
def test_waveform_is_the_example_of_hastie_and_tibshirani():
    """Waveforms between two corners are not Gaussian: mixtures have a lower log-loss."""
    rng = np.random.default_rng(0)
    i = np.arange(1, 22)
    tops = [np.maximum(6 - np.abs(i - top), 0) for top in (11, 15, 7)]
    pairs = np.array([[tops[a], tops[b]] for a, b in ((0, 1), (0, 2), (1, 2))], dtype=float)
    y, u = rng.integers(0, 3, 1500), rng.random((1500, 1))
    X = u * pairs[y, 0] + (1 - u) * pairs[y, 1] + rng.normal(size=(1500, 21))
    accuracy, loss = held_out(MDA(covariance="shared"), X, y)
    for other in (LDA(), QDA()):
        plain = held_out(other, X, y)
        assert accuracy > plain[0] - 0.015
        assert loss < plain[1] - 0.02
