"""Functions that read the rows of tables in memory, queries and lazy frames.

A `Table` stores one of them with its source as a `partial`, and no open handle. A table can
therefore be pickled if its source can be pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data.cells import in_one, text_of
from verosim.data.frame_columns import number_arrays
from verosim.data.libraries import nw, pa
from verosim.data.tables import BATCH_ROWS, NumberRows, Rows, numbered
from verosim.errors import VerosimError

Wanted = Iterable[str] | None  # names of columns, None for all
TABLE_LIBRARIES = ("pyarrow", "polars", "duckdb", "_duckdb", "sqlite3", "adbc_driver_manager")


def is_foreign(error: Exception) -> bool:
    """Whether an error comes from a library of tables or from the file system."""
    library = type(error).__module__.split(".")[0]
    return library in TABLE_LIBRARIES or isinstance(error, OSError)


@contextmanager
def foreign_errors(what: str, all_of_them: bool = False) -> Iterator[None]:
    """Errors of the libraries of tables become VerosimErrors; other errors are left alone."""
    try:
        yield
    except (VerosimError, MemoryError):
        raise
    except Exception as error:
        if not all_of_them and not is_foreign(error):
            raise
        raise not_readable(what, error, None) from error


def guarded(rows: Iterator[Rows], what: str, all_of_them: bool = False) -> Iterator[Rows]:
    """The rows. An error of a library of tables states after which row it happened."""
    done = 0
    while True:
        try:
            part = next(rows)
        except StopIteration:
            return
        except (VerosimError, MemoryError):
            raise
        except Exception as error:
            if not all_of_them and not is_foreign(error):
                raise
            raise not_readable(what, error, done) from error
        done += part.batch.num_rows
        yield part


def not_readable(what: str, error: Exception, done: int | None) -> VerosimError:
    """The error for a source that another library cannot read."""
    after = f" after row {done - 1}" if done else ""
    message = str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
    return VerosimError(
        f"{what} cannot be read{after}: {message}.",
        "Check the query and the types of its columns." if "query" in what else
        "Check the source with its own library; the model was not changed.",
    )  # fmt: skip


def arrow_rows(table: pa.Table, columns: Wanted) -> Iterator[Rows]:
    """The rows of an Arrow table."""
    part = table if columns is None else table.select(list(columns))
    return numbered(part.to_batches(max_chunksize=BATCH_ROWS))


def dataset_rows(dataset: Any, columns: Wanted) -> Iterator[Rows]:
    """The rows of an Arrow dataset. It reads a few batches ahead."""
    options: dict[str, Any] = {}
    if type(getattr(dataset, "format", None)).__name__ == "ParquetFileFormat":
        from pyarrow.dataset import ParquetFragmentScanOptions

        # With pre_buffer=True the memory would grow with the size of the file.
        options["fragment_scan_options"] = ParquetFragmentScanOptions(pre_buffer=False)
    batches = dataset.to_batches(
        columns=None if columns is None else list(columns), batch_size=BATCH_ROWS,
        batch_readahead=4, fragment_readahead=1, **options,
    )  # fmt: skip
    return guarded(numbered(batches), "The dataset")


@dataclass(frozen=True, eq=False, repr=False)
class StreamRows:
    """The rows of an Arrow C stream. Reading it may run a query each time."""

    source: Any

    def __call__(self, columns: Wanted) -> Iterator[Rows]:
        what = f"The {type(self.source).__name__}"
        with foreign_errors(what):
            reader = pa.RecordBatchReader.from_stream(self.source)
        return guarded(numbered(reader), what)

    def __getstate__(self) -> dict[str, Any]:
        try:
            pickle.dumps(self.source)
        except Exception:  # sources raise many types of errors here
            raise VerosimError(
                f"A table that reads a {type(self.source).__name__} cannot be pickled, because it "
                "needs a connection of this process.",
                "Write the rows to a Parquet file, or open the source in the other process.",
            ) from None
        return vars(self).copy()


def lazy_rows(frame: Any, columns: Wanted) -> Iterator[Rows]:
    """The rows of a lazy polars frame."""
    part = frame if columns is None else frame.select(list(columns))
    with foreign_errors("The lazy frame"):
        pieces = part.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
    batches = (batch for piece in pieces for batch in piece.to_arrow().to_batches())
    return guarded(numbered(batches), "The lazy frame")


def frame_rows(frame: Any, names: tuple[str, ...], columns: Wanted) -> Iterator[Rows]:
    """The rows of a data frame in memory. One slice is converted at a time."""
    wanted = list(names if columns is None else columns)
    n = len(frame)
    for start in range(0, n, BATCH_ROWS):
        stop = start + BATCH_ROWS
        part = frame if n <= BATCH_ROWS else frame_slice(frame, start, stop)
        found = number_arrays(part, wanted)
        found |= {name: series_to_arrow(part[name]) for name in wanted if name not in found}
        yield Rows(pa.record_batch([found[name] for name in wanted], names=wanted), start)


def array_rows(X: np.ndarray, names: tuple[str, ...], columns: Wanted) -> Iterator[Rows]:
    """The rows of an array."""
    if X.dtype.kind in "iuf":
        for start in range(0, len(X), BATCH_ROWS):
            rows = NumberRows(X[start : start + BATCH_ROWS], names, start)
            yield rows if columns is None else rows.select(list(columns))
        return
    place = {name: j for j, name in enumerate(names)}
    at = range(len(names)) if columns is None else [place[name] for name in columns]
    for start in range(0, len(X), BATCH_ROWS):
        part = X[start : start + BATCH_ROWS]
        arrays = [column_of(np.ascontiguousarray(part[:, j])) for j in at]
        yield Rows(pa.record_batch(arrays, names=[names[j] for j in at]), start)


def reader_rows(
    reader: pa.RecordBatchReader, columns: Wanted, what: str = "The reader", owner: Any = None
) -> Iterator[Rows]:
    """The rows of an Arrow record batch reader, which can be read only once.

    `owner` is kept while the rows are read: an ADBC cursor closes its reader when it is collected.
    """
    rows = guarded(numbered(reader), what)
    yield from rows
    del owner


def cursor_rows(cursor: Any, names: tuple[str, ...], columns: Wanted) -> Iterator[Rows]:
    """The rows of a DB-API cursor, which can be read only once."""
    return guarded(_fetched(cursor, names), "The query", all_of_them=True)


def _fetched(cursor: Any, names: tuple[str, ...]) -> Iterator[Rows]:
    start = 0
    while rows := cursor.fetchmany(BATCH_ROWS):
        arrays = [column_of(values) for values in zip(*rows, strict=True)]
        yield Rows(pa.record_batch(arrays, names=list(names)), start)
        start += len(rows)


def frame_slice(frame: Any, start: int, stop: int) -> Any:
    """Some rows of a pandas or polars frame."""
    return frame.iloc[start:stop] if hasattr(frame, "iloc") else frame[start:stop]


def series_to_arrow(series: Any) -> pa.Array:
    """A column of a data frame as an Arrow array. Mixed objects become text."""
    try:
        if not type(series).__module__.startswith("pandas"):
            return in_one(nw.from_native(series, series_only=True).to_arrow())
        values = series.array  # an array that is in Arrow already is not examined
        ready = hasattr(values, "__arrow_array__")
        return in_one(pa.array(values if ready else series, from_pandas=True))
    except (pa.ArrowException, ValueError, OverflowError):
        return column_of(series.to_list())


def column_of(values: Any) -> pa.Array:
    """A column of Python values as an Arrow array. Mixed values become text."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise VerosimError(
            f"A column must have one dimension; got an array of shape {values.shape}.",
            "Give one value per row.",
        )
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        cells = values.tolist() if hasattr(values, "tolist") else list(values)
        return pa.array([_mixed_text(value) for value in cells], pa.large_string())


def _mixed_text(value: Any) -> str | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    try:
        text = text_of(value)
    except (TypeError, ValueError):
        text = str(value)
    return None if text is None else text.encode("utf-8", "replace").decode()
