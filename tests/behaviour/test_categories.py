"""Categories: any values, new ones at any time, unseen ones at predict."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import verosim

TABLE = [
    ["red", 1, None],
    ["red", 2.5, "x"],
    ["blue", 1, "y"],
    ["green", True, "x"],
    ["blue", 2.5, None],
]
LABELS = ["a", "a", "b", "b", "b"]


def test_any_mix_of_values():
    model = verosim.CategoricalNB().fit(TABLE, LABELS)
    assert model.categories_[0] == ["blue", "green", "red"]
    assert model.categories_[1] == [1, 2.5]  # 1 and True are one value
    assert model.categories_[2] == ["x", "y"]
    # by hand: in a red has (2 + 1)/(2 + 3) and 1 has (1 + 1)/(2 + 2); in b 1/6 and 3/5
    a, b = 0.4 * (3 / 5) * (2 / 4), 0.6 * (1 / 6) * (3 / 5)
    np.testing.assert_allclose(
        model.predict_proba([["red", 1.0, None]])[0], [a / (a + b), b / (a + b)]
    )


def test_unseen_values_get_their_smoothed_share():
    model = verosim.CategoricalNB(alpha=1.0).fit(TABLE, LABELS)
    a, b = 0.4 * 1 / (2 + 3), 0.6 * 1 / (3 + 3)
    proba = model.predict_proba([["mauve", None, None]])[0]
    np.testing.assert_allclose(proba, [a / (a + b), b / (a + b)])
    for alpha in (0.0, 1e-300, 1.0):
        model.set_params(alpha=alpha)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", verosim.VerosimWarning)  # α = 0 has impossible rows
            proba = model.predict_proba([["mauve", "?", object()], ["red", "?", "y"]])
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert np.isfinite(model.log_density([["mauve", "?", 3]])).all()


def test_never_zero_for_all_classes():
    model = verosim.CategoricalNB(alpha=0.0).fit([["x", "p"], ["y", "q"]], ["a", "b"])
    with pytest.warns(verosim.VerosimWarning, match="One row with probability 0 in every class"):
        np.testing.assert_allclose(model.predict_proba([["x", "q"]])[0], [0.5, 0.5])


@pytest.mark.parametrize("table", [False, True])
def test_the_odds_of_a_value_that_no_class_had_are_stated(table, recwarn):
    """With α = 0 they are 0/0: the cell is left out, with a warning. Laplace needs no warning."""
    X, y = [["x", "p"], ["x", "q"], ["y", "q"]], ["a", "b", "b"]
    rows = [["z", "q"]]
    if table:
        X, rows = ({"c0": [r[0] for r in s], "c1": [r[1] for r in s]} for s in (X, rows))
        model = verosim.NaiveBayes(alpha=0).fit(X, y)
    else:
        model = verosim.CategoricalNB(alpha=0).fit(X, y)
    with pytest.warns(verosim.VerosimWarning, match="odds 0/0.*unseen value in column '[xc]0'"):
        proba = model.predict_proba(rows)
    np.testing.assert_allclose(proba, [[0.0, 1.0]])
    model.set_params(alpha=1)
    recwarn.clear()
    assert 0 < model.predict_proba(rows)[0, 0] < 1
    assert not recwarn.list


def test_new_values_mid_stream(rng):
    values = np.array(["u", "v", "w", "x"], dtype=object)
    X, y = values[rng.integers(0, 4, (200, 3))], rng.integers(0, 2, 200)
    X[:100, 0] = "u"
    whole = verosim.CategoricalNB().fit(X, y)
    parts = verosim.CategoricalNB()
    for start in range(0, 200, 13):
        parts.partial_fit(X[start : start + 13], y[start : start + 13])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    "ids",
    [np.array([1, 5, 70_000, 10**9]), np.array([-3, 0, 2, 9]), np.array([0.5, 2.0, -1e9, 7.25]),
     (1_800_000_000_000_000_000 + np.arange(0, 200, 50)).astype(np.uint64),
     np.array([2**53, 2**53 + 1, 2**53 + 2, 5]),
     np.array([2**63 + 1, 2**63 + 2, 7, 9], dtype=np.uint64),
     np.array([True, False, True, False]), np.array(["uno", "dos", "tres", "cuatro"])],
    ids=lambda v: f"{v.dtype}-{v[0]}",
)  # fmt: skip
def test_every_dtype_counts_the_same(ids, rng):
    pick = rng.integers(0, 4, (2000, 2))
    y = rng.integers(0, 3, 2000)
    distinct = len(np.unique(ids))
    reference = verosim.CategoricalNB().fit(np.unique(ids, return_inverse=True)[1][pick], y)
    expected = reference.predict_proba(np.unique(ids, return_inverse=True)[1][pick])
    for Z in (ids[pick], ids[pick].astype(object), pd.DataFrame(ids[pick])):
        model = verosim.CategoricalNB().fit(Z, y)
        assert [len(values) for values in model.categories_] == [distinct] * 2
        np.testing.assert_allclose(model.predict_proba(Z), expected, atol=1e-12)


def test_missing_markers():
    for missing in (None, np.nan, pd.NA):
        X = np.array([["a"], [missing], ["b"]], dtype=object)
        model = verosim.CategoricalNB().fit(X, [0, 1, 1])
        assert model.categories_ == [["a", "b"]]
    model = verosim.CategoricalNB().fit([["a", None], ["b", None]], [0, 1])
    assert model.sample(3, random_state=0)[0][:, 1].tolist() == [None] * 3


def test_histogram_bins_do_not_split_values():
    """A binary column keeps two bins, by quantile as by width."""
    y = np.repeat([0, 1], 50)
    for strategy in ("quantile", "uniform"):
        assert verosim.HistogramNB(strategy=strategy).fit(y[:, None], y).score(y[:, None], y) == 1.0
    three = verosim.HistogramNB().fit(
        np.repeat([0.0, 1.0, 2.0], 20)[:, None], np.repeat([0, 1, 2], 20)
    )
    assert three.score([[0], [1], [2]], [0, 1, 2]) == 1.0


@pytest.mark.parametrize("estimator", [verosim.HistogramNB, verosim.JointHistogram])
@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_histograms_integrate_to_one(estimator, strategy, rng):
    X, y = rng.exponential(size=(200, 2)) ** 2, rng.integers(0, 2, 200)
    model = estimator(bins=5, strategy=strategy).fit(X, y)
    edges = [np.asarray(e) for e in model.bin_edges_]
    middles = np.stack(np.meshgrid(*[(e[1:] + e[:-1]) / 2 for e in edges]), -1).reshape(-1, 2)
    volume = np.stack(np.meshgrid(*[np.diff(e) for e in edges]), -1).reshape(-1, 2).prod(axis=1)
    assert (np.exp(model.log_density(middles)) * volume).sum() == pytest.approx(1.0)


def test_open_end_bins(rng):
    X, y = rng.normal(size=(100, 1)), rng.integers(0, 2, 100)
    model = verosim.HistogramNB(bins=6).fit(X, y)
    low, high = model.bin_edges_[0][[0, -1]]
    far = model.predict_proba([[-1e9], [1e9]])
    near = model.predict_proba([[low], [high]])
    np.testing.assert_allclose(far, near)


def test_few_first_rows_are_said():
    with pytest.warns(verosim.VerosimWarning, match="fixed by these first 2 rows"):
        verosim.HistogramNB(bins=10).partial_fit([[0.0], [1.0]], [0, 1])


def test_joint_histogram_refuses_the_hopeless(rng):
    X, y = rng.normal(size=(200, 30)), rng.integers(0, 2, 200)
    with pytest.raises(verosim.VerosimError) as caught:
        verosim.JointHistogram(bins=10).fit(X, y)
    text = str(caught.value)
    assert "1.0e+30 cells" in text
    assert "1.0e+31 rows" in text
    assert "there are 200" in text
    assert "HistogramNB, which needs about 100 rows" in text


def test_joint_histogram_hope_depends_on_the_rows(rng):
    X, y = rng.normal(size=(50, 15)), rng.integers(0, 2, 50)
    with pytest.raises(verosim.VerosimError, match=r"1.0e\+15 cells.*there are 50"):
        verosim.JointHistogram(bins=10).fit(X, y)
    assert verosim.JointHistogram(bins=10).fit(X[:, :4], y).n_cells_ == 10_000
    auto = verosim.JointHistogram().fit(rng.normal(size=(1000, 2)), rng.integers(0, 2, 1000))
    assert auto.n_cells_ == 100  # ten rows a cell
    with pytest.warns(verosim.VerosimWarning, match="only the priors count"):
        none = verosim.JointHistogram().fit(rng.normal(size=(50, 40)), y)
    assert none.n_cells_ == 1


def test_edges_of_a_fitted_model_serve_another(rng):
    X, y = rng.normal(size=(90, 3)), rng.integers(0, 2, 90)
    X[:, 1] = 4.0
    first = verosim.HistogramNB(bins=5).fit(X[:60], y[:60])
    second = verosim.HistogramNB(bins=first.bin_edges_).fit(X[60:], y[60:])
    assert (first + second).class_count_.sum() == 90


def test_what_cannot_be_a_category():
    with pytest.raises(verosim.VerosimError, match="cannot be a category"):
        verosim.CategoricalNB().fit(_lists(), [0, 1])


def _lists():
    out = np.empty((2, 1), dtype=object)
    out[0, 0], out[1, 0] = ["a"], ["b"]
    return out


def test_joint_histogram_stores_only_occupied_cells(rng):
    X, y = rng.normal(size=(500, 6)), rng.integers(0, 2, 500)
    model = verosim.JointHistogram(bins=8, strategy="uniform").fit(X, y)
    assert model.n_cells_ == 8**6
    assert model.n_occupied_ <= 500
    # The lesson: the joint histogram remembers its rows and knows nothing of others.
    new = rng.normal(size=(500, 6))
    np.testing.assert_allclose(model.predict_proba(new).max(axis=1).min(), 0.5, atol=0.1)
