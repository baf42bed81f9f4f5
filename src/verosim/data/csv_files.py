"""CSV files: Arrow's parser reads them as text, in the dialect that their first bytes show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from verosim.data.byte_streams import (
    ByteSource,
    ByteStream,
    FileBytes,
    compression_of,
    first_text,
    open_stream,
)
from verosim.data.dialects import (
    ENCODING_HINT,
    Dialect,
    as_utf8,
    cells_of_record,
    decimal_point,
    find_dialect,
    find_encoding,
    header_record,
    is_utf8,
)
from verosim.data.file_formats import File, empty_file, first_line
from verosim.data.libraries import pa, pc
from verosim.data.read_options import ReadOptions
from verosim.errors import VerosimError

CSV_BLOCK = 1 << 22  # bytes
LARGEST_BLOCK = 1 << 28  # bytes; a cell of more bytes is refused
MOST_CSV_COLUMNS = 1 << 18  # each takes about 5 kB and 0.2 ms, also with few rows
FIRST_BYTES = 1 << 20  # bytes that show the dialect
LAST_BYTES = 1 << 12  # bytes that hold the last line of most files
PLAIN = Dialect()


@dataclass(frozen=True, eq=False)
class CsvFile(File):
    """A CSV file with a header."""

    dialect: Dialect = PLAIN
    compression: str | None = None
    block: int = CSV_BLOCK
    kind = "csv"
    options = ("sep", "decimal", "encoding", "quote")
    typed = False
    streams = True

    @classmethod
    def open(cls, data: ByteSource, options: ReadOptions) -> CsvFile:
        compression = compression_of(data.first_bytes(8))
        raw, ended = first_text(data, compression, FIRST_BYTES)
        encoding = encoding_of(data, raw, options)
        start = as_utf8(raw, encoding).lstrip(b"\r\n")
        if not start.strip():
            raise empty_file(data.place)
        dialect = find_dialect(start, data.name, encoding, options)
        size = FIRST_BYTES
        while (record := header_record(start, dialect)) is None and not ended:
            size *= 4
            if size > LARGEST_BLOCK:
                raise cls(data, (), dialect=dialect)._endless(0)
            raw, ended = first_text(data, compression, size)
            start = as_utf8(raw, encoding).lstrip(b"\r\n")
        record = start if record is None else record
        if is_utf8(encoding):
            _check_header(raw, record, data.place)
        names = cells_of_record(record, dialect)
        if len(names) > MOST_CSV_COLUMNS:
            raise VerosimError(
                f"The file {data.place!r} has {len(names):,} columns, but a CSV file may have at "
                f"most {MOST_CSV_COLUMNS:,}.",
                "Give the rows as an array or a sparse matrix, or write fewer columns.",
            )
        block = max(CSV_BLOCK, 4 * len(record))
        return cls(data, names, dialect=dialect, compression=compression, block=block)

    @property
    def described(self) -> str:
        return str(self.dialect)

    def batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, float]]:
        wanted = self._wanted(columns)
        convert = None if self.dialect.decimal is None else decimal_point(self.dialect.decimal)
        block, done, last = self.block, 0, None
        while True:
            stream, skipped, given = self._stream(), 0, 0
            try:
                for batch in self._reader(stream, wanted, block):
                    given += block
                    if 2 * block > LARGEST_BLOCK:  # a record can be in two blocks
                        self._check_cells(batch, skipped)
                    if skipped < done:  # these rows were given before the blocks became larger
                        n = min(done - skipped, batch.num_rows)
                        batch, skipped = batch.slice(n), skipped + n
                    if not batch.num_rows:
                        continue
                    done, skipped, last = done + batch.num_rows, skipped + batch.num_rows, batch
                    if convert is not None:
                        arrays = [convert(column) for column in batch.columns]
                        batch = pa.record_batch(arrays, names=batch.schema.names)
                    yield batch, stream.share(given)
                break
            except pa.ArrowInvalid as error:
                if "straddl" not in str(error):
                    raise
                if block >= LARGEST_BLOCK or self.data.once:
                    raise self._endless(done) from None
                block = min(4 * block, LARGEST_BLOCK)
        if last is not None and not self.data.once:
            self._check_end(last.slice(last.num_rows - 1), done, block)

    def _wanted(self, columns: list[str]) -> list[str]:
        """The columns to read, with the last one if the end of the file cannot be read by itself.

        A quote that is not closed shows only in the last column: elsewhere it makes a record short.
        """
        return columns if self._has_end or self.names[-1] in columns else [*columns, self.names[-1]]

    @property
    def _has_end(self) -> bool:
        plain = self.compression is None and is_utf8(self.dialect.encoding)
        return plain and isinstance(self.data, FileBytes)

    def _stream(self) -> ByteStream:
        encoding = self.dialect.encoding
        return open_stream(self.data, self.compression, None if is_utf8(encoding) else encoding)

    def _reader(
        self, stream: ByteStream, columns: list[str], block: int,
        note: Callable[[Any], str] | None = None, serial: bool = False,
    ) -> Any:  # fmt: skip
        from pyarrow import csv

        return csv.open_csv(
            stream.file,
            read_options=csv.ReadOptions(block_size=block, use_threads=not serial),
            parse_options=self.dialect.parse_options(
                invalid_row_handler=note,
                ignore_empty_lines=len(self.names) > 1,  # in one column it is an empty cell
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()),
                include_columns=columns,
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    # Errors ----------------------------------------------------------------------------------

    def broken(self, error: Exception, rows: int) -> VerosimError:
        message = first_line(error)
        if "Empty CSV" in message:
            return empty_file(self.data.place)
        if isinstance(error, UnicodeError):
            return VerosimError(
                f"The file {self.data.place!r} cannot be read as {self.dialect.encoding}: "
                f"{message}.",
                "Give the encoding of the file, such as read=dict(encoding='latin-1').",
            )
        if "UTF8" in message and not self.data.once:
            return self._not_utf8()
        if "columns, got" in message and not self.data.once:
            return self._ragged() or super().broken(error, rows)
        return super().broken(error, rows)

    def _ragged(self) -> VerosimError | None:
        """The error for the first row with too few or too many cells. It reads the file again."""
        found: list[Any] = []

        def note(row: Any) -> str:
            found.append(row)
            return "skip"

        try:
            for _ in self._reader(self._stream(), list(self.names[:1]), self.block, note, True):
                if found:
                    break
        except (OSError, ValueError):
            pass
        if not found:
            return None
        row = found[0]
        line = f"record {row.number}" if row.number is not None else "a record"
        return VerosimError(
            f"In the file {self.data.place!r}, {line} has {row.actual_columns} cells, but the "
            f"header has {row.expected_columns}: {row.text[:60]!r}.",
            "Put quotes around cells that contain the delimiter "
            f"({self.dialect.sep!r}, or give read=dict(sep=…)), and check if the file is "
            "truncated.",
        )

    def _not_utf8(self) -> VerosimError:
        """The error for the first bytes that are not UTF-8. It reads the file again."""
        number, rest = 0, b""
        with open_stream(self.data, self.compression).file as file:
            while block := bytes(file.read(CSV_BLOCK)):
                lines = (rest + block).split(b"\n")
                rest = lines.pop()
                for line in lines:
                    number += 1
                    if (error := self._bad_line(line, number)) is not None:
                        return error
        return self._bad_line(rest, number + 1) or VerosimError(
            f"The file {self.data.place!r} is not valid UTF-8.", ENCODING_HINT
        )

    def _bad_line(self, line: bytes, number: int) -> VerosimError | None:
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            before = line[: error.start].count(self.dialect.sep.encode())
            name = self.names[min(before, len(self.names) - 1)]
            return not_utf8_file(
                f"{self.data.place!r}, line {number}, column {name!r}",
                line[error.start : error.start + 4],
            )
        return None

    def _check_end(self, row: pa.RecordBatch, rows: int, block: int) -> None:
        """Raise an error if the file ends inside a quoted cell, which then has all later rows."""
        name = self.names[-1]
        if self._has_end and self._is_last_line(row):
            return
        if name not in row.schema.names:
            for batch in self._reader(self._stream(), [name], block):
                row = batch.slice(batch.num_rows - 1) if batch.num_rows else row
        text = row.column(row.schema.get_field_index(name))[0].as_py()
        if text is None or "\n" not in text:
            return
        end = b""
        with self._stream().file as file:
            while more := bytes(file.read(CSV_BLOCK)):
                end = (end + more)[-LAST_BYTES:]
        if not end.rstrip(b"\r\n").endswith(self.dialect.quote.encode()):
            raise VerosimError(
                f"In the file {self.data.place!r}, row {rows - 1} has a quote that is not closed: "
                f"{text[:40]!r}.",
                "Remove the quote, or give read=dict(quote='') if the file has no quoted cells.",
            )

    def _is_last_line(self, row: pa.RecordBatch) -> bool:
        """Whether the cells of a row are those of the last line of the file."""
        with self.data.open() as file:
            file.seek(max(file.size() - LAST_BYTES, 0))
            end = bytes(file.read(LAST_BYTES)).rstrip(b"\r\n")
        line = end[max(end.rfind(b"\n"), end.rfind(b"\r")) + 1 :]
        cells = dict(zip(self.names, cells_of_record(line, self.dialect), strict=False))
        return all(cells.get(name) == (value or "") for name, (value,) in row.to_pydict().items())

    def _check_cells(self, batch: pa.RecordBatch, rows: int) -> None:
        """Raise an error if a cell of a batch, which begins after some rows, is too large."""
        for column in batch.columns:
            sizes = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
            if len(sizes) and sizes.max() > LARGEST_BLOCK:
                raise self._endless(rows + int(sizes.argmax()))

    def _endless(self, rows: int) -> VerosimError:
        """The error for a cell that is larger than a block."""
        after = f"after row {rows - 1}" if rows else "at the beginning"
        large = "4 MB" if self.data.once else f"{LARGEST_BLOCK >> 20} MB"
        return VerosimError(
            f"The file {self.data.place!r} has a cell of more than {large} {after}.",
            "Check if a quote is not closed; read=dict(quote='') reads quotes as text.",
        )


def encoding_of(data: ByteSource, start: bytes, options: ReadOptions) -> str:
    """The encoding of a text file: given, that of an open text file, or found."""
    if options.encoding is not None:
        return options.encoding
    if data.encoding is not None and not is_utf8(data.encoding):
        return data.encoding
    return find_encoding(start) or "utf-8"


def _check_header(raw: bytes, record: bytes, place: str) -> None:
    """Raise an error if the header is not UTF-8."""
    first = raw.lstrip(b"\r\n")[: len(record)]
    try:
        first.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return
        raise not_utf8_file(f"{place!r}, header", first[error.start : error.start + 4]) from None


def not_utf8_file(place: str, raw: bytes) -> VerosimError:
    """The error for bytes in a CSV file that are not UTF-8."""
    return VerosimError(f"{place}: the bytes {raw!r} are not valid UTF-8.", ENCODING_HINT)
