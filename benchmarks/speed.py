"""The speed table: verosim against its peers in one run, with alternating calls and medians.

python -m benchmarks.speed            prints the table, writes it to
                                      docs/benchmarks/speed.md, and a part of it to README.md
                                      and docs/es/README.md
python -m benchmarks.speed --quick    smaller data, prints only
"""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn import discriminant_analysis, naive_bayes
from sklearn.datasets import load_iris

import verosim
from benchmarks import roofline, small, stream, tables, text, validation
from benchmarks.measure import HEADER, Call, Row, medians, options_of, shown, table
from benchmarks.pages import DATA, keep
from benchmarks.roofline import Work

try:
    import mlpack
except ImportError:
    mlpack = None

CODE = "data kinds kernels stats engines densities bayes models estimators folds validate"


def gaussian_rows(n: int) -> list[Row]:
    rng = np.random.default_rng(0)
    d, K = 50, 5
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, d)) + rng.normal(size=(K, d))[y]
    lda, qda = discriminant_analysis.LinearDiscriminantAnalysis, (
        discriminant_analysis.QuadraticDiscriminantAnalysis
    )  # fmt: skip
    ours = {m: m().fit(X, y) for m in (verosim.GaussianNB, verosim.LDA, verosim.QDA)}
    peer_nb, peer_lda, peer_qda = (
        naive_bayes.GaussianNB().fit(X, y),
        lda().fit(X, y),
        qda().fit(X, y),
    )
    read, scores = X.nbytes, n * K * 8
    cells, pairs = n * d, n * d * (d + 1) // 2  # the entries of a triangle, for each row
    X32 = X.astype(np.float32)

    rows = [
        Row("GaussianNB fit", lambda: verosim.GaussianNB().fit(X, y),
            {"scikit-learn": (lambda: naive_bayes.GaussianNB().fit(X, y), 20)},
            Work(read, 2 * cells)),
        Row("GaussianNB proba", lambda: ours[verosim.GaussianNB].predict_proba(X),
            {"scikit-learn": (lambda: peer_nb.predict_proba(X), 35)},
            Work(read + scores, 2 * cells * K, n * K)),
        Row("GaussianNB proba, float32", lambda: ours[verosim.GaussianNB].predict_proba(X32),
            {"scikit-learn": (lambda: peer_nb.predict_proba(X32), 35)},
            Work(read / 2 + scores, 2 * cells * K, n * K)),
        Row("LDA fit", lambda: verosim.LDA().fit(X, y),
            {"scikit-learn": (lambda: lda().fit(X, y), 25),
             "scikit-learn lsqr": (lambda: lda(solver="lsqr").fit(X, y), 5)}, Work(read, pairs)),
        Row("LDA proba", lambda: ours[verosim.LDA].predict_proba(X),
            {"scikit-learn": (lambda: peer_lda.predict_proba(X), 4)},
            Work(read + scores, cells * K, n * K)),
        Row("LDA proba, float32", lambda: ours[verosim.LDA].predict_proba(X32),
            {"scikit-learn": (lambda: peer_lda.predict_proba(X32), 4)},
            Work(read / 2 + scores, cells * K, n * K)),
        Row("QDA fit", lambda: verosim.QDA().fit(X, y),
            {"scikit-learn": (lambda: qda().fit(X, y), 10)}, Work(read, pairs)),
        Row("QDA proba", lambda: ours[verosim.QDA].predict_proba(X),
            {"scikit-learn": (lambda: peer_qda.predict_proba(X), 8)},
            Work(read + scores, pairs * K, n * K)),
    ]  # fmt: skip
    if mlpack is not None:
        model = mlpack.nbc(training=X, labels=y, verbose=False)["output_model"]
        rows[0].peers["mlpack nbc"] = (lambda: mlpack.nbc(training=X, labels=y), 1)
        rows[1].peers["mlpack nbc"] = (lambda: mlpack.nbc(input_model=model, test=X), 1)
    return rows


def categorical_rows(n: int) -> list[Row]:
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 12, (n, 30)), rng.integers(0, 5, n)
    ours, peer = verosim.CategoricalNB().fit(X, y), naive_bayes.CategoricalNB().fit(X, y)
    what = "(30 columns × 12 values)"
    return [
        Row(f"CategoricalNB fit {what}", lambda: verosim.CategoricalNB().fit(X, y),
            {"scikit-learn": (lambda: naive_bayes.CategoricalNB().fit(X, y), 60)}, Work(X.nbytes)),
        Row(f"CategoricalNB proba {what}", lambda: ours.predict_proba(X),
            {"scikit-learn": (lambda: peer.predict_proba(X), 25)},
            Work(X.nbytes + n * 5 * 8, X.size * 5, n * 5)),
    ]  # fmt: skip


