"""The file formats CSV, JSON lines, Parquet, Arrow and Excel. Each is read in batches of rows.

The cells of a CSV file are read as text. The schema decides later what they mean. Every error names
the file and, if it is known, the row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from verosim.data.byte_streams import ByteSource
from verosim.data.cells import is_text
from verosim.data.libraries import pa
from verosim.data.read_options import ReadOptions
from verosim.data.tables import Rows, rows_of_batch
from verosim.errors import VerosimError


@dataclass(frozen=True, eq=False)
class File(ABC):
    """One file: its column names, its types and how its rows are read. It keeps no open handle."""

    data: ByteSource
    names: tuple[str, ...]
    rows: int | None = None  # the number of rows, if known
    schema: pa.Schema | None = None  # the types of the columns, if the file stores them
    kind: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()  # the options of `read=` that apply
    typed: ClassVar[bool] = True  # False if all cells are text
    streams: ClassVar[bool] = False  # whether it can be read from the beginning to the end

    @classmethod
    @abstractmethod
    def open(cls, data: ByteSource, options: ReadOptions) -> File:
        """Read the header of a file."""

    @property
    def described(self) -> str:
        """What was found out about the file, for the printed schema."""
        return ""

    def types(self) -> dict[str, Any]:
        schema = self.schema
        return {} if schema is None else dict(zip(schema.names, schema.types, strict=True))

    @abstractmethod
    def batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Batches of rows, and the share of the file that was read so far (0 if unknown)."""

    def read(self, columns: list[str]) -> Iterator[Rows]:
        """The rows with the given columns, in slices of at most `rows_of_batch` rows."""
        start, origin = 0, f" of {self.data.name}"
        for batch, share in self._guarded(columns):
            batch = batch.select(columns)
            step = rows_of_batch(len(columns))
            for at in range(0, batch.num_rows, step):
                part = batch.slice(at, step)
                yield Rows(part, start, origin, share=share)
                start += part.num_rows

    def _guarded(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, float]]:
        batches, done = iter(self.batches(columns)), 0
        while True:
            try:
                batch, share = next(batches)
            except StopIteration:
                self.data.check_unchanged()
                return
            except MemoryError:
                raise
            except Exception as error:  # of Arrow, of a codec, of an archive, of an open file
                self.data.check_unchanged()
                if isinstance(error, VerosimError):
                    raise
                raise self.broken(error, done) from None
            done += batch.num_rows
            yield batch, share

    def broken(self, error: Exception, rows: int) -> VerosimError:
        """The error for a file that cannot be read on, after some rows."""
        after = f" after row {rows - 1}" if rows else ""
        return VerosimError(
            f"The file {self.data.place!r} cannot be read{after}: {first_line(error)}.",
            "Check if the file is truncated or damaged; the model was not changed.",
        )


@dataclass(frozen=True, eq=False)
class ParquetFile(File):
    """A Parquet file."""

    footer: Any = None  # its metadata: of many columns, reading them takes long
    kind = "parquet"

    @classmethod
    def open(cls, data: ByteSource, options: ReadOptions) -> ParquetFile:
        from pyarrow import parquet

        file = parquet.ParquetFile(data.open_to_seek())
        schema = file.schema_arrow
        return cls(data, tuple(schema.names), file.metadata.num_rows, schema, file.metadata)

    def batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, float]]:
        from pyarrow import parquet

        # Texts are read as dictionaries: each distinct text is converted once per batch.
        words = [name for name, type_ in self.types().items() if is_text(type_)]
        file = parquet.ParquetFile(
            self.data.open_to_seek(), metadata=self.footer, read_dictionary=words, pre_buffer=False
        )
        for batch in file.iter_batches(rows_of_batch(len(columns)), columns=columns):
            yield batch, 0.0

    def row_groups(self) -> int:
        """The number of row groups."""
        from pyarrow import parquet

        return int(parquet.ParquetFile(self.data.open_to_seek()).metadata.num_row_groups)

    def first_of_group(self, group: int, count: int, columns: list[str]) -> Iterator[Rows]:
        """The first rows of a row group."""
        from pyarrow import parquet

        file = parquet.ParquetFile(self.data.open_to_seek())
        start = sum(file.metadata.row_group(i).num_rows for i in range(group))
        try:
            for batch in file.iter_batches(count, row_groups=[group], columns=columns):
                yield Rows(batch, start, f" of {self.data.name}")
                return
        except pa.ArrowException as error:
            raise self.broken(error, start) from None


class ArrowFile(File):
    """A file in the Arrow IPC format, or an Arrow stream in a file."""

    kind = "arrow"

    @classmethod
    def open(cls, data: ByteSource, options: ReadOptions) -> ArrowFile:
        with cls._reader(data) as reader:
            schema = reader.schema
        return cls(data, tuple(schema.names), schema=schema)

    @staticmethod
    def _reader(data: ByteSource) -> Any:
        try:
            return pa.ipc.open_file(_openable(data))
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(_openable(data))

    def batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, float]]:
        with self._reader(self.data) as reader:
            if hasattr(reader, "num_record_batches"):
                for i in range(reader.num_record_batches):
                    yield reader.get_batch(i), (i + 1) / reader.num_record_batches
            else:
                for batch in reader:
                    yield batch, 0.0


def _openable(data: ByteSource) -> Any:
    """The bytes for Arrow's readers, which do not take a path."""
    file = data.open_to_seek()
    return file if hasattr(file, "read") else pa.OSFile(str(file))


def first_line(error: Exception) -> str:
    """The first line of the message of another library's error, without a full stop."""
    return str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__


def empty_file(place: str) -> VerosimError:
    """The error for a file without a header and rows."""
    return VerosimError(f"The file {place!r} is empty.", "Give a file with a header and rows.")
