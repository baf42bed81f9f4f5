"""The cost of missing cells: fits by EM against fits of the same table without missing cells.

python -m benchmarks.missing    prints the table and writes it to docs/benchmarks/speed.md
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import verosim
from benchmarks.measure import Call, options_of, shown
from benchmarks.pages import DATA, keep
from benchmarks.tables import read

CODE = "data kinds kernels stats densities bayes models estimators folds pool"
HEADER = [
    "| work | complete | missing cells | missing ÷ complete | aim |",
    "|---|---|---|---|---|",
]
ZERO_IS_MISSING = ["plas", "pres", "skin", "insu", "mass"]  # a zero is not possible there
LARGEST_RATIO = 2


def pima() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table as published, and with its impossible zeros as missing cells."""
    whole = read("pima")
    return whole, whole.assign(**{
        name: whole[name].astype(float).replace(0.0, np.nan) for name in ZERO_IS_MISSING
    })  # fmt: skip


def cpu_times(calls: list[Call], repeats: int) -> list[float]:
    """The median CPU time of each call. The calls alternate."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, found in zip(calls, times, strict=True):
            gc.collect()
            call()  # warm-up
            start = time.process_time()
            call()
            found.append(time.process_time() - start)
    return [statistics.median(found) for found in times]


def lines(repeats: int) -> list[str]:
    whole, holes = pima()
    tables = {"error": whole, "marginalise": holes}
    out = []

    def row(work: str, call: Callable[[str, pd.DataFrame], object]) -> None:
        calls = [lambda missing=m, t=t: call(missing, t) for m, t in tables.items()]
        plain, em = cpu_times(calls, repeats)
        out.append(
            f"| {work} | {shown(plain)} | {shown(em)} | {em / plain:.1f} × | ≤ {LARGEST_RATIO} |"
        )
        print(out[-1], flush=True)

    y = whole["class"].to_numpy()
    arrays = {m: t.drop(columns="class").to_numpy(float) for m, t in tables.items()}
    for model in (verosim.LDA, verosim.QDA):
        name = model.__name__

        def fit(m: str, t: pd.DataFrame, model: Any = model) -> object:
            return model(missing=m).fit(t, "class")

        def fit_array(m: str, t: pd.DataFrame, model: Any = model) -> object:
            return model(missing=m).fit(arrays[m], y)

        def folds(m: str, t: pd.DataFrame, model: Any = model) -> object:
            return verosim.cross_validate(model(missing=m), t, "class")

        def folds_of_array(m: str, t: pd.DataFrame, model: Any = model) -> object:
            return verosim.cross_validate(model(missing=m), arrays[m], y)

        row(f"{name} fit, data frame", fit)
        row(f"{name} fit, array", fit_array)
        row(f"{name}, 10 folds, data frame", folds)
        row(f"{name}, 10 folds, array", folds_of_array)
    row("auto(simple=True)", lambda m, t: verosim.auto(t, "class", simple=True))
    return out


def main() -> None:
    options = options_of(__doc__)
    if not DATA.is_dir():
        print("no folder of data sets (VEROSIM_DATA): the table is left out")
        return
    print("\n".join(HEADER))
    found = lines(3 if options.quick else options.repeats)
    if not options.quick:
        keep("docs/benchmarks/speed.md", "missing", "\n".join(HEADER + found))


if __name__ == "__main__":
    main()
