"""Every file type and every dialect of text gives the model of the same rows in Parquet."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sqlite3
import subprocess
import sys
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
import python_calamine

import verosim
from verosim.data import csv_files
from verosim.testing import assert_same

ROOT = Path(__file__).parents[2]


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
    yield "open gzip", gzip.open(folder / "table.csv.gz")  # noqa: SIM115
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


def test_a_decimal_comma_is_found(tmp_path):
    frame = small()
    frame.to_csv(tmp_path / "comma.csv", index=False, sep=";", decimal=",")
    frame.to_csv(tmp_path / "point.csv", index=False)
    found, plain = (verosim.NaiveBayes().fit(tmp_path / f"{name}.csv", "kind")
                    for name in ("comma", "point"))  # fmt: skip
    assert found.stats_.fingerprint() == plain.stats_.fingerprint()


# What is found is shown, and what is given is used ----------------------------------------------


def file(folder, name, data):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


ROWS = "x;y\n1;a\n2;b\n3;a\n4;b\n"


@pytest.mark.parametrize(
    ("name", "data", "shown"),
    [
        ("a.csv", "x,y\n1,a\n2,b\n", ""),
        ("a.csv", ROWS, "delimiter ';'"),
        ("a.csv", ROWS.replace(";", "\t"), "delimiter tab"),
        ("a.csv", ROWS.replace(";", "|"), "delimiter '|'"),
        ("a.csv", b"\xef\xbb\xbf" + ROWS.encode(), "delimiter ';'"),
        ("a.csv", "x,y\n1,ñ\n2,b\n".encode("latin-1"), "encoding windows-1252"),
        ("a.csv", "x,y\n1,€\n2,b\n".encode("cp1252"), "encoding windows-1252"),
        ("a.csv", b"x,y\n1,\x81\xf1\n2,b\n", "encoding latin-1"),
        ("a.csv", "x,y\n1,ñ\n2,b\n".encode("utf-16"), "encoding utf-16"),
        ("a.csv", "x,y\n1,ñ\n2,b\n".encode("utf-16-le"), "encoding utf-16-le"),
        ("a.csv", "x,y\n1,ñ\n2,b\n".encode("utf-32"), "encoding utf-32"),
        ("a.csv", "'x','y'\n'1','a, b'\n'2','b'\n", 'quote "\'"'),
        ("a.csv", "x,y\n1,'a, b'\n2,'b'\n", 'quote "\'"'),
        ("a.csv", "x,y\n1,'40-49'\n2,'b'\n", ""),  # they may belong to the values
        ("a.csv", "x,y\n1,'tis\n2,'b'\n", ""),
        # the delimiter gives rows of equal length; the most frequent mark of the header does not
        ("a.csv", "size, in cm; of, it, all;y\n1;2;a\n3;4;b\n", "delimiter ';'"),
        ("a.csv", '"x;1;2;3","y"\n1,a\n2,b\n', ""),
    ],
)
def test_the_dialect_is_found_and_shown(tmp_path, name, data, shown):
    schema = verosim.look(file(tmp_path, name, data))
    assert schema.dialect == shown
    assert (f"\nfile: {shown}\n" in str(schema)) == bool(shown)
    schema.save(tmp_path / "s.json")
    assert verosim.Schema.load(tmp_path / "s.json").dialect == shown


def test_what_is_given_overrides_what_is_found(tmp_path):
    path = file(tmp_path, "a.csv", "x,1;y,2;z\n1,5;a,b;c\n2,5;c,d;e\n")
    assert verosim.look(path).names == ("x", "1;y", "2;z")
    assert verosim.look(path, read={"sep": ";"}).names == ("x,1", "y,2", "z")
    path = file(tmp_path, "b.csv", 'x,y\n"a,1\n"b,2\n')
    assert verosim.look(path, read={"quote": ""}).names == ("x", "y")
    path = file(tmp_path, "c.csv", "x,y\nПривет,1\nмир,2\n".encode("koi8-r"))
    schema = verosim.look(path, "y", read={"encoding": "koi8-r"})
    assert schema.dialect == "encoding koi8-r"
    model = verosim.CategoricalNB().fit(path, "y", schema=schema, read={"encoding": "koi8-r"})
    assert model.categories_[0] == ["Привет", "мир"]
    path = file(tmp_path, "d.data", "x,y\n1,a\n2,b\n")
    assert verosim.look(path, read={"format": "csv"}).names == ("x", "y")


@pytest.mark.parametrize(
    ("data", "names", "shown"),
    [
        ("price, eur;size\n1,5;2\n", ("price, eur", "size"),
         "';' (the other reading is read=dict(sep=','))"),
        ("price, eur;size, m\n1,5;2,5\n3,5;4,5\n", ("price, eur", "size, m"), "';' (the other"),
        ("price, eur\tsize\n1,5\t2\n", ("price, eur", "size"), "tab (the other"),
        ("price, eur;size\n1,5;2\n2;3\n", ("price, eur", "size"), "';'"),
        ("a,b,place lat;lon\n1,2,40;3\n3,4,41;2\n", ("a", "b", "place lat;lon"),
         "',' (the other reading is read=dict(sep=';'))"),
        ("a,lat;lon,y\n1,40.5;3,u\n2,41;2,v\n", ("a", "lat;lon", "y"), "',' (the other"),
    ],
)  # fmt: skip
def test_a_comma_between_digits_is_not_a_delimiter_if_another_one_fits(
    tmp_path, data, names, shown
):
    schema = verosim.look(file(tmp_path, "a.csv", data))
    assert schema.names == names
    assert schema.dialect.startswith(f"delimiter {shown}")
    assert ("other reading" in schema.dialect) == ("other" in shown)


def test_every_method_takes_read(tmp_path):
    """`read` of a method is `verosim.read` of its rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    rows = "".join(f"{v:.2f};{k}\n".replace(".", ",") for v, k in zip(y + rng.normal(size=120), y,
                                                                     strict=True))  # fmt: skip
    path, options = file(tmp_path, "a.csv", "x;y\n" + rows), {"decimal": ","}
    opened = verosim.read(path, decimal=",")
    model = verosim.NaiveBayes().fit(path, "y", read=options)
    assert model.stats_.fingerprint() == verosim.NaiveBayes().fit(opened, "y").stats_.fingerprint()
    assert model.schema_["x"].role == "number"
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function",
                   "log_density", "log_joint"):  # fmt: skip
        np.testing.assert_array_equal(
            getattr(model, method)(path, read=options), getattr(model, method)(opened)
        )
    assert model.score(path, "y", read=options) == model.score(opened, "y")
    assert model.predict_table(path, read=options).read_all().num_rows == 120
    twice = verosim.NaiveBayes().fit(path, "y", read=options).partial_fit(path, "y", read=options)
    assert twice.class_count_.sum() == 240
    assert twice.forget(path, "y", read=options).class_count_.sum() == 120
    for source, given in ((path, options), (opened, None)):
        found = verosim.cross_validate(verosim.NaiveBayes(), source, "y", cv=3, read=given)
        assert found.rows == 120
    sure = verosim.calibrate(verosim.NaiveBayes(), path, "y", cv=3, read=options)
    np.testing.assert_array_equal(sure.predict(path, read=options), sure.predict(opened))
    assert sure.score(path, "y", read=options) == sure.score(opened, "y")
    chosen = verosim.auto(path, "y", simple=True, cv=3, read=options)
    assert chosen.model.predict(path, read=options).shape == (120,)


