"""Columns that travel as one array from Spark to Python come back as they were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from verosim.engines.spark_columns import (
    LEAST_PACKED,
    packed_groups,
    unpacked_batches,
)

TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()]


def packed(columns):
    """One array of cells for each row, as Spark makes it."""
    rows = [list(row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]
    return pa.array(rows, pa.list_(columns[0].type))


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_packed_columns_come_back(type_, holes):
    rng = np.random.default_rng(1)
    cells = rng.integers(-100, 100, (5, 50))
    gone = rng.random((5, 50)) < holes
    columns = [pa.array(c, mask=m).cast(type_) for c, m in zip(cells, gone, strict=True)]
    texts = pa.array([f"t{i}" for i in range(50)])
    whole = pa.record_batch([packed(columns), texts], names=["g0", "g1"])
    groups = [["a", "b", "c", "d", "e"], ["text"]]
    for start, rows in ((0, 50), (7, 20), (0, 0), (50, 0)):
        found = next(unpacked_batches([whole.slice(start, rows)], groups))
        assert found.schema.names == ["a", "b", "c", "d", "e", "text"]
        for name, column in zip("abcde", columns, strict=True):
            assert found[name].equals(column.slice(start, rows))
        assert found["text"].equals(texts.slice(start, rows))


def test_nan_and_null_stay_apart():
    columns = [pa.array([1.0, None, float("nan")]), pa.array([None, -0.0, 2.0])]
    found = next(unpacked_batches([pa.record_batch([packed(columns)], names=["g"])], [["a", "b"]]))
    assert found["a"].null_count == found["b"].null_count == 1
    assert np.isnan(found["a"][2].as_py())
    assert np.signbit(found["b"][1].as_py())


def test_columns_of_one_number_type_travel_together():
    numbers = [f"x{i}" for i in range(LEAST_PACKED)]
    types = dict.fromkeys(numbers, "double") | {"a": "integer", "t": "string", "d": "decimal"}
    names = ["t", *numbers, "a", "d"]
    assert packed_groups(types, names) == [numbers, ["t"], ["a"], ["d"]]
    texts = dict.fromkeys(numbers, "string")
    assert packed_groups(texts, numbers) == [[name] for name in numbers]
