"""Opens the user's data as a `Table`.

narwhals reads data frames. Other sources are read as an Arrow C stream. No rows are read before
they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.arguments import checked
from verosim.data import table_rows
from verosim.data.clusters import (
    arrays_on_cluster,
    is_array_on_cluster,
    is_on_cluster,
    open_on_cluster,
    where_rows_are,
)
from verosim.data.libraries import pa
from verosim.data.names import list_of_names
from verosim.data.read_options import AS_FOUND, ReadOptions
from verosim.data.same_rows import read_again
from verosim.data.tables import Rows, Table, can_rewind, check_names, is_open_file
from verosim.errors import VerosimError, listed

if TYPE_CHECKING:
    from verosim.typing import Source


@checked
def read(
    source: Source,
    *,
    sep: str | None = None,
    decimal: Literal[".", ","] | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    sheet: str | int | None = None,
    format: Literal["csv", "jsonl", "parquet", "arrow", "xlsx"] | None = None,
) -> Table:
    """Open files as a table, with options for their format.

    The table can be used wherever verosim reads rows: `fit`, `predict`, `cross_validate`, `look`
    and others. The rows are read when they are needed. The argument `read` of those functions does
    the same: `fit(path, "y", read=dict(sep=";"))` is `fit(verosim.read(path, sep=";"), "y")`.

    Parameters
    ----------
    source : Source
        The path of a file or a folder, a pattern such as "data/*.csv", a list of paths, or an open
        file.
    sep : str or None, default=None
        The delimiter of a CSV file. None finds it: a comma, a semicolon, a tab or "|".
    decimal : {".", ","} or None, default=None
        The decimal mark of all numbers of a CSV file. The other mark may separate thousands. None
        means that each column decides.
    encoding : str or None, default=None
        The encoding of a text file, by its name in Python. None finds it: UTF-8, UTF-16 or
        Windows-1252.
    quote : str or None, default=None
        The quote around cells of a CSV file. "" means that quotes are ordinary characters. None
        finds it.
    sheet : str or int or None, default=None
        The sheet of an Excel workbook, by its name or its position. None is the first sheet.
    format : {"csv", "jsonl", "parquet", "arrow", "xlsx"} or None, default=None
        The format. None uses the extension of the file.

    Returns
    -------
    Table
        A table with the columns of the files.

    Raises
    ------
    VerosimError
        If a file cannot be read, or if an option does not apply to its format.

    Examples
    --------
    >>> import io, verosim
    >>> file = io.BytesIO("größe;art\\n1,5;a\\n2,5;b\\n3,5;b\\n".encode("latin-1"))
    >>> print(verosim.look(verosim.read(file, decimal=","), "art"))
    column  type  role    density   why
    ──────  ────  ──────  ────────  ───
    größe   text  number  gaussian  numbers
    target: 'art' (text)
    file: delimiter ';', decimal mark ',', encoding windows-1252
    from the first 3 rows
    """
    options = ReadOptions(sep, decimal, encoding, quote, sheet, format)
    return open_table(source, options)


def opened_as(source: Any, read: Mapping[str, Any] | None) -> Any:
    """The source itself, or the table that it is with the options in the argument `read`."""
    return source if read is None else open_table(source, ReadOptions.of(read))


def opened_once(X: Any, y: Any) -> Any:
    """The table of a source that every pass reads again; any other X itself.

    All passes of one call are then passes over one table, which compares them.
    """
    if type(X) is np.ndarray:  # which is usual
        return X
    if isinstance(X, Table | Mapping | Iterator | pa.RecordBatchReader) or is_frame(X):
        return X
    return open_table(X) if isinstance(y, str) or is_stream(X) else X


def is_source(X: Any) -> bool:
    """Whether X is a source with named columns."""
    return is_stream(X) or is_frame(X)


def is_read_once(X: Any) -> bool:
    """Whether X is an iterator or a reader, so that looking at its first rows uses them up."""
    # A frame of Spark Connect has an attribute of every name.
    once = not is_on_cluster(X) and hasattr(X, "read_next_batch")
    return once or (isinstance(X, Iterator) and not can_rewind(X))


def check_not_read_once(X: Any, what: str) -> None:
    """Raise an error if the rows can be read only once. `what` reads them several times."""
    if is_read_once(X):
        raise VerosimError(
            f"This source can be read only once, but {what} reads it several times.",
            "Give a file, a table, or a list of the pieces.",
        )


def numbered_columns(X: Any, y: Any, sample_weight: Any) -> Table | None:
    """Arrays on a cluster as a table with numbered columns; None for all other rows."""
    return arrays_on_cluster(X, y, sample_weight) if is_array_on_cluster(X) else None


def brought_here(X: Any, most: int) -> Any:
    """X itself, or its rows in this process if it is on a cluster and has few rows."""
    return X if where_rows_are(X) is None else open_table(X).brought_if_small(most)


def is_pandas(X: Any) -> bool:
    """Whether X is a pandas data frame. An attribute that it lacks takes long to look for."""
    kind = type(X)
    return kind.__module__.partition(".")[0] == "pandas" and hasattr(kind, "columns")


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars data frame in memory; scikit-learn reads those as arrays."""
    if is_pandas(X):
        return True
    if hasattr(X, "collect_batches") or is_on_cluster(X):  # their columns may start a computation
        return False
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_numpy"))