def test_the_decimal_mark_that_is_given_holds_for_all_numbers(tmp_path):
    cells = ["1,5", "1.234,5", "-2", "1.234", "+,5", "1e3", "31.12.2024", "a,b", "", "1,2,3"]
    rows = "".join(f"{cell};{i % 2}\n" for i, cell in enumerate(cells))
    opened = verosim.read(file(tmp_path, "a.csv", "x;y\n" + rows), decimal=",")
    (batch,) = opened.batches()
    assert batch.batch.column(0).to_pylist() == [
        "1.5", "1234.5", "-2", "1234", "+.5", "1e3", "31.12.2024", "a,b", None, "1,2,3",
    ]  # fmt: skip
    (batch,) = verosim.read(file(tmp_path, "b.csv", "x;y\n1,234.5;a\n"), decimal=".").batches()
    assert batch.batch.column(0).to_pylist() == ["1234.5"]


# Several files, folders and open files ----------------------------------------------------------


def test_folders_of_hive_partitions_are_columns(tmp_path):
    frame = small()
    frame["year"] = np.where(np.arange(300) % 2, 2023, 2024)
    frame["zone"] = np.where(np.arange(300) % 3 == 0, "01", None)
    frame = frame.sort_values(["year", "zone"], na_position="last").reset_index(drop=True)
    for (year, zone), part in frame.groupby(["year", "zone"], dropna=False):
        zone = zone if isinstance(zone, str) else "__HIVE_DEFAULT_PARTITION__"
        for kind in ("parquet", "csv"):
            folder = tmp_path / kind / f"year={year}" / f"zone={zone}"
            folder.mkdir(parents=True)
            part = part.drop(columns=["year", "zone"], errors="ignore")
            if kind == "csv":
                part.to_csv(folder / "part.csv", index=False)
            else:
                pq.write_table(pa.Table.from_pandas(part, preserve_index=False),
                               folder / "part.parquet")  # fmt: skip
    expected = verosim.NaiveBayes().fit(frame, "kind")
    for source in (
        tmp_path / "parquet",
        tmp_path / "csv",
        str(tmp_path / "csv" / "*" / "*" / "*.csv"),
        sorted(map(str, (tmp_path / "parquet").rglob("*.parquet"))),
    ):
        model = verosim.NaiveBayes().fit(source, "kind")
        assert model.schema_.names[-2:] == ("year", "zone")
        assert model.schema_["year"].role == "number"
        assert model.schema_["zone"].role == "category"  # 01 is no number
        assert_same(model.stats_, expected.stats_)
    (found,) = verosim.read(tmp_path / "csv" / "year=2023" / "zone=01" / "part.csv").batches()
    assert "year" not in found.batch.schema.names  # one file is only the file
    only = verosim.read(tmp_path / "parquet")
    assert {v for rows in only.batches(["year"]) for v in rows.batch[0].to_pylist()} == {2023, 2024}


