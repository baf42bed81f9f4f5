"""Spark with real sessions: a classic one with retries, and Spark Connect."""

from __future__ import annotations

import os
from datetime import date
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import verosim
from tests.engines.rows import WAYS, mixed_frame, numbers_frame, same_calibrations, same_pools
from tests.engines.spark_rows import (
    another_python,
    in_parts,
    lazily,
    plain,
)
from verosim import VerosimError
from verosim.data.adapters import open_table
from verosim.engines import spark as engine
from verosim.testing import assert_same

SCORES = ["accuracy", "neg_log_loss", "neg_brier_score"]


# The same model ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_mixed_table_gives_the_local_sums(spark, way):
    table, there = in_parts(spark, mixed_frame(), way)
    near = verosim.NaiveBayes().fit(table, "kind", sample_weight="weight")
    far = verosim.NaiveBayes().fit(there, "kind", sample_weight="weight")
    assert far.schema_ == near.schema_  # the look covers all rows
    assert_same(far.stats_, near.stats_, rounding=1e-11)


@pytest.mark.parametrize("way", ["7", "late class"])
def test_covariances_give_the_local_sums(spark, way):
    table, there = in_parts(spark, numbers_frame(), way)
    near, far = (verosim.QDA().fit(one, "kind") for one in (table, there))
    assert_same(far.stats_, near.stats_, rounding=1e-11)


def test_texts_and_holes_give_the_local_sums(classic):
    table, there = in_parts(classic, mixed_frame()[["note", "kind"]], "7")
    near, far = (verosim.TextNB().fit(one, "kind") for one in (table, there))
    np.testing.assert_allclose(far.predict_proba(table), near.predict_proba(table), rtol=1e-9)
    table, there = in_parts(classic, mixed_frame()[["size", "holes", "kind"]], "7")
    near, far = (verosim.QDA(missing="marginalise").fit(one, "kind") for one in (table, there))
    assert_same(far.stats_, near.stats_, rounding=1e-11)


@pytest.mark.parametrize("pieces", [False, True])
def test_workers_merge_replies_that_are_too_large_together(spark, monkeypatch, pieces):
    table, there = in_parts(spark, mixed_frame(), "64")
    schema = verosim.look(table, "kind")
    monkeypatch.setattr(engine, "REPLY_BUDGET", 1 << 17)
    if pieces:  # each reply has several pieces
        monkeypatch.setattr(engine, "PIECE_BYTES", 1000)
    seen = []
    monkeypatch.setattr(
        engine, "joined_pieces", lambda rows, join=engine.joined_pieces: seen.append(join(rows))
        or seen[-1],
    )  # fmt: skip
    far = verosim.NaiveBayes().fit(there, "kind", schema=schema)
    near = verosim.NaiveBayes().fit(table, "kind", schema=schema)
    assert_same(far.stats_, near.stats_, rounding=1e-11)
    assert len(seen) == 1
    assert 1 <= len(seen[0]) <= 8


def test_rows_are_added_and_forgotten(classic):
    table = plain(numbers_frame())
    first, rest = table.slice(0, 800), table.slice(800)
    model = verosim.QDA().fit(first, "kind")
    near = verosim.QDA().fit(first, "kind").partial_fit(rest, "kind")
    there = lazily(classic, rest, [0, 100, 400])
    assert_same(model.partial_fit(there, "kind").stats_, near.stats_, rounding=1e-11)
    assert int(model.forget(there, "kind").stats_.rows.sum()) == 800


def test_cross_validation_and_search_give_the_local_figures(spark):
    table, there = in_parts(spark, mixed_frame(), "7")
    near, far = (
        verosim.cross_validate(
            verosim.NaiveBayes(), one, "kind", 4, SCORES, sample_weight="weight", keep_rows=False
        )
        for one in (table, there)
    )
    for name in SCORES:
        np.testing.assert_allclose(far.scores[name], near.scores[name], atol=1e-9)
    np.testing.assert_allclose(far.confusion, near.confusion)
    table, there = in_parts(spark, numbers_frame(), "7")
    grid = {"shrinkage": [0.0, 0.3], "pooling": [0.0, 1.0]}
    near, far = (verosim.search(verosim.RDA(), one, "kind", grid, cv=4) for one in (table, there))
    assert far.best_settings == near.best_settings
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)


