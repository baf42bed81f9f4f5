"""Small tasks that call all compiled loops, so that numba keeps their code on disk.

Each task is independent of the others, so several processes can share them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import verosim

N = 60  # rows of each small table
COLUMNS_OF_SPARSE_ROWS = 3_000  # more than linear models solve for together


def small_numbers() -> tuple[np.ndarray, np.ndarray]:
    """Rows of three classes in four columns."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    return rng.normal(size=(N, 4)) + y[:, None], y


def small_table() -> dict[str, list[Any]]:
    """A table with numbers, categories, dates, texts, missing cells and two classes."""
    rng = np.random.default_rng(0)
    return {
        "amount": [None if i % 9 == 4 else round(rng.normal(), 2) for i in range(N)],
        "count": [int(v) for v in rng.integers(0, 40, N)],
        "colour": [None if i % 11 == 3 else ("red", "blue", "green")[i * i % 3] for i in range(N)],
        "day": [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(N)],
        "note": small_texts(),
        "class": ["yes" if i % 2 else "no" for i in range(N)],
    }  # fmt: skip


def small_texts() -> list[str]:
    """Short texts of two kinds, with letters outside ASCII."""
    kinds = ("sun and sea, a good día {} again", "rain in the street: bad news {} today")
    return [kinds[i % 2].format(f"word{i % 7} Ä{i % 5}") for i in range(N)]


def small_labels() -> list[str]:
    """The labels of the texts."""
    return ["good" if i % 2 == 0 else "bad" for i in range(N)]


def gaussians() -> None:
    """Models of numbers, from arrays of both types and orders."""
    X, y = small_numbers()
    for make in (verosim.LDA, verosim.QDA, verosim.RDA, verosim.GaussianNB, verosim.NaiveLDA):
        for rows, classes in ((X, y), (np.asfortranarray(X), y.astype(str)), (X.astype("f4"), y)):
            model = make().fit(rows, classes)
            model.predict(rows)
            model.predict_proba(rows)
        model.partial_fit(X[:9], y[:9]).forget(X[:9], y[:9])
        make().fit(X, y, sample_weight=np.ones(N)).sample(3, random_state=0)


def validations() -> None:
    """Held-out scores of models of numbers."""
    X, y = small_numbers()
    for make in (verosim.LDA, verosim.QDA, verosim.GaussianNB):
        verosim.cross_validate(make(), X, y, cv=3)
        verosim.cross_validate(make(), X, y, cv="loo")
    verosim.search(verosim.LDA(), X, y, {"shrinkage": [0.1, 0.5]}, cv=3)


def counts() -> None:
    """Models of categories and counts, from dense and sparse rows."""
    from scipy.sparse import csr_matrix

    X, y = small_numbers()
    whole = np.abs(X * 2).astype(int)
    for rows in (whole, whole.astype(float)):
        verosim.CategoricalNB().fit(rows, y).predict_proba(rows)
    verosim.HistogramNB().fit(X, y).predict_proba(X)
    for make in (verosim.BernoulliNB, verosim.MultinomialNB, verosim.ComplementNB):
        for rows in (
            whole,
            whole.astype(float),
            csr_matrix(whole),
            csr_matrix(whole.astype(float)),
        ):
            make().fit(rows, y).predict_proba(rows)
    mixed = csr_matrix(whole)[:, ::-1]  # stored cells that are not in order
    verosim.MultinomialNB().fit(mixed, y).predict(mixed)


def mixed_tables() -> None:
    """Tables with columns of all kinds."""
    rows = small_table()
    model = verosim.NaiveBayes().fit(rows, "class")
    model.predict_proba(rows)
    model.forget({name: cells[:5] for name, cells in rows.items()}, "class")
    verosim.cross_validate(verosim.NaiveBayes(), rows, "class", cv=3)
    verosim.explain(model, {name: cells[:3] for name, cells in rows.items()})


