"""The estimators of the fuzz cases: how their rows are drawn, their settings and their oracle."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import discriminant_analysis, naive_bayes

import verosim
from tests.fuzz import oracles
from tests.fuzz.lives import Draw, Row, draw_labels, draw_weights

ALL_UPDATES = frozenset({"add", "merge", "forget", "decay"})
Settings = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """An estimator, or a class of its settings."""

    make: Callable[..., Any]
    draw: Callable[[Random], Draw]
    settings: Callable[..., Settings]  # of the random numbers, or also of the rows
    oracle: Callable[[Any, oracles.Truth, Settings, int], Any] | None
    updates: frozenset[str] = ALL_UPDATES
    priors: Any = None  # the default priors
    peer: Callable[[Settings], Any] | None = None  # the model of scikit-learn with these settings
    share: int = 8  # how often it is drawn


# Rows of numbers -------------------------------------------------------------------------------

OFFSETS = [0.0, 0.0, 0.0, 3.0, -1e3, 1e6, -1e9, 1e12]
EXPONENTS = [*[0] * 8, -3, -2, 4, 5, -60, 60, -120, 120, -130, 130, -150, 150]


def numbers(rnd: Random, n: int, labels: Sequence[Any]) -> list[float]:
    """A column of numbers: spread, ties, constants, outliers, classes apart or alike."""
    kind = rnd.randrange(9)
    if kind <= 2:
        return [rnd.gauss(0, 1) for _ in range(n)]
    if kind == 3:
        return [float(rnd.randrange(-2, 3)) for _ in range(n)]
    if kind == 4:
        return [float(rnd.randrange(3))] * n
    if kind == 5:  # constant within each class
        return [float(3 * sorted(set(labels)).index(label) % 5) for label in labels]
    if kind == 6:
        far = 10.0 ** rnd.uniform(2, 9)
        return [rnd.gauss(0, 1) + far * (rnd.random() < 0.15) for _ in range(n)]
    apart = rnd.choice([0.5, 3.0, 100.0, 1e6])
    names = sorted(set(labels))
    return [rnd.gauss(0, 1) + apart * (names.index(label) % 3) for label in labels]


def dependent(rnd: Random, columns: list[list[float]]) -> list[float]:
    """A combination of the other columns, exact or with a little noise."""
    first = rnd.choice(columns)
    other = rnd.choice(columns)
    noise = rnd.choice([0.0, 0.0, 1e-9, 1e-6, 1e-3])
    a, b = rnd.choice([(1.0, 0.0), (2.0, 0.0), (1.0, 1.0), (1.0, -0.5)])
    return [a * x + b * y + noise * rnd.gauss(0, 1) for x, y in zip(first, other, strict=True)]


def table_of_numbers(
    rnd: Random, holes: bool, sparse: bool, holes_at_predict: bool = False
) -> Draw:
    n, d = rnd.randrange(2, 15), rnd.choice([1, 1, 2, 2, 3])
    labels = draw_labels(rnd, n)
    columns: list[list[float]] = []
    for _ in range(d):
        chosen = columns and rnd.random() < 0.25
        columns.append(dependent(rnd, columns) if chosen else numbers(rnd, n, labels))
    scaled = []
    shared_unit = rnd.choice(EXPONENTS)
    for cells in columns:
        offset = rnd.choice(OFFSETS)
        unit = 10.0 ** (shared_unit if rnd.random() < 0.7 else rnd.choice(EXPONENTS))
        scaled.append([(x + offset) * unit for x in cells])
    rows = [tuple(column[i] for column in scaled) for i in range(n)]
    holed = holes and rnd.random() < 0.3
    if holed:
        rows = [tuple(None if rnd.random() < 0.2 else x for x in row) for row in rows]
    zeros = sparse and rnd.random() < 0.4
    if zeros:
        rows = [tuple(0.0 if rnd.random() < 0.5 and x is not None else x for x in r) for r in rows]
    probes = number_probes(rnd, rows, holed or holes_at_predict)
    return finish(rnd, rows, labels, probes, as_numbers(rnd, zeros))


def number_probes(rnd: Random, rows: list[tuple[Any, ...]], holes: bool) -> list[tuple[Any, ...]]:
    """Rows to predict: known rows, points between them, and points far away."""
    out = []
    for _ in range(3):
        a, b = rnd.choice(rows), rnd.choice(rows)
        s = rnd.choice([0.0, 0.5, -1.0, 0.3, 30.0])
        out.append(tuple(between(x, y, s) for x, y in zip(a, b, strict=True)))
    out.append(rnd.choice(rows))
    if holes and rnd.random() < 0.5:
        out.append(tuple(None if rnd.random() < 0.4 else x for x in rnd.choice(rows)))
    return out


def between(x: float | None, y: float | None, s: float) -> float | None:
    if x is None or y is None:
        return None
    found = x + s * (y - x)
    return found if math.isfinite(found) else x


def as_numbers(rnd: Random, sparse: bool) -> Callable[[Sequence[tuple[Any, ...]]], Any]:
    form = rnd.randrange(6)

    def wrap(rows: Sequence[tuple[Any, ...]]) -> Any:
        X = np.array([[np.nan if x is None else x for x in row] for row in rows], dtype=float)
        if sparse:
            return [sp.csr_matrix, sp.csc_matrix, sp.csr_array][form % 3](X)
        if form == 1:
            return np.asfortranarray(X)
        if form == 2:
            return X.tolist()
        if form == 3:
            return np.repeat(X, 2, axis=1)[:, ::2]
        return X

    return wrap


def finish(
    rnd: Random, rows: list[tuple[Any, ...]], labels: list[Any], probes: list[tuple[Any, ...]],
    wrap: Callable[..., Any],
) -> Draw:  # fmt: skip
    weights = draw_weights(rnd, len(rows))
    given = [1.0] * len(rows) if weights is None else weights
    made = [Row(cells, label, w) for cells, label, w in zip(rows, labels, given, strict=True)]
    return Draw(made, probes, wrap, weights is not None)


# Rows of categories and counts -----------------------------------------------------------------

VALUES: tuple[tuple[Any, ...], ...] = (
    ("u", "v", "w", "long value"),
    (0, 1, 2, 3),
    (-1, 10, 1000, 7),
    (0.0, 0.5, 1e300, -2.0),
)


def table_of_categories(rnd: Random) -> Draw:
    n, d = rnd.randrange(2, 15), rnd.choice([1, 2, 3])
    labels = draw_labels(rnd, n)
    values = rnd.choice(VALUES)
    most = rnd.randrange(1, len(values) + 1)
    rows = [
        tuple(values[min(rnd.randrange(most), rnd.randrange(4))] for _ in range(d))
        for _ in range(n)
    ]
    missing = isinstance(values[0], float | str) and rnd.random() < 0.25
    if missing:
        rows = [tuple(None if rnd.random() < 0.2 else v for v in row) for row in rows]
    probes = [tuple(rnd.choice(values) for _ in range(d)) for _ in range(3)] + [rnd.choice(rows)]

    def wrap(cells: Sequence[tuple[Any, ...]]) -> Any:
        if isinstance(values[0], str):
            return np.array([list(row) for row in cells], dtype=object)
        return np.array([[np.nan if v is None else v for v in row] for row in cells])

    return finish(rnd, rows, labels, probes, wrap)


def table_of_counts(rnd: Random, negative: bool = False) -> Draw:
    n, d = rnd.randrange(2, 15), rnd.choice([1, 2, 3, 4])
    labels = draw_labels(rnd, n)
    unit = rnd.choice([1.0, 1.0, 1.0, 0.25, 1e-9, 1e9, 1e100, 1e-100])
    if rnd.random() < 0.7:
        rows = [tuple(unit * rnd.choice([0, 0, 1, 1, 2, 5]) for _ in range(d)) for _ in range(n)]
    else:
        rows = [tuple(unit * max(rnd.gauss(0, 1), 0.0) for _ in range(d)) for _ in range(n)]
    if negative:
        rows = [tuple(x - unit for x in row) for row in rows]
    if rnd.random() < 0.2:
        rows = [tuple(None if rnd.random() < 0.2 else x for x in row) for row in rows]
    probes = [tuple(unit * rnd.choice([0, 1, 3]) for _ in range(d)) for _ in range(3)]
    probes.append(rnd.choice(rows))
    return finish(rnd, rows, labels, probes, as_numbers(rnd, rnd.random() < 0.4))


# Settings --------------------------------------------------------------------------------------


def some(rnd: Random, **choices: Sequence[Any]) -> Settings:
    """Each setting with probability ½, one of its values."""
    return {name: rnd.choice(values) for name, values in choices.items() if rnd.random() < 0.5}


PRIORS = ["laplace", "uniform"]
ALPHAS = [0.0, 1e-10, 0.1, 0.5, 2.0, 1e6]


def diagonal_settings(rnd: Random) -> Settings:
    return some(
        rnd, priors=PRIORS, covariance=["mle", "unbiased"], shrinkage=[0.0, 0.1, 1.0],
        floor=[0.0, 1e-12, 1e-3],
    )  # fmt: skip


def full_settings(rnd: Random) -> Settings:
    return some(
        rnd, priors=PRIORS, covariance=["mle", "unbiased"], shrinkage=[0.0, 0.1, 1.0],
        floor=[0.0, 1e-3],
    )  # fmt: skip


def rda_settings(rnd: Random) -> Settings:
    return full_settings(rnd) | {
        "pooling": rnd.choice([0.0, 0.3, 0.7, 1.0, "auto"]),
        "shrinkage": rnd.choice([0.0, 0.1, 0.5]),
    }


def alpha_settings(rnd: Random) -> Settings:
    return some(rnd, priors=PRIORS, alpha=ALPHAS)


# Models of scikit-learn ------------------------------------------------------------------------


def gaussian_peer(settings: Settings) -> Any:
    plain = settings.get("covariance", "mle") == "mle" and not settings.get("shrinkage")
    plain = plain and settings.get("floor") == 0
    return naive_bayes.GaussianNB(var_smoothing=0.0) if plain else None


def lda_peer(settings: Settings) -> Any:
    plain = settings.get("covariance", "mle") == "mle" and not settings.get("shrinkage")
    plain = plain and not settings.get("floor")
    return discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr") if plain else None


def smoothed_peer(peer: Callable[..., Any]) -> Callable[[Settings], Any]:
    def made(settings: Settings) -> Any:
        alpha = settings.get("alpha", 1.0)
        more = {"binarize": settings["binarize"]} if "binarize" in settings else {}
        return peer(alpha=alpha, **more) if alpha > 0 else None

    return made


FAMILIES: dict[str, Family] = {
    "GaussianNB": Family(
        verosim.GaussianNB, lambda rnd: table_of_numbers(rnd, True, True), diagonal_settings,
        lambda m, t, s, d: oracles.diagonal(t, s, d, shared=False), peer=gaussian_peer,
    ),
    "NaiveLDA": Family(
        verosim.NaiveLDA, lambda rnd: table_of_numbers(rnd, True, True), diagonal_settings,
        lambda m, t, s, d: oracles.diagonal(t, s, d, shared=True),
    ),
    "LDA": Family(
        verosim.LDA, lambda rnd: table_of_numbers(rnd, False, False), full_settings,
        lambda m, t, s, d: oracles.full(t, s, d, 1), peer=lda_peer,
    ),
    "QDA": Family(
        verosim.QDA, lambda rnd: table_of_numbers(rnd, False, False), full_settings,
        lambda m, t, s, d: oracles.full(t, s, d, 0),
    ),
    "RDA": Family(
        verosim.RDA, lambda rnd: table_of_numbers(rnd, False, False), rda_settings,
        lambda m, t, s, d: oracles.full(t, s, d, s["pooling"]),
    ),
    "CategoricalNB": Family(
        verosim.CategoricalNB, table_of_categories,
        lambda rnd: some(rnd, priors=PRIORS, alpha=ALPHAS, never=[0.0, 1e-3]),
        lambda m, t, s, d: oracles.categorical(t, s, d),
    ),
    "BernoulliNB": Family(
        verosim.BernoulliNB, lambda rnd: table_of_counts(rnd, rnd.random() < 0.2),
        lambda rnd: some(rnd, priors=PRIORS, alpha=ALPHAS, binarize=[0.0, 0.5, 1.0]),
        lambda m, t, s, d: oracles.bernoulli(t, s, d), peer=smoothed_peer(naive_bayes.BernoulliNB),
    ),
    "MultinomialNB": Family(
        verosim.MultinomialNB, table_of_counts, alpha_settings,
        lambda m, t, s, d: oracles.multinomial(t, s, d),
        peer=smoothed_peer(naive_bayes.MultinomialNB),
    ),
    "ComplementNB": Family(
        verosim.ComplementNB, table_of_counts,
        lambda rnd: some(rnd, priors=PRIORS, alpha=ALPHAS, norm=[True]),
        lambda m, t, s, d: oracles.complement(t, s, d), priors="uniform",
    ),
}  # fmt: skip
