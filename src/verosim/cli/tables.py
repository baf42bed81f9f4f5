"""Writes a table batch by batch: the format is that of the extension, or CSV on stdout."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from verosim.cli.console import CONSOLE, json_text, note
from verosim.cli.options import usage_error
from verosim.cli.output_files import STDOUT, output_file

if TYPE_CHECKING:
    import pyarrow as pa

TABLE_FORMATS = {
    ".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
}  # fmt: skip
# A text that a spreadsheet may run: it starts like a formula and is not a number.
CELL_FORMULA = r"^[=@\t\r]|^[+-](?:[^\d.,]|.*[^\d.,eE%+-])"
NEEDS_QUOTES = '["\r\n]'


def format_of(name: str) -> str:
    """The format of an output, from its extension."""
    if name == STDOUT:
        return "jsonl" if CONSOLE.json else "csv"
    extension = Path(name).suffix.lower()
    if extension not in TABLE_FORMATS:
        if Path(name).exists() and not Path(name).is_file():  # a pipe or a device
            return "csv"
        raise usage_error(
            f"A table is written to {', '.join(dict.fromkeys(TABLE_FORMATS))}; got {name!r}."
        )
    return TABLE_FORMATS[extension]


def write_table(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], name: str, spreadsheet: bool = False
) -> int:
    """Write the batches to a file or to stdout. Returns the number of rows."""
    kind = format_of(name)
    if spreadsheet and kind not in ("csv", "tsv"):
        raise usage_error("--spreadsheet is for CSV files.")
    rows = 0
    with output_file(name) as file, _writer(kind, schema, file, spreadsheet) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    if isinstance(writer, _Csv) and writer.formulas and not spreadsheet:
        note(
            f"warning: A spreadsheet could run {writer.formulas:,} cells as formulas. "
            "Use --spreadsheet to put a quote before them."
        )
    return rows


def _writer(kind: str, schema: pa.Schema, file: BinaryIO, spreadsheet: bool) -> Any:
    if kind == "parquet":
        import pyarrow.parquet as pq

        return pq.ParquetWriter(file, schema)
    if kind == "arrow":
        import pyarrow as pa

        return pa.ipc.new_file(file, schema)
    if kind == "jsonl":
        return _JsonLines(file)
    return _Csv(file, schema, "\t" if kind == "tsv" else ",", spreadsheet)


class _Open:
    """A writer that has nothing to close."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _JsonLines(_Open):
    """One object per line."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self.file.write("".join(f"{json_text(row)}\n" for row in batch.to_pylist()).encode())


class _Csv(_Open):
    """CSV with quotes only where they are needed. It counts cells that are like formulas."""

    def __init__(
        self, file: BinaryIO, schema: pa.Schema, delimiter: str, spreadsheet: bool
    ) -> None:
        self.file, self.delimiter, self.spreadsheet = file, delimiter, spreadsheet
        self.formulas = 0
        names = [self._safe_name(name) for name in schema.names]
        line = io.StringIO()
        # A csv.writer quotes the characters of its line end only, and a single \r needs quotes.
        csv.writer(line, delimiter=delimiter, lineterminator="\r\n").writerow(names)
        file.write(line.getvalue().removesuffix("\r\n").encode() + b"\n")

    def _safe_name(self, name: str) -> str:
        import re

        if not re.search(CELL_FORMULA, name):
            return name
        self.formulas += 1
        return f"'{name}" if self.spreadsheet else name

    def write_batch(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa
        from pyarrow import compute as pc
        from pyarrow import csv as pa_csv

        columns, quoted = [], False
        for column in batch.columns:
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                risky = pc.match_substring_regex(column, CELL_FORMULA)
                count = pc.sum(risky).as_py() or 0
                self.formulas += count
                if count and self.spreadsheet:
                    column = pc.if_else(
                        pc.fill_null(risky, False), pc.binary_join_element_wise("'", column, ""),
                        column,
                    )  # fmt: skip
                special = f"{NEEDS_QUOTES}|{self.delimiter}"
                quoted |= bool(pc.any(pc.match_substring_regex(column, special)).as_py())
            columns.append(column)
        out = pa.BufferOutputStream()
        # Arrow puts quotes around all texts or around none.
        how = pa_csv.WriteOptions(
            include_header=False, delimiter=self.delimiter,
            quoting_style="needed" if quoted else "none",
        )  # fmt: skip
        pa_csv.write_csv(pa.record_batch(columns, names=batch.schema.names), out, how)
        self.file.write(out.getvalue())
