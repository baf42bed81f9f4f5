"""Spark with executors on two hosts: speculative copies of slow tasks, and a stopped session.

Spark does not start a copy of a task on the host where the task runs, so `local-cluster` has no
copies. Here two workers have two addresses of this machine.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import verosim
from tests.engines.rows import bounds, mixed_frame
from tests.engines.spark_rows import lazily, plain, pyspark, start
from verosim import VerosimError
from verosim.testing import assert_same

HOME = Path(pyspark.__file__).parent


def daemon(name, *arguments, log):
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(HOME)}
    environment.pop("PYTHONPATH", None)
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux has the address 127.0.0.2")
    folder = tmp_path_factory.mktemp("spark")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    url = f"spark://127.0.0.1:{port}"
    with open(folder / "log", "w") as log:
        started = [daemon("master.Master", "--host", "127.0.0.1", "--port", port,
                          "--webui-port", "0", log=log)]  # fmt: skip
        for host in ("127.0.0.1", "127.0.0.2"):
            started.append(daemon(
                "worker.Worker", "--host", host, "--cores", "1", "--memory", "1g",
                "--webui-port", "0", "--work-dir", str(folder / host), url, log=log,
            ))  # fmt: skip
        session = start(url, **{
            "spark.executor.memory": "700m",
            "spark.speculation": "true",
            "spark.speculation.interval": "100ms",
            "spark.speculation.quantile": "0.3",
            "spark.speculation.multiplier": "1.1",
            "spark.speculation.efficiency.enabled": "false",
        })  # fmt: skip
        try:
            yield session
        finally:
            session.stop()
            for process in reversed(started):
                process.terminate()
                process.wait(30)


def test_speculative_copies_are_counted_once_and_a_stopped_session_is_named(cluster, tmp_path):
    ordered, edges = bounds(mixed_frame(), "7")
    table = plain(ordered)
    schema = verosim.look(table, "kind")
    near = verosim.NaiveBayes().fit(table, "kind", schema=schema)

    def slow(number):
        from pyspark import TaskContext

        attempt = TaskContext.get().attemptNumber()
        (tmp_path / f"{number}-{attempt}").touch()
        if number == 2 and attempt == 0:
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