def test_auto_gives_the_local_figures(spark):
    table, there = in_parts(spark, numbers_frame(600), "7")
    near, far = (verosim.auto(one, "kind", cv=3, simple=True) for one in (table, there))
    assert repr(far.model) == repr(near.model)


def test_pools_of_many_rows_give_the_local_figures(classic):
    """More rows than are brought here: the held-out rows are chosen on the workers."""
    frame = mixed_frame(51_000)[["size", "holes", "hue", "weight", "kind"]]
    table, there = in_parts(classic, frame, "empty")
    near, far = (
        verosim.auto(one, "kind", effort="fast", sample_weight="weight") for one in (table, there)
    )
    same_pools(far, near)


def test_a_temperature_is_the_local_one(spark):
    columns = ["size", "holes", "hue", "weight", "kind"]
    table, there = in_parts(spark, mixed_frame(600)[columns], "7")
    same_calibrations(*(
        verosim.Calibrated(verosim.NaiveBayes(), cv=3).fit(one, "kind", sample_weight="weight")
        for one in (there, table)
    ))  # fmt: skip


# Predictions -------------------------------------------------------------------------------------


def test_predictions_are_lazy_and_equal_the_local_ones(spark, tmp_path):
    frame = mixed_frame().assign(key=range(1200))
    read = tmp_path / "read"
    table, there = in_parts(spark, frame, "empty", before=lambda number: read.touch())
    model = verosim.NaiveBayes(columns={"key": "ignore"}).fit(table, "kind")
    found = model.predict_table(there, keep=["key", "when", "hue"])
    wanted = model.predict_table(table, keep=["key", "when", "hue"]).read_all()
    assert found.columns == wanted.column_names
    assert not read.exists()  # nothing was computed before it was asked for
    got = found.toArrow().sort_by("key")
    assert read.exists()
    for name in wanted.column_names:
        if name.startswith("p_") or name == "log_density":
            np.testing.assert_allclose(got[name], wanted[name], rtol=1e-12)
        else:
            assert got[name].to_pylist() == wanted[name].to_pylist()
    assert found.where("key < 0").schema == found.schema
    assert model.score(there) == pytest.approx(model.score(table), abs=1e-12)


# Types -------------------------------------------------------------------------------------------


def test_simple_types_mean_what_they_mean_in_a_local_table(spark):
    n = 60
    table = pa.table({
        "money": pa.array([Decimal(i % 7) / 4 for i in range(n)], pa.decimal128(10, 2)),
        "day": pa.array([date(2024, 1 + i % 12, 3) for i in range(n)]),
        "moment": pa.array([1_700_000_000_000_000 + i * 10**9 for i in range(n)],
                           pa.timestamp("us")),
        "flag": pa.array([None if i % 9 == 0 else i % 2 == 0 for i in range(n)]),
        "nan": pa.array([float("nan") if i % 5 == 0 else (None if i % 7 == 0 else i / 3)
                         for i in range(n)]),
        "kind": ["u" if i % 3 else "v" for i in range(n)],
    })  # fmt: skip
    there = lazily(spark, table, [0, 20, n]).selectExpr(
        "*", "cast(moment AS timestamp) AS instant", "cast(null AS void) AS nothing"
    )
    zone = "America/Lima"
    table = table.append_column(
        "instant", pa.compute.assume_timezone(table["moment"], zone)
    ).append_column("nothing", pa.nulls(n))  # fmt: skip
    near, far = (verosim.NaiveBayes().fit(one, "kind") for one in (table, there))
    assert far.schema_ == near.schema_
    assert_same(far.stats_, near.stats_, rounding=1e-11)


def test_a_look_and_a_fit_end_no_worker(classic):
    """A worker that has ended costs seconds, because the next one imports everything again."""

    def number(batches):
        import os

        import pyarrow as pa

        rows = sum(batch.num_rows for batch in batches)
        yield pa.record_batch({"rows": [rows], "process": [os.getpid()]})

    wide = classic.range(0, 200_000, 1, 2).selectExpr(
        "id", "id / 7 AS a", "id / 3 AS b", "IF(id % 2 = 0, 'u', 'v') AS kind"
    )
    before = [row.process for row in wide.mapInArrow(number, "rows long, process long").collect()]
    schema = verosim.look(wide, "kind")
    assert schema.looked == 50_000
    verosim.NaiveBayes().fit(wide, "kind", schema=schema)
    for process in before:
        os.kill(process, 0)  # an error if the process has ended


