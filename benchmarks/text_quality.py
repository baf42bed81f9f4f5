"""Quality and speed of text classifiers on whole corpora.

python -m benchmarks.text_quality                measures everything that is not in the cache and
                                                 writes docs/benchmarks/text.md; takes an hour
python -m benchmarks.text_quality --corpora sms_spam --models contrast svm
                                                 these corpora and models; the page does not change
python -m benchmarks.text_quality --report       no measurement; the tables of what is in the cache

Results of a corpus, model and seed are kept in a JSON file (--cache), so a run can be stopped and
continued. --again measures them again. --page writes the page although only some corpora or models
were asked for.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import shown as seconds
from benchmarks.pages import keep
from benchmarks.quality import machine
from benchmarks.quality_models import THREADS, use_threads
from benchmarks.quality_report import pairs, table_of
from benchmarks.quality_runs import Cache, Record, Worker, aligned, scores
from benchmarks.text_corpora import CORPORA, Corpus, corpus, is_absent
from benchmarks.text_models import REGISTRY, SEEDS, reasons_missing

CODE = "data kernels stats densities bayes models estimators folds pool validate"
PAGE = "docs/benchmarks/text.md"
CACHE = Path(tempfile.gettempdir()) / "verosim_text.json"
LIBRARIES = ("numpy", "scikit-learn", "vowpalwabbit", "fasttext")
BINS = 15
WARM_TEXTS = 300
REPEATS, ENOUGH_SECONDS = 5, 1.0  # of work that takes less than a second
FASTEST = "contrast"  # the model of the table of ratios
PEERS = ("svm", "logistic")


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Σ_b n_b/n |share of correct rows − mean confidence| over bins of equal counts."""
    order = np.argsort(confidence, kind="stable")
    gaps = [abs(right[rows].sum() - confidence[rows].sum()) for rows in np.array_split(order, BINS)]
    return float(sum(gaps) / len(order))


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result, and the seconds of the clock and of all threads of the process.

    Short work is repeated, and the medians are returned.
    """
    times: list[tuple[float, float]] = []
    while len(times) < REPEATS and sum(clock for clock, _ in times) < ENOUGH_SECONDS:
        start, used = time.perf_counter(), time.process_time()
        out = work()
        times.append((time.perf_counter() - start, time.process_time() - used))
    clock, cpu = (statistics.median(column) for column in zip(*times, strict=True))
    return out, clock, cpu


def one_seed(key: str, data: Corpus, seed: int) -> Record:
    """The scores on the test texts, and the times."""
    model = REGISTRY[key]
    fitted, fit, fit_cpu = timed(lambda: model.fit(data.texts, data.labels, seed))
    own = np.searchsorted(data.classes, data.truth)
    record = {"fit": fit, "fit_cpu": fit_cpu, "rows": len(own)}
    if not hasattr(fitted, "predict_proba"):
        found, record["predict"], record["predict_cpu"] = timed(lambda: fitted.predict(data.new))
        return record | {"right": int((found == data.truth).sum())}
    proba, record["predict"], record["predict_cpu"] = timed(lambda: fitted.predict_proba(data.new))
    log_p = aligned(proba, fitted.classes_, data.classes)
    right = log_p.argmax(axis=1) == own
    record["error_of_calibration"] = calibration_error(np.exp(log_p.max(axis=1)), right)
    return record | scores(log_p, own)


def serve(connection: Any, key: str, name: str) -> None:
    """The work of a process: send one message when ready, then the result of each seed asked."""
    warnings.simplefilter("ignore")
    data = corpus(name)
    some = np.random.default_rng(0).permutation(len(data.texts))[:WARM_TEXTS]
    try:  # an untimed fit; its errors come back, with a reason, in the timed fit
        fitted = REGISTRY[key].fit([data.texts[i] for i in some], data.labels[some], 0)
        getattr(fitted, "predict_proba", fitted.predict)(data.new[:WARM_TEXTS])
    except Exception:
        pass
    connection.send("ready")
    while (seed := connection.recv()) is not None:
        try:
            connection.send({key: one_seed(key, data, seed)})
        except Exception as error:
            connection.send({key: {"error": f"{type(error).__name__}: {error}".splitlines()[0]}})


def measure(
    names: Iterable[str], keys: Iterable[str], cache: Cache, limit: float, again: bool
) -> None:
    """Measure what is not in the cache, one corpus after the other, the models in turn."""
    keys, run = list(keys), time.strftime("%Y-%m-%d %H:%M:%S")
    for name in names:
        wanted = {
            key: [seed for seed in REGISTRY[key].seeds
                  if again or not cache.is_finished(name, key, seed, limit)]
            for key in keys
        }  # fmt: skip
        workers = {
            key: Worker(key, name, limit, serve, (key,)) for key, seeds in wanted.items() if seeds
        }
        for seed in SEEDS:
            for key, worker in workers.items():
                if seed not in wanted[key]:
                    continue
                record = worker.ask(seed)[key]
                cache.add({(name, key, seed): record | {"run": run}})
                print(f"{name:18s} seed {seed}  {key:16s} {brief(record)}", flush=True)
        for worker in workers.values():
            worker.close()


def brief(record: Record) -> str:
    if "error" in record:
        return record["error"]
    n = record["rows"]
    loss = f" / {record['loss'] / n:.4f}" if "loss" in record else ""
    return (f"{record['right'] / n:.4f}{loss}  fit {record['fit_cpu']:.2f} s of CPU  "
            f"predict {record['predict_cpu']:.2f} s")  # fmt: skip


# The tables --------------------------------------------------------------------------------------

Found = dict[tuple[str, str], list[Record]]  # by corpus and model: one record per seed


def results(cache: Cache, names: Iterable[str], keys: Iterable[str]) -> Found:
    """The corpora and models with all seeds."""
    found = {}
    for name in names:
        for key in keys:
            records = [cache.get(name, key, seed) for seed in REGISTRY[key].seeds]
            if all(record is not None and "error" not in record for record in records):
                found[name, key] = records
    return found


def mean(records: list[Record], value: Callable[[Record], float]) -> float:
    return statistics.fmean(value(record) for record in records)


def accuracy_and_loss(records: list[Record] | None) -> tuple[float, float] | None:
    if records is None:
        return None
    loss = mean(records, lambda one: one.get("loss", np.inf) / one["rows"])
    return mean(records, lambda one: one["right"] / one["rows"]), loss


def scores_table(found: Found, names: list[str], keys: list[str]) -> list[str]:
    """Accuracy / log-loss of each model on each corpus."""
    columns = [pairs([accuracy_and_loss(found.get((name, key))) for key in keys]) for name in names]
    lines = ([REGISTRY[key].call, *cells] for key, *cells in zip(keys, *columns, strict=True))
    return [line.replace(" / inf", "") for line in table_of(["model", *names], lines)]


def figures_table(
    found: Found, names: list[str], keys: list[str], figure: Callable[[list[Record]], str]
) -> list[str]:
    """One figure of each model on each corpus."""
    lines = (
        [REGISTRY[key].call,
         *(figure(found[name, key]) if (name, key) in found else "–" for name in names)]
        for key in keys
    )  # fmt: skip
    return table_of(["model", *names], lines)


def calibration_figure(records: list[Record]) -> str:
    if "error_of_calibration" not in records[0]:
        return "–"
    return f"{mean(records, lambda one: one['error_of_calibration']):.3f}"


def spread_figure(records: list[Record]) -> str:
    """The largest difference between two seeds."""
    if len(records) == 1:
        return "–"
    right = [one["right"] / one["rows"] for one in records]
    loss = [one["loss"] / one["rows"] for one in records]
    return f"{max(right) - min(right):.4f} / {max(loss) - min(loss):.4f}"


def time_figure(what: str) -> Callable[[list[Record]], str]:
    def figure(records: list[Record]) -> str:
        clock, cpu = (statistics.median(one[what + end] for one in records) for end in ("", "_cpu"))
        return f"{seconds(clock)} ({seconds(cpu)})"

    return figure


def ratios_table(found: Found, names: list[str], keys: list[str]) -> list[str]:
    """Fit and predict times of the peers, divided by those of the fastest accurate model."""
    lines = []
    for key in keys:
        for peer in PEERS:
            cells = []
            for name in names:
                if (name, key) not in found or (name, peer) not in found:
                    cells.append("–")
                    continue
                fit, predict = (
                    statistics.median(one[what] for one in found[name, peer])
                    / statistics.median(one[what] for one in found[name, key])
                    for what in ("fit_cpu", "predict_cpu")
                )
                cells.append(f"{fit:.1f} × / {predict:.1f} ×")
            lines.append([f"{REGISTRY[peer].call} ÷ {REGISTRY[key].call}", *cells])
    return table_of(["CPU time", *names], lines)


def sections(
    cache: Cache, names: list[str], keys: list[str], left_out: dict[str, str]
) -> dict[str, list[str]]:
    """The texts between the marks of the page."""
    found = results(cache, names, keys)
    there = [name for name in names if any(one == name for one, _ in found)]
    measured = [key for key in keys if any(one == key for _, one in found)]
    absent = [name for name in names if is_absent(name)]
    notes = [f"- {REGISTRY[key].call} is left out: {why}" for key, why in left_out.items()]
    if absent:
        notes.append(f"- Not in the data folder: {', '.join(absent)}.")
    ours = [key for key in (FASTEST, "pool") if key in measured]
    return {
        "text": [*scores_table(found, there, measured), "", machine(LIBRARIES), "", *notes],
        "text calibration": figures_table(found, there, measured, calibration_figure),
        "text seeds": figures_table(
            found, there, [key for key in measured if REGISTRY[key].has_folds], spread_figure
        ),
        "text fit": figures_table(found, there, measured, time_figure("fit")),
        "text predict": figures_table(found, there, measured, time_figure("predict")),
        "text ratios": ratios_table(found, there, ours),
    }


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, metavar="CORPUS")
    parser.add_argument("--models", nargs="+", choices=REGISTRY, metavar="MODEL")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one fit")
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--page", action="store_true")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    warnings.simplefilter("ignore")
    use_threads(chosen.threads)
    cache = Cache(chosen.cache)
    part = bool(chosen.corpora or chosen.models or chosen.report)
    names, keys = list(chosen.corpora or CORPORA), list(chosen.models or REGISTRY)
    left_out = reasons_missing(keys)
    for key, why in left_out.items():
        print(f"{REGISTRY[key].call} is left out: {why}", flush=True)
    usable = [key for key in keys if key not in left_out]
    if not chosen.report:
        measure([name for name in names if not is_absent(name)], usable, cache, chosen.limit,
                chosen.again)  # fmt: skip
    for mark, lines in sections(cache, names, usable, left_out).items():
        print(f"\n{mark}\n" + "\n".join(lines))
        if chosen.page or not part:
            keep(PAGE, mark, "\n".join(lines), cache.commit())


if __name__ == "__main__":
    main()
