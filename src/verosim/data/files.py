"""Opens one file, a folder or a glob of files as a table. All files have the same columns."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from verosim.data.cells import kind_of_type
from verosim.data.file_formats import (
    ArrowFile,
    CsvFile,
    File,
    ParquetFile,
    empty_file,
    first_line,
)
from verosim.data.tables import Rows, Table, check_names
from verosim.errors import VerosimError, listed

FORMATS: dict[str, type[File]] = {
    ".csv": CsvFile, ".tsv": CsvFile, ".txt": CsvFile,
    ".parquet": ParquetFile, ".pq": ParquetFile,
    ".arrow": ArrowFile, ".feather": ArrowFile, ".ipc": ArrowFile, ".arrows": ArrowFile,
}  # fmt: skip
PACKED = (".gz", ".bz2", ".zst", ".lz4")


def file_rows(files: tuple[File, ...], columns: Iterable[str] | None) -> Iterator[Rows]:
    """The rows of several files in order, with the columns of the first file."""
    for file in files:
        yield from file.read(columns, files[0].names)


def open_files(source: str | Path) -> Table:
    """Open a file, a folder or a glob as one table."""
    paths = find_files(source)
    files = tuple(open_file(path) for path in paths)
    first = files[0]
    for other in files[1:]:
        _check_same(first, other)
    known = [file.rows for file in files]
    rows = None if any(n is None for n in known) else sum(n or 0 for n in known)
    kind = first.kind
    return Table(
        first.names, partial(file_rows, files), rows, typed=kind != "csv", coded=kind == "parquet"
    )


def is_path(text: str) -> bool:
    """Whether a text may be meant as the path of a file, and not as a text to read."""
    try:
        return Path(text).exists() or re.search(r"\.[A-Za-z0-9]{2,8}$", text) is not None
    except (OSError, ValueError):  # too long, or with a zero byte
        return False


def find_files(source: str | Path) -> list[Path]:
    path = Path(source).expanduser()
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if not p.is_dir() and not _hidden(p, path))
        if not found:
            raise VerosimError(f"The folder {str(path)!r} contains no files.", "Check the path.")
    elif path.exists():
        return [path]
    elif any(mark in str(source) for mark in "*?["):
        found = sorted(Path(p) for p in glob.glob(str(path), recursive=True))
        found = [p for p in found if not p.is_dir()]
        if not found:
            raise VerosimError(f"No file matches {str(source)!r}.", "Check the pattern.")
    else:
        raise VerosimError(
            f"The file {str(source)!r} does not exist.",
            "Give the path of a CSV, Parquet or Arrow file, or a folder or glob of such files.",
        )
    unknown = [p.name for p in found if _format(p) is None]
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


def open_file(path: Path) -> File:
    format_ = _format(path)
    if format_ is None:
        raise VerosimError(
            f"The file {str(path)!r} has no known file extension.",
            f"Use one of {', '.join(FORMATS)} (compressed CSV files may add .gz).",
        )
    try:
        if path.stat().st_size == 0:
            raise empty_file(path)
        file = format_.open(path)
        check_names(file.names)
    except VerosimError as error:
        if path.name in error.what:
            raise
        raise VerosimError(f"{str(path)!r}: {error.what}", error.hint) from None
    except (OSError, ValueError) as error:
        raise VerosimError(
            f"The file {str(path)!r} cannot be read as {format_.kind}: {first_line(error)}.",
            "Check if the file is truncated or damaged, has another format, or needs permission.",
        ) from None
    return file


def _check_same(first: File, other: File) -> None:
    """Check that two files of one table have the same columns and similar types."""
    odd = sorted(set(first.names) ^ set(other.names))
    if odd:
        raise VerosimError(
            f"The files {str(other.path)!r} and {first.path.name!r} differ in the columns "
            f"{listed(odd)}.",
            "Give files with the same columns.",
        )
    types = other.types()
    for name, mine in first.types().items():
        if name in types and kind_of_type(mine) != kind_of_type(types[name]):
            kinds = {kind_of_type(mine), kind_of_type(types[name])}
            if "nothing" not in kinds:
                raise VerosimError(
                    f"Column {name!r} is {types[name]} in {str(other.path)!r} and {mine} in "
                    f"{first.path.name!r}.",
                    "Write the column with the same type in all files.",
                )
    if (first.kind == "csv") != (other.kind == "csv"):
        raise VerosimError(
            f"The files {first.path.name!r} and {other.path.name!r} have different formats.",
            "Select files of one format with a glob, such as 'folder/*.parquet'.",
        )
