"""Cross-validation equals refitting, and merging equals one fit, up to the rounding error that
docs/concepts/folds.md states:

    |Δ log p(k | x)| ≤ 100 ε κ (1 + M),    M = max |log π_k + log p(x | k)| over rows and classes

ε = 2⁻⁵² and κ is the largest condition number of the correlation matrices, 1 without covariances.
Both sides have the same schema or bins, and no covariance is singular.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

import verosim
from tests.examples import tried_often
from verosim import SingularWarning, VerosimWarning, cross_validate

EPS = np.finfo(float).eps
SEEDS = st.integers(0, 2**32 - 1)
GAUSSIANS = [
    verosim.QDA(), verosim.QDA(shrinkage="oas"), verosim.LDA(), verosim.LDA(shrinkage=0.01),
    verosim.RDA(shrinkage=0.1), verosim.GaussianNB(), verosim.NaiveLDA(),
]  # fmt: skip
FULL = verosim.QDA, verosim.LDA, verosim.RDA
COUNTS = [verosim.MultinomialNB(), verosim.ComplementNB(), verosim.BernoulliNB(),
          verosim.CategoricalNB()]  # fmt: skip
TABLES = [verosim.NaiveBayes(), verosim.NaiveBayes(missing="category"), verosim.TAN(),
          verosim.KDB(), verosim.AODE()]  # fmt: skip


def labels_and_folds(rng, least):
    """At least `least` rows of each class in each fold, in any order."""
    classes, folds = rng.integers(2, 4), rng.integers(2, 5)
    n = int(classes * folds * rng.integers(least, least + 30))
    order = rng.permutation(n)
    return order % classes, order // classes % folds


def numbers(rng, y):
    """Columns with correlations, units from 1e-5 to 1e5, and offsets up to 1e6 deviations."""
    d = int(rng.integers(1, 6))
    mixed = np.diag(10.0 ** rng.uniform(-rng.integers(0, 4), 0, d)) @ rng.normal(size=(d, d))
    X = rng.normal(size=(len(y), d)) @ mixed + rng.normal(size=(3, d))[y]
    if rng.random() < 0.2:
        X[rng.integers(len(y))] *= 10.0 ** rng.integers(1, 6)  # an outlier
    if rng.random() < 0.3:
        X = X.round(1)  # with ties, and with columns that are nearly constant
    return (X + X.std(axis=0) * 10.0 ** rng.integers(-2, 7, d)) * 10.0 ** rng.integers(-5, 6, d)


def table(rng, y):
    """Numbers and categories, some of them missing."""
    frame = pd.DataFrame({"y": np.array(["p", "q", "r"])[y]})
    for j in range(int(rng.integers(1, 5))):
        if rng.random() < 0.5:
            cells = rng.normal(size=len(y)) + y * rng.normal()
            cells = pd.Series(np.exp(cells) if rng.random() < 0.3 else cells)
        else:
            codes = np.minimum(3, rng.integers(0, 4, len(y)) * (1 + (y == 1)))
            cells = pd.Series(np.array(list("abcd"))[codes])
        frame[f"x{j}"] = cells.mask(rng.random(len(y)) < 0.1) if rng.random() < 0.3 else cells
    return frame


def condition(fitted):
    """The largest condition number of the correlation matrices of a model with covariances."""
    worst, d = 1.0, fitted.n_features_in_
    if not isinstance(fitted, FULL):
        return worst
    found = getattr(fitted, "covariances_", None)
    for covariance in np.reshape(fitted.covariance_ if found is None else found, (-1, d, d)):
        scale = np.sqrt(np.diag(covariance))
        assume((scale > 0).all())
        worst = max(worst, np.linalg.cond(covariance / np.outer(scale, scale)))
    return worst


def check(given, fitted, rows):
    expected = fitted.predict_log_proba(rows)
    bound = 100 * EPS * condition(fitted) * (1 + np.abs(fitted.log_joint(rows)).max())
    assert np.abs(given - expected).max() <= bound
    other = given.argmax(axis=1) != expected.argmax(axis=1)
    best = np.sort(expected[other], axis=1)
    assert (best[:, -1] - best[:, -2] <= 2 * bound).all()


@pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")
class TestCrossValidationIsRefitting:
    @tried_often
    @given(seed=SEEDS, model=st.sampled_from(GAUSSIANS), weighted=st.booleans())
    def test_gaussian_models(self, seed, model, weighted):
        rng = np.random.default_rng(seed)
        y, folds = labels_and_folds(rng, 8)
        X = numbers(rng, y)
        if not isinstance(model, FULL) and rng.random() < 0.5:
            X[rng.random(X.shape) < 0.1] = np.nan
        w = rng.uniform(0.1, 3, len(y)) if weighted else np.ones(len(y))
        held = folds == 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VerosimWarning)
            warnings.simplefilter("error", SingularWarning)
            try:
                found = cross_validate(model, X, y, cv=folds, sample_weight=w)
                fitted = clone(model).fit(X[~held], y[~held], sample_weight=w[~held])
            except SingularWarning:
                assume(False)
        check(found.log_proba[held], fitted, X[held])
        other = clone(model).fit(X[held], y[held], sample_weight=w[held])
        at_once = clone(model).fit(X, y, sample_weight=w)
        check((fitted + other).predict_log_proba(X), at_once, X)

    @tried_often
    @given(seed=SEEDS, model=st.sampled_from(COUNTS), weighted=st.booleans())
    def test_models_of_counts(self, seed, model, weighted):
        rng = np.random.default_rng(seed)
        y, folds = labels_and_folds(rng, 2)
        X = rng.integers(0, 4, (len(y), int(rng.integers(1, 6))))
        w = rng.uniform(0.1, 3, len(y)) if weighted else np.ones(len(y))
        held = folds == 0
        found = cross_validate(model, X, y, cv=folds, sample_weight=w)
        check(
            found.log_proba[held],
            clone(model).fit(X[~held], y[~held], sample_weight=w[~held]),
            X[held],
        )

    @tried_often
    @given(seed=SEEDS, model=st.sampled_from(TABLES))
    def test_models_of_tables_with_the_schema_of_a_fit(self, seed, model):
        rng = np.random.default_rng(seed)
        y, folds = labels_and_folds(rng, 4)
        frame = table(rng, y)
        schema = clone(model).fit(frame, "y").schema_  # with the bins
        held = folds == 0
        found = cross_validate(model, frame, "y", schema=schema, cv=[(~held, held)])
        check(
            found.log_proba[held], clone(model).fit(frame[~held], "y", schema=schema), frame[held]
        )

    @tried_often
    @given(seed=SEEDS)
    def test_histograms_of_the_same_bins(self, seed):
        rng = np.random.default_rng(seed)
        y, folds = labels_and_folds(rng, 2)
        X = numbers(rng, y)
        model = verosim.HistogramNB(bins=[np.unique(np.quantile(c, np.arange(5) / 4)) for c in X.T])
        held = folds == 0
        found = cross_validate(model, X, y, cv=folds)
        check(found.log_proba[held], clone(model).fit(X[~held], y[~held]), X[held])
