"""The tables of the quality benchmark: means, wins, times, and where verosim loses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from benchmarks.measure import shown as seconds
from benchmarks.quality_models import LABELS, REGISTRY, with_temperature
from benchmarks.quality_runs import Cache
from benchmarks.quality_tables import CHOSEN_ON, CONFIRMED_ON, number_of_splits

SHOWN_FIRST = ("auto", "lightgbm", "logistic")  # in the summary
MANY_ROWS = 2_000
DIGITS = 4  # figures that agree after rounding are the same
BOOSTING = [key for model in REGISTRY.values() if model.kind == "boosting"
            for key in model.variants]  # fmt: skip
# The columns of the tables by data set; the other models are in the tables of means.
SHOWN = ("auto-fast", "auto", "auto-max", "hgb", "lightgbm", with_temperature("lightgbm"),
         "catboost", with_temperature("catboost"), "logistic")  # fmt: skip
TIMED = ("auto-fast", "auto", "auto-max", "hgb", "lightgbm", "catboost", "logistic")


@dataclass(frozen=True)
class Score:
    """A model on all test rows of a table. The seconds are sums over the folds."""

    rows: int  # of the test sets, so all rows if there are five folds
    accuracy: float
    log_loss: float
    fit: float
    predict: float
    memory: float | None  # MB, of the first fold
    notes: tuple[str, ...] = ()


Results = dict[str, dict[str, Score]]  # by model, then by table


def results(cache: Cache, names: Iterable[str], keys: Iterable[str]) -> Results:
    """The models and tables with all folds."""
    found: Results = {}
    names = list(names)
    for key in keys:
        for name in names:
            folds = [cache.get(name, key, fold) for fold in range(number_of_splits(name))]
            if any(one is None or "error" in one for one in folds):
                continue
            n = sum(one["rows"] for one in folds)
            found.setdefault(key, {})[name] = Score(
                n, sum(one["right"] for one in folds) / n, sum(one["loss"] for one in folds) / n,
                sum(one["fit"] for one in folds), sum(one["predict"] for one in folds),
                folds[0]["memory"], tuple(sorted({one["note"] for one in folds} - {""})),
            )  # fmt: skip
    return found


def rows_of(found: Results) -> dict[str, int]:
    """Test rows by table; a table with one split has a fifth, and is large in any case."""
    return {name: score.rows for scores in found.values() for name, score in scores.items()}


def groups(found: Results) -> dict[str, list[str]]:
    """The groups of tables over which means are taken."""
    rows = rows_of(found)
    names = sorted(rows)
    return {
        "all tables": names,
        "chosen on": [name for name in names if name in CHOSEN_ON],
        "confirmed on": [name for name in names if name in CONFIRMED_ON],
        f"n > {MANY_ROWS:,}": [name for name in names if rows[name] > MANY_ROWS],
    }


def reference(found: Results) -> str:
    """The model that the others are compared with: `auto`, if it was measured."""
    return "auto" if "auto" in found else next(iter(found))


def mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def table_of(header: list[str], lines: Iterable[Iterable[str]]) -> list[str]:
    out = [header, ["---"] * len(header), *lines]
    return ["| " + " | ".join(line) + " |" for line in out]


def pairs(cells: list[tuple[float, float] | None]) -> list[str]:
    """Accuracy / log-loss of each cell, the best figures in bold, "–" if there is none."""
    rounded = [cell and (round(cell[0], DIGITS), round(cell[1], DIGITS)) for cell in cells]
    best = (max((cell[0] for cell in rounded if cell), default=None),
            min((cell[1] for cell in rounded if cell), default=None))  # fmt: skip

    def bold(value: float, which: int) -> str:
        text = f"{value:.{DIGITS}f}"
        return f"**{text}**" if value == best[which] else text

    return ["–" if cell is None else f"{bold(cell[0], 0)} / {bold(cell[1], 1)}" for cell in rounded]


def means(found: Results) -> list[str]:
    """Mean accuracy / log-loss by group of tables.

    A model without a result on some tables of a group has no mean there, because means over
    different tables cannot be compared.
    """
    columns = []
    for names in groups(found).values():
        columns.append(pairs([
            (mean(scores[name].accuracy for name in names),
             mean(scores[name].log_loss for name in names))
            if names and all(name in scores for name in names) else None
            for scores in found.values()
        ]))  # fmt: skip
    header = ["model", *(f"{group} ({len(names)})" for group, names in groups(found).items())]
    return table_of(header, ([LABELS[key], *cells] for key, *cells in zip(found, *columns)))  # noqa: B905


def summary(found: Results) -> list[str]:
    """Mean accuracy and log-loss over all tables, of the models that have a result on each."""
    count = max(map(len, found.values()))
    shown = {key: found[key].values() for key in SHOWN_FIRST if len(found.get(key, ())) == count}
    return table_of(
        [f"mean of {count} tables", "accuracy", "log-loss"],
        ([LABELS[key], f"{mean(one.accuracy for one in scores):.3f}",
          f"{mean(one.log_loss for one in scores):.3f}"] for key, scores in shown.items()),
    )  # fmt: skip


def against(ours: dict[str, Score], peer: dict[str, Score]) -> tuple[list[int], list[int]]:
    """Tables where ours is better, the same, worse: by accuracy, and by log-loss."""
    counts = []
    for sign, get in ((1, lambda score: score.accuracy), (-1, lambda score: score.log_loss)):
        gaps = [sign * (round(get(ours[name]), DIGITS) - round(get(peer[name]), DIGITS))
                for name in ours if name in peer]  # fmt: skip
        counts.append([sum(gap > 1e-9 for gap in gaps), sum(abs(gap) <= 1e-9 for gap in gaps),
                       sum(gap < -1e-9 for gap in gaps)])  # fmt: skip
    return counts[0], counts[1]


def wins(found: Results) -> list[str]:
    """The reference against each other model, on the tables that both have."""
    first = reference(found)
    ours = found[first]
    lines = []
    for key, scores in found.items():
        shared = [name for name in ours if name in scores]
        if key == first or not shared:
            continue
        accuracy, loss = (" / ".join(map(str, counts)) for counts in against(ours, scores))
        gap = (mean(ours[name].accuracy - scores[name].accuracy for name in shared),
               mean(ours[name].log_loss - scores[name].log_loss for name in shared))  # fmt: skip
        lines.append([LABELS[key], str(len(shared)), f"{gap[0]:+.4f}", f"{gap[1]:+.4f}", accuracy,
                      loss])  # fmt: skip
    name = LABELS[first]
    return table_of(["model", "tables", f"accuracy of {name} − its accuracy",
                     f"log-loss of {name} − its log-loss",
                     "accuracy: better / same / worse", "log-loss: better / same / worse"],
                    lines)  # fmt: skip


def costs(found: Results) -> list[str]:
    """Total seconds and the largest memory, and the ratios to the reference on shared tables."""
    first = reference(found)
    ours = found[first]
    lines = []
    for key, scores in found.items():
        shared = [name for name in ours if name in scores]
        ratios = []
        for get in (lambda score: score.fit, lambda score: score.predict):
            own = sum(get(ours[name]) for name in shared)
            theirs = sum(get(scores[name]) for name in shared)
            ratios.append(f"{theirs / own:.2f} ×" if shared and own else "–")
        memory = [score.memory for score in scores.values() if score.memory is not None]
        lines.append([
            LABELS[key], str(len(scores)), seconds(sum(score.fit for score in scores.values())),
            ratios[0], seconds(sum(score.predict for score in scores.values())), ratios[1],
            f"{max(memory):,.0f} MB" if memory else "–",
        ])  # fmt: skip
    name = LABELS[first]
    return table_of(["model", "tables", "fit, total", f"fit ÷ {name}", "predict, total",
                     f"predict ÷ {name}", "largest growth of memory"], lines)  # fmt: skip


def by_table(found: Results) -> list[str]:
    """Accuracy / log-loss of the main models on each table."""
    keys = [key for key in SHOWN if key in found]
    lines = []
    for name, n in sorted(rows_of(found).items()):
        cells = [found[key].get(name) for key in keys]
        if any(cells):
            half = "chosen" if name in CHOSEN_ON else "confirmed"
            lines.append([name, f"{n:,}", half, *pairs(
                [cell and (cell.accuracy, cell.log_loss) for cell in cells])])  # fmt: skip
    return table_of(["table", "test rows", "half", *(LABELS[key] for key in keys)], lines)


def times_by_table(found: Results) -> list[str]:
    """Seconds of all fits / predictions, and memory, of the main models on each table."""
    keys = [key for key in TIMED if key in found]

    def cell(score: Score | None) -> str:
        if score is None:
            return "–"
        memory = "" if score.memory is None else f" / {score.memory:,.0f} MB"
        return f"{seconds(score.fit)} / {seconds(score.predict)}{memory}"

    lines = [
        [name, *(cell(found[key].get(name)) for key in keys)]
        for name in sorted(rows_of(found))
        if any(name in found[key] for key in keys)
    ]
    return table_of(["table", *(LABELS[key] for key in keys)], lines)


def losses(found: Results, most: int = 8) -> list[str]:
    """The tables where the reference is furthest behind the best boosting, by each measure."""
    ours = found[reference(found)]
    gets: tuple[tuple[str, int, Callable[[Score], float]], ...] = (
        ("log-loss", -1, lambda score: score.log_loss),
        ("accuracy", 1, lambda score: score.accuracy),
    )
    lines = []
    for measure, sign, get in gets:
        gaps = []
        for name, score in ours.items():
            peers = {key: get(found[key][name]) for key in BOOSTING
                     if key in found and name in found[key]}  # fmt: skip
            if peers:
                best = max(peers, key=lambda key: sign * peers[key])
                gaps.append(
                    (sign * (peers[best] - get(score)), name, get(score), best, peers[best])
                )
        for gap, name, own, best, theirs in sorted(gaps, reverse=True)[:most]:
            if gap > 0:
                lines.append([measure, name, f"{own:.4f}", LABELS[best], f"{theirs:.4f}",
                              f"{gap:.4f}"])  # fmt: skip
    return table_of(["measure", "table", LABELS[reference(found)], "best boosting", "its figure",
                     "behind by"], lines)  # fmt: skip


def notes(
    cache: Cache,
    names: Iterable[str],
    keys: Iterable[str],
    found: Results,
    left_out: dict[str, str],
) -> list[str]:
    """Models that are missing, fits that failed, changed settings, and how many runs there were."""
    lines = [f"- {LABELS[key]} is left out: `{why}`" for key, why in left_out.items()]
    changed: dict[tuple[str, str], list[str]] = {}  # tables, by model and note
    for key, scores in found.items():
        for name, score in scores.items():
            for note in score.notes:
                changed.setdefault((key, note), []).append(name)
    lines += [f"- {LABELS[key]} on {', '.join(sorted(where))}: {note}."
              for (key, note), where in changed.items()]  # fmt: skip
    failed: dict[tuple[str, str], list[str]] = {}  # tables, by model and error
    runs: set[tuple[str, int]] = set()  # start and threads
    for name, key in product(names, keys):
        folds = cache.records.get(name, {}).get(key, {}).values()
        runs |= {(one["run"], one["threads"]) for one in folds}
        for error in sorted({one["error"] for one in folds if "error" in one})[:1]:
            failed.setdefault((key, error), []).append(name)
    lines += [f"- {LABELS[key]} failed on {', '.join(where)}: `{why}`"
              for (key, why), where in failed.items()]  # fmt: skip
    if runs:
        counts = " and ".join(map(str, sorted({threads for _, threads in runs})))
        several = f"The times come from {len(runs)} runs, so their ratios are only indicative."
        lines.append(f"- Threads per model: {counts}." + f" {several}" * (len(runs) > 1))
    return lines
