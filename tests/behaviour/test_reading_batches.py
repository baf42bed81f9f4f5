"""Batches of a table are read with shortcuts, which must not change what the cells mean."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import verosim
from verosim.data import cells, tables
from verosim.data.adapters import open_table


def test_the_clock_of_every_year():
    rng = np.random.default_rng(0)
    first, last = (d * cells.DAY for d in cells.DAYS_OF_YEARS)
    micros = np.concatenate([rng.integers(first, last, 20_000), [first, -1, 0, 1, last]])
    days = np.arange(-700_000, 700_000, 61)
    micros = np.concatenate([micros, days * cells.DAY])
    found = cells.clock_parts(pa.array(micros, pa.timestamp("us")))
    whole, zero = np.floor_divide(micros, cells.DAY), datetime.date(1970, 1, 1).toordinal()
    dates = [datetime.date.fromordinal(zero + int(day)) for day in whole]
    assert found["month"].tolist() == [date.month for date in dates]
    assert found["weekday"].tolist() == [date.weekday() for date in dates]
    assert (found["hour"] == (micros - whole * cells.DAY) // 3_600_000_000).all()


def test_a_missing_date_has_no_clock():
    found = cells.clock_parts(pa.array([None, 0], pa.timestamp("us")))
    assert {name: part.tolist() for name, part in found.items()} == {
        "hour": [-1, 0], "weekday": [-1, 3], "month": [-1, 1],
    }  # fmt: skip


def coded(index, values):
    return pa.DictionaryArray.from_arrays(pa.array(index, pa.int32()), pa.array(values))


def test_batches_with_the_same_dictionary_have_the_same_texts():
    one, two = coded([0, 1], ["1.0", "a"]), coded([1, None, 0], ["1.0", "a"])
    with cells.known_texts:
        assert cells.keys(one)[1] is cells.keys(two)[1]
    assert cells.keys(one)[1] is not cells.keys(two)[1]  # nothing is kept after a table was read
    assert cells.keys(one)[1] == ["1", "a", None]
    assert cells.keys(one, exact=True)[1] == ["1.0", "a", None]
    assert cells.keys(one, frozenset({"a"}))[1] == ["1", None, None]
    assert cells.keys(two)[0].tolist() == [1, 2, 0]
    assert cells.keys(coded([0], ["1", ".0a"]))[1] == ["1", ".0a", None]  # the same letters
    part = pa.array(["x", "1.0", "a"]).slice(1)
    assert cells.keys(pa.DictionaryArray.from_arrays([0, 1], part))[1] == ["1", "a", None]


def test_invalid_text_of_a_dictionary_is_an_error_only_in_the_batch_that_has_it():
    raw = pa.array([b"a", b"\xff"]).cast(pa.binary())
    values = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    for _ in range(2):
        assert cells.keys(pa.DictionaryArray.from_arrays([0], values))[1] == ["a", None, None]
        with pytest.raises(cells.Unreadable):
            cells.keys(pa.DictionaryArray.from_arrays([1], values))


def test_numbers_of_texts_with_and_without_a_closer_look():
    plain = ["1", "-2.5", "1e3", ".5", "7.", None]
    wanted = [1.0, -2.5, 1000.0, 0.5, 7.0, np.nan]
    np.testing.assert_array_equal(cells.numbers(pa.array(plain)), wanted)
    padded = [None if text is None else f" +{text} ".replace("+-", "-") for text in plain]
    np.testing.assert_array_equal(cells.numbers(pa.array(padded)), wanted)
    np.testing.assert_array_equal(
        cells.numbers(pa.array(["1.0", "2"]), frozenset({"1"})), [np.nan, 2.0]
    )
    for text in ("nan", "inf", "1e", "0x1"):
        with pytest.raises(cells.Unreadable):
            cells.numbers(pa.array(["1", text]))


def test_dates_of_texts_with_and_without_a_time_zone():
    texts = ["2024-02-29 23:59:59.123456", "1969-12-31", None]
    zoned = ["2024-02-29 23:59:59.1234567Z", "1969-12-31 00:00:00+02:00", ""]
    plain, other = (cells.days(pa.array(one)) for one in (texts, zoned))
    np.testing.assert_array_equal(plain, other)
    marked = cells.days(pa.array(texts), frozenset({"1969-12-31"}))
    np.testing.assert_array_equal(np.isnan(marked), [False, True, True])


def test_a_wide_table_is_read_in_batches_of_few_cells(tmp_path, monkeypatch):
    assert tables.rows_of_batch(10_000) * 10_000 <= tables.BATCH_CELLS
    assert tables.rows_of_batch(10 * tables.BATCH_CELLS) == 1
    monkeypatch.setattr(tables, "BATCH_CELLS", 1000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 9))
    table = pa.table({**{f"x{j}": X[:, j] for j in range(9)}, "y": np.arange(500) % 2})
    pq.write_table(table, tmp_path / "rows.parquet")
    sizes = [part.batch.num_rows for part in open_table(tmp_path / "rows.parquet").batches()]
    assert sum(sizes) == 500
    assert max(sizes) == 100
    model = verosim.GaussianNB().fit(tmp_path / "rows.parquet", "y")
    np.testing.assert_allclose(model.theta_, verosim.GaussianNB().fit(X, table["y"]).theta_)


def test_a_table_of_predictions_has_the_posteriors_and_densities_of_the_model():
    rng = np.random.default_rng(0)
    table = pa.table({
        "size": rng.normal(size=300), "visits": rng.poisson(3.0, 300),
        "hue": np.array(["red", "blue", None])[rng.integers(0, 3, 300)].tolist(),
        "day": pa.array(rng.integers(0, 10**15, 300), pa.timestamp("us")),
        "open": rng.random(300) < 0.5, "y": np.arange(300) % 3,
    })  # fmt: skip
    model = verosim.NaiveBayes().fit(table, "y")
    found = model.predict_table(table).read_all()
    proba = np.column_stack([found[f"p_{k}"].to_numpy() for k in range(3)])
    np.testing.assert_allclose(proba, model.predict_proba(table), rtol=1e-12)
    np.testing.assert_allclose(found["log_density"].to_numpy(), model.log_density(table))
