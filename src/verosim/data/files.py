"""Files as tables: CSV, Parquet and Arrow, one, a folder, or a glob of them, read in pieces.

CSV cells stay the text they are: what they mean is the schema's business, not the reader's.
Every error names the file and, where it is known, the row.
"""

from __future__ import annotations

import csv
import glob
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verosim.data.cells import is_text, kind_of_type
from verosim.data.tables import BATCH_ROWS, Rows, Table, check_names, numbered
from verosim.errors import VerosimError, listed

if TYPE_CHECKING:
    import pyarrow as pa

CSV_BLOCK = 1 << 22  # bytes
FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".arrows": "arrow",
}  # fmt: skip
PACKED = (".gz", ".bz2", ".zst", ".lz4")


def open_files(source: str | Path) -> Table:
    """The table of a file, a folder or a glob."""
    paths = find_files(source)
    readers = [open_file(path) for path in paths]
    first = readers[0]
    for reader in readers[1:]:
        _check_same(first, reader)

    def read(columns: Iterable[str] | None) -> Iterator[Rows]:
        for reader in readers:
            yield from reader.read(columns, first.names)

    known = [reader.rows for reader in readers]
    rows = None if any(n is None for n in known) else sum(n or 0 for n in known)
    kind = first.kind
    return Table(first.names, read, rows, typed=kind != "csv", coded=kind == "parquet")


def find_files(source: str | Path) -> list[Path]:
    path = Path(source).expanduser()
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if not p.is_dir() and not _hidden(p, path))
        if not found:
            raise VerosimError(f"The folder {str(path)!r} holds no files.", "is it the right one?")
    elif path.exists():
        return [path]
    elif any(mark in str(source) for mark in "*?["):
        found = sorted(Path(p) for p in glob.glob(str(path), recursive=True))
        found = [p for p in found if not p.is_dir()]
        if not found:
            raise VerosimError(f"No file matches {str(source)!r}.", "check the pattern.")
    else:
        raise VerosimError(
            f"There is no file {str(source)!r}.",
            "give the path of a CSV, Parquet or Arrow file, a folder or a glob of them.",
        )
    strange = [p.name for p in found if _format(p) is None]
    if strange:
        raise VerosimError(
            f"{str(source)!r} holds files that are no tables: {listed(strange)}.",
            "name the tables with a glob, such as 'folder/*.parquet'.",
        )
    return found


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _format(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


class File(ABC):
    """One file: its names, its types, and its rows."""

    kind = ""

    def __init__(self, path: Path, names: tuple[str, ...], rows: int | None = None) -> None:
        self.path, self.names, self.rows = path, names, rows

    def types(self) -> dict[str, Any]:
        return {}

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
            except (OSError, ValueError) as error:  # pyarrow's errors are among them
                if isinstance(error, VerosimError):
                    raise
                raise self.broken(error, done) from None
            done += batch.num_rows
            yield batch

    def broken(self, error: Exception, rows: int) -> VerosimError:
        after = f" after row {rows - 1}" if rows else ""
        return VerosimError(
            f"{str(self.path)!r} cannot be read{after}: {_first_line(error)}",
            "the file may be truncated or damaged; nothing was learnt from it.",
        )


class CsvFile(File):
    """Text all over; a header is needed, and the delimiter is the one the header has most of."""

    kind = "csv"

    def __init__(self, path: Path) -> None:
        names, self.delimiter = _header(path)
        super().__init__(path, names)

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self._reader(columns)

    def _reader(
        self, columns: list[str], note: Callable[[Any], str] | None = None, serial: bool = False
    ) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        return arrow_csv.open_csv(
            self.path,
            read_options=arrow_csv.ReadOptions(block_size=CSV_BLOCK, use_threads=not serial),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=True,
                invalid_row_handler=note,
                ignore_empty_lines=len(self.names) > 1,  # else it is an empty cell
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()),
                include_columns=columns,
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    def broken(self, error: Exception, rows: int) -> VerosimError:
        message = _first_line(error)
        if "Empty CSV" in message:
            return VerosimError(f"{str(self.path)!r} is empty.", "a header and rows are needed.")
        if "UTF8" in message:
            return self._not_utf8()
        if "columns, got" in message:
            return self._ragged() or super().broken(error, rows)
        return super().broken(error, rows)

    def _ragged(self) -> VerosimError | None:
        """The first row with too few or too many cells, found by reading once more."""
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
            f"{str(self.path)!r}, {line}: {row.actual_columns} cells where the header has "
            f"{row.expected_columns}: {row.text[:60]!r}.",
            "quote cells that hold the delimiter; a file cut short ends like this too.",
        )

    def _not_utf8(self) -> VerosimError:
        with open_bytes(self.path) as file:
            for number, line in enumerate(file.read().split(b"\n")):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    before = line[: error.start].count(self.delimiter.encode())
                    name = self.names[min(before, len(self.names) - 1)]
                    return VerosimError(
                        f"{str(self.path)!r}, line {number + 1}, column {name!r}: the bytes "
                        f"{line[error.start : error.start + 4]!r} are not valid UTF-8.",
                        "save the file as UTF-8, or read it with pandas.read_csv(encoding=…).",
                    )
        return VerosimError(f"{str(self.path)!r} is not valid UTF-8.", "save it as UTF-8.")