@pytest.mark.parametrize("rows", [700, 5000])
def test_both_ways_to_the_first_rows_give_the_same_rows(spark, tmp_path, monkeypatch, rows):
    """One task reads the files in order; `take` reads several partitions at once."""
    table = plain(mixed_frame(1200).assign(key=range(1200)))
    for number, (start, stop) in enumerate(pairwise([0, 10, 500, 500, 1200])):
        pq.write_table(table.slice(start, stop - start), tmp_path / f"{number}.parquet")
    frame = spark.read.parquet(str(tmp_path)).selectExpr("*", "array(key) AS list")
    assert engine.is_only_read(engine.plan_text(frame))
    assert not engine.is_only_read(engine.plan_text(frame.where("key > 3")))
    assert not engine.is_only_read(
        engine.plan_text(frame.mapInArrow(lambda all: all, frame.schema))
    )
    monkeypatch.setattr(engine, "FIRST_LOOK_ROWS", 300)  # so that more rows are asked for
    found = []
    for only_read in (True, False):
        monkeypatch.setattr(engine, "is_only_read", lambda plan, it=only_read: it)
        found.append(open_table(frame).head(rows))
    one, other = found
    assert sum(map(len, one)) >= min(rows, 1200)
    assert [(part.origin, part.start) for part in one] == [(p.origin, p.start) for p in other]
    assert all(a.batch.equals(b.batch) for a, b in zip(one, other, strict=True))
    assert one[0].batch.schema == other[0].batch.schema


def test_nested_types_are_refused_by_column(spark):
    frame = spark.range(9).selectExpr(
        "id", "array(id) AS list", "map(id, id) AS pairs", "struct(id) AS inner", "'a' AS kind"
    )
    with pytest.raises(VerosimError, match=r"'list', 'pairs', 'inner'.*'array', 'map', 'struct'"):
        verosim.NaiveBayes().fit(frame, "kind")
    frame = spark.range(9).selectExpr("parse_json('1') AS tree", "'a' AS kind")
    with pytest.raises(VerosimError, match=r"'tree'.*'variant'"):
        verosim.NaiveBayes().fit(frame, "kind")


def test_column_names_with_dots_and_capitals(spark):
    table = plain(numbers_frame(300)).rename_columns(["a.b", "A", "a", "`c`", "kind"])
    frame = spark.createDataFrame(table.rename_columns(list("pqrst"))).toDF(*table.column_names)
    assert_same(
        verosim.QDA().fit(frame, "kind").stats_, verosim.QDA().fit(table, "kind").stats_,
        rounding=1e-11,
    )  # fmt: skip


# Failures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["raises", "exits"])
@pytest.mark.parametrize("where", ["source", "reply"])
def test_a_task_that_fails_once_is_counted_once(classic, tmp_path, monkeypatch, end, where):
    mark = str(tmp_path / "failed")

    def fail(number=3):
        if number == 3 and not os.path.exists(mark):
            open(mark, "w").close()
            if end == "exits":
                os._exit(1)
            raise OSError("this task fails once")

    def failing(work, *arguments, task=engine.task):
        inner = task(work, *arguments)

        def run(batches):
            yield from inner(batches)  # the reply was already sent
            fail()

        return run

    if where == "reply":
        monkeypatch.setattr(engine, "task", failing)
    table, there = in_parts(classic, mixed_frame(), "7", before=fail if where == "source" else None)
    schema = verosim.look(table, "kind")
    far = verosim.NaiveBayes().fit(there, "kind", schema=schema)
    assert os.path.exists(mark)
    near = verosim.NaiveBayes().fit(table, "kind", schema=schema)
    assert_same(far.stats_, near.stats_, rounding=1e-11)


def test_a_task_that_always_fails_is_one_clear_error(spark):
    def fail(number):
        raise OSError("the disk is gone")

    _, there = in_parts(spark, mixed_frame(), "7", before=fail)
    model = verosim.NaiveBayes()
    with pytest.raises(VerosimError, match=r"Spark could not compute the table.*the disk is gone"):
        model.fit(there, "kind")
    assert not hasattr(model, "classes_")


