"""Speed of explanations: `explain` next to `predict_proba`, and exact Shapley values next to shap.

python -m benchmarks.explain            prints its rows and writes them to docs/benchmarks/speed.md
python -m benchmarks.explain --quick    fewer rows, prints only

Times are seconds of CPU. shap is slow, so it explains some of the rows, and its time is multiplied.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import verosim
from benchmarks.measure import Call, options_of, shown
from benchmarks.pages import keep

CODE = "insight kernels stats densities bayes models estimators"
HEADER = ["| work | verosim | peer | peer ÷ verosim | aim |", "|---|---|---|---|---|"]
COLUMNS = 10  # of LDA
ROWS_OF_SHAP = 200  # that shap explains
AIM_FOR_SHAP = 50


def cpu_seconds(calls: dict[str, Call], repeats: int) -> dict[str, float]:
    """The median seconds of CPU per call. The calls alternate."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def mixed_table(n: int, rng: np.random.Generator) -> tuple[pa.Table, np.ndarray]:
    """Ten numbers and ten categories, with two classes."""
    y = rng.integers(0, 2, n)
    columns = {f"number {j}": rng.normal(size=n) + 0.3 * y for j in range(10)}
    values = np.array(["ash", "birch", "cedar", "elm", "fir"])
    categories = {
        f"category {j}": values[(rng.integers(0, 5, n) + y) // 2 * 2 % 5] for j in range(10)
    }
    return pa.table({**columns, **categories}), y


def table_line(n: int, repeats: int) -> str:
    """`explain` of a table by NaiveBayes, next to `predict_proba`."""
    X, y = mixed_table(n, np.random.default_rng(0))
    model = verosim.NaiveBayes().fit(X, y)
    calls: dict[str, Call] = {
        "ours": lambda: verosim.explain(model, X), "peer": lambda: model.predict_proba(X),
    }  # fmt: skip
    cpu_seconds(calls, 1)  # warm-up
    found = cpu_seconds(calls, repeats)
    return (
        f"| NaiveBayes, explain {n:,} rows × 20 mixed columns | {shown(found['ours'])} | "
        f"predict_proba {shown(found['peer'])} | {found['peer'] / found['ours']:.2f} × | ≥ 0.33 |"
    )


def shap_lines(n: int, repeats: int) -> Iterator[str]:
    """Exact Shapley values of LDA, next to shap with 1 and with 100 background rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, COLUMNS)) @ rng.normal(size=(COLUMNS, COLUMNS))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    work = f"LDA, exact Shapley values of {n:,} rows × {COLUMNS} columns, with the fit"

    def ours() -> object:
        return verosim.explain(verosim.LDA().fit(X, y), X)

    ours()  # warm-up
    try:
        import shap
    except ImportError:
        found = cpu_seconds({"ours": ours}, repeats)
        yield f"| {work} | {shown(found['ours'])} | shap is not installed | – | ≥ {AIM_FOR_SHAP} |"
        return
    model = verosim.LDA().fit(X, y)
    some = X[:ROWS_OF_SHAP]
    for background in (1, 100):
        base = X.mean(axis=0, keepdims=True) if background == 1 else X[:background]
        masker = shap.maskers.Independent(base, max_samples=background)
        exact = shap.explainers.ExactExplainer(model.decision_function, masker)
        kernel = shap.KernelExplainer(model.decision_function, base)
        calls: dict[str, Call] = {
            "ours": ours,
            "ExactExplainer": lambda exact=exact: exact(some, silent=True),
            "KernelExplainer": lambda kernel=kernel: kernel.shap_values(some, silent=True),
        }
        exact(some[:2], silent=True)  # it compiles its loops
        found = cpu_seconds(calls, repeats)
        for name in list(calls)[1:]:
            whole = found[name] * n / len(some)
            rows = f"{background} background row{'s' if background > 1 else ''}"
            yield (
                f"| {work} | {shown(found['ours'])} | shap {name}, {rows} {shown(whole)} | "
                f"{whole / found['ours']:.0f} × | ≥ {AIM_FOR_SHAP} |"
            )


def main() -> None:
    options = options_of(__doc__)
    n = 10_000 if options.quick else 100_000
    lines = [table_line(n, options.repeats), *shap_lines(n // 10, options.repeats)]
    print("\n".join(HEADER + lines))
    if not options.quick:
        note = f"{verosim.threads()} threads; seconds of CPU, medians of {options.repeats}."
        keep("docs/benchmarks/speed.md", "explain", note + "\n\n" + "\n".join(HEADER + lines))


if __name__ == "__main__":
    main()
