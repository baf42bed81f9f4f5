"""Families of tables, texts and histograms, and of models without an oracle.

A model without an oracle must give finite posteriors with the sum 1 and labels that it was given,
or an error of verosim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

import verosim
from tests.fuzz import table_oracles
from tests.fuzz.families import (
    ALL_UPDATES,
    ALPHAS,
    PRIORS,
    Family,
    Settings,
    finish,
    some,
    table_of_numbers,
)
from tests.fuzz.lives import Draw, draw_labels

KINDS = ("gaussian", "category", "boolean", "poisson")
WORDS = ("cat", "dog", "fish", "ñandú", "a1", "long" * 9)


# Histograms ------------------------------------------------------------------------------------


def histogram_settings(rnd: Random) -> Settings:
    """Given edges, so that models can be merged, or bins that the first rows fix."""
    found = some(rnd, priors=PRIORS, alpha=ALPHAS)
    if rnd.random() < 0.5:
        return found | {"bins": np.array([-1.0, 0.0, 0.5, 2.0])}
    return found | {
        "bins": rnd.choice([1, 2, 3, 10]),
        "strategy": rnd.choice(["uniform", "quantile"]),
    }


def edges(model: Any) -> list[list[float]]:
    found = [edge.tolist() for edge in model.bin_edges_]
    for edge in found:
        assert edge == sorted(set(edge)), f"edges {edge}"
    return found


# Tables ----------------------------------------------------------------------------------------


def table(rnd: Random) -> Draw:
    """A table with one to four columns of known kinds."""
    n = rnd.randrange(2, 15)
    labels = draw_labels(rnd, n)
    kinds = [rnd.choice(KINDS) for _ in range(rnd.choice([1, 2, 3, 4]))]
    holes = rnd.random() < 0.3
    columns = [cells_of(rnd, kind, n, holes) for kind in kinds]
    rows = [tuple(column[i] for column in columns) for i in range(n)]
    new = [cells_of(rnd, kind, 3, holes) for kind in kinds]
    probes = [tuple(column[i] for column in new) for i in range(3)] + [rnd.choice(rows)]
    draw = finish(rnd, rows, labels, probes, lambda rows: as_table(rows, kinds))
    draw.kinds = tuple(kinds)
    return draw


def cells_of(rnd: Random, kind: str, n: int, holes: bool) -> list[Any]:
    if kind == "gaussian":
        unit, offset = 10.0 ** rnd.choice([0, 0, 0, -60, 60]), rnd.choice([0.0, 0.0, 1e3, 1e9])
        cells: list[Any] = [(rnd.gauss(0, 1) + offset) * unit for _ in range(n)]
    elif kind == "category":
        cells = [rnd.choice(["red", "green", "blue", "x"]) for _ in range(n)]
    elif kind == "boolean":
        cells = [rnd.random() < 0.5 for _ in range(n)]
    else:
        cells = [rnd.choice([0, 0, 1, 2, 7, 40]) for _ in range(n)]
    return [None if holes and rnd.random() < 0.2 else cell for cell in cells]


def as_table(rows: Sequence[tuple[Any, ...]], kinds: Sequence[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for j, kind in enumerate(kinds):
        cells = [row[j] for row in rows]
        if kind in ("gaussian", "poisson"):
            out[f"{kind}{j}"] = np.array([np.nan if c is None else c for c in cells], dtype=float)
        else:
            out[f"{kind}{j}"] = np.array(cells, dtype=object) if None in cells else np.array(cells)
    return out


def table_settings(rnd: Random, draw: Draw) -> Settings:
    columns = {f"{kind}{j}": kind for j, kind in enumerate(draw.kinds)}
    return {"columns": columns} | some(
        rnd, priors=PRIORS, alpha=ALPHAS, covariance=["mle", "unbiased"], floor=[0.0, 1e-3],
        never=[1e-3],
    )  # fmt: skip


def table_of_words(rnd: Random) -> Draw:
    """A table of category columns."""
    n, d = rnd.randrange(2, 15), rnd.choice([1, 2, 3, 4])
    labels = draw_labels(rnd, n)
    rows = [tuple(rnd.choice(["u", "v", "w"]) for _ in range(d)) for _ in range(n)]
    probes = [tuple(rnd.choice(["u", "v", "w", "z"]) for _ in range(d)) for _ in range(3)]
    probes.append(rnd.choice(rows))
    kinds = ["category"] * d
    draw = finish(rnd, rows, labels, probes, lambda rows: as_table(rows, kinds))
    draw.kinds = tuple(kinds)
    return draw


def dependence_settings(rnd: Random, draw: Draw) -> Settings:
    columns = {f"{kind}{j}": kind for j, kind in enumerate(draw.kinds)}
    return {"columns": columns} | some(rnd, priors=PRIORS)


def context_settings(rnd: Random, draw: Draw) -> Settings:
    return dependence_settings(rnd, draw) | some(
        rnd, smoothing=["backoff", "laplace"], m=[0.5, 2.0, 100.0], alpha=[0.1, 2.0]
    )


def parents(model: Any, d: int) -> list[list[int]]:
    names = [f"category{j}" for j in range(d)]
    return [[names.index(parent) for parent in model.parents_[name]] for name in names]


# Texts -----------------------------------------------------------------------------------------


def table_of_texts(rnd: Random) -> Draw:
    n = rnd.randrange(2, 12)
    labels = draw_labels(rnd, n)

    def text(words: Sequence[str]) -> tuple[str]:
        return (" ".join(rnd.choice(words) for _ in range(rnd.randrange(0, 6))),)

    rows = [text(WORDS[:-1]) for _ in range(n)]
    probes = [text(WORDS) for _ in range(3)] + [rnd.choice(rows)]
    return finish(rnd, rows, labels, probes, lambda rows: [row[0] for row in rows])


# Models without an oracle ----------------------------------------------------------------------


def numbers(rnd: Random) -> Draw:
    return table_of_numbers(rnd, False, False)


def holed(rnd: Random) -> Draw:
    return table_of_numbers(rnd, True, False)


def unweighted(rnd: Random) -> Draw:
    draw = numbers(rnd)
    draw.weighted = False
    for row in draw.rows:
        row.given = 1.0
    return draw


NOTHING: frozenset[str] = frozenset()


def no_oracle(
    make: Callable[..., Any],
    draw: Callable[[Random], Draw] = numbers,
    settings: Callable[[Random], Settings] = lambda rnd: {},
    updates: frozenset[str] = NOTHING,
    share: int = 1,
) -> Family:
    return Family(make, draw, settings, None, updates=updates, share=share)


# The first rows fix the cells of models with dependent columns, so rows are not added later.
FIXED_CELLS = frozenset({"forget", "decay"})

MORE: dict[str, Family] = {
    "HistogramNB": Family(
        verosim.HistogramNB, holed, histogram_settings,
        lambda m, t, s, d: table_oracles.histogram(t, s, edges(m)), share=2,
    ),
    "JointHistogram": Family(
        verosim.JointHistogram, numbers, histogram_settings,
        lambda m, t, s, d: table_oracles.joint_histogram(t, s, edges(m)), share=2,
    ),
    "NaiveBayes": Family(
        verosim.NaiveBayes, table, table_settings,
        lambda m, t, s, d: table_oracles.mixed(t, s, [re_kind(name) for name in s["columns"]]),
        share=2,
    ),
    "TextNB": Family(
        verosim.TextNB, table_of_texts,
        lambda rnd: some(rnd, priors=PRIORS, alpha=ALPHAS, model=["multinomial", "bernoulli"]),
        lambda m, t, s, d: table_oracles.texts(t, s), share=2,
    ),
    "AODE": Family(
        verosim.AODE, table_of_words,
        lambda rnd, draw: dependence_settings(rnd, draw) | some(rnd, weighted=[False, True]),
        lambda m, t, s, d: table_oracles.one_dependence(t, s, d),
        updates=FIXED_CELLS,
        share=2,
    ),
    "TAN": Family(
        verosim.TAN, table_of_words, context_settings,
        lambda m, t, s, d: table_oracles.contexts(t, s, d, parents(m, d)),
        updates=FIXED_CELLS,
        share=2,
    ),
    "KDB": Family(
        verosim.KDB, table_of_words,
        lambda rnd, draw: context_settings(rnd, draw) | {"k": rnd.choice([1, 2])},
        lambda m, t, s, d: table_oracles.contexts(t, s, d, parents(m, d)),
        updates=FIXED_CELLS,
        share=2,
    ),
    "LiftedLDA": no_oracle(
        verosim.LiftedLDA, settings=lambda rnd: {"n_features": 8} | some(rnd, priors=PRIORS),
        updates=ALL_UPDATES,
    ),
    "MDA": no_oracle(
        verosim.MDA,
        settings=lambda rnd: {
            "components": rnd.choice([1, 2]), "covariance": rnd.choice(["shared", "own"]),
            "regularisation": rnd.choice([0.0, 0.1]), "target": "diagonal", "restarts": 1,
            "max_iter": 10,
        },
    ),
    "TextRidge": no_oracle(
        verosim.TextRidge, table_of_texts,
        lambda rnd: {"d": 8, "min_count": 1} | some(rnd, penalty=[0.1, 10.0], ngrams=[(1, 1)]),
        ALL_UPDATES,
    ),
}  # fmt: skip


def re_kind(name: str) -> str:
    return name.rstrip("0123456789")


def gaussians(rnd: Random) -> Any:
    return rnd.choice([verosim.GaussianNB(), verosim.LDA(), verosim.QDA(shrinkage=0.1)])


OTHERS: dict[str, Family] = {
    "marginalise": no_oracle(
        lambda pick, **more: (verosim.LDA, verosim.QDA)[pick](missing="marginalise", **more),
        holed, lambda rnd: {"pick": rnd.randrange(2)} | some(rnd, shrinkage=[0.1]),
        frozenset({"add", "merge", "forget"}),
    ),
    "robust": no_oracle(
        lambda pick: (verosim.LDA, verosim.QDA, verosim.GaussianNB, verosim.NaiveLDA)[pick](
            robust=True
        ),
        settings=lambda rnd: {"pick": rnd.randrange(4)},
    ),
    "estimated shrinkage": no_oracle(
        lambda pick, shrinkage: (verosim.LDA, verosim.QDA, verosim.GaussianNB)[pick](
            shrinkage=shrinkage
        ),
        settings=lambda rnd: {
            "pick": rnd.randrange(3), "shrinkage": rnd.choice(["ledoit_wolf", "oas"])
        },
        updates=ALL_UPDATES,
    ),
    "LeastSquares": no_oracle(
        verosim.LeastSquares, settings=lambda rnd: some(rnd, ridge=[1e-3, 1.0]),
        updates=ALL_UPDATES,
    ),
    "LogisticRegression": no_oracle(
        verosim.LogisticRegression, settings=lambda rnd: some(rnd, C=[0.1, 10.0], max_iter=[20])
    ),
    "Perceptron": no_oracle(
        verosim.Perceptron, unweighted, settings=lambda rnd: {"max_iter": 10}
    ),
    "LinearSVM": no_oracle(verosim.LinearSVM, settings=lambda rnd: {"max_iter": 50}),
    "Calibrated": no_oracle(
        verosim.Calibrated, settings=lambda rnd: {
            "model": gaussians(rnd), "cv": 2, "method": rnd.choice(["temperature", "isotonic"])
        },
    ),
    "Conformal": no_oracle(
        verosim.Conformal, settings=lambda rnd: {"model": gaussians(rnd), "cv": 2}
    ),
    "Reject": no_oracle(
        verosim.Reject,
        settings=lambda rnd: {"model": gaussians(rnd), "cv": 2, "novelty": None},
    ),
    "SemiSupervised": no_oracle(
        verosim.SemiSupervised,
        settings=lambda rnd: {"model": gaussians(rnd), "unlabelled": None, "max_iter": 5},
    ),
    "Twin": no_oracle(
        verosim.Twin, settings=lambda rnd: {"model": verosim.LDA(shrinkage=0.1)},
    ),
    "OneVsRest": no_oracle(
        verosim.OneVsRest, settings=lambda rnd: {"estimator": verosim.LeastSquares()}
    ),
    "Pool": no_oracle(
        verosim.Pool,
        settings=lambda rnd: {"experts": [verosim.GaussianNB(), verosim.LDA(shrinkage=0.1)]},
    ),
}  # fmt: skip
