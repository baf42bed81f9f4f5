"""Spark: `mapInArrow` makes one reply for each partition, and this process merges the replies.

    partition → Arrow batches → rows (partition, piece, pieces, bytes),   bytes ≤ 16 MB

Only the DataFrame API is used, so classic sessions and Spark Connect run the same code. Spark may
run a task twice, but the rows of one attempt only are in the result. If all replies together are
too large for this process, a second `mapInArrow` merges them first, on fewer partitions. Its rows
are distributed by a hash of the partition number, so that a task that runs again gets the same
rows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import uuid4

from verosim.cached import cached_property
from verosim.data.clusters import Cluster, partition_origin
from verosim.data.libraries import pa
from verosim.data.same_rows import UNCHANGED
from verosim.data.tables import FIRST_LOOK_ROWS, Rows, Table, check_names, numbered
from verosim.engines.cluster import MERGED_AT_ONCE, check_complete, merged_reply, partition_reply
from verosim.engines.spark_columns import SentColumns, packed_frame, packed_groups
from verosim.engines.spark_errors import translated
from verosim.engines.spark_first_rows import (
    MOST_COLUMNS_TAKEN,
    NESTED_CELLS,
    NO_CELLS,
    begins_in_order,
    files_by_name,
    in_partitions,
    is_only_read,
    of_files,
    plan_text,
    rows_of_one_task,
    rows_of_several_files,
    rows_of_take,
)
from verosim.engines.spark_tasks import (
    NUMBERS_SENT,
    PIECE_BYTES,
    REPLIES_SENT,
    ROWS_SENT,
    end_task,
    first_rows_task,
    merged_reply_rows,
    number_task,
    reply_rows,
    result_batches,
    task,
)
from verosim.errors import VerosimError, listed

MOST_FILES_AT_ONCE = 256  # whose rows are sorted for a first look
FIRST_PIECES = 4  # of a worker, which are enough for a first look
REPLY_BUDGET = 256 << 20  # bytes of replies that come to this process at once
MESSAGE_BYTES = 128 << 20  # of Spark Connect, if the session has no setting
MESSAGE_SETTING = "spark.connect.grpc.maxInboundMessageSize"
REST_OF_MESSAGE = 1 << 20  # bytes for all but the job

# A frame, the types of its columns and a number of rows → the first rows and their numbers
RowsReader = Callable[[Any, pa.Schema, int], tuple[pa.Table, Any]]

# The Arrow type of each simple type of Spark. Decimals and timestamps have settings of their own.
TYPES = {
    "void": "null", "boolean": "bool_", "byte": "int8", "short": "int16", "integer": "int32",
    "long": "int64", "float": "float32", "double": "float64", "string": "string", "char": "string",
    "varchar": "string", "binary": "binary", "date": "date32",
}  # fmt: skip

# The type of Spark for each Arrow type of a new column.
NEW_TYPES = {"bool": "boolean", "int64": "bigint", "double": "double", "string": "string"}


def open_spark_frame(frame: Any) -> Table:
    """Open a Spark data frame as a table."""
    if not hasattr(frame, "mapInArrow"):
        to_spark = hasattr(frame, "to_spark")
        raise VerosimError(
            f"A {type(frame).__name__} of {type(frame).__module__} cannot be read as a table.",
            "Use frame.to_spark()." if to_spark else "Give a Spark data frame.",
        )
    if frame.isStreaming:
        raise VerosimError(
            "A streaming data frame of Spark has no end, so it cannot be read as a table.",
            "Use writeStream.foreachBatch(…), and partial_fit for each batch.",
        )
    partitions = SparkPartitions(frame)
    with partitions.clear_errors():
        fields = frame.schema.fields
    names = tuple(field.name for field in fields)
    check_names(names)
    return Table(names, partitions.rows, cluster=partitions)


def _arrow_type(type_: Any, zone: str) -> pa.DataType | None:
    """The type of the cells that a worker gets; None if there is none."""
    name = type_.typeName()
    if name in TYPES:
        found: pa.DataType = getattr(pa, TYPES[name])()
        return found
    if name == "decimal":
        return pa.decimal128(type_.precision, type_.scale)
    if name in ("timestamp", "timestamp_ntz"):
        return pa.timestamp("us", zone if name == "timestamp" else None)
    return pa.duration("us") if "day" in name and "interval" in name else None


@dataclass(frozen=True, eq=False)
class SparkPartitions(Cluster):
    """The partitions of a Spark data frame."""

    frame: Any

    name = "Spark"
    bring_here = "Use frame.toArrow(), or write Parquet files, which verosim reads in pieces."

    @cached_property
    def nested(self) -> dict[str, str]:
        """The columns with a type that is not supported, such as an array, and its name."""
        with self.clear_errors():
            fields = self.frame.schema.fields
        types = {field.name: field.dataType for field in fields}
        return {n: t.typeName() for n, t in types.items() if _arrow_type(t, "UTC") is None}

    def check_looked(self, names: Iterable[str]) -> None:
        odd = [name for name in names if name in self.nested]
        if odd:
            kinds = listed(sorted({self.nested[name] for name in odd}))
            raise VerosimError(
                f"The columns {listed(odd)} of the Spark data frame have types that are not "
                f"supported: {kinds}.",
                "Leave them out with frame.drop(…), or use "
                f"schema=verosim.look(…, columns={{{odd[0]!r}: 'ignore'}}).",
            )

    def rows(self, columns: Iterable[str] | None) -> Iterator[Rows]:
        """The first rows. More are read each time that the caller needs more."""
        names = self._names(columns)
        frame = self._selected(names)
        types = self.schema()
        schema = pa.schema([types.field(name) for name in names])
        with self.clear_errors():
            plan = plan_text(frame)
            files = files_by_name(self.frame, plan)
        if files:
            yield from self._rows_of_files(frame, schema, files)
        elif not self.has_order:
            by_hash = self._selected(names, by_hash=True)
            for rows in self._rows_read_by(rows_of_several_files, by_hash, schema):
                yield replace(rows, origin=" in the order of hashes")
        elif len(names) > MOST_COLUMNS_TAKEN and not is_only_read(plan):
            yield from self._rows_of_workers(frame, names)
        else:
            read = rows_of_one_task if is_only_read(plan) else rows_of_take
            yield from self._rows_read_by(read, frame, schema)

    @cached_property
    def has_order(self) -> bool:
        with self.clear_errors():
            plan = plan_text(self.frame)
            return is_only_read(plan) or (
                "Exchange" not in plan and len(self.frame.inputFiles()) < 2
            )

    def _rows_of_files(self, frame: Any, schema: pa.Schema, files: Sequence[str]) -> Iterator[Rows]:
        """The rows of the first file, then those of more and more files at once."""
        at, count, given = 0, 1, 0
        while at < len(files):
            some, start = files[at : at + count], 0
            at, count = at + count, min(2 * count, MOST_FILES_AT_ONCE)
            origin = (
                f" of {some[0].rsplit('/', 1)[-1]}" if len(some) == 1 else f" of {len(some)} files"
            )
            with self.clear_errors():
                part = of_files(frame, some)
            read = rows_of_one_task if len(some) == 1 else rows_of_several_files
            for rows in self._rows_read_by(read, part, schema):
                yield replace(rows, start=start, origin=origin)
                start += len(rows)
            given += start
        if not given:  # this version of Spark writes the names of files in another way
            yield from self._rows_read_by(rows_of_one_task, frame, schema)

    def _rows_read_by(self, read: RowsReader, frame: Any, schema: pa.Schema) -> Iterator[Rows]:
        """The first rows, and four times as many each time that the caller needs more."""
        given, count = 0, FIRST_LOOK_ROWS
        while True:
            with self.clear_errors():
                found = read(frame, schema, count)
            if read is rows_of_one_task and not begins_in_order(found[1]):
                read = rows_of_take
                continue
            yield from in_partitions(*(part[given:] for part in found))
            if len(found[1]) < count:
                return
            count, given = 4 * count, count

    def _rows_of_workers(self, frame: Any, names: list[str]) -> Iterator[Rows]:
        """The first rows of a wide table, as pieces that workers have packed."""
        with self.clear_errors():
            first = frame.mapInArrow(first_rows_task(names, None), ROWS_SENT)
        given, count = 0, FIRST_PIECES
        while True:
            with self.clear_errors():
                found = first.take(count)
            yield from _received(found[given:])
            if len(found) < count:
                return
            count, given = 4 * count, count

    def schema(self) -> pa.Schema:
        with self.clear_errors():
            zone = self.frame.sparkSession.conf.get("spark.sql.session.timeZone")
            fields = self.frame.schema.fields
        return pa.schema(
            [(field.name, _arrow_type(field.dataType, zone) or NESTED_CELLS) for field in fields]
        )

    def spread_rows(self, count: int) -> Iterator[Rows]:
        """The first rows of each partition."""
        names = self._names(None)
        frame = self._selected(names)
        with self.clear_errors():
            partitions = len(frame.mapInArrow(number_task(), NUMBERS_SENT).collect())
            share = -(-count // max(partitions, 1))
            found = frame.mapInArrow(first_rows_task(names, share), ROWS_SENT).collect()
        yield from _received(found)

    def reduced(self, job: bytes, columns: Sequence[str]) -> bytes:
        self._check_size(2 * len(job))  # it is in the plan twice if workers merge the replies
        frame, groups = self._packed(columns)
        with self.clear_errors():
            replies = frame.mapInArrow(task(reply_rows, job, groups, PIECE_BYTES), REPLIES_SENT)
            replies = replies.union(
                self.frame.sparkSession.range(1, numPartitions=1).mapInArrow(
                    end_task(), REPLIES_SENT
                )
            )
            replies.persist()  # so that no partition is read again to merge the replies
            try:
                level, partitions = self._collected(replies, job)
            finally:
                replies.unpersist()
        if not partitions:
            return partition_reply(job, 0, ())
        while len(level) > 1:
            level = [
                merged_reply(job, level[at : at + MERGED_AT_ONCE])
                for at in range(0, len(level), MERGED_AT_ONCE)
            ]
        check_complete(level[0], partitions)
        return level[0]

    def _collected(self, replies: Any, job: bytes) -> tuple[list[bytes], int]:
        """Replies of all partitions in this process, and the number of partitions."""
        # A reply is in the first answer if so many replies of this size fit into the budget.
        small = (
            f"CASE WHEN (partition + 1L) * pieces * length(body) <= {REPLY_BUDGET} THEN body END"
        )
        found = replies.selectExpr(
            "partition", "piece", "pieces", "length(body) AS size", f"{small} AS body"
        )
        found, partitions = checked_end(_pieces(found))
        if all(row.body is not None for row in found):
            return joined_pieces(found), partitions
        per_reply = max(1, sum(row.size for row in found) // partitions)
        groups = max(1, min(REPLY_BUDGET // per_reply, partitions // MERGED_AT_ONCE))
        merged = (
            replies.where("pieces > 0")
            .repartition(groups, "partition")
            .sortWithinPartitions("partition", "piece")
            .mapInArrow(task(merged_reply_rows, job, PIECE_BYTES), REPLIES_SENT)
        )
        return joined_pieces(_pieces(merged)), partitions

    def mapped(
        self, job: bytes, columns: Sequence[str], schema: pa.Schema, keep: Sequence[str]
    ) -> Any:
        self._check_size(len(job))
        lost = [name for name in keep if name in self.nested]
        if lost:
            raise VerosimError(
                f"The columns {listed(lost)} cannot be kept, because their types are not supported "
                "here.",
                "Keep a column with a key of each row, and join the predictions by it.",
            )
        with self.clear_errors():
            kept = {field.name: field.dataType.simpleString() for field in self.frame.schema.fields}
        fields = []
        for field in schema:
            type_ = kept[field.name] if field.name in keep else NEW_TYPES[str(field.type)]
            quoted = field.name.replace("`", "``")
            fields.append(f"`{quoted}` {type_}")
        frame, groups = self._packed(columns)
        with self.clear_errors():
            return frame.mapInArrow(task(result_batches, job, groups), ", ".join(fields))

    # The frame ---------------------------------------------------------------------------------

    def _names(self, columns: Iterable[str] | None) -> list[str]:
        wanted = None if columns is None else set(columns)
        return [name for name in self.frame.columns if wanted is None or name in wanted]

    def _placed(self) -> tuple[Any, dict[str, str]]:
        """The frame with columns that are called by their position, and the new name of each.

        They are called c0, c1, …: Spark does not distinguish a from A, and reads a.b as a field.
        """
        place = {name: f"c{at}" for at, name in enumerate(self.frame.columns)}
        return self.frame.toDF(*place.values()), place

    def _packed(self, columns: Sequence[str]) -> tuple[Any, SentColumns]:
        """The frame for workers with some columns, and the names that each sent column has."""
        with self.clear_errors():
            types = {field.name: field.dataType.typeName() for field in self.frame.schema.fields}
            groups = packed_groups(types, columns)
            return packed_frame(*self._placed(), groups), groups

    def _selected(self, columns: Sequence[str], by_hash: bool = False) -> Any:
        """The frame for a first look. The cells of arrays, maps and structs are not sent.

        `by_hash` sorts the rows by a hash of all their other cells.
        """
        with self.clear_errors():
            frame, place = self._placed()
            chosen = [
                f"{NO_CELLS} AS {place[name]}" if name in self.nested else place[name]
                for name in columns
            ]
            if not by_hash:
                return frame.selectExpr(*chosen)
            cells = ", ".join(place[name] for name in place if name not in self.nested)
            hashed = frame.selectExpr(*chosen, f"xxhash64({cells}) AS hash")
            return hashed.orderBy("hash").drop("hash")

    def _check_size(self, size: int) -> None:
        """Raise an error if a job is too large for one message of Spark Connect."""
        if not type(self.frame).__module__.startswith("pyspark.sql.connect"):
            return
        with self.clear_errors():
            setting = self.frame.sparkSession.conf.get(MESSAGE_SETTING, str(MESSAGE_BYTES))
        limit = min(bytes_of_setting(str(setting), MESSAGE_BYTES), MESSAGE_BYTES)
        if size + REST_OF_MESSAGE > limit:
            raise VerosimError(
                f"The model needs {size / 1e6:,.0f} MB in a message of Spark Connect, which has at "
                f"most {limit / 1e6:,.0f} MB.",
                "Use a classic Spark session, or a model with fewer columns, categories or words.",
            )

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Errors of Spark as errors of verosim. The job is cancelled if the user interrupts it."""
        session = self.frame.sparkSession
        tag = f"verosim-{uuid4().hex}"
        try:
            session.addTag(tag)
            yield
        except VerosimError:
            raise
        except (KeyboardInterrupt, GeneratorExit):
            _interrupt(session, tag)
            raise
        except Exception as error:
            if isinstance(error.__context__, KeyboardInterrupt):  # in its clean-up
                _interrupt(session, tag)
                raise KeyboardInterrupt from error
            raise translated(error, session) from error
        finally:
            _without_tag(session, tag)


