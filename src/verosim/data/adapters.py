"""Opens the user's data as a `Table`.

narwhals reads data frames. Other sources are read as an Arrow C stream. No rows are read before
they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from verosim.data import table_rows
from verosim.data.libraries import nw, pa
from verosim.data.names import list_of_names
from verosim.data.tables import Rows, Table, check_names
from verosim.errors import VerosimError, listed


class Connection(Protocol):
    """A DB-API 2.0 connection."""

    def cursor(self) -> Any:
        """A new cursor."""


def query(sql: str, connection: Connection) -> Table:
    """Open the result of a SQL query as a table.

    The table can be used wherever verosim reads rows: `fit`, `predict`, `cross_validate`, `look`
    and others. Rows are fetched in batches when they are needed, so the result may be larger than
    the memory. With DuckDB, the query runs again each time the table is read. With another
    connection, the table can be read only once.

    Parameters
    ----------
    sql : str
        The query. It must return rows, so it is usually a SELECT.
    connection : Connection
        An open connection of DuckDB, ADBC or any DB-API 2.0 library, such as sqlite3 or psycopg.

    Returns
    -------
    Table
        A table with the columns of the query.

    Raises
    ------
    VerosimError
        If the query returns no rows, as an INSERT does.

    Examples
    --------
    >>> import duckdb, verosim
    >>> con = duckdb.connect()
    >>> flowers = verosim.query("SELECT range % 2 AS kind, range / 2 AS size FROM range(10)", con)
    >>> verosim.GaussianNB().fit(flowers, "kind").class_count_
    array([5., 5.])
    """
    if type(connection).__module__.split(".")[0] in ("duckdb", "_duckdb"):
        duckdb: Any = connection
        return open_table(duckdb.sql(sql))
    cursor = connection.cursor()
    cursor.execute(sql)
    if cursor.description is None:
        raise VerosimError(f"The query {sql[:60]!r} returns no rows.", "Use a SELECT statement.")
    if hasattr(cursor, "fetch_record_batch"):
        return open_table(cursor.fetch_record_batch())
    names = tuple(column[0] for column in cursor.description)
    return Table(names, partial(table_rows.cursor_rows, cursor, names), once=True)


def is_source(X: Any) -> bool:
    """Whether X is a source with named columns."""
    return is_stream(X) or is_frame(X)


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars data frame in memory; scikit-learn reads those as arrays."""
    if hasattr(X, "collect_batches"):  # reading the columns of a lazy frame would resolve it
        return False
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_numpy"))


def is_stream(X: Any) -> bool:
    """Whether X can be read only as a table: a file, Arrow data, a query or several tables."""
    if isinstance(X, np.ndarray) or is_frame(X) or hasattr(X, "tocsr"):
        return False
    if isinstance(X, Table | Path | str | Mapping):
        return True
    if isinstance(X, list | tuple):
        return _holds_tables(X)
    tabular = hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__")
    arrow = type(X).__module__.startswith("pyarrow") and hasattr(X, "schema")
    return tabular or arrow or hasattr(X, "collect_batches") or isinstance(X, Iterator)


def _holds_tables(X: list[Any] | tuple[Any, ...]) -> bool:
    if not len(X):
        return False
    return isinstance(X[0], Mapping | Path) or is_frame(X[0]) or hasattr(X[0], "schema")


