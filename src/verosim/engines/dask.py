"""Dask: one task per partition of a data frame, and a tree of tasks that merges their replies.

    partition → Arrow batches → reply,   8 replies → 1 reply, until one is left

The scheduler is the one that Dask uses for the frame: threads, processes, or a `Client`. A task
that ran on a lost worker runs again on another one. Its key does not change, so it is counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

from verosim.cached import cached_property
from verosim.data.clusters import (
    Cluster,
    check_same_columns,
    output_exists,
    partition_origin,
)
from verosim.data.libraries import pa, pd
from verosim.data.names import list_of_names
from verosim.data.table_rows import frame_rows
from verosim.data.tables import BATCH_ROWS, NumberedColumns, Rows, Table, numbered
from verosim.engines.cluster import (
    MERGED_AT_ONCE,
    check_complete,
    merged_reply,
    partition_batches,
    partition_reply,
)
from verosim.engines.versions import VERSIONS_THERE, check_versions
from verosim.errors import VerosimError

WAIT = 1.0  # seconds between two looks at the workers
PATIENCE = 60.0  # seconds without any worker before a job is given up


def open_frame(frame: Any) -> Table:
    """Open a Dask data frame as a table."""
    from dask.dataframe import DataFrame

    if not isinstance(frame, DataFrame):
        raise VerosimError(
            f"A {type(frame).__name__} of Dask cannot be read as a table.",
            "Give a Dask data frame, or the rows themselves: X.compute().",
        )
    names = tuple(map(str, list_of_names(frame.columns)))
    partitions = DaskPartitions(frame, names)
    return Table(names, partitions.rows, native="pandas", cluster=partitions)


def open_arrays(X: Any, y: Any, sample_weight: Any) -> Table:
    """Open Dask arrays: the chunks of their rows must be the same."""
    from dask import delayed
    from dask.array import Array
    from dask.dataframe import from_delayed

    columns = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
    for name, one in columns.items():
        if not isinstance(one, Array):
            raise VerosimError(
                f"X is an array of Dask, but {name} is a {type(one).__name__}.",
                f"Give {name} as an array of Dask with the chunks of X: dask.array.from_array(…).",
            )
    shapes = X.ndim == 2 and all(one.ndim == 1 for one in columns.values())
    chunks = [one.chunks[0] for one in (X, *columns.values())]
    if not shapes or any(str(one) != str(chunks[0]) for one in chunks):
        raise VerosimError(
            f"The rows of X, y and the weights must be in the same chunks; got {chunks}.",
            "Use y.rechunk(X.chunks[0]).",
        )
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    blocks = [one.to_delayed().ravel() for one in (X, *columns.values())]
    joined = delayed(_frame_of_arrays, pure=True)
    parts = [
        joined(number, names, tuple(columns), *some)
        for number, some in enumerate(zip(*blocks, strict=True))
    ]
    types = [np.empty((0, *one.shape[1:]), one.dtype) for one in (X, *columns.values())]
    meta = _frame_of_arrays(0, names, tuple(columns), *types)
    frame = from_delayed(parts, meta=meta, verify_meta=False)
    kind = {"b": "boolean", "i": "integer", "u": "integer", "f": "integer"}
    target_type = kind.get(y.dtype.kind, "text")
    weight = None if sample_weight is None else "sample_weight"
    array = NumberedColumns(names, "y", target_type, weight)
    return replace(open_frame(frame), array=array)


@dataclass(frozen=True, eq=False)
class DaskPartitions(Cluster):
    """The partitions of a Dask data frame."""

    frame: Any
    names: tuple[str, ...]  # of its columns

    name = "Dask"
    bring_here = "Use frame.compute(), or write Parquet files, which verosim reads in pieces."

    def rows(self, columns: Iterable[str] | None) -> Iterator[Rows]:
        wanted = self.names if columns is None else tuple(columns)
        for number, part in enumerate(self._parts(wanted)):
            found = self.computed(part)
            yield from partition_rows(found, wanted, partition_origin(number))

    def schema(self) -> pa.Schema:
        from dask.dataframe.utils import make_meta, meta_nonempty

        few = meta_nonempty(make_meta(self.frame))
        return next(partition_rows(few, self.names, "")).batch.schema

    def spread_rows(self, count: int) -> Iterator[Rows]:
        import dask

        parts = self._parts(self.names)
        share = -(-count // max(len(parts), 1))
        some = [dask.delayed(_spread)(part, share) for part in parts]
        for number, found in enumerate(self.computed(dask.delayed(list)(some))):
            yield from partition_rows(found, self.names, partition_origin(number))

    def reduced(self, job: bytes, columns: Sequence[str]) -> bytes:
        import dask

        parts = self._parts(columns)
        token = blake2b(job, digest_size=16)
        for part in parts:
            token.update(str(part.key).encode())
        key = f"verosim-{token.hexdigest()}"
        sent = dask.delayed(job, name=f"{key}-job", traverse=False)
        reply = dask.delayed(_reply, pure=False, traverse=False)
        merge = dask.delayed(merged_reply, pure=False)
        level = [
            reply(sent, number, part, tuple(columns), dask_key_name=f"{key}-{number}")
            for number, part in enumerate(parts)
        ]
        depth = 0
        while len(level) > 1:
            depth += 1
            level = [
                merge(sent, level[at : at + MERGED_AT_ONCE], dask_key_name=f"{key}-{depth}-{at}")
                for at in range(0, len(level), MERGED_AT_ONCE)
            ]
        try:
            found: bytes = self.computed(level[0])
        except VerosimError as error:
            if isinstance(error.__cause__, KeyError):
                self._check_columns(columns)
            raise
        check_complete(found, len(parts))
        return found

    def mapped(
        self, job: bytes, columns: Sequence[str], schema: pa.Schema, keep: Sequence[str]
    ) -> Any:
        import dask
        from dask.dataframe import from_delayed
        from dask.dataframe.utils import make_meta

        frame = self._selected(columns)
        sent = dask.delayed(job, pure=True, traverse=False)
        predicted = dask.delayed(_mapped, pure=True, traverse=False)
        parts = [
            predicted(part, number, sent, tuple(columns), tuple(keep), schema)
            for number, part in enumerate(frame.to_delayed())
        ]
        meta = _framed(make_meta(frame), keep, schema.empty_table())
        return from_delayed(parts, meta=meta, divisions=frame.divisions, verify_meta=False)

    def computed(self, lazy: Any) -> Any:
        """The value of a lazy object, on the scheduler of the frame."""
        client = self._client
        try:
            if client is None:
                return lazy.compute()
            answers = client.run(eval, VERSIONS_THERE, on_error="return")
            for worker, found in answers.items():
                if isinstance(found, dict):  # else the worker is gone
                    check_versions(found, f"the worker {worker} of Dask")
            return _watched(client, lazy, seen=bool(answers))
        except (VerosimError, MemoryError):
            raise
        except Exception as error:  # of the scheduler, of a worker, or of the user's own graph
            first = str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
            raise VerosimError(
                f"Dask could not compute the table: {first}.",
                "Check the workers and the steps that make the frame; the model was not changed.",
            ) from error

    # Running -----------------------------------------------------------------------------------

    def _selected(self, columns: Sequence[str]) -> Any:
        """The frame with some columns, found by their position."""
        place = {name: at for at, name in enumerate(self.names)}
        given = list_of_names(self.frame.columns)
        return self.frame[[given[place[name]] for name in columns]]

    def _parts(self, columns: Sequence[str]) -> list[Any]:
        """One lazy pandas frame for each partition, with some columns."""
        parts: list[Any] = self._selected(columns).to_delayed()
        return parts

    def _check_columns(self, columns: Sequence[str]) -> None:
        """Name the first partition that does not have all of the columns."""
        import dask

        listing = dask.delayed(_column_names)
        names = self.computed(dask.delayed(list)([listing(p) for p in self.frame.to_delayed()]))
        for number, there in enumerate(names):
            check_same_columns(there, columns, partition_origin(number))

    @cached_property
    def _client(self) -> Any:
        """The client of the frame's scheduler; None for threads and processes here."""
        from dask.base import get_scheduler

        scheduler: Callable[..., Any] | None = get_scheduler(collections=[self.frame])
        client = getattr(scheduler, "__self__", None)
        return client if hasattr(client, "scheduler_info") else None


