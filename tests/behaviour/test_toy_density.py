"""A density and its classifier, built by following CONTRIBUTING.md: an exponential per column.

p(x | k) = Π_j λ_kj exp(−λ_kj x_j),   λ_kj = n_k / Σ x_j
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import expon

from tests.laws.strategies import PLANS
from verosim import cross_validate, search, testing
from verosim.densities import Density, Params
from verosim.estimators.base import GenerativeClassifier
from verosim.models import Spec
from verosim.stats import Moments


def totals(statistic):
    """(C, d) Σ x and (C, 1) the weights, from sums about a pivot."""
    pivot = np.where(np.isnan(statistic.arrays["pivot"]), 0.0, statistic.arrays["pivot"])
    weight = statistic.weight[:, :1]
    return statistic.arrays["sum"][:, 0] + weight * pivot, weight


@dataclass(frozen=True)
class ExponentialParams(Params):
    rate: np.ndarray  # (C, d)

    @property
    def n_parameters(self):
        return self.rate.size

    def contributions(self, block):
        return np.log(self.rate) - self.rate * block[:, None, :]

    def log_density(self, block, out=None):
        found = self.contributions(block).sum(axis=2)
        if out is None:
            return found
        out[...] = found
        return out

    def sample(self, classes, rng):
        return rng.exponential(1 / self.rate[classes])

    def log_likelihood(self, statistic):
        total, weight = totals(statistic)
        return (weight * np.log(self.rate) - self.rate * total).sum(axis=1)


@dataclass(frozen=True)
class Exponential(Density):
    alpha: float = 0.0  # rows of mean one that are added to every class

    @property
    def has_independent_columns(self):
        return True

    def estimate(self, statistic):
        total, weight = totals(statistic)
        return ExponentialParams((weight + self.alpha) / (total + self.alpha))


@dataclass(frozen=True, eq=False, kw_only=True)
class ExponentialSpec(Spec):
    alpha: float = 0.0

    def plan(self, axes, source):
        return Moments(axes, layout="diagonal")

    @property
    def density(self):
        return Exponential(self.pseudo_count())


class ExponentialNB(GenerativeClassifier):
    """Naive Bayes for waiting times."""

    def __init__(self, alpha=0.0, priors=None):
        self.alpha = alpha
        self.priors = priors

    def spec(self):
        return ExponentialSpec(**self.settings(ExponentialSpec))


@pytest.fixture
def rows(rng):
    y = rng.integers(0, 3, 300)
    return rng.exponential(np.array([[1.0, 4.0], [2.0, 2.0], [5.0, 1.0]])[y]), y


def test_laws(rows):
    """What the density says it can do, it can."""
    X, y = rows
    statistic = testing.statistic_of(X, y, plan=PLANS["diagonal"])
    density = Exponential()
    testing.reads_only(density, statistic)
    testing.agrees_with_its_statistic(density, statistic, X, y)
    testing.adds_up_by_column(density, statistic, X)
    testing.ratio_is_density(density, statistic, X)
    testing.columns_stand_alone(density, statistic, X)
    testing.leaves_one_out(density, statistic, X[:5], y[:5])


def test_scores_are_those_of_scipy(rows):
    X, y = rows
    model = ExponentialNB().fit(X, y)
    for k in range(3):
        by_hand = expon.logpdf(X, scale=X[y == k].mean(axis=0)).sum(axis=1) + np.log(
            np.mean(y == k)
        )
        np.testing.assert_allclose(model.log_joint(X)[:, k], by_hand)
    assert model.n_parameters_ == 8


def test_it_learns_as_every_model_does(rows, tmp_path):
    X, y = rows
    whole = ExponentialNB().fit(X, y)
    halves = ExponentialNB().fit(X[::2], y[::2]) + ExponentialNB().fit(X[1::2], y[1::2])
    stream = ExponentialNB().partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    less = ExponentialNB().fit(np.vstack([X, X[:40]]), np.append(y, y[:40])).forget(X[:40], y[:40])
    for model in (halves, stream, less):
        np.testing.assert_allclose(
            model.predict_log_proba(X), whole.predict_log_proba(X), atol=1e-9
        )
    drawn, labels = whole.sample(5000, random_state=0)
    assert ExponentialNB().fit(drawn, labels).score(X, y) == pytest.approx(
        whole.score(X, y), abs=0.02
    )
    table = {"wait": X[:, 0], "call": X[:, 1], "who": np.array(["a", "b", "c"])[y]}
    assert ExponentialNB().fit(table, "who").score(table, "who") == whole.score(X, y)


def test_it_validates_as_every_model_does(rows):
    X, y = rows
    folds = np.arange(len(y)) % 5
    found = cross_validate(ExponentialNB(), X, y, cv=folds)
    for f in range(5):
        held = folds == f
        refitted = ExponentialNB().fit(X[~held], y[~held]).predict_log_proba(X[held])
        np.testing.assert_allclose(found.log_proba[held], refitted, atol=1e-10)
    assert cross_validate(ExponentialNB(), X, y, cv="loo").mean("accuracy") > 0.5
    assert len(search(ExponentialNB(), X, y, {"alpha": [0, 1, 10]}).settings) == 3
    tuned = ExponentialNB(alpha="cv").fit(X, y)
    assert tuned.alpha_ in (1e-3, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
