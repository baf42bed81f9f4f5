"""Cross-validation of Parquet files takes the same memory for ten times the rows."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

GROUP_ROWS = 125_000
PEAK = """
import resource, sys, verosim
found = verosim.cross_validate(verosim.NaiveBayes(), sys.argv[1], "y", cv=5, keep_rows=False)
print(int(found.confusion.sum()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def groups_of_rows():
    """8 columns of numbers and 7 of categories, one row group after the other."""
    rng = np.random.default_rng(1)
    names = np.array([f"value {i}" for i in range(30)])
    y = np.arange(GROUP_ROWS) % 2
    while True:
        numbers = {f"x{j}": rng.normal(0.1 * y, 1) for j in range(8)}
        words = {f"c{j}": names[rng.integers(0, 30, GROUP_ROWS)] for j in range(7)}
        yield pa.table({**numbers, **words, "y": y})


def peak(path, rows):
    """The largest resident memory of a process, in megabytes."""
    groups = groups_of_rows()
    first = next(groups)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for _ in range(rows // GROUP_ROWS - 1):
            writer.write_table(next(groups))
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True,
        env={**os.environ, "VEROSIM_THREADS": "2"},
    )  # fmt: skip
    path.unlink()
    counted, megabytes = done.stdout.split()
    assert int(counted) == rows
    return float(megabytes)


@pytest.mark.soak
def test_ten_times_the_rows_take_the_same_memory(tmp_path):
    small, large = (peak(tmp_path / "rows.parquet", rows) for rows in (1_000_000, 10_000_000))
    print(f"{small:.0f} MB for 10⁶ rows, {large:.0f} MB for 10⁷ rows")
    assert large < 1.2 * small
