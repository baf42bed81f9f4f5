"""Random files of every dialect, encoding, compression and cell format are read as they were meant.

The generator knows the cells. A cell is read as the generator meant it, or the schema has a note
about its column or about the file.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.behaviour.test_cell_formats import MISSING, date_column, number_column
from verosim import look
from verosim.data import cells
from verosim.data.adapters import open_table
from verosim.data.cell_formats import by_format

WORDS = ["Málaga", "Köln; Süd", "a, b", "x|y", 'the "hub"', "tab\there", "two\nlines", "007", "no",
         "l'Hospitalet", "São Paulo", "N/A", "plain", "Δελφοί", "東京", "12 kg net",
         " spaced "]  # fmt: skip
NAMES = ["price", "price, eur", "größe", "x;y", "the name", "a|b", "día", "Δ", "c\td", 'say "x"',
         "2024", "x.1", "n/a", "d'or"]  # fmt: skip
ENCODINGS = ["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "utf-32"]
SQUEEZED = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}  # fmt: skip


def word_column(rnd: random.Random, n: int) -> tuple[list[str], None]:
    """Texts of a few values, or of many."""
    words = rnd.sample(WORDS, rnd.randrange(2, 7))
    return [rnd.choice(words) for _ in range(n)], None


def random_cells(rnd: random.Random) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """The texts of a table, and the numbers that they mean; None for a column of words."""
    n = rnd.choice([1, 2, 3, *range(20, 60)])
    columns, truths = {}, {}
    for name in rnd.sample(NAMES, rnd.randrange(2, 6)):
        texts, truth = rnd.choice([number_column, number_column, date_column, word_column])(rnd, n)
        for mark in rnd.sample(MISSING, rnd.randrange(3)) if n > 3 else ():
            row = rnd.randrange(n)
            texts[row] = mark
            if truth is not None:
                truth[row] = np.nan
        columns[name] = texts
        truths[name] = None if truth is None else np.array(truth)
    return columns, truths


def written_text(rnd: random.Random, columns: dict[str, list[str]]) -> tuple[bytes, str]:
    """The table as text of a random dialect, or as JSON lines, and the extension of its name."""
    rows = list(zip(*columns.values(), strict=True))
    if rnd.random() < 0.15:
        lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=rnd.random() < 0.5)
                 for row in rows)  # fmt: skip
        return "\n".join(lines).encode(), ".jsonl"
    out = io.StringIO()
    quoting = rnd.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(
        out, delimiter=rnd.choice(",;\t|"), quoting=quoting,
        lineterminator=rnd.choice(["\n", "\n", "\r\n"]),
    )  # fmt: skip
    writer.writerow(columns)
    writer.writerows(rows)
    text = out.getvalue()
    if rnd.random() < 0.2:
        text = text.rstrip("\r\n")
    encoding = rnd.choice(ENCODINGS)
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        data = text.encode()
    return data, rnd.choice([".csv", ".txt"])


def written_file(rnd: random.Random, columns: dict[str, list[str]], folder: Path) -> Path:
    """A file of a random type with the table."""
    empty_row = any(not any(row) for row in zip(*columns.values(), strict=True))
    if rnd.random() < 0.1 and not empty_row:  # a sheet is read without its empty rows
        book = openpyxl.Workbook()
        for i, row in enumerate((columns, *zip(*columns.values(), strict=True))):
            for j, text in enumerate(row):
                cell = book.active.cell(i + 1, j + 1)
                cell.value, cell.data_type = text, "s"  # "#N/A" is a text
        book.save(folder / "t.xlsx")
        return folder / "t.xlsx"
    data, extension = written_text(rnd, columns)
    if rnd.random() < 0.15:
        path = folder / "t.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"export/t{extension}", data)
        return path
    squeezed = rnd.choice(["", "", *SQUEEZED])
    path = folder / f"t{extension}{squeezed}"
    path.write_bytes(SQUEEZED[squeezed](data))
    return path


def check_random_file(rnd: random.Random, folder: Path) -> None:
    """A random file has the columns and the cells that were written, or notes that say so."""
    columns, truths = random_cells(rnd)
    path = written_file(rnd, columns, folder)
    schema = look(path)
    shown = f"{path.name} {schema.dialect} {columns}"
    if "other reading" in schema.dialect and schema.names != tuple(columns):
        return
    assert schema.names == tuple(columns), shown
    parts = [rows.batch for rows in open_table(path).batches()]
    for column in schema:
        texts, truth = columns[column.name], truths[column.name]
        found = pa.array([text for part in parts for text in part.column(column.name).to_pylist()],
                         pa.string())  # fmt: skip
        assert [text or "" for text in found.to_pylist()] == texts, shown
        if truth is None:
            continue
        if column.role not in ("number", "date/time"):  # in a file with types, numbers may be codes
            assert "numbers" in column.note or len(texts) <= 3, f"{column} {shown}"
            continue
        exact = column.role == "number"
        read = by_format(column, cells.numbers if exact else cells.days)(found, frozenset())
        same = np.allclose(read, truth, rtol=0 if exact else 1e-12, atol=0, equal_nan=True)
        assert same or "is read" in column.note, f"{column} {shown}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("random")


@given(st.integers(0, 2**32))
def test_random_files_are_read_as_they_were_meant(folder, seed):
    check_random_file(random.Random(seed), folder)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_very_many_random_files_are_read_as_they_were_meant(folder, part):
    for seed in range(part * 12_500, (part + 1) * 12_500):
        check_random_file(random.Random(seed), folder)
