"""How tables in memory, queries and lazy frames are read: functions of the source and the columns.

A table holds one of them with its source, as a `partial`, and nothing that was opened: it pickles
wherever its source does.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.data.cells import in_one, text_of
from verosim.data.libraries import nw, pa
from verosim.data.tables import BATCH_ROWS, Rows, numbered
from verosim.errors import VerosimError

Wanted = Iterable[str] | None  # names of columns, None for all


def arrow_rows(table: pa.Table, columns: Wanted) -> Iterator[Rows]:
    part = table if columns is None else table.select(list(columns))
    return numbered(part.to_batches(max_chunksize=BATCH_ROWS))


def dataset_rows(dataset: Any, columns: Wanted) -> Iterator[Rows]:
    """An Arrow dataset, scanned a few batches ahead."""
    options: dict[str, Any] = {}
    if type(getattr(dataset, "format", None)).__name__ == "ParquetFileFormat":
        from pyarrow.dataset import ParquetFragmentScanOptions

        # A buffer for all of a file is what makes memory grow with its size.
        options["fragment_scan_options"] = ParquetFragmentScanOptions(pre_buffer=False)
    return numbered(
        dataset.to_batches(
            columns=None if columns is None else list(columns), batch_size=BATCH_ROWS,
            batch_readahead=4, fragment_readahead=1, **options,
        )
    )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class StreamRows:
    """Anything with an Arrow C stream; it may run a query each time it is read."""

    source: Any

    def __call__(self, columns: Wanted) -> Iterator[Rows]:
        return numbered(pa.RecordBatchReader.from_stream(self.source))

    def __getstate__(self) -> dict[str, Any]:
        try:
            pickle.dumps(self.source)
        except Exception:  # a source may refuse in any way it likes
            raise VerosimError(
                f"A table over a {type(self.source).__name__} cannot be pickled: it belongs to a "
                "connection of this process.",
                "write its rows to a Parquet file, or open it where it is needed.",
            ) from None
        return vars(self).copy()


def lazy_rows(frame: Any, columns: Wanted) -> Iterator[Rows]:
    """A lazy polars frame."""
    part = frame if columns is None else frame.select(list(columns))
    batches = part.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
    return numbered(batch for piece in batches for batch in piece.to_arrow().to_batches())


def frame_rows(frame: Any, names: tuple[str, ...], columns: Wanted) -> Iterator[Rows]:
    """An eager data frame, cut into slices so that only a slice is converted at a time."""
    table = nw.from_native(frame, eager_only=True)
    wanted = list(names if columns is None else columns)
    for start in range(0, len(table), BATCH_ROWS):
        part = table[start : start + BATCH_ROWS]
        arrays = [series_to_arrow(part[name]) for name in wanted]
        yield Rows(pa.record_batch(arrays, names=wanted), start)


def array_rows(X: np.ndarray, names: tuple[str, ...], columns: Wanted) -> Iterator[Rows]:
    """The columns of an array."""
    at = range(len(names)) if columns is None else [names.index(name) for name in columns]
    for start in range(0, len(X), BATCH_ROWS):
        part = X[start : start + BATCH_ROWS]
        arrays = [column_of(np.ascontiguousarray(part[:, j])) for j in at]
        yield Rows(pa.record_batch(arrays, names=[names[j] for j in at]), start)


def reader_rows(reader: pa.RecordBatchReader, columns: Wanted) -> Iterator[Rows]:
    """An Arrow record batch reader, which runs out."""
    return numbered(reader)


def cursor_rows(cursor: Any, names: tuple[str, ...], columns: Wanted) -> Iterator[Rows]:
    """A DB-API cursor, which runs out."""
    start = 0
    while rows := cursor.fetchmany(BATCH_ROWS):
        arrays = [column_of(values) for values in zip(*rows, strict=True)]
        yield Rows(pa.record_batch(arrays, names=list(names)), start)
        start += len(rows)


def series_to_arrow(series: Any) -> pa.Array:
    """A column of a data frame; one of mixed objects becomes text."""
    try:
        return in_one(series.to_arrow())
    except (pa.ArrowException, ValueError, OverflowError):
        return column_of(series.to_list())


def column_of(values: Any) -> pa.Array:
    """A column of Python values; mixed ones become text, each in its one form."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise VerosimError(f"A column has one dimension; this one has the shape {values.shape}.")
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, ValueError, OverflowError):
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
