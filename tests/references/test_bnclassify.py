"""The R package bnclassify on the car table: numbers that its README and its tests publish.

Mihaljević, Bielza & Larrañaga (2018), bnclassify: Learning Bayesian Network Classifiers, The R
Journal 10, 455–468.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import verosim
from verosim.data.cell_columns import Structure
from verosim.densities.dependence import information

ORDER = ["unacc", "acc", "good", "vgood"]
# README: tan_cl('class', car, score = 'aic'), lp(…, smooth = 0.01), head(predict(…, prob = TRUE))
POSTERIORS = [
    [3.963694e-09, 5.682130e-09, 4.269700e-09],
    [1.752769e-09, 3.310473e-12, 3.236335e-09],
    [3.730170e-09, 1.090296e-08, 1.800719e-12],
    [3.963694e-09, 5.682130e-09, 4.269700e-09],
    [4.562294e-09, 6.965323e-09, 4.536532e-09],
    [4.281155e-09, 5.366306e-09, 5.168828e-09],
]


@pytest.fixture(scope="module")
def car(data):
    with open(data / "car" / "car.csv") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.fixture(scope="module")
def kinds(car):
    return {name: "category" for name in car if name != "class"}


def log_likelihood(model, car):
    """Σ log π_k p(x | k) over the rows."""
    at = [model.classes_.tolist().index(label) for label in car["class"]]
    return float(model.log_joint(car)[np.arange(len(at)), at].sum())


def test_information_within_classes(car, kinds):
    """test-learn-chowliu.R: local_ode_score_contrib('buying', 'maint', 'class', car)."""
    found = information(verosim.AODE(columns=kinds).fit(car, "class").stats_)
    assert found.within_class[0, 1] == pytest.approx(0.07199921, rel=1e-7)


def test_the_tree(car, kinds):
    """test-learn-chowliu.R: tan_cl('class', car) has an arc for every column but the root."""
    model = verosim.TAN(smoothing="laplace", columns=kinds).fit(car, "class")
    assert sorted(map(len, model.parents_.values())) == [0, 1, 1, 1, 1, 1]
    edges = {frozenset((name, *parents)) for name, parents in model.parents_.items() if parents}
    assert len(edges) == 5
    # The forest of the best AIC is a part of it, see below.
    forest = [("buying", "maint"), ("persons", "safety"), ("lug_boot", "safety")]
    assert {frozenset(pair) for pair in forest} <= edges


def test_naive_bayes(car, kinds):
    """test-anb-bn-operate.R: logLik(lp(nb('class', car), car, smooth = 0), car), df 63."""
    model = verosim.KDB(k=0, smoothing="laplace", alpha=0.0, columns=kinds).fit(car, "class")
    assert log_likelihood(model, car) == pytest.approx(-13503.6883427047687, rel=1e-12)
    assert model.n_parameters_ == 63


def test_the_forest_of_the_best_aic(car, kinds):
    """README: tan_cl('class', car, score = 'aic') has 9 arcs, df 131 and logLik −13280.39.

    Its three arcs between columns are those that gain more than their parameters. The README does
    not say how they are directed; these directions give its posteriors.
    """
    found = information(verosim.AODE(columns=kinds).fit(car, "class").stats_)
    names, sizes = list(kinds), [len(set(car[name])) for name in kinds]
    gain = {
        (names[i], names[j]): 1728 * found.within_class[i, j] - 4 * (sizes[i] - 1) * (sizes[j] - 1)
        for i, j in combinations(range(6), 2)
    }
    arcs = [pair for pair in gain if gain[pair] > 0]
    assert arcs == [("buying", "maint"), ("persons", "safety"), ("lug_boot", "safety")]

    parents = {"maint": "buying", "safety": "persons", "lug_boot": "safety"}
    weight = {label: car["class"].count(label) + 0.01 for label in ORDER}
    priors = {label: weight[label] / sum(weight.values()) for label in ORDER}
    model = verosim.TAN(smoothing="laplace", alpha=0.01, columns=kinds, priors=priors)
    schema = verosim.TAN(columns=kinds).fit(car, "class").schema_
    ((key, tree),) = schema.structures
    forest = tuple((names.index(parents[n]),) if n in parents else () for n in names)
    schema = replace(schema, structures=((key, Structure(tree.bins, forest)),))
    model.fit(car, "class", schema=schema)

    proba = model.predict_proba(car)[:6][:, [model.classes_.tolist().index(c) for c in ORDER]]
    np.testing.assert_allclose(proba[:, 1:], POSTERIORS, rtol=2e-7)
    assert log_likelihood(model, car) == pytest.approx(-13280.39, abs=0.005)
    assert model.set_params(priors=None).n_parameters_ == 131
