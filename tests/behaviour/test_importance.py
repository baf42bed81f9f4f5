"""The importance of columns and the effect of one column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm, poisson
from sklearn.datasets import load_iris

import verosim
from verosim import VerosimError, effect, explain, importance

X_IRIS, Y_IRIS = load_iris(return_X_y=True)


@pytest.fixture
def table(rng):
    n = 300
    kind = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    k = np.searchsorted(["a", "b", "c"], kind)
    out = pd.DataFrame({
        "size": rng.normal(k, 1.0),
        "rooms": rng.poisson(1.0 + k),
        "width": rng.exponential(1.0 + k),
        "hue": np.where(rng.random(n) < 0.3 + 0.2 * k, "red", "blue"),
        "flag": rng.random(n) < 0.2 + 0.3 * k,
        "noise": rng.choice(["u", "v"], n),
        "kind": kind,
    })  # fmt: skip
    out.loc[::9, "size"] = np.nan
    return out


@pytest.fixture
def model(table):
    kinds = {"size": "gaussian", "rooms": "poisson", "width": "histogram"}
    return verosim.NaiveBayes(kinds).fit(table, "kind")


def information(share, priors):
    """Σ_k π_k Σ_v p(v | k) log p(v | k)/p(v) by two loops."""
    total = 0.0
    for v in range(share.shape[1]):
        overall = sum(priors[k] * share[k, v] for k in range(len(priors)))
        for k in range(len(priors)):
            if share[k, v] > 0:
                total += priors[k] * share[k, v] * np.log(share[k, v] / overall)
    return total


# Importance --------------------------------------------------------------------------------------


def test_importance_on_rows_is_the_mean_absolute_contribution(model, table):
    found = importance(model, table)
    parts = [explain(model, table.iloc[[i]]) for i in range(40)]
    some = importance(model, table.head(40))
    for name in some:
        expected = np.mean([abs(part.of(name)[0]) for part in parts])
        assert some[name] == pytest.approx(expected, rel=1e-10)
    assert (found.kind, found.rows) == ("contribution", 300)
    assert found.ranking[-1] == "noise"


def test_information_of_values_bins_and_counts_by_two_loops(model):
    found = importance(model)
    priors = model.class_prior_
    for name in ("hue", "flag", "noise"):
        share = model.learned(name).values
        assert found[name] == pytest.approx(information(share, priors), rel=1e-10)
    learned = model.learned("width")
    share = learned.values * np.diff(learned.edges)
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    assert found["width"] == pytest.approx(information(share, priors), rel=1e-10)
    rate = model.learned("rooms").values
    share = poisson.pmf(np.arange(200), rate)
    assert found["rooms"] == pytest.approx(information(share, priors), rel=1e-10)


def test_information_of_gaussians_by_quadrature():
    model = verosim.QDA().fit(X_IRIS, Y_IRIS)
    found = importance(model)
    priors = model.class_prior_
    for j, name in enumerate(found):
        mean = np.array([X_IRIS[k == Y_IRIS, j].mean() for k in range(3)])
        deviation = model.learned(name).values[:, 1]

        def gain(x, mean=mean, deviation=deviation):
            density = norm.pdf(x, mean, deviation)
            ratio = np.log(np.maximum(density, 1e-300) / max(priors @ density, 1e-300))
            return float(priors @ (density * ratio))

        ends = mean.min() - 10 * deviation.max(), mean.max() + 10 * deviation.max()
        expected, _ = quad(gain, *ends, points=sorted(mean), limit=400, epsabs=1e-10)
        assert found[name] == pytest.approx(expected, abs=1e-6)
    assert max(found.values) < np.log(3)
    assert found.ranking[:2] == ("x2", "x3") or found.ranking[:2] == ("x3", "x2")


def test_information_counts_missing_values_where_the_model_does():
    y = np.repeat(["a", "b"], 200)
    x = np.tile(["u", "v"], 200).astype(object)
    x[:150] = None  # missing in class a only
    table = pd.DataFrame({"x": x, "y": y})
    skipped = importance(verosim.NaiveBayes(missing="skip").fit(table, "y"))
    counted = importance(verosim.NaiveBayes(missing="category").fit(table, "y"))
    assert skipped["x"] < 1e-3
    assert counted["x"] > 0.25


def test_dates_have_the_information_of_all_their_parts():
    rng = np.random.default_rng(1)
    y = rng.choice(["day", "night"], 500)
    hour = np.where(y == "day", rng.integers(8, 18, 500), rng.integers(0, 8, 500))
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 360, 500) * 24 + hour, "h")
    model = verosim.NaiveBayes().fit(pd.DataFrame({"when": when, "y": y}), "y")
    assert 0.5 < importance(model)["when"] <= np.log(2)


def test_texts_need_rows():
    texts = ["win cash now", "lunch at noon"] * 10
    model = verosim.TextNB().fit(texts, ["spam", "ham"] * 10)
    assert np.isnan(importance(model).values).all()
    assert "needs rows" in str(importance(model))
    assert importance(model, texts).values[0] > 1


def test_models_without_densities_need_rows():
    model = verosim.LogisticRegression().fit(X_IRIS, Y_IRIS)
    with pytest.raises(VerosimError, match=r"has no densities.*importance.model"):
        importance(model)
    assert len(importance(model, X_IRIS)) == 4
    with pytest.raises(VerosimError, match="no column 'sizee'"):
        importance(model, X_IRIS)["sizee"]


# Effects -----------------------------------------------------------------------------------------


def test_the_effect_is_the_contribution_of_every_row_with_the_value(model, table):
    found = explain(model, table.head(30)).folded()
    for name in ("hue", "rooms", "size", "width", "flag"):
        values = table[name].head(30).tolist()
        curve = effect(model, name, values)
        j = found.names.index(name)
        np.testing.assert_allclose(curve.contributions, found.contributions[:, :, j], rtol=1e-10)


def test_the_effect_of_dependent_columns_is_their_marginal_density():
    model = verosim.QDA(missing="marginalise").fit(X_IRIS, Y_IRIS)
    curve = effect(model, "x2", [1.0, 4.0])
    for k in range(3):
        mean, deviation = model.learned("x2").values[k]
        expected = norm.logpdf([1.0, 4.0], mean, deviation)
        np.testing.assert_allclose(curve.contributions[:, k], expected, rtol=1e-8)
    with pytest.raises(VerosimError, match=r"other cells missing.*row=X"):
        effect(verosim.QDA().fit(X_IRIS, Y_IRIS), "x2", [1.0])
    assert len(effect(verosim.QDA().fit(X_IRIS, Y_IRIS), "x2", row=X_IRIS[0])) == 101


def test_values_of_a_curve(model):
    assert effect(model, "hue").values == ("blue", "red", None)
    width = effect(model, "width")
    assert len(width.edges) == len(width) == len(model.learned("width").edges)
    assert width.heads[0].startswith("[")
    assert width.heads[-1] == "missing"
    rooms = effect(model, "rooms")
    assert rooms.values[0] == 0
    assert all(isinstance(value, int) for value in rooms.values)
    assert len(effect(model, "size")) == 101
    assert len(str(effect(model, "size")).splitlines()) == 26
    assert list(effect(model, "hue").to_pandas().columns) == ["value", "a", "b", "c"]


def test_bad_input_of_effects_is_named(model, table):
    with pytest.raises(VerosimError, match=r"no column 'sise'.*Did you mean 'size'"):
        effect(model, "sise")
    with pytest.raises(VerosimError, match="at least one value"):
        effect(model, "size", [])
    with pytest.raises(VerosimError, match="class 'z' is not a class"):
        effect(model, "size").difference("z", "a")
    with pytest.raises(VerosimError, match=r"NaiveBayes is a class.*Use NaiveBayes\(\)"):
        effect(verosim.NaiveBayes, "size")
