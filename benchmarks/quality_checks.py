"""Three checks of `auto`: a learning curve, permuted labels, and calibration.

The learning curve has one test set and nested training sets, of 1,000 rows up to all of them. With
permuted labels no model can be better than the class frequencies, so a log-loss below the class
entropy would mean that held-out labels were used. The calibration error is that of outer held-out
rows, in 15 bins of equal count of the confidence.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

import verosim
from benchmarks.measure import shown as seconds
from benchmarks.quality_models import AUTO, LABELS, REGISTRY, TARGET, chosen
from benchmarks.quality_report import results, table_of
from benchmarks.quality_runs import Cache, aligned, measure, one_fold, scores
from benchmarks.quality_tables import AT, CURVE, folds, table

PERMUTED = "sonar", "german_credit", "car"  # numbers, a mixture, categories
PERMUTATIONS = 20
BINS = 15


def curve(
    name: str, keys: Iterable[str], cache: Cache, limit: float, again: bool = False
) -> list[str]:
    """Accuracy / log-loss and fit time by number of training rows."""
    keys = list(keys)
    sizes = {f"{name}{AT}{rows}": rows for rows in CURVE}
    measure(sizes, keys, cache, limit, again)
    found = results(cache, sizes, keys)
    keys = [key for key in keys if key in found]
    lines = []
    for size, rows in sizes.items():
        cells = []
        for key in keys:
            score = found[key].get(size)
            cells += ["–", "–"] if score is None else [
                f"{score.accuracy:.4f} / {score.log_loss:.4f}", seconds(score.fit)]  # fmt: skip
        lines.append([f"{rows:,}", *cells])
    names = (title for key in keys for title in (LABELS[key], f"{LABELS[key]}, fit"))
    return table_of(["training rows", *names], lines)


def entropy(labels: np.ndarray) -> float:
    """−Σ_k p_k log p_k of the class frequencies, in nats."""
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(shares * np.log(shares)).sum())


def compared(losses: np.ndarray, entropies: np.ndarray) -> tuple[float, float, bool]:
    """Mean of log-loss − entropy, its standard error, and whether it is not below −2 errors."""
    gaps = np.asarray(losses) - np.asarray(entropies)
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
    return float(gaps.mean()), error, bool(gaps.mean() >= -2 * error)


def one_permutation(name: str, key: str, seed: int) -> dict[str, float]:
    """Log-losses of `auto` on permuted labels: as printed, and on the rows of an outer fold."""
    data = table(name)
    y = np.random.default_rng(seed).permutation(data.y)
    train, test = folds(y, seed)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The first row of the table is that of the model which `auto` returns.
        choice = chosen(key, data.X.iloc[train].assign(**{TARGET: y[train]}))
        proba = choice.model.predict_proba(data.X.iloc[test])
    log_p = aligned(proba, choice.model.classes_, data.classes)
    outer = scores(log_p, np.searchsorted(data.classes, y[test]))["loss"] / len(test)
    return {"printed": float(choice.table[0].score), "printed_entropy": entropy(y[train]),
            "outer": outer, "outer_entropy": entropy(y[test])}  # fmt: skip


def permuted(keys: Iterable[str], cache: Cache, again: bool = False) -> list[str]:
    lines = []
    for key in (key for key in keys if key in AUTO):
        for name in PERMUTED:
            for seed in range(PERMUTATIONS):
                where = f"permuted:{name}", key, seed
                if again or not cache.is_finished(*where):
                    cache.add({where: one_permutation(name, key, seed)})
                    print(*where, cache.get(*where), flush=True)
            found = [cache.get(f"permuted:{name}", key, seed) for seed in range(PERMUTATIONS)]
            for title in ("printed", "outer"):
                losses, entropies = ([one[field] for one in found]
                                     for field in (title, f"{title}_entropy"))  # fmt: skip
                gap, error, fine = compared(losses, entropies)
                rows = "as printed" if title == "printed" else "outer test rows"
                lines.append([LABELS[key], name, rows, f"{np.mean(losses):.4f}",
                              f"{np.mean(entropies):.4f}", f"{gap:+.4f} ± {error:.4f}",
                              "yes" if fine else "**no**"])  # fmt: skip
    return table_of(["model", "table", "log-loss of", "mean log-loss", "class entropy",
                     "difference ± se", "not below by more than 2 se"], lines)  # fmt: skip


def calibration(name: str, keys: Iterable[str], cache: Cache, again: bool = False) -> list[str]:
    """Calibration error of the outer held-out rows of all folds."""
    data, lines = table(name), []
    for key in keys:
        where = f"calibration:{name}", key, 0
        if again or not cache.is_finished(*where):
            log_p = np.empty((len(data.y), len(data.classes)))
            for fold, (_, test) in enumerate(data.splits):
                log_p[test] = one_fold(REGISTRY[key], data, fold)[1][key]
            shown = verosim.reliability(
                data.y, np.exp(log_p), data.classes, bins=BINS, strategy="mass"
            )
            cache.add({where: {"error_of": shown.error, "by_class": shown.classwise_error,
                               "loss": shown.log_loss}})  # fmt: skip
        found = cache.get(*where)
        lines.append([LABELS[key], f"{found['error_of']:.4f}", f"{found['by_class']:.4f}",
                      f"{found['loss']:.4f}"])  # fmt: skip
        print(lines[-1], flush=True)
    return table_of(["model", "calibration error", "by class", "log-loss"], lines)
