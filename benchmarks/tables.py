"""NaiveBayes on whole tables, against three scikit-learn pipelines for each.

python -m benchmarks.tables    prints the tables and writes them to docs/benchmarks/quality.md

Ten stratified folds, the same for all. The pipelines are those that a user would write: impute,
encode, then the naive Bayes for the encoded columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

import verosim
from benchmarks.measure import Row
from benchmarks.pages import DATA, keep

CODE = "data kinds kernels stats densities bayes models estimators folds validate"
OURS = "NaiveBayes", "NaiveBayes, calibrated by columns"
SETS = {
    "adult": "income", "german_credit": "class", "mushroom": "class", "votes": "Class",
    "penguins": "species", "sick": "Class", "car": "class", "nursery": "class",
}  # fmt: skip
# Tables that were not used to choose how NaiveBayes decides between Gaussian and histogram.
UNTOUCHED = {
    "titanic": "survived", "islr_default": "default", "pima": "class", "breast_w": "Class",
    "lymphography": "class", "wine": "class", "ionosphere": "class", "liver_bupa": "selector",
}  # fmt: skip
FOLDS = 10


def path_of(name: str) -> Path:
    return next(p for p in (DATA / name).iterdir() if p.suffix in (".csv", ".parquet"))


def read(name: str) -> pd.DataFrame:
    path = path_of(name)
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
    else:
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    return frame.drop(columns=[c for c in ("split",) if c in frame])


def pipelines(frame: pd.DataFrame, target: str) -> dict[str, object]:
    """Three pipelines that a user of scikit-learn would write."""
    X = frame.drop(columns=target)
    numbers = [c for c in X if pd.api.types.is_numeric_dtype(X[c]) and X[c].notna().any()]
    words = [c for c in X if not pd.api.types.is_numeric_dtype(X[c])]
    frequent = SimpleImputer(strategy="most_frequent", missing_values=np.nan)
    median = SimpleImputer(strategy="median")
    kinds = [X[c].nunique() + 1 for c in words]  # one more, for values without training rows

    def bins(encode: str) -> object:
        return make_pipeline(
            median, KBinsDiscretizer(10, encode=encode, strategy="quantile",
                                     quantile_method="averaged_inverted_cdf"))  # fmt: skip

    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    ordinal = [
        (make_pipeline(frequent, OrdinalEncoder(handle_unknown="use_encoded_value",
                                                unknown_value=kind - 1)), [c])
        for c, kind in zip(words, kinds, strict=True)
    ]  # fmt: skip
    return {
        "GaussianNB, one-hot": make_pipeline(
            make_column_transformer((median, numbers), (make_pipeline(frequent, one_hot), words)),
            GaussianNB(),
        ),
        "CategoricalNB, 10 bins": make_pipeline(
            make_column_transformer((bins("ordinal"), numbers), *ordinal),
            CategoricalNB(min_categories=[10] * len(numbers) + kinds),
        ),
        "BernoulliNB, 10 bins, one-hot": make_pipeline(
            make_column_transformer(
                (bins("onehot-dense"), numbers), (make_pipeline(frequent, one_hot), words)
            ),
            BernoulliNB(),
        ),
    }


def adult_rows(n: int) -> list[Row]:
    """Fit on adult, repeated to n rows in memory, against the best pipeline for adult."""
    frame = read("adult")
    large = pd.concat([frame] * (n // len(frame) + 1), ignore_index=True)[:n]
    X, y = large.drop(columns="income"), large["income"]
    peer = pipelines(frame, "income")["CategoricalNB, 10 bins"]
    return [
        Row(f"NaiveBayes fit, adult × {n / 1e6:g}M rows",
            lambda: verosim.NaiveBayes().fit(large, "income"),
            {"scikit-learn pipeline": (lambda: peer.fit(X, y), 5)}, slow=True)
    ]  # fmt: skip


def judged(fit_predict, frame: pd.DataFrame, target: str) -> tuple[float, float]:
    """Accuracy and log-loss on the held-out rows of all folds."""
    y = frame[target].astype(str).to_numpy()
    classes = np.unique(y)
    proba = np.zeros((len(y), len(classes)))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for train, test in folds.split(frame, y):
        found, p = fit_predict(frame.iloc[train], frame.iloc[test])
        proba[np.ix_(test, np.searchsorted(classes, found))] = p
    accuracy = float((classes[proba.argmax(axis=1)] == y).mean())
    clipped = np.clip(proba, 1e-15, 1)
    return accuracy, float(log_loss(y, clipped / clipped.sum(axis=1, keepdims=True)))


def ours(target: str):
    def run(train: pd.DataFrame, test: pd.DataFrame):
        model = verosim.NaiveBayes().fit(train, target)
        return model.classes_.astype(str), model.predict_proba(test)

    return run


def weighted(target: str):
    """Weights of the columns, learnt from the training rows only."""

    def run(train: pd.DataFrame, test: pd.DataFrame):
        model = verosim.calibrate(verosim.NaiveBayes(), train, target, method="columns")
        return model.classes_.astype(str), model.predict_proba(test)

    return run


def peer(pipeline, target: str):
    def run(train: pd.DataFrame, test: pd.DataFrame):
        model = pipeline.fit(train.drop(columns=target), train[target].astype(str))
        return model.classes_, model.predict_proba(test.drop(columns=target))

    return run


def shown(found: dict[str, tuple[float, float]]) -> list[str]:
    """Accuracy / log-loss of each model, with the best values in bold."""
    best = max(a for a, _ in found.values()), min(loss for _, loss in found.values())

    def bold(text: str, yes: bool) -> str:
        return f"**{text}**" if yes else text

    return [
        bold(f"{a:.4f}", a == best[0]) + " / " + bold(f"{loss:.4f}", loss == best[1])
        for a, loss in found.values()
    ]


def as_good(all_found: dict[str, dict[str, tuple[float, float]]]) -> Iterator[str]:
    """The tables where a model is at least as good as each pipeline, by both measures."""
    yield "At least as good as the best of the three pipelines, by accuracy and by log-loss:\n"
    for label in OURS:
        names = []
        for name, found in all_found.items():
            scores = np.round([score for key, score in found.items() if key not in OURS], 4)
            accuracy, loss = np.round(found[label], 4)
            if accuracy >= scores[:, 0].max() and loss <= scores[:, 1].min():
                names.append(name)
        tables = f" ({', '.join(names)})" if names else ""
        yield f"- *{label}* on {len(names)} of {len(all_found)} tables{tables}"


def compare(sets: dict[str, str]) -> list[str]:
    lines: list[str] = []
    all_found = {}
    for name, target in sets.items():
        frame = read(name)
        found = {
            label: judged(model(target), frame, target)
            for label, model in zip(OURS, (ours, weighted), strict=True)
        }
        for label, pipeline in pipelines(frame, target).items():
            found[label] = judged(peer(pipeline, target), frame, target)
        if not lines:
            lines = [f"| table | rows | {' | '.join(found)} |", "|" + "---|" * (len(found) + 2)]
            print("\n".join(lines))
        lines.append(f"| {name} | {len(frame):,} | {' | '.join(shown(found))} |")
        print(lines[-1], flush=True)
        all_found[name] = found
    return [*lines, "", *as_good(all_found)]


def main() -> None:
    warnings.simplefilter("ignore")
    for mark, sets in (("tables", SETS), ("untouched", UNTOUCHED)):
        keep("docs/benchmarks/quality.md", mark, "\n".join(compare(sets)))


if __name__ == "__main__":
    main()
