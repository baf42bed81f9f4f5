"""A table goes to another process wherever its source can; else the error says why not."""

from __future__ import annotations

import pickle
import sqlite3

import duckdb
import numpy as np
import pytest

import verosim
from tests.behaviour.test_sources import SETTINGS, frame, sources
from verosim.data.adapters import array_table, open_table

__all__ = ["frame"]  # the fixture

BOUND = {"record batches", "generator", "duckdb", "duckdb query", "sqlite query"}  # to this process


def rows_of(table):
    return [rows.batch.to_pydict() | {"": rows.place(0)} for rows in table.batches()]


def test_every_source_that_can_pickles(frame, tmp_path):
    seen = set()
    for name, source in sources(frame, tmp_path):
        table = open_table(source)
        if name in BOUND:
            with pytest.raises(verosim.VerosimError, match="cannot be pickled"):
                pickle.dumps(table)
            seen.add(name)
            continue
        again = pickle.loads(pickle.dumps(table))
        assert (again.names, again.rows, again.native) == (table.names, table.rows, table.native)
        assert rows_of(again) == rows_of(table), name
        wanted = next(again.batches({"zip", "Class"})).batch.schema.names
        assert {"zip", "Class"} <= set(wanted), name
    assert seen == BOUND


def test_the_model_of_a_pickled_table_is_the_same(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    again = pickle.loads(pickle.dumps(open_table(tmp_path / "t.csv")))
    schema = verosim.look(tmp_path / "t.csv", target="Class", **SETTINGS)
    here, there = (
        verosim.NaiveBayes().fit(source, "Class", schema=schema)
        for source in (tmp_path / "t.csv", again)
    )
    assert here.stats_.fingerprint() == there.stats_.fingerprint()


def test_arrays_pickle():
    table = array_table(np.arange(6.0).reshape(3, 2), ("a", "b"))
    assert rows_of(pickle.loads(pickle.dumps(table))) == rows_of(table)


def test_a_table_that_runs_out_cannot(frame):
    connection = sqlite3.connect(":memory:")
    once = verosim.query("SELECT 1 AS x", connection)
    with pytest.raises(verosim.VerosimError, match="only once, so it cannot be pickled"):
        pickle.dumps(once)
    relation = verosim.query("SELECT 1 AS x", duckdb.connect())
    with pytest.raises(verosim.VerosimError, match="reads a DuckDBPyRelation cannot be pickled"):
        pickle.dumps(relation)


def test_a_table_that_is_still_open_cannot(frame):
    import polars as pl

    table = open_table(pl.from_pandas(frame).lazy())
    pickle.dumps(table)
    table.head(3)
    with pytest.raises(verosim.VerosimError, match="still open"):
        pickle.dumps(table)
    assert sum(rows.batch.num_rows for rows in table.batches()) == len(frame)
    pickle.dumps(table)
