"""How well `auto(simple=True)` chooses: what it picks on one half of the rows, scored on the other.

python -m benchmarks.choice            prints the tables and writes them to
                                       docs/benchmarks/quality.md
python -m benchmarks.choice --quick    two splits and fewer rows; the page does not change

Every set with classes that is not text: `auto` sees one half of the rows. Every candidate is fitted
on that half and scored on the other half, for several splits.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline

import verosim
from benchmarks.measure import options_of
from benchmarks.pages import DATA, ROOT, keep
from benchmarks.tables import pipelines, read
from verosim.data.labels import positions

CODE = "data kinds kernels stats densities bayes models estimators folds pool"

# Identifiers, and columns from which the target was computed.
NOT_FEATURES = {"zoo": "animal", "boston": "medv", "smarket": "Today"}
TOO_WIDE = {"mnist"}  # 784 columns: ten covariances, ten folds, eleven models, five splits
MOST = 20_000  # rows; of larger sets a random sample
PAGE = "docs/benchmarks/quality.md"
LEAST = np.finfo(float).eps
RULE = (
    "random halves of each set, stratified by class. `auto(simple=True)` sees one half. "
    "Every candidate is fitted on that half and scored on the other half. The best candidate has "
    "the smallest mean "
    "log-loss on the other halves, which is only known afterwards. Its standard error is sd/√n "
    "over the rows of one half (mean over the splits, which share rows). The picks are within one "
    "standard error if their mean log-loss exceeds that of the best candidate by no more than it. "
    "Posteriors are clipped as in scikit-learn's `log_loss`. Adult and covtype are samples of "
    "20,000 rows. MNIST is left out because of its size."
)
NOTE = (
    "LDA and GaussianNB are those of verosim where all columns are numbers. Figures in *italics* "
    "are those of scikit-learn, with medians for missing values and one column per category."
)


@dataclass
class Found:
    """What was measured on one set. Arrays have one number per split."""

    name: str
    rows: int
    columns: int
    splits: int
    picks: list[str] = field(default_factory=list)
    loss: dict[str, np.ndarray] = field(default_factory=dict)  # by candidate, nan if not tried
    error: dict[str, np.ndarray] = field(default_factory=dict)  # its standard error
    right: dict[str, np.ndarray] = field(default_factory=dict)
    peers: dict[str, np.ndarray] = field(default_factory=dict)  # log-loss by peer

    def add(self, name: str, split: int, losses: np.ndarray, right: np.ndarray) -> None:
        error = losses.std(ddof=1) / np.sqrt(len(losses))
        for table, value in (
            (self.loss, losses.mean()), (self.error, error), (self.right, right.mean()),
        ):  # fmt: skip
            table.setdefault(name, np.full(self.splits, np.nan))[split] = value

    def of_picks(self, table: dict[str, np.ndarray]) -> np.ndarray:
        return np.array([table[pick][split] for split, pick in enumerate(self.picks)])

    @property
    def means(self) -> dict[str, float]:
        """Mean log-loss of the candidates that were tried in all splits."""
        return {name: float(found.mean()) for name, found in self.loss.items()
                if not np.isnan(found).any()}  # fmt: skip

    @property
    def best(self) -> str:
        return min(self.means, key=self.means.__getitem__)

    @property
    def behind(self) -> float:
        """Log-loss of the picks minus that of the best candidate, in its standard errors."""
        gap = self.of_picks(self.loss).mean() - self.means[self.best]
        return float(gap / self.error[self.best].mean())

    @property
    def single_picks_within(self) -> float:
        """Share of splits in which the pick is within one standard error of the best."""
        names = list(self.loss)
        loss, error = (np.array([t[n] for n in names]) for t in (self.loss, self.error))
        first = np.nanargmin(loss, axis=0), np.arange(self.splits)
        return float((self.of_picks(self.loss) <= loss[first] + error[first]).mean())

    def always(self, kind: str) -> float | None:
        """Mean log-loss of LDA or GaussianNB, if it can read the columns."""
        found = (mean for name, mean in self.means.items() if name.startswith(f"{kind}("))
        return next(found, None)


def sets(most: int) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Tables with their targets. Text columns with more than two values are categories."""
    for path in sorted(DATA.glob("*/*.schema.json")):
        name, told = path.parent.name, json.loads(path.read_text())
        target, kinds = told["target"], told["kinds"]
        if "text" in kinds.values() or name in TOO_WIDE:
            continue
        frame = read(name).drop(columns=NOT_FEATURES.get(name, []))
        if len(frame) > most:
            frame = frame.sample(most, random_state=0)
        for column in frame.columns.drop(target):
            if kinds[column] == "nominal" and frame[column].nunique() > 2:
                frame[column] = frame[column].astype("category")
        yield name, frame, target


def judged(model: Any, rows: Any, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) −log p of the true class, and whether it was predicted."""
    proba = model.predict_proba(rows)
    own = positions(labels, np.asarray(model.classes_))
    told = np.where(own < 0, 0.0, proba[np.arange(len(own)), own])
    return -np.log(np.clip(told, LEAST, 1 - LEAST)), proba.argmax(axis=1) == own


def measured(name: str, frame: pd.DataFrame, target: str, splits: int) -> Found:
    found = Found(name, len(frame), frame.shape[1] - 1, splits)
    halves = StratifiedShuffleSplit(splits, train_size=0.5, random_state=0)
    for split, (known, new) in enumerate(halves.split(frame, frame[target])):
        train, test = frame.iloc[known], frame.iloc[new]
        rows, labels = test.drop(columns=target), test[target].to_numpy()
        table = verosim.auto(train, target, simple=True).table
        found.picks.append(table[0].name)
        schema = verosim.look(train, target)  # models of numbers need nothing else
        for candidate in table.rows:
            if not candidate.why:
                known_by = None if isinstance(candidate.model, verosim.NaiveBayes) else schema
                model = clone(candidate.model).fit(train, target, schema=known_by)
                found.add(candidate.name, split, *judged(model, rows, labels))
        for peer, model in peers(train, target).items():
            losses = judged(model, as_numbers(rows), labels)[0]
            found.peers.setdefault(peer, np.empty(splits))[split] = losses.mean()
    return found


def as_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """True and false as 1 and 0, because scikit-learn's imputers need numbers."""
    flags = frame.select_dtypes(bool).columns
    return frame.astype(dict.fromkeys(flags, int))


