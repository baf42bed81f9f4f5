"""The first rows of a Spark frame: from which plans one task reads them, and their places."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from verosim.engines.spark_first_rows import (
    ROW_BITS,
    begins_in_order,
    in_partitions,
    is_only_read,
    rows_of_plain_values,
)

SCAN = "FileScan parquet [x#0] Batched: true, DataFilters: [], ReadSchema: struct<x:double>"
PLANS = {
    "a file": (f"*(1) ColumnarToRow\n+- {SCAN}", True),
    "new columns": (f"*(1) Project [x#0]\n+- *(1) ColumnarToRow\n   +- {SCAN}", True),
    "a cached file": (
        "InMemoryTableScan [x#1]\n   +- InMemoryRelation [x#1], StorageLevel(memory)\n"
        f"         +- *(1) ColumnarToRow\n            +- {SCAN}",
        True,
    ),
    "a local table": ("LocalTableScan [a#86L]", True),
    "a filter": (f"*(1) Filter (x#1 > 3.0)\n+- *(1) ColumnarToRow\n   +- {SCAN}", False),
    "a filter in the cache": (
        "InMemoryTableScan [x#1]\n   +- InMemoryRelation [x#1], StorageLevel(memory)\n"
        f"         +- *(1) Filter (x#1 > 3.0)\n            +- {SCAN}",
        False,
    ),
    "a shuffle": (f"AdaptiveSparkPlan isFinalPlan=false\n+- Exchange hash\n   +- {SCAN}", False),
    "two tables": (f"Union\n:- *(1) ColumnarToRow\n:  +- {SCAN}\n+- {SCAN}", False),
    "nothing": ("", False),
}


@pytest.mark.parametrize("name", PLANS)
def test_one_task_reads_only_what_is_stored(name):
    steps, wanted = PLANS[name]
    assert is_only_read(f"== Physical Plan ==\n{steps}\n\n") == wanted


def test_rows_of_another_partition_in_front_are_noticed():
    later = 3 << ROW_BITS
    assert begins_in_order(np.array([0, 1, later, later + 1]))
    assert not begins_in_order(np.array([later, later + 1]))
    assert not begins_in_order(np.array([0, later, 1]))
    assert not begins_in_order(np.array([], dtype=np.int64))


def test_first_rows_have_their_place():
    numbers = [0, 1, 2, (3 << ROW_BITS), (3 << ROW_BITS) + 1]
    found = [(float(i), -1, 10 * i, number) for i, number in enumerate(numbers)]
    schema = pa.schema([
        ("x", pa.float64()), ("day", pa.date32()), ("time", pa.timestamp("us", "America/Lima")),
    ])  # fmt: skip

    def parts_of(rows):
        return list(in_partitions(*rows_of_plain_values(rows, schema)))

    parts = parts_of(found)
    assert [part.batch.num_rows for part in parts] == [3, 2]
    assert parts[0].batch.schema == schema
    assert str(parts[0].batch["day"][0]) == "1969-12-31"
    assert parts[1].batch["time"].cast(pa.int64()).to_pylist() == [30, 40]
    assert parts[1].place(1) == "row 1" + parts[1].origin
    assert "3" in parts[1].origin
    later = parts_of(found[1:])  # a second answer continues after the first one
    assert later[0].place(0) == "row 1" + later[0].origin
    assert parts_of([]) == []
