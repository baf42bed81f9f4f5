"""A table larger than memory: NaiveBayes on generated Parquet files, against reading by pyarrow.

python -m benchmarks.stream               20 million rows × 20 columns
python -m benchmarks.stream --rows 400000

Each pass runs in its own process, and the system reports the peak memory of the process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE_ROWS = 1_000_000
MEASURE = """
import json, re, sys, time
def run(work):
    start = time.perf_counter(); out = work(); seconds = time.perf_counter() - start
    # Not getrusage: what it calls the peak begins with the parent's.
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
    print(json.dumps({"seconds": seconds, "peak": peak, "rows": out}))
"""
READ = (
    MEASURE
    + """
import pyarrow.dataset as ds
folder = sys.argv[1]
run(lambda: sum(batch.num_rows for batch in ds.dataset(folder).to_batches()))
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


def generate(folder: Path, rows: int) -> None:
    for number, start in enumerate(range(0, rows, FILE_ROWS)):
        table = piece(min(FILE_ROWS, rows - start), number)
        pq.write_table(table, folder / f"part-{number:03d}.parquet", row_group_size=1 << 18)


def measured(code: str, *arguments: str) -> dict[str, float]:
    out = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(out.stdout.strip().split("\n")[-1])


def compare(rows: int, repeats: int) -> dict[str, float]:
    """Medians of interleaved passes: rows per second of both, and the fit's peak memory in MB."""
    with tempfile.TemporaryDirectory() as name:
        folder, warm = Path(name) / "table", Path(name) / "warm"
        folder.mkdir(), warm.mkdir()
        generate(folder, rows)
        generate(warm, 20_000)
        reads, fits = [], []
        for _ in range(repeats):
            reads.append(measured(READ, str(folder)))
            fits.append(measured(FIT, str(folder), str(warm)))
    assert all(run["rows"] == rows for run in reads + fits)
    read = rows / statistics.median(run["seconds"] for run in reads)
    fit = rows / statistics.median(run["seconds"] for run in fits)
    return {"read": read, "fit": fit, "peak": max(run["peak"] for run in fits)}


def lines(rows: int, repeats: int) -> list[str]:
    """The rows for the speed table."""
    found = compare(rows, repeats)
    share = found["fit"] / found["read"]
    return [
        f"| NaiveBayes fit, Parquet {rows / 1e6:g}M × 20 mixed columns | "
        f"{found['fit'] / 1e6:.2f}M rows/s | "
        f"pyarrow, reading alone {found['read'] / 1e6:.2f}M rows/s | {share:.0%} | ≥ 60 % | – |",
        f"| peak resident memory of that fit | {found['peak']:.0f} MB | – | – | ≤ 700 MB | – |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print("\n".join(lines(options.rows, options.repeats)))


if __name__ == "__main__":
    main()
