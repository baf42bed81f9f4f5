"""The tables of the quality benchmark, their splits, and the two halves of the list.

The tables are read as they come: columns of text are categories, all other columns are numbers.
Five stratified folds, shuffled with seed 0, are the same for all models. Two large tables have one
split: MNIST has its published one, and covtype has 80 % of its rows for training, with seed 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.pages import DATA
from benchmarks.tables import path_of, read

FOLDS = 5
LARGE = ("adult", "covtype", "mnist")  # more than 15,000 rows
# Identifiers, and columns from which the target was computed.
NOT_FEATURES = {"zoo": "animal", "boston": "medv", "smarket": "Today"}
BUNDLED: dict[str, Callable[..., object]] = {  # with scikit-learn
    "sklearn_breast_cancer": load_breast_cancer, "sklearn_digits": load_digits,
    "sklearn_iris": load_iris, "sklearn_wine": load_wine,
}  # fmt: skip
# Every second name of the sorted list. A table that repeats rows of another one is in its half:
# pima_mass with pima, and three bundled sets with iris_fisher, wine and optdigits.
CHOSEN_ON = (
    "adult", "breast_cancer_ljubljana", "car", "german_credit", "iris_fisher", "lenses",
    "lymphography", "mushroom", "optdigits", "pima", "pima_mass", "sick", "sklearn_digits",
    "sklearn_iris", "sklearn_wine", "sonar", "titanic", "wine",
)  # fmt: skip
CONFIRMED_ON = (
    "boston", "breast_w", "covtype", "ionosphere", "islr_default", "liver_bupa", "mnist",
    "nursery", "penguins", "promoters", "sklearn_breast_cancer", "smarket", "spambase", "votes",
    "zoo",
)  # fmt: skip
NAMES = tuple(sorted(CHOSEN_ON + CONFIRMED_ON))
SMALL = tuple(name for name in NAMES if name not in LARGE)
CURVE = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 464_809)  # the last one is all rows
AT = "@"  # covtype@1000 is covtype with 1,000 training rows

Split = tuple[np.ndarray, np.ndarray]  # positions of training and of test rows


@dataclass(frozen=True)
class Table:
    """Columns and labels, and the splits into training and test rows."""

    name: str
    X: pd.DataFrame  # (n, d)
    y: np.ndarray  # (n,) labels as text
    splits: tuple[Split, ...]

    @property
    def classes(self) -> np.ndarray:
        return np.unique(self.y)


def folds(y: np.ndarray, seed: int = 0) -> tuple[Split, ...]:
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return tuple(parts.split(np.zeros(len(y)), y))


def one_split(y: np.ndarray, rows: int | None = None) -> tuple[Split, ...]:
    """80 % of the rows for training, in random order, or the first `rows` of them."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y)
    return ((train[:rows], test),)


def number_of_splits(name: str) -> int:
    """Known without reading the table."""
    return 1 if name == "mnist" or name.split(AT)[0] == "covtype" else FOLDS


def table(name: str) -> Table:
    """Read a table and its splits, for example "car", "sklearn_iris" or "covtype@1000"."""
    base, _, rows = name.partition(AT)
    if base in BUNDLED:
        X, labels = BUNDLED[base](return_X_y=True, as_frame=True)
        y = labels.to_numpy().astype(str)
        return Table(name, X, y, folds(y))
    target = json.loads((DATA / base / f"{base}.schema.json").read_text())["target"]
    frame = read(base).drop(columns=NOT_FEATURES.get(base, []))
    X, y = frame.drop(columns=target), frame[target].astype(str).to_numpy()
    if base == "mnist":
        part = pd.read_parquet(path_of(base), columns=["split"])["split"].to_numpy()
        return Table(
            name, X, y, ((np.flatnonzero(part == "train"), np.flatnonzero(part != "train")),)
        )
    if base == "covtype" or rows:
        return Table(name, X, y, one_split(y, int(rows) if rows else None))
    return Table(name, X, y, folds(y))