def test_a_value_that_cannot_be_read_has_its_place(spark):
    table = plain(numbers_frame(300))
    schema = verosim.look(table, "kind")
    texts = table["b"].cast(pa.string()).to_pylist()
    texts[205] = "many"
    odd = table.set_column(1, "b", pa.array(texts))
    there = lazily(spark, odd, [0, 100, 200, 300])
    with pytest.raises(VerosimError, match=r"'b'.*row 5 of partition 2.*'many'"):
        verosim.QDA().fit(there, "kind", schema=schema)


def test_rows_that_change_between_passes_are_an_error(spark):
    _, there = in_parts(spark, numbers_frame(), "7")

    def some(batches):
        from random import random  # without a seed

        for batch in batches:
            yield batch.slice(0, int(random() * batch.num_rows))

    changing = there.mapInArrow(some, there.schema)
    with pytest.raises(VerosimError, match=r"rows.* in this pass, but it had .*cache\(\)"):
        verosim.cross_validate(verosim.QDA(), changing, "kind", 3)


@pytest.mark.parametrize(
    ("version", "with_arrow", "message"),
    [
        (None, True, "A Python worker of Spark does not have verosim.*PYSPARK_PYTHON"),
        (None, False, "A Python worker of Spark does not have pyarrow.*PYSPARK_PYTHON"),
        ("0.0.9", True, "A Python worker of Spark has verosim 0.0.9, but this process has verosim"),
    ],
)
def test_workers_without_this_verosim_are_named(
    classic, tmp_path, monkeypatch, version, with_arrow, message
):
    there = classic.createDataFrame(plain(numbers_frame(60)))
    monkeypatch.setattr(
        classic.sparkContext, "pythonExec", another_python(tmp_path / "env", version, with_arrow)
    )
    model = verosim.QDA()
    with pytest.raises(VerosimError, match=message):
        model.fit(there, "kind")
    assert not hasattr(model, "classes_")


def test_a_model_above_the_limit_of_connect_is_refused(sessions):
    """64 classes with 2¹⁷ tokens are more than the 128 MB of a message."""
    n = 128
    table = pa.table({"note": [f"word{i} thing" for i in range(n)],
                      "kind": [f"k{i % 64}" for i in range(n)]})  # fmt: skip
    model = verosim.TextNB(hashed=2**17).fit(table, "kind")
    with pytest.raises(VerosimError, match=r"needs 134 MB in a message.*at most 134 MB"):
        model.predict_table(lazily(sessions["connect"], table, [0, n]))


def test_classic_sessions_have_no_limit(sessions, monkeypatch):
    monkeypatch.setattr(engine, "MESSAGE_BYTES", engine.REST_OF_MESSAGE + 1000)
    table = plain(numbers_frame(300))
    model = verosim.QDA().fit(table, "kind")
    with pytest.raises(VerosimError, match=r"needs 0 MB in a message.*at most 1 MB"):
        model.predict_table(lazily(sessions["connect"], table, [0, 300]))
    model.predict_table(lazily(sessions["classic"], table, [0, 300]))


@pytest.mark.parametrize(
    ("text", "size"), [("2097152", 2 << 20), ("64m", 64 << 20), ("1GB", 1 << 30), ("some", 7)]
)
def test_a_limit_may_have_a_unit(text, size):
    assert engine.bytes_of_setting(text, 7) == size


def test_settings_of_the_session_do_not_change(spark):
    before = dict(spark.conf.getAll)
    _, there = in_parts(spark, numbers_frame(300), "7")
    verosim.cross_validate(verosim.QDA(), there, "kind", 3)
    assert dict(spark.conf.getAll) == before
    assert not spark.getTags()


def test_other_objects_of_spark_are_refused(spark):
    with pytest.raises(VerosimError, match=r"must be an array, a table.*type GroupedData"):
        verosim.NaiveBayes().fit(spark.range(3).groupBy("id"), "id")
    stream = spark.readStream.format("rate").load()
    with pytest.raises(VerosimError, match=r"streaming data frame.*foreachBatch"):
        verosim.NaiveBayes().fit(stream, "value")


def test_an_empty_frame_has_the_usual_error(spark):
    _, there = in_parts(spark, numbers_frame(300), "7")
    for empty in (there.where("a is null"), there.limit(0)):
        with pytest.raises(VerosimError, match="no rows"):
            verosim.QDA().fit(empty, "kind")
