"""A user's script, read by mypy and pyright in `test_types.py`, and run there too."""

from pathlib import Path
from typing import assert_type

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold

import verosim
from verosim import (
    LDA,
    LogisticRegression,
    NaiveBayes,
    Pool,
    TextNB,
    auto,
    calibrate,
    compare,
    cross_validate,
    look,
    search,
)
from verosim.pool import Choice
from verosim.twins import Comparison
from verosim.typing import CV, Labels, RandomState, Source, Weights
from verosim.validate import CrossValidation, Search

X, y = load_iris(return_X_y=True)
frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(species=y)

model = LDA(shrinkage="ledoit_wolf", priors="uniform").fit(X, y)
assert_type(model, LDA)
assert_type(model + model, LDA)
probabilities: np.ndarray = model.predict_proba(X)
labels: np.ndarray = model.predict(X)
accuracy: float = model.score(X, y)
drawn, drawn_labels = model.sample(3, random_state=np.random.default_rng(0))

table = NaiveBayes(columns={"a": "histogram"}).fit(frame, "species")
assert_type(table, NaiveBayes)
table.partial_fit(frame.head(10), "species").forget(frame.head(10), "species")
schema: verosim.Schema = look(frame, "species")

text = TextNB().fit(["a cheap offer", "lunch at noon"], ["spam", "ham"])
assert_type(text, TextNB)

found = cross_validate(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
assert_type(found, CrossValidation)
mean: float = found.mean("accuracy")
cross_validate(NaiveBayes(), frame, "species", cv=3, scoring="accuracy")
grid = search(LDA(), X, y, {"shrinkage": [0.0, 0.1, 1.0]})
assert_type(grid, Search)

choice = auto(frame, "species", cv=3)
assert_type(choice, Choice)
pooled = auto(frame, "species", effort="fast", time_limit=60, random_state=1)
assert_type(pooled, Choice)
share: float = pooled.table[0].accuracy
if isinstance(pooled.model, Pool):
    auto(frame, "species", like=pooled.model, groups=np.arange(len(frame)) % 10)
calibrate(LDA(), X, y, cv=3).predict_proba(X)
curves = compare([LDA(), LogisticRegression()], X, y, sizes=[20, 60], repeats=2, random_state=0)
assert_type(curves, Comparison)


def fit_any(
    source: Source,
    target: Labels,
    weight: Weights | None = None,
    folds: CV = 5,
    seed: RandomState = None,
) -> CrossValidation:
    """The named types work for functions of the user too."""
    drawn_from = LDA().fit(source, target, weight)
    drawn_from.sample(2, random_state=seed)
    return cross_validate(drawn_from, source, target, cv=folds, sample_weight=weight)


def never_run(path: Path) -> None:
    """Sources that are only read by the type checkers."""
    NaiveBayes().fit(path, "species")
    NaiveBayes().fit("rows.csv", "species", "weight")
    NaiveBayes().fit({"a": [1, None], "b": ["x", "y"]}, "b")
    NaiveBayes().fit((part for part in [frame, frame]), "species")


fit_any(X, y, None, KFold(3, shuffle=True, random_state=0), 0)
print(f"{accuracy:.2f} {mean:.2f} {share:.2f}")
