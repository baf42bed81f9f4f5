"""The engine of tables on a cluster: the local engine runs on each partition, and bytes come back.

    T(table) = Σ over partitions of T(partition),   each T computed by the local engine there

A job is a pickled source without rows, and the plan as the bytes of `stats/codec.py`. A worker
gets the job and the rows of one partition as Arrow batches, and its reply has only plain bytes.
Both start with the versions of verosim, Python, numpy and pyarrow that made them. A worker compares
the versions before it reads the job.
"""

from __future__ import annotations

import json
import pickle
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import iadd
from typing import Any

from verosim.data import ArraySource
from verosim.data.clusters import (
    Cluster,
    check_same_columns,
    needs_all_rows,
    partition_origin,
)
from verosim.data.libraries import pa
from verosim.data.same_rows import counting, summed_counts
from verosim.data.stream import Chunk, TableSource
from verosim.engines import local
from verosim.engines.versions import check_versions, versions_here
from verosim.errors import VerosimError, kept_warnings, warn_again
from verosim.stats import Statistic
from verosim.stats.codec import statistic_from_bytes, statistic_to_bytes
from verosim.stats.plain_trees import damaged, packed_tree, unpacked_tree
from verosim.stats.tensor_files import read_tensors, tensor_file

MERGED_AT_ONCE = 8  # replies that one task of an engine merges
MOST_WARNINGS, MOST_EXAMPLES = 20, 3  # that a reply has of its partitions
LENGTH = 8  # bytes that hold the length of a header
LEAST_BATCH = 1 << 13  # smaller batches of an engine are joined

Ranges = list[list[int]]  # [start, stop) of partition numbers, sorted


# What is computed --------------------------------------------------------------------------------


class ChunkWork(ABC):
    """What is computed from each chunk of a table, and how two results become one.

    It is pickled for the workers. The results are plain data after `packed`.
    """

    @abstractmethod
    def __call__(self, chunk: Chunk) -> Any:
        """The result of one chunk."""

    @abstractmethod
    def joined(self, found: Sequence[Any]) -> Any:
        """The result of several chunks or partitions, in their order. It may be of none."""

    def packed(self, found: Any) -> Any:
        """The result as plain data: dicts, lists, tuples, numbers, texts and numpy arrays."""
        return found

    def unpacked(self, plain: Any) -> Any:
        """The result, from plain data."""
        return plain


def summarise(source: ArraySource | TableSource, plan: Statistic) -> Statistic:
    """The statistic of all rows of the source, on the axes of the plan or on wider axes.

    It is computed where the rows are. `plan` is a zero statistic and does not change. The rows that
    the source leaves out are subtracted.
    """
    if isinstance(source, TableSource) and source.without is not None:
        total = summarise(replace(source, without=None), plan)
        part = summarise(replace(source.without, reader=source.reader), total.zero())
        rest = total.without(part)
        return rest.align(rest.axes.with_groups(total.axes.groups))  # all classes stay
    cluster = cluster_of(source)
    if cluster is None or not isinstance(source, TableSource):
        return local.summarise_here(source, plan)
    job = _Summing(source.elsewhere(), statistic_to_bytes(plan))
    return statistic_from_bytes(_run(cluster, source, job))


def reduce_chunks(work: ChunkWork, source: TableSource) -> Any:
    """The results of all chunks of a table, joined where the rows are."""
    cluster = cluster_of(source)
    if cluster is None:
        return _joined_as_read(work, source)
    return work.unpacked(
        plain_from_bytes(_run(cluster, source, _Reducing(source.elsewhere(), work)))
    )


def _joined_as_read(work: ChunkWork, source: TableSource) -> Any:
    """The joined results of the chunks here. A few of them are in memory at a time."""
    found: list[Any] = []
    for one in local.map_chunks_here(work, source):
        found.append(one)
        if len(found) == MERGED_AT_ONCE:
            found = [work.joined(found)]
    return work.joined(found)


def map_chunks(work: Callable[[Chunk], Any], source: TableSource) -> Iterator[Any]:
    """work(chunk) for every chunk of a table, in order. The rows must be in this process."""
    cluster = cluster_of(source)
    if cluster is not None:
        raise needs_all_rows(cluster)
    return local.map_chunks_here(work, source)


