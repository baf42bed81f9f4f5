"""The start of a descent: the weights of LDA, improved on samples of increasing size.

    w_k = Σ⁻¹(μ_k − μ), b_k of LDA   →   Newton on m₀ rows   →   Newton on 8 m₀ rows   →   …

The minimum on m of n rows is about p/2 · n/m above the minimum on all rows, for p weights. So about
one Newton step leads from the minimum of one sample to that of the next. A sample contains every
class. Rare classes are sampled more often and get smaller weights.
Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers; Roosta-Khorasani &
Mahoney (2019), Sub-sampled Newton methods.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from verosim.data import SparseRows
from verosim.data.sources import take_rows
from verosim.errors import VerosimWarning
from verosim.estimators import LDA, NaiveLDA
from verosim.stats.pivots import PIVOT_ROWS
from verosim.twins.solvers.newton import Root, newton
from verosim.twins.solvers.softmax import Softmax

LEAST_RUNG_ROWS = 2048  # rows of the smallest sample
RUNG = 8  # each sample has this many times the rows of the previous one
LEAST_ROWS_OF_CLASS = 50  # rows that are sampled from a rare class, if it has so many
MOST_COLUMNS_OF_LDA = 400  # with more columns, the start uses NaiveLDA instead of LDA
RUNG_STEPS = 12  # largest number of Newton steps per sample
START_SIZES = (1.0, 0.5, 0.2, 0.05, 0.0)  # factors that are tried for the start


def middle(X: np.ndarray | SparseRows) -> np.ndarray:
    """(d,) a typical value of each column, so that z = x − pivot keeps its precision."""
    if isinstance(X, SparseRows):
        return np.zeros(X.columns)
    taken = X[np.linspace(0, len(X) - 1, min(PIVOT_ROWS, len(X)), dtype=np.int64)]
    return np.sort(taken.astype(np.float64), axis=0)[(len(taken) - 1) // 2]


def subsample(objective: Softmax, rows: int, rng: np.random.Generator) -> Softmax:
    """The objective on a sample of about `rows` rows, weighted to represent all rows."""
    codes = objective.codes
    n = len(codes)
    if rows >= n:
        return objective
    count = np.bincount(codes, minlength=objective.classes)
    share = np.ceil(count * (rows / n)).astype(np.int64)
    wanted = np.minimum(count, np.maximum(share, LEAST_ROWS_OF_CLASS))
    drawn = rng.integers(0, n, 2 * rows)  # a random sample without a pass over all rows
    drawn = np.unique(drawn)
    rng.shuffle(drawn)
    order = drawn[np.argsort(codes[drawn], kind="stable")]
    starts = np.searchsorted(codes[order], np.arange(objective.classes + 1))
    parts = []
    for c, most in enumerate(wanted):
        at = order[starts[c] : starts[c + 1]][:most]
        if len(at) < most:  # a rare class, which needs its own sample
            at = rng.permutation(np.flatnonzero(codes == c))[:most]
        parts.append(at)
    at = np.sort(np.concatenate(parts))
    stands = count / np.maximum([len(part) for part in parts], 1)
    weights = stands[codes[at]]
    if len(objective.weights):
        weights = weights * objective.weights[at]
    return replace(objective, X=take_rows(objective.X, at), codes=codes[at], weights=weights)


def generative_start(objective: Softmax) -> np.ndarray:
    """B (d + 1, K) of LDA on these rows, times the factor with the lowest objective."""
    B = np.zeros(objective.shape)
    X = objective.X
    dense = isinstance(X, np.ndarray)
    narrow = X.shape[1] <= min(MOST_COLUMNS_OF_LDA, X.shape[0] // 4)
    model = LDA() if dense and narrow else NaiveLDA()
    quiet = warnings.catch_warnings(action="ignore", category=VerosimWarning)
    with quiet, np.errstate(all="ignore"):
        rows = X - objective.pivot if isinstance(X, np.ndarray) else X.as_csr()
        weights = objective.weights if len(objective.weights) else None
        model.fit(rows, objective.codes, sample_weight=weights)
    found = np.zeros_like(B)
    coef, intercept = model.coef_, model.intercept_
    if len(model.classes_) == objective.classes and coef.shape[0] == B.shape[1]:
        found[:-1], found[-1] = coef.T, intercept
        found = objective.centred(found)
    if not objective.intercept:
        found[-1] = 0.0
    if not np.isfinite(found).all():
        return B
    values = [objective.value(size * found)[0] for size in START_SIZES]
    return START_SIZES[int(np.argmin(values))] * found


def climb(
    objective: Softmax, top: int, rng: np.random.Generator, B: np.ndarray | None = None
) -> tuple[np.ndarray, Root, Softmax]:
    """A start B, the factored Hessian at B, and the sample of about `top` rows it comes from."""
    p = objective.contrasts.shape[0] * objective.shape[0]
    rungs = [top]
    while rungs[-1] > RUNG * max(LEAST_RUNG_ROWS, 8 * p):
        rungs.append(rungs[-1] // RUNG)
    if B is not None:
        rungs = [top]
    for m in reversed(rungs):
        rows = subsample(objective, m, rng)
        if B is None:
            B = generative_start(rows)
        enough = 0.25 * p * len(objective.codes) / len(rows.codes)
        found, root = newton(rows, B, 0.0, RUNG_STEPS, enough)
        B = found.B
    assert B is not None
    return B, root, rows
