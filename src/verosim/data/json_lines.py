"""JSON lines: one object per line. Arrow reads a block of lines at a time.

Each block has its own types, so a column may be whole numbers in one block and fractions in the
next. A text stays a text, even if it is a date. Where a column mixes numbers and texts in one
block, Python's parser reads the block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verosim.data.byte_streams import ByteSource, compression_of, first_text, open_stream
from verosim.data.csv_files import FIRST_BYTES, encoding_of
from verosim.data.dialects import as_utf8, is_utf8
from verosim.data.exact_numbers import HELD
from verosim.data.file_formats import File, empty_file
from verosim.data.libraries import pa, pc
from verosim.data.read_options import ReadOptions
from verosim.data.table_rows import column_of
from verosim.errors import VerosimError, VerosimWarning, warn

JSON_BLOCK = 1 << 22  # bytes
LARGEST_JSON_LINE = 1 << 28  # bytes
LONG_WHOLE = re.compile(rb"[:\[,\s-][0-9]{16,}\s*[,}\]\s]")


@dataclass(frozen=True, eq=False)
class JsonLinesFile(File):
    """A file of JSON objects, one per line. The keys of the first lines are the columns."""

    encoding: str = "utf-8"
    compression: str | None = None
    dates: tuple[str, ...] = ()  # columns of texts that Arrow would read as dates
    kind = "jsonl"
    options = ("encoding",)
    streams = True

    @classmethod
    def open(cls, data: ByteSource, options: ReadOptions) -> JsonLinesFile:
        compression = compression_of(data.first_bytes(8))
        raw, ended = first_text(data, compression, FIRST_BYTES)
        encoding = encoding_of(data, raw, options)
        size = FIRST_BYTES
        while b"\n" not in (start := as_utf8(raw, encoding)) and not ended:
            size *= 4
            if size > LARGEST_JSON_LINE:
                raise too_long(data.place)
            raw, ended = first_text(data, compression, size)
        block = start if ended else start[: start.rfind(b"\n") + 1]
        if not block.strip():
            raise empty_file(data.place)
        found = cls(data, (), encoding=encoding, compression=compression)
        names = tuple(found._parsed(block, 0).column_names)
        try:
            dates = _dates(_parsed_by_arrow(block))
        except pa.ArrowInvalid:  # the blocks are read by Python's parser
            dates = ()
        return cls(data, names, encoding=encoding, compression=compression, dates=dates)

    @property
    def described(self) -> str:
        return "" if is_utf8(self.encoding) else f"encoding {self.encoding}"

    def batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, float]]:
        encoding = None if is_utf8(self.encoding) else self.encoding
        stream = open_stream(self.data, self.compression, encoding)
        rest, done, given, strange = b"", 0, 0, set[str]()
        while True:
            read = bytes(stream.file.read(JSON_BLOCK))
            given += len(read)
            block = rest + read
            cut = block.rfind(b"\n") + 1 if read else len(block)
            block, rest = block[:cut], block[cut:]
            if len(rest) > LARGEST_JSON_LINE:
                raise too_long(self.data.place)
            if block.strip():
                table = self._parsed(block if done else block.removeprefix(b"\xef\xbb\xbf"), done)
                strange |= self._new_keys(table, done, strange)
                yield _batch(table, columns), stream.share(given)
                done += table.num_rows
            if not read:
                return

    def _parsed(self, block: bytes, done: int) -> pa.Table:
        """The rows of some whole lines."""
        try:
            table = _parsed_by_arrow(block, self.dates)
            if _may_be_rounded(table) and LONG_WHOLE.search(block):
                return self._parsed_by_python(block, done)
            dates = _dates(table)
            if not dates:
                return table
            return _parsed_by_arrow(block, (*self.dates, *dates)).select(table.column_names)
        except pa.ArrowInvalid:
            return self._parsed_by_python(block, done)

    def _parsed_by_python(self, block: bytes, done: int) -> pa.Table:
        rows: list[dict[str, Any]] = []
        for line in block.split(b"\n"):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise self._bad_line(done + len(rows), str(error)) from None
            if not isinstance(row, dict):
                raise self._bad_line(done + len(rows), f"it is a {type(row).__name__}")
            rows.append(row)
        names = dict.fromkeys(name for row in rows for name in row)
        return pa.table({name: column_of([row.get(name) for row in rows]) for name in names})

    def _bad_line(self, row: int, why: str) -> VerosimError:
        return VerosimError(
            f"Row {row} of the file {self.data.place!r} is not a JSON object: {why}.",
            'Write one object per line, such as {"size": 1.5, "kind": "a"}.',
        )

    def _new_keys(self, table: pa.Table, done: int, known: set[str]) -> set[str]:
        """Keys that the first lines do not have. They are not read, and this is a warning."""
        found = {name for name in table.column_names if name not in self.names} - known
        for name in sorted(found):
            warn(
                f"The key {name!r} of the file {self.data.place!r} does not occur in the first "
                f"lines, so it is not read. It occurs after row {max(done - 1, 0)}.",
                VerosimWarning,
            )
        return found


def _parsed_by_arrow(block: bytes, texts: tuple[str, ...] = ()) -> pa.Table:
    """The rows of some whole lines. Arrow makes texts dates, except in the columns `texts`."""
    from pyarrow import json as arrow_json

    return arrow_json.read_json(
        pa.BufferReader(block),
        arrow_json.ReadOptions(block_size=len(block) + 1),
        arrow_json.ParseOptions(explicit_schema=pa.schema([(name, pa.string()) for name in texts])),
    )


def _may_be_rounded(table: pa.Table) -> bool:
    """Whether a column has whole numbers that Arrow may have rounded, because others are not."""
    floats = (c for c in table.columns if pa.types.is_floating(c.type) and len(c) > c.null_count)
    ends = (pc.min_max(column).as_py() for column in floats)
    return any(max(-end["min"], end["max"]) >= HELD for end in ends)


def _dates(table: pa.Table) -> tuple[str, ...]:
    return tuple(field.name for field in table.schema if pa.types.is_timestamp(field.type))


def _batch(table: pa.Table, columns: list[str]) -> pa.RecordBatch:
    """The columns in order. A column that no line of a block has is missing."""
    n = table.num_rows
    arrays = [
        table.column(name).combine_chunks() if name in table.column_names else pa.nulls(n)
        for name in columns
    ]
    batches = pa.table(arrays, names=columns).combine_chunks().to_batches()
    return batches[0] if batches else pa.record_batch(arrays, names=columns)


def too_long(place: str) -> VerosimError:
    """The error for a line that is larger than a block can be."""
    return VerosimError(
        f"The file {place!r} has a line of more than {LARGEST_JSON_LINE >> 20} MB.",
        "Check if the file has one JSON object per line.",
    )