def open_table(source: Any) -> Table:
    """Open any source as a Table."""
    if isinstance(source, Table):
        return source
    if isinstance(source, str | Path):
        from verosim.data.files import open_files

        return open_files(source)
    if isinstance(source, np.ndarray) or hasattr(source, "tocsr"):
        raise VerosimError(
            "An array has no column names, so none of its columns can be the target.",
            "Give the labels, as in fit(X, y), or give a table with named columns.",
        )
    if isinstance(source, Mapping):
        source = _columns(source)
    if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping) and (
        all(is_scalar(v) for v in source[0].values())
    ):  # fmt: skip
        source = pa.Table.from_pylist([dict(row) for row in source])
    if hasattr(source, "to_batches") and hasattr(source, "scanner"):  # an Arrow dataset
        return Table(tuple(source.schema.names), partial(table_rows.dataset_rows, source))
    if hasattr(source, "collect_batches"):  # polars, lazy
        names = tuple(source.collect_schema().names())
        return Table(names, partial(table_rows.lazy_rows, source), native="polars", resumes=True)
    if isinstance(source, pa.RecordBatchReader):
        return Table(tuple(source.schema.names), partial(table_rows.reader_rows, source), once=True)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        read = partial(table_rows.arrow_rows, source)
        return Table(tuple(source.column_names), read, source.num_rows, in_memory=True)
    if hasattr(source, "iloc") or type(source).__module__.startswith("polars"):
        return _frame(source)
    if hasattr(source, "__arrow_c_stream__"):  # a DuckDB relation, among others
        return _stream(source)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return _iterable(source)
    raise VerosimError(
        f"An object of type {type(source).__name__} cannot be read as a table.",
        "Give a pandas, polars or Arrow table, a DuckDB relation, verosim.query(sql, connection), "
        "a CSV, Parquet or Arrow file, a folder or glob of files, or an iterable of tables.",
    )


def is_scalar(value: Any) -> bool:
    return isinstance(value, str | bytes) or not hasattr(value, "__len__")


def _columns(columns: Mapping[Any, Any]) -> pa.Table:
    arrays = {}
    for name, values in columns.items():
        if is_scalar(values):
            raise VerosimError(
                f"Column {str(name)!r} must be a list of values; got {values!r}.",
                "Write a single row as {'x': [1.0], …}.",
            )
        arrays[str(name)] = table_rows.column_of(values)
    check_names([str(name) for name in columns])
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise VerosimError(
            f"The columns have different lengths: {lengths}.",
            "Give every column the same number of values.",
        )
    return pa.table(arrays)


def _stream(source: Any) -> Table:
    names = getattr(source, "columns", None)  # DuckDB gives these without running the query
    if names is None:
        names = pa.RecordBatchReader.from_stream(source).schema.names
    return Table(tuple(names), table_rows.StreamRows(source), resumes=True)


def _frame(frame: Any) -> Table:
    native = "polars" if type(frame).__module__.startswith("polars") else "pandas"
    given = list_of_names(frame.columns)
    names = tuple(map(str, given))
    check_names(names)
    if native == "pandas" and any(not isinstance(name, str) for name in given):
        frame = frame.set_axis(list(names), axis=1)
    rows = len(nw.from_native(frame, eager_only=True))
    return Table(names, partial(table_rows.frame_rows, frame, names), rows, native, in_memory=True)


def array_table(X: np.ndarray, names: tuple[str, ...] | None = None) -> Table:
    names = tuple(f"x{j}" for j in range(X.shape[1])) if names is None else names
    return Table(names, partial(table_rows.array_rows, X, names), len(X), "array", in_memory=True)


def piece_rows(
    pieces: Iterable[Any], names: tuple[str, ...], columns: Iterable[str] | None
) -> Iterator[Rows]:
    """The rows of several tables in order. All tables have the columns of the first."""
    start = 0
    for number, piece in enumerate(pieces):
        table = open_table(piece)
        if set(table.names) != set(names):
            odd = sorted(set(table.names) ^ set(names))
            raise VerosimError(
                f"Batch {number} and the first batch differ in the columns {listed(odd)}.",
                "Give every batch the same columns.",
            )
        for rows in table.batches():
            batch = rows.batch.select(list(names))
            yield Rows(batch, rows.start if rows.origin else start, rows.origin)
            start += batch.num_rows


def _iterable(source: Iterable[Any]) -> Table:
    """Opens an iterable of batches as one table. The first batch defines the columns."""
    once = isinstance(source, Iterator)
    pieces = iter(source)
    first = next(pieces, None)
    if first is None:
        raise VerosimError("The iterable is empty.", "Give at least one batch of rows.")
    if isinstance(first, str | bytes | int | float | type(None)):
        raise VerosimError(
            f"The iterable must give tables; its first item is {first!r}.",
            "Give each batch as a data frame, an Arrow record batch or a dict of columns.",
        )
    head = open_table(first)
    read = partial(piece_rows, chain([first], pieces) if once else source, head.names)
    return Table(
        head.names, read, once=once, native=head.native, typed=head.typed, coded=head.coded,
        in_memory=isinstance(source, list | tuple) and head.in_memory,
    )  # fmt: skip