def _watched(client: Any, lazy: Any, seen: bool) -> Any:
    """The value from a client. The job is cancelled at an error or an interrupt.

    Dask waits for ever if the last worker is gone, so the workers are counted while it runs. A
    cluster that starts its workers when there is work (`seen` is False) gets more time for it.
    """
    from distributed import wait

    future = client.compute(lazy)
    without = 0.0
    try:
        while True:
            try:
                wait(future, timeout=WAIT)
                return future.result()
            except TimeoutError:
                pass
            running = client.status == "running"
            workers = len(client.scheduler_info(n_workers=-1)["workers"]) if running else 0
            seen |= workers > 0
            without = 0.0 if workers else without + WAIT
            if not running or without > PATIENCE * (1 if seen else 10):
                raise VerosimError(
                    "Dask has no workers any more."
                    if running
                    else "The connection to the scheduler of Dask is lost.",
                    "Start the cluster again; the model was not changed.",
                )
    except BaseException:
        future.cancel()
        raise
    finally:
        future.release()


# Folders -----------------------------------------------------------------------------------------


def dask_client(address: str | None) -> Any:
    """A client of the scheduler at the address, or of a cluster of processes on this machine."""
    import dask.dataframe  # noqa: F401  # an error if it is not installed
    from distributed import Client

    return Client(dashboard_address=None) if address is None else Client(address)


