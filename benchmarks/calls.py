"""Which calls work on which rows: arrays, frames, files, streams that are read once, and clusters.

python -m benchmarks.calls                 the table, with the cluster of the tests
python -m benchmarks.calls dask spark      on real engines, in their environment
python -m benchmarks.calls … --keep        written to docs/scale.md

Each call is made. It works, or it is refused with a reason, which is a footnote of the table.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.model_selection import KFold

import verosim
from benchmarks.pages import keep
from verosim import VerosimError
from verosim.data.clusters import NeedsAllRows

CODE = "data engines models folds estimators validate twins pool insight"
ROWS = 400
NUMBERS = ["size", "width", "age"]

Call = Callable[[Any, Any], Any]  # of rows X and labels y
GAUSSIAN, NAIVE, ANY = verosim.LDA(), verosim.GaussianNB(), verosim.NaiveBayes()


def frame() -> pd.DataFrame:
    """Numbers and three classes."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, ROWS)
    found = {name: rng.normal(y * (j + 1), 1.0) for j, name in enumerate(NUMBERS)}
    return pd.DataFrame({**found, "kind": np.array(["u", "v", "w"])[y]})


CALLS: dict[str, Call] = {
    "`look`": lambda X, y: verosim.look(X, y if isinstance(y, str) else None),
    "`fit` of models of sums": lambda X, y: verosim.LDA().fit(X, y),
    "`fit` of `NaiveBayes`": lambda X, y: verosim.NaiveBayes().fit(X, y),
    "`fit` of TAN, KDB, AODE": lambda X, y: verosim.TAN().fit(X, y),
    "`fit` of `LDA(encode=…)`, `LiftedLDA`": lambda X, y: verosim.LiftedLDA(32).fit(X, y),
    '`fit` with a setting `"cv"`': lambda X, y: verosim.RDA(shrinkage="cv").fit(X, y),
    "`partial_fit`": lambda X, y: _of(X).partial_fit(X, y),
    "`forget`": lambda X, y: _of(X).partial_fit(*_known(X)).forget(X, y),
    "`fit` of `MDA`": lambda X, y: verosim.MDA(2).fit(X, y),
    "`fit` with `robust=True`": lambda X, y: verosim.LDA(robust=True).fit(X, y),
    "`fit` of `SemiSupervised`": lambda X, y: verosim.SemiSupervised(NAIVE).fit(X, y),
    "`fit` of linear classifiers": lambda X, y: verosim.LogisticRegression().fit(X, y),
    "`fit` of `OneVsRest`": lambda X, y: verosim.OneVsRest(verosim.LeastSquares()).fit(X, y),
    "`fit` of `Twin`": lambda X, y: verosim.Twin(verosim.GaussianNB()).fit(X, y),
    "`predict`, `predict_proba`": lambda X, y: _of(X).predict_proba(X),
    "`predict_table`": lambda X, y: _of(X).predict_table(X),
    "`score`": lambda X, y: _of(X).score(X, y),
    "`explain`": lambda X, y: verosim.explain(_of(X), X),
    "`impute`": lambda X, y: _of(X).impute(X),
    "`drift`": lambda X, y: verosim.drift(_of(X), X, y),
    "`diagnose`": lambda X, y: verosim.diagnose(_of(X), X, y),
    "`report`": lambda X, y: _report(X, y),
    "`importance`": lambda X, y: verosim.importance(_of(X), X),
    "`cross_validate`": lambda X, y: verosim.cross_validate(GAUSSIAN, X, y, keep_rows=False),
    '`cross_validate` with a setting `"cv"`': lambda X, y: verosim.cross_validate(
        verosim.RDA(shrinkage="cv"), X, y, cv=3, keep_rows=False
    ),
    "`cross_validate(keep_rows=True)`": lambda X, y: verosim.cross_validate(
        GAUSSIAN, X, y, keep_rows=True
    ),
    "`cross_validate` with a splitter": lambda X, y: verosim.cross_validate(
        GAUSSIAN, X, y, cv=KFold(3), keep_rows=False
    ),
    '`cross_validate(cv="loo")`': lambda X, y: verosim.cross_validate(GAUSSIAN, X, y, cv="loo"),
    "`search`": lambda X, y: verosim.search(verosim.LDA(), X, y, {"shrinkage": [0.0, 0.1]}),
    "`select`": lambda X, y: verosim.select(GAUSSIAN, X, y),
    '`select(scoring="wilks")`': lambda X, y: verosim.select(GAUSSIAN, X, y, scoring="wilks"),
    "`auto`, `Pool`": lambda X, y: verosim.auto(X, y, effort="fast"),
    "`auto(simple=True)`": lambda X, y: verosim.auto(X, y, simple=True),
    "`Calibrated`": lambda X, y: verosim.Calibrated(verosim.LDA(), cv=3).fit(X, y),
    '`Calibrated(method="isotonic")`': lambda X, y: verosim.Calibrated(
        verosim.LDA(), cv=3, method="isotonic"
    ).fit(X, y),
    "`Conformal`": lambda X, y: verosim.Conformal(verosim.LDA()).fit(X, y),
    "`Reject`": lambda X, y: verosim.Reject(verosim.LDA()).fit(X, y),
    "`compare`": lambda X, y: verosim.compare([GAUSSIAN, ANY], X, y, repeats=2),
    "`generative_gap`": lambda X, y: verosim.generative_gap(verosim.GaussianNB(), X, y),
}  # fmt: skip