def map_batches(
    work: Callable[[Chunk], pa.RecordBatch], source: TableSource, schema: pa.Schema
) -> Any:
    """A lazy frame of the cluster with the batch of each chunk."""
    cluster = cluster_of(source)
    assert cluster is not None
    source.reader.watched(None)  # the counts of a lazy frame are not sent
    job = _packed_job(_Mapping(source.elsewhere(), work))
    return cluster.mapped(job, _columns(source), schema, source.keep)


def cluster_of(source: Any) -> Cluster | None:
    """Where the rows of a source are; None if they are in this process."""
    if not isinstance(source, TableSource) or source.ready:
        return None
    return source.table.cluster


def _run(cluster: Cluster, source: TableSource, job: _Job) -> bytes:
    reply = cluster.reduced(_packed_job(job), _columns(source))
    header, body = _split(reply)
    check_versions(header["versions"], f"a worker of {cluster.name}")
    warn_again(header["warnings"])
    watch = source.reader.watch
    if watch is not None:
        watch.take(header["unseen"])
        watch.report()
    cluster.passes.check(header["counts"], job.label_column)
    return body


def _columns(source: TableSource) -> list[str]:
    """The columns that a worker needs, in the order of the table."""
    wanted = source.wanted().union(*(step.columns for step in source.table.steps))
    return [name for name in source.table.names if name in wanted]


# Jobs --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job(ABC):
    source: TableSource  # without rows

    @property
    def label_column(self) -> str | None:
        target = self.source.target
        return target if isinstance(target, str) else None

    @abstractmethod
    def of(self, source: TableSource) -> bytes:
        """The bytes of the rows of one partition."""

    @abstractmethod
    def merged(self, bodies: list[bytes]) -> bytes:
        """The bytes of several partitions."""


@dataclass(frozen=True)
class _Summing(_Job):
    """The statistic of the rows."""

    plan: bytes

    def of(self, source: TableSource) -> bytes:
        return statistic_to_bytes(local.summarise_here(source, statistic_from_bytes(self.plan)))

    def merged(self, bodies: list[bytes]) -> bytes:
        return statistic_to_bytes(reduce(iadd, map(statistic_from_bytes, bodies)))


@dataclass(frozen=True)
class _Reducing(_Job):
    """The joined results of the chunks."""

    work: ChunkWork

    def of(self, source: TableSource) -> bytes:
        return plain_to_bytes(self.work.packed(_joined_as_read(self.work, source)))

    def merged(self, bodies: list[bytes]) -> bytes:
        found = [self.work.unpacked(plain_from_bytes(body)) for body in bodies]
        return plain_to_bytes(self.work.packed(self.work.joined(found)))


@dataclass(frozen=True)
class _Mapping(_Job):
    """One batch for each chunk. The batches stay on the cluster."""

    work: Callable[[Chunk], pa.RecordBatch]

    def of(self, source: TableSource) -> bytes:
        raise AssertionError("a job of batches has no reply")

    def merged(self, bodies: list[bytes]) -> bytes:
        raise AssertionError("a job of batches has no reply")


def _packed_job(job: _Job) -> bytes:
    return _framed({"versions": versions_here()}, pickle.dumps(job, protocol=5))


# On a worker -------------------------------------------------------------------------------------


def partition_reply(job: bytes, number: int, batches: Iterable[pa.RecordBatch]) -> bytes:
    """The reply of one partition. Engines call this function on a worker, or in a process there."""
    work = _opened(job)
    counts: Counter[str] = Counter()
    with local.use_threads(1), kept_warnings() as said:
        counted = counting(batches, work.label_column, counts)
        body = work.of(_partition(work, number, counted))
    watch = work.source.reader.watch
    unseen = {} if watch is None else watch.summed()
    header = {
        "partitions": [[number, number + 1]], "counts": counts, "warnings": said, "unseen": unseen
    }  # fmt: skip
    return _framed({"versions": versions_here(), **header}, body)


