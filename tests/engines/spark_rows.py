"""Spark sessions and frames for the tests: partitions are made on the workers, and may fail."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import sysconfig
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

pyspark = pytest.importorskip(
    "pyspark", reason="Spark is only in the environment of make test-engines"
)
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java 17 or newer", allow_module_level=True)

from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql.connect.session import SparkSession as RemoteSession  # noqa: E402

from tests.engines.rows import bounds  # noqa: E402

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "America/Lima",
}


def start(master, **settings):
    """A classic session. Its Python workers have the Python of the tests."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.pop("PYTHONPATH", None)  # verosim is installed in the environment of the engines
    builder = SparkSession.builder.master(master)
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def start_with_connect():
    """A classic session and a session of Spark Connect, which the same Java process serves."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    classic = start("local[2,4]", **{
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    })  # fmt: skip
    remote = RemoteSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    remote.conf.set("spark.sql.session.timeZone", SETTINGS["spark.sql.session.timeZone"])
    return classic, remote


NAMES = {
    pa.float64(): "double", pa.string(): "string", pa.large_string(): "string",
    pa.bool_(): "boolean", pa.int64(): "long", pa.timestamp("us"): "timestamp_ntz",
    pa.decimal128(10, 2): "decimal(10,2)", pa.date32(): "date",
}  # fmt: skip


def plain(table):
    """An Arrow table with the types that Spark has."""
    if not isinstance(table, pa.Table):
        table = pa.Table.from_pandas(table, preserve_index=False)
    out = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us"))
        if pa.types.is_large_string(column.type):
            column = column.cast(pa.string())
        out[name] = column
    return pa.table(out)


def lazily(session, table, edges, before=None, batch_rows=97):
    """A Spark frame of these partitions. `before(number)` runs on the worker, in the middle."""
    bodies = []
    for first, last in pairwise(edges):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(first, last - first), max_chunksize=batch_rows)
        bodies.append(sink.getvalue().to_pybytes())
    ddl = ", ".join(f"`{field.name}` {NAMES[field.type]}" for field in table.schema)

    def made(batches):
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for at, piece in enumerate(pa.ipc.open_stream(bodies[number])):
                    if at == 1 and before is not None:
                        before(number)
                    yield piece

    return session.range(len(bodies), numPartitions=len(bodies)).mapInArrow(made, ddl)


def another_python(folder, version=None, with_arrow=True):
    """A Python of its own with pyarrow only, or with a verosim of another version."""
    import venv

    venv.create(folder, symlinks=True)
    there = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    here = Path(sysconfig.get_path("purelib"))
    if with_arrow:
        for start_of_name in ("pyarrow", "numpy", "pandas", "dateutil", "six", "pytz"):
            for found in here.glob(f"{start_of_name}*"):
                (there / found.name).symlink_to(found)
    if version is not None:
        (there / "verosim").mkdir()
        (there / "verosim" / "__init__.py").write_text(f"__version__ = {version!r}\n")
    return str(folder / "bin" / "python")


def in_parts(session, frame, way, **how):
    """The rows in the order of the partitions as an Arrow table, and the same rows on Spark."""
    ordered, edges = bounds(frame, way)
    table = plain(ordered)
    return table, lazily(session, table, edges, **how)