def test_an_open_file_keeps_its_position_and_can_be_read_again(tmp_path):
    path = file(tmp_path, "a.csv", "# a comment\n" + ROWS)
    with path.open("rb") as binary, path.open() as words, io.BytesIO(path.read_bytes()) as held:
        for handle in (binary, words, held):
            handle.readline()
            at = handle.tell()
            model = verosim.GaussianNB().fit(handle, "y")
            assert handle.tell() == at
            assert model.score(handle, "y") == model.score(handle, "y")
            assert not handle.closed


class Pipe(io.RawIOBase):
    """A file in which no position can be set."""

    def __init__(self, data):
        self.rest = io.BytesIO(data)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self.rest.readinto(buffer)


def test_a_file_that_cannot_be_rewound_is_read_once(tmp_path):
    data = ("x;y\n" + "1;a\n2;b\n" * 400_000).encode()  # more than one block
    small_model = verosim.GaussianNB().fit(Pipe(ROWS.encode()), "y")
    assert small_model.class_count_.sum() == 4
    for packed in (data, gzip.compress(data), lzma.compress(data)):
        assert verosim.GaussianNB().fit(Pipe(packed), "y").class_count_.sum() == 800_000
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.csv", ROWS)
    assert verosim.GaussianNB().fit(Pipe(buffer.getvalue()), "y").class_count_.sum() == 4
    pq.write_table(pa.table({"x": [1.0, 2, 3], "y": ["a", "b", "a"]}), tmp_path / "a.parquet")
    opened = Pipe((tmp_path / "a.parquet").read_bytes())
    assert verosim.GaussianNB().fit(opened, "y").class_count_.sum() == 3
    with pytest.raises(verosim.VerosimError, match="read only once"):
        verosim.look(Pipe(data))
    table = verosim.read(Pipe(data))
    verosim.GaussianNB().fit(table, "y")
    with pytest.raises(verosim.VerosimError, match="read only once, and it was already read"):
        verosim.GaussianNB().fit(table, "y")


# Large cells, and flat memory -------------------------------------------------------------------