def peers(train: pd.DataFrame, target: str) -> dict[str, Any]:
    """scikit-learn's LDA and GaussianNB: medians for missing numbers, one column per category."""
    train = as_numbers(train)
    naive = pipelines(train, target)["GaussianNB, one-hot"]
    linear = make_pipeline(clone(naive[0]), LinearDiscriminantAnalysis())
    X, y = train.drop(columns=target), train[target]
    return {"LDA": linear.fit(X, y), "GaussianNB": naive.fit(X, y)}


def listing(found: Found) -> str:
    picks = Counter(found.picks).most_common()
    often = f"`{short(picks[0][0])}`" + (f" {picks[0][1]}/{found.splits}" if len(picks) > 1 else "")
    best, error = found.means[found.best], found.error[found.best].mean()
    alone = [
        f"*{losses.mean():.4f}*" if (loss := found.always(kind)) is None else f"{loss:.4f}"
        for kind, losses in found.peers.items()
    ]
    cells = [
        found.name, f"{found.rows:,}", str(found.columns), str(len(found.means)),
        f"`{short(found.best)}`", f"{best:.4f} ± {error:.4f}", often,
        f"{found.of_picks(found.loss).mean():.4f}",
        f"{found.behind:.2f}" if found.behind <= 1 else f"**{found.behind:.2f}**",
        f"{100 * found.of_picks(found.right).mean():.1f} %",
        *alone,
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def short(name: str) -> str:
    return name.replace("missing='marginalise'", "").replace("(, ", "(").replace("columns=", "")


def against(pairs: list[tuple[float, float]], what: str) -> str:
    """Log-loss of the picks and of one fixed model, by set."""
    gain = np.array([fixed - picked for picked, fixed in pairs])
    wins, losses = int((gain > 1e-9).sum()), int((gain < -1e-9).sum())
    return (
        f"| {what} | {len(gain)} | {np.mean([p for p, _ in pairs]):.3f} | "
        f"{np.mean([f for _, f in pairs]):.3f} | {gain.mean():+.3f} | {np.median(gain):+.3f} | "
        f"{wins} / {len(gain) - wins - losses} / {losses} |"
    )


def comparison(all_found: list[Found]) -> list[str]:
    lines = ["| fixed model | sets | `auto(simple=True)`, mean log-loss "
             "| fixed model, mean log-loss | gain, mean | gain, median | better / same / worse |",
             "|" + "---|" * 7]  # fmt: skip
    for kind in ("LDA", "GaussianNB"):
        pairs = [
            (float(f.of_picks(f.loss).mean()), alone)
            for f in all_found
            if (alone := f.always(kind)) is not None
        ]
        lines.append(against(pairs, f"`{kind}()`, sets of numbers"))
    for kind in ("LDA", "GaussianNB"):
        pairs = [(float(f.of_picks(f.loss).mean()), float(f.peers[kind].mean())) for f in all_found]
        lines.append(against(pairs, f"scikit-learn's {kind}, one-hot, all sets"))
    return lines


def summary(all_found: list[Found]) -> str:
    several = [f for f in all_found if len(f.means) > 1]
    many = [f for f in all_found if f.always("LDA") is not None]
    sizes = [len(f.means) for f in many]
    shares = []
    for some, which in (
        (all_found, "sets"), (several, "with more than one candidate"),
        (many, f"of numbers, which have {min(sizes)} to {max(sizes)}"),
    ):  # fmt: skip
        within = sum(f.behind <= 1 for f in some)
        shares.append(f"{within} of the {len(some)} {which} ({100 * within / len(some):.0f} %)")
    single = 100 * np.mean([f.single_picks_within for f in several])
    return (
        f"Within one standard error of the best candidate: {', '.join(shares)}. Where there is "
        f"more than one candidate, {single:.0f} % of the single picks are within one standard "
        "error of the best candidate of the same half, which is a stricter test."
    )


def main() -> None:
    options = options_of(__doc__)
    splits, most = (2, 2_000) if options.quick else (options.repeats, MOST)
    head = "| set | rows | columns | candidates | best | its log-loss ± se | picked | "
    head += "log-loss of the picks | behind the best, in se | accuracy of the picks | "
    head += "LDA | GaussianNB |"
    lines = [head, "|" + "---|" * (head.count("|") - 1)]
    print("\n".join(lines))
    all_found = []
    for name, frame, target in sets(most):
        all_found.append(measured(name, frame, target, splits))
        lines.append(listing(all_found[-1]))
        print(lines[-1], flush=True)
    if not all_found:
        raise SystemExit(f"No data sets in {DATA}: VEROSIM_DATA names their folder.")
    above = [f"{splits} {RULE}", summary(all_found), "\n".join(comparison(all_found)), NOTE]
    print("\n\n".join(above))
    text = "\n\n".join([*above, "\n".join(lines)])
    page = ROOT / PAGE
    if not options.quick and page.exists() and "<!-- choice -->" in page.read_text():
        keep(PAGE, "choice", text)


if __name__ == "__main__":
    main()
