"""`model.learned`: the tables of what a model has learned are those that it predicts with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris

from verosim import (
    AODE,
    KDB,
    LDA,
    MDA,
    QDA,
    RDA,
    TAN,
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    HistogramNB,
    JointHistogram,
    LiftedLDA,
    MultinomialNB,
    NaiveBayes,
    TextNB,
    TextRidge,
    VerosimError,
    read,
)
from verosim.densities.estimates import DEVIATION_HEAD, MEAN_HEAD

X, y = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
N = 400
TABLE = pd.DataFrame({
    "age": RNG.normal(40, 10, N).round(1),
    "hue": RNG.choice(["red", "blue", "green", None], N),
    "calls": RNG.poisson(3, N),
    "paid": RNG.random(N) < 0.3,
    "amount": np.exp(RNG.normal(size=N)),
    "when": pd.date_range("2024-01-01", periods=N, freq="31h"),
    "text": [" ".join(RNG.choice(["cat", "dog", "sat", "mat", "rug", "cow"], 5)) for _ in range(N)],
    "kind": RNG.choice(["a", "b", "c"], N),
})  # fmt: skip
TABLE.loc[::9, "age"] = np.nan
KINDS = {"calls": "poisson", "amount": "histogram", "age": "gaussian", "when": "date+trend"}


def by_hand(found, row: dict) -> np.ndarray:
    """(C,) log π_k + Σ_j log p(x_j | k), from the tables and nothing else."""
    total = np.log(found.priors)
    for table in found:
        value = row[table.column]
        gone = value is None or value != value
        pieces = {"": str(value), "days since 1970": None}
        if table.column == "when":
            when = pd.Timestamp(value)
            days = when.value / (86400 * 1e9)
            pieces = {"hour": str(when.hour), "weekday": str(when.weekday()),
                      "month": str(when.month)}  # fmt: skip
        for part in dict.fromkeys(table.parts):
            at = [i for i, one in enumerate(table.parts) if one == part]
            heads, values = [table.heads[i] for i in at], table.values[:, at]
            if part == "missing":
                total = total + np.log(values[:, 0] if gone else 1 - values[:, 0])
            elif gone:
                continue
            elif heads == [MEAN_HEAD, DEVIATION_HEAD]:
                x = days if part == "days since 1970" else value
                total = total + stats.norm.logpdf(x, values[:, 0], values[:, 1])
            elif heads == ["rate"]:
                total = total + stats.poisson.logpmf(value, values[:, 0])
            elif table.kind == "heights":
                low = np.array([float(head[1:].partition(",")[0]) for head in heads])
                at = max(int(np.searchsorted(low, value, side="right")) - 1, 0)
                total = total + np.log(values[:, at])
            else:
                texts = [str(head) for head in heads]
                total = total + np.log(values[:, texts.index(pieces[part])])
    return total


@pytest.mark.parametrize("missing", ["skip", "category"])
def test_tables_of_independent_columns_give_the_scores(missing):
    rows = TABLE.drop(columns=["text"])
    model = NaiveBayes(columns=KINDS, missing=missing, alpha=0.5).fit(rows, "kind")
    found = model.learned()
    assert found.columns == ("age", "hue", "calls", "paid", "amount", "when")
    edges = set(model.schema_["amount"].edges)
    inside = [i for i in range(0, N, 7) if rows["amount"][i] not in edges]
    scores = model.log_joint(rows.iloc[inside])
    wanted = [by_hand(found, row) for row in rows.iloc[inside].to_dict("records")]
    np.testing.assert_allclose(wanted, scores, rtol=1e-4)  # edges are printed with six digits


def test_counts_are_those_of_the_rows():
    model = NaiveBayes(columns=KINDS, missing="category", class_weight="balanced")
    model.fit(TABLE, "kind")
    hue = model.learned("hue")
    assert hue.heads == ("blue", "green", "red", "missing")
    assert hue.parts == ("", "", "", "missing")
    for k, label in enumerate(hue.classes):
        mine = TABLE[TABLE["kind"] == label]
        wanted = [(mine["hue"] == head).sum() for head in hue.heads[:3]] + [
            mine["hue"].isna().sum()
        ]
        assert hue.counts[k].tolist() == wanted
        assert hue.weight[k] == mine["hue"].notna().sum()
        assert hue.missing[k] == pytest.approx(mine["hue"].isna().mean())
    age = model.learned("age")
    assert np.isnan(age.counts[:, :2]).all()
    assert age.missing == pytest.approx(
        [TABLE["age"][TABLE["kind"] == label].isna().mean() for label in age.classes]
    )


def test_gaussian_models_give_mean_and_deviation_per_class():
    for model in (GaussianNB(), LDA(), QDA(), RDA(), LDA(missing="marginalise")):
        model.fit(X, y)
        for j in range(4):
            table = model.learned(f"x{j}")
            assert table.heads == ("mean", "deviation")
            np.testing.assert_allclose(table.values[:, 0], model.means_[:, j])
            own = model.covariances_
            variance = own[..., j] if isinstance(model, GaussianNB) else own[..., j, j]
            np.testing.assert_allclose(table.values[:, 1] ** 2, np.broadcast_to(variance, 3))
            assert table.weight.tolist() == [50, 50, 50]
    holes = X.copy()
    holes[::7, 2] = np.nan
    table = QDA(missing="marginalise").fit(holes, y).learned("x2")
    assert table.weight.tolist() == [np.isfinite(holes[y == k, 2]).sum() for k in range(3)]
    assert table.missing == pytest.approx(1 - table.weight / 50)


def test_mixture_gives_the_moments_of_all_components_together():
    model = MDA(components=2, covariance="own", regularisation=0.0, random_state=0).fit(X, y)
    table = model.learned("x0")
    draws, classes = model.sample(60_000, random_state=0)
    for k in range(3):
        drawn = draws[classes == k, 0]
        assert table.values[k] == pytest.approx([drawn.mean(), drawn.std()], rel=0.02)


@pytest.mark.parametrize("model", [AODE(bins=4), KDB(bins=4), TAN(bins=4)])
def test_dependent_columns_give_the_shares_of_their_values(model):
    rows = TABLE[["age", "hue", "paid", "when", "kind"]]
    found = model.fit(rows, "kind").learned()
    hue = found["hue"]
    assert {"red", "blue", "green", "‹missing›"} == set(hue.heads)
    for k, label in enumerate(hue.classes):
        mine = rows[rows["kind"] == label]
        for head, count in zip(hue.heads, hue.counts[k], strict=True):
            same = mine["hue"].isna() if head == "‹missing›" else mine["hue"] == head
            assert count == same.sum()
    for table in found:
        for part in set(table.parts):
            at = [i for i, one in enumerate(table.parts) if one == part]
            np.testing.assert_allclose(table.values[:, at].sum(axis=1), 1.0, atol=0.01)


def test_other_models_of_columns():
    codes = X.round().astype(int)
    table = CategoricalNB().fit(codes, y).learned(0)
    model = CategoricalNB().fit(codes, y)
    np.testing.assert_allclose(table.values, np.exp(model.feature_log_prob_[0]))
    np.testing.assert_allclose(table.counts, model.category_count_[0])
    heights = HistogramNB(bins=5).fit(X, y).learned(3)
    edges = HistogramNB(bins=5).fit(X, y).bin_edges_[3]
    np.testing.assert_allclose(heights.values @ np.diff(edges), 1.0)
    flags = BernoulliNB(binarize=3.0).fit(X, y)
    np.testing.assert_allclose(flags.learned(1).values[:, 1], np.exp(flags.feature_log_prob_[:, 1]))
    amounts = MultinomialNB().fit(X, y)
    np.testing.assert_allclose(amounts.learned(1).counts[:, 0], amounts.feature_count_[:, 1])


def test_texts_list_the_tokens_that_are_typical_of_a_class():
    model = TextNB().fit(TABLE["text"], TABLE["kind"])
    table = model.learned(0, top=2)
    best = [token for tokens in model.top_tokens(2).values() for token, _ in tokens]
    assert list(table.heads) == list(dict.fromkeys(best))
    at = [model.vocabulary_[token] for token in table.heads]
    np.testing.assert_allclose(table.values, np.exp(model.feature_log_prob_[:, at]))
    assert not table.complete
    with pytest.raises(VerosimError, match="Hashed tokens have no names"):
        TextNB(hashed=64).fit(TABLE["text"], TABLE["kind"]).learned(0)


def test_models_of_a_design_matrix_give_one_part_per_column_of_the_matrix():
    model = LDA(encode="onehot").fit(TABLE[["hue", "age", "kind"]], "kind")
    table = model.learned("hue")
    assert set(table.parts) < set(model.encoded_names_)
    at = [model.encoded_names_.tolist().index(part) for part in table.parts[::2]]
    np.testing.assert_allclose(table.values[:, ::2], model.means_[:, at])


def test_files_and_updates_give_the_same_tables(tmp_path):
    rows = TABLE.drop(columns=["when"])
    rows.to_csv(tmp_path / "table.csv", index=False)
    whole = NaiveBayes().fit(read(tmp_path / "table.csv"), "kind")
    parts = NaiveBayes().fit(rows[::2], "kind", schema=whole.schema_)
    parts.partial_fit(rows[1::2], "kind")
    mine, theirs = whole.learned("hue"), parts.learned("hue")
    assert mine.heads == theirs.heads
    np.testing.assert_allclose(mine.values, theirs.values)


def test_results_have_data_and_print():
    model = NaiveBayes().fit(TABLE, "kind")
    found = model.learned()
    assert len(found) == len(list(found)) == 7
    assert set(found.values) == set(found.columns)
    frame = found.to_pandas()
    hue = frame[(frame["column"] == "hue") & (frame["class"] == "a")]
    assert hue["estimate"].tolist() == found["hue"].values[0].tolist()
    wide = found["hue"].to_pandas()
    assert wide.columns.tolist() == ["class", "blue", "green", "red", "weight", "share missing"]
    lines = str(found).splitlines()
    assert lines[0] == "NaiveBayes"
    assert lines[1].split() == ["a", "b", "c"]
    assert max(map(len, lines)) <= 88
    many = CategoricalNB().fit(np.arange(300)[:, None] % 150, np.arange(300) % 2).learned(0)
    assert str(many).splitlines()[-1] == "126 more values are in `values`."
    assert len(many.heads) == 150


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("hu", "The model has no column 'hu'. Hint: Did you mean 'hue'"),
        ("zzz", "Use one of the columns 'age', 'hue'"),
        ("calls", "does not use the column 'calls'"),
        (9, "The model has 6 columns; got number 9"),
    ],
)
def test_unknown_columns_are_named(column, words):
    model = NaiveBayes(columns={"calls": "ignore"}).fit(TABLE, "kind")
    with pytest.raises(VerosimError, match=words):
        model.learned(column)
    if isinstance(column, str):
        with pytest.raises(VerosimError, match="The model has no column"):
            model.learned()[column]


def test_models_without_a_table_per_column_say_so():
    for model in (JointHistogram(bins=2), LiftedLDA()):
        with pytest.raises(VerosimError, match=f"{type(model).__name__} has not learned a table"):
            model.fit(X[:, :2], y).learned()
    texts = TextRidge().fit(TABLE["text"], TABLE["kind"])
    with pytest.raises(VerosimError, match="TextRidge has not learned a table"):
        texts.learned()
    with pytest.raises(VerosimError, match="not fitted"):
        GaussianNB().learned()
