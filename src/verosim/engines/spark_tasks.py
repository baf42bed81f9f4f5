"""What the Python workers of Spark do with the batches of one partition.

A worker without verosim cannot import anything from here. The function that goes to the workers is
therefore defined inside another function: Spark then sends its code, and not its name. It compares
the versions first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from verosim.data.libraries import pa
from verosim.engines.cluster import (
    MERGED_AT_ONCE,
    merged_reply,
    partition_batches,
    partition_reply,
)
from verosim.engines.spark_columns import SentColumns, unpacked_batches
from verosim.engines.versions import VERSIONS_THERE, versions_here
from verosim.errors import VerosimError

PIECE_BYTES = 16 << 20  # bytes of a reply in one row
FIRST_ROWS = 1 << 14  # rows in one piece of the first rows
VERSIONS_MARK, ERROR_MARK = "verosim-versions", "verosim-error"

Batches = Iterator[Any]  # of record batches
Task = Callable[[Any], Any]  # Batches → Batches, in a worker
REPLIES_SENT = "partition int, piece int, pieces int, body binary"
ROWS_SENT = "partition int, start long, body binary"
NUMBERS_SENT = "partition int"


def task(work: Callable[..., Batches], *arguments: Any) -> Task:
    """work(batches, *arguments) as a function that goes to workers by its code."""
    name, module, check = work.__name__, __name__, _version_check()

    def run(batches: Any) -> Any:
        from importlib import import_module

        check()
        yield from getattr(import_module(module), name)(batches, *arguments)

    return run


def _version_check() -> Callable[[], None]:
    ask, version, mark = VERSIONS_THERE, versions_here()["verosim"], VERSIONS_MARK

    def check() -> None:
        from json import dumps

        found = eval(ask, {})
        if found["verosim"] != version:
            raise RuntimeError(f"{mark} {dumps(found)}")

    return check


def number_task() -> Task:
    """Sends the number of the partition. Its rows are not read."""

    def run(batches: Any) -> Any:
        import pyarrow as pa
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        yield pa.record_batch({"partition": pa.array([number], pa.int32())})

    return run


def end_task() -> Task:
    """Sends the number of its own partition, as a reply without pieces.

    It reads its one row, because Spark ends a worker that does not.
    """

    def run(batches: Any) -> Any:
        import pyarrow as pa
        from pyspark import TaskContext

        for _ in batches:
            pass
        number = TaskContext.get().partitionId()
        yield pa.record_batch({
            "partition": pa.array([number], pa.int32()),
            "piece": pa.array([0], pa.int32()),
            "pieces": pa.array([0], pa.int32()),
            "body": pa.array([b""], pa.binary()),
        })  # fmt: skip

    return run


def first_rows_task(names: list[str], limit: int | None) -> Task:
    """Sends the rows of the partition in order, as Arrow streams; at most `limit` rows.

    Spark ends the worker when it has enough rows. The code therefore imports only pyarrow, because
    the next worker would have to import everything again.
    """
    check, most_bytes, most_rows = _version_check(), PIECE_BYTES, FIRST_ROWS

    def run(batches: Any) -> Any:
        import pyarrow as pa
        from pyspark import TaskContext

        check()
        number = TaskContext.get().partitionId()
        start = 0
        for part in pieces(batches):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, part[0].schema) as writer:
                for batch in part:
                    writer.write_batch(batch)
            yield pa.record_batch({
                "partition": pa.array([number], pa.int32()),
                "start": pa.array([start], pa.int64()),
                "body": pa.array([sink.getvalue().to_pybytes()], pa.binary()),
            })  # fmt: skip
            start += sum(batch.num_rows for batch in part)

    def pieces(batches: Any) -> Any:
        part: list[Any] = []
        rows, size, left = 0, 0, limit
        for whole in batches:
            batch = (whole if left is None else whole.slice(0, left)).rename_columns(names)
            left = None if left is None else left - batch.num_rows
            step = max(1, most_bytes * batch.num_rows // max(batch.nbytes, 1))
            for at in range(0, batch.num_rows, step):
                some = batch.slice(at, step)
                if part and (size + some.nbytes > most_bytes or rows >= most_rows):
                    yield part
                    part, rows, size = [], 0, 0
                part.append(some)
                rows, size = rows + some.num_rows, size + some.nbytes
            if left == 0:
                break
        if part:
            yield part

    return run


# The first argument of each function is an iterator over the batches of the partition.


def reply_rows(batches: Batches, job: bytes, groups: SentColumns, most: int) -> Batches:
    """The reply of the partition in pieces of at most so many bytes."""
    with _noted():
        reply = partition_reply(job, _number(), unpacked_batches(batches, groups))
    yield from _reply_rows(_number(), reply, most)


def merged_reply_rows(batches: Batches, job: bytes, most: int) -> Batches:
    """One reply for many, which come in order of their partitions and pieces."""
    level: list[bytes] = []
    first, parts = None, []
    for batch in batches:
        for row in batch.to_pylist():
            first = row["partition"] if first is None else first
            parts.append(row["body"])
            if row["piece"] + 1 < row["pieces"]:
                continue
            level.append(b"".join(parts))
            parts = []
            if len(level) == MERGED_AT_ONCE:
                with _noted():
                    level = [merged_reply(job, level)]
    if first is not None:
        with _noted():
            yield from _reply_rows(first, merged_reply(job, level), most)


def result_batches(batches: Batches, job: bytes, groups: SentColumns) -> Batches:
    """The batches that a job of `map_batches` makes of the partition."""
    with _noted():
        yield from partition_batches(job, _number(), unpacked_batches(batches, groups))


def _number() -> int:
    """The number of the partition that this worker has now."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def _reply_rows(number: int, reply: bytes, most: int) -> Batches:
    pieces = max(1, -(-len(reply) // most))
    for piece in range(pieces):
        body = reply[piece * most : (piece + 1) * most]
        yield pa.record_batch({
            "partition": pa.array([number], pa.int32()),
            "piece": pa.array([piece], pa.int32()),
            "pieces": pa.array([pieces], pa.int32()),
            "body": pa.array([body], pa.binary()),
        })  # fmt: skip


@contextmanager
def _noted() -> Iterator[None]:
    """Writes an error of verosim below its traceback, from where `translated` reads it."""
    try:
        yield
    except VerosimError as error:
        kind = [type(error).__module__, type(error).__name__]
        error.add_note(f"{ERROR_MARK} {json.dumps([kind, error.what, error.hint])}")
        raise
