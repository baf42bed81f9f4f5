"""Speed and memory of `verosim predict`, next to `predict_table` of the library.

python -m benchmarks.command_line            prints its rows, writes docs/benchmarks/speed.md
python -m benchmarks.command_line --quick    smaller files, prints only

Times are seconds of CPU of a process of its own, from its start to its end. Both processes read the
same file with the same model. The files are removed at the end.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

import verosim
from benchmarks.explain import mixed_table
from benchmarks.measure import options_of, shown
from benchmarks.pages import keep

CODE = "cli files data kinds kernels engines bayes models estimators"
SPEED_HEADER = [
    "| work | verosim predict | predict_table | ratio of speed | aim |",
    "|---|---|---|---|---|",
]
MEMORY_HEADER = ["| file | peak memory | next to the smallest | aim |", "|---|---|---|---|"]
MEGABYTE = 1 << 20
LIBRARY = """
import sys, verosim
rows = sum(batch.num_rows for batch in verosim.load(sys.argv[1]).predict_table(sys.argv[2]))
"""


def measured(words: list[str]) -> tuple[float, float]:
    """The seconds of CPU and the largest memory in MB of a process."""
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{words} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def write_rows(path: Path, size: int) -> int:
    """Write a table of mixed columns with labels, of about this many bytes. Returns the rows."""
    X, y = mixed_table(100_000, np.random.default_rng(0))
    piece = X.append_column("label", pa.array(np.array(["no", "yes"])[y]))
    rows = 0
    with path.open("wb") as file, csv.CSVWriter(file, piece.schema) as writer:
        while file.tell() < size:
            writer.write_table(piece)
            rows += piece.num_rows
    return rows


def speed_lines(model: Path, folder: Path, size: int, repeats: int) -> Iterator[str]:
    path = folder / "rows.csv"
    rows = write_rows(path, size)
    for output in ("out.csv", "out.parquet"):
        predict = ["-m", "verosim", "predict", str(model), str(path), "-q", "-o"]
        times: list[tuple[float, float]] = []
        for _ in range(repeats):  # the two alternate
            ours, _ = measured([*predict, str(folder / output)])
            theirs, _ = measured(["-c", LIBRARY, str(model), str(path)])
            times.append((ours, theirs))
        ours, theirs = (statistics.median(values) for values in zip(*times, strict=True))
        yield (
            f"| {rows:,} rows of a CSV file of {path.stat().st_size / MEGABYTE:,.0f} MB to "
            f"{Path(output).suffix} | {shown(ours)} | {shown(theirs)} | {theirs / ours:.2f} × | "
            "≥ 0.70 |"
        )
    path.unlink()


def memory_lines(model: Path, folder: Path, sizes: list[int]) -> Iterator[str]:
    first = None
    for size in sizes:
        path = folder / "rows.csv"
        write_rows(path, size)
        output = folder / "out.csv"
        _, peak = measured(
            ["-m", "verosim", "predict", str(model), str(path), "-q", "-o", str(output)]
        )
        first = first or peak
        yield (
            f"| {path.stat().st_size / MEGABYTE:,.0f} MB | {peak:,.0f} MB | {peak / first:.2f} × | "
            "≤ 1.20 |"
        )
        path.unlink()
        output.unlink()


def main() -> None:
    options = options_of(__doc__)
    size = (20 if options.quick else 200) * MEGABYTE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X, y = mixed_table(10_000, np.random.default_rng(0))
        model = folder / "model.verosim"
        verosim.save(verosim.NaiveBayes().fit(X, y), model)
        speed = [*SPEED_HEADER, *speed_lines(model, folder, size, options.repeats)]
        print("\n".join(speed), flush=True)
        memory = [*MEMORY_HEADER, *memory_lines(model, folder, [size, 10 * size])]
        print("\n".join(memory))
    if not options.quick:
        note = f"{verosim.threads()} threads; seconds of CPU, medians of {options.repeats}."
        text = "\n".join([note, "", *speed, "", *memory])
        keep("docs/benchmarks/speed.md", "command line", text)


if __name__ == "__main__":
    main()