def partition_batches(
    job: bytes, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The batches that a job of `map_batches` makes of one partition."""
    work = _opened(job)
    assert isinstance(work, _Mapping)
    with local.use_threads(1):
        yield from local.map_chunks_here(work.work, _partition(work, number, batches))


def merged_reply(job: bytes, replies: Sequence[bytes]) -> bytes:
    """The reply of several partitions, from their replies in order. No partition counts twice."""
    work = _opened(job)
    found = [_split(reply) for reply in replies]
    for header, _ in found:
        check_versions(header["versions"], "another worker")
    partitions = joined_ranges([header["partitions"] for header, _ in found])
    counts = summed_counts(header["counts"] for header, _ in found)
    with local.use_threads(1), kept_warnings() as said:
        body = work.merged([body for _, body in found])
    for header, _ in found:
        said |= header["warnings"]
    unseen = _summed_unseen([header["unseen"] for header, _ in found])
    said = dict(list(said.items())[:MOST_WARNINGS])
    header = {"partitions": partitions, "counts": counts, "warnings": said, "unseen": unseen}
    return _framed({"versions": versions_here(), **header}, body)


def _summed_unseen(found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The unseen values of several partitions by column: unseen, all, and some examples."""
    out: dict[str, Any] = {}
    for one in found:
        for name, (unseen, of, examples) in one.items():
            k, m, shown = out.get(name, (0, 0, []))
            shown = list(dict.fromkeys([*shown, *examples]))[:MOST_EXAMPLES]
            out[name] = [k + unseen, m + of, shown]
    return out


def check_complete(reply: bytes, partitions: int) -> None:
    """Raise an error unless the reply has each partition exactly once."""
    found = _split(reply)[0]["partitions"]
    if found != ([[0, partitions]] if partitions else []):
        raise VerosimError(
            f"The replies have the partitions {found}, but the table has {partitions}.",
            "Run the job again; the model was not changed.",
        )


def joined_ranges(ranges: Iterable[Ranges]) -> Ranges:
    """The partition numbers of several replies. It is an error if one occurs twice."""
    out: Ranges = []
    for start, stop in sorted(one for some in ranges for one in some):
        if out and start < out[-1][1]:
            raise VerosimError(
                f"Partition {start} was counted twice.",
                "Run the job again; the model was not changed.",
            )
        if out and start == out[-1][1]:
            out[-1][1] = stop
        else:
            out.append([start, stop])
    return out


def _opened(job: bytes) -> Any:
    """The job, if this process has the versions that made it."""
    header, body = _split(job)
    check_versions(header["versions"], "the process that sent the job")
    return pickle.loads(body)


def _partition(work: _Job, number: int, batches: Iterable[pa.RecordBatch]) -> TableSource:
    """The source of the rows of one partition."""
    origin = partition_origin(number)
    checked = _with_columns(_in_larger_batches(batches), _columns(work.source), origin)
    table = work.source.table.with_rows(checked, origin)
    return replace(work.source, table=table)


def _with_columns(
    batches: Iterable[pa.RecordBatch], wanted: list[str], origin: str
) -> Iterator[pa.RecordBatch]:
    """The batches with the wanted columns only. A partition must have all of them."""
    for batch in batches:
        check_same_columns(batch.schema.names, wanted, origin)
        yield batch.select(wanted)


def _in_larger_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows. Small batches of one type are joined, because each batch has a cost."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if waiting and batch.schema != waiting[0].schema:
            yield _joined_batches(waiting)
            waiting, rows = [], 0
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= LEAST_BATCH:
            yield _joined_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _joined_batches(waiting)


def _joined_batches(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


# Bytes -------------------------------------------------------------------------------------------


def plain_to_bytes(tree: Any) -> bytes:
    """Plain data as bytes."""
    node, tensors = packed_tree(tree)
    return tensor_file({"plain": node}, tensors)


def plain_from_bytes(raw: bytes) -> Any:
    """Plain data from bytes, checked."""
    content, tensors = read_tensors(raw)
    if not isinstance(content, dict) or content.keys() != {"plain"}:
        raise damaged("it is not a reply")
    return unpacked_tree(content["plain"], tensors)


def _framed(header: dict[str, Any], body: bytes) -> bytes:
    """A JSON header and bytes after it."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(LENGTH, "little") + text + body


def _split(raw: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the bytes after it."""
    stop = LENGTH + int.from_bytes(raw[:LENGTH], "little")
    try:
        header = json.loads(raw[LENGTH:stop])
    except ValueError:
        raise damaged("its header is not JSON") from None
    return header, raw[stop:]
