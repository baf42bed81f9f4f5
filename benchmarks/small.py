"""Small tables, single rows, and the first call of a new process.

python -m benchmarks.small            prints its rows, which are a part of docs/benchmarks/speed.md
python -m benchmarks.small --quick    fewer repeats of the processes

Calls on small tables are timed as all others. A process is timed from its start to its end, in
seconds of CPU and of the clock. Processes of verosim and of scikit-learn take turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import discriminant_analysis, naive_bayes

import verosim
from benchmarks.measure import HEADER, Row, options_of, shown, table
from benchmarks.tables import pipelines

ROWS, COLUMNS, INNER = 200, 50, 20
PEERS = {
    "LDA": discriminant_analysis.LinearDiscriminantAnalysis,
    "QDA": discriminant_analysis.QuadraticDiscriminantAnalysis,
    "GaussianNB": naive_bayes.GaussianNB,
    "NaiveBayes": naive_bayes.GaussianNB,  # all columns are numbers
}
IRIS = """
from sklearn.datasets import load_iris
{imports}
X, y = load_iris(return_X_y=True)
{model}().fit(X, y).predict(X)
"""
OURS_ON_IRIS = IRIS.format(imports="import verosim", model="verosim.LDA")
THEIRS_ON_IRIS = IRIS.format(
    imports="from sklearn.discriminant_analysis import LinearDiscriminantAnalysis",
    model="LinearDiscriminantAnalysis",
)
FIRST_FIT = """
import time
import verosim
X, y = {rows}
begun = time.perf_counter()
verosim.{name}().fit(X, y)
print(time.perf_counter() - begun)
"""
NUMBERS = "[[0.1 * i, float(i % 3)] for i in range(30)], [i % 2 for i in range(30)]"
TEXTS = "['good plot', 'bad plot', 'good cast', 'bad cast'], ['p', 'n', 'p', 'n']"
FIRST_FITS = {"LDA": (NUMBERS, 2), "GaussianNB": (NUMBERS, 2), "TextNB": (TEXTS, 4)}
LEAST_PREDICT = 1.5  # seconds of CPU


def rows() -> list[Row]:
    """Fits, predictions and updates on small tables."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS)
    X = rng.normal(size=(ROWS, COLUMNS)) + rng.normal(size=(2, COLUMNS))[y]
    one, label = X[:1], y[:1]
    out, what = [], f"{ROWS} rows × {COLUMNS}"
    for name, peer in PEERS.items():
        kind = getattr(verosim, name)
        ours, theirs = kind().fit(X, y), peer().fit(X, y)
        known = "scikit-learn" if name != "NaiveBayes" else "scikit-learn GaussianNB"
        out += [
            Row(f"{name} fit, {what}", lambda kind=kind: kind().fit(X, y),
                {known: (lambda peer=peer: peer().fit(X, y), 5)}, inner=INNER),
            Row(f"{name} predict, {what}", lambda ours=ours: ours.predict(X),
                {known: (lambda theirs=theirs: theirs.predict(X), 10)}, inner=INNER),
            Row(f"{name} predict, one row × {COLUMNS}", lambda ours=ours: ours.predict(one),
                {known: (lambda theirs=theirs: theirs.predict(one), 10)}, inner=INNER),
        ]  # fmt: skip
    ours, theirs = verosim.GaussianNB().fit(X, y), naive_bayes.GaussianNB().fit(X, y)
    out.append(
        Row(f"GaussianNB partial_fit, one row × {COLUMNS}", lambda: ours.partial_fit(one, label),
            {"scikit-learn": (lambda: theirs.partial_fit(one, label), 1)}, inner=INNER)
    )  # fmt: skip
    return out + frame_rows(X, y)


