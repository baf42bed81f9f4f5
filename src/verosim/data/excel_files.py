"""Excel workbooks. A sheet is read into memory once, because its format cannot be read in parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verosim.data.byte_streams import ByteSource
from verosim.data.cells import text_of
from verosim.data.file_formats import File, empty_file, first_line
from verosim.data.libraries import pa
from verosim.data.read_options import ReadOptions
from verosim.data.table_rows import column_of
from verosim.data.tables import BATCH_ROWS
from verosim.errors import VerosimError


@dataclass(frozen=True, eq=False)
class ExcelFile(File):
    """One sheet of a workbook. Its first row has the names of the columns."""

    table: Any = None  # an Arrow table
    sheets: tuple[str, ...] = ()
    sheet: str = ""
    kind = "xlsx"
    options = ("sheet",)

    @classmethod
    def open(cls, data: ByteSource, options: ReadOptions) -> ExcelFile:
        book = _open_book(data)
        sheets = tuple(book.sheet_names)
        wanted = 0 if options.sheet is None else options.sheet
        if isinstance(wanted, int) and 0 <= wanted < len(sheets):
            wanted = sheets[wanted]
        if wanted not in sheets:
            raise VerosimError(
                f"The file {data.place!r} has no sheet {wanted!r}.",
                f"Use one of the sheets {', '.join(map(repr, sheets))}.",
            )
        rows = [row for row in book.get_sheet_by_name(wanted).to_python() if _filled(row)]
        if not rows:
            raise empty_file(data.place)
        names = tuple(text_of(name) or "" for name in rows.pop(0))
        columns = zip(*rows, strict=True) if rows else [() for _ in names]
        arrays = [_column(values) for values in columns]
        fields = [(name, array.type) for name, array in zip(names, arrays, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
        return cls(data, names, len(rows), table.schema, table, sheets, str(wanted))

    @property
    def described(self) -> str:
        return f"sheet {self.sheet!r} of {len(self.sheets)}" if len(self.sheets) > 1 else ""

    def batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, float]]:
        for batch in self.table.select(columns).to_batches(max_chunksize=BATCH_ROWS):
            yield batch, 0.0


def _open_book(data: ByteSource) -> Any:
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise VerosimError(
            f"The file {data.place!r} is an Excel workbook, and the library that reads it is not "
            "installed.",
            "Install python-calamine with: pip install 'verosim[excel]'.",
        ) from None
    file = data.open_to_seek()
    try:
        if isinstance(file, Path):
            return CalamineWorkbook.from_path(str(file))
        return CalamineWorkbook.from_filelike(file)
    except Exception as error:  # calamine and its zip reader raise several types
        raise VerosimError(
            f"The file {data.place!r} cannot be read as xlsx: {first_line(error)}.",
            "Check if the file is truncated, damaged, or protected by a password.",
        ) from None


def _filled(row: list[Any]) -> bool:
    return any(value != "" for value in row)


def _column(values: Any) -> pa.Array:
    """The cells of a column. All numbers of Excel are floats: whole numbers become integers."""
    cells = [None if value == "" else value for value in values]
    present = [value for value in cells if value is not None]
    if present and all(type(v) is float and v.is_integer() and abs(v) < 2**53 for v in present):
        cells = [None if value is None else int(value) for value in cells]
    return column_of(cells)
