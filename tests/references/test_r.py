"""R's posteriors: MASS lda and qda (moment and mle), e1071 naiveBayes, to 1e-10."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import verosim
from verosim.axes import Categories
from verosim.bayes.priors import log_priors
from verosim.densities import Categorical, DiagonalGaussian, ProductDensity
from verosim.stats import Counts, Moments, Product
from verosim.testing import statistic_of

TARGET = {
    "iris_fisher": "Species", "wine": "class", "pima_mass": "type", "smarket": "Direction",
    "votes": "Class", "penguins": "species", "german_credit": "class", "car": "class",
}  # fmt: skip


def read(path):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def numbers(columns, names):
    return np.array([[float(v) if v else np.nan for v in columns[n]] for n in names]).T


def reference(data, name, classes):
    columns = read(data / "reference_R" / f"{name}.csv")
    return np.array([[float(v) for v in columns[str(c)]] for c in classes]).T


def table(data, name):
    """Train and test rows as the reference was made: X, y, X to predict."""
    columns = read(data / name / f"{name}.csv")
    y = np.array(columns[TARGET[name]])
    if name == "smarket":
        X = numbers(columns, ["Lag1", "Lag2"])
        train = np.array([int(float(v)) < 2005 for v in columns["Year"]])
        return X[train], y[train], X[~train]
    names = [n for n in columns if n not in (TARGET[name], "split")]
    X = numbers(columns, names)
    if "split" in columns:
        train = np.array(columns["split"]) == "train"
        return X[train], y[train], X[~train]
    return X, y, X


@pytest.mark.parametrize("name", ["iris_fisher", "wine", "pima_mass", "smarket"])
class TestMASS:
    def test_lda(self, data, name):
        X, y, Z = table(data, name)
        for covariance, file in (("unbiased", "lda_posterior"), ("mle", "lda_mle_posterior")):
            model = verosim.LDA(covariance=covariance).fit(X, y)
            theirs = reference(data, f"{name}_{file}_plugin", model.classes_)
            assert np.abs(model.predict_proba(Z) - theirs).max() <= 1e-10

    def test_qda(self, data, name):
        X, y, Z = table(data, name)
        model = verosim.QDA(covariance="unbiased").fit(X, y)
        theirs = reference(data, f"{name}_qda_posterior_plugin", model.classes_)
        assert np.abs(model.predict_proba(Z) - theirs).max() <= 1e-10
        log_det = [float(v) for v in read(data / f"reference_R/{name}_qda_ldet.csv")["ldet"]]
        ours = np.linalg.slogdet(model.covariances_)[1]
        np.testing.assert_allclose(ours, log_det, rtol=1e-9, atol=1e-9)

    def test_means_and_fisher_directions(self, data, name):
        X, y, _ = table(data, name)
        model = verosim.LDA(covariance="unbiased").fit(X, y)
        means = read(data / f"reference_R/{name}_lda_prior_means.csv")
        columns = [n for n in means if n not in ("class", "prior")]
        np.testing.assert_allclose(model.means_, numbers(means, columns), rtol=1e-12)
        np.testing.assert_allclose(model.class_prior_, [float(v) for v in means["prior"]])
        scaling = read(data / f"reference_R/{name}_lda_scaling.csv")
        theirs = numbers(scaling, [n for n in scaling if n != "variable"])
        np.testing.assert_allclose(np.abs(model.scalings_), np.abs(theirs), rtol=1e-7)

    def test_leave_one_out(self, data, name):
        """Forgetting a row is refitting without it; MASS keeps the whole-data priors."""
        X, y, _ = table(data, name)
        for model, kind in ((verosim.LDA, "lda"), (verosim.QDA, "qda")):
            fitted = model(covariance="unbiased").fit(X, y)
            fitted = fitted.with_priors(fitted.class_prior_)
            theirs = reference(data, f"{name}_{kind}_loo_posterior", fitted.classes_)
            some = range(0, len(y), max(1, len(y) // 40))
            for i in some:
                left = fitted.with_priors(fitted.class_prior_).forget(X[i : i + 1], y[i : i + 1])
                assert np.abs(left.predict_proba(X[i : i + 1])[0] - theirs[i]).max() <= 1e-9


def mixed(data, name, laplace):
    """e1071's table: Gaussians for the numbers, categories for the rest, missing cells skipped."""
    columns = read(data / name / f"{name}.csv")
    kinds = json.loads((data / name / f"{name}.schema.json").read_text())["kinds"]
    y = np.array(columns[TARGET[name]])
    names = [n for n in columns if n not in (TARGET[name], "split", "year")]
    numeric = [n for n in names if kinds[n] == "numeric"]
    nominal = [n for n in names if kinds[n] != "numeric"]
    parts, densities, blocks = {}, {}, {}
    if numeric:
        blocks["numbers"] = numbers(columns, numeric)
        densities["numbers"] = DiagonalGaussian(covariance="unbiased", floor=0.0)
        parts["numbers"] = statistic_of(blocks["numbers"], y, plan=Moments)
    if nominal:
        cells = np.array([[v or None for v in columns[n]] for n in nominal], dtype=object).T
        blocks["labels"] = cells
        densities["labels"] = Categorical(laplace, never=1e-3)  # the `threshold` of e1071
        parts["labels"] = statistic_of(
            cells,
            y,
            raw=True,
            plan=lambda axes: Counts(axes.with_codes(Categories.empty(len(nominal)))),
        )
    statistic = Product(parts)
    params = ProductDensity(densities).estimate(statistic)
    groups = statistic.axes.groups
    weight = statistic.weight[:, 0]
    prior = log_priors(None, groups.classes, weight, weight > 0)
    joint = params.log_density(params.read(blocks)) + prior
    return groups.classes, np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])


@pytest.mark.parametrize(
    ("name", "laplace"),
    [("iris_fisher", 0), ("car", 0), ("car", 1), ("votes", 0), ("votes", 1), ("votes", 3),
     ("penguins", 0), ("penguins", 1), ("german_credit", 0), ("german_credit", 1)],
)  # fmt: skip
def test_e1071(data, name, laplace):
    classes, ours = mixed(data, name, float(laplace))
    theirs = reference(data, f"{name}_e1071_nb_laplace{laplace}_posterior", classes)
    assert np.abs(ours - theirs).max() <= 1e-10


def test_e1071_smarket(data):
    X, y, Z = table(data, "smarket")
    model = verosim.GaussianNB(covariance="unbiased").fit(X, y)
    theirs = reference(data, "smarket_e1071_nb_laplace0_posterior", model.classes_)
    assert np.abs(model.predict_proba(Z) - theirs).max() <= 1e-10
