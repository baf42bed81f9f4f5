"""Tables as strangers bring them: each a thing that once went wrong."""

from __future__ import annotations

import decimal
import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import verosim
from verosim import BernoulliNB, CategoricalNB, GaussianNB, NaiveBayes, VerosimError

AB = ["a", "b"] * 30


@pytest.fixture
def table(rng):
    x = rng.normal(size=60)
    x[3] = np.nan
    c = rng.choice(["u", "v"], 60)
    return pd.DataFrame({"x": x, "c": c, "y": AB, "w": rng.integers(0, 3, 60).astype(float)})


def test_weights_and_holes_together(table):
    weighted = NaiveBayes().fit(table, "y", sample_weight="w")
    repeated = NaiveBayes().fit(
        table.drop(columns="w").loc[np.repeat(table.index, table["w"].astype(int))], "y"
    )
    np.testing.assert_allclose(
        weighted.predict_log_proba(table), repeated.predict_log_proba(table), atol=1e-10
    )
    schema = verosim.look(table, "y", sample_weight="w")
    assert NaiveBayes().fit(table, "y", schema=schema).class_count_.sum() == table["w"].sum()


def test_text_labels_stay_as_they_are(table, tmp_path):
    labels = np.array(["2.0", "2.1", "2.10"])[np.arange(60) % 3]
    model = NaiveBayes().fit(table.assign(y=labels), "y")
    assert model.classes_.tolist() == ["2.0", "2.1", "2.10"]
    assert model.score(table, labels) == model.score(table.assign(y=labels), "y")
    table.assign(y=labels).to_csv(tmp_path / "t.csv", index=False)
    assert NaiveBayes().fit(tmp_path / "t.csv", "y").classes_.tolist() == ["2.0", "2.1", "2.10"]


