"""A table larger than memory: NaiveBayes on generated files, against reading alone.

python -m benchmarks.stream               20 million rows × 20 columns of Parquet, 2 million of CSV
python -m benchmarks.stream --rows 400000

Parquet is read by pyarrow and CSV by DuckDB, with all columns. Each pass runs in its own process,
and the system reports the peak memory of the process. The table also has the seconds of CPU, which
say more if the machine is busy.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

FILE_ROWS = 1_000_000
MEASURE = """
import json, re, sys, time
def run(work):
    start, begun = time.perf_counter(), time.process_time()
    out = work()
    seconds, cpu = time.perf_counter() - start, time.process_time() - begun
    # Not getrusage: what it calls the peak begins with the parent's.
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak, "rows": out}))
"""
READ = (
    MEASURE
    + """
import pyarrow.dataset as ds
folder = sys.argv[1]
run(lambda: sum(batch.num_rows for batch in ds.dataset(folder).to_batches()))
"""
)
READ_CSV = (
    MEASURE
    + """
import duckdb
def read():  # the count of every column, so that all cells are parsed
    source = f"read_csv('{sys.argv[1]}/*.csv')"
    names = [row[0] for row in duckdb.sql(f"describe select * from {source}").fetchall()]
    counts = ", ".join(f'count("{name}")' for name in names)
    return duckdb.sql(f"select {counts} from {source}").fetchall()[0][-1]
run(read)
"""
)
FIT = (
    MEASURE
    + """
import verosim
folder, warm = sys.argv[1], sys.argv[2]
verosim.NaiveBayes().fit(warm, "outcome")  # kernels compiled and loaded
run(lambda: int(verosim.NaiveBayes().fit(folder, "outcome").class_count_.sum()))
"""
)
PREDICT = (
    MEASURE
    + """
import verosim
folder, warm = sys.argv[1], sys.argv[2]
model = verosim.NaiveBayes().fit(warm, "outcome")
def predict(path):
    return sum(batch.num_rows for batch in model.predict_table(path))
predict(warm)
run(lambda: predict(folder))
"""
)


@dataclass(frozen=True)
class Pass:
    """Some work on the files of one format, the reading it is compared with, and the aim."""

    what: str
    code: str
    reader: str
    read: str
    suffix: str
    aim: float
    rows: float = 1.0  # of the Parquet rows


PASSES = (
    Pass("fit, Parquet", FIT, "pyarrow", READ, ".parquet", 0.9),
    Pass("predict_table, Parquet", PREDICT, "pyarrow", READ, ".parquet", 0.6),
    Pass("fit, CSV", FIT, "DuckDB", READ_CSV, ".csv", 0.7, rows=0.1),
    Pass("predict_table, CSV", PREDICT, "DuckDB", READ_CSV, ".csv", 0.6, rows=0.1),
)


def piece(rows: int, seed: int) -> pa.Table:
    """8 numbers, 2 counts, 6 categories, 2 booleans, a date and a class, with missing cells."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    columns: dict[str, pa.Array] = {}
    for j in range(8):
        x = rng.normal(y * 0.3 * (j % 3), 1 + 0.1 * j)
        gone = rng.random(rows) < 0.03 if j % 2 else None
        columns[f"number_{j}"] = pa.array(x if j % 4 else np.round(x, 2), mask=gone)
    for j in range(2):
        columns[f"count_{j}"] = pa.array(rng.poisson(2 + y))
    for j, kinds in enumerate((4, 12, 30, 60, 200)):
        words = pa.array([f"{'value' if j % 2 else 'kind'} {i}" for i in range(kinds)])
        at = np.minimum(rng.geometric(3 / kinds, rows) + y, kinds) - 1
        gone = rng.random(rows) < 0.02 if j % 2 else None
        columns[f"category_{j}"] = words.take(pa.array(at, mask=gone))
    for j in range(2):
        columns[f"flag_{j}"] = pa.array(rng.random(rows) < 0.3 + 0.1 * y)
    moments = rng.integers(1_500_000_000, 1_700_000_000, rows) * 1_000_000
    columns["when"] = pa.array(moments, pa.timestamp("us"))
    words = pa.array([f"segment-{i:03d}" for i in range(50)])
    columns["segment"] = words.take(pa.array(rng.integers(0, 50, rows)))
    columns["outcome"] = pa.array(["low", "middle", "high"]).take(pa.array(y))
    return pa.table(columns)


def generate(folder: Path, rows: int, suffix: str = ".parquet") -> None:
    folder.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, rows, FILE_ROWS)):
        table = piece(min(FILE_ROWS, rows - start), number)
        path = folder / f"part-{number:03d}{suffix}"
        if suffix == ".csv":
            csv.write_csv(table, path)
        else:
            pq.write_table(table, path, row_group_size=1 << 18)


def measured(code: str, *arguments: str) -> dict[str, float]:
    out = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(out.stdout.strip().split("\n")[-1])


def compare(one: Pass, folder: Path, rows: int, repeats: int) -> dict[str, float]:
    """Medians of interleaved passes: seconds and CPU seconds of both, and the peak memory in MB."""
    table, warm = folder / f"table{one.suffix}", folder / f"warm{one.suffix}"
    if not table.is_dir():
        generate(table, rows, one.suffix)
        generate(warm, 20_000, one.suffix)
    reads, works = [], []
    for _ in range(repeats):
        reads.append(measured(one.read, str(table)))
        works.append(measured(one.code, str(table), str(warm)))
    assert all(run["rows"] == rows for run in reads + works)
    return {
        "peak": max(run["peak"] for run in works),
        **{f"read {of}": statistics.median(run[of] for run in reads) for of in ("seconds", "cpu")},
        **{f"work {of}": statistics.median(run[of] for run in works) for of in ("seconds", "cpu")},
    }


def lines(rows: int, repeats: int) -> list[str]:
    """The rows for the speed table."""
    with tempfile.TemporaryDirectory() as folder:
        return [line for one in PASSES for line in lines_of(one, Path(folder), rows, repeats)]


def lines_of(one: Pass, folder: Path, rows: int, repeats: int) -> list[str]:
    n = int(rows * one.rows)
    found = compare(one, folder, n, repeats)
    share = found["read seconds"] / found["work seconds"]
    cpu = found["read cpu"] / found["work cpu"]
    out = [
        f"| NaiveBayes {one.what} {n / 1e6:g}M × 20 mixed columns | "
        f"{n / found['work seconds'] / 1e6:.2f}M rows/s | {one.reader}, reading alone "
        f"{n / found['read seconds'] / 1e6:.2f}M rows/s | {share:.0%} ({cpu:.0%} of its CPU) | "
        f"≥ {one.aim:.0%} | – |"
    ]
    if one.code == FIT and one.suffix == ".parquet":
        out.append(
            f"| peak resident memory of that fit | {found['peak']:.0f} MB | – | – | ≤ 700 MB | – |"
        )
    print("\n".join(out), flush=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lines(options.rows, options.repeats)


if __name__ == "__main__":
    main()
