"""Spark: fits of verosim against MLlib from the same Parquet files, in CPU seconds.

python -m benchmarks.spark            prints the table and writes it to docs/benchmarks/spark.md
python -m benchmarks.spark --quick    fewer rows, prints only

The fits of numbers and counts are also measured with ten times the rows (--more), because the first
look has a fixed cost.

The CPU seconds are those of this process, of Java and of the Python workers together. Each call
runs before it is measured, and the measured calls alternate. The feature assembly of MLlib is part
of its fit, because MLlib cannot read columns. The bare hand-over is a `mapInArrow` that only counts
the rows, which it gets as columns or as one array.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Lock, Thread
from time import sleep, thread_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import verosim
from benchmarks.pages import keep
from benchmarks.stream import piece

CODE = "data kinds kernels stats engines densities models estimators"
HEADER = [
    "| work | call | CPU seconds | of Java | of workers | rows per CPU second "
    "| verosim is faster by | and with a schema | aim |",
    "|---|---|---|---|---|---|---|---|---|",
]
OURS, FLOOR = "verosim", "bare Arrow hand-over"
GIVEN = f"{OURS}, schema given"
AIMS = {"MLlib Gaussian naive Bayes": 1.5, "MLlib multinomial naive Bayes": 2.5}
TICK = os.sysconf("SC_CLK_TCK")
FILES = 8
HERE, JAVA, WORKERS = range(3)
Call = Callable[[], object]


class Clock:
    """CPU seconds of this process, of Java and of the Python workers, as [here, Java, workers].

    Spark's Python does not wait for its workers, so the system forgets the time of a worker that
    has ended. A thread therefore reads the times ten times per second, and keeps the last ones.
    """

    def __init__(self) -> None:
        self._used: dict[tuple[str, str], tuple[int, float]] = {}  # by process and its start
        self._own = 0.0
        self._lock = Lock()
        Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self.read()
            sleep(0.1)

    def read(self) -> np.ndarray:
        with self._lock:
            start = thread_time()
            children: dict[str, list[str]] = {}
            found: dict[str, list[str]] = {}
            for name in filter(str.isdigit, os.listdir("/proc")):
                try:
                    head, _, tail = Path(f"/proc/{name}/stat").read_text().rpartition(")")
                except OSError:  # the process has ended
                    continue
                fields = tail.split()
                children.setdefault(fields[1], []).append(name)
                found[name] = [head.partition("(")[2], *fields]
            here = str(os.getpid())
            waiting = [here]
            while waiting:
                name = waiting.pop()
                waiting += children.get(name, [])
                if name in found:
                    program, *fields = found[name]
                    kind = HERE if name == here else JAVA if program == "java" else WORKERS
                    self._used[name, fields[19]] = kind, sum(map(int, fields[11:13])) / TICK
            out = np.zeros(3)
            for kind, seconds in self._used.values():
                out[kind] += seconds
            self._own += thread_time() - start
            out[HERE] -= self._own
            return out


def measured(
    calls: dict[str, Call], repeats: int, warm: int, clock: Clock
) -> dict[str, np.ndarray]:
    """The CPU seconds of each call in the run with the median sum."""
    for _ in range(warm):
        for call in calls.values():
            call()
    times: dict[str, list[np.ndarray]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = clock.read()
            call()
            times[name].append(clock.read() - start)
    return {name: sorted(found, key=np.sum)[len(found) // 2] for name, found in times.items()}


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
    ranks = np.minimum(rng.zipf(1.3, (rows, 30)), 20_000)  # before the product, which can overflow
    at = np.minimum(ranks * (1 + y[:, None] % 3), 20_000) - 1
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


def as_array(frame: Any) -> Any:
    """The frame with one array of all numbers."""
    from pyspark.sql import functions

    names = [name for name in frame.columns if name != "label"]
    return frame.select(functions.array(*names).alias("features"), "label")


def ours(model: Any, frame: Any, target: str = "label") -> dict[str, Call]:
    """A fit as users write it, and a fit with a known schema, which has no first look."""
    schema = type(model)().fit(frame, target).schema_
    return {
        OURS: lambda: type(model)().fit(frame, target),
        GIVEN: lambda: type(model)().fit(frame, target, schema=schema),
    }


def gaussian(frame: Any) -> dict[str, Call]:
    peer = {"MLlib Gaussian naive Bayes": lambda: mllib_bayes(frame, "gaussian")}
    return {**ours(verosim.GaussianNB(), frame), **peer}


def multinomial(frame: Any) -> dict[str, Call]:
    peer = {"MLlib multinomial naive Bayes": lambda: mllib_bayes(frame, "multinomial")}
    return {**ours(verosim.MultinomialNB(), frame), **peer}


def floors(frame: Any) -> dict[str, Call]:
    return {
        FLOOR: lambda: hand_over(frame),
        f"{FLOOR}, one array": lambda: hand_over(as_array(frame)),
    }


def lines(work: str, rows: int, times: dict[str, np.ndarray]) -> list[str]:
    out = []
    for name, parts in times.items():
        seconds = max(parts.sum(), 1 / TICK)
        ratios = [
            f"{seconds / times[mine].sum():.2f} ×"
            if mine in times and not name.startswith(OURS) else "–"
            for mine in (OURS, GIVEN)
        ]  # fmt: skip
        aim = f"≥ {AIMS[name]:g} ×" if name in AIMS else "–"
        out.append(
            f"| {work} | {name} | {seconds:.2f} | {parts[JAVA]:.2f} | {parts[WORKERS]:.2f} | "
            f"{rows / seconds:,.0f} | {' | '.join(ratios)} | {aim} |"
        )
        print(out[-1], flush=True)
    return out


def sentences(work: str, times: dict[str, np.ndarray]) -> list[str]:
    """What the aims have become, and where the time of a fit goes."""
    out = []
    for name in AIMS.keys() & times.keys():
        fast, given = (times[name].sum() / times[mine].sum() for mine in (OURS, GIVEN))
        reached = "is reached" if fast >= AIMS[name] else "is not reached"
        out.append(
            f"- {work}, {name}: verosim is {fast:.2f} times as fast, and {given:.2f} times with a "
            f"schema. The aim of {AIMS[name]:g} {reached}."
        )
    if OURS in times and GIVEN in times:
        whole = times[GIVEN].sum()
        out.append(
            f"- {work}: Java has {times[GIVEN][JAVA] / whole:.0%} of a fit with a schema, and the "
            f"workers have {times[GIVEN][WORKERS] / whole:.0%}. The first look costs "
            f"{times[OURS].sum() - whole:.2f} CPU seconds."
        )
    for line in out:
        print(line, flush=True)
    return out


def compare(
    spark: Any, folder: Path, rows: int, repeats: int, warm: int, more: int, more_repeats: int
) -> list[str]:
    clock = Clock()
    out: list[str] = []

    def read(name: str, make: Callable[[int, int], pa.Table], n: int) -> Any:
        return spark.read.parquet(written(folder / name, make, n))

    said: list[str] = []

    def add(work: str, n: int, calls: dict[str, Call], runs: tuple[int, int]) -> None:
        times = measured(calls, *runs, clock)
        out.extend(lines(work, n, times))
        said.extend(sentences(work, times))

    usual = repeats, warm
    frame = read("numbers", numbers, rows)
    add("40 numbers", rows, {**gaussian(frame), **floors(frame)}, usual)
    seen = {"verosim.look": lambda: verosim.look(frame, "label")}
    add("40 numbers, first look", 50_000, seen, usual)
    add("40 numbers, full covariance", rows, ours(verosim.QDA(), frame), usual)

    counted = read("counts", counts, rows)
    add("40 counts", rows, {**multinomial(counted), **floors(counted)}, usual)

    if more:
        many = read("many numbers", numbers, more)
        add(f"40 numbers, {more:,} rows", more, gaussian(many), (more_repeats, 0))
        many_counts = read("many counts", counts, more)
        add(f"40 counts, {more:,} rows", more, multinomial(many_counts), (more_repeats, 0))

    few = rows // 2
    mixed = read("mixed", piece, few)
    calls = ours(verosim.NaiveBayes(), mixed, "outcome")
    add("20 mixed columns", few, {**calls, FLOOR: lambda: hand_over(mixed)}, usual)

    few = rows // 8
    notes = read("texts", texts, few)
    add("texts of 30 words", few, {
        **ours(verosim.TextNB(), notes),
        "MLlib Tokenizer, CountVectorizer, naive Bayes": lambda: mllib_text(notes),
        FLOOR: lambda: hand_over(notes),
    }, usual)  # fmt: skip

    sessions = {}
    for size in (2_000, 10_000, 100_000):
        sessions[size] = spark.newSession()  # the setting is of this session only
        sessions[size].conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", size)
    for name, model, n in (
        ("numbers", verosim.GaussianNB(), rows),
        ("texts", verosim.TextNB(), few),
    ):
        path = str(folder / name)
        add(f"{name} in Arrow batches", n, {
            f"{GIVEN}, at most {size:,} rows": ours(model, session.read.parquet(path))[GIVEN]
            for size, session in sessions.items()
        }, usual)  # fmt: skip

    some = read("few numbers", numbers, few)
    logistic = {"MLlib LogisticRegression": lambda: mllib_logistic(some)}
    out += lines("40 numbers, for reference", few, measured(logistic, 1, 0, clock))
    return [*HEADER, *out, "", *said]


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
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--more", type=int, default=4_000_000, help="0 leaves these works out")
    parser.add_argument("--more-repeats", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--warm", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, more = (40_000, 80_000) if options.quick else (options.rows, options.more)
    spark = start()
    print("\n".join(HEADER), flush=True)
    with tempfile.TemporaryDirectory() as name:
        found = compare(
            spark, Path(name), rows, options.repeats, options.warm, more, options.more_repeats
        )
    title = (
        f"{rows:,} rows in {FILES} Parquet files, unless the work states another number (half for "
        f"mixed columns, an eighth for texts and LogisticRegression), Spark {spark.version}, "
        f"`local[2]`. Each call ran {options.warm} times, and then {options.repeats} times for the "
        f"median. With {more:,} rows, each call ran {options.more_repeats} times after the smaller "
        "works, and all of them count. LogisticRegression ran once:"
    )
    spark.stop()
    if not options.quick:
        keep("docs/benchmarks/spark.md", "spark", "\n".join([title, "", *found]))


if __name__ == "__main__":
    main()
