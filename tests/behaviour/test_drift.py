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


def test_a_column_by_hand():
    """Counts 6, 3, 1 and then 2, 3, 5, with half a row more for each value."""
    old = {"hue": ["r"] * 6 + ["g"] * 3 + ["b"], "y": ["k", "l"] * 5}
    new = {"hue": ["r"] * 2 + ["g"] * 3 + ["b"] * 5, "y": ["k", "l"] * 5}
    found = verosim.drift(verosim.NaiveBayes().fit(old, "y"), new)
    p, q = np.array([6.5, 3.5, 1.5]) / 11.5, np.array([2.5, 3.5, 5.5]) / 11.5
    assert found.nats[0] == pytest.approx(
        2.5 / 11.5 * np.log(2.5 / 6.5) + 5.5 / 11.5 * np.log(5.5 / 1.5)
    )
    assert found.nats[0] == pytest.approx(0.413676, abs=1e-6)
    assert found.index[0] == pytest.approx(((q - p) * np.log(q / p)).sum())
    assert found.by_chance[0] == pytest.approx(5.991465 * (1 / 10 + 1 / 10), rel=1e-6)


def share(values, keys):
    count = np.array([(np.asarray(values) == key).sum() for key in keys]) + 0.5
    return count / count.sum()


@pytest.mark.parametrize(
    "model", [verosim.TAN(), verosim.KDB(), verosim.AODE(), verosim.Pool(effort="fast")]
)
def test_models_of_dependent_columns_have_sums_of_single_columns(rng, model):
    old, new = tables(rng)
    found = verosim.drift(model.fit(old, "y"), new)
    assert sorted(found.columns) == ["hue", "x"]
    # The last value stands for all that were not seen at fit.
    p, q = (share(table["hue"], ["blue", "green", "red", "none of these"]) for table in (old, new))
    at = found.columns.index("hue")
    assert found.nats[at] == pytest.approx((q * np.log(q / p)).sum())
    assert found.index[at] == pytest.approx(((q - p) * np.log(q / p)).sum())
    assert found.drifted.all()
    assert found.rows == (400, 200)
    assert found.left_out == ()


def test_tokens_by_hand():
    texts = ["win cash"] * 20 + ["call Ana"] * 20
    later = ["win cash"] * 5 + ["call Ana"] * 15 + ["win win"] * 20
    y = ["spam"] * 20 + ["ham"] * 20
    model = verosim.TextNB().fit(texts, y)
    found = verosim.drift(model, later, y)
    # ana, call, cash, win, and the rest of the tokens, which is empty
    p = np.array([20.5, 20.5, 20.5, 20.5, 0.5]) / 82.5
    q = np.array([15.5, 15.5, 5.5, 45.5, 0.5]) / 82.5
    each = (q - p) * np.log(q / p)
    assert found.index[0] == pytest.approx(each.sum())
    assert found.nats[0] == pytest.approx(2 * (q * np.log(q / p)).sum())  # two tokens per row
    ((name, tokens),) = found.tokens.items()
    assert tokens[0] == ("win", pytest.approx(p[3]), pytest.approx(q[3]))
    assert "share before" in str(found)
    assert name in str(found)


def test_amounts_are_rates_per_row(rng):
    X, Z = rng.poisson([1, 2], size=(300, 2)), rng.poisson([1, 4], size=(200, 2))
    y, z = rng.integers(0, 2, 300), rng.integers(0, 2, 200)
    found = verosim.drift(verosim.MultinomialNB().fit(X, y), Z, z)
    a, b = (X[:, 1].sum() + 0.5) / 301, (Z[:, 1].sum() + 0.5) / 201
    assert found.columns == ("x1", "x0")
    assert found.nats[0] == pytest.approx(b * np.log(b / a) - b + a)
    assert found.drifted.tolist() == [True, False]


def test_two_models_that_were_fitted_alone_are_compared_where_they_can_be(rng):
    old, new = tables(rng)
    first, second = (
        verosim.NaiveBayes(columns={"x": "histogram"}).fit(table, "y") for table in (old, new)
    )
    found = verosim.drift(first, second)
    assert found.columns == ("hue",)
    assert found.left_out == ("x",)
    assert "not compared: x" in str(found)


def test_names_that_start_like_another_column(rng):
    old, _ = tables(rng)
    old["hue code"] = rng.normal(size=400)
    found = verosim.drift(verosim.NaiveBayes().fit(old, "y"), old)
    assert set(found.columns) == {"x", "hue", "hue code"}


def test_what_cannot_drift_is_refused_by_name(rng):
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    lifted = verosim.LiftedLDA(n_features=16).fit(X, y)
    with pytest.raises(verosim.VerosimError, match="LiftedLDA have no columns to compare"):
        verosim.drift(lifted, X, y)
    with pytest.raises(verosim.VerosimError, match="needs a generative classifier"):
        verosim.drift(verosim.LogisticRegression().fit(X, y), X, y)
    hollow = verosim.loads(verosim.dumps(verosim.LDA().fit(X, y), statistics=False))
    with pytest.raises(verosim.VerosimError, match="without the sums"):
        verosim.drift(hollow, X, y)
    binned = [verosim.HistogramNB().fit(part, y) for part in (X, 2 * X)]
    with pytest.raises(verosim.VerosimError, match="no columns that can be compared"):
        verosim.drift(*binned)