def is_stream(X: Any) -> bool:
    """Whether X can be read only as a table: a file, Arrow data, a query or several tables."""
    if type(X) is np.ndarray:
        return False
    if is_on_cluster(X):
        return True
    if isinstance(X, np.ndarray) or is_frame(X) or hasattr(X, "tocsr"):
        return False
    if isinstance(X, Table | Path | str | Mapping) or is_open_file(X):
        return True
    if isinstance(X, list | tuple):
        return _holds_tables(X)
    tabular = hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__")
    arrow = type(X).__module__.startswith("pyarrow") and hasattr(X, "schema")
    return tabular or arrow or hasattr(X, "collect_batches") or isinstance(X, Iterator)


def _holds_tables(X: list[Any] | tuple[Any, ...]) -> bool:
    if not len(X):
        return False
    if isinstance(X[0], str):
        from verosim.data.files import is_path_of_table  # arrays do not need it

        return all(is_path_of_table(item) for item in X)
    return isinstance(X[0], Mapping | Path) or is_frame(X[0]) or hasattr(X[0], "schema")


def open_table(source: Any, options: ReadOptions = AS_FOUND) -> Table:
    """Open any source as a Table."""
    if is_pandas(source) and not options.given:
        return _frame(source)
    there = is_on_cluster(source)
    paths = isinstance(source, list | tuple) and source and isinstance(source[0], str | Path)
    if isinstance(source, str | Path) or paths or (not there and is_open_file(source)):
        from verosim.data.files import open_files  # arrays do not need it

        return open_files(source, options)
    if options.given:
        raise VerosimError(
            f"The options of read are only for files; got an object of type "
            f"{type(source).__name__}.",
            "Give the path of a file, or remove read.",
        )
    if isinstance(source, Table):
        return source
    if there:
        return open_on_cluster(source)
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
        read = partial(table_rows.dataset_rows, source)
        return Table(tuple(source.schema.names), read, passes=read_again("The dataset"))
    if hasattr(source, "collect_batches"):  # polars, lazy
        with table_rows.foreign_errors("The lazy frame"):
            names = tuple(source.collect_schema().names())
        read = partial(table_rows.lazy_rows, source)
        passes = read_again("The lazy frame")
        return Table(names, read, native="polars", resumes=True, passes=passes)
    if isinstance(source, pa.RecordBatchReader):
        return Table(tuple(source.schema.names), partial(table_rows.reader_rows, source), once=True)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        read = partial(table_rows.arrow_rows, source)
        return Table(tuple(source.column_names), read, source.num_rows, in_memory=True)
    of_frames = hasattr(source, "iloc") or type(source).__module__.startswith("polars")
    if of_frames and hasattr(source, "columns"):  # a Series has none
        return _frame(source)
    if hasattr(source, "__arrow_c_stream__"):  # a DuckDB relation, among others
        return _stream(source)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return _iterable(source)
    raise VerosimError(
        f"An object of type {type(source).__name__} cannot be read as a table.",
        "Give a pandas, polars or Arrow table, a DuckDB relation, verosim.query(sql, connection), "
        "a path, a folder, a glob, a list of paths, an open file, or an iterable of tables.",
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
    for name in arrays:
        check_encodable(name)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise VerosimError(
            f"The columns have different lengths: {lengths}.",
            "Give every column the same number of values.",
        )
    return pa.table(arrays)


def check_encodable(name: str) -> None:
    """Raise an error if a name cannot be written as UTF-8, which Arrow needs."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise VerosimError(
            f"The column name {name!a} is not valid text.", "Rename the column."
        ) from None


def _stream(source: Any) -> Table:
    names = getattr(source, "columns", None)  # DuckDB gives these without running the query
    if names is None:
        with table_rows.foreign_errors(f"The {type(source).__name__}"):
            names = pa.RecordBatchReader.from_stream(source).schema.names
    passes = read_again(f"The {type(source).__name__}")
    return Table(tuple(names), table_rows.StreamRows(source), resumes=True, passes=passes)


def _frame(frame: Any) -> Table:
    native = "polars" if type(frame).__module__.startswith("polars") else "pandas"
    given = list_of_names(frame.columns)
    names = tuple(map(str, given))
    check_names(names)
    if native == "pandas" and any(not isinstance(name, str) for name in given):
        frame = frame.set_axis(list(names), axis=1)
    read = partial(table_rows.frame_rows, frame, names)
    return Table(names, read, len(frame), native, in_memory=True)


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
    in_memory = isinstance(source, list | tuple) and head.in_memory
    passes = None if once or in_memory else read_again(f"The {type(source).__name__}")
    return Table(
        head.names, read, once=once, native=head.native, typed=head.typed, coded=head.coded,
        in_memory=in_memory, passes=passes,
    )  # fmt: skip
