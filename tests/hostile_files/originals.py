"""Small fitted models of every class that can be saved, on several kinds of data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

import verosim
from verosim.estimators.paired import PairedNaiveBayes
from verosim.pool.text_svm import TextSVM
from verosim.pool.weighted_pairs import WeightedPairs

ROWS = 5  # that are predicted


@dataclass(frozen=True)
class Original:
    """A model file, and the rows that methods of the loaded model are called with."""

    name: str  # of the class
    statistics: bool
    data: bytes
    rows: Any  # without the target
    y: Any  # the labels of the rows
    classes: int
    target: str | None  # the name of the target column if the rows are a table


def _some(rows: Any) -> Any:
    if isinstance(rows, dict):
        return {name: values[:ROWS] for name, values in rows.items()}
    return rows[:ROWS]


@cache
def originals() -> list[Original]:
    """Files with and without sums."""
    out = []
    for model, rows, y in _fitted():
        some, labels = _some(rows), np.asarray(y)[:ROWS]
        target = "y" if isinstance(rows, dict) else None
        for statistics in (True, False):
            data = verosim.dumps(model, notes={"a": 1}, statistics=statistics)
            name, classes = type(model).__name__, len(set(np.asarray(y).tolist()))
            out.append(Original(name, statistics, data, some, labels, classes, target))
    return out


def models() -> list[tuple[bytes, Any]]:
    """The files of fitted classifiers, and rows to predict."""
    found = [one for one in originals() if one.name != "Whiten"]
    return [(one.data, one.rows) for one in found[2:]]  # the first one is not fitted


def _fitted() -> list[tuple[Any, Any, Any]]:
    """Each model with the rows and the labels that it was fitted on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(_models())


