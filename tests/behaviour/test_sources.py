"""One table, many readers: every source gives the same model, or a clear error."""

from __future__ import annotations

import gzip
import sqlite3
import tempfile
import threading
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import verosim
from verosim.testing import assert_same

N = 400


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, N)
    gone = rng.random((N, 2)) < 0.1
    note = [" ".join(rng.choice(["red", "green", "blue", "niño", "日本", "x1"], 6)) for _ in y]
    return pd.DataFrame(
        {
            "size (cm)": np.where(gone[:, 0], np.nan, rng.normal(y, 1).round(3)),
            "visits": rng.poisson(2 + y),
            "hue.name": np.where(
                gone[:, 1],
                None,
                np.array(["Red", "NA", "None", "Yes"])[(y + rng.integers(0, 3, N)) % 4],
            ),
            "zip": rng.choice([1, 2, 30], N),
            "member": rng.random(N) < 0.2 + 0.2 * y,
            "when": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 10**6, N) + 86400 * 30 * y, unit="s"),
            "note": note,
            "Class": np.array(["Yes", "No", "NA"])[y],
        }
    )


SETTINGS = {"columns": {"zip": "category", "visits": "poisson", "size (cm)": "histogram"}}


def table_of(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def sources(frame, folder: Path):
    table = table_of(frame)
    yield "pandas", frame
    yield "polars", pl.from_pandas(frame)
    yield "polars lazy", pl.from_pandas(frame).lazy()
    yield "arrow", table
    yield "record batches", table.to_reader(max_chunksize=37)
    yield "columns", {name: table[name].to_pylist() for name in table.column_names}
    yield "list of frames", [frame[:100], frame[100:]]
    yield "generator", (frame[i : i + 50] for i in range(0, N, 50))
    yield "duckdb", duckdb.from_arrow(table)
    frame.to_csv(folder / "t.csv", index=False)
    yield "csv", folder / "t.csv"
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    yield "tsv", str(folder / "t.tsv")
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    yield "csv.gz", folder / "t.csv.gz"
    frame.to_csv(folder / "semi.csv", index=False, sep=";")
    yield "semicolons", folder / "semi.csv"
    pq.write_table(table, folder / "t.parquet", row_group_size=64)
    yield "parquet", folder / "t.parquet"
    feather.write_feather(table, str(folder / "t.feather"))
    yield "feather", folder / "t.feather"
    parts = folder / "parts"
    parts.mkdir()
    for i in range(4):
        pq.write_table(table.slice(i * 100, 100), parts / f"part-{i}.parquet")
    (parts / "_SUCCESS").write_text("")
    yield "folder", parts
    yield "glob", str(parts / "part-*.parquet")
    yield "dataset", ds.dataset(parts)
    con = duckdb.connect()
    con.register("t", table)
    yield "duckdb query", verosim.query("SELECT * FROM t", con)
    lite = sqlite3.connect(":memory:")
    frame.assign(when=frame["when"].astype(str), member=frame["member"].astype(int)).to_sql(
        "t", lite, index=False
    )
    yield "sqlite query", verosim.query("SELECT * FROM t", lite)


def test_every_source_gives_the_same_model(frame, tmp_path):
    settings = {"columns": {**SETTINGS["columns"], "member": "boolean"}}
    expected = verosim.NaiveBayes(**settings).fit(frame, "Class")
    assert expected.classes_.tolist() == ["NA", "No", "Yes"]
    probe = table_of(frame).drop_columns("Class")
    for name, source in sources(frame, tmp_path):
        model = verosim.NaiveBayes(**settings).fit(source, "Class")
        assert model.classes_.tolist() == expected.classes_.tolist(), name
        assert [c.density for c in model.schema_] == [c.density for c in expected.schema_], name
        assert_same(model.stats_, expected.stats_)
        np.testing.assert_allclose(
            model.predict_log_proba(probe), expected.predict_log_proba(frame), atol=1e-9,
            err_msg=name,
        )  # fmt: skip


def test_every_source_can_be_predicted(frame, tmp_path):
    model = verosim.NaiveBayes(**SETTINGS).fit(frame, "Class")
    expected = model.predict_proba(frame)
    for name, source in sources(frame, tmp_path):
        np.testing.assert_allclose(model.predict_proba(source), expected, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("name", ["GaussianNB", "LDA", "QDA", "NaiveLDA", "HistogramNB", "RDA"])
def test_models_of_numbers_take_tables_too(name, tmp_path):
    """The same model from an array, a frame with its target, and a file; weights by name."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 300)
    X = (rng.normal(size=(300, 4)) + y[:, None]).round(6)
    w = rng.integers(0, 3, 300)
    frame = pd.DataFrame(X, columns=["a", "b.c", "D d", "e"]).assign(kind=y, w=w)
    frame.to_csv(tmp_path / "x.csv", index=False)
    estimator = getattr(verosim, name)
    for weight, array in ((None, None), ("w", w)):
        columns = frame if weight else frame.drop(columns="w")
        frame_file = tmp_path / "x.csv"
        if not weight:
            columns.to_csv(tmp_path / "y.csv", index=False)
            frame_file = tmp_path / "y.csv"
        plain = estimator().fit(X, y, sample_weight=array)
        for source in (columns, frame_file, table_of(columns)):
            model = estimator().fit(source, "kind", sample_weight=weight)
            assert model.classes_.tolist() == [0, 1, 2]
            assert model.feature_names_in_.tolist() == ["a", "b.c", "D d", "e"]
            np.testing.assert_allclose(
                model.predict_log_proba(source), plain.predict_log_proba(X), atol=1e-8
            )
            assert model.score(source, "kind") == pytest.approx(plain.score(X, y))
    np.testing.assert_allclose(  # a model fitted on arrays reads files by position
        plain.predict_proba(frame[["a", "b.c", "D d", "e"]].to_numpy()),
        plain.predict_proba(table_of(frame[["a", "b.c", "D d", "e"]])),
        atol=1e-12,
    )


def test_partial_fit_forget_and_merge_on_tables(frame, tmp_path):
    whole = verosim.NaiveBayes(**SETTINGS).fit(frame, "Class")
    schema = whole.schema_
    first, second = frame[:150], frame[150:]
    second.to_csv(tmp_path / "second.csv", index=False)
    grown = verosim.NaiveBayes(**SETTINGS).fit(first, "Class", schema=schema)
    grown.partial_fit(tmp_path / "second.csv", "Class")
    assert_same(grown.stats_, whole.stats_)
    merged = verosim.NaiveBayes(**SETTINGS).fit(first, "Class", schema=schema) + (
        verosim.NaiveBayes(**SETTINGS).fit(tmp_path / "second.csv", "Class", schema=schema)
    )
    assert_same(merged.stats_, whole.stats_)
    merged.forget(tmp_path / "second.csv", "Class")
    alone = verosim.NaiveBayes(**SETTINGS).fit(first, "Class", schema=schema)
    np.testing.assert_allclose(
        merged.predict_log_proba(frame), alone.predict_log_proba(frame), atol=1e-8
    )


def test_labels_keep_the_text_of_the_file(tmp_path):
    path = tmp_path / "t.csv"
    for texts, expected in (
        (["Yes", "No"], ["No", "Yes"]),
        (["None", "NA"], ["NA", "None"]),
        (["1", "2"], [1, 2]),
        (["1.0", "2.0"], [1, 2]),
        (["01", "02"], ["01", "02"]),
        (["True", "False"], [False, True]),
        (["true", "false"], ["false", "true"]),
    ):
        rows = [f"{i},{texts[i % 2]}" for i in (3, 1, 4, 1, 5, 9, 2, 6)]
        path.write_text("x,y\n" + "\n".join(rows) + "\n")
        assert verosim.GaussianNB().fit(path, "y").classes_.tolist() == expected


def test_one_and_one_point_zero_are_one_category(tmp_path):
    """Whatever reader supplied them: whole numbers, floats because of a hole, or text."""
    (tmp_path / "a.csv").write_text("k,y\n1,a\n2,b\n1,a\n,b\n2,b\n")
    (tmp_path / "b.csv").write_text("k,y\n1.0,a\n2.0,b\n1.0,a\n,b\n2.0,b\n")
    y = ["a", "b", "a", "b", "b"]
    tables = [
        tmp_path / "a.csv", tmp_path / "b.csv",
        pd.DataFrame({"k": [1.0, 2.0, 1.0, None, 2.0], "y": y}),
        pd.DataFrame({"k": ["1", "2", "1", None, "2"], "y": y}),
        pd.DataFrame({"k": [1, "2", 1.0, None, 2], "y": y}),
        pl.DataFrame({"k": [1, 2, 1, None, 2], "y": y}),
        pd.DataFrame({"k": pd.array([1, 2, 1, None, 2], dtype="Int64"), "y": y}),
        pd.DataFrame({"k": pd.Categorical([1, 2, 1, None, 2]), "y": y}),
    ]  # fmt: skip
    models = [verosim.NaiveBayes(columns={"k": "category"}).fit(t, "y") for t in tables]
    for model in models[1:]:
        assert_same(model.stats_, models[0].stats_)
    for table in tables:
        np.testing.assert_array_equal(
            models[0].predict_proba(table), models[0].predict_proba(tables[0])
        )


def test_only_the_empty_cell_is_missing_unless_na_says_so(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "n,c,y\n" + "1,NA,a\n2,?,b\n?,None,a\n4,,b\n-9,x,a\n" * 4 + "5,x,a\n6,x,b\n7,x,a\n8,x,b\n"
    )
    loose = verosim.NaiveBayes().fit(path, "y")
    assert loose.schema_["n"].missing == ("?",)  # a number with holes
    assert "na=['?', 'NA', 'None']" in loose.schema_["c"].note
    assert sorted(loose.stats_.parts["category"].axes.codes.values[0]) == ["?", "NA", "None", "x"]
    strict = verosim.NaiveBayes().fit(path, "y", na=["?", -9])
    assert strict.schema_["n"].role == "number"
    assert strict.stats_.parts["gaussian"].arrays["cells"].sum() == 16
    words = strict.stats_.parts["category"].axes.codes.values[0]
    assert sorted(words) == ["NA", "None", "x"]
    typed = pd.DataFrame({"n": [1.0, 2, -9, 4, -9] * 4, "y": list("ababa") * 4})
    assert verosim.GaussianNB().fit(typed, "y", na=-9).stats_.arrays["cells"].sum() == 12


def test_column_names_are_exact():
    table = {"A": [1.0, 2, 3, 4], "a": [4.0, 3, 2, 1], "a.b": [1.0, 1, 2, 2], " a": [0.0, 1, 0, 2]}
    model = verosim.GaussianNB().fit({**table, "y": [0, 0, 1, 1]}, "y")
    assert model.feature_names_in_.tolist() == ["A", "a", "a.b", " a"]
    shuffled = {name: table[name] for name in reversed(table)}
    np.testing.assert_array_equal(model.predict_proba(table), model.predict_proba(shuffled))


def test_sources_that_run_out(frame):
    """A reader is read once; a query or a lazy frame as often as it is asked."""
    model = verosim.NaiveBayes(**SETTINGS)
    pieces = (frame[i : i + 100] for i in range(0, N, 100))
    with pytest.raises(verosim.VerosimError, match="use up its first rows"):
        verosim.look(pieces, target="Class")
    assert model.fit(pieces, "Class").class_count_.sum() == N
    with pytest.raises(verosim.VerosimError, match="iterable is empty"):
        model.fit(pieces, "Class")
    lite = sqlite3.connect(":memory:")
    frame[["visits", "Class"]].to_sql("t", lite, index=False)
    rows = verosim.query("SELECT * FROM t", lite)
    assert verosim.look(rows, target="Class").looked == N
    assert verosim.GaussianNB().fit(rows, "Class").class_count_.sum() == N
    with pytest.raises(verosim.VerosimError, match="read only once, and it was already read"):
        verosim.GaussianNB().fit(rows, "Class")
    con = duckdb.connect()
    con.register("t", frame)
    lazy = verosim.query("SELECT * FROM t", con)
    assert (model.fit(lazy, "Class").predict(lazy) == model.predict(frame)).all()


def test_arrays_then_tables():
    """A model fitted on arrays predicts tables by place or name, and learns from arrays only."""
    X = np.array([[1, 5], [2, 6], [1, 7], [3, 5]])
    model = verosim.CategoricalNB().fit(X, [0, 1, 0, 1])
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    np.testing.assert_array_equal(model.predict_proba(table), model.predict_proba(X))
    with pytest.raises(verosim.VerosimError, match="fitted on arrays"):
        model.partial_fit(table.append_column("y", pa.array([0, 1, 0, 1])), "y")
    with pytest.raises(verosim.VerosimError, match="table has 1 columns"):
        model.predict(table.select(["a"]))


def test_predict_table_streams(frame, tmp_path):
    model = verosim.NaiveBayes(**SETTINGS).fit(frame, "Class")
    reader = model.predict_table(table_of(frame), keep="zip")
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema.names == ["zip", "prediction", "p_NA", "p_No", "p_Yes", "log_density"]
    out = reader.read_all()
    np.testing.assert_array_equal(out["prediction"].to_numpy(), model.predict(frame))
    np.testing.assert_allclose(out["p_No"].to_numpy(), model.predict_proba(frame)[:, 1])
    np.testing.assert_allclose(out["log_density"].to_numpy(), model.log_density(frame))
    assert out["zip"].to_pylist() == frame["zip"].tolist()


def test_rows_are_read_a_few_at_a_time():
    """No more than a handful of pieces are alive at once, however many there are."""
    alive, most, lock = 0, 0, threading.Lock()

    class Piece(dict):
        def __init__(self, seed):
            nonlocal alive, most
            rng = np.random.default_rng(seed)
            super().__init__(x=rng.normal(size=5000), y=rng.integers(0, 2, 5000))
            with lock:
                alive += 1
                most = max(most, alive)

        def __del__(self):
            nonlocal alive
            with lock:
                alive -= 1

    model = verosim.GaussianNB().fit((Piece(i) for i in range(200)), "y")
    assert model.class_count_.sum() == 1_000_000
    assert most < 40


@pytest.mark.slow
def test_memory_does_not_grow_with_rows():
    """A million more rows of mixed Parquet, the same resident memory, under 700 MB."""
    from benchmarks.stream import FIT, generate, measured

    with tempfile.TemporaryDirectory() as name:
        few, many = Path(name) / "few", Path(name) / "many"
        for folder, rows in ((few, 1_000_000), (many, 2_000_000)):
            folder.mkdir()
            generate(folder, rows)
        small, large = (measured(FIT, str(folder), str(few)) for folder in (few, many))
    assert (small["rows"], large["rows"]) == (1_000_000, 2_000_000)
    assert large["peak"] < 700
    assert large["peak"] - small["peak"] < 80  # the rows themselves are 150 MB more


def test_interrupting_leaves_the_model_as_it_was(frame):
    model = verosim.NaiveBayes(**SETTINGS).fit(frame, "Class")
    before, schema = model.stats_.fingerprint(), model.schema_

    def pieces(error):
        yield frame[:100]
        yield frame[100:200]
        raise error

    for error in (KeyboardInterrupt(), RuntimeError("the line went dead")):
        for method in (model.fit, model.partial_fit, model.forget):
            with pytest.raises(type(error)):
                method(pieces(error), "Class")
            assert model.stats_.fingerprint() == before
            assert model.schema_ == schema


def test_progress_is_shown_to_a_terminal_only(monkeypatch, capsys):
    from verosim.engines import progress

    monkeypatch.setattr(progress, "SECONDS_BEFORE_BAR", -1.0)
    with progress.Progress(100) as bar:
        bar.advance(50)
        assert bar.bar is None  # nobody is watching
    monkeypatch.setattr(progress, "watched", lambda: True)
    with progress.Progress(100) as bar:
        bar.advance(50)
        assert bar.bar is not None
        bar.advance(50)
    monkeypatch.setattr(progress, "SECONDS_BEFORE_BAR", 1.0)
    with progress.Progress(100) as bar:  # over before a second has passed
        bar.advance(100)
        assert bar.bar is None


# Bad input: what, where, and a way out; and no half-trained model -------------------------------


def refused(match, source, target="y", model=None, **settings):
    model = model or verosim.NaiveBayes()
    with pytest.raises(verosim.VerosimError, match=match) as caught:
        model.fit(source, target, **settings)
    assert not hasattr(model, "stats_")
    assert not hasattr(model, "schema_")
    return str(caught.value)


def test_targets_that_cannot_be(tmp_path):
    good = {"x": [1.0, 2.0, 3.0], "y": ["a", "b", "a"]}
    assert "Did you mean 'y'?" in refused("target 'Y' is not in the table", good, "Y")
    refused("'a' in all 3 rows", {**good, "y": ["a", "a", "a"]})
    refused("target 'y' is missing in row 1", {**good, "y": ["a", None, "b"]})
    refused("target 'y' is missing in row 2", {**good, "y": ["a", "b", ""]})
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,\n3,b\n")
    refused("target 'y' is missing in row 1 of t.csv", tmp_path / "t.csv")
    refused("continuous.*0.5 in row 0", {**good, "y": [0.5, 1.5, 2.5]})
    refused("weights 'v' is not in the table", good, sample_weight="v")
    refused("both the target and the weights", good, sample_weight="y")
    refused("weight 'x' is -1 in row 1", {**good, "x": [1.0, -1.0, 2.0], "z": [0, 1, 2]},
            sample_weight="x")  # fmt: skip
    refused("labels", pd.DataFrame(good), ["a", "b"])


def test_files_that_cannot_be(tmp_path):
    def file(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    refused("empty.csv' is empty", file("empty.csv", b""))
    refused("blank.csv' is empty", file("blank.csv", b"\n"))
    refused("no rows", file("header.csv", b"x,y\n"))
    refused("cut.csv', record 4 has 1 cells, but the header has 2",
            file("cut.csv", b"x,y\n1,a\n2,b\n3"))  # fmt: skip
    refused("wide.csv', record 3 has 3 cells", file("wide.csv", b"x,y\n1,a\n2,b,c\n"))
    refused("'x' occur more than once", file("twice.csv", b"x,x,y\n1,2,a\n3,4,b\n"))
    refused("Column 1 of 2 has an empty name", file("noname.csv", b",y\n1,a\n2,b\n"))
    refused("latin.csv', line 3, column 'x'.*not valid UTF-8",
            file("latin.csv", b"x,y\nni\xc3\xb1o,a\nni\xf1o,b\n"))  # fmt: skip
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.table({"x": np.arange(1000.0), "y": ["a", "b"] * 500}), whole)
    refused("cut.parquet' cannot be read", file("cut.parquet", whole.read_bytes()[:2000]))
    broken = bytearray(whole.read_bytes())
    broken[200:1200] = bytes(1000)
    refused("holed.parquet' cannot be read", file("holed.parquet", bytes(broken)))
    refused("short.csv.gz' cannot be read",
            file("short.csv.gz", gzip.compress(b"x,y\n" + b"1,a\n2,b\n" * 9999)[:100]))  # fmt: skip
    refused("The file 'nowhere.csv' does not exist", "nowhere.csv")
    refused("No file matches", str(tmp_path / "*.nothing"))
    refused("has no known file extension", file("table", b"x,y\n1,a\n"))


def test_folders_that_cannot_be(tmp_path):
    def folder(name, **files):
        path = tmp_path / name
        path.mkdir()
        for file, table in files.items():
            pq.write_table(pa.table(table), path / f"{file}.parquet")
        return path

    one = {"x": [1.0, 2.0], "y": ["a", "b"]}
    (tmp_path / "none").mkdir()
    refused("contains no files", tmp_path / "none")
    refused("b.parquet' and 'a.parquet' differ in the columns 'x', 'z'",
            folder("names", a=one, b={"z": [1.0], "y": ["a"]}))  # fmt: skip
    refused("Column 'x' is string in .*b.parquet' and double in 'a.parquet'",
            folder("types", a=one, b={"x": ["1"], "y": ["a"]}))  # fmt: skip
    spoilt = folder("spoilt", a=one)
    (spoilt / "b.parquet").write_bytes(b"PAR1 this is not Parquet PAR1")
    refused("b.parquet' cannot be read", spoilt)
    strange = folder("strange", a=one)
    (strange / "readme.docx").write_bytes(b"hello")
    refused("not tables: 'readme.docx'", strange)
    unreadable = folder("unreadable", a=one)
    (unreadable / "b.parquet").symlink_to(tmp_path / "gone.parquet")
    refused("b.parquet' cannot be read", unreadable)


def test_later_rows_that_do_not_parse(tmp_path):
    """The first look saw numbers; a word far below is named by file, row and column."""
    path = tmp_path / "late.csv"
    path.write_text("x,y\n" + "1,a\n2,b\n" * 40_000 + "oops,a\n")
    message = refused("Column 'x', row 80000 of late.csv: 'oops' is not a number", path)
    assert "Use na=['oops'] if it means missing" in message
    assert "fit NaiveBayes(columns={'x': 'category'})" in message
    assert verosim.NaiveBayes().fit(path, "y", na="oops").class_count_.sum() == 80_001
    path.write_text("x,y\n" + "1,1\n2,2\n" * 40_000 + "3,maybe\n")
    refused("target 'y' is 'maybe' in row 80000 of late.csv", path)
    kept = verosim.NaiveBayes(columns={"y": "category"}).fit(path, "y")
    assert kept.classes_.tolist() == ["1", "2", "maybe"]
    path.write_text("x,y\n" + "2024-01-01,a\n2024-02-01,b\n" * 40_000 + "someday,a\n")
    refused("Column 'x', row 80000 of late.csv: 'someday' is not a date", path)


def test_batches_that_disagree():
    one, two = {"x": [1.0], "y": ["a"]}, {"z": [1.0], "y": ["b"]}
    refused("Batch 1 and the first batch differ in the columns 'x', 'z'", [one, two])
    refused("iterable is empty", iter([]))
    refused("iterable must give tables; its first item is 1", iter([1, 2]))
    refused("X must be an array, a table, or the path of a file", object())


def test_invalid_utf8_inside_arrow(tmp_path):
    raw = pa.array([b"ok fine text here", b"bad \xff\xfe text here", b"good words to read"] * 10)
    text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    table = pa.table({"t": text, "y": ["a", "b", "a"] * 10})
    refused("UTF-8", table, model=verosim.NaiveBayes(columns={"t": "text"}))
