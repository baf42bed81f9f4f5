"""The file formats CSV, Parquet and Arrow. Each is read in batches of rows.

The cells of a CSV file are read as text. The schema decides later what they mean. Every error names
the file and, if it is known, the row.
"""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from verosim.data.cells import is_text
from verosim.data.libraries import pa
from verosim.data.tables import BATCH_ROWS, Rows, numbered
from verosim.errors import VerosimError

CSV_BLOCK = 1 << 22  # bytes
UTF8_HINT = "Save the file as UTF-8, or read it with pandas.read_csv(encoding=…)."


@dataclass(frozen=True, eq=False)
class File(ABC):
    """One file: its column names, its types and how its rows are read. It keeps no open handle."""

    path: Path
    names: tuple[str, ...]
    rows: int | None = None  # the number of rows, if known
    schema: pa.Schema | None = None  # the types of the columns, if the file stores them
    kind: ClassVar[str]

    @classmethod
    @abstractmethod
    def open(cls, path: Path) -> File:
        """Read the header of a file."""

    def types(self) -> dict[str, Any]:
        schema = self.schema
        return {} if schema is None else dict(zip(schema.names, schema.types, strict=True))

    @abstractmethod
    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]: ...

    def read(self, columns: Iterable[str] | None, order: tuple[str, ...]) -> Iterator[Rows]:
        wanted = list(order if columns is None else columns)
        batches = (batch.select(wanted) for batch in self._guarded(wanted))
        return numbered(batches, f" of {self.path.name}")

    def _guarded(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        batches, done = iter(self.batches(columns)), 0
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                return
            except (OSError, ValueError) as error:  # the errors of pyarrow derive from these
                if isinstance(error, VerosimError):
                    raise
                raise self.broken(error, done) from None
            done += batch.num_rows
            yield batch

    def broken(self, error: Exception, rows: int) -> VerosimError:
        after = f" after row {rows - 1}" if rows else ""
        return VerosimError(
            f"The file {str(self.path)!r} cannot be read{after}: {first_line(error)}.",
            "Check if the file is truncated or damaged; the model was not changed.",
        )


@dataclass(frozen=True, eq=False)
class CsvFile(File):
    """A CSV file with a header. The delimiter is the most frequent candidate in the header."""

    delimiter: str = ","
    kind = "csv"

    @classmethod
    def open(cls, path: Path) -> CsvFile:
        names, delimiter = _header(path)
        return cls(path, names, delimiter=delimiter)

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self._reader(columns)

    def _reader(
        self, columns: list[str], note: Callable[[Any], str] | None = None, serial: bool = False
    ) -> Any:
        from pyarrow import csv as arrow_csv

        return arrow_csv.open_csv(
            self.path,
            read_options=arrow_csv.ReadOptions(block_size=CSV_BLOCK, use_threads=not serial),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=True,
                invalid_row_handler=note,
                ignore_empty_lines=len(self.names) > 1,  # in one column it is an empty cell
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()),
                include_columns=columns,
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    def broken(self, error: Exception, rows: int) -> VerosimError:
        message = first_line(error)
        if "Empty CSV" in message:
            return empty_file(self.path)
        if "UTF8" in message:
            return self._not_utf8()
        if "columns, got" in message:
            return self._ragged() or super().broken(error, rows)
        return super().broken(error, rows)

    def _ragged(self) -> VerosimError | None:
        """The error for the first row with too few or too many cells. It reads the file again."""
        found: list[Any] = []

        def note(row: Any) -> str:
            found.append(row)
            return "skip"

        try:
            for _ in self._reader(list(self.names[:1]), note, serial=True):
                if found:
                    break
        except (OSError, ValueError):
            pass
        if not found:
            return None
        row = found[0]
        line = f"record {row.number}" if row.number is not None else "a record"
        return VerosimError(
            f"In the file {str(self.path)!r}, {line} has {row.actual_columns} cells, but the "
            f"header has {row.expected_columns}: {row.text[:60]!r}.",
            "Put quotes around cells that contain the delimiter, and check if the file is "
            "truncated.",
        )

    def _not_utf8(self) -> VerosimError:
        with open_bytes(self.path) as file:
            for number, line in enumerate(file.read().split(b"\n")):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    before = line[: error.start].count(self.delimiter.encode())
                    name = self.names[min(before, len(self.names) - 1)]
                    return not_utf8_file(
                        f"{str(self.path)!r}, line {number + 1}, column {name!r}",
                        line[error.start : error.start + 4],
                    )
        return VerosimError(f"The file {str(self.path)!r} is not valid UTF-8.", UTF8_HINT)


class ParquetFile(File):
    """A Parquet file."""

    kind = "parquet"

    @classmethod
    def open(cls, path: Path) -> ParquetFile:
        from pyarrow import parquet

        file = parquet.ParquetFile(path)
        schema = file.schema_arrow
        return cls(path, tuple(schema.names), file.metadata.num_rows, schema)

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        from pyarrow import parquet

        # Texts are read as dictionaries: each distinct text is converted once per batch.
        words = [name for name, type_ in self.types().items() if is_text(type_)]
        file = parquet.ParquetFile(self.path, read_dictionary=words, pre_buffer=False)
        yield from file.iter_batches(BATCH_ROWS, columns=columns)


class ArrowFile(File):
    """A file in the Arrow IPC format, or an Arrow stream in a file."""

    kind = "arrow"

    @classmethod
    def open(cls, path: Path) -> ArrowFile:
        with cls._reader(path) as reader:
            schema = reader.schema
        return cls(path, tuple(schema.names), schema=schema)

    @staticmethod
    def _reader(path: Path) -> Any:
        try:
            return pa.ipc.open_file(pa.OSFile(str(path)))
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(pa.OSFile(str(path)))

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        with self._reader(self.path) as reader:
            if hasattr(reader, "num_record_batches"):
                for i in range(reader.num_record_batches):
                    yield reader.get_batch(i)
            else:
                yield from reader


def open_bytes(path: Path) -> Any:
    return pa.input_stream(str(path), compression="detect")


def _header(path: Path) -> tuple[tuple[str, ...], str]:
    """The names in the first line, and the delimiter between them."""
    with open_bytes(path) as file:
        start = file.read(1 << 20)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise VerosimError(f"The file {str(path)!r} is UTF-16, not UTF-8.", UTF8_HINT)
    first = start.lstrip(b"\r\n").split(b"\n", 1)[0]
    try:
        first.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad = first[error.start : error.start + 4]
        raise not_utf8_file(f"{str(path)!r}, header", bad) from None
    text = start.decode("utf-8-sig", errors="replace").lstrip("\r\n")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise empty_file(path)
    line = text.split("\n", 1)[0]
    outside = "".join(line.split('"')[::2])
    delimiter = "\t" if ".tsv" in path.name.lower() else max(",;\t|", key=outside.count)
    return tuple(next(csv.reader(io.StringIO(text), delimiter=delimiter))), delimiter


def first_line(error: Exception) -> str:
    """The first line of the message of another library's error, without a full stop."""
    return str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__


def empty_file(path: Path) -> VerosimError:
    """The error for a file without a header and rows."""
    return VerosimError(f"The file {str(path)!r} is empty.", "Give a file with a header and rows.")


def not_utf8_file(place: str, raw: bytes) -> VerosimError:
    """The error for bytes in a CSV file that are not UTF-8."""
    return VerosimError(f"{place}: the bytes {raw!r} are not valid UTF-8.", UTF8_HINT)