def _models() -> Iterator[tuple[Any, Any, Any]]:
    rng = np.random.default_rng(0)
    n = 40
    two = np.array(["no", "yes"])[np.arange(n) % 2]
    three = np.arange(n) % 3
    X = rng.normal(size=(n, 2)) + (np.arange(n) % 2)[:, None]
    missing = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    counts = rng.poisson(1.0 + 2 * (np.arange(n) % 2)[:, None], size=(n, 3))
    weights = rng.uniform(0.5, 2.0, n)
    cells = {
        "age": X[:, 0].round(2).tolist(), "hue": rng.choice(["red", "blue", "green"], n).tolist(),
    }  # fmt: skip
    texts = [" ".join(rng.choice(["win", "cash", "call"], 3)) for _ in range(n)]
    days = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(n)]
    table = {**cells, "text": texts, "day": days, "visits": counts[:, 0].tolist()}
    gaps = {
        "age": [None if i % 7 == 3 else v for i, v in enumerate(cells["age"])],
        "hue": [None if i % 9 == 4 else v for i, v in enumerate(cells["hue"])],
    }
    v = verosim

    def of(model: Any, rows: Any = X, y: Any = two, **more: Any) -> tuple[Any, Any, Any]:
        if isinstance(rows, dict):
            model.fit({**rows, "y": np.asarray(y).tolist()}, "y", **more)
        else:
            model.fit(rows, y, **more)
        return model, rows, y

    def streamed(model: Any, rows: Any, y: Any = two) -> tuple[Any, Any, Any]:
        """A model with a class that has no rows, and another one whose rows were forgotten."""
        classes = [*np.unique(y), *(["other", "gone"] if y is two else [7, 8])]
        gone = np.full(ROWS, classes[-1])
        if isinstance(rows, dict):
            model.partial_fit({**rows, "y": np.asarray(y).tolist()}, "y", classes=classes)
            model.partial_fit({**_some(rows), "y": gone.tolist()}, "y")
            model.forget({**_some(rows), "y": gone.tolist()}, "y")
        else:
            model.partial_fit(rows, y, classes=classes)
            model.partial_fit(_some(rows), gone).forget(_some(rows), gone)
        return model, rows, y

    yield v.GaussianNB(), X, two
    yield streamed(v.GaussianNB(), X)
    yield streamed(v.LDA(), X, three)
    yield streamed(v.QDA(missing="marginalise", shrinkage=0.1), missing)
    yield streamed(v.NaiveBayes(columns={"visits": "poisson"}), table)
    yield streamed(v.NaiveBayes(alpha=0.0), table, three)
    yield streamed(v.AODE(bins=3, columns={"age": "category", "hue": "category"}), cells)
    yield streamed(v.CategoricalNB(), (X > 0).astype(int))
    yield streamed(v.BernoulliNB(alpha=0.0), X, three)
    yield streamed(v.MultinomialNB(), counts)
    yield streamed(v.TextNB(), texts, three)
    yield streamed(v.TextNB(alpha=0.0), texts)
    yield streamed(v.LeastSquares(), X)
    yield streamed(v.LiftedLDA(n_features=8), cells)
    yield of(v.GaussianNB())
    yield of(v.GaussianNB(), missing, three, sample_weight=weights)
    yield of(v.GaussianNB(robust=True))
    yield of(v.NaiveLDA(), cells | {"hue": cells["age"][::-1]}, three)
    yield of(v.LDA())
    yield of(v.LDA(shrinkage="oas"), X, three > 0)
    yield of(v.LDA(missing="marginalise"), missing, three)
    yield of(v.LDA(encode="onehot"), cells)
    yield of(v.QDA(), X, three)
    yield of(v.QDA(missing="marginalise"), missing)
    yield of(v.QDA(shrinkage="ledoit_wolf", encode="normal"), cells)
    yield of(v.RDA(pooling="cv", shrinkage="cv"))
    yield of(v.GaussianNB(shrinkage="cv"), X, three)
    yield of(v.MDA(components=2, restarts=1))
    yield of(v.MDA(components=1, covariance="own"), cells | {"hue": cells["age"][::-1]})
    yield of(v.NaiveBayes(), table)
    yield of(v.NaiveBayes(columns={"visits": "poisson"}, never=0.01), table, three)
    yield of(v.NaiveBayes(covariance="unbiased", missing="category"), gaps)
    yield of(v.NaiveBayes(alpha=0.0, max_categories=2), cells)
    yield of(PairedNaiveBayes(pairs=3), gaps | {"hat": cells["hue"][::-1]})
    yield of(v.AODE(bins=3), gaps)
    yield of(v.KDB(k=1, bins=3), table | {"text": cells["hue"][::-1]}, three)
    yield of(v.KDB(k=2, bins=3, smoothing="laplace"), cells)
    yield of(v.TAN(bins=3), cells)
    yield of(v.TAN(columns="gaussian"), gaps, three)
    yield of(v.LiftedLDA(n_features=8), cells)
    yield of(v.HistogramNB(bins=3))
    yield of(v.HistogramNB(bins=[[-9.0, 0.0, 9.0]] * 2, alpha=0.0), missing, three)
    yield of(v.JointHistogram(bins=3))
    yield of(v.CategoricalNB(alpha="cv"), (X > 0).astype(int), three)
    yield of(v.BernoulliNB())
    yield of(v.BernoulliNB(alpha=0.0), sparse.csr_array(counts), three)
    yield of(v.MultinomialNB(), counts)
    yield of(v.MultinomialNB(alpha=0.0), sparse.csr_array(counts), three)
    yield of(v.ComplementNB(norm=True), counts)
    yield of(v.TextNB(), texts)
    yield of(v.TextNB(hashed=16, model="bernoulli"), texts, three)
    yield of(v.TextNB(model="contrast", weighting="l2", analyzer="char_wb", ngrams=(2, 3)), texts)
    yield of(v.TextNB(model="complement", stop_words="english"), texts)
    yield of(v.TextRidge(penalty="cv"), texts, three)
    yield of(v.TextRidge(), texts)
    yield of(v.TextPool([v.TextNB(), v.TextRidge()], cv=2), texts)
    yield of(v.TextPool([TextSVM(), v.TextNB()], cv=2, keep="all"), texts)
    yield of(v.Pool([v.TAN(bins=3), v.NaiveBayes()], cv=2, keep="all"), cells)
    yield of(v.Pool([WeightedPairs(bins=3), v.LDA(encode="onehot")], cv=2, keep="all"), cells)
    yield of(v.Pool([v.NaiveBayes(), TextSVM()], cv=2, keep="all"), table)
    yield v.auto(gaps | {"y": two.tolist()}, "y").model, gaps, two
    yield of(v.LeastSquares())
    yield of(v.LeastSquares(ridge=0.1), X, three)
    yield of(v.LogisticRegression(C=np.inf), np.vstack([X, X]), np.append(two, two[::-1]))
    yield of(v.LogisticRegression())
    yield of(v.LogisticRegression(solver="sgd", random_state=0), X, three)
    yield of(v.LinearSVM(), X, three)
    yield of(v.Perceptron())
    yield of(v.Perceptron(averaged=True), X, three)
    yield of(v.Perceptron(features="polynomial", random_state=0))
    yield of(v.Perceptron(features="fourier", random_state=0))
    yield of(v.OneVsRest(v.LeastSquares()), X, three)
    yield of(v.OneVsRest(v.GaussianNB()))
    yield of(v.OneVsOne(v.LogisticRegression()), X, three)
    yield of(v.Twin(v.LDA(), C=np.inf))
    yield of(v.Twin(v.QDA()), X, three)
    yield of(v.Twin(v.NaiveBayes()), table)
    yield of(v.Twin(v.TextNB()), texts)
    yield of(v.Calibrated(v.GaussianNB(), cv=2))
    yield of(v.Calibrated(v.GaussianNB(), cv=2, method="isotonic"), X, three)
    yield of(v.Calibrated(v.NaiveBayes(), cv=2, method="columns"), cells)
    yield of(v.Calibrated(v.NaiveBayes(), cv=2, method="pairs", pairs=2), cells)
    yield of(v.Calibrated(v.TextNB(), cv=2, method="length"), texts)
    yield of(v.Conformal(v.GaussianNB()))
    yield of(v.Conformal(v.NaiveBayes(), method="cross", cv=3, by_class=True), cells)
    yield of(v.Reject(v.GaussianNB(), confidence=0.6), X, three)
    yield of(v.Reject(v.NaiveBayes(), cv=2), gaps)
    yield of(v.Reject(v.Conformal(v.LDA())))
    some = np.where(rng.random(n) < 0.5, -1, three)
    yield of(v.SemiSupervised(v.GaussianNB()), X, some)
    whiten = v.Whiten().fit(X, two)
    yield whiten, X, two
    yield v.Whiten(of="total", method="pca").fit(X), X, two