def _interrupt(session: Any, tag: str) -> None:
    """Cancel the jobs with a tag.

    Ctrl-C ends the connection to a classic session, and its tags with it. All jobs of the session
    are cancelled then, as PySpark does too.
    """
    session.interruptTag(tag) if tag in session.getTags() else session.interruptAll()


def _without_tag(session: Any, tag: str) -> None:
    try:
        session.removeTag(tag)
    except Exception:  # the session was stopped, which has its own error
        return


def _received(found: Iterable[Any]) -> Iterator[Rows]:
    """The rows in Arrow streams that workers have sent."""
    for row in found:
        with pa.ipc.open_stream(bytes(row.body)) as reader:
            for rows in numbered(reader, partition_origin(row.partition)):
                yield replace(rows, start=rows.start + row.start)


class Piece(NamedTuple):
    """A row of a frame of replies."""

    partition: int
    piece: int
    pieces: int
    body: bytes | None
    size: int = 0


def _pieces(replies: Any) -> list[Piece]:
    """The rows of a frame of replies, as Arrow: Spark converts the bytes of other rows slowly."""
    return [Piece(**row) for row in replies.toArrow().to_pylist()]


def bytes_of_setting(text: str, default: int) -> int:
    """The bytes of a size in a setting of Spark, such as 1048576, 64m or 1gb."""
    found = re.fullmatch(r"(\d+)([kmg]?)b?", text.strip().lower())
    return int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2]] if found else default