def test_numbers_that_mean_missing(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n-9.0,a\n1,b\n2,a\n-9,b\n3.5,a\n" + "4,a\n5,b\n" * 5)
    for na in ("-9.0", "-9", -9, -9.0, np.int64(-9), [-9.0]):
        for source in (tmp_path / "t.csv", pd.read_csv(tmp_path / "t.csv")):
            model = NaiveBayes().fit(source, "y", na=na)
            assert sum(p.arrays["cells"].sum() for p in model.stats_.leaves()) == 13, na
    with pytest.raises(VerosimError, match="not a dict"):
        NaiveBayes().fit(tmp_path / "t.csv", "y", na={"x": ["-9"]})
    with pytest.raises(VerosimError, match="na is only for tables"):
        GaussianNB().fit(np.zeros((2, 1)), [0, 1], na=-9)


def test_strange_labels_of_a_boolean_target():
    model = NaiveBayes().fit({"x": [1.0, 2, 3, 4], "y": [True, False] * 2}, "y")
    with pytest.raises(VerosimError, match="target 'y' is 'maybe' in row 0"):
        model.partial_fit({"x": [1.0], "y": ["maybe"]}, "y")


def test_masked_arrays():
    rng = np.random.default_rng(0)
    X, mask = rng.normal(size=(60, 2)), rng.random((60, 2)) < 0.2
    model = NaiveBayes().fit(np.ma.masked_array(X, mask), AB)
    assert [column.role for column in model.schema_] == ["number", "number"]
    holed = NaiveBayes().fit(np.where(mask, np.nan, X), AB)
    np.testing.assert_array_equal(model.predict_proba(X), holed.predict_proba(X))
    words = np.ma.masked_array(np.array([["u"], ["v"]] * 30, dtype=object), mask[:, :1])
    assert CategoricalNB().fit(words, AB).categories_ == [["u", "v"]]


def test_truths_in_a_csv_are_numbers_too(tmp_path):
    (tmp_path / "t.csv").write_text("f,y\n" + "true,a\nfalse,b\n" * 5)
    for estimator in (BernoulliNB, GaussianNB):
        assert estimator().fit(tmp_path / "t.csv", "y").score(tmp_path / "t.csv", "y") == 1


def test_very_large_whole_labels():
    y = pa.array([2**63 + 1, 5] * 2, pa.uint64())
    model = NaiveBayes().fit(pa.table({"x": [1.0, 2, 3, 4], "y": y}), "y")
    assert model.classes_.tolist() == [5, 2**63 + 1]
    for value in (10**30, 2**127):
        big = pa.array([decimal.Decimal(value), decimal.Decimal(5)])
        model = NaiveBayes().fit(pa.table({"x": [1.0, 2.0], "y": big}), "y")
        assert model.classes_.tolist() == [5, value]
    big = pa.array([decimal.Decimal(2**128), decimal.Decimal(5)])
    with pytest.raises(VerosimError, match=f"target 'y' is '{2**128}'"):
        NaiveBayes().fit(pa.table({"x": [1.0, 2.0], "y": big}), "y")


def test_a_schema_without_a_target(table):
    whole = table.assign(y=np.arange(60) % 2)
    model = NaiveBayes().fit(whole, "y", schema=verosim.look(whole))
    assert model.classes_.tolist() == [0, 1]


def test_what_contradicts_a_schema(table):
    schema = verosim.look(table, "y")
    with pytest.raises(VerosimError, match="na and schema cannot be used together"):
        NaiveBayes().fit(table, "y", schema=schema, na="?")
    with pytest.raises(VerosimError, match=r"Column 'x' is .* in the schema and poisson"):
        NaiveBayes(columns={"x": "poisson"}).fit(table, "y", schema=schema)
    with pytest.raises(VerosimError, match="has no bins"):
        schema.edit({"c": "histogram"})


def test_a_model_keeps_its_door(table):
    model = NaiveBayes().fit(table, "y")
    model.partial_fit(table[["x", "c", "w"]], table["y"])
    model.forget(table[["w", "x", "c"]][:3], table["y"][:3])
    np.testing.assert_array_equal(model.predict(table), model.predict(table[["c", "w", "x"]]))
    assert model.schema_.target == "y"
    with pytest.raises(VerosimError, match="'c' is a column that the model learns from"):
        model.partial_fit(table, "c")


def test_samples_have_the_types_of_the_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "wait": pd.to_timedelta(rng.integers(0, 500, 60), unit="s"),
            "small": rng.integers(0, 3, 60).astype("uint8"),
            "zoned": pd.Timestamp("2024-05-05", tz="America/Lima") + pd.to_timedelta(
                rng.integers(0, 99, 60), unit="D"),
            "kind": pd.Categorical(rng.choice(["u", "v"], 60)),
            "never": pd.to_datetime([None] * 60),
            "y": AB,
        }
    )  # fmt: skip
    model = NaiveBayes(columns={"small": "gaussian"}).fit(frame, "y")
    assert model.schema_["never"].role == "ignored"
    drawn, _ = model.sample(500, random_state=0)
    assert drawn["wait"].dtype.kind == "m"
    assert pd.Timedelta("60s") < drawn["wait"].median() < pd.Timedelta("440s")
    assert drawn["small"].dtype == "uint8"
    assert drawn["small"].max() < 20
    assert str(drawn["zoned"].dt.tz) == "America/Lima"
    assert drawn["kind"].dtype == "category"
    price = pa.table({"p": pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.25")] * 9),
                      "y": ["a", "b"] * 9})  # fmt: skip
    drawn, _ = NaiveBayes().fit(price, "y").sample(3, random_state=0)
    assert drawn.schema.field("p").type == price.schema.field("p").type


def test_a_column_named_like_a_part_of_a_date():
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, 60), unit="s")
    frame = pd.DataFrame({"t": when, "t.hour": rng.choice(["u", "v"], 60), "y": AB})
    model = NaiveBayes(max_categories=3).fit(frame, "y")
    assert model.stats_.parts["category"].axes.codes.caps == (3, 100, 100, 100)
    assert set(model.sample(50, random_state=0)[0]["t.hour"]) <= {"u", "v"}


def test_scores_by_weight(table):
    model = NaiveBayes().fit(table, "y")
    right = model.predict(table) == table["y"]
    expected = float(np.average(right, weights=table["w"]))
    assert model.score(table, "y", sample_weight="w") == pytest.approx(expected)
    assert model.score(table, "y", sample_weight=table["w"].to_numpy()) == pytest.approx(expected)
    with pytest.raises(VerosimError, match="no rows"):
        model.score(table[:0], "y")


