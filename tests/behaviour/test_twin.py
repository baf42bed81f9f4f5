"""The discriminative twin begins as the model itself, and ends as logistic regression on φ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import verosim
from verosim import VerosimError
from verosim.twins import Gap
from verosim.twins.gap import generative_gap
from verosim.twins.twin import Twin, twin

NUMERIC = [
    verosim.LDA(),
    verosim.LDA(shrinkage=0.2, priors="uniform"),
    verosim.NaiveLDA(),
    verosim.QDA(),
    verosim.RDA(),
    verosim.RDA(pooling=1.0, shrinkage=0.0),
    verosim.GaussianNB(),
    verosim.HistogramNB(),
]
COUNTS = [
    verosim.MultinomialNB(),
    verosim.ComplementNB(),
    verosim.BernoulliNB(),
    verosim.BernoulliNB(binarize=1.0),
    verosim.CategoricalNB(),
]


def assert_same_posteriors(model, other, X):
    """To 1e-10 × max(1, |log p|)."""
    expected, found = model.predict_log_proba(X), other.predict_log_proba(X)
    there = expected > -600
    apart = np.abs(found - expected)[there] / np.maximum(1, np.abs(expected[there]))
    assert apart.max() < 1e-10
    np.testing.assert_array_equal(other.classes_, model.classes_)


def named(model):
    return repr(model)


class TestBeginsAsTheModel:
    @pytest.mark.parametrize("model", NUMERIC, ids=named)
    @pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
    def test_numbers(self, model, load):
        X, y = load(return_X_y=True)
        model = clone(model).fit(X, y)
        assert_same_posteriors(model, twin(model), X)

    @pytest.mark.parametrize("model", COUNTS, ids=named)
    @pytest.mark.parametrize("classes", [2, 4])
    def test_counts(self, model, classes, rng):
        X, y = rng.poisson(1.5, (200, 8)), rng.integers(0, classes, 200)
        model = clone(model).fit(X[:150], y[:150])  # and values never seen among the rest
        assert_same_posteriors(model, twin(model), X)

    @pytest.mark.parametrize("model", [*COUNTS[:3], verosim.GaussianNB()], ids=named)
    def test_sparse(self, model, rng):
        X, y = sparse.csr_matrix(rng.poisson(0.5, (200, 8))), rng.integers(0, 3, 200)
        model = clone(model).fit(X, y)
        assert_same_posteriors(model, twin(model), X)

    @pytest.mark.parametrize(
        "model", [verosim.GaussianNB(), verosim.NaiveLDA(), verosim.HistogramNB()], ids=named
    )
    def test_missing_cells(self, model, rng):
        """A missing cell is left out by naive Bayes, and by its twin."""
        X, y = load_wine(return_X_y=True)
        X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
        model = clone(model).fit(X, y)
        assert_same_posteriors(model, twin(model), X)

    @pytest.mark.parametrize("kind", ["multinomial", "bernoulli", "complement"])
    def test_texts(self, kind):
        texts = ["win cash now", "cash prize, win", "lunch at noon?", "see you at lunch", None]
        model = verosim.TextNB(kind, ngrams=(1, 2)).fit(texts, ["s", "s", "h", "h", "h"])
        assert_same_posteriors(model, twin(model), [*texts, "a prize at noon", ""])

    def test_table(self, rng):
        """Every role side by side, with missing cells and values never seen."""
        n = 300
        y = rng.choice(["a", "b", "c"], n)
        shift = np.searchsorted(["a", "b", "c"], y)
        table = pd.DataFrame(
            {
                "size": rng.normal(shift, 1.0),
                "hue": rng.choice(["red", "green", "blue"], n),
                "calls": rng.poisson(1 + shift),
                "bins": rng.exponential(1 + shift),
                "flag": rng.random(n) < 0.2 + 0.2 * shift,
            }
        )
        table = table.astype(object).mask(rng.random(table.shape) < 0.1).infer_objects()
        columns = {"calls": "poisson", "bins": "histogram"}
        model = verosim.NaiveBayes(columns=columns).fit(table.assign(y=y), "y")
        fresh = table.head(20).assign(hue="violet")
        for rows in (table, fresh):
            assert_same_posteriors(model, twin(model), rows)
        fitted = twin(model).fit(table.assign(y=y), "y")
        by_array = twin(model).fit(table, y)
        np.testing.assert_array_equal(fitted.coef_, by_array.coef_)

    def test_ldas_weights_are_the_closed_form(self):
        """a = Σ⁻¹(μ₁ − μ₀), b = ½(μ₀ᵀΣ⁻¹μ₀ − μ₁ᵀΣ⁻¹μ₁) + log(π₁/π₀)."""
        X, y = load_breast_cancer(return_X_y=True)
        model = verosim.LDA().fit(X, y)
        other = twin(model)
        mu, precision = model.means_, np.linalg.inv(model.covariances_)
        a = precision @ (mu[1] - mu[0])
        b = 0.5 * (mu[0] @ precision @ mu[0] - mu[1] @ precision @ mu[1])
        b += np.log(np.mean(y == 1) / np.mean(y == 0))
        np.testing.assert_allclose(other.coef_[0], a, rtol=1e-6)
        np.testing.assert_allclose(other.intercept_[0], b, rtol=1e-6)


class TestFitted:
    def test_is_logistic_regression_on_standardised_columns(self):
        """The penalty acts in units of the columns' deviations."""
        X, y = load_breast_cancer(return_X_y=True)
        other = twin(verosim.LDA().fit(X, y), C=0.5).fit(X, y)
        peer = linear_model.LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000)
        scaler = StandardScaler().fit(X)
        peer.fit(scaler.transform(X), y)
        np.testing.assert_allclose(other.coef_, peer.coef_ / scaler.scale_, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(
            other.predict_proba(X), peer.predict_proba(scaler.transform(X)), atol=1e-6
        )

    @pytest.mark.parametrize("model", NUMERIC, ids=named)
    def test_raises_the_likelihood(self, model):
        """The twin maximises what the model does not: Σ log p(y | x)."""
        X, y = load_wine(return_X_y=True)
        model = clone(model).fit(X, y)
        other = twin(model, C=100.0).fit(X, y)
        own = (np.arange(len(y)), y)
        before = np.maximum(model.predict_log_proba(X)[own], -36).mean()
        assert other.predict_log_proba(X)[own].mean() > before

    def test_weights_are_repeats(self):
        X, y = load_wine(return_X_y=True)
        w = np.arange(len(y)) % 3
        model = verosim.LDA().fit(X, y)
        twice = np.repeat(np.arange(len(y)), w)
        np.testing.assert_allclose(
            twin(model).fit(X, y, w).coef_, twin(model).fit(X[twice], y[twice]).coef_, atol=1e-6
        )

    def test_labels_are_strings(self):
        X, y = load_iris(return_X_y=True)
        names = np.array(["setosa", "versicolor", "virginica"])
        other = twin(verosim.LDA().fit(X, names[y])).fit(X, names[y])
        assert other.score(X, names[y]) > 0.95


@parametrize_with_checks([Twin(verosim.LDA()), Twin(verosim.GaussianNB())])
def test_check_estimator(estimator, check):
    check(estimator)


class TestGap:
    def test_posteriors_are_those_of_refits(self):
        X, y = load_wine(return_X_y=True)
        found = generative_gap(verosim.GaussianNB(), X, y, cv=np.arange(len(y)) % 4)
        held = np.arange(len(y)) % 4 == 2
        model = verosim.GaussianNB().fit(X[~held], y[~held])
        np.testing.assert_array_equal(found.generative[held], model.predict_log_proba(X[held]))
        other = twin(model).fit(X[~held], y[~held])
        np.testing.assert_array_equal(found.discriminative[held], other.predict_log_proba(X[held]))

    def test_model_that_is_right_is_not_beaten(self, rng):
        """Gaussians of one covariance, few rows: LDA's assumptions are worth rows."""
        y = np.arange(60) % 2
        X = rng.normal(size=(60, 10)) + y[:, None] * 0.7
        found = generative_gap(verosim.NaiveLDA(), X, y, C=np.inf)
        assert found.log_loss_gap()[0] < 0
        assert found.conclusion.startswith("the model is better")

    def test_model_that_is_wrong_is(self):
        X, y = load_breast_cancer(return_X_y=True)
        found = generative_gap(verosim.GaussianNB(), X, y)
        assert found.conclusion.startswith("the twin is better")
        assert found.divergence.min() > -1e-12
        assert 0 < found.disagreement < 0.1
        assert "GaussianNB" in str(found)

    def test_file_is_the_frame(self, tmp_path, rng):
        """Cells of a CSV file are text, and numbers all the same."""
        frame = load_iris(as_frame=True).frame.assign(tint=rng.choice(["red", "blue"], 150))
        frame.to_csv(tmp_path / "iris.csv", index=False)
        by_file = generative_gap(verosim.NaiveBayes(), tmp_path / "iris.csv", "target")
        by_frame = generative_gap(verosim.NaiveBayes(), frame, "target")
        np.testing.assert_array_equal(by_file.labels, by_frame.labels)
        np.testing.assert_allclose(by_file.discriminative, by_frame.discriminative, rtol=1e-9)

    def test_same_posteriors_have_no_gap(self):
        """A twin held at the model's weights: with so strong a wish to stay, nothing is left."""
        X, y = load_iris(return_X_y=True)
        model = verosim.LDA().fit(X, y)
        log_proba = model.predict_log_proba(X)
        gap = Gap(model.classes_, y, log_proba, log_proba)
        assert gap.divergence.max() == 0
        assert gap.disagreement == gap.difference == 0
        assert gap.conclusion == "no significant difference"


class TestBadInput:
    def test_no_generative_model(self):
        with pytest.raises(VerosimError, match=r"needs a generative classifier.*got LogisticReg"):
            twin(linear_model.LogisticRegression())
        with pytest.raises(VerosimError, match=r"LDA is a class, not a model.*LDA\(\)"):
            generative_gap(verosim.LDA, [[0.0], [1.0]], [0, 1])

    def test_not_fitted(self):
        with pytest.raises(VerosimError, match="not fitted"):
            twin(verosim.LDA())

    def test_strange_label(self):
        X, y = load_iris(return_X_y=True)
        with pytest.raises(VerosimError, match="2 is not one of the model's classes"):
            twin(verosim.LDA().fit(X[:100], y[:100])).fit(X, y)

    def test_holes_where_there_were_none(self):
        X, y = load_iris(return_X_y=True)
        other = twin(verosim.LDA().fit(X, y))
        X[3, 2] = np.nan
        with pytest.raises(VerosimError, match="column 'x2', row 3"):
            other.predict(X)

    def test_no_features(self):
        X, y = load_iris(return_X_y=True)
        with pytest.raises(VerosimError, match="HistogramNB"):
            twin(verosim.JointHistogram().fit(X, y))
        with pytest.raises(VerosimError, match="hashed"):
            twin(verosim.TextNB(hashed=64).fit(["a b", "c d"], [0, 1]))
