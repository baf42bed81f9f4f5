"""Learning curves of naive Bayes and logistic regression, as Ng & Jordan (2002) studied them.

python -m benchmarks.ng_jordan            prints the tables and writes them to
                                          docs/benchmarks/quality.md, with the pictures
python -m benchmarks.ng_jordan --quick    a few repeats; nothing is written

The sets that scikit-learn contains and the simulated sets need no data folder. The sets of the
paper are added if the folder VEROSIM_DATA has them.

Continuous columns with Gaussian naive Bayes (one variance per column, shared by the classes, so
that both models are linear), the same columns cut into bins, and discrete columns with Laplace's
rule. Logistic regression has the columns themselves, standardised by the training rows, or an
indicator for every value.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import verosim
from benchmarks.measure import options_of
from benchmarks.pages import DATA, ROOT, keep
from benchmarks.tables import path_of, read
from verosim.twins import Comparison
from verosim.twins.comparison.compare import compare
from verosim.twins.logistic import LogisticRegression

CODE = "kernels stats densities bayes models estimators twins"
PAGE = "docs/benchmarks/quality.md"
PICTURE, OWN_PICTURE = "docs/pictures/ng_jordan.png", "docs/pictures/ng_jordan_bundled.png"
NAIVE, LOGISTIC = "naive Bayes", "logistic regression"
OWN, FLOORED = "naive Bayes, variances by class", "naive Bayes, variances floored"
FLOOR = 0.1  # of a column's variance over all training rows
C = 1000.0  # logistic regression with hardly any penalty: ½‖w‖² beside 1000 × the log-loss
BINS = 5  # of equal counts over all rows; labels are not used
FEW = 10  # rows: the small size of the table
FIRST, STEPS = 4, 10
TEST = 0.25  # share of test rows, up to the maximum below
MOST_TEST = 5_000
MOST_TRAIN = 10_000
CONTINUOUS, CUT, DISCRETE = "Continuous columns", "The same columns in bins", "Discrete columns"
BUNDLED, SIMULATED = "Sets that scikit-learn contains", "Simulated sets"


@dataclass(frozen=True)
class Study:
    """One panel of the picture: a table, its two classes, and how its columns are read."""

    name: str
    folder: str
    target: str
    kind: str
    only: tuple[Any, ...] = ()  # labels that are kept
    merged: tuple[Any, ...] = ()  # labels that are one class, against the rest
    drop: tuple[str, ...] = ()
    types: str = "all"  # or "numbers" or "words": the columns that are kept


NUMBERS = [
    Study("pima", "pima", "class", CONTINUOUS),
    Study("adult", "adult", "income", CONTINUOUS, types="numbers"),
    Study("boston (above median price)", "boston", "above_median", CONTINUOUS, drop=("medv",)),
    Study("optdigits (0 or 1)", "optdigits", "class", CONTINUOUS, only=(0, 1)),
    Study("optdigits (2 or 3)", "optdigits", "class", CONTINUOUS, only=(2, 3)),
    Study("ionosphere", "ionosphere", "class", CONTINUOUS),
    Study("liver disorders", "liver_bupa", "selector", CONTINUOUS),
    Study("sonar", "sonar", "Class", CONTINUOUS),
]
WORDS = [
    Study("adult", "adult", "income", DISCRETE, types="words"),
    Study("promoters", "promoters", "Class", DISCRETE),
    Study("lymphography", "lymphography", "class", DISCRETE, only=("malign_lymph", "metastases")),
    Study("breast cancer", "breast_cancer_ljubljana", "Class", DISCRETE),
    Study("lenses (hard or soft)", "lenses", "class", DISCRETE, only=(1, 2)),
    Study("lenses (any or none)", "lenses", "class", DISCRETE, merged=(1, 2)),
    Study("sick", "sick", "Class", DISCRETE),
    Study("voting records", "votes", "Class", DISCRETE),
]


# The folder is the name of a set of scikit-learn, or the correlation of pairs of columns.
BUNDLED_SETS = [
    Study("breast cancer", "breast_cancer", "target", BUNDLED),
    Study("digits (0 or 1)", "digits", "target", BUNDLED, only=(0, 1)),
    Study("digits (2 or 3)", "digits", "target", BUNDLED, only=(2, 3)),
    Study("digits (odd or even)", "digits", "target", BUNDLED, merged=(1, 3, 5, 7, 9)),
    Study("iris (1 or 2)", "iris", "target", BUNDLED, only=(1, 2)),
    Study("wine (0 or 1)", "wine", "target", BUNDLED, only=(0, 1)),
    Study("wine (1 or 2)", "wine", "target", BUNDLED, only=(1, 2)),
]
SIMULATED_SETS = [
    Study("independent columns", "0", "target", SIMULATED),
    Study("correlation 0.5", "0.5", "target", SIMULATED),
    Study("correlation 0.9", "0.9", "target", SIMULATED),
]
SIMULATED_ROWS, SIMULATED_COLUMNS = 4_000, 16


def studies() -> list[Study]:
    """The sets of the paper that the data folder has."""
    cut = [
        Study(s.name, s.folder, s.target, CUT, s.only, s.merged, s.drop, s.types) for s in NUMBERS
    ]
    return [s for s in [*NUMBERS, *cut, *WORDS] if (DATA / s.folder).is_dir() and path_of(s.folder)]


def simulated(correlation: float) -> pd.DataFrame:
    """Two Gaussian classes with one covariance, in which pairs of columns have a correlation."""
    d = SIMULATED_COLUMNS
    covariance = np.eye(d) + correlation * np.kron(np.eye(d // 2), [[0, 1], [1, 0]])
    mean = np.tile([0.3, 0.05], d // 2)
    y = np.arange(SIMULATED_ROWS) % 2
    noise = np.random.default_rng(0).multivariate_normal(np.zeros(d), covariance, len(y))
    return pd.DataFrame(noise + np.where(y[:, None], mean, -mean)).assign(target=y)


def table_of(study: Study) -> pd.DataFrame:
    if study.kind == SIMULATED:
        return simulated(float(study.folder))
    if study.kind == BUNDLED:
        return getattr(datasets, f"load_{study.folder}")(as_frame=True).frame
    return read(study.folder)


def rows(study: Study) -> tuple[np.ndarray, np.ndarray]:
    """Columns and labels of two classes. Discrete columns contain the numbers of their values."""
    frame = table_of(study).drop(columns=list(study.drop))
    if study.only:
        frame = frame[frame[study.target].isin(study.only)]
    y = frame.pop(study.target)
    y = y.isin(study.merged) if study.merged else y
    if study.types != "all":
        numeric = study.types == "numbers"
        frame = frame[[c for c in frame if pd.api.types.is_numeric_dtype(frame[c]) == numeric]]
    if study.kind in (CUT, DISCRETE):
        frame = frame.apply(codes)
        frame = frame.loc[:, frame.nunique() > 1]
    return frame.to_numpy(dtype=float), np.unique(y.to_numpy().astype(str), return_inverse=True)[1]


def codes(column: pd.Series) -> pd.Series:
    """Values as 0, 1, 2 …, or bins of equal counts. A missing value is one more value."""
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > BINS:
        column = pd.qcut(column, BINS, labels=False, duplicates="drop")
    return pd.Series(pd.factorize(column, sort=True, use_na_sentinel=False)[0], column.index)


def models(study: Study, X: np.ndarray) -> dict[str, Any]:
    if study.kind not in (CUT, DISCRETE):
        return {
            NAIVE: verosim.NaiveLDA(),
            LOGISTIC: make_pipeline(StandardScaler(), LogisticRegression(C=C)),
            OWN: verosim.GaussianNB(),
            FLOORED: verosim.NaiveLDA(floor=FLOOR),
        }
    values = [np.arange(top + 1) for top in X.max(axis=0)]
    indicators = OneHotEncoder(categories=values, sparse_output=False)
    return {
        NAIVE: verosim.CategoricalNB(),
        LOGISTIC: make_pipeline(indicators, LogisticRegression(C=C)),
    }


def measured(study: Study, repeats: int) -> Comparison:
    X, y = rows(study)
    n = len(y)
    test = min(round(TEST * n), MOST_TEST)
    most = min(n - test, MOST_TRAIN)
    sizes = np.geomspace(min(FIRST, most // 2), most, STEPS).round().astype(int)
    sizes = np.unique([*sizes, *(size for size in (10, 30) if size < most)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small sample has constant columns and is separable
        return compare(
            models(study, X), X, y, sizes.tolist(), repeats,
            pairs=[(NAIVE, LOGISTIC)], test_size=test, threads=1,
        )  # fmt: skip


# The table -----------------------------------------------------------------------------------

SURE = 3.0  # standard errors of the paired difference, because about twelve sizes are tested


def small(found: Comparison) -> int:
    """The position of FEW rows among the sizes, or of the next smaller size."""
    return max(int(np.searchsorted(found.sizes, FEW, side="right")) - 1, 0)


def leaders(found: Comparison, naive: str = NAIVE) -> list[str]:
    """The models that are significantly better, from the smallest size to the largest."""
    lead = found.difference(naive, LOGISTIC)  # difference of errors
    sure = np.abs(lead.mean) > SURE * lead.standard_error
    order = [naive if apart < 0 else LOGISTIC for apart in lead.mean[sure]]
    return [name for i, name in enumerate(order) if i == 0 or name != order[i - 1]]


def conclusion(found: Comparison, naive: str = NAIVE) -> str:
    order = leaders(found, naive)
    told = ", then ".join("naive Bayes" if name == naive else "logistic" for name in order)
    if not order:
        return "no sure difference"
    if len(order) == 1:
        return f"{told}, never behind"
    return f"**two regimes**: {told}" if order[-2:] == [naive, LOGISTIC] else told


def crossing_of(found: Comparison) -> str:
    crossing = found.crossings[0]
    if crossing.size is None:
        leads = {NAIVE: "naive Bayes leads", LOGISTIC: "logistic leads", None: "a tie"}
        return f"none, {leads[crossing.ahead]}"
    several = "" if crossing.times == 1 else f", last of {crossing.times}"
    back = "" if crossing.ahead == LOGISTIC else ", naive Bayes after it"
    return f"{crossing.size:,.0f} ({crossing.interval}{several}){back}"


def errors(found: Comparison, s: int) -> str:
    first, second = (100 * found.mean[found.names.index(name), s] for name in (NAIVE, LOGISTIC))
    lead = 100 * found.difference(NAIVE, LOGISTIC).standard_error[s]
    return f"{first:.1f} / {second:.1f} ± {lead:.2f}"


def line(study: Study, found: Comparison) -> str:
    s = small(found)
    at = "" if found.sizes[s] == FEW else f" (at {found.sizes[s]})"
    cells = [
        study.name, f"{found.rows:,}", str(int(found.whole.sum())),
        errors(found, s) + at, f"{found.sizes[-1]:,}", errors(found, -1), crossing_of(found),
        conclusion(found),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


HEADER = [
    f"| set | rows | splits | error % at {FEW} rows, naive Bayes / logistic | largest n | error % "
    "at the largest n | crossing (95 %) | conclusion |",
    "|" + "---|" * 8,
]


def page(all_found: dict[Study, Comparison]) -> Iterator[str]:
    for kind in dict.fromkeys(study.kind for study in all_found):
        some = {study: found for study, found in all_found.items() if study.kind == kind}
        yield f"**{kind}**\n\n" + "\n".join([*HEADER, *(line(s, f) for s, f in some.items())])
    kinds = Counter(conclusion(found).split(":")[0].strip("*") for found in all_found.values())
    counted = "; ".join(f"{kind}: {count}" for kind, count in kinds.most_common())
    yield f"Conclusions of the {len(all_found)} studies: {counted}."
    if some := {study: found for study, found in all_found.items() if study.kind == CONTINUOUS}:
        yield variants(some)


def variants(some: dict[Study, Comparison]) -> str:
    """Effects of the two other kinds of Gaussian naive Bayes."""
    told = []
    for name, what in (
        (OWN, "One variance per class (`GaussianNB()`)"),
        (FLOORED, f"A floor of {FLOOR:g} under the variances (`NaiveLDA(floor={FLOOR:g})`)"),
    ):
        apart = [100 * f.difference(name, NAIVE).mean[[small(f), -1]] for f in some.values()]
        few, many = np.mean(apart, axis=0)
        lows, highs = np.min(apart, axis=0), np.max(apart, axis=0)
        other = [
            f"{study.name} ({conclusion(found, name)})"
            for study, found in some.items()
            if conclusion(found, name) != conclusion(found)
        ]
        told.append(
            f"{what} changes the error of naive Bayes by {few:+.1f} points at {FEW} rows "
            f"({lows[0]:+.1f} to {highs[0]:+.1f} by set) and by {many:+.1f} at the largest n "
            f"({lows[1]:+.1f} to {highs[1]:+.1f}); other conclusions: {'; '.join(other) or 'none'}."
        )
    return "\n\n".join(told)


# The picture ---------------------------------------------------------------------------------

COLOURS = {NAIVE: "#0072B2", LOGISTIC: "#D55E00", OWN: "#AAAAAA"}


def picture(all_found: dict[Study, Comparison], path: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    across = 4
    kinds = list(dict.fromkeys(study.kind for study in all_found))
    by_kind = {kind: [(s, f) for s, f in all_found.items() if s.kind == kind] for kind in kinds}
    deep = {kind: -(-len(some) // across) for kind, some in by_kind.items()}
    figure = plt.figure(figsize=(10.5, 2.1 * sum(deep.values()) + 1.4), layout="constrained")
    sections = figure.subfigures(len(kinds), 1, height_ratios=[deep[kind] for kind in kinds])
    for section, kind in zip(sections, kinds, strict=True):
        section.suptitle(kind, fontsize=11, x=0.01, ha="left", fontweight="bold")
        axes = np.atleast_2d(section.subplots(deep[kind], across)).ravel()
        for ax, (study, found) in zip(axes, by_kind[kind], strict=False):
            shown = found.only(*(name for name in COLOURS if name in found.models))
            shown.plot(ax, labels=False, colours=COLOURS)
            ax.set_title(study.name, fontsize=9, pad=3)
            ax.set_xlabel("")
            ax.set_ylabel("")
            ax.tick_params(labelsize=8)
            ax.yaxis.set_major_locator(MaxNLocator(4))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda error, _: f"{100 * error:g} %"))
            pair = found.mean[[found.names.index(NAIVE), found.names.index(LOGISTIC)]]
            room = 0.08 * np.nanmax(pair)
            ax.set_ylim(max(0.0, np.nanmin(found.mean) - room), np.nanmax(pair) + room)
        for ax in axes[len(by_kind[kind]) :]:
            ax.set_visible(False)
    curves = {label: handle for ax in figure.axes
              for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}  # fmt: skip
    figure.legend(
        curves.values(), curves.keys(), loc="outside upper center", ncols=3, frameon=False,
        fontsize=10, title="Error on held-out rows against training rows",
    )  # fmt: skip
    (ROOT / path).parent.mkdir(exist_ok=True)
    figure.savefig(ROOT / path, dpi=100, pil_kwargs={"optimize": True})


def main() -> None:
    options = options_of(__doc__)
    repeats = 10 if options.quick else 200
    start = time.perf_counter()
    groups = {
        ("ng_jordan_bundled", OWN_PICTURE): [*BUNDLED_SETS, *SIMULATED_SETS],
        ("ng_jordan", PICTURE): studies() if DATA.is_dir() else [],
    }
    with ProcessPoolExecutor(verosim.threads()) as pool:
        for (mark, path), todo in groups.items():
            if not todo:
                print(f"The folder {DATA} has no sets of the paper. VEROSIM_DATA names the folder.")
                continue
            print("\n".join(HEADER))
            futures = {study: pool.submit(measured, study, repeats) for study in todo}
            all_found: dict[Study, Comparison] = {}
            for study, future in futures.items():
                all_found[study] = future.result()
                print(line(study, all_found[study]), flush=True)
            text = "\n\n".join(page(all_found))
            print(text)
            if not options.quick:
                picture(all_found, path)
                keep(PAGE, mark, text)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
