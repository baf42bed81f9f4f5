"""A source that changes between two passes of one call is an error, and never a result.

A law: a random file of a random source is replaced in a random way, just before a random pass reads
it again.
"""

from __future__ import annotations

import gzip
import io
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verosim
from tests.examples import tried_often
from verosim.data.byte_streams import FileBytes
from verosim.data.file_formats import File
from verosim.errors import VerosimError

CHANGED = r"has changed while it was used: (it was|it had|another file)"


def rows(n, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return pd.DataFrame({
        "size": np.round(rng.normal(y, 1.0, n), 3), "hue": rng.choice(list("abc"), n),
        "kind": np.array(["u", "v"])[y],
    })  # fmt: skip


def written(kind, frame):
    """The bytes of a file."""
    if kind == "parquet":
        out = io.BytesIO()
        frame.to_parquet(out)
        return out.getvalue()
    text = frame.to_json(orient="records", lines=True) if kind == "jsonl" else (
        frame.to_csv(index=False)
    )  # fmt: skip
    return gzip.compress(text.encode(), mtime=0) if kind.endswith(".gz") else text.encode()


KINDS = ["csv", "csv.gz", "parquet", "jsonl"]
CALLS = {
    "cross_validate": lambda X: verosim.cross_validate(verosim.NaiveBayes(), X, "kind", cv=2),
    "folds of a column": lambda X: verosim.cross_validate(
        verosim.GaussianNB(), X, "kind", cv="hue", schema=NUMBERS
    ),
    "search": lambda X: verosim.search(
        verosim.GaussianNB(), X, "kind", {"floor": [0.0, 0.1]}, cv=2, schema=NUMBERS
    ),
    "auto": lambda X: verosim.auto(X, "kind", models=[verosim.NaiveBayes()], cv=2),
    "pool": lambda X: verosim.Pool([verosim.NaiveBayes(), verosim.LDA()]).fit(X, "kind"),
    "calibrated": lambda X: verosim.Calibrated(verosim.NaiveBayes(), cv=2).fit(X, "kind"),
}
NUMBERS = verosim.look(rows(20, 0), "kind").edit({"hue": "ignore"})


@contextmanager
def watched(event):
    """event(name) is called when a file is opened, and before each pass over it."""
    opened, read = FileBytes.__post_init__, File.read

    def opening(self):
        event(self.path.name)
        opened(self)

    def reading(self, columns):
        event(self.data.name)
        return read(self, columns)

    with mock.patch.object(FileBytes, "__post_init__", opening), (
        mock.patch.object(File, "read", reading)
    ):  # fmt: skip
        yield


@contextmanager
def source(kind, count, n=24):
    """A folder of files of one kind."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "rows"
        folder.mkdir()
        for i in range(count):
            (folder / f"{i}.{kind}").write_bytes(written(kind, rows(n, i)))
        yield folder


@cache
def events_of(kind, count, call):
    """The files in the order in which a call opens and reads them."""
    seen: list[str] = []
    with source(kind, count) as folder, watched(seen.append):
        CALLS[call](folder)
    return seen


def replace_file(path, way):
    raw, before = path.read_bytes(), path.stat()
    if way == "removed":
        path.unlink()
    elif way == "another inode":  # with the same size and the same time
        other = path.with_name("other")
        other.write_bytes(raw)
        os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        other.replace(path)
    else:
        more = {
            "truncated": raw[: len(raw) // 2],
            "appended": raw + raw[-30:],
            "written again": raw,
        }
        path.write_bytes(more[way])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000 * (raw == more[way])))


WAYS = ["removed", "another inode", "truncated", "appended", "written again"]


@tried_often
@given(st.data())
@pytest.mark.slow
def test_a_replaced_file_is_an_error(data):
    kind = data.draw(st.sampled_from(KINDS))
    count = data.draw(st.integers(1, 3))
    call = data.draw(st.sampled_from(list(CALLS)))
    way = data.draw(st.sampled_from(WAYS))
    events = events_of(kind, count, call)
    again = [i for i, name in enumerate(events) if name in events[:i]]
    at = data.draw(st.sampled_from(again))
    seen: list[str] = []

    with source(kind, count) as folder:

        def event(name):
            if len(seen) == at:
                replace_file(folder / name, way)
            seen.append(name)

        with watched(event), pytest.raises(VerosimError, match=CHANGED) as error:
            CALLS[call](folder)
        assert events[at] in error.value.what
    assert seen == events[: at + 1]  # nothing was read after the change


@pytest.mark.parametrize("call", CALLS)
def test_each_file_is_opened_once(call):
    opened: list[Path] = []
    before = FileBytes.__post_init__

    def opening(self):
        opened.append(self.path)
        before(self)

    with source("csv", 2) as folder, mock.patch.object(FileBytes, "__post_init__", opening):
        CALLS[call](folder)
    assert len(opened) == len(set(opened)) == 2


@pytest.mark.parametrize("way", ["truncated", "appended", "written again"])
def test_an_open_file_that_is_written_again_is_an_error(tmp_path, way):
    path = tmp_path / "rows.csv"
    path.write_bytes(written("csv", rows(24, 0)))
    with path.open("rb") as file:
        table = verosim.read(file, format="csv")
        verosim.NaiveBayes().fit(table, "kind")
        replace_file(path, way)
        with pytest.raises(VerosimError, match=CHANGED):
            verosim.cross_validate(verosim.NaiveBayes(), table, "kind", cv=2)


def test_a_file_that_grows_during_the_last_pass_is_an_error(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(written("csv", rows(24, 0)))
    table = verosim.read(path)
    with pytest.raises(VerosimError, match="it had"):  # noqa: PT012
        for _ in table.batches():
            with path.open("ab") as file:
                file.write(b"1.0,a,u\n")


# Streams and queries -----------------------------------------------------------------------------


class Pieces:
    """Tables that are given again in every pass, with a change from one pass on."""

    def __init__(self, change=None, at=0):
        self.change, self.at, self.passes = change, at, 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        frame = rows(60, 3)
        if self.passes >= self.at and self.change is not None:
            row = self.change % 60
            if self.change < 60:
                frame = frame.drop(index=row)
            elif self.change < 120:
                frame = pd.concat([frame, frame.iloc[[row]]])
            else:
                frame.loc[row, "kind"] = "u" if frame.loc[row, "kind"] == "v" else "v"
        self.passes += 1
        yield from pa.Table.from_pandas(frame, preserve_index=False).to_batches(max_chunksize=25)


@cache
def passes_of(call):
    pieces = Pieces()
    CALLS[call](pieces)
    return pieces.passes


@tried_often
@given(st.data())
@pytest.mark.slow
def test_a_stream_with_other_rows_in_a_later_pass_is_an_error(data):
    call = data.draw(st.sampled_from([name for name in CALLS if passes_of(name) > 2]))
    at = data.draw(st.integers(2, passes_of(call) - 1))  # the first one reads only the names
    labels_too = call != "folds of a column"  # its first pass does not read the labels
    pieces = Pieces(data.draw(st.integers(0, 179 if labels_too else 119)), at)
    with pytest.raises(VerosimError, match=r"rows.* in this pass, but it had .* file"):
        CALLS[call](pieces)


def test_a_query_with_other_rows_in_a_later_pass_is_an_error(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    frame = rows(60, 0)
    con, lite = duckdb.connect(), sqlite3.connect(tmp_path / "rows.db")
    con.execute("CREATE TABLE t AS SELECT * FROM frame")
    frame.to_sql("t", lite, index=False)
    lite.commit()
    tables = [verosim.query("SELECT * FROM t", con),
              verosim.query("SELECT * FROM t", tmp_path / "rows.db")]  # fmt: skip
    for table, database in zip(tables, (con, lite), strict=True):
        verosim.NaiveBayes().fit(table, "kind")
        database.execute("UPDATE t SET kind = 'v' WHERE size = (SELECT min(size) FROM t)")
        database.commit()
        with pytest.raises(VerosimError, match="rows of the class 'v' in this pass"):
            verosim.cross_validate(verosim.NaiveBayes(), table, "kind", cv=2)


def test_a_lazy_frame_with_other_rows_in_a_later_pass_is_an_error(tmp_path):
    rows(60, 0).to_csv(tmp_path / "rows.csv", index=False)
    table = verosim.data.adapters.open_table(pl.scan_csv(tmp_path / "rows.csv"))
    verosim.NaiveBayes().fit(table, "kind")
    rows(58, 0).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(VerosimError, match="The lazy frame has 58 rows in this pass"):
        verosim.NaiveBayes().fit(table, "kind")
