"""Nothing wrong happens in silence: what a table may hide is read, listed, warned of or refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import verosim
from verosim import LDA, GaussianNB, NaiveBayes, VerosimError, VerosimWarning, look

MARKS = ["NA", "N/A", "n/a", "null", "None", "?", "-", ".", "s/d", "#N/A"]


def warned(call):
    """The result of a call, and the messages of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = call()
    return out, [str(one.message) for one in caught if issubclass(one.category, VerosimWarning)]


def every_source(frame, folder):
    """The same cells as a CSV file, a Parquet file, and tables of three libraries."""
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    return [
        folder / "t.csv", folder / "t.parquet", frame, pl.from_pandas(frame),
        pa.Table.from_pandas(frame), frame.to_dict("list"),
    ]  # fmt: skip


# Missing marks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", MARKS)
def test_missing_marks_of_a_category_are_counted_for_every_source(mark, tmp_path):
    hue = (["red", "blue", mark] * 9)[:25]
    frame = pd.DataFrame({"hue": hue, "y": (["a", "b"] * 13)[:25]})
    for source in every_source(frame, tmp_path):
        schema = look(source, "y")
        assert schema["hue"].role == "category"
        assert f"{mark!r} (8 cells). If so, use na=[{mark!r}]." in str(schema)


@pytest.mark.parametrize("mark", MARKS)
def test_numbers_with_missing_marks_are_numbers_with_holes_for_every_source(mark, rng, tmp_path):
    y = rng.choice(["a", "b"], 90)
    x = (rng.normal(size=90) + (y == "a")).round(3)
    hole = np.arange(90) % 9 == 0
    frame = pd.DataFrame({"x": np.where(hole, mark, x.astype(str)), "y": y})
    clean = NaiveBayes().fit({"x": np.where(hole, np.nan, x), "y": y}, "y")
    for source in every_source(frame, tmp_path):
        model = NaiveBayes().fit(source, "y")
        column = model.schema_["x"]
        assert (column.role, column.missing) == ("number", (mark,))
        assert f"{mark!r} (10 cells)" in column.note
        assert model.stats_.fingerprint() == clean.stats_.fingerprint()
        given = NaiveBayes().fit(source, "y", na=[mark]) if source is frame else model
        assert (model.predict_proba(source) == given.predict_proba(source)).all()


def test_dates_and_truth_values_with_missing_marks_are_read_with_holes():
    days = ["2024-01-02", "s/d", "2024-03-04", "2024-03-05"] * 6
    flags = ["TRUE", "NA", "FALSE", "TRUE"] * 6
    schema = look({"when": days, "paid": flags, "y": ["a", "b"] * 12}, "y")
    assert [c.role for c in schema] == ["date/time", "boolean"]
    assert [c.missing for c in schema] == [("s/d",), ("NA",)]


def test_marks_of_a_column_are_kept_in_the_schema_and_not_used_for_a_category(tmp_path):
    table = {"x": ["1", "2", "?", "4"] * 6, "y": ["a", "b"] * 12}
    schema = look(table, "y")
    schema.save(tmp_path / "s.json")
    assert verosim.Schema.load(tmp_path / "s.json") == schema
    edited = schema.edit({"x": "category"})
    assert edited["x"].missing == () == look(table, "y", columns={"x": "category"})["x"].missing
    values = NaiveBayes().fit(table, "y", schema=edited).stats_.parts["category"].axes.codes.values
    assert sorted(values[0]) == ["1", "2", "4", "?"]


def test_one_number_and_a_mark_is_a_category():
    """'1' and '-' are two answers: without the mark, nothing would be left."""
    assert look({"x": ["1", "-"] * 20, "y": ["a", "b"] * 20}, "y")["x"].role == "category"


@pytest.mark.parametrize("mark", [99, 999, -999, 9999, -9999, 99999, -999.9])
def test_numbers_far_outside_and_repeated_are_listed_for_every_source(mark, rng, tmp_path):
    x = rng.integers(0, 28, 60).astype(type(mark))
    x[::10] = mark
    for source in every_source(pd.DataFrame({"x": x, "y": rng.choice(["a", "b"], 60)}), tmp_path):
        assert f"'{mark}' (6 cells). If they mean missing, use na=['{mark}']." in str(look(source))
        assert f"'{mark}'" not in look(source, na=[mark])["x"].note


def test_numbers_within_the_range_or_seen_once_are_not_listed(rng):
    smooth, once = rng.integers(0, 2000, 500), rng.integers(0, 28, 500)
    smooth[:9], once[0] = 999, 999
    for column in look({"x": smooth, "z": once}):
        assert "missing" not in column.note


def test_codes_with_leading_zeros_have_a_note_that_can_be_used():
    """The note said: numbers but for nothing, then na=[]."""
    codes = [f"{i:05d}" for i in range(10)] * 3
    note = look({"zip": codes, "y": ["a", "b"] * 15}, "y")["zip"].note
    assert "na=[]" not in note
    assert "columns={'zip': 'gaussian'}" in note