def frame_rows(X: np.ndarray, y: np.ndarray) -> list[Row]:
    """A small data frame with categories, against the pipeline that a user would write."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)])
    for j in range(0, COLUMNS, 5):
        frame[f"x{j}"] = pd.cut(frame[f"x{j}"], 4, labels=list("abcd")).astype(str)
    table_ = frame.assign(label=np.array(["no", "yes"])[y])
    peer = pipelines(table_, "label")["GaussianNB, one-hot"].fit(frame, table_["label"])
    ours = verosim.NaiveBayes().fit(table_, "label")
    what = f"{ROWS} rows × {COLUMNS} of a data frame, 10 of them text"
    return [
        Row(f"NaiveBayes fit, {what}", lambda: verosim.NaiveBayes().fit(table_, "label"),
            {"scikit-learn pipeline": (lambda: peer.fit(frame, table_["label"]), 5)}, inner=3),
        Row(f"NaiveBayes predict, {what}", lambda: ours.predict(frame),
            {"scikit-learn pipeline": (lambda: peer.predict(frame), 10)}, inner=3),
    ]  # fmt: skip


# Processes ---------------------------------------------------------------------------------------


def process(words: list[str], env: dict[str, str] | None = None) -> tuple[float, float, str]:
    """The seconds of CPU and of the clock of a process, and what it prints."""
    variables = os.environ | (env or {})
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    begun = time.perf_counter()
    run = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, env=variables, text=True
    )
    assert run.stdout is not None
    text = run.stdout.read()
    _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        raise SystemExit(f"{words} ended with {run.returncode}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - begun, text


def iris_line(repeats: int) -> str:
    process(["-c", OURS_ON_IRIS])  # the loops are in the cache now
    times = [
        (*process(["-c", OURS_ON_IRIS])[:2], *process(["-c", THEIRS_ON_IRIS])[:2])
        for _ in range(repeats)
    ]
    ours, wall, theirs, their_wall = (statistics.median(one) for one in zip(*times, strict=True))
    return (
        f"| new process, cache present: import, LDA fit and predict on iris | {shown(ours)} CPU, "
        f"{shown(wall)} | scikit-learn {shown(theirs)} CPU, {shown(their_wall)} | "
        f"{theirs / ours:.2f} × | ≥ {1 / 1.2:.2f} | – |"
    )


def predict_line(folder: Path, repeats: int) -> str:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1000, 10)), columns=[f"x{j}" for j in range(10)])
    frame["hue"] = rng.choice(list("abc"), len(frame))
    label = np.where(frame["x0"] + rng.normal(size=len(frame)) > 0, "yes", "no")
    model, path = folder / "model.verosim", folder / "rows.csv"
    verosim.save(verosim.NaiveBayes().fit(frame, label), model)
    frame.to_csv(path, index=False)
    words = ["-m", "verosim", "predict", str(model), str(path), "-q", "-o", str(folder / "out.csv")]
    process(words)
    times = [process(words)[:2] for _ in range(repeats)]
    cpu, wall = (statistics.median(one) for one in zip(*times, strict=True))
    return (
        f"| `verosim predict`, 1,000 rows of a CSV file, cache present | {shown(cpu)} CPU, "
        f"{shown(wall)} | – | – | ≤ {LEAST_PREDICT:g} s CPU | – |"
    )


def first_fit_line(name: str) -> str:
    """The first fit in a new process without a cache of compiled loops."""
    data, aim = FIRST_FITS[name]
    with tempfile.TemporaryDirectory() as empty:
        code = FIRST_FIT.format(rows=data, name=name)
        cpu, _, text = process(["-c", code], {"NUMBA_CACHE_DIR": empty})
    return (
        f"| first {name} fit of a new process, no compiled cache | {shown(float(text))} "
        f"({shown(cpu)} CPU with imports) | – | – | ≤ {aim} s | – |"
    )


def lines(repeats: int) -> list[str]:
    """The rows of all these measurements."""
    found = table(rows(), repeats)
    with tempfile.TemporaryDirectory() as folder:
        for line in (
            iris_line(repeats),
            predict_line(Path(folder), repeats),
            *(first_fit_line(name) for name in FIRST_FITS),
        ):
            print(line, flush=True)
            found.append(line)
    return found


if __name__ == "__main__":
    options = options_of(__doc__)
    print("\n".join(HEADER))
    lines(3 if options.quick else options.repeats)