def test_rows_are_numbered_as_in_the_table(table):
    bad = table.assign(w=[0.0] + [1.0] * 59, x=table["x"].astype(object))
    bad.loc[4, "x"] = "oops"
    with pytest.raises(VerosimError, match="Column 'x', row 4"):
        NaiveBayes(columns={"x": "gaussian"}).fit(
            bad, "y", sample_weight="w", schema=verosim.look(table, "y").edit({"x": "gaussian"})
        )
    with pytest.raises(VerosimError, match="missing in row 4"):
        NaiveBayes().fit(table.assign(w=bad["w"], y=[*AB[:4], None, *AB[5:]]), "y",
                         sample_weight="w")  # fmt: skip


def test_kept_columns_of_changing_type(tmp_path, table):
    pq.write_table(pa.table({"x": [1.0, 2], "id": [1, 2], "y": ["a", "b"]}), tmp_path / "a.parquet")
    pq.write_table(
        pa.table({"x": [1.0, 2], "id": [3.0, 4], "y": ["a", "b"]}), tmp_path / "b.parquet"
    )
    model = NaiveBayes().fit(tmp_path, "y")
    assert model.predict_table(tmp_path, keep="id").read_all()["id"].to_pylist() == [1, 2, 3, 4]
    for keep in (["id", "id"], ["prediction"]):
        with pytest.raises(VerosimError):
            model.predict_table(tmp_path, keep=keep)


def test_dates_to_the_nanosecond(tmp_path):
    when = pd.to_datetime(np.arange(60) * 123456789123456, unit="ns")
    pd.DataFrame({"t": when, "y": AB}).to_csv(tmp_path / "t.csv", index=False)
    assert NaiveBayes().fit(tmp_path / "t.csv", "y").schema_["t"].role == "date/time"


def test_single_precision_categories():
    codes = np.array([0.1, 0.5, 2.0] * 20)
    models = [
        NaiveBayes(columns={"c": "category"}).fit(pd.DataFrame({"c": c, "y": AB}), "y")
        for c in (codes, codes.astype(np.float32))
    ]
    values = [set(m.stats_.parts["category"].axes.codes.values[0]) for m in models]
    assert values == [{"0.1", "0.5", "2"}] * 2


def test_declared_categories_are_categories():
    frame = pd.DataFrame({"c": pd.Categorical([10, 20, 30] * 20), "y": AB})
    assert NaiveBayes().fit(frame, "y").schema_["c"].role == "category"


def test_lists_of_files_and_rows_as_dicts(tmp_path, table):
    for i in range(2):
        table[i * 30 : i * 30 + 30].to_csv(tmp_path / f"{i}.csv", index=False)
    paths = [tmp_path / "0.csv", tmp_path / "1.csv"]
    model = NaiveBayes().fit(paths, "y")
    np.testing.assert_array_equal(model.predict(paths), model.predict(table))
    rows = table.to_dict("records")
    np.testing.assert_array_equal(NaiveBayes().fit(rows, "y").predict(rows), model.predict(table))


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ({"x": 1.0, "y": "a"}, "Column 'x' must be a list of values; got 1.0"),
        ({"x": [1.0, 2.0], "y": ["a"]}, "different lengths"),
        ({"x": np.zeros((2, 2)), "y": ["a", "b"]}, "one dimension"),
        ({"x": [1.0, 2.0], "y": [[1], [2]]}, "target 'y'.*not a supported type of category"),
        (pd.DataFrame([[1, 2, "a"], [3, 4, "b"]], columns=["x", "x", "y"]), "more than once"),
    ],
)
def test_what_is_no_table(source, match):
    with pytest.raises(VerosimError, match=match):
        NaiveBayes().fit(source, "y")


