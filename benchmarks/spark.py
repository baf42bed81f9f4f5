"""Spark: fits of verosim against MLlib from the same Parquet files, in CPU seconds.

python -m benchmarks.spark            prints the table and writes it to docs/benchmarks/spark.md
python -m benchmarks.spark --quick    fewer rows, prints only

The CPU seconds are those of this process, of Java and of the Python workers together. Each call
runs twice before it is measured, and the measured calls alternate. The feature assembly of MLlib
is part of its fit, because MLlib cannot read columns. The bare hand-over is a `mapInArrow` that
only counts the rows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import verosim
from benchmarks.pages import keep
from benchmarks.stream import piece

HEADER = [
    "| work | call | CPU seconds | rows per CPU second | verosim is faster by | aim |",
    "|---|---|---|---|---|---|",
]
OURS, FLOOR = "verosim", "bare Arrow hand-over"
TICK = os.sysconf("SC_CLK_TCK")
FILES = 8
Call = Callable[[], object]


def cpu_seconds() -> float:
    """CPU seconds of this process, of all processes that it has started, and of theirs."""
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        used[int(entry.name)] = sum(map(int, fields[11:15]))  # with the children that have ended
    total, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        total += used.get(pid, 0)
        waiting += children.get(pid, [])
    return total / TICK


def measured(calls: dict[str, Call], repeats: int, warm: int) -> dict[str, float]:
    """The median CPU seconds of each call."""
    for _ in range(warm):
        for call in calls.values():
            call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = cpu_seconds()
            call()
            times[name].append(cpu_seconds() - start)
    return {name: statistics.median(found) for name, found in times.items()}


# Tables ------------------------------------------------------------------------------------------


def numbers(rows: int, seed: int) -> pa.Table:
    """40 numbers and 5 classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, rows)
    means = np.random.default_rng(99).normal(size=(5, 40))
    columns = {f"x{j}": rng.normal(means[y, j], 1 + 0.1 * (j % 5)) for j in range(40)}
    return pa.table({**columns, "label": y.astype(np.float64)})


def counts(rows: int, seed: int) -> pa.Table:
    """40 counts and 5 classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, rows)
    rates = np.random.default_rng(98).gamma(1.0, 2.0, (5, 40))
    columns = {f"x{j}": rng.poisson(rates[y, j]).astype(np.int32) for j in range(40)}
    return pa.table({**columns, "label": y.astype(np.float64)})


def texts(rows: int, seed: int) -> pa.Table:
    """Texts of 30 words out of 20,000, and 4 classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, rows)
    words = np.array([f"word{i}" for i in range(20_000)])
    at = np.minimum(rng.zipf(1.3, (rows, 30)) * (1 + y[:, None] % 3), 20_000) - 1
    return pa.table({"text": [" ".join(words[row]) for row in at], "label": y.astype(np.float64)})


def written(folder: Path, make: Callable[[int, int], pa.Table], rows: int) -> str:
    """The path of a folder with Parquet files of one table."""
    folder.mkdir()
    for number in range(FILES):
        table = make(rows // FILES, number)
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=1 << 16)
    return str(folder)


# Calls -------------------------------------------------------------------------------------------


def hand_over(frame: Any) -> int:
    """Sends all rows to Python, which counts them."""

    def count(batches: Any) -> Any:
        import pyarrow as pa

        yield pa.record_batch({"n": [sum(batch.num_rows for batch in batches)]})

    return sum(row.n for row in frame.mapInArrow(count, "n long").collect())


def assembled(frame: Any) -> Any:
    """The frame with the vectors that MLlib needs."""
    from pyspark.ml.feature import VectorAssembler

    names = [name for name in frame.columns if name != "label"]
    return VectorAssembler(inputCols=names, outputCol="features").transform(frame)


def mllib_bayes(frame: Any, kind: str) -> Any:
    from pyspark.ml.classification import NaiveBayes

    return NaiveBayes(modelType=kind).fit(assembled(frame))


def mllib_logistic(frame: Any) -> Any:
    from pyspark.ml.classification import LogisticRegression

    return LogisticRegression().fit(assembled(frame))


def mllib_text(frame: Any) -> Any:
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import CountVectorizer, Tokenizer

    steps = [Tokenizer(inputCol="text", outputCol="words"),
             CountVectorizer(inputCol="words", outputCol="features"), NaiveBayes()]  # fmt: skip
    return Pipeline(stages=steps).fit(frame)


