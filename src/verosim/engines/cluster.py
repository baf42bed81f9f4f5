"""The engine of tables on a cluster: the local engine runs on each partition, and bytes come back.

    T(table) = Σ over partitions of T(partition),   each T computed by the local engine there

A job is a pickled source without rows, and a pickled visit. A worker gets the job and the rows of
one partition as Arrow batches, and its reply has only plain bytes. Both start with the versions of
verosim, Python, numpy and pyarrow that made them. A worker compares the versions before it reads
the job.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verosim.data.clusters import check_same_columns, partition_origin
from verosim.data.libraries import pa
from verosim.data.same_rows import counting, summed_counts
from verosim.data.stream import TableChunk, TableSource
from verosim.data.visits import Visit
from verosim.engines.local import map_here, reduce_here
from verosim.engines.threads import use_threads
from verosim.engines.versions import check_versions, versions_here
from verosim.errors import VerosimError, kept_warnings, warn_again
from verosim.stats.plain_trees import damaged, packed_tree, unpacked_tree
from verosim.stats.tensor_files import read_tensors, tensor_file

MERGED_AT_ONCE = 8  # replies that one task of an engine merges
MOST_WARNINGS, MOST_EXAMPLES = 20, 3  # that a reply has of its partitions
LENGTH = 8  # bytes that hold the length of a header
LEAST_BATCH = 1 << 13  # smaller batches of an engine are joined

Ranges = list[list[int]]  # [start, stop) of partition numbers, sorted


def run_there(source: TableSource, visit: Visit) -> Any:
    """What the visit finds in all rows of a source on a cluster."""
    cluster = source.cluster
    assert cluster is not None
    job = _Job(source.elsewhere(), visit.there(cluster))
    header, body = _split(cluster.reduced(_packed_job(job), _columns(source)))
    check_versions(header["versions"], f"a worker of {cluster.name}")
    warn_again(header["warnings"])
    if source.reader.watch is not None:
        source.reader.watch.take(header["unseen"])
    source.report()
    cluster.passes.check(header["counts"], job.label_column)
    return job.found_in(body).finish()


def run_lazily(
    source: TableSource, function: Callable[[TableChunk], pa.RecordBatch], schema: pa.Schema
) -> Any:
    """A lazy frame of the cluster with the batch of each chunk."""
    cluster = source.cluster
    assert cluster is not None
    source.reader.watched(None)  # the counts of a lazy frame are not sent
    job = _packed_job(_Job(source.elsewhere(), function))
    return cluster.mapped(job, _columns(source), schema, source.keep)


def _columns(source: TableSource) -> list[str]:
    """The columns that a worker needs, in the order of the table."""
    wanted = source.wanted().union(*(step.columns for step in source.table.steps))
    return [name for name in source.table.names if name in wanted]


# Jobs --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    """A visit of the rows, or a function that makes a batch of each chunk."""

    source: TableSource  # without rows
    work: Any

    @property
    def label_column(self) -> str | None:
        target = self.source.target
        return target if isinstance(target, str) else None

    def found_in(self, body: bytes) -> Visit:
        """The visit after it has found what is in a reply."""
        visit: Visit = self.work
        return visit.holding(visit.unpacked(plain_from_bytes(body)))

    def merged(self, bodies: Iterable[bytes]) -> bytes:
        """What was found in several replies."""
        total: Visit = self.work.zero()
        for number, body in enumerate(bodies):
            if number:
                total.merge(self.found_in(body))
            else:
                total = self.found_in(body)
        return plain_to_bytes(total.packed())


def _packed_job(job: _Job) -> bytes:
    return _framed({"versions": versions_here()}, pickle.dumps(job, protocol=5))


# On a worker -------------------------------------------------------------------------------------


def partition_reply(job: bytes, number: int, batches: Iterable[pa.RecordBatch]) -> bytes:
    """The reply of one partition. Engines call this function on a worker, or in a process there."""
    work = _opened(job)
    counts: Counter[str] = Counter()
    with use_threads(1), kept_warnings() as said:
        counted = counting(batches, work.label_column, counts)
        body = plain_to_bytes(reduce_here(_partition(work, number, counted), work.work).packed())
    watch = work.source.reader.watch
    unseen = {} if watch is None else watch.summed()
    header = {
        "partitions": [[number, number + 1]], "counts": counts, "warnings": said, "unseen": unseen
    }  # fmt: skip
    return _framed({"versions": versions_here(), **header}, body)


def partition_batches(
    job: bytes, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The batches that a job of `run_lazily` makes of one partition."""
    work = _opened(job)
    with use_threads(1):
        yield from map_here(_partition(work, number, batches), work.work)


def merged_reply(job: bytes, replies: Sequence[bytes]) -> bytes:
    """The reply of several partitions, from their replies in order. No partition counts twice."""
    work = _opened(job)
    found = [_split(reply) for reply in replies]
    for header, _ in found:
        check_versions(header["versions"], "another worker")
    partitions = joined_ranges([header["partitions"] for header, _ in found])
    counts = summed_counts(header["counts"] for header, _ in found)
    with use_threads(1), kept_warnings() as said:
        body = work.merged(body for _, body in found)
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


def _opened(job: bytes) -> _Job:
    """The job, if this process has the versions that made it."""
    header, body = _split(job)
    check_versions(header["versions"], "the process that sent the job")
    found: _Job = pickle.loads(body)
    return found


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
