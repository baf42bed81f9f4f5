"""One process per table and model: scores, seconds and memory of each fold.

The processes of all models on a table are open at the same time, and the parent asks them in turn
for one fold, so that the models alternate. Each process first fits a sample of the table, which is
not timed: it imports libraries and compiles or loads kernels. Memory is the growth of the resident
set while the first fold is fitted and predicted, above the process with the table in memory.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import json
import multiprocessing
import re
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax

from benchmarks.pages import COMMIT, oldest
from benchmarks.quality_models import REGISTRY, Model, threads, with_temperature
from benchmarks.quality_tables import Table, folds, number_of_splits, table

LEAST = 1e-15  # probabilities are clipped here
TEMPERATURES = 0.05, 5.0
INNER_ROWS = 1_000  # with fewer training rows, the temperature is fitted on five held-out folds
Record = dict[str, Any]  # the result of one fold, as it is in the cache
SPAWN = multiprocessing.get_context("spawn")


# Scores ------------------------------------------------------------------------------------------


def aligned(proba: np.ndarray, found: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """(n, C) log-probabilities of all classes, clipped; classes without training rows have 0."""
    out = np.zeros((len(proba), len(classes)))
    out[:, np.searchsorted(classes, np.asarray(found).astype(str))] = proba
    if not np.isfinite(out).all():
        raise ValueError("The probabilities are not finite.")
    return np.log(np.maximum(out, LEAST))


def scores(log_p: np.ndarray, own: np.ndarray) -> Record:
    """Correct rows and the sum of −log p(true class), with own (n,) the true classes."""
    own_log_p = np.clip(log_p[np.arange(len(own)), own], np.log(LEAST), 0)
    return {"rows": len(own), "right": int((log_p.argmax(axis=1) == own).sum()),
            "loss": float(0.0 - own_log_p.sum())}  # fmt: skip


def temperature(log_p: np.ndarray, own: np.ndarray) -> float:
    """The exponent β with the smallest log-loss of softmax(β log p), between 0.05 and 5.

    The log-loss is convex in β, so its derivative has at most one zero:

        mean over rows of  Σ_k softmax_k(β log p) log p_k − log p_own
    """
    own_log_p = log_p[np.arange(len(own)), own]

    def slope(beta: float) -> float:
        return float(((softmax(beta * log_p, axis=1) * log_p).sum(axis=1) - own_log_p).mean())

    low, high = TEMPERATURES
    if slope(low) >= 0:
        return low
    return high if slope(high) <= 0 else float(brentq(slope, low, high))


def tempered(log_p: np.ndarray, beta: float) -> np.ndarray:
    return beta * log_p - logsumexp(beta * log_p, axis=1, keepdims=True)


# Memory ------------------------------------------------------------------------------------------


def _status(field: str) -> float | None:
    """A field of the process status in MB, where the system has one."""
    try:
        return int(re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024
    except OSError:
        return None


def resident_from_now() -> float | None:
    """Resident memory in MB, after unused memory is returned; the peak is counted from here."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status("VmRSS")


def growth(before: float | None) -> float | None:
    peak = _status("VmHWM")
    return None if before is None or peak is None else max(0.0, peak - before)


# One fold ----------------------------------------------------------------------------------------


def held_out_temperature(model: Model, data: Table, train: np.ndarray) -> float:
    """β from held-out training rows: of five inner folds, or of one if there are many rows."""
    X, y, classes = data.X.iloc[train], data.y[train], data.classes
    parts = folds(y)
    log_p, own = [], []
    for known, held in parts if len(y) < INNER_ROWS else parts[:1]:
        rows, new = model.prepare(X.iloc[known], y[known], X.iloc[held])
        fitted = model.fit(rows, y[known])
        seen = np.isin(y[held], y[known])  # no temperature helps a class without training rows
        log_p.append(aligned(fitted.predict_proba(new), fitted.classes_, classes)[seen])
        own.append(np.searchsorted(classes, y[held][seen]))
    return temperature(np.concatenate(log_p), np.concatenate(own))


def one_fold(
    model: Model, data: Table, fold: int
) -> tuple[dict[str, Record], dict[str, np.ndarray]]:
    """Results and (n, C) log-probabilities of the test rows, by variant of the model."""
    train, test = data.splits[fold]
    y, own = data.y[train], np.searchsorted(data.classes, data.y[test])
    rows, new = model.prepare(data.X.iloc[train], y, data.X.iloc[test])
    before = resident_from_now()
    start = time.perf_counter()
    fitted = model.fit(rows, y)
    fitted_at = time.perf_counter()
    proba = fitted.predict_proba(new)
    end = time.perf_counter()
    log_p = {model.key: aligned(proba, fitted.classes_, data.classes)}
    record = {"fit": fitted_at - start, "predict": end - fitted_at, "memory": growth(before),
              "note": getattr(fitted, "note_", "")}  # fmt: skip
    found = {model.key: record | scores(log_p[model.key], own)}
    if model.tempered:
        start = time.perf_counter()
        beta = held_out_temperature(model, data, train)
        key = with_temperature(model.key)
        log_p[key] = tempered(log_p[model.key], beta)
        fit = record["fit"] + time.perf_counter() - start
        found[key] = record | {"fit": fit, "beta": beta, "memory": growth(before)}
        found[key] |= scores(log_p[key], own)
    return found, log_p