def ours(model: Any, frame: Any, target: str = "label") -> dict[str, Call]:
    """A fit as users write it, and a fit with a known schema, which has no first look."""
    schema = type(model)().fit(frame, target).schema_
    return {
        OURS: lambda: type(model)().fit(frame, target),
        f"{OURS}, schema given": lambda: type(model)().fit(frame, target, schema=schema),
    }


def lines(work: str, rows: int, times: dict[str, float], aims: dict[str, float]) -> list[str]:
    out = []
    for name, seconds in times.items():
        ratio = "" if name.startswith(OURS) else f"{seconds / times[OURS]:.2f} ×"
        aim = f"≥ {aims[name]:g} ×" if name in aims else "–"
        out.append(
            f"| {work} | {name} | {seconds:.2f} | {rows / max(seconds, 1e-9):,.0f} | "
            f"{ratio or '–'} | {aim} |"
        )
        print(out[-1], flush=True)
    return out


def compare(spark: Any, folder: Path, rows: int, repeats: int, warm: int) -> list[str]:
    def read(name: str, make: Callable[[int, int], pa.Table], n: int) -> Any:
        return spark.read.parquet(written(folder / name, make, n))

    out: list[str] = []
    frame = read("numbers", numbers, rows)
    calls = ours(verosim.GaussianNB(), frame)
    calls["MLlib Gaussian naive Bayes"] = lambda: mllib_bayes(frame, "gaussian")
    calls[FLOOR] = lambda: hand_over(frame)
    times = measured(calls, repeats, warm)
    out += lines("40 numbers", rows, times, {"MLlib Gaussian naive Bayes": 1.5})
    reference = measured({"MLlib LogisticRegression": lambda: mllib_logistic(frame)}, 1, 1)
    calls = ours(verosim.QDA(), frame)
    times = {**measured(calls, repeats, warm), **reference}
    out += lines("40 numbers, full covariance", rows, times, {})

    counted = read("counts", counts, rows)
    calls = ours(verosim.MultinomialNB(), counted)
    calls["MLlib multinomial naive Bayes"] = lambda: mllib_bayes(counted, "multinomial")
    calls[FLOOR] = lambda: hand_over(counted)
    times = measured(calls, repeats, warm)
    out += lines("40 counts", rows, times, {"MLlib multinomial naive Bayes": 2.5})

    mixed = read("mixed", piece, rows)
    calls = ours(verosim.NaiveBayes(), mixed, "outcome")
    calls[FLOOR] = lambda: hand_over(mixed)
    out += lines("20 mixed columns", rows, measured(calls, repeats, warm), {})

    few = rows // 4
    notes = read("texts", texts, few)
    calls = ours(verosim.TextNB(), notes)
    calls["MLlib Tokenizer, CountVectorizer, naive Bayes"] = lambda: mllib_text(notes)
    calls[FLOOR] = lambda: hand_over(notes)
    out += lines("texts of 30 words", few, measured(calls, repeats, warm), {})

    larger = spark.newSession()
    larger.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 100_000)
    for name, session in (("10,000 rows", spark), ("100,000 rows", larger)):
        again = session.read.parquet(str(folder / "numbers"))
        calls = {OURS: ours(verosim.GaussianNB(), again)[f"{OURS}, schema given"]}
        times = measured(calls, repeats, warm)
        out += lines(f"40 numbers, Arrow batches of at most {name}", rows, times, {})
    return out


def start() -> Any:
    """A session on this machine. Its Python workers have this Python."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1", "spark.driver.memory": "4g",
                "spark.ui.showConsoleProgress": "false"}  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--warm", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = 40_000 if options.quick else options.rows
    spark = start()
    print("\n".join(HEADER), flush=True)
    with tempfile.TemporaryDirectory() as name:
        found = compare(spark, Path(name), rows, options.repeats, options.warm)
    title = f"{rows:,} rows in {FILES} Parquet files, Spark {spark.version}, `local[2]`:"
    spark.stop()
    if not options.quick:
        keep("docs/benchmarks/spark.md", "spark", "\n".join([title, "", *HEADER, *found]))


if __name__ == "__main__":
    main()
