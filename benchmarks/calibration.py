"""Calibration of posteriors before and after `calibrate`, and the coverage of prediction sets.

python -m benchmarks.calibration            prints the tables and writes them to
                                            docs/benchmarks/quality.md
python -m benchmarks.calibration --quick    fewer rows and splits; the page does not change

Calibration: ten folds; the map of each fold is fitted on the other nine. Coverage: half of the rows
for the model and its scores ("split" holds out half of them), the other half new, several splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import verosim
from benchmarks.measure import options_of
from benchmarks.pages import DATA, keep
from verosim.validate import Reliability
from verosim.validate.calibration import Calibrated, calibrate
from verosim.validate.conformal import conformal
from verosim.validate.reject import reject

CODE = "kernels stats densities bayes models estimators folds validate"
LEVELS = (0.8, 0.9, 0.95)
Set = tuple[str, Any, Any, np.ndarray]  # name, model, rows, labels


def parquet(name: str, rows: int | None) -> pd.DataFrame:
    frame = pd.read_parquet(DATA / name / f"{name}.parquet")
    frame = frame.drop(columns=[c for c in ("split", "id") if c in frame])
    return frame if rows is None else frame.sample(min(rows, len(frame)), random_state=0)


def digits() -> tuple[np.ndarray, np.ndarray]:
    frame = pd.read_csv(DATA / "optdigits" / "optdigits.csv")
    return frame.drop(columns="class").to_numpy(float), frame["class"].to_numpy()


def sets(rows: int | None, most: int) -> Iterator[Set]:
    for name, target in (("adult", "income"), ("covtype", "Cover_Type")):
        frame = parquet(name, rows if name == "adult" else most)
        yield name, verosim.NaiveBayes(), frame.drop(columns=target), frame[target].to_numpy()
    for name, text, target in (("20news_bydate", "text", "group"), ("sms_spam", "text", "label")):
        frame = parquet(name, rows)
        yield name, verosim.TextNB(), frame[text].to_numpy(object), frame[target].to_numpy()


def shown(found: Reliability) -> str:
    return f"{found.error:.3f} / {found.log_loss:.3f}"


def calibrated(rows: int | None, most: int) -> list[str]:
    lines = ["| set | model | rows | uncalibrated | temperature | τ | isotonic | columns |",
             "|" + "---|" * 8]  # fmt: skip
    for name, model, X, y in sets(rows, most):
        warm, steps = (calibrate(model, X, y, method=m) for m in ("temperature", "isotonic"))
        by_columns = "–"
        if isinstance(model, verosim.NaiveBayes):  # a text has one column
            by_columns = shown(calibrate(model, X, y, method="columns").after_)
        lines.append(
            f"| {name} | {type(model).__name__} | {len(y):,} | {shown(warm.before_)} | "
            f"{shown(warm.after_)} | {warm.map_.tau:.3f} | {shown(steps.after_)} | {by_columns} |"
        )
        print(lines[-1], flush=True)
    return lines


def coverage(rows: int | None, most: int, splits: int) -> list[str]:
    lines = ["| set | method | rows per split | " + " | ".join(f"{p:.0%}" for p in LEVELS) + " |",
             "|" + "---|" * (3 + len(LEVELS))]  # fmt: skip
    some = [one for one in sets(rows, most) if one[0] != "sms_spam"]
    some.append(("optdigits", verosim.GaussianNB(floor=0.01), *digits()))
    for name, model, X, y in some:
        ways = {"split": (model, "split"), "cross": (model, "cross")}
        if name == "20news_bydate":
            ways["split, isotonic"] = Calibrated(model, method="isotonic"), "split"
        for way, (wrapped, method) in ways.items():
            found = np.array([covered(wrapped, X, y, method, seed) for seed in range(splits)])
            cells = (f"{100 * share:.1f} % ({size:.2f})" for share, size in found.mean(axis=0))
            half = len(y) // 2
            lines.append(f"| {name} | {way} | {half:,} + {half:,} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return lines


def covered(model: Any, X: Any, y: np.ndarray, method: str, seed: int) -> list[tuple[float, float]]:
    """Share of new rows with their class in the set, and the mean size of a set, by level."""
    order = np.random.default_rng(seed).permutation(len(y))
    known, new = np.split(order, [len(y) // 2])
    rows = X.iloc if isinstance(X, pd.DataFrame) else X
    found = conformal(model, rows[known], y[known], method=method, random_state=seed)
    p = found.p_values(rows[new])
    own = p[np.arange(len(new)), np.searchsorted(found.classes_, y[new])]
    return [
        (float((own > 1 - level + 1e-12).mean()), float((p > 1 - level + 1e-12).sum(axis=1).mean()))
        for level in LEVELS
    ]


def rejected(splits: int) -> list[str]:
    """Rejected shares of a digit without training rows, and of the other digits."""
    X, y = digits()
    lines = [
        "| optdigits, `QDA(shrinkage=0.1)` | known digits rejected | left-out digit rejected |",
        "|---|---|---|",
    ]
    for novelty in (0.01, 0.05):
        known, strange = [], []
        for left_out in range(10):
            for seed in range(splits):
                order = np.random.default_rng(seed).permutation(len(y))
                fit, new = np.split(order, [len(y) * 2 // 3])
                fit = fit[y[fit] != left_out]
                found = reject(verosim.QDA(shrinkage=0.1), X[fit], y[fit], novelty=novelty)
                known.append(found.rejected(X[new][y[new] != left_out]).mean())
                strange.append(found.rejected(X[y == left_out]).mean())
        lines.append(
            f"| novelty={novelty} | {100 * np.mean(known):.1f} % | {100 * np.mean(strange):.0f} % "
            f"({100 * min(strange):.0f} … {100 * max(strange):.0f}) |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    quick = options_of(__doc__).quick
    rows, most = (4_000, 4_000) if quick else (None, 50_000)
    splits = 2 if quick else 10
    tables = {
        "calibrated": calibrated(rows, most),
        "coverage": coverage(rows, min(most, 20_000), splits),
        "rejected": rejected(1 if quick else 3),
    }
    if not quick:
        for mark, lines in tables.items():
            keep("docs/benchmarks/quality.md", mark, "\n".join(lines))


if __name__ == "__main__":
    main()
