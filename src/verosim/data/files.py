"""Opens files as one table: a path, a folder, a glob, a list of paths or an open file.

All files have the same columns. Parts of a path such as `year=2024`, below the folder that was
given, are columns too (Hive partitions).
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from verosim.data.byte_streams import (
    ZIP_STARTS,
    ByteSource,
    FileBytes,
    MemberBytes,
    OpenFileBytes,
    open_archive,
)
from verosim.data.cells import kind_of_type
from verosim.data.csv_files import CsvFile
from verosim.data.excel_files import ExcelFile
from verosim.data.file_formats import ArrowFile, File, ParquetFile, empty_file, first_line
from verosim.data.json_lines import JsonLinesFile
from verosim.data.libraries import pa
from verosim.data.read_options import AS_FOUND, ReadOptions
from verosim.data.tables import Rows, Table, check_names, is_open_file
from verosim.errors import VerosimError, listed

FORMATS: dict[str, type[File]] = {
    ".csv": CsvFile, ".tsv": CsvFile, ".txt": CsvFile,
    ".jsonl": JsonLinesFile, ".ndjson": JsonLinesFile,
    ".parquet": ParquetFile, ".pq": ParquetFile,
    ".arrow": ArrowFile, ".feather": ArrowFile, ".ipc": ArrowFile, ".arrows": ArrowFile,
    ".xlsx": ExcelFile, ".xlsm": ExcelFile,
}  # fmt: skip
BY_NAME = {format_.kind: format_ for format_ in FORMATS.values()}
BY_START: dict[bytes, type[File]] = {
    b"PAR1": ParquetFile, b"ARROW1": ArrowFile, b"\xff\xff\xff\xff": ArrowFile,
    b"{": JsonLinesFile,
}  # fmt: skip
PACKED = (".gz", ".bz2", ".zst", ".lz4", ".xz", ".zip")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, eq=False)
class FilePart:
    """A file, and the columns that its path has: one value for all rows."""

    file: File
    constants: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.file.names, *self.constants)

    def read(self, columns: list[str]) -> Iterator[Rows]:
        if not self.constants:
            yield from self.file.read(columns)
            return
        own = [name for name in columns if name not in self.constants]
        for rows in self.file.read(own or list(self.file.names[:1])):
            batch = rows.batch
            arrays = [
                pa.repeat(self.constants[name], batch.num_rows)
                if name in self.constants
                else batch.column(name)
                for name in columns
            ]
            yield Rows(pa.record_batch(arrays, names=columns), rows.start, rows.origin,
                       share=rows.share)  # fmt: skip


def file_rows(
    parts: tuple[FilePart, ...], sizes: list[int], columns: Iterable[str] | None
) -> Iterator[Rows]:
    """The rows of several files in order, with the columns of the first file."""
    wanted = list(parts[0].names if columns is None else columns)
    total, before = sum(sizes), 0
    for part, size in zip(parts, sizes, strict=True):
        for rows in part.read(wanted):
            share = (before + rows.share * size) / total if rows.share and total else 0.0
            yield Rows(rows.batch, rows.start, rows.origin, share=share)
        before += size


def _spread(parts: tuple[FilePart, ...]) -> Callable[[int], Iterator[Rows]] | None:
    """The function that reads rows of all row groups, if all files are Parquet."""
    if all(isinstance(part.file, ParquetFile) and not part.constants for part in parts):
        return partial(spread_file_rows, parts)
    return None


def spread_file_rows(parts: tuple[FilePart, ...], count: int) -> Iterator[Rows]:
    """About `count` rows: the first rows of row groups at equal distances in all files."""
    files = [part.file for part in parts if isinstance(part.file, ParquetFile)]
    groups = [(file, group) for file in files for group in range(file.row_groups())]
    chosen = groups[:: max(1, len(groups) // count)]
    share = -(-count // max(len(chosen), 1))
    for file, group in chosen:
        yield from file.first_of_group(group, share, list(parts[0].names))


def open_files(source: Any, options: ReadOptions = AS_FOUND) -> Table:
    """Open a file, a folder, a glob, a list of them or an open file as one table."""
    found = _byte_sources(source)
    unpacked = [(one, constants) for data, constants in found for one in _members(data)]
    files = [(open_file(data, options), constants) for data, constants in unpacked]
    constants = _typed_constants(files)
    parts = tuple(FilePart(file, own) for (file, _), own in zip(files, constants, strict=True))
    first = parts[0]
    for other in parts[1:]:
        _check_same(first, other)
    known = [part.file.rows for part in parts]
    rows = None if any(n is None for n in known) else sum(n or 0 for n in known)
    sizes = [part.file.data.size or 0 for part in parts] if rows is None else [0] * len(parts)
    return Table(
        first.names, partial(file_rows, parts, sizes), rows, typed=first.file.typed,
        coded=first.file.kind == "parquet", read_spread=_spread(parts),
        once=any(part.file.data.once for part in parts),
        dialect="; ".join(dict.fromkeys(p.file.described for p in parts if p.file.described)),
    )  # fmt: skip


# Paths -------------------------------------------------------------------------------------------


def _byte_sources(source: Any) -> list[tuple[ByteSource, dict[str, str]]]:
    """The files of a source, each with the partition columns of its path."""
    if is_open_file(source):
        return [(OpenFileBytes(source), {})]
    if isinstance(source, list | tuple):
        paths = [path for one in source for path in find_files(one)]
        root = Path(os.path.commonpath([path.parent for path in paths]))
    else:
        paths, root = find_files(source), _root(source)
    return [(_bytes_of(path), _partitions(path, root)) for path in paths]


def _bytes_of(path: Path) -> ByteSource:
    """The bytes of a file. A named pipe is an open file, which can be read only once."""
    if not path.is_fifo():
        return FileBytes(path)
    # Python opens it, because Arrow cannot be interrupted while it waits for a writer.
    return OpenFileBytes(path.open("rb"))


def is_path_of_table(text: Any) -> bool:
    """Whether a text is the path of an existing file with the extension of a table."""
    if isinstance(text, Path):
        return True
    if not isinstance(text, str) or len(text) > 4096 or "\n" in text:
        return False
    return _format(Path(text)) is not None and (bool(set("*?[") & set(text)) or Path(text).exists())


def _root(source: str | Path) -> Path:
    """The folder below which parts of a path are columns."""
    path = Path(source).expanduser()
    fixed: list[str] = []
    for part in path.parts:
        if any(mark in part for mark in "*?[") and not path.exists():
            return Path(*fixed)
        fixed.append(part)
    return path if path.is_dir() else path.parent


def _partitions(path: Path, root: Path) -> dict[str, str]:
    """The columns in the folders of a path: `year=2024/month=01` is year and month."""
    try:
        folders = path.parent.relative_to(root).parts
    except ValueError:
        return {}
    pairs = [folder.partition("=") for folder in folders]
    return {unquote(name): unquote(value) for name, mark, value in pairs if name and mark}


def _typed_constants(files: list[tuple[File, dict[str, str]]]) -> list[dict[str, Any]]:
    """The partition columns of each file as Arrow values.

    In a table with types, a column is a number if all its texts are how the number is printed.
    A column of the file itself is kept.
    """
    out: list[dict[str, Any]] = [{} for _ in files]
    for name in dict.fromkeys(name for _, found in files for name in found):
        texts = {found.get(name) for _, found in files} - {None, NO_VALUE}
        whole = files[0][0].typed and all(_prints_as_integer(str(text)) for text in texts)
        type_ = pa.int64() if whole and texts else pa.string()
        for (file, found), constants in zip(files, out, strict=True):
            if name in found and name not in file.names:
                value: Any = None if found[name] in (NO_VALUE, "") else found[name]
                value = int(value) if whole and value is not None else value
                constants[name] = pa.scalar(value, type_)
    return out


def _prints_as_integer(text: str) -> bool:
    return text.lstrip("-").isdecimal() and text.isascii() and len(text) < 19 and (
        str(int(text)) == text
    )  # fmt: skip


def is_path(text: str) -> bool:
    """Whether a text may be meant as the path of a file, and not as a text to read."""
    try:
        return Path(text).exists() or re.search(r"\.[A-Za-z0-9]{2,8}$", text) is not None
    except (OSError, ValueError):  # too long, or with a zero byte
        return False


def find_files(source: str | Path) -> list[Path]:
    """The files of a path, a folder or a glob, in order."""
    if not isinstance(source, str | os.PathLike):
        raise VerosimError(
            f"A list of files must have paths only; got {type(source).__name__}.",
            "Give all items as paths, or all as tables.",
        )
    path = Path(source).expanduser()
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError):  # such as a text that is too long for a path
        is_folder = exists = False
    if is_folder:
        try:
            inside = [p for p in path.rglob("*") if not p.is_dir()]
        except OSError as error:
            what = f"The folder {str(path)!r} cannot be read: {error.strerror}."
            raise VerosimError(what, "Check the path and its permissions.") from error
        found = sorted(p for p in inside if not _hidden(p, path))
        if not found:
            raise VerosimError(f"The folder {str(path)!r} contains no files.", "Check the path.")
    elif exists:
        return [path]
    elif any(mark in str(source) for mark in "*?["):
        found = sorted(Path(p) for p in glob.glob(str(path), recursive=True))
        found = [p for p in found if not p.is_dir()]
        if not found:
            raise VerosimError(f"No file matches {str(source)!r}.", "Check the pattern.")
    else:
        shown = str(source) if len(str(source)) < 200 else str(source)[:200] + "…"
        raise VerosimError(
            f"The file {shown!r} does not exist.",
            "Give the path of a CSV, Parquet or Arrow file, or a folder or glob of such files.",
        )
    unknown = [p.name for p in found if _format(p) is None and p.suffix.lower() != ".zip"]
    if unknown:
        raise VerosimError(
            f"{str(source)!r} contains files that are not tables: {listed(unknown)}.",
            "Select the tables with a glob, such as 'folder/*.parquet'.",
        )
    return found


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _format(path: Path) -> type[File] | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


# Formats -----------------------------------------------------------------------------------------


def _members(data: ByteSource) -> list[ByteSource]:
    """The tables in a zip archive, or the file itself if it is not an archive."""
    suffix = Path(data.name).suffix.lower()
    if suffix in FORMATS and not FORMATS[suffix].streams:
        return [data]
    try:
        if not data.first_bytes(4).startswith(ZIP_STARTS):
            return [data]
        if data.once:  # the list of the members is at the end of the archive
            data = data.held()
        with open_archive(data) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
    except Exception as error:
        raise cannot_open(data, "a zip archive" if suffix == ".zip" else "a file", error) from None
    if any(info.filename == "[Content_Types].xml" for info in infos):  # Excel
        return [data]
    members: list[ByteSource] = [
        MemberBytes(data, info.filename, info.file_size)
        for info in sorted(infos, key=lambda info: info.filename)
        if not any(part.startswith((".", "__")) for part in Path(info.filename).parts)
    ]
    if not members:
        raise VerosimError(f"The archive {data.place!r} contains no files.", "Check the path.")
    unknown = [one.name for one in members if _format(Path(one.name)) is None]
    if unknown and len(members) > 1:
        raise VerosimError(
            f"{data.place!r} contains files that are not tables: {listed(unknown)}.",
            "Unpack the archive and select the tables with a glob.",
        )
    return members


def _format_of(data: ByteSource, options: ReadOptions) -> type[File]:
    """The format of a file: given, by the extension, or by the first bytes of an open file."""
    if options.format is not None:
        if options.format not in BY_NAME:
            raise VerosimError(
                f"format must be one of {', '.join(map(repr, BY_NAME))}; got {options.format!r}."
            )
        return BY_NAME[options.format]
    archive = data.archive.name if isinstance(data, MemberBytes) else data.name
    by_name = _format(Path(data.name)) or _format(Path(archive))
    if by_name is None and isinstance(data, FileBytes | MemberBytes):
        raise VerosimError(
            f"The file {data.place!r} has no known file extension.",
            f"Use one of {', '.join(FORMATS)} (text files may add .gz, .bz2, .xz, .zst or .zip), "
            "or give the format, such as read=dict(format='csv').",
        )
    if by_name is not None and not by_name.streams:
        return by_name
    start = data.first_bytes(8)
    if start.startswith(ZIP_STARTS):  # an archive of tables was unpacked before
        by_start: type[File] | None = ExcelFile
    else:
        by_start = next((f for mark, f in BY_START.items() if start.startswith(mark)), None)
    if by_name is None:
        return by_start or CsvFile
    if by_start in (ParquetFile, ExcelFile):
        raise VerosimError(
            f"The file {data.place!r} is not a text file: its first bytes are those of "
            f"{by_start.kind}.",
            f"Rename the file, or give read=dict(format={by_start.kind!r}).",
        )
    return by_name


def open_file(data: ByteSource, options: ReadOptions = AS_FOUND) -> File:
    """Open one file by its format."""
    format_ = None
    try:
        format_ = _format_of(data, options)
        options.check(format_.options, data.place, format_.kind)
        if data.size == 0:
            raise empty_file(data.place)
        data = data.held() if data.once and not format_.streams else data
        file = format_.open(data, options)
        check_names(file.names)
    except VerosimError as error:
        if data.name in error.what:
            raise
        raise VerosimError(f"{data.place!r}: {error.what}", error.hint) from None
    except MemoryError:
        raise
    except Exception as error:  # of Arrow, of a codec, of an archive, of an open file
        raise cannot_open(data, format_.kind if format_ else "a file", error) from None
    return file


def cannot_open(data: ByteSource, kind: str, error: Exception) -> VerosimError:
    """The error for a file that cannot be opened."""
    return VerosimError(
        f"The file {data.place!r} cannot be read as {kind}: {first_line(error)}.",
        "Check if the file is truncated or damaged, has another format, or needs permission.",
    )


def _check_same(first: FilePart, other: FilePart) -> None:
    """Check that two files of one table have the same columns and similar types."""
    here, there = first.file.data, other.file.data
    odd = sorted(set(first.names) ^ set(other.names))
    if odd:
        raise VerosimError(
            f"The files {there.place!r} and {here.name!r} differ in the columns {listed(odd)}.",
            "Give files with the same columns.",
        )
    types = other.file.types()
    for name, mine in first.file.types().items():
        if name in types and kind_of_type(mine) != kind_of_type(types[name]):
            kinds = {kind_of_type(mine), kind_of_type(types[name])}
            if "nothing" not in kinds:
                raise VerosimError(
                    f"Column {name!r} is {types[name]} in {there.place!r} and {mine} in "
                    f"{here.name!r}.",
                    "Write the column with the same type in all files.",
                )
    if first.file.typed != other.file.typed:
        raise VerosimError(
            f"The files {here.name!r} and {there.name!r} have different formats.",
            "Select files of one format with a glob, such as 'folder/*.parquet'.",
        )