def test_errors_are_ours(tmp_path, table):
    """Whatever goes wrong inside is said as a VerosimError."""
    with pytest.raises(VerosimError, match="no column to learn from"):
        CategoricalNB().fit({"y": ["a", "b"]}, "y")
    (tmp_path / "mixed.csv").write_bytes(b"ni\xf1o,y,ni\xc3\xb1a\n1,a,1\n2,b,2\n")
    with pytest.raises(VerosimError, match=r"header.*not valid UTF-8"):
        NaiveBayes().fit(tmp_path / "mixed.csv", "y")
    (tmp_path / "latin.csv").write_bytes("ni\xf1o,y\n1,a\n2,b\n".encode("latin-1"))
    assert NaiveBayes().fit(tmp_path / "latin.csv", "y").schema_.names == ("ni\xf1o",)
    (tmp_path / "wide.csv").write_bytes("x,y\n1,a\n2,b\n".encode("utf-16"))
    assert NaiveBayes().fit(tmp_path / "wide.csv", "y").class_count_.sum() == 2
    (tmp_path / "mac.csv").write_bytes(b"x,y\r1,a\r2,b\r3,a\r")
    assert NaiveBayes().fit(tmp_path / "mac.csv", "y").class_count_.sum() == 3
    with pytest.raises(VerosimError, match="no rows"):
        verosim.query("CREATE TABLE t (x)", sqlite3.connect(":memory:"))
    huge = pd.DataFrame({"x": np.array([2**70, 1, 2, 3], dtype=object), "y": ["a", "b"] * 2})
    assert NaiveBayes().fit(huge, "y").class_count_.sum() == 4
    twice = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["x", "x"])
    with pytest.raises(VerosimError, match="names"):
        GaussianNB().fit(twice, [0, 1])
    mixed = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["x", 1])
    with pytest.raises(VerosimError, match="names"):
        NaiveBayes().fit(mixed, [0, 1])
    for weights in (np.full(60, np.nan), np.full(60, -1.0)):
        with pytest.raises(VerosimError, match="weight 'w' is"):
            NaiveBayes().fit(table.assign(w=weights), "y", sample_weight="w")
    with pytest.raises(VerosimError, match=r"weight 'c' is '[uv]'"):
        NaiveBayes().fit(table, "y", sample_weight="c")
    with pytest.raises(VerosimError, match=r"rows must be .*; got -5"):
        verosim.look(table, rows=-5)


def test_a_blank_is_not_an_empty_cell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,a\n2,b\n" * 30_000 + " ,a\n")
    with pytest.raises(VerosimError, match=r"Column 'x', row 60000 of t\.csv: ' ' is not a number"):
        NaiveBayes().fit(path, "y")
    assert NaiveBayes().fit(path, "y", na=" ").class_count_.sum() == 60_001


def test_invalid_bytes_that_no_row_has():
    """A dictionary may hold a value that is no text; only rows that have it are refused."""
    raw = pa.array([b"fine", b"\xff\xfe"])
    words = pa.Array.from_buffers(pa.string(), 2, raw.buffers())

    def table(last):
        index = pa.array([0] * 59 + [last], pa.int32())
        return pa.table({"c": pa.DictionaryArray.from_arrays(index, words), "y": AB})

    assert NaiveBayes().fit(table(0), "y").class_count_.sum() == 60
    with pytest.raises(VerosimError, match=r"Column 'c', row 59: .* is not valid UTF-8"):
        NaiveBayes().fit(table(1), "y")


def test_empty_texts_as_a_category(rng):
    said = np.where(rng.random(60) < 0.5, "", "some words to read here")
    frame = pd.DataFrame({"t": said, "y": np.where(said == "", "a", "b")})
    model = NaiveBayes(columns={"t": "text"}, missing="category").fit(frame, "y")
    assert model.predict({"t": ["", "unheard"]}).tolist() == ["a", "b"]
    drawn, labels = model.sample(50, random_state=0, missing=True)
    assert (drawn["t"].isna() == (labels == "a")).mean() > 0.8


def test_settings_of_the_first_fit_stay(table):
    model = NaiveBayes().fit(table, "y", na="?")
    model.partial_fit(table, "y", na="?")
    with pytest.raises(VerosimError, match="Use the same na as in the first fit"):
        model.partial_fit(table, "y", na="-")
    other = NaiveBayes().fit(table.rename(columns={"y": "z"}), "z", na="?")
    with pytest.raises(VerosimError, match="target is 'y' in this model and 'z' in the other"):
        model + other


def test_names_by_number(table, recwarn):
    """A frame whose columns have no string names is read by place, without complaint."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)))
    model = NaiveBayes().fit(X, AB)
    model.predict(X)
    assert not hasattr(model, "feature_names_in_")
    assert not [w for w in recwarn if "feature names" in str(w.message)]
    lda = verosim.LDA().fit(table.assign(id=np.arange(60))[["x", "w", "id", "y"]].fillna(0), "y")
    assert lda.n_features_in_ == lda.coef_.shape[1] == 2
    assert lda.feature_names_in_.tolist() == ["x", "w"]