def _is_array(X: Any) -> bool:
    return isinstance(X, np.ndarray) or type(X).__name__ == "Array"


def _known(X: Any) -> tuple[Any, Any]:
    """The same rows in memory, for a first fit."""
    rows = frame()
    return (rows[NUMBERS].to_numpy(), rows["kind"].to_numpy()) if _is_array(X) else (rows, "kind")


def _report(X: Any, y: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return verosim.report(_of(X), X, y, path=Path(folder) / "report.html")


def _of(X: Any) -> Any:
    return verosim.LDA().fit(*_known(X))


# Rows --------------------------------------------------------------------------------------------


def array(folder: Path) -> tuple[Any, Any]:
    rows = frame()
    return rows[NUMBERS].to_numpy(), rows["kind"].to_numpy()


def data_frame(folder: Path) -> tuple[Any, Any]:
    return frame(), "kind"


def file(folder: Path) -> tuple[Any, Any]:
    frame().to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet", "kind"


def stream(folder: Path) -> tuple[Any, Any]:
    return iter(pa.Table.from_pandas(frame()).to_batches(100)), "kind"


def cluster(folder: Path) -> tuple[Any, Any]:
    from tests.fake_cluster import cut, fake_table

    return fake_table(cut(pa.Table.from_pandas(frame(), preserve_index=False), 3)), "kind"


def dask(folder: Path) -> tuple[Any, Any]:
    import dask.dataframe as dd

    return dd.from_pandas(frame(), npartitions=3), "kind"


def dask_array(folder: Path) -> tuple[Any, Any]:
    import dask.array as da

    X, y = array(folder)
    return da.from_array(X, chunks=(100, 3)), da.from_array(y.astype(str), chunks=100)


def spark(folder: Path) -> tuple[Any, Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers need verosim
    session = SparkSession.builder.master("local[2]").getOrCreate()
    return session.createDataFrame(frame()).repartition(3), "kind"


HERE = {"array": array, "frame": data_frame, "file": file, "stream": stream}
THERE = {
    "cluster": {"a cluster": cluster},
    "dask": {"Dask": dask, "Dask arrays": dask_array},
    "spark": {"Spark": spark},
}


def outcome(call: Call, rows: Callable[[Path], tuple[Any, Any]]) -> str:
    """ "" if the call works, or the reason why it is refused."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        try:
            call(*rows(Path(folder)))
        except NeedsAllRows:
            return "All rows are needed in one process. The error states how they come there."
        except VerosimError as error:
            return str(getattr(error, "what", error)).split(" Hint:")[0]
    return ""


def table(kinds: dict[str, Callable[[Path], tuple[Any, Any]]]) -> dict[str, dict[str, str]]:
    """The outcome of each call for each kind of rows."""
    return {name: {kind: outcome(call, rows) for kind, rows in kinds.items()}
            for name, call in CALLS.items()}  # fmt: skip


def page(found: dict[str, dict[str, str]]) -> str:
    """The table, with the reasons below it."""
    kinds = list(next(iter(found.values())))
    reasons: dict[str, int] = {}

    def cell(why: str) -> str:
        return f"no [{reasons.setdefault(why, len(reasons) + 1)}]" if why else "yes"

    lines = [f"| {name} | {' | '.join(map(cell, of.values()))} |" for name, of in found.items()]
    head = f"| call | {' | '.join(kinds)} |\n|---|{'---|' * len(kinds)}"
    below = [f"{number}. {why}" for why, number in reasons.items()]
    return "\n".join([head, *lines, "", "No, because:", "", *below])


def main(arguments: Iterable[str]) -> None:
    given = list(arguments)
    engines = [one for one in given if one in THERE] or ["cluster"]
    kinds = {**HERE, **{name: rows for one in engines for name, rows in THERE[one].items()}}
    text = page(table(kinds))
    print(text)
    if "--keep" in given:
        keep("docs/scale.md", "calls", text)


if __name__ == "__main__":
    main(sys.argv[1:])
