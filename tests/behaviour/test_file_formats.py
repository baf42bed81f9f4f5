"""Every file type and every dialect of text gives the model of the same rows in Parquet."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sqlite3
import time
import warnings
import zipfile
from pathlib import Path

import adbc_driver_sqlite.dbapi
import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import verosim
from verosim.testing import assert_same


def small():
    """A table with accents, quotes, delimiters and empty cells in its texts."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    towns = np.array(["Málaga", "Köln; Süd", "a|b", "x\ty", 'the "hub"', "plain, old", "007", None])
    return pd.DataFrame(
        {
            "größe": np.where(rng.random(300) < 0.1, np.nan, rng.normal(y, 1).round(3)),
            "visits": rng.poisson(2 + y),
            "town": towns[(y + rng.integers(0, 7, 300)) % 8],
            "kind": np.where(y == 1, "sí", "no"),
        }
    )


TABLES = {
    "small": (None, "kind"),
    "german_credit": ("german_credit", "class"),
    "titanic": ("titanic", "survived"),
}


@pytest.fixture(params=TABLES)
def table(request):
    name, target = TABLES[request.param]
    if name is None:
        return small(), target
    data = request.getfixturevalue("data")
    return pd.read_csv(data / name / f"{name}.csv", keep_default_na=False, na_values=[""]), target


def text(frame, sep=",", **options):
    return frame.to_csv(index=False, sep=sep, **options)


def written(frame, folder: Path):
    """(name, source) of the same rows in every file type and dialect."""
    plain = text(frame)
    utf8 = plain.encode()
    lines = frame.to_json(orient="records", lines=True, force_ascii=False).encode()
    files = {
        "comma.csv": utf8,
        "byte order mark.csv": b"\xef\xbb\xbf" + utf8,
        "semicolon.csv": text(frame, ";").encode(),
        "tab.tsv": text(frame, "\t").encode(),
        "tab.txt": text(frame, "\t").encode(),
        "pipe.csv": text(frame, "|").encode(),
        "latin.csv": text(frame, ";").encode("latin-1"),
        "utf-16.csv": plain.encode("utf-16"),
        "utf-16-be.csv": plain.encode("utf-16-be"),
        "windows.csv": text(frame, ";", lineterminator="\r\n").encode("cp1252"),
        "lines.jsonl": lines,
        "lines.ndjson": lines,
        "lines.jsonl.gz": gzip.compress(lines),
        "table.csv.gz": gzip.compress(utf8),
        "table.csv.bz2": bz2.compress(utf8),
        "table.csv.xz": lzma.compress(utf8),
        "table.csv.zst": pa.compress(utf8, "zstd", asbytes=True),
        "latin.csv.xz": lzma.compress(text(frame, ";").encode("latin-1")),
        "misnamed.csv": gzip.compress(utf8),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
        yield name, folder / name
    with zipfile.ZipFile(folder / "table.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/table.csv", utf8)
        archive.writestr("__MACOSX/table.csv", b"\x00")
    yield "zip", folder / "table.zip"
    half = len(frame) // 2
    with zipfile.ZipFile(folder / "parts.zip", "w") as archive:
        archive.writestr("a.csv", text(frame[:half]))
        archive.writestr("b.csv", text(frame[half:], ";"))
    yield "zip of two", folder / "parts.zip"
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    book.active.append(["nothing to see here"])
    sheet = book.create_sheet("Datos")
    for row in [list(frame.columns), *frame.astype(object).where(frame.notna(), None).to_numpy()]:
        sheet.append(list(row))
    book.save(folder / "book.xlsx")
    yield "xlsx", verosim.read(folder / "book.xlsx", sheet="Datos")
    yield "open binary file", io.BytesIO(utf8)
    yield "open text file", io.StringIO(plain)
    yield "open text file on disk", open(folder / "latin.csv", encoding="latin-1")  # noqa: SIM115
    yield "open gzip", gzip.open(folder / "table.csv.gz")
    yield "open parquet", open(folder / "table.parquet", "rb")  # noqa: SIM115
    (folder / "one.csv").write_text(text(frame[:half]))
    (folder / "two.csv.gz").write_bytes(gzip.compress(text(frame[half:], ";").encode()))
    yield "list of paths", [str(folder / "one.csv"), str(folder / "two.csv.gz")]
    comma = text(frame, ";", decimal=",").encode("latin-1")
    (folder / "comma decimal.csv").write_bytes(comma)
    yield "decimal comma", verosim.read(folder / "comma decimal.csv", decimal=",")


IN_PARTS = ("zip of two", "list of paths")


@pytest.fixture
def model_of(table, tmp_path):
    frame, target = table
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "table.parquet")
    return verosim.NaiveBayes().fit(tmp_path / "table.parquet", target)


def test_every_file_type_and_dialect_gives_the_model_of_the_parquet(table, model_of, tmp_path):
    frame, target = table
    expected = model_of.stats_.fingerprint()
    proba = model_of.predict_proba(tmp_path / "table.parquet")
    for name, source in written(frame, tmp_path):
        model = verosim.NaiveBayes().fit(source, target)
        assert model.classes_.tolist() == model_of.classes_.tolist(), name
        if name in IN_PARTS:  # sums over two files are rounded in another order
            assert_same(model.stats_, model_of.stats_)
        else:
            assert model.stats_.fingerprint() == expected, name
        np.testing.assert_array_equal(model_of.predict_proba(source), proba, err_msg=name)
        if hasattr(source, "close"):
            source.close()
