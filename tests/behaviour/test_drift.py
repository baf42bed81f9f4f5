"""Drift from sums equals drift from rows."""

from __future__ import annotations

import numpy as np
import pytest

import verosim


def tables(rng, n=400, shift=0.5):
    def rows(n, shift):
        y = rng.choice(["a", "b"], n)
        return {
            "x": rng.normal(shift, 1 + shift, n) + (y == "b"),
            "hue": rng.choice(
                ["red", "blue", "green"], n, p=[0.5 - shift / 2, 0.3, 0.2 + shift / 2]
            ),
            "y": y,
        }

    return rows(n, 0.0), rows(n // 2, shift)


def test_columns_from_sums_equal_columns_from_rows(rng):
    old, new = tables(rng)
    model = verosim.NaiveBayes(columns={"x": "gaussian"}).fit(old, "y")
    found = verosim.drift(model, new)
    nats = dict(zip(found.columns, found.nats, strict=True))
    index = dict(zip(found.columns, found.index, strict=True))
    m, v, a, b = old["x"].mean(), old["x"].var(), new["x"].mean(), new["x"].var()
    assert nats["x"] == pytest.approx(0.5 * (np.log(v / b) + (b + (a - m) ** 2) / v - 1))
    shares = []
    for table in (old, new):
        count = np.array([(table["hue"] == hue).sum() for hue in ("blue", "green", "red")]) + 0.5
        shares.append(count / count.sum())
    p, q = shares
    assert nats["hue"] == pytest.approx((q * np.log(q / p)).sum())
    assert index["hue"] == pytest.approx(((q - p) * np.log(q / p)).sum())
    assert found.drifted.all()


@pytest.mark.parametrize("model", [verosim.LDA(), verosim.QDA(), verosim.GaussianNB()])
def test_gaussian_models_agree_on_the_columns(rng, model):
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    Z, z = rng.normal([0, 1, 0], 1, size=(200, 3)), rng.integers(0, 2, 200)
    found = verosim.drift(model.fit(X, y), type(model)().fit(Z, z))
    assert found.columns[0] == "x1"
    assert found.drifted.tolist() == [True, False, False]
    v, b, d = X[:, 1].var(), Z[:, 1].var(), Z[:, 1].mean() - X[:, 1].mean()
    assert found.nats[0] == pytest.approx(0.5 * (np.log(v / b) + (b + d * d) / v - 1))


def test_rows_of_one_distribution_do_not_drift(rng):
    old, new = tables(rng, shift=0.0)
    found = verosim.drift(verosim.NaiveBayes().fit(old, "y"), new)
    assert not found.drifted.any()
    assert found.class_index < 0.05


def test_a_class_that_is_new_has_no_drift_inside(rng):
    old, new = tables(rng)
    new["y"] = np.where(np.arange(len(new["y"])) < 50, "c", new["y"])
    found = verosim.drift(verosim.NaiveBayes().fit(old, "y"), new)
    assert found.classes.tolist() == ["a", "b", "c"]
    assert np.isnan(found.class_nats).tolist() == [False, False, True]
    assert found.shares[:, 2].tolist() == [0.0, 0.25]


@pytest.mark.parametrize("kind", ["text", "tan", "pool"])
def test_models_without_sums_of_columns_are_refused(rng, kind):
    old, _ = tables(rng)
    if kind == "text":
        model = verosim.TextNB().fit(["win cash", "call Ana"], ["spam", "ham"])
    else:
        model = (verosim.TAN() if kind == "tan" else verosim.Pool(effort="fast")).fit(old, "y")
    with pytest.raises(verosim.VerosimError, match="no columns to compare"):
        verosim.drift(model, model)
