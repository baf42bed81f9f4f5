"""How tables in memory, queries and lazy frames are read: values called with the columns wanted.

Each is a frozen value that holds the source and nothing that was opened, so a table pickles
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


@dataclass(frozen=True, eq=False, repr=False)
class ArrowRows:
    """An Arrow table."""

    table: pa.Table

    def __call__(self, columns: Wanted) -> Iterator[Rows]:
        part = self.table if columns is None else self.table.select(list(columns))
        return numbered(part.to_batches(max_chunksize=BATCH_ROWS))


@dataclass(frozen=True, eq=False, repr=False)
class DatasetRows:
    """An Arrow dataset, scanned a few batches ahead."""

    dataset: Any

    def __call__(self, columns: Wanted) -> Iterator[Rows]:
        options: dict[str, Any] = {}
        if type(getattr(self.dataset, "format", None)).__name__ == "ParquetFileFormat":
            from pyarrow.dataset import ParquetFragmentScanOptions

            # A buffer for all of a file is what makes memory grow with its size.
            options["fragment_scan_options"] = ParquetFragmentScanOptions(pre_buffer=False)
        return numbered(
            self.dataset.to_batches(
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


@dataclass(frozen=True, eq=False, repr=False)
class LazyRows:
    """A lazy polars frame."""

    frame: Any

    def __call__(self, columns: Wanted) -> Iterator[Rows]:
        part = self.frame if columns is None else self.frame.select(list(columns))
        batches = part.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
        return numbered(batch for piece in batches for batch in piece.to_arrow().to_batches())


@dataclass(frozen=True, eq=False, repr=False)
class FrameRows:
    """An eager data frame, cut into slices so that only a slice is converted at a time."""

    frame: Any
    names: tuple[str, ...]

    def __call__(self, columns: Wanted) -> Iterator[Rows]:
        table = nw.from_native(self.frame, eager_only=True)
        wanted = list(self.names if columns is None else columns)
        for start in range(0, len(table), BATCH_ROWS):
            part = table[start : start + BATCH_ROWS]
            arrays = [series_to_arrow(part[name]) for name in wanted]
            yield Rows(pa.record_batch(arrays, names=wanted), start)


@dataclass(frozen=True, eq=False, repr=False)
class ArrayRows:
    """The columns of an array."""

    X: np.ndarray
    names: tuple[str, ...]

    def __call__(self, columns: Wanted) -> Iterator[Rows]:
        names = self.names
        at = range(len(names)) if columns is None else [names.index(name) for name in columns]
        for start in range(0, len(self.X), BATCH_ROWS):
            part = self.X[start : start + BATCH_ROWS]
            arrays = [column_of(np.ascontiguousarray(part[:, j])) for j in at]
            yield Rows(pa.record_batch(arrays, names=[names[j] for j in at]), start)


@dataclass(frozen=True, eq=False, repr=False)
class ReaderRows:
    """An Arrow record batch reader, which runs out."""

    reader: pa.RecordBatchReader

    def __call__(self, columns: Wanted) -> Iterator[Rows]:
        return numbered(self.reader)


@dataclass(frozen=True, eq=False, repr=False)
class CursorRows:
    """A DB-API cursor, which runs out."""

    cursor: Any
    names: tuple[str, ...]

    def __call__(self, columns: Wanted) -> Iterator[Rows]:
        start = 0
        while rows := self.cursor.fetchmany(BATCH_ROWS):
            arrays = [column_of(values) for values in zip(*rows, strict=True)]
            yield Rows(pa.record_batch(arrays, names=list(self.names)), start)
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
