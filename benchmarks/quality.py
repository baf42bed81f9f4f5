"""Quality of `auto` and of its experts on whole tables, beside boosting and pipelines.

python -m benchmarks.quality                     measures everything that is not in the cache and
                                                 writes docs/benchmarks/quality.md; takes hours
python -m benchmarks.quality --tables car votes --models auto lightgbm
                                                 these tables and models; the page does not change
python -m benchmarks.quality --small             tables of up to 15,000 rows; the page does not
                                                 change
python -m benchmarks.quality --report            no measurement; the tables of what is in the cache
python -m benchmarks.quality --curve covtype     only the learning curve, beside LightGBM
python -m benchmarks.quality --permuted          only the log-loss with permuted labels
python -m benchmarks.quality --calibration       only the calibration error on adult

Results of a table, model and fold are kept in a JSON file (--cache), so a run can be stopped and
continued. --again measures them again, which is needed after a change of verosim. --page writes
the page although only some tables or models were asked for.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path

from benchmarks.pages import keep
from benchmarks.quality_checks import calibration, curve, permuted
from benchmarks.quality_models import (
    LABELS,
    REGISTRY,
    THREADS,
    reasons_missing,
    use_threads,
)
from benchmarks.quality_report import (
    Results,
    by_table,
    costs,
    losses,
    means,
    notes,
    results,
    summary,
    times_by_table,
    wins,
)
from benchmarks.quality_runs import Cache, measure
from benchmarks.quality_tables import NAMES, SMALL

CODE = "data kinds kernels stats densities bayes models estimators folds pool twins validate"
PAGE = "docs/benchmarks/quality.md"
SUMMARY_PAGES = (PAGE, "README.md", "docs/es/README.md")
CACHE = Path(tempfile.gettempdir()) / "verosim_quality.json"
CHECKED = ("auto", "lightgbm")  # the models of the three checks, if none are named
LIBRARIES = ("numpy", "pandas", "scikit-learn", "lightgbm", "catboost")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", choices=NAMES, metavar="TABLE")
    parser.add_argument("--models", nargs="+", choices=REGISTRY, metavar="MODEL")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one fold")
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--curve", choices=["covtype"])
    parser.add_argument("--permuted", action="store_true")
    parser.add_argument("--calibration", action="store_true")
    return parser.parse_args()


def version(library: str) -> str:
    try:
        return f"{library} {importlib.metadata.version(library)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{library} is not installed"


def machine(libraries: Iterable[str] = LIBRARIES) -> str:
    """Where the figures were measured."""
    libraries = ", ".join(map(version, libraries))
    return (
        f"Measured with {os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}, {libraries}."
    )


def sections(
    cache: Cache, names: list[str], keys: list[str], found: Results, left_out: dict[str, str]
) -> dict[str, list[str]]:
    """The texts between the marks of the page."""
    said = notes(cache, names, keys, found, left_out)
    return {
        "summary": summary(found),
        "quality": [*means(found), "", machine(), *([""] if said else []), *said],
        "quality wins": wins(found),
        "quality tables": by_table(found),
        "quality losses": losses(found),
        "quality costs": [*costs(found), "", *times_by_table(found)],
    }


def tables(
    chosen: argparse.Namespace, cache: Cache, keys: list[str], left_out: dict[str, str]
) -> dict[str, list[str]]:
    """Measure the tables, and compare the models on all that is in the cache."""
    names = list(chosen.tables or (SMALL if chosen.small else NAMES))
    if not chosen.report:
        measure(names, keys, cache, chosen.limit, chosen.again)
    variants = [variant for key in keys for variant in REGISTRY[key].variants]
    found = results(cache, names, variants)
    return sections(cache, names, variants, found, left_out) if found else {}


def checks(
    chosen: argparse.Namespace, cache: Cache, keys: list[str], everything: bool
) -> dict[str, list[str]]:
    """The checks that were asked for, or all of them."""
    made = {}
    if chosen.curve or everything:
        made["quality curve"] = curve("covtype", keys, cache, chosen.limit, chosen.again)
    if chosen.permuted or everything:
        made["quality permuted"] = permuted(keys, cache, chosen.again)
    if chosen.calibration or everything:
        made["quality calibration"] = calibration("adult", keys, cache, chosen.again)
    return made


def main() -> None:
    chosen = options()
    warnings.simplefilter("ignore")
    use_threads(chosen.threads)
    cache = Cache(chosen.cache)
    one_check = bool(chosen.curve or chosen.permuted or chosen.calibration)
    part = bool(chosen.tables or chosen.models or chosen.small or chosen.report)
    asked = list(chosen.models or (CHECKED if one_check else REGISTRY))
    left_out = {} if chosen.report else reasons_missing(asked)
    for key, why in left_out.items():
        print(f"{LABELS[key]} is left out: {why}", flush=True)
    keys = [key for key in asked if key not in left_out]
    made = {} if one_check else tables(chosen, cache, keys, left_out)
    some = keys if chosen.models else [key for key in CHECKED if key in keys]
    made |= checks(chosen, cache, some, everything=not (part or one_check))
    for mark, lines in made.items():
        print(f"\n{mark}\n" + "\n".join(lines))
        if chosen.page or not part:
            for page in SUMMARY_PAGES if mark == "summary" else (PAGE,):
                keep(page, mark, "\n".join(lines), cache.commit())


if __name__ == "__main__":
    main()