def text_models() -> None:
    """Models of texts, by words and by letters."""
    for settings in ({}, {"ngrams": (1, 2)}, {"analyzer": "char_wb"}):
        model = verosim.TextNB(**settings).fit(small_texts(), small_labels())
        model.predict_proba(small_texts())
        model.partial_fit(small_texts(), small_labels())
    verosim.TextNB(stop_words=["the", "and"]).fit(small_texts(), small_labels())
    verosim.cross_validate(verosim.TextNB(), small_texts(), small_labels(), cv=3)


def text_pools() -> None:
    """The pool for texts and its ridge."""
    verosim.TextRidge().fit(small_texts(), small_labels()).predict_proba(small_texts())
    verosim.TextPool().fit(small_texts(), small_labels()).predict_proba(small_texts())


def sparse_rows() -> None:
    """Models of numbers and linear models, from sparse rows: a few columns, and very many."""
    from scipy.sparse import csr_matrix

    X, y = small_numbers()
    few = csr_matrix(np.where(X > 0, X, 0.0))
    wide = np.zeros((N, COLUMNS_OF_SPARSE_ROWS))
    wide[:, :4] = X
    wide[np.arange(N), 4 + 7 * np.arange(N) % (COLUMNS_OF_SPARSE_ROWS - 4)] = 1.0
    verosim.GaussianNB().fit(few, y).predict_proba(few)
    gradient = verosim.LogisticRegression(solver="sgd")
    for rows in (few, csr_matrix(wide)):
        for model in (
            gradient, verosim.LogisticRegression(), verosim.LinearSVM(), verosim.Perceptron(),
        ):  # fmt: skip
            model.fit(rows, y).predict(rows)
            model.fit(rows[y < 2], y[y < 2]).predict(rows)


def dependence() -> None:
    """Models of dependent columns."""
    rows = {name: cells for name, cells in small_table().items() if name != "note"}
    for k in range(4):  # exclusive columns of 0 and 1
        rows[f"flag {k}"] = [int(i % 4 == k) for i in range(N)]
    for make in (verosim.TAN, verosim.KDB, verosim.AODE):
        make().fit(rows, "class").predict_proba(rows)
    verosim.TAN(bins="mdl").fit(rows, "class")


def pools() -> None:
    """`auto` on numbers and on a table, with all experts and with one."""
    X, y = small_numbers()
    rows = {name: cells for name, cells in small_table().items() if name != "note"}
    for simple in (False, True):
        verosim.auto(X, y, simple=simple)[0].predict_proba(X)
        verosim.auto(rows, "class", simple=simple)[0].predict_proba(rows)


def twins() -> None:
    """Linear models that are fitted step by step."""
    X, y = small_numbers()
    gradient = verosim.LogisticRegression(solver="sgd")
    exact = (verosim.LogisticRegression(), verosim.LinearSVM(), verosim.LeastSquares())
    for model in (gradient, *exact, verosim.Perceptron()):
        model.fit(X, y).predict(X)
        model.fit(X[y < 2], y[y < 2]).predict(X)


def missing_cells() -> None:
    """Missing cells in models of numbers, mixtures, and rows without labels."""
    X, y = small_numbers()
    with_holes = X.copy()
    with_holes[::7, 1] = np.nan
    for make in (verosim.LDA, verosim.QDA):
        model = make(missing="marginalise").fit(with_holes, y)
        model.predict_proba(with_holes)
        verosim.bic(model)
    verosim.GaussianNB().fit(with_holes, y).predict_proba(with_holes)
    verosim.MDA().fit(X, y).predict_proba(X)
    some = np.where(np.arange(N) % 5 == 0, -1, y)
    verosim.SemiSupervised(verosim.GaussianNB(), unlabelled=-1).fit(X, some).predict_proba(X)


TASKS: tuple[Callable[[], None], ...] = (  # those that take longest come first
    missing_cells, text_pools, pools, text_models, sparse_rows, twins, counts, gaussians,
    validations, mixed_tables, dependence,
)  # fmt: skip


def run(task: int) -> None:
    """Run one task without warnings: its rows are of no interest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        TASKS[task]()