def sparse_rows(n: int) -> list[Row]:
    rng = np.random.default_rng(2)
    d, per_row = 50_000, 50
    drawn = rng.integers(0, d, n * per_row)
    X = sparse.csr_matrix(
        (np.ones(n * per_row), drawn, np.arange(0, n * per_row + 1, per_row)), shape=(n, d)
    )
    X.sum_duplicates()
    y = rng.integers(0, 5, n)
    read = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    rows = []
    for name in ("MultinomialNB", "BernoulliNB"):
        mine, theirs = getattr(verosim, name), getattr(naive_bayes, name)
        ours, peer = mine().fit(X, y), theirs().fit(X, y)
        rows += [
            Row(f"{name} fit (CSR {n // 1000}k × 50k, {X.nnz / 1e6:.1f}M stored)",
                lambda mine=mine: mine().fit(X, y),
                {"scikit-learn": (lambda theirs=theirs: theirs().fit(X, y), 8)}, Work(read, X.nnz)),
            Row(f"{name} proba", lambda ours=ours: ours.predict_proba(X),
                {"scikit-learn": (lambda peer=peer: peer.predict_proba(X), 5)},
                Work(read + n * 5 * 8, X.nnz * 5, n * 5)),
        ]  # fmt: skip
    return rows


def iris_rows() -> list[Row]:
    X, y = load_iris(return_X_y=True)
    pairs = {
        "GaussianNB": naive_bayes.GaussianNB,
        "LDA": discriminant_analysis.LinearDiscriminantAnalysis,
        "QDA": discriminant_analysis.QuadraticDiscriminantAnalysis,
    }
    return [
        Row(f"iris fit + predict, warm, {name}",
            lambda name=name: getattr(verosim, name)().fit(X, y).predict(X),
            {"scikit-learn": (lambda peer=peer: peer().fit(X, y).predict(X), 0.7)}, inner=50)
        for name, peer in pairs.items()
    ]  # fmt: skip


def resident() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def extra_memory(n: int) -> dict[str, float]:
    """Peak memory of a fit in MB, without the memory of the array."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(n, 50)), rng.integers(0, 5, n)
    used = {}
    for name in ("GaussianNB", "LDA", "QDA"):
        getattr(verosim, name)().fit(X[:5000], y[:5000])  # compiles kernels, starts threads
        gc.collect()
        before, peak, done = resident(), 0, threading.Event()

        def watch(done: threading.Event = done) -> None:
            nonlocal peak
            while not done.is_set():
                peak = max(peak, resident())
                time.sleep(0.0005)

        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(5):
            getattr(verosim, name)().fit(X, y)
        done.set()
        watcher.join()
        used[name] = (peak - before) / 1e6
    return used


def import_times(repeats: int) -> dict[str, float]:
    def run(module: str) -> Call:
        return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    return medians({"ours": run("verosim"), "scikit-learn": run("sklearn")}, repeats, 1)


def main() -> None:
    options = options_of(__doc__)
    scale = 10 if options.quick else 1
    print("\n".join(HEADER))
    lines = []
    for make, n in (
        (gaussian_rows, 500_000),
        (categorical_rows, 500_000),
        (sparse_rows, 200_000),
    ):
        lines += table(make(n // scale), options.repeats)
    lines += table(iris_rows(), options.repeats)
    lines += small.lines(options.repeats)
    if DATA.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            lines += table(text.rows(4 if options.quick else 1, folder), options.repeats)
        lines += table(tables.adult_rows(5_000_000 // (scale * scale)), options.repeats)
    else:
        print("no folder of data sets (VEROSIM_DATA): the rows on texts and tables are left out")
    lines += table(validation.validation_rows(options.quick), options.repeats)
    lines += stream.lines(20_000_000 // (10 * scale if options.quick else 1), 3)
    times = import_times(options.repeats)
    lines.append(
        f"| import | {shown(times['ours'])} | scikit-learn {shown(times['scikit-learn'])} | "
        f"{times['scikit-learn'] / times['ours']:.1f} × | ≥ 1 | – |"
    )
    print(lines[-1])
    for name, used in extra_memory(500_000 // scale).items():
        lines.append(
            f"| peak extra memory, {name} fit on 200 MB | {used:.0f} MB | – | – | ≤ 64 MB | – |"
        )
        print(lines[-1])
    if not options.quick:
        keep_pages(HEADER + lines, options.repeats)


def keep_pages(lines: list[str], repeats: int) -> None:
    import sklearn

    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")), platform.processor(),
    )  # fmt: skip
    note = (
        f"{cpu}, {verosim.threads()} threads; Python {platform.python_version()}, numpy "
        f"{np.__version__}, scikit-learn {sklearn.__version__}"
        f"{', mlpack ' + mlpack.__version__ if mlpack is not None else ''}; medians of {repeats}; "
        f"{roofline.shown(roofline.speeds())}."
    )
    keep("docs/benchmarks/speed.md", "speed", note + "\n\n" + "\n".join(lines))
    shown_first = (
        "GaussianNB fit",
        "LDA fit",
        "QDA proba",
        "CategoricalNB fit",
        "MultinomialNB fit",
        "TextNB fit (",
        "NaiveBayes fit, adult",
        "LDA, 11 shrinkages",
        "QDA, leave-one-out",
    )
    short = ["| work | verosim | scikit-learn | ratio |", "|---|---|---|---|"]
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        peer = cells[2]
        for name in ("scikit-learn ", "pipeline ", "GridSearchCV, 2 jobs ", "cross_val_predict "):
            peer = peer.removeprefix(name)
        if cells[0].startswith(shown_first) and peer != cells[2] and "lsqr" not in peer:
            short.append(f"| {cells[0]} | {cells[1]} | {peer} | {cells[3]} |")
    for page in ("README.md", "docs/es/README.md"):
        keep(page, "speed", "\n".join(short))


if __name__ == "__main__":
    main()