class ParquetFile(File):
    kind = "parquet"

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        file = parquet.ParquetFile(path)
        self.schema = file.schema_arrow
        super().__init__(path, tuple(self.schema.names), file.metadata.num_rows)

    def types(self) -> dict[str, Any]:
        return dict(zip(self.schema.names, self.schema.types, strict=True))

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        from pyarrow import parquet

        # Words come as dictionaries: each distinct one is met once a batch, not once a row.
        words = [name for name, type_ in self.types().items() if is_text(type_)]
        file = parquet.ParquetFile(self.path, read_dictionary=words, pre_buffer=False)
        yield from file.iter_batches(BATCH_ROWS, columns=columns)


class ArrowFile(File):
    kind = "arrow"

    def __init__(self, path: Path) -> None:
        with self._open(path) as reader:
            self.schema = reader.schema
        super().__init__(path, tuple(self.schema.names))

    @staticmethod
    def _open(path: Path) -> Any:
        import pyarrow as pa

        try:
            return pa.ipc.open_file(pa.OSFile(str(path)))
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(pa.OSFile(str(path)))

    def types(self) -> dict[str, Any]:
        return dict(zip(self.schema.names, self.schema.types, strict=True))

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        with self._open(self.path) as reader:
            if hasattr(reader, "num_record_batches"):
                for i in range(reader.num_record_batches):
                    yield reader.get_batch(i)
            else:
                yield from reader


KINDS: dict[str, Callable[[Path], File]] = {
    "csv": CsvFile,
    "parquet": ParquetFile,
    "arrow": ArrowFile,
}


def open_file(path: Path) -> File:
    kind = _format(path)
    if kind is None:
        raise VerosimError(
            f"{str(path)!r} does not say what it is.",
            f"name it with one of {', '.join(FORMATS)} (and .gz where it is CSV).",
        )
    try:
        if path.stat().st_size == 0:
            raise VerosimError(f"{str(path)!r} is empty.", "a header and rows are needed.")
        file = KINDS[kind](path)
        check_names(file.names)
    except VerosimError as error:
        if path.name in error.what:
            raise
        raise VerosimError(f"{str(path)!r}: {error.what}", error.hint) from None
    except (OSError, ValueError) as error:
        raise VerosimError(
            f"{str(path)!r} cannot be read as {kind}: {_first_line(error)}",
            "the file may be truncated, damaged, of another format, or not yours to read.",
        ) from None
    return file


def open_bytes(path: Path) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(path), compression="detect")


def _header(path: Path) -> tuple[tuple[str, ...], str]:
    """The names in the first line, and the delimiter that parts them."""
    with open_bytes(path) as file:
        start = file.read(1 << 20)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise VerosimError(f"{str(path)!r} is UTF-16.", "save it as UTF-8.")
    first = start.lstrip(b"\r\n").split(b"\n", 1)[0]
    try:
        first.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise VerosimError(
            f"{str(path)!r}, header: the bytes {first[error.start : error.start + 4]!r} are not "
            "valid UTF-8.",
            "save the file as UTF-8, or read it with pandas.read_csv(encoding=…).",
        ) from None
    text = start.decode("utf-8-sig", errors="replace").lstrip("\r\n")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise VerosimError(f"{str(path)!r} is empty.", "a header and rows are needed.")
    line = text.split("\n", 1)[0]
    outside = "".join(line.split('"')[::2])
    delimiter = "\t" if ".tsv" in path.name.lower() else max(",;\t|", key=outside.count)
    return tuple(next(csv.reader(io.StringIO(text), delimiter=delimiter))), delimiter


def _check_same(first: File, other: File) -> None:
    """Two files of one table: the same columns, of types that go together."""
    odd = sorted(set(first.names) ^ set(other.names))
    if odd:
        raise VerosimError(
            f"{str(other.path)!r} has other columns than {first.path.name!r}: {listed(odd)}.",
            "the files of one table have the same columns.",
        )
    types = other.types()
    for name, mine in first.types().items():
        if name in types and kind_of_type(mine) != kind_of_type(types[name]):
            kinds = {kind_of_type(mine), kind_of_type(types[name])}
            if "nothing" not in kinds:
                raise VerosimError(
                    f"Column {name!r} is {types[name]} in {str(other.path)!r} and {mine} in "
                    f"{first.path.name!r}.",
                    "write the files with one schema.",
                )
    if (first.kind == "csv") != (other.kind == "csv"):
        raise VerosimError(
            f"{first.path.name!r} and {other.path.name!r} are of different formats.",
            "read one format at a time, with a glob such as 'folder/*.parquet'.",
        )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
