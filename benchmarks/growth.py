"""Time and memory of a fit as rows, columns or classes grow, next to scikit-learn.

python -m benchmarks.growth            measures the points that benchmarks/growth.json lacks, then
                                       writes the tables and pictures of docs/scale.md
python -m benchmarks.growth --again    measures all points again
python -m benchmarks.growth --axis rows --most 1000000    only some points; nothing is written

The tables are generated as Parquet files in a temporary folder, of at most 3 GB. Each point is a
process of its own with one thread. The CPU seconds are those of the fit with its reading, after a
fit of a few rows. The peak is that of the process. A process that needs more than LIMIT_SECONDS
or LIMIT_BYTES is stopped, and larger sizes of the same model are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.growth_page import write_page
from benchmarks.pages import COMMIT, ROOT

CODE = "data kinds kernels stats engines densities models estimators"
RESULTS = ROOT / "benchmarks" / "growth.json"
LIMIT_SECONDS = 600
LIMIT_BYTES = 6 << 30
FILE_ROWS = 1_000_000
WARM_ROWS = 300
OURS = ("NaiveBayes", "GaussianNB", "LDA")
PEERS = ("sklearn GaussianNB", "sklearn LDA")


@dataclass(frozen=True)
class Axis:
    """The sizes of one dimension of a table; the other two are fixed."""

    name: str
    sizes: tuple[int, ...]
    rows: int
    columns: int
    classes: int

    def table(self, size: int) -> tuple[int, int, int]:
        """The rows, columns and classes of a point."""
        return tuple(
            size if what == self.name else fixed
            for what, fixed in (
                ("rows", self.rows), ("columns", self.columns), ("classes", self.classes),
            )
        )  # type: ignore[return-value] # fmt: skip


AXES = (
    Axis("rows", tuple(10**p for p in range(4, 9)), 0, 6, 3),
    Axis("columns", (10, 32, 100, 316, 1_000, 3_162, 10_000), 10_000, 0, 3),
    Axis("classes", (2, 10, 32, 100, 316, 1_000, 3_162, 10_000), 300_000, 10, 0),
)


# The tables ---------------------------------------------------------------------------------------


def piece(rows: int, columns: int, classes: int, seed: int) -> pa.Table:
    """Numbers of single precision with a mean for each class, and the class. Every class occurs."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(rows, dtype=np.int64) % classes)
    shift = ((y * 7919) % 1013 / 1013).astype(np.float32)
    drawn = {
        f"x{j}": rng.standard_normal(rows, dtype=np.float32) + (j % 3) * shift
        for j in range(columns)
    }
    return pa.table({**drawn, "y": y})


def generate(folder: Path, rows: int, columns: int, classes: int) -> None:
    """Parquet files of at most FILE_ROWS rows."""
    folder.mkdir()
    step = FILE_ROWS
    for number, start in enumerate(range(0, rows, step)):
        table = piece(min(step, rows - start), columns, classes, number)
        path = folder / f"part-{number:03d}.parquet"
        pq.write_table(table, path, use_dictionary=["y"], compression="none")


# The process of a point ---------------------------------------------------------------------------


def fit_ours(model: str) -> Callable[[str], object]:
    import verosim

    return lambda folder: getattr(verosim, model)().fit(folder, "y")


def fit_peer(model: str) -> Callable[[str], object]:
    """scikit-learn: in batches if the model has partial_fit, and else all rows at once."""
    from pyarrow import dataset
    from sklearn import discriminant_analysis, naive_bayes

    def rows(batch: Any) -> tuple[np.ndarray, np.ndarray]:
        names = [name for name in batch.schema.names if name != "y"]
        return np.column_stack([batch[name].to_numpy() for name in names]), batch["y"].to_numpy()

    def in_batches(folder: str) -> object:
        found = dataset.dataset(folder)
        seen: set[int] = set()  # partial_fit needs all classes at its first call
        for batch in found.to_batches(columns=["y"]):
            seen.update(batch["y"].unique().to_pylist())
        classes = np.array(sorted(seen))
        model = naive_bayes.GaussianNB()
        for batch in found.to_batches():
            if batch.num_rows:
                model.partial_fit(*rows(batch), classes=classes)
        return model

    def at_once(folder: str) -> object:
        X, y = rows(dataset.dataset(folder).to_table())
        return discriminant_analysis.LinearDiscriminantAnalysis().fit(X, y)

    return in_batches if model.endswith("GaussianNB") else at_once


