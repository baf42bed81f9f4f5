"""Spark with real sessions: validation, lost replies, large replies, interrupts and warnings."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import verosim
from tests.engines.rows import mixed_frame, numbers_frame, same_diagnosis, same_scores_by_group
from tests.engines.spark_rows import in_parts, lazily, plain
from verosim import VerosimError, VerosimWarning
from verosim.engines import spark as engine
from verosim.testing import assert_same

# Validation --------------------------------------------------------------------------------------


def test_a_diagnosis_gives_the_local_figures(spark):
    table, there = in_parts(spark, mixed_frame(600), "7")
    same_diagnosis(table, there)


@pytest.mark.parametrize("cv", [3, "time:when:3"])
def test_scores_by_group_and_in_the_order_of_time(classic, cv):
    table, there = in_parts(classic, mixed_frame(600), "7")
    same_scores_by_group(table, there, cv)


def test_a_model_that_chooses_a_setting_is_fitted_outside_each_fold(classic):
    table, there = in_parts(classic, numbers_frame(300), "7")
    near, far = (
        verosim.cross_validate(verosim.RDA(shrinkage="cv"), one, "kind", 2, keep_rows=False)
        for one in (table, there)
    )
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)


def test_leading_terms_of_texts(classic):
    table, there = in_parts(classic, mixed_frame(300)[["note", "kind"]], "7")
    near, far = (verosim.TextRidge(d=6).fit(one, "kind") for one in (table, there))
    assert (far.predict(table) == near.predict(table)).all()
    assert_same(far.stats_, near.stats_, rounding=1e-9)


def test_workers_send_unseen_values_and_warnings(classic):
    table, there = in_parts(classic, mixed_frame(600)[["size", "hue", "kind"]], "7")
    model = verosim.NaiveBayes().fit(table, "kind")
    odd = there.selectExpr("size", "'new' AS hue", "kind")
    with pytest.warns(VerosimWarning, match=r"Column 'hue': all 600 values .*such as 'new'"):
        model.score(odd)
    _, texts = in_parts(classic, mixed_frame(300)[["note", "kind"]], "7")
    with pytest.warns(VerosimWarning, match="more than max_tokens=3 different tokens"):
        verosim.TextNB(max_tokens=3).fit(texts, "kind")


def test_errors_of_workers_keep_their_class(spark):
    frame = numbers_frame(90).assign(kind=lambda one: one["c"] > 0).astype({"kind": "int64"})
    model = verosim.QDA().fit(plain(frame), "kind")
    _, there = in_parts(spark, numbers_frame(90), "7")
    with pytest.raises(VerosimError, match=r"of partition \d.*The classes of the model are \[0, 1"):
        model.score(there)  # `score` adds the classes to an error about a label


# Replies -----------------------------------------------------------------------------------------


def test_a_partition_that_does_not_arrive_is_an_error(spark, monkeypatch):
    lost = 6  # the last one

    def losing(work, *arguments, task=engine.task):
        inner = task(work, *arguments)

        def run(batches):
            from pyspark import TaskContext

            found = list(inner(batches))
            if TaskContext.get().partitionId() != lost:
                yield from found

        return run

    table, there = in_parts(spark, numbers_frame(300), "7")
    schema = verosim.look(table, "kind")
    monkeypatch.setattr(engine, "task", losing)
    model = verosim.QDA()
    with pytest.raises(VerosimError, match=r"Replies of 6 partitions arrived.* has 7 partitions"):
        model.fit(there, "kind", schema=schema)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("small", [True, False], ids=["pieces of 1 kB", "more than 16 MB"])
def test_large_replies_come_in_pieces(classic, monkeypatch, small):
    d = 5 if small else 700
    rng = np.random.default_rng(3)
    X = rng.normal(0, 1, (60, d))
    table = pa.table({f"c{j}": X[:, j] for j in range(d)} | {"kind": list("uvwxy") * 12})
    there = lazily(classic, table, [0, 30, 60])
    if small:
        monkeypatch.setattr(engine, "PIECE_BYTES", 1000)
    seen = []
    monkeypatch.setattr(
        engine, "joined_pieces", lambda rows, join=engine.joined_pieces: seen.extend(rows)
        or join(rows),
    )  # fmt: skip
    model = verosim.LDA(shrinkage=0.5)
    far = model.fit(there, "kind", schema=verosim.look(table, "kind")).stats_
    assert min(row.pieces for row in seen) > 1
    assert max(len(row.body) for row in seen) == engine.PIECE_BYTES
    assert small or sum(len(row.body) for row in seen) > 2 * 16 << 20
    near = verosim.LDA(shrinkage=0.5).fit(table, "kind", schema=verosim.look(table, "kind"))
    assert_same(far, near.stats_, rounding=1e-11)


# Nested columns ----------------------------------------------------------------------------------


def test_nested_columns_that_the_schema_ignores(spark):
    table, there = in_parts(spark, numbers_frame(90), "7")
    there = there.selectExpr("*", "array(a) AS list", "parse_json('1') AS tree")
    odd = {"list": "ignore", "tree": "ignore"}
    near = verosim.QDA().fit(table, "kind")
    far = verosim.QDA().fit(there, "kind", schema=verosim.look(there, "kind", columns=odd))
    assert_same(far.stats_, near.stats_, rounding=1e-11)
    kinds = dict.fromkeys("abcd", "gaussian")
    near = verosim.NaiveBayes(columns=kinds).fit(table, "kind")
    far = verosim.NaiveBayes(columns=kinds | odd).fit(there, "kind")
    assert_same(far.stats_, near.stats_, rounding=1e-11)
    assert far.predict_table(there, keep="a").count() == 90  # other columns are not read
    with pytest.raises(VerosimError, match="The columns 'list' cannot be kept"):
        far.predict_table(there, keep=["a", "list"])


# Progress ----------------------------------------------------------------------------------------


def test_the_progress_of_a_fit_is_that_of_spark(sessions):
    """Handlers of Spark Connect get the tasks; a classic session has a job for a fit."""
    seen = []

    def handler(stages, inflight_tasks, operation_id, done):
        seen.extend(stage.num_tasks for stage in stages)

    table, there = in_parts(sessions["connect"], numbers_frame(300), "7", before=wait_a_little)
    schema = verosim.look(table, "kind")
    sessions["connect"].registerProgressHandler(handler)
    try:
        verosim.QDA().fit(there, "kind", schema=schema)
    finally:
        sessions["connect"].removeProgressHandler(handler)
    assert max(seen) >= 7
    context = sessions["classic"].sparkContext
    context.setJobGroup("a fit", "of this test")
    try:
        _, there = in_parts(sessions["classic"], numbers_frame(300), "7")
        verosim.QDA().fit(there, "kind", schema=schema)
        assert context.statusTracker().getJobIdsForGroup("a fit")
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


def wait_a_little(number):
    time.sleep(0.3)


# Interrupts --------------------------------------------------------------------------------------


def test_an_interrupt_cancels_the_job(spark, classic, tmp_path):
    def slow(number):
        (tmp_path / str(number)).touch()
        time.sleep(3)

    table, there = in_parts(spark, mixed_frame(), "64", before=slow, batch_rows=3)
    schema = verosim.look(table, "kind")

    def interrupt():
        while not any(tmp_path.iterdir()):
            time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    # Without the handler that PySpark sets for its classic session, which cancels all jobs.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    model = verosim.NaiveBayes()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(there, "kind", schema=schema)
    finally:
        signal.signal(signal.SIGINT, before)
        thread.join()
    assert not hasattr(model, "classes_")
    tracker = classic.sparkContext.statusTracker()
    for _ in range(200):
        if not tracker.getActiveJobsIds():
            break
        time.sleep(0.1)
    assert not tracker.getActiveJobsIds()
    assert len(os.listdir(tmp_path)) < 40  # most partitions were not read
    assert not spark.getTags()
    assert spark.range(3).count() == 3  # the session still works