def test_large_cells_and_headers_are_read(tmp_path):
    """A cell of 10 MB, a name over 131,072 characters, and a header over 4 MB."""
    rows = "".join(f"{i},{'ab'[i % 2]},short\n" for i in range(1000))
    large = f'7,a,"{"z" * 10_000_000}"\n'
    path = file(tmp_path, "cell.csv", "x,y,t\n" + rows + large + rows)
    model = verosim.NaiveBayes(columns={"t": "ignore"}).fit(path, "y")
    assert model.class_count_.sum() == 2001
    lengths = [len(v) for rows in verosim.read(path).batches() for v in rows.batch[2].to_pylist()]
    assert (len(lengths), max(lengths)) == (2001, 10_000_000)
    name = "n" * 200_000
    path = file(tmp_path, "name.csv", f"{name},y\n1,a\n2,b\n3,a\n")
    assert verosim.GaussianNB().fit(path, "y").feature_names_in_.tolist() == [name]
    names = [f"column {i:06}" + "x" * 500 for i in range(10_000)]
    path = file(tmp_path, "header.csv", ",".join(names) + "\n" + ",".join("1" * 10_000) + "\n")
    (found,) = verosim.read(path).batches(names[:2])
    assert verosim.read(path).names == tuple(names)
    assert found.batch.num_rows == 1


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["latin.csv", "csv.xz", "csv.zst", "zip", "jsonl.gz"])
def test_compressed_and_converted_files_are_read_in_flat_memory(tmp_path, suffix):
    """Four times the rows, the same peak of Arrow's and Python's memory."""

    def peak(rows):
        line = "ñandú;2024;1\n" if "jsonl" not in suffix else '{"t": "ñandú", "n": 2024, "k": 1}\n'
        data = ("" if "jsonl" in suffix else "t;n;k\n") + line * rows
        path = tmp_path / f"{rows}.{suffix}"
        if suffix == "latin.csv":
            path.write_bytes(data.encode("latin-1"))
        elif suffix == "csv.xz":
            path.write_bytes(lzma.compress(data.encode(), preset=0))
        elif suffix == "csv.zst":
            path.write_bytes(pa.compress(data.encode(), "zstd", asbytes=True))
        elif suffix == "zip":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr("a.csv", data)
        else:
            path.write_bytes(gzip.compress(data.encode(), 1))
        done = subprocess.run(
            [sys.executable, "-m", "tests.memory_of_reading", path],
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
            capture_output=True, text=True, cwd=ROOT,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return tuple(map(int, done.stdout.split()))

    few, many = peak(500_000), peak(2_000_000)
    assert (few[0], many[0]) == (500_000, 2_000_000)
    assert many[1] < 1.3 * few[1] + (1 << 20)  # the rows are 20 MB more


def test_the_share_of_the_file_is_known_while_it_is_read(tmp_path, monkeypatch):
    """The progress bar can show the time left."""
    monkeypatch.setattr(csv_files, "CSV_BLOCK", 1 << 16)
    from verosim.engines.progress import Progress

    numbers = np.random.default_rng(0).integers(100_000, 999_999, 400_000)
    data = ("x;y\n" + "".join(f"{number};a\n" for number in numbers)).encode()
    for path in (
        file(tmp_path, "a.csv", data),
        file(tmp_path, "a.csv.gz", gzip.compress(data, 1)),
    ):
        shares, rows = [], []
        with Progress(None) as bar:
            for part in verosim.read(path).batches():
                rows.append(part.batch.num_rows)
                shares.append(part.share)
                bar.advance(rows[-1], part.share)
            assert bar.total == 400_000
        assert shares == sorted(shares)
        assert 0 < shares[0] < 0.1
        assert shares[-1] == 1.0
    (tmp_path / "folder").mkdir()
    for name in "ab":
        file(tmp_path / "folder", f"{name}.csv", data)
    shares = [part.share for part in verosim.read(tmp_path / "folder").batches()]
    assert shares == sorted(shares)
    assert shares[len(shares) // 2] == pytest.approx(0.5, abs=0.15)


# Errors name the file, the place and a way out --------------------------------------------------


def refused(match, source, target="y", **options):
    with pytest.raises(verosim.VerosimError, match=match) as caught:
        verosim.NaiveBayes().fit(source, target, **options)
    assert "Hint: " in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    good = ("x,y\n" + "1,a\n2,b\n" * 50_000).encode()
    refused("cut.csv.xz' cannot be read", file(tmp_path, "cut.csv.xz", lzma.compress(good)[:-40]))
    refused("cut.csv.bz2' cannot be read", file(tmp_path, "cut.csv.bz2", bz2.compress(good)[:-40]))
    packed = pa.compress(good, "zstd", asbytes=True)
    refused("cut.csv.zst' cannot be read", file(tmp_path, "cut.csv.zst", packed[:-9]))
    refused("cut.csv.gz' cannot be read", file(tmp_path, "cut.csv.gz", gzip.compress(good)[:-40]))
    with zipfile.ZipFile(tmp_path / "good.zip", "w") as archive:
        archive.writestr("a.csv", good)
    broken = bytearray((tmp_path / "good.zip").read_bytes())
    refused("cut.zip' cannot be read", file(tmp_path, "cut.zip", bytes(broken[:-40])))
    broken[1000:1010] = b"9,a\n9,a\n9,"
    refused("crc.zip/a.csv' cannot be read", file(tmp_path, "crc.zip", bytes(broken)))
    with zipfile.ZipFile(tmp_path / "none.zip", "w"):
        pass
    refused("contains no files", tmp_path / "none.zip")
    with zipfile.ZipFile(tmp_path / "odd.zip", "w") as archive:
        archive.writestr("a.csv", good)
        archive.writestr("readme.md", "hello")
    refused("not tables: 'readme.md'", tmp_path / "odd.zip")
    refused("cannot be read as xlsx", file(tmp_path, "bad.xlsx", b"PK\x03\x04 not a workbook"))
    refused("Row 1 of the file .*bad.jsonl' is not a JSON object",
            file(tmp_path, "bad.jsonl", '{"x": 1, "y": "a"}\n{"x": 2, "y"\n'))  # fmt: skip
    refused("Row 0 of the file .*list.jsonl'", file(tmp_path, "list.jsonl", "[1, 2]\n"))
    refused("is not a text file: its first bytes are those of parquet",
            file(tmp_path, "p.csv", b"PAR1 and so on"))  # fmt: skip
    refused("row 2 has a quote that is not closed", file(tmp_path, "q.csv",
            'x,y\n1,a\n2,b\n3,"a\n4,b\n5,a\n'))  # fmt: skip
    odd = file(tmp_path, "odd.csv", b"x,y\n" + b"1,a\n" * 300_000 + b"\xf1,b\n")
    refused(r"odd.csv', line 300002, column 'x'.*encoding='windows-1252'", odd)
    refused("cannot be read as ascii|not valid UTF-8", odd, read={"encoding": "ascii"})
    assert (
        verosim.NaiveBayes(columns={"x": "category"})
        .fit(odd, "y", read={"encoding": "windows-1252"})
        .class_count_.sum()
        == 300_001
    )
    half = file(tmp_path, "half.csv", "x,y\n1,a\n2,b\n".encode("utf-16")[:-1])
    refused("half.csv' cannot be read as utf-16", half)


def test_options_that_cannot_be(tmp_path):
    path = file(tmp_path, "a.csv", ROWS)
    refused("read has no option 'separator'", path, read={"separator": ";"})
    refused("sep must be one ASCII character", path, read={"sep": ";;"})
    refused("decimal must be '.' or ','", path, read={"decimal": "'"})
    refused("encoding 'klingon' is unknown", path, read={"encoding": "klingon"})
    refused("is read as csv, which has no option 'sheet'", path, read={"sheet": "A"})
    with pytest.raises(verosim.VerosimError, match="read must be a dict or None; got ';'"):
        verosim.look(path, read=";")
    refused("only for files; got an object of type dict", {"x": [1], "y": ["a"]}, read={"sep": ";"})
    book = openpyxl.Workbook()
    book.active.append(["x", "y"])
    book.save(tmp_path / "a.xlsx")
    refused("has no sheet 'B'", tmp_path / "a.xlsx", read={"sheet": "B"})


def test_excel_without_its_library_is_an_error_that_names_it(tmp_path, monkeypatch):
    openpyxl.Workbook().save(tmp_path / "a.xlsx")
    monkeypatch.setitem(sys.modules, python_calamine.__name__, None)
    refused(r"a.xlsx' is an Excel workbook.*pip install 'verosim\[excel\]'", tmp_path / "a.xlsx")


def test_errors_of_other_libraries_are_ours(tmp_path):
    lazy = pl.LazyFrame({"x": ["1", "b"], "y": ["a", "b"]}).with_columns(pl.col("x").cast(pl.Int64))
    refused("The lazy frame cannot be read", lazy)
    refused("The lazy frame cannot be read", pl.scan_csv(tmp_path / "none.csv"))
    con = duckdb.connect()
    with pytest.raises(verosim.VerosimError, match="The query 'SELEC 1' cannot be read"):
        verosim.query("SELEC 1", con)
    late = "SELECT CAST(CASE WHEN range < 90000 THEN '1' ELSE 'b' END AS INT) AS x, 'a' AS y"
    refused("cannot be read", verosim.query(f"{late} FROM range(100000)", con))
    lite = sqlite3.connect(":memory:")
    with pytest.raises(verosim.VerosimError, match=r"The query 'SELECT .*no such table"):
        verosim.query("SELECT * FROM t", lite)
    with pytest.raises(verosim.VerosimError, match="returns no rows"):
        verosim.query("CREATE TABLE t (x)", lite)
    with pytest.raises(verosim.VerosimError, match="is not valid text"):
        verosim.NaiveBayes().fit({"\ud800": [1, 2], "y": ["a", "b"]}, "y")
    with pytest.raises(verosim.VerosimError, match="does not exist"):
        verosim.NaiveBayes().fit("a very long text " * 1000, "y")


def test_a_key_that_appears_late_in_json_lines_is_a_warning(tmp_path):
    lines = '{"x": 1, "y": "a"}\n{"x": 2.5, "y": "b"}\n' * 150_000 + '{"x": 1, "y": "a", "z": 1}\n'
    path = file(tmp_path, "late.jsonl", lines)
    with pytest.warns(verosim.VerosimWarning, match="key 'z' of the file"):
        assert verosim.GaussianNB().fit(path, "y").class_count_.sum() == 300_001


def test_texts_of_json_lines_that_are_dates_stay_texts(tmp_path):
    rows = [{"x": i % 3 + 0.5, "month": f"2024-0{i % 2 + 1}-01", "z": i} for i in range(40)]
    path = file(tmp_path, "t.jsonl", pd.DataFrame(rows).to_json(orient="records", lines=True))
    schema = verosim.look(path, columns={"month": "category"})
    assert schema.names == ("x", "month", "z")
    assert schema["month"].role == "category"
    assert verosim.look(path)["month"].role == "date/time"
    labels = ["2024-01-01", "2024-02-01"]
    assert verosim.NaiveBayes().fit(path, "month").classes_.tolist() == labels


def test_a_column_of_json_lines_may_mix_types(tmp_path):
    lines = '{"x": 1, "k": 1}\n{"x": "b", "k": 2, "w": null}\n{"k": 1}\n{"x": 1.0, "k": 2}\n'
    model = verosim.NaiveBayes(columns={"x": "category"}).fit(file(tmp_path, "a.jsonl", lines), "k")
    assert sorted(model.stats_.parts["category"].axes.codes.values[0]) == ["1", "b"]


# Databases --------------------------------------------------------------------------------------


def test_queries_on_adbc_and_on_database_files(tmp_path):
    frame = small()
    for number in ("größe", "visits"):
        frame[number] = frame[number].astype(float)
    expected = verosim.NaiveBayes().fit(frame, "kind").stats_.fingerprint()
    lite = sqlite3.connect(tmp_path / "lite.db")
    frame.to_sql("t", lite, index=False)
    lite.commit()
    lite.close()
    with duckdb.connect(tmp_path / "duck.db") as duck:
        duck.execute("CREATE TABLE t AS SELECT * FROM frame")
    with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "lite.db")) as connection:
        table = verosim.query("SELECT * FROM t", connection)
        assert verosim.NaiveBayes().fit(table, "kind").stats_.fingerprint() == expected
    for name in ("lite.db", "duck.db"):
        table = verosim.query("SELECT * FROM t", tmp_path / name)
        for _ in range(2):  # the query runs again
            assert verosim.NaiveBayes().fit(table, "kind").stats_.fingerprint() == expected
        with pytest.raises(verosim.VerosimError, match="cannot be read"):
            verosim.query("SELECT * FROM nothing", str(tmp_path / name))
    with pytest.raises(verosim.VerosimError, match="is not a database"):
        verosim.query("SELECT 1", file(tmp_path, "a.csv", ROWS))
    with pytest.raises(verosim.VerosimError, match="cannot be opened"):
        verosim.query("SELECT 1", tmp_path / "none.db")