# Processes ---------------------------------------------------------------------------------------


def warm_up(model: Model, data: Table) -> None:
    """An untimed fit on a sample. Its errors come back, with a reason, in the timed fit."""
    train = data.splits[0][0]
    some = np.random.default_rng(0).permutation(train)[: model.warm_rows]
    X, y = data.X.iloc[some], data.y[some]
    rows, new = model.prepare(X, y, X)
    try:
        model.fit(rows, y).predict_proba(new)
    except Exception:
        return


def serve(connection: Any, key: str, name: str) -> None:
    """The work of a process: send one message when ready, then the results of each fold asked."""
    warnings.simplefilter("ignore")
    model, data = REGISTRY[key], table(name)
    warm_up(model, data)
    connection.send("ready")
    while (fold := connection.recv()) is not None:
        try:
            connection.send(one_fold(model, data, fold)[0])
        except Exception as error:
            why = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
            connection.send(dict.fromkeys(model.variants, why))


class Worker:
    """A process for one model and one table, which answers as `work` does."""

    def __init__(
        self,
        key: str,
        name: str,
        limit: float,
        work: Callable[[Any, str, str], None] = serve,
        variants: tuple[str, ...] | None = None,
    ) -> None:
        self.variants, self.limit = variants or REGISTRY[key].variants, limit
        self.connection, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=work, args=(theirs, key, name), daemon=True)
        self.process.start()
        theirs.close()  # so that the end of the process is seen
        self.failed: Record | None = None
        self._received(limit)

    def _received(self, seconds: float) -> Any:
        """A message, or None and the reason in `failed`."""
        try:
            if self.connection.poll(seconds):
                return self.connection.recv()
            self.failed = {"error": f"more than {self.limit:,.0f} s", "limit": self.limit}
        except (EOFError, OSError):
            self.process.join(10)
            self.failed = {"error": f"the process ended with code {self.process.exitcode}"}
        self.process.kill()
        return None

    def ask(self, fold: int) -> dict[str, Record]:
        """The results of one fold, by variant."""
        if self.failed is None:
            self.connection.send(fold)
        found = None if self.failed else self._received(self.limit)
        return found or dict.fromkeys(self.variants, self.failed)

    def close(self) -> None:
        if self.failed is None:
            self.connection.send(None)
        self.process.join()


# Results -----------------------------------------------------------------------------------------


class Cache:
    """Results by table, model and fold, in a JSON file that several runs may write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, dict[str, dict[str, Record]]] = {}
        self.add({})

    def add(self, found: dict[tuple[str, str, int], Record]) -> None:
        """Add results to the file; those that another run wrote are kept."""
        with open(f"{self.path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.path.exists():
                self.records = json.loads(self.path.read_text())
            for (name, key, fold), record in found.items():
                results = self.records.setdefault(name, {}).setdefault(key, {})
                results[str(fold)] = record | {"commit": COMMIT}
            if found:
                part = self.path.with_suffix(".part")
                part.write_text(json.dumps(self.records, indent=0))
                part.replace(self.path)

    def commit(self) -> str:
        """The commit of the oldest result."""
        models = (model for table in self.records.values() for model in table.values())
        return oldest(fold for model in models for fold in model.values())

    def get(self, name: str, key: str, fold: int) -> Record | None:
        return self.records.get(name, {}).get(key, {}).get(str(fold))

    def is_finished(self, name: str, key: str, fold: int, limit: float = np.inf) -> bool:
        """Errors are tried again, apart from those of a time limit that was not raised."""
        record = self.get(name, key, fold)
        return record is not None and ("error" not in record or record.get("limit", -1) >= limit)


def measure(
    names: Iterable[str], keys: Iterable[str], cache: Cache, limit: float, again: bool = False
) -> None:
    """Measure what is not in the cache, one table after the other, the models in turn."""
    keys, run = list(keys), time.strftime("%Y-%m-%d %H:%M:%S")
    for name in names:
        count = number_of_splits(name)
        wanted = {
            key: [fold for fold in range(count)
                  if again or not all(cache.is_finished(name, variant, fold, limit)
                                      for variant in REGISTRY[key].variants)]
            for key in keys
        }  # fmt: skip
        wanted = {key: todo for key, todo in wanted.items() if todo}
        # One split gives no turns, and the table is large: one process at a time.
        groups = [wanted] if count > 1 else [{key: todo} for key, todo in wanted.items()]
        for group in groups:
            workers = {key: Worker(key, name, limit) for key in group}
            for fold in range(count):
                turn = fold % max(1, len(workers))
                order = [*workers][turn:] + [*workers][:turn]
                for key in order:
                    if fold not in group[key]:
                        continue
                    found = workers[key].ask(fold)
                    cache.add({(name, variant, fold): record | {"run": run, "threads": threads()}
                               for variant, record in found.items()})  # fmt: skip
                    print(f"{name:24s} fold {fold}  {key:16s} {brief(found[key])}", flush=True)
            for worker in workers.values():
                worker.close()


def brief(record: Record) -> str:
    if "error" in record:
        return record["error"]
    n, memory = record["rows"], record["memory"]
    return (f"{record['right'] / n:.4f} / {record['loss'] / n:.4f}  fit {record['fit']:.3f} s  "
            f"predict {record['predict']:.3f} s  "
            + ("" if memory is None else f"memory {memory:.0f} MB"))  # fmt: skip