def read_folder(path: str, kind: str, **settings: str) -> Any:
    """The lazy frame of Parquet files, or of CSV files with all cells as text."""
    import dask.dataframe as dd
    from fsspec.core import url_to_fs

    files, folder = url_to_fs(path)
    read, end = dd.read_parquet, ""
    if kind != "parquet":
        read, end = partial(dd.read_csv, dtype=str, keep_default_na=False, **settings), ".csv"
    runs = _runs_by_name(files, folder, end)
    if not runs and end and files.isdir(folder):
        path = f"{path.rstrip('/')}/*{end}"
    frames = [read(run) for run in runs] if runs else [read(path)]
    return frames[0] if len(frames) == 1 else dd.concat(frames)


def _runs_by_name(files: Any, folder: str, end: str) -> list[list[str]]:
    """The files of a folder or a glob in the order of their names, as here and on Spark.

    Dask reads part.2 before part.10, so the files are given in runs that have both orders. In a
    folder, names that start with a dot or an underscore are left out, such as _SUCCESS. The files
    of folders such as year=2024 stay in the order of Dask.
    """
    from dask.utils import natural_sort_key

    found = files.glob(folder) if "*" in folder else files.find(folder)
    if any("=" in name.removeprefix(folder) for name in found):
        return []
    if "*" not in folder and files.isdir(folder):
        parts = {name: name.removeprefix(folder.rstrip("/")).split("/") for name in found}
        hidden = (name for name in found if any(part[:1] in (".", "_") for part in parts[name]))
        found = [name for name in set(found).difference(hidden) if name.endswith(end)]
    runs: list[list[str]] = []
    for name in sorted(found, key=lambda name: name.split("/")):
        if not runs or natural_sort_key(name) < natural_sort_key(runs[-1][-1]):
            runs.append([])
        runs[-1].append(name)
    return [[files.unstrip_protocol(name) for name in run] for run in runs]


def write_folder(frame: Any, path: str, kind: str) -> None:
    """Write a new folder of Parquet or CSV files. It is removed if the work fails."""
    import dask
    from fsspec.core import url_to_fs

    files, folder = url_to_fs(path)
    if files.exists(folder):
        raise output_exists(path)
    files.makedirs(folder)
    try:
        if kind == "parquet":
            writing = frame.to_parquet(path, write_index=False, compute=False)
        else:
            names = f"{path.rstrip('/')}/*.csv"
            writing = dask.delayed(list)(frame.to_csv(names, index=False, compute=False))
        DaskPartitions(frame, tuple(frame.columns)).computed(writing)
    except BaseException:
        files.rm(folder, recursive=True)
        raise


# On a worker -------------------------------------------------------------------------------------


def partition_rows(frame: Any, names: Sequence[str], origin: str) -> Iterator[Rows]:
    """The rows of a pandas frame. A partition may lack some of the names."""
    frame = _with_names_of_text(frame)
    there = tuple(name for name in names if name in frame.columns)
    try:  # all columns at once: their numbers and their Arrow strings are not copied
        table = pa.Table.from_pandas(frame[list(there)], preserve_index=False, nthreads=1)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):  # such as mixed objects
        for rows in frame_rows(frame, there, None):
            yield Rows(rows.batch, rows.start, origin)
    else:
        yield from numbered(table.to_batches(max_chunksize=BATCH_ROWS), origin)


def _column_names(frame: Any) -> list[str]:
    return [str(name) for name in frame.columns]


def _with_names_of_text(frame: Any) -> Any:
    names = _column_names(frame)
    return frame if list(frame.columns) == names else frame.set_axis(names, axis=1)


def _frame_of_arrays(
    number: int, names: tuple[str, ...], more: tuple[str, ...], X: Any, *columns: Any
) -> Any:
    """The rows of one chunk of arrays, with the columns `more` after those of X."""
    lengths = {len(X), *map(len, columns)}
    if len(lengths) > 1 or not isinstance(X, np.ndarray):
        raise VerosimError(
            f"The chunks {number} of X, y and the weights must be numpy arrays of the same length.",
            "Use arrays with the same chunks.",
        )
    frame = pd.DataFrame(X, columns=list(names), copy=False)
    return frame.assign(**dict(zip(more, columns, strict=True)))


def _batches(frame: Any, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    return (rows.batch for rows in partition_rows(frame, names, ""))


def _reply(job: bytes, number: int, frame: Any, names: tuple[str, ...]) -> bytes:
    return partition_reply(job, number, _batches(frame, names))


def _spread(frame: Any, share: int) -> Any:
    """Some rows of a partition at equal distances."""
    step = max(1, -(-len(frame) // max(share, 1)))
    return frame.iloc[::step]


def _mapped(
    frame: Any,
    number: int,
    job: bytes,
    names: tuple[str, ...],
    keep: tuple[str, ...],
    schema: pa.Schema,
) -> Any:
    found = pa.Table.from_batches(partition_batches(job, number, _batches(frame, names)), schema)
    return _framed(frame, keep, found)


def _framed(frame: Any, keep: Sequence[str], found: pa.Table) -> Any:
    """The kept columns as they were, and the new ones, with the index of the partition."""
    kept = _with_names_of_text(frame)[list(keep)]
    new = found.drop_columns(list(keep)).to_pandas()
    new.index = frame.index
    return kept.assign(**{name: new[name] for name in new.columns})
