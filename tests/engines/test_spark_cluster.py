"""Spark with two executors: speculative copies of slow tasks, and a session that is stopped."""

from __future__ import annotations

import time

import pytest

import verosim
from tests.engines.rows import bounds, mixed_frame
from tests.engines.spark_rows import lazily, plain, start
from verosim import VerosimError
from verosim.testing import assert_same


@pytest.fixture(scope="module")
def cluster():
    session = start(
        "local-cluster[2,1,1024]",
        **{
            "spark.executor.memory": "700m",
            "spark.speculation": "true",
            "spark.speculation.interval": "100ms",
            "spark.speculation.quantile": "0.3",
            "spark.speculation.multiplier": "1.1",
            "spark.speculation.minTaskRuntime": "100ms",
        },
    )
    yield session
    session.stop()


def test_speculative_copies_are_counted_once_and_a_stopped_session_is_named(cluster, tmp_path):
    ordered, edges = bounds(mixed_frame(), "7")
    table = plain(ordered)
    schema = verosim.look(table, "kind")
    near = verosim.NaiveBayes().fit(table, "kind", schema=schema)
    verosim.NaiveBayes().fit(lazily(cluster, table, edges), "kind", schema=schema)  # warm

    def slow(number):
        from pyspark import TaskContext

        attempt = TaskContext.get().attemptNumber()
        (tmp_path / f"{number}-{attempt}").touch()
        if number == 2 and attempt == 0:  # the other executor is free for a copy
            time.sleep(60)

    far = verosim.NaiveBayes().fit(lazily(cluster, table, edges, slow), "kind", schema=schema)
    copies = sorted(path.name for path in tmp_path.iterdir() if not path.name.endswith("-0"))
    assert copies, "no task had a speculative copy"
    assert_same(far.stats_, near.stats_, rounding=1e-11)

    there = lazily(cluster, table, edges)
    cluster.stop()
    before = far.stats_.rows.copy()
    with pytest.raises(VerosimError, match=r"The Spark session was stopped.*the model was not"):
        far.partial_fit(there, "kind")
    assert (far.stats_.rows == before).all()
