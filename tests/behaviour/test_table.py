"""NaiveBayes on mixed tables: the formula, holes, unseen and capped values, algebra, samples."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import clone

import verosim
from verosim import NaiveBayes, VerosimError
from verosim.testing import assert_same

N = 240


def mixed(rng, n=N):
    y = rng.integers(0, 3, n)

    def holes(values, share=0.1):
        out = np.array(values, dtype=object)
        out[rng.random(n) < share] = None
        return out

    return pd.DataFrame(
        {
            "x": holes(rng.normal(y, 1)).astype(float),
            "z": holes(rng.gamma(1 + y, 2)).astype(float),
            "k": pd.array(holes(rng.poisson(1 + y)), dtype="Int64"),
            "c": holes(np.array(["a", "b", "c"])[(y + rng.integers(0, 2, n)) % 3]),
            "b": pd.array(holes(rng.random(n) < 0.2 + 0.3 * y), dtype="boolean"),
            "t": [" ".join(rng.choice([f"w{v}", "the", "of", "and"], 5)) for v in y],
            "y": np.array(["p", "q", "r"])[y],
        }
    )


COLUMNS = {"x": "gaussian", "z": "histogram", "k": "poisson", "c": "category", "b": "boolean",
           "t": "text"}  # fmt: skip


@pytest.fixture
def table(rng):
    return mixed(rng)


def by_hand(train, test, columns, edges, alpha=1.0):
    """(n, C) log joint, column by column, with nothing of the library in it."""
    classes = sorted(train["y"].unique())
    out = np.zeros((len(test), len(classes)))
    for c, label in enumerate(classes):
        rows = train[train["y"] == label]
        out[:, c] += np.log(len(rows) / len(train))
        for i, (_, cell) in enumerate(test.iterrows()):
            for name in columns:
                v = cell.get(name)
                if v is None or v is pd.NA or v != v:
                    continue
                seen = rows[name].dropna()
                if COLUMNS[name] == "gaussian":
                    out[i, c] += stats.norm.logpdf(v, seen.mean(), seen.std(ddof=0))
                elif COLUMNS[name] == "poisson":
                    every = train[name].dropna().astype(float)
                    rate = (seen.astype(float).sum() + alpha * every.mean()) / (len(seen) + alpha)
                    out[i, c] += stats.poisson.logpmf(int(v), rate)
                elif COLUMNS[name] == "category":
                    kinds = train[name].dropna().nunique()
                    out[i, c] += np.log(((seen == v).sum() + alpha) / (len(seen) + alpha * kinds))
                elif COLUMNS[name] == "boolean":
                    out[i, c] += np.log(((seen == v).sum() + alpha) / (len(seen) + 2 * alpha))
                elif COLUMNS[name] == "histogram":
                    inner = np.array(edges[1:-1])
                    bins = np.searchsorted(inner, seen.to_numpy(), side="right")
                    at = np.searchsorted(inner, v, side="right")
                    share = ((bins == at).sum() + alpha) / (len(seen) + alpha * (len(edges) - 1))
                    out[i, c] += np.log(share / (edges[at + 1] - edges[at]))
                else:
                    words = [w for text in rows[name] for w in text.split()]
                    every = {w for text in train[name] for w in text.split()}
                    for w in v.split():
                        if w in every:
                            share = (words.count(w) + alpha) / (len(words) + alpha * len(every))
                            out[i, c] += np.log(share)
    return out


def test_the_joint_is_the_product_of_the_columns(table):
    train, test = table[:200], table[200:]
    model = NaiveBayes(columns=COLUMNS).fit(train, "y")
    edges = list(model.schema_["z"].edges)
    expected = by_hand(train, test, COLUMNS, edges)
    np.testing.assert_allclose(model.log_joint(test), expected, rtol=1e-9)
    np.testing.assert_allclose(model.log_density(test), logsumexp(expected, axis=1), rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_log_proba(test), expected - logsumexp(expected, axis=1)[:, None], atol=1e-9
    )


@pytest.mark.parametrize("gone", list(COLUMNS))
def test_a_deleted_column_is_a_missing_one_is_the_marginal(table, gone):
    """Deleting a column = all of it missing = the model that never had it."""
    model = NaiveBayes(columns=COLUMNS).fit(table, "y")
    without = table.drop(columns=[gone, "y"])
    empty = table.drop(columns="y").assign(**{gone: None})
    rest = {name: d for name, d in COLUMNS.items() if name != gone}
    schema = model.schema_.edit({gone: "ignore"})
    marginal = NaiveBayes().fit(table, "y", schema=schema)
    for rows in (empty, pl.from_pandas(without), pa.Table.from_pandas(without)):
        np.testing.assert_allclose(
            model.predict_log_proba(without), model.predict_log_proba(rows), atol=1e-12
        )
    np.testing.assert_allclose(
        model.predict_log_proba(without), marginal.predict_log_proba(table), atol=1e-9
    )
    expected = by_hand(table, table.iloc[:20], rest, list(model.schema_["z"].edges))
    np.testing.assert_allclose(model.log_joint(without[:20]), expected, rtol=1e-9)


def test_nothing_known_leaves_the_priors(table):
    model = NaiveBayes(columns=COLUMNS).fit(table, "y")
    blank = pd.DataFrame({"x": [np.nan], "extra": [1]})
    np.testing.assert_allclose(model.predict_proba(blank)[0], model.class_prior_)
    with pytest.raises(VerosimError, match="none of the columns"):
        model.predict(pd.DataFrame({"extra": [1]}))


def test_missing_as_a_category(rng):
    """Where absence is informative, it tells."""
    y = rng.integers(0, 2, 2000)
    x = np.where((rng.random(2000) < 0.8) & (y == 1), np.nan, rng.normal(size=2000))
    c = np.where((rng.random(2000) < 0.5) & (y == 0), None, "same")
    table = pd.DataFrame({"x": x, "c": c, "full": rng.normal(size=2000), "y": y})
    skip = NaiveBayes(columns={"c": "category"}).fit(table, "y")
    heard = NaiveBayes(columns={"c": "category"}, missing="category").fit(table, "y")
    assert heard.score(table, "y") > 0.85 > skip.score(table, "y")
    row = pd.DataFrame({"x": [np.nan], "c": ["same"], "full": [0.0]})
    n = np.bincount(y)
    gone = np.array([np.isnan(x[y == k]).sum() for k in (0, 1)])
    lost = np.array([(c[y == k] == None).sum() for k in (0, 1)])  # noqa: E711
    full = [stats.norm.logpdf(0, *_fit(table["full"][y == k])) for k in (0, 1)]
    expected = np.log(n / n.sum()) + np.log((gone + 1) / (n + 2)) + full
    expected += np.log((n - lost + 1) / (n + 2))
    np.testing.assert_allclose(
        heard.predict_log_proba(row)[0], expected - logsumexp(expected), atol=1e-9
    )
    # A column that was never missing says nothing when it is; deleting it is the same.
    there = heard.predict_log_proba(row[["x", "c"]])
    np.testing.assert_allclose(there, heard.predict_log_proba(row.assign(full=np.nan)))
    with pytest.raises(VerosimError, match="missing"):
        heard.set_params(missing="skip").predict(row)


def _fit(values):
    return values.mean(), values.std(ddof=0)


def test_unseen_categories_get_their_smoothed_share():
    table = {"c": ["u", "u", "v", "v", "v"], "y": [0, 0, 1, 1, 1]}
    model = NaiveBayes(alpha=0.5).fit(table, "y")
    expected = np.log([2 / 5, 3 / 5]) + np.log([0.5 / 3, 0.5 / 4])
    np.testing.assert_allclose(model.log_joint({"c": ["never"]})[0], expected)


def test_constants_say_nothing_and_harm_nothing(table):
    """One value, all missing, or all the same number: masked, whatever arrives later."""
    model = NaiveBayes(columns=COLUMNS).fit(table, "y")
    padded = table.assign(one="always", number=7.5, void=None, truth=True)
    wide = NaiveBayes(columns=COLUMNS).fit(padded, "y")
    for rows in (padded, padded.assign(one="new", number=-1.0, truth=False)):
        np.testing.assert_allclose(
            wide.predict_log_proba(rows), model.predict_log_proba(table), atol=1e-12
        )
    assert "constant" in wide.schema_["one"].reason


def test_high_cardinality_is_capped(rng):
    """Memory grows with the values kept; which ones does not depend on order or chunks."""
    n = 20_000
    names = np.array([f"user {i}" for i in np.minimum(rng.zipf(1.3, n), 10**6)])
    table = pd.DataFrame({"u": names, "y": rng.integers(0, 2, n)})
    settings = {"columns": {"u": "category"}, "max_categories": 50}
    schema = verosim.look(table, target="y", columns=settings["columns"], max_categories=50)
    whole = NaiveBayes(**settings).fit(table, "y", schema=schema)
    words = whole.stats_.parts["category"].axes.codes
    assert len(words.values[0]) == 51
    assert "‹other›" in words.values[0]
    top = table["u"].value_counts().index[:20]
    assert set(top) <= set(words.values[0])  # what the look found frequent is kept
    shuffled = table.sample(frac=1, random_state=1)
    chunks = NaiveBayes(**settings)
    for start in range(0, n, 777):
        chunks.partial_fit(shuffled[start : start + 777], "y", schema=schema)
    assert_same(chunks.stats_, whole.stats_)
    halves = [NaiveBayes(**settings).fit(t, "y", schema=schema)
              for t in (shuffled[:9000], shuffled[9000:])]  # fmt: skip
    assert_same((halves[0] + halves[1]).stats_, whole.stats_)
    assert whole.stats_.rows.sum() == whole.stats_.parts["category"].arrays["cells"].sum()
    p = whole.log_joint({"u": ["a stranger"]})
    count = whole.stats_.parts["category"].arrays["count"][:, 0]
    other = count[:, words.values[0].index("‹other›")]
    expected = np.log(whole.class_prior_) + np.log((other + 1) / (count.sum(axis=1) + 51))
    np.testing.assert_allclose(p[0], expected)
    halves[0].partial_fit(shuffled[9000:], "y").forget(shuffled[9000:], "y")
    alone = NaiveBayes(**settings).fit(shuffled[:9000], "y", schema=schema)
    gone = np.abs(halves[0].class_count_ - alone.class_count_)
    assert gone.max() == 0


def test_what_the_look_saw_is_not_pushed_out(rng):
    """Thousands of typos after the first look leave the common values where they are."""
    sides = np.array(["left", "right", "mid"])
    first = pd.DataFrame({"u": sides[np.arange(300) % 3], "y": np.arange(300) % 3})
    typos = pd.DataFrame({"u": [f"tpyo {i}" for i in range(3000)], "y": np.arange(3000) % 3})
    model = NaiveBayes(max_categories=100).fit(first, "y").partial_fit(typos, "y")
    assert set(sides) < set(model.stats_.parts["category"].axes.codes.values[0])
    assert model.score(first, "y") == 1
    apart = NaiveBayes().fit(first, "y") + NaiveBayes().fit(first.assign(u="new"), "y")
    assert len(apart.stats_.parts["category"].axes.codes.values[0]) == 4  # no overflow: they merge
    with pytest.raises(VerosimError, match="with the same schema"):
        model + NaiveBayes(max_categories=100).fit(first.assign(u="new"), "y")


def test_late_overflow_without_a_look(rng):
    """Values that only appear after the look, more than the cap: hash decides, order does not."""
    first = pd.DataFrame({"u": ["a", "b"] * 50, "y": [0, 1] * 50})
    schema = verosim.look(first, target="y", max_categories=20)
    names = np.array([f"v{i}" for i in rng.integers(0, 500, 3000)])
    late = pd.DataFrame({"u": names, "y": rng.integers(0, 2, 3000)})
    models = []
    for seed, step in ((0, 3000), (1, 100), (2, 37)):
        rows = late.sample(frac=1, random_state=seed)
        model = NaiveBayes(max_categories=20).fit(first, "y", schema=schema)
        for start in range(0, 3000, step):
            model.partial_fit(rows[start : start + step], "y")
        assert len(model.stats_.parts["category"].axes.codes.values[0]) <= 21
        models.append(model)
    for model in models[1:]:
        assert_same(model.stats_, models[0].stats_)


def test_the_algebra_holds(table, rng):
    schema = verosim.look(table, target="y", columns=COLUMNS)

    def fit(rows, **weights):
        return NaiveBayes(columns=COLUMNS).fit(rows, "y", schema=schema, **weights)

    whole = fit(table)
    a, b = fit(table[:100]), fit(table[100:])
    assert_same((a + b).stats_, whole.stats_)
    assert_same((b + a).stats_, whole.stats_)
    forgotten = (a + b).forget(table[100:], "y")
    np.testing.assert_allclose(
        forgotten.predict_log_proba(table), a.predict_log_proba(table), atol=1e-8
    )
    w = rng.integers(0, 4, N)
    weighted = fit(table.assign(w=w), sample_weight="w")
    again = fit(table, sample_weight=w)
    repeated = fit(table.loc[np.repeat(table.index, w)])
    for model in (weighted, again):
        np.testing.assert_allclose(
            model.predict_log_proba(table), repeated.predict_log_proba(table), atol=1e-9
        )
    with verosim.use_threads(1):
        alone = fit(table)
    assert_same(alone.stats_, whole.stats_)
    faded = fit(table).decay(0.5)
    np.testing.assert_allclose(faded.class_count_, whole.class_count_ / 2)
    np.testing.assert_allclose(
        whole.with_priors("uniform").predict_log_proba(table),
        clone(whole).set_params(priors="uniform").fit(table, "y", schema=schema)
        .predict_log_proba(table),
    )  # fmt: skip
    smooth = fit(table).set_params(alpha=3.0, covariance="unbiased")
    np.testing.assert_allclose(
        smooth.predict_log_proba(table),
        NaiveBayes(columns=COLUMNS, alpha=3.0, covariance="unbiased")
        .fit(table, "y", schema=schema).predict_log_proba(table),
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(whole)).stats_.fingerprint() == whole.stats_.fingerprint()


def test_new_classes_values_and_words_mid_stream(table):
    model = NaiveBayes(columns=COLUMNS).partial_fit(table[table.y == "p"], "y")
    assert model.classes_.tolist() == ["p"]
    more = table[table.y != "p"].assign(c="brand new", t="unheard words here")
    model.partial_fit(more, "y")
    assert model.classes_.tolist() == ["p", "q", "r"]
    row = pd.DataFrame({"c": ["brand new"], "t": ["unheard"]})
    assert model.predict_proba(row)[0, 0] < 0.01


def test_sample_gives_back_the_table(table):
    model = NaiveBayes(columns=COLUMNS).fit(table, "y")
    drawn, labels = model.sample(4000, random_state=3)
    assert isinstance(drawn, pd.DataFrame)
    assert drawn.columns.tolist() == list(COLUMNS)
    assert drawn["x"].dtype == float
    assert drawn["k"].dtype.kind == "i"
    assert drawn["b"].dtype == bool
    assert set(drawn["c"]) <= {"a", "b", "c"}
    assert not drawn.isna().any().any()
    again = NaiveBayes(columns=COLUMNS).fit(drawn.assign(y=labels), "y", schema=model.schema_)
    np.testing.assert_allclose(again.class_prior_, model.class_prior_, atol=0.03)
    np.testing.assert_allclose(
        again.predict_proba(table[:50]).mean(axis=0), model.predict_proba(table[:50]).mean(axis=0),
        atol=0.05,
    )  # fmt: skip
    holed, labels = model.sample(4000, random_state=3, missing=True)
    rate = table.drop(columns=["t", "y"]).isna().mean()
    np.testing.assert_allclose(holed.drop(columns="t").isna().mean(), rate, atol=0.03)
    for source, kind in ((pl.from_pandas(table), pl.DataFrame),
                         (pa.Table.from_pandas(table), pa.Table)):  # fmt: skip
        other = NaiveBayes(columns=COLUMNS).fit(source, "y").sample(5, random_state=0)[0]
        assert isinstance(other, kind)
    when = pd.DataFrame({"d": pd.date_range("2024-01-01", periods=50), "y": [0, 1] * 25})
    drawn, _ = NaiveBayes().fit(when, "y").sample(10, random_state=0)
    assert drawn["d"].dtype.kind == "M"


def test_poisson_wants_counts():
    for bad in (-1.0, 1.5):
        with pytest.raises(VerosimError, match=f"Column 'k', row 2: .* counts .*; got {bad:g}"):
            NaiveBayes(columns={"k": "poisson"}).fit({"k": [1, 2, bad, 3], "y": [0, 1, 0, 1]}, "y")


def test_infinity_is_named():
    table = {"x": [1.0, np.inf, 2.0, 3.0], "y": [0, 1, 0, 1]}
    with pytest.raises(VerosimError, match=r"infinity.*column 'x', row 1"):
        NaiveBayes().fit(table, "y")
    model = NaiveBayes().fit({**table, "x": [1.0, 5.0, 2.0, 3.0]}, "y")
    with pytest.raises(VerosimError, match="infinity in column 'x', row 0"):
        model.predict({"x": [np.inf]})


def test_settings_are_checked(table):
    for settings, match in (
        ({"alpha": -1}, "alpha"), ({"missing": "drop"}, "missing"), ({"floor": "x"}, "floor"),
        ({"covariance": "full"}, "covariance"), ({"max_categories": 0}, "max_categories"),
    ):  # fmt: skip
        with pytest.raises(VerosimError, match=match):
            NaiveBayes(**settings).fit(table, "y")
    with pytest.raises(VerosimError, match="no column to learn from"):
        NaiveBayes().fit({"y": [0, 1]}, "y")
    with pytest.raises(VerosimError, match="array has no column names"):
        NaiveBayes().fit(np.zeros((3, 2)), "y")


@pytest.mark.parametrize(
    ("name", "target"),
    [("adult", "income"), ("german_credit", "class"), ("mushroom", "class"), ("votes", "Class"),
     ("penguins", "species"), ("sick", "Class"), ("car", "class"), ("nursery", "class")],
)  # fmt: skip
def test_real_tables_as_they_are(data, name, target):
    path = next(p for p in (data / name).iterdir() if p.suffix in (".csv", ".parquet"))
    model = NaiveBayes().fit(path, target)
    least = {"adult": 0.82, "german_credit": 0.75, "mushroom": 0.95, "votes": 0.90,
             "penguins": 0.97, "sick": 0.96, "car": 0.86, "nursery": 0.90}  # fmt: skip
    assert model.score(path, target) > least[name]
    chunked = NaiveBayes(columns="auto")
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(
        path, keep_default_na=False, na_values=[""])  # fmt: skip
    step = len(frame) // 3 + 1
    for start in range(0, len(frame), step):
        chunked.partial_fit(frame[start : start + step], target, schema=model.schema_)
    assert_same(chunked.stats_, model.stats_)
