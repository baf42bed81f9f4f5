"""Speed of logistic regression at the same objective: verosim against scikit-learn's solvers.

python -m benchmarks.logistic            prints the table
python -m benchmarks.logistic --quick    smaller data

The `tol` of a peer is the largest power of ten with an objective within 1e-6 of the minimum. The
`tol` of verosim is the default, 1e-9. The table shows the relative distance of each result from the
minimum. Slower solvers of scikit-learn are not shown: with a condition number of 1e6, lbfgs is
still 1e-3 (correlated columns) and 1e-1 (different scales) above the minimum after 300 iterations;
with well-conditioned columns and five classes, newton-cholesky takes twenty times as long as lbfgs.
On text, verosim uses tol=1e-6, and the peers stop after 500 iterations (saga: 1,000 passes). If a
peer is then more than 1e-6 above the minimum, its time is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn import linear_model
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.measure import HEADER, Call, Row, options_of, table
from benchmarks.pages import DATA
from benchmarks.text import newsgroups
from verosim.twins.logistic import LogisticRegression

REACHED = 1e-6  # relative distance from the minimum that counts as reached
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
SIGNAL = 1.5  # standard deviation of the scores
TEXT_ITERATIONS, TEXT_EPOCHS = 500, 1000
DECADES = 3  # scales from 1e-3 to 1e3: condition number 1e6


def drawn(n: int, d: int, C: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows with classes drawn from a softmax.

    The columns are 'well' conditioned, have different 'scales', or are 'correlated'.
    """
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, d))
    scores = SIGNAL / np.sqrt(d) * Z @ rng.normal(size=(d, C)) + 0.5 * rng.normal(size=C)
    y = (scores + rng.gumbel(size=(n, C))).argmax(axis=1)
    if kind == "scales":
        return Z * rng.permutation(np.logspace(-DECADES, DECADES, d)), y
    if kind == "correlated":
        turns = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2)]
        return Z @ (turns[0] * np.logspace(0, -DECADES, d)) @ turns[1], y
    return Z @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)), y


def objective(X: Any, codes: np.ndarray, model: Any) -> float:
    """Σ loss + ½ ‖W‖², the objective for C = 1."""
    scores = X @ model.coef_.T + model.intercept_
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    top = scores.max(axis=1)
    total = np.log(np.exp(scores - top[:, None]).sum(axis=1))
    loss = top + total - scores[np.arange(len(codes)), codes]
    return float(loss.sum() + 0.5 * (model.coef_**2).sum())


def fitted(X: Any, y: np.ndarray, solver: str, tol: float, most: int) -> Any:
    model = linear_model.LogisticRegression(solver=solver, tol=tol, max_iter=most, random_state=0)
    return model.fit(X, y)


def loosest(
    X: Any, y: np.ndarray, solver: str, least: float, tolerances: tuple[float, ...], most: int
) -> tuple[float, float]:
    """The first tolerance with which the peer reaches the minimum, and its distance from it."""
    for tol in tolerances:
        excess = objective(X, y, fitted(X, y, solver, tol, most)) / least - 1
        if excess <= REACHED:
            break
    return tol, excess


def row(
    work: str,
    X: Any,
    y: np.ndarray,
    solvers: tuple[str, ...],
    aim: float,
    tolerances: tuple[float, ...] = TOLERANCES,
    most: int = 1000,
    tol: float | None = None,
    slow: bool = False,
) -> Row:
    """One row of the table. y contains class numbers."""

    def ours() -> LogisticRegression:
        return LogisticRegression(tol=tol).fit(X, y)

    best = LogisticRegression(tol=1e-12 if tol is None else 1e-2 * tol)
    least = objective(X, y, best.fit(X, y))
    peers: dict[str, tuple[Call, float | None]] = {}
    for solver in solvers:
        theirs, excess = loosest(X, y, solver, least, tolerances, most)
        call = partial(fitted, X, y, solver, theirs, most)
        peers[f"{solver}, tol {theirs:g} (+{excess:.0e})"] = (call, aim)
    excess = max(objective(X, y, ours()) / least - 1, 0.0)
    return Row(f"{work} (+{excess:.0e})", ours, peers, slow=slow)


def dense_rows(n: int, d: int = 50) -> Iterator[Row]:
    for classes in (2, 5):
        for kind in ("well", "scales", "correlated"):
            X, y = drawn(n, d, classes, kind)
            solvers: tuple[str, ...] = ("lbfgs",) if kind == "well" else ("newton-cholesky",)
            if kind == "well" and classes == 2:
                solvers = ("lbfgs", "newton-cholesky")
            what = {"well": "well conditioned", "scales": "scales 1e±3"}.get(kind, kind)
            work = f"LogisticRegression, {n // 1000}k × {d}, {classes} classes, {what}"
            slow = n > 100_000 and classes > 2 and kind != "well"
            tolerances = (1e-4, 1e-6) if slow else TOLERANCES
            yield row(work, X, y, solvers, 2, tolerances, slow=slow)


def text_rows(thin: int) -> Iterator[Row]:
    """20 Newsgroups as counts. The peers take minutes, so their iterations are limited."""
    texts, labels = newsgroups("train", thin)
    X = CountVectorizer().fit_transform(texts).astype(np.float64)
    y = np.unique(labels, return_inverse=True)[1]
    work = f"LogisticRegression, 20 Newsgroups counts, CSR {X.shape[0]:,} × {X.shape[1]:,}"
    yield row(work, X, y, ("lbfgs",), 2, (1e-5,), TEXT_ITERATIONS, tol=REACHED, slow=True)
    yield row(work, X, y, ("saga",), 2, (1e-6,), TEXT_EPOCHS, tol=REACHED, slow=True)


def rows(quick: bool = False) -> Iterator[Row]:
    """The rows of the table, one at a time, so that only one data set is in memory."""
    yield from dense_rows(20_000 if quick else 500_000)
    if DATA.is_dir():
        yield from text_rows(8 if quick else 1)


def main() -> None:
    options = options_of(__doc__)
    print("\n".join(HEADER))
    table(rows(options.quick), options.repeats)


if __name__ == "__main__":
    main()