def checked_end(found: Iterable[Any]) -> tuple[list[Any], int]:
    """The rows of replies, and the number of partitions of the table.

    The last task of the job sends no reply, but the number of its partition, which follows those of
    the table. (It is the number of the only partition if Spark has put both into one.) Without this
    row, a lost last partition would not be noticed.
    """
    rows = list(found)
    ends = [row.partition for row in rows if not row.pieces]
    replies = [row for row in rows if row.pieces]
    numbers = {row.partition for row in replies}
    in_one = ends == [0] and numbers == {0}
    if len(ends) != 1 or not (in_one or numbers == set(range(ends[0]))):
        count = f"{ends[0]:,}" if len(ends) == 1 else "an unknown number of"
        raise VerosimError(
            f"Replies of {len(numbers):,} partitions arrived, but the table has {count} "
            "partitions.",
            f"Run the job again; {UNCHANGED}.",
        )
    return replies, len(numbers)


def joined_pieces(found: Iterable[Any]) -> list[bytes]:
    """The replies in the order of their numbers. Each piece must have arrived exactly once."""
    pieces: dict[int, list[Any]] = defaultdict(list)
    for row in found:
        pieces[row.partition].append(row)
    out = []
    for number in sorted(pieces):
        rows = sorted(pieces[number], key=lambda row: row.piece)
        if [row.piece for row in rows] != list(range(rows[0].pieces)):
            raise VerosimError(
                f"The reply of partition {number} has {rows[0].pieces} pieces, but the pieces "
                f"{[row.piece for row in rows]} arrived.",
                f"Run the job again; {UNCHANGED}.",
            )
        out.append(b"".join(bytes(row.body) for row in rows))
    return out
