"""Reads a file in a process of its own: `python -m tests.memory_of_reading FILE`.

It prints the number of rows, and the peak of Arrow's and Python's memory in bytes. The measurement
is never stopped, because Python before 3.12.9 can crash if a thread of Arrow is at work then.
"""

from __future__ import annotations

import os
import sys
import tracemalloc

import pyarrow as pa

import verosim
from verosim.data import csv_files, json_lines


def main(path: str) -> None:
    csv_files.CSV_BLOCK = 1 << 16  # Arrow reads up to 32 blocks ahead
    json_lines.JSON_BLOCK = 1 << 18
    table = verosim.read(path)
    most, count, before = 0, 0, pa.total_allocated_bytes()
    tracemalloc.start()
    for rows in table.batches():
        count += rows.batch.num_rows
        most = max(most, pa.total_allocated_bytes() - before)
    print(count, most + tracemalloc.get_traced_memory()[1], flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
