"""The figures of the page on scale: rows per second of one core, and bytes per partition.

Run it in the environment of `make test-engines`. It prints tables in Markdown, and takes minutes.
CPU seconds are measured, so a busy machine does not matter much. Those of Spark are the seconds of
Java, of its Python workers and of this process together.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import verosim
from benchmarks.pages import keep
from benchmarks.spark import Clock
from benchmarks.spark import start as start_spark
from verosim.engines import dask as engine

CODE = "data kinds kernels stats engines densities models estimators files"
PAGE = "docs/scale.md"
GROUP_ROWS = 125_000


def cpu_seconds(
    call: Callable[[], object], repeats: int = 3, clock: Callable[[], float] = time.process_time
) -> float:
    """The smallest CPU time of some calls."""
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def clock_of_spark() -> Callable[[], float]:
    """CPU seconds of this process, of Java and of the Python workers together."""
    clock = Clock()
    return lambda: float(clock.read().sum())


def numbers(n: int, columns: int, classes: int) -> pa.Table:
    """Columns of numbers."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    drawn = {f"x{j}": rng.normal(0.1 * y, 1) for j in range(columns)}
    return pa.table({**drawn, "y": y})


def mixed(n: int, classes: int) -> pa.Table:
    """8 columns of numbers and 7 of categories."""
    rng = np.random.default_rng(1)
    names = np.array([f"value {i}" for i in range(30)])
    table = numbers(n, 8, classes)
    for j in range(7):
        table = table.append_column(f"c{j}", pa.array(names[rng.integers(0, 30, n)]))
    return table


def texts(n: int) -> pa.Table:
    """Texts of 20 words with the frequencies of Zipf's law."""
    rng = np.random.default_rng(2)
    words = np.array([f"w{i}" for i in range(100_000)])
    found = words[np.minimum(rng.zipf(1.3, (n, 20)), len(words) - 1)]
    return pa.table({"note": [" ".join(row) for row in found], "y": np.arange(n) % 2})


def speeds(n: int) -> Iterable[str]:
    """Rows per second of one core, from Parquet, from Dask and from Spark."""
    spark, all_cpu_seconds = start_spark(), clock_of_spark()
    dask.config.set(scheduler="synchronous")
    work = {
        "GaussianNB, 20 numbers": (verosim.GaussianNB(), numbers(n, 20, 2)),
        "QDA, 20 numbers": (verosim.QDA(), numbers(n, 20, 2)),
        "NaiveBayes, 8 numbers and 7 categories": (verosim.NaiveBayes(), mixed(n, 2)),
    }
    with tempfile.TemporaryDirectory() as folder, verosim.use_threads(1):
        for name, (model, table) in work.items():
            path = Path(folder) / f"{type(model).__name__}.parquet"
            pq.write_table(table, path, row_group_size=GROUP_ROWS)
            schema = verosim.look(path, "y")
            there = dd.read_parquet(path, split_row_groups=True)
            fit = partial(model.fit, y="y", schema=schema)
            calls: dict[str, Callable[..., object]] = {f"fit {name}": fit}
            if isinstance(model, verosim.NaiveBayes):
                calls["cross_validate, the same"] = partial(
                    verosim.cross_validate, model, y="y", schema=schema, keep_rows=False
                )
            for what, call in calls.items():
                found = [cpu_seconds(partial(call, X=rows)) for rows in (path, there)]
                # Java compiles what runs often, so only the best of more calls counts.
                on_spark = partial(call, X=spark.read.parquet(str(path)))
                found.append(cpu_seconds(on_spark, 5, clock=all_cpu_seconds))
                yield f"| {what} | " + " | ".join(f"{n / t / 1e6:.2f}" for t in found) + " |"
    spark.stop()


def sizes() -> Iterable[str]:
    """The bytes that a partition sends."""
    dask.config.set(scheduler="synchronous")
    sent: list[int] = []
    reply = engine.partition_reply

    def measured(*given: object) -> bytes:
        found = reply(*given)  # type: ignore[arg-type]
        sent.append(len(found))
        return found

    engine.partition_reply = measured
    work = {
        "NaiveBayes, 15 columns, 2 classes": (verosim.NaiveBayes(), mixed(4_000, 2)),
        "the same, ten times the rows": (verosim.NaiveBayes(), mixed(40_000, 2)),
        "NaiveBayes, 15 columns, 1,000 classes": (verosim.NaiveBayes(), mixed(20_000, 1000)),
        "LDA, 10 columns": (verosim.LDA(), numbers(3_000, 10, 2)),
        "LDA, 100 columns": (verosim.LDA(), numbers(3_000, 100, 2)),
        "LDA, 500 columns": (verosim.LDA(), numbers(3_000, 500, 2)),
        "QDA, 100 columns, 10 classes": (verosim.QDA(), numbers(6_000, 100, 10)),
        "TextNB, 2,000 texts": (verosim.TextNB(), texts(2_000)),
        "TextNB, 20,000 texts": (verosim.TextNB(), texts(20_000)),
        "AODE, 15 columns, 2 classes": (verosim.AODE(), mixed(20_000, 2)),
    }
    for name, (model, table) in work.items():
        sent.clear()
        model.fit(dd.from_pandas(table.to_pandas(), npartitions=2), "y")
        yield f"| {name} | {max(sent):,} |"
    engine.partition_reply = reply


def fixed_cost_on_spark() -> float:
    """CPU seconds for each partition on Spark, whatever its rows."""
    spark, all_cpu_seconds = start_spark(), clock_of_spark()
    table = mixed(4_000, 2)
    schema = verosim.look(table, "y")
    frame = spark.createDataFrame(table.to_pandas())
    fits = {
        count: partial(
            verosim.NaiveBayes().fit, frame.repartition(count).cache(), "y", schema=schema
        )
        for count in (10, 100)
    }
    for _ in range(3):  # Java compiles what runs often
        for fit in fits.values():
            fit()
    seconds = {n: cpu_seconds(fit, 4, clock=all_cpu_seconds) for n, fit in fits.items()}
    spark.stop()
    return (seconds[100] - seconds[10]) / 90


def fixed_cost() -> float:
    """CPU seconds for each partition on Dask, whatever its rows."""
    dask.config.set(scheduler="synchronous")
    frame: pd.DataFrame = mixed(4_000, 2).to_pandas()
    schema = verosim.look(frame, "y")
    seconds = {}
    for count in (10, 400):
        there = dd.from_pandas(frame, npartitions=count)
        fit = partial(verosim.NaiveBayes().fit, there, "y", schema=schema)
        seconds[count] = cpu_seconds(fit, 2)
    return (seconds[400] - seconds[10]) / 390


FIXED_COSTS = {"Dask": fixed_cost, "Spark": fixed_cost_on_spark}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    warnings.simplefilter("ignore")
    text = "\n".join(["| model | bytes |", "|---|---|", *sizes()])
    print(text, "\n")
    keep(PAGE, "scale bytes", text)
    fixed = [f"{name} {call() * 1e3:.0f} ms" for name, call in FIXED_COSTS.items()]
    lines = ["| work | Parquet | Dask | Spark |", "|---|---|---|---|", *speeds(rows)]
    text = "\n".join([*lines, "", f"CPU of each partition, whatever its rows: {', '.join(fixed)}."])
    print(text)
    keep(PAGE, "scale cost", text)


if __name__ == "__main__":
    main()
