"""Opens the rows that a command names: files, stdin (`-`), or a query on a database."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verosim.cli.options import pairs, usage_error

if TYPE_CHECKING:
    from verosim.data.tables import Rows, Table

STDIN = "-"
POSTGRES_DRIVERS = ("adbc_driver_postgresql.dbapi", "psycopg", "psycopg2")


def opened(
    source: str | None,
    db: str | None,
    query: str | None,
    read: list[str] | None,
    *,
    again: bool = True,
) -> Table:
    """The table of a command. With `again`, it can be read more than once."""
    from verosim.data.adapters import open_table
    from verosim.data.adapters import read as read_files

    if (db is None) != (query is None):
        raise usage_error("--db and --query are used together.")
    if (source is None) == (db is None):
        raise usage_error("Give the rows: a file, - for stdin, or --db with --query.")
    if db is not None and query is not None:
        if read:
            raise usage_error("--read is for files, and the rows are those of a query.")
        table = _queried(db, query)
        return open_table(_in_memory(table)) if again and table.once else table
    options: dict[str, Any] = pairs(read, "--read")
    if options.get("sheet", "").isdigit():
        options["sheet"] = int(options["sheet"])
    known = {"sep", "decimal", "encoding", "quote", "sheet", "format"}
    if options.keys() - known:
        raise usage_error(f"--read has the names {', '.join(sorted(known))}.")
    if options.get("sep") == "\\t":  # as it is written in a shell
        options["sep"] = "\t"
    if str(source).endswith(".verosim"):
        raise usage_error(f"{source!r} is a model file. Give the model first, and then the rows.")
    if source == STDIN:
        options.setdefault("format", "csv")
        return read_files(_stream(sys.stdin.buffer, again), **options)
    if Path(str(source)).is_fifo():
        return read_files(_stream(Path(str(source)).open("rb"), again), **options)
    return read_files(source, **options)  # type: ignore[arg-type]


def _stream(raw: Any, again: bool) -> Any:
    """The bytes of stdin or of a named pipe; a copy on disk if they are needed more than once."""
    if not again or raw.seekable():
        return raw
    import shutil
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115  # the table reads it until the process ends
    shutil.copyfileobj(raw, copy, 1 << 20)
    copy.seek(0)
    return copy


def _in_memory(table: Table) -> Any:
    import pyarrow as pa

    batches = [rows.batch for rows in table.batches()]
    return pa.Table.from_batches(batches) if batches else pa.table({n: [] for n in table.names})


def _queried(db: str, sql: str) -> Table:
    from verosim.data.queries import query

    scheme, sign, rest = db.partition("://")
    if not sign:
        return query(sql, db)
    if scheme in ("sqlite", "duckdb"):
        return query(sql, rest.removeprefix("/"))
    if scheme in ("postgresql", "postgres"):
        return query(sql, _postgres(db))
    raise usage_error(f"--db must be sqlite, duckdb or postgresql; got {scheme!r}.")


def _postgres(url: str) -> Any:
    from verosim.errors import VerosimError

    for name in POSTGRES_DRIVERS:
        try:
            driver = importlib.import_module(name)
        except ImportError:
            continue
        try:
            return driver.connect(url)
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise VerosimError(
                f"The database cannot be opened: {lines[0]}.", "Check the URL and the password."
            ) from error
    raise VerosimError(
        "No driver for PostgreSQL is installed.", "Install one with: pip install psycopg[binary]."
    )


def row_of(table: Table, number: int) -> Table:
    """The table of one row, by its number from 0."""
    from verosim.errors import VerosimError

    done = 0
    for rows in table.batches():
        n = len(rows)
        if number < done + n:
            return _part_of(table, rows, number - done, 1)
        done += n
    raise VerosimError(
        f"There is no row {number}; the table has {done:,} rows.", "Count the rows from 0."
    )


def pieces_of(table: Table, most: int) -> Iterator[tuple[int, Table]]:
    """The table in pieces of at most so many rows, each with the number of its first row."""
    done = 0
    for rows in table.batches():
        n = len(rows)
        for at in range(0, n, most):
            yield done + at, _part_of(table, rows, at, min(most, n - at))
        done += n


def _part_of(table: Table, rows: Rows, at: int, n: int) -> Table:
    """The table of some rows of a batch."""
    from dataclasses import replace
    from functools import partial

    numbers = None if rows.numbers is None else rows.numbers[at : at + n]
    some = replace(rows, batch=rows.batch.slice(at, n), start=rows.start + at, numbers=numbers)
    read = partial(_columns_of, some)
    return replace(table, read=read, rows=n, once=False, resumes=False, in_memory=True)


def _columns_of(rows: Rows, columns: Iterable[str] | None) -> Iterator[Rows]:
    return iter([rows if columns is None else rows.select(list(columns))])
