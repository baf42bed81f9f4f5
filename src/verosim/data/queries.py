"""Opens the result of a SQL query as a table, on a connection or on a database file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from verosim.arguments import checked
from verosim.data import table_rows
from verosim.data.adapters import open_table
from verosim.data.libraries import pa
from verosim.data.same_rows import read_again
from verosim.data.tables import Rows, Table
from verosim.errors import VerosimError


class Connection(Protocol):
    """A DB-API 2.0 connection."""

    def cursor(self) -> Any:
        """A new cursor."""


@checked
def query(sql: str, connection: Connection | str | os.PathLike[str]) -> Table:
    """Open the result of a SQL query as a table.

    The table can be used wherever verosim reads rows: `fit`, `predict`, `cross_validate`, `look`
    and others. Rows are fetched in batches when they are needed, so the result may be larger than
    the memory. With DuckDB or the path of a file, the query runs again each time the table is read.
    With another connection, the table can be read only once.

    Parameters
    ----------
    sql : str
        The query. It must return rows, so it is usually a SELECT.
    connection : Connection or str or Path
        An open connection of DuckDB, ADBC or any DB-API 2.0 library, such as sqlite3 or psycopg; or
        the path of a database file of DuckDB or SQLite, which is opened for reading only.

    Returns
    -------
    Table
        A table with the columns of the query.

    Raises
    ------
    VerosimError
        If the query fails, if it returns no rows, as an INSERT does, or if the file is not a
        database.

    Examples
    --------
    >>> import duckdb, verosim
    >>> con = duckdb.connect()
    >>> flowers = verosim.query("SELECT range % 2 AS kind, range / 2 AS size FROM range(10)", con)
    >>> verosim.GaussianNB().fit(flowers, "kind").class_count_
    array([5., 5.])
    """
    what = f"The query {sql[:60]!r}"
    if isinstance(connection, str | os.PathLike):
        return _on_file(sql, Path(connection).expanduser(), what)
    with table_rows.foreign_errors(what, all_of_them=True):
        if type(connection).__module__.split(".")[0] in ("duckdb", "_duckdb"):
            return _of_relation(connection, sql)
        cursor = connection.cursor()
        cursor.execute(sql)
        names = _names(cursor, sql)
        if not hasattr(cursor, "fetch_record_batch"):
            return Table(names, partial(table_rows.cursor_rows, cursor, names), once=True)
        reader: pa.RecordBatchReader = cursor.fetch_record_batch()
    read = partial(table_rows.reader_rows, reader, what="The query", owner=(cursor, connection))
    return Table(tuple(reader.schema.names), read, once=True)


def _of_relation(connection: Any, sql: str) -> Table:
    relation = connection.sql(sql)
    if relation is None:
        raise no_rows(sql)
    return open_table(relation)


def _names(cursor: Any, sql: str) -> tuple[str, ...]:
    if cursor.description is None:
        raise no_rows(sql)
    return tuple(column[0] for column in cursor.description)


def no_rows(sql: str) -> VerosimError:
    """The error for a statement that does not return rows."""
    return VerosimError(f"The query {sql[:60]!r} returns no rows.", "Use a SELECT statement.")


def _on_file(sql: str, path: Path, what: str) -> Table:
    """The query on a database file. The first bytes show which library wrote it."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except (OSError, ValueError) as error:  # ValueError: a character that no path can have
        raise VerosimError(
            f"The database {str(path)!r} cannot be opened: "
            f"{getattr(error, 'strerror', None) or error}.",
            "Give the path of a file of DuckDB or SQLite, or an open connection.",
        ) from None
    if start[8:12] == b"DUCK":
        try:
            import duckdb
        except ImportError:
            raise VerosimError(
                f"The file {str(path)!r} is a database of DuckDB, which is not installed.",
                "Install it with: pip install duckdb.",
            ) from None
        with table_rows.foreign_errors(what, all_of_them=True):
            return _of_relation(duckdb.connect(str(path), read_only=True), sql)
    if not start.startswith(b"SQLite format 3"):
        raise VerosimError(
            f"The file {str(path)!r} is not a database of DuckDB or SQLite.",
            "Give an open connection, or read a table file with fit(path, …).",
        )
    with table_rows.foreign_errors(what, all_of_them=True):
        names = _names(_lite(path).execute(sql), sql)
    return Table(names, partial(_lite_rows, path, sql, names), passes=read_again("The query"))


def _lite(path: Path) -> Any:
    import sqlite3

    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)


def _lite_rows(path: Path, sql: str, names: tuple[str, ...], columns: Any) -> Iterator[Rows]:
    with table_rows.foreign_errors("The query", all_of_them=True):
        cursor = _lite(path).execute(sql)
    return table_rows.cursor_rows(cursor, names, columns)