def run_point(model: str, folder: str, warm: str) -> None:
    """Print the seconds of CPU and the peak memory in MB of one fit."""
    import warnings

    warnings.simplefilter("ignore")
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    fit = fit_peer(model) if model in PEERS else fit_ours(model)
    fit(warm)
    start = time.process_time()
    fit(folder)
    seconds = time.process_time() - start
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024  # type: ignore[index]
    print(json.dumps({"seconds": round(seconds, 4), "peak": round(peak)}))


def point(model: str, folder: Path, warm: Path) -> dict[str, Any]:
    """The measures of a process, or the limit that stopped it."""
    threads = ("VEROSIM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS))
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES))

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", "--point", model, str(folder), str(warm)],
        capture_output=True, text=True, preexec_fn=limits, cwd=ROOT,
        env={**os.environ, **dict.fromkeys(threads, "1")},
    )  # fmt: skip
    if done.returncode == 0:
        return json.loads(done.stdout.strip().split("\n")[-1])
    if done.returncode in (-9, -24):  # SIGKILL, SIGXCPU
        return {"stopped": "time"}
    if re.search(r"memory|alloc", done.stderr, re.IGNORECASE):
        return {"stopped": "memory"}
    raise SystemExit(f"{model} on {folder} ended with {done.returncode}:\n{done.stderr[-2000:]}")


# The run ------------------------------------------------------------------------------------------


def missing_points(
    axes: tuple[Axis, ...], most: int, found: dict[str, Any]
) -> Iterator[tuple[Axis, int, list[str]]]:
    """The models without a measure at each size, without those that were stopped before."""
    for axis in axes:
        for size in axis.sizes:
            if size > most:
                continue
            stopped = {
                model
                for model in (*OURS, *PEERS)
                for smaller in axis.sizes
                if smaller < size and "stopped" in found.get(key(axis, model, smaller), {})
            }
            models = [
                model for model in (*OURS, *PEERS)
                if model not in stopped and key(axis, model, size) not in found
            ]  # fmt: skip
            if models:
                yield axis, size, models


def key(axis: Axis, model: str, size: int) -> str:
    return f"{axis.name}, {model}, {size}"


def measure(axes: tuple[Axis, ...], most: int, found: dict[str, Any]) -> None:
    for axis, size, models in missing_points(axes, most, found):
        rows, columns, classes = axis.table(size)
        with tempfile.TemporaryDirectory() as name:
            folder, warm = Path(name) / "table", Path(name) / "warm"
            generate(folder, rows, columns, classes)
            generate(warm, WARM_ROWS, 6, 3)
            for model in models:
                found[key(axis, model, size)] = point(model, folder, warm) | {"commit": COMMIT}
                print(key(axis, model, size), found[key(axis, model, size)], flush=True)
                RESULTS.write_text(json.dumps(found, indent=0) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--axis", choices=[axis.name for axis in AXES])
    parser.add_argument("--most", type=int, default=10**9)
    parser.add_argument("--point", nargs=3, metavar=("MODEL", "FOLDER", "WARM"))
    options = parser.parse_args()
    if options.point:
        run_point(*options.point)
        return
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() and not options.again else {}
    axes = tuple(axis for axis in AXES if options.axis in (None, axis.name))
    measure(axes, options.most, found)
    if len(axes) == len(AXES) and options.most >= 10**8:
        write_page({axis.name: axis.sizes for axis in AXES}, (*OURS, *PEERS), found)


if __name__ == "__main__":
    main()
