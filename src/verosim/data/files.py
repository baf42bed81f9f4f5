"""Files as tables: one, a folder, or a glob of them, all with the same columns."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from verosim.data.cells import kind_of_type
from verosim.data.file_formats import ArrowFile, CsvFile, File, ParquetFile, first_line
from verosim.data.tables import Rows, Table, check_names
from verosim.errors import VerosimError, listed

FORMATS: dict[str, type[File]] = {
    ".csv": CsvFile, ".tsv": CsvFile, ".txt": CsvFile,
    ".parquet": ParquetFile, ".pq": ParquetFile,
    ".arrow": ArrowFile, ".feather": ArrowFile, ".ipc": ArrowFile, ".arrows": ArrowFile,
}  # fmt: skip
PACKED = (".gz", ".bz2", ".zst", ".lz4")


def file_rows(files: tuple[File, ...], columns: Iterable[str] | None) -> Iterator[Rows]:
    """The rows of files, one after another, with the columns of the first."""
    for file in files:
        yield from file.read(columns, files[0].names)


def open_files(source: str | Path) -> Table:
    """The table of a file, a folder or a glob."""
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
    unknown = [p.name for p in found if _format(p) is None]
    if unknown:
        raise VerosimError(
            f"{str(source)!r} holds files that are no tables: {listed(unknown)}.",
            "name the tables with a glob, such as 'folder/*.parquet'.",
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
            f"{str(path)!r} does not say what it is.",
            f"name it with one of {', '.join(FORMATS)} (and .gz where it is CSV).",
        )
    try:
        if path.stat().st_size == 0:
            raise VerosimError(f"{str(path)!r} is empty.", "a header and rows are needed.")
        file = format_.open(path)
        check_names(file.names)
    except VerosimError as error:
        if path.name in error.what:
            raise
        raise VerosimError(f"{str(path)!r}: {error.what}", error.hint) from None
    except (OSError, ValueError) as error:
        raise VerosimError(
            f"{str(path)!r} cannot be read as {format_.kind}: {first_line(error)}",
            "the file may be truncated, damaged, of another format, or not yours to read.",
        ) from None
    return file


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
