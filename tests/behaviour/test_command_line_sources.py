"""Rows of databases, of stdin and of engines, as a user of the command line gives them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as pa_csv

from tests.behaviour.command_line import run, start

SELECT = "SELECT * FROM visits"


@pytest.fixture(scope="module")
def rows(folder):
    return pa_csv.read_csv(folder / "later.csv")


@pytest.fixture(scope="module")
def expected(folder):
    """What predict writes for the rows of the file."""
    words = ["predict", folder / "visits.verosim", folder / "later.csv", "--keep", "customer"]
    return run(*words).stdout


def predicted(folder, *source: object, given: bytes | str = "") -> str:
    words = ["predict", folder / "visits.verosim", *source, "--keep", "customer"]
    return run(*words, given=given).stdout


def test_sqlite(folder, rows, expected, tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE visits (customer, age, device, minutes, pages, result)")
        values = zip(*(column.to_pylist() for column in rows.columns), strict=True)
        db.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", values)
    for url in (path, f"sqlite:///{path}"):
        assert predicted(folder, "--db", url, "--query", SELECT) == expected
    found = run("validate", folder / "visits.verosim", "--db", path, "--query", SELECT, "--json")
    assert json.loads(found.stdout)["rows"] == 100
    wrong = run(
        "predict", folder / "visits.verosim", "--db", path, "--query", "SELECT * FROM absent",
        code=1,
    ).stderr  # fmt: skip
    assert "no such table: absent" in wrong


def test_duckdb(folder, rows, expected, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as db:
        db.register("given", rows)
        db.execute("CREATE TABLE visits AS SELECT * FROM given")
    for url in (path, f"duckdb:///{path}"):
        assert predicted(folder, "--db", url, "--query", SELECT) == expected
    model = tmp_path / "m.verosim"
    run("fit", "--db", path, "--query", SELECT, "-t", "result", "--model", "naivebayes", "--folds",
        0, "-o", model)  # fmt: skip
    assert json.loads(run("info", model, "--json").stdout)["rows"] == 100


@pytest.fixture(scope="module")
def postgres():
    """The URL of a PostgreSQL server of its own."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = shutil.which("initdb") or (str(found[-1]) if found else None)
    if program is None:
        pytest.skip("PostgreSQL is not installed")
    folder = Path(program).resolve().parent
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no runuser")
        as_user = ["runuser", "-u", "nobody", "--"]
    place = Path(f"/tmp/verosim-postgres-{os.getpid()}")  # a socket needs a short path
    place.mkdir()
    if as_user:
        shutil.chown(place, "nobody")

    def do(*words: object) -> None:
        subprocess.run(
            [*as_user, *map(str, words)], check=True, cwd=place, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    try:
        do(program, "-D", place / "data", "-U", "ana", "-A", "trust", "--no-sync")
        settings = f"-c listen_addresses='' -c unix_socket_directories={place} -c fsync=off"
        do(folder / "pg_ctl", "-D", place / "data", "-w", "-o", settings, "-l", place / "log",
           "start")  # fmt: skip
        try:
            yield f"postgresql://ana@/postgres?host={place}"
        finally:
            do(folder / "pg_ctl", "-D", place / "data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.slow
def test_postgresql(folder, rows, expected, postgres, tmp_path, monkeypatch):
    try:
        import adbc_driver_postgresql  # noqa: F401
        import psycopg
    except ImportError:
        pytest.skip("there is no driver for PostgreSQL")
    with psycopg.connect(postgres) as db:
        db.execute(
            "CREATE TABLE visits (customer text, age int, device text, minutes float8, pages int, "
            "result text)"
        )
        with db.cursor().copy("COPY visits FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                copy.write_row(row)
    from verosim.cli import sources

    for driver in sources.POSTGRES_DRIVERS:
        monkeypatch.setattr(sources, "POSTGRES_DRIVERS", (driver, "psycopg"))
        assert predicted(folder, "--db", postgres, "--query", SELECT) == expected
    out = run("look", "--db", postgres, "--query", SELECT, "-t", "result").stdout
    assert "minutes" in out
    wrong = run("look", "--db", f"{postgres}/none", "--query", SELECT, code=1).stderr
    assert wrong.startswith("error: The database cannot be opened")
    assert len(wrong.splitlines()) == 2


def test_other_databases_are_refused(folder):
    err = run("look", "--db", "mysql://host/shop", "--query", SELECT, code=2).stderr
    assert "sqlite, duckdb or postgresql" in err


def test_stdin_in_several_formats(folder, rows, expected, tmp_path):
    text = (folder / "later.csv").read_text()
    assert predicted(folder, "-", given=text) == expected
    assert predicted(folder, "-", given=text.replace(",", ";")) == expected
    assert predicted(folder, "-", "--read", "sep=|", given=text.replace(",", "|")) == expected
    lines = "".join(f"{json.dumps(row)}\n" for row in rows.to_pylist())
    assert predicted(folder, "-", "--read", "format=jsonl", given=lines) == expected
    for form, write in (("parquet", pq.write_table), ("arrow", write_arrow)):
        path = tmp_path / "rows"
        write(rows, path)
        raw = path.read_bytes()
        assert predicted(folder, "-", "--read", f"format={form}", given=raw) == expected
    assert predicted(folder, "-", given=gzip.compress(text.encode())) == expected


def write_arrow(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def test_verbs_that_read_twice_take_stdin_too(folder, tmp_path):
    text = (folder / "visits.csv").read_text()
    model = tmp_path / "m.verosim"
    run("fit", "-", "-t", "result", "--simple", "-o", model, given=text)
    assert run("validate", model, "-", given=text).stdout.startswith("300 rows")


@pytest.mark.slow
def test_a_pipe_is_stdin(folder, expected):
    with start(
        "predict", folder / "visits.verosim", "-", "--keep", "customer", stdin=subprocess.PIPE
    ) as process:
        out, err = process.communicate((folder / "later.csv").read_text())
    assert process.returncode == 0, err
    assert out == expected


@pytest.mark.parametrize(("engine", "name"), [("dask", "Dask"), ("spark", "Spark")])
def test_an_engine_that_is_not_installed(folder, tmp_path, monkeypatch, engine, name):
    for module in ("dask", "dask.dataframe", "distributed", "pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, module, None)
    found = run(
        "fit", "rows.csv", "-t", "y", "-o", tmp_path / "m.verosim", "--engine", engine, code=1
    )
    assert f"error: {name} is not installed." in found.stderr
    assert f"pip install 'verosim[{engine}]'" in found.stderr
    assert not (tmp_path / "m.verosim").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["rows", "--engine", "flink"], "--engine must be dask or spark; got 'flink'."),
        (["rows", "--address", "tcp://host:1"], "--address needs --engine."),
        (["-", "--engine", "dask"], "--engine reads files and folders."),
        (["--db", "a.db", "--query", "SELECT 1", "--engine", "spark"], "--engine reads files"),
        (["rows", "--engine", "dask", "--read", "sheet=1"], "encoding, format and sep"),
        (["rows", "--engine", "dask", "--read", "format=xlsx"], "must be parquet or csv"),
    ],
)
def test_options_that_an_engine_does_not_have(tmp_path, words, text):
    assert text in run("fit", *words, "-t", "y", "-o", tmp_path / "m.verosim", code=2).stderr


@pytest.mark.parametrize(
    ("words", "text"), [([], "give the folder"), (["-o", "out", "--spreadsheet"], "--spreadsheet")]
)
def test_an_engine_writes_folders(tmp_path, words, text):
    given = ["predict", tmp_path / "m.verosim", "rows", "--engine", "dask"]
    assert text in run(*given, *words, code=2).stderr
