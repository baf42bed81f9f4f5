"""scikit-learn's own checks: every estimator, and one expected failure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.utils.estimator_checks import parametrize_with_checks

import verosim
from verosim import estimators

ALL = [getattr(verosim, name) for name in estimators.__all__]
VARIANTS = [
    verosim.QDA(shrinkage="ledoit_wolf"),
    verosim.LDA(shrinkage="oas", covariance="unbiased"),
    verosim.RDA(pooling=1.0, shrinkage="ledoit_wolf"),
    verosim.QDA(missing="marginalise"),
    verosim.LDA(missing="marginalise", shrinkage=0.1),
    verosim.RDA(missing="marginalise", covariance="unbiased"),
    verosim.LDA(encode="onehot", shrinkage=0.02),
    verosim.RDA(pooling="auto", encode="normal"),
    verosim.GaussianNB(covariance="unbiased", shrinkage=0.1, priors="laplace"),
    verosim.QDA(robust=True),
    verosim.LDA(robust=True),
    verosim.RDA(robust=True, missing="marginalise"),
    verosim.GaussianNB(robust=True),
    verosim.NaiveLDA(robust=True),
    verosim.HistogramNB(strategy="uniform"),
    verosim.MultinomialNB(priors="uniform"),  # class weights do not change given priors
    verosim.ComplementNB(norm=True),
    verosim.TextNB("contrast", weighting="l2", alpha="cv"),
    verosim.TextNB(analyzer="char_wb", ngrams=(3, 5), weighting="l2"),
    verosim.TextRidge(d=64, penalty="cv"),
    verosim.AODE(bins="auto", weighted=False),
    verosim.KDB(k=3, bins=5, m=2.0),
    verosim.TAN(bins=8, smoothing="laplace"),
    verosim.MDA(components=2, covariance="own", regularisation=0.1, target="diagonal"),
    verosim.MDA(components=3, covariance="shared", regularisation=0.0),
]
WRAPPERS = [
    verosim.Calibrated(verosim.GaussianNB()),
    verosim.Calibrated(verosim.MultinomialNB()),
    verosim.Calibrated(verosim.LDA(), method="isotonic"),
    verosim.Calibrated(verosim.MultinomialNB(), method="length"),
    verosim.Calibrated(verosim.TextRidge(d=64), method="length"),
    verosim.Calibrated(verosim.NaiveBayes(), method="isotonic", cv=5),
    verosim.Calibrated(verosim.GaussianNB(), method="columns"),
    verosim.Calibrated(verosim.BernoulliNB(), method="columns", cv=3),
    verosim.Calibrated(verosim.NaiveBayes(), method="pairs"),
    verosim.Conformal(verosim.GaussianNB()),
    verosim.Conformal(verosim.NaiveBayes(), size=0.3),
    verosim.Conformal(verosim.QDA(), by_class=True),
    verosim.Conformal(verosim.LDA(), method="cross"),
    verosim.Conformal(verosim.MultinomialNB(), method="cross", by_class=True, cv=3),
    # `predict` is to be the most probable class in the checks, and of a rejected row it is not:
    # so with settings that reject none of their rows. Rejected rows are in tests/behaviour.
    verosim.Reject(verosim.GaussianNB()),
    verosim.Reject(verosim.NaiveBayes()),
    verosim.Reject(verosim.BernoulliNB()),
    verosim.Reject(verosim.QDA(), label="none"),
    verosim.Reject(verosim.LDA(), confidence=0.4, label=-9),
    verosim.Reject(verosim.LDA(), novelty=None),
    # None, as the checks use −1 for a class.
    verosim.SemiSupervised(verosim.GaussianNB(), unlabelled=None),
    verosim.SemiSupervised(verosim.LDA()),
    verosim.SemiSupervised(verosim.NaiveBayes()),
    verosim.SemiSupervised(verosim.MultinomialNB(), unlabelled=None, weight=0.5),
]
POOLS = [
    verosim.Pool(),
    verosim.Pool(effort="fast", keep="all"),
    verosim.Pool([verosim.TAN(5), verosim.LDA(shrinkage=0.1, encode="onehot")], priors="uniform"),
    verosim.TextPool(),
    verosim.TextPool([verosim.TextNB(), verosim.TextRidge(d=64)], keep="all"),
]


@parametrize_with_checks([estimator() for estimator in ALL])
def test_default(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(VARIANTS)
def test_variants(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(POOLS)
def test_pools(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(WRAPPERS)
def test_wrappers(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [verosim.MultinomialNB, verosim.ComplementNB])
def test_decision_and_proba_rank_alike(estimator, rng):
    """The check scikit-learn skips for these, on the counts they are made for."""
    X, y = rng.poisson(2, (100, 5)), rng.integers(0, 2, 100)
    model = estimator().fit(X, y)
    assert model.decision_function(X).shape == (100,)
    np.testing.assert_array_equal(
        rankdata(model.decision_function(X).round(10)),
        rankdata(model.predict_proba(X)[:, 1].round(12)),
    )
