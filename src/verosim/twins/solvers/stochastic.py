"""Stochastic gradient descent: the weights move after every row, or every few.

    θ ← θ + η (t − σ(θᵀx)) x,   η_t = η₀ (1 + t/n)^−a,   t rows seen, n rows of a pass

with the penalty's share λ/n · θ per row. Several classes: w_c ← w_c + η (1[y = c] − p_c) x.
A row of weight w is visited ⌈w⌉ times, and the order of visits is drawn from what the rows hold,
not from where they stand: weights are repeated rows, and rows moved about give the same model.
Reference: Robbins & Monro (1951), A stochastic approximation method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verosim import kernels
from verosim.data import SparseRows
from verosim.twins.solvers.descent import squared_norms
from verosim.twins.solvers.softmax import Softmax
from verosim.twins.training_rows import row_arrays

PATIENCE_PASSES = 5  # passes that may go by without a better loss
MOST_VISITS_PER_PASS = 16  # visits of one row in a pass, at most; beyond that they weigh more


@dataclass(frozen=True)
class Schedule:
    """η₀ (1 + rows seen / rows of a pass)^−decay, `batch` rows a step."""

    rate: float
    decay: float
    batch: int


@dataclass(frozen=True)
class Visits:
    """Rows as often as they are visited in a pass, and the weight of each visit."""

    rows: np.ndarray  # (v,)
    weights: np.ndarray  # (n,), empty if every visit counts once
    keys: np.ndarray  # (v,) uint64, of what a row holds and which visit it is

    @classmethod
    def of(cls, objective: Softmax) -> Visits:
        n = len(objective.codes)
        keys = np.empty(n, dtype=np.uint64)
        kernels.hash_rows(*row_arrays(objective.X), objective.codes, keys)
        weights = objective.weights
        times = np.ones(n, dtype=np.int64)
        if len(weights):
            times = np.clip(np.ceil(weights), 1, MOST_VISITS_PER_PASS).astype(np.int64)
            weights = weights / times
            weights = weights if (weights != 1).any() else weights[:0]
        rows = np.repeat(np.arange(n), times)
        order = np.argsort(keys[rows], kind="stable")
        visit = np.empty(len(rows), dtype=np.uint64)  # a row's second visit is not its first
        kernels.count_runs(keys[rows][order], visit)
        return cls(rows[order], weights, keys[rows][order] + visit)

    def __len__(self) -> int:
        return len(self.rows)

    def shuffled(self, rng: np.random.Generator) -> np.ndarray:
        """The rows in random order."""
        mixed = np.empty_like(self.keys)
        kernels.mix(self.keys, np.uint64(rng.integers(1 << 63)), mixed)
        return self.rows[np.argsort(mixed, kind="stable")]


def first_rate(X: np.ndarray | SparseRows, visits: Visits) -> float:
    """1 over the mean of w ‖(x, 1)‖² as the weights count the rows: a step changes the score of an
    ordinary row by about one."""
    squares = squared_norms(X, 1.0)
    weights = visits.weights[visits.rows] if len(visits.weights) else np.ones(len(visits))
    mean = float(weights @ (weights * squares[visits.rows]) / weights.sum())
    return 1.0 / mean if np.isfinite(mean) else 0.0


def one_pass(
    objective: Softmax,
    B: np.ndarray,
    schedule: Schedule,
    seen: int,
    order: np.ndarray,
    weights: np.ndarray,
) -> float:
    """Rows in `order`, B (d + 1, K) changed in place; the mean loss as they were met."""
    X = objective.X
    rest = (
        objective.codes, weights, order, schedule.batch, schedule.rate, schedule.decay,
        float(len(order)), float(seen), objective.penalty / objective.mass, B,
        not objective.intercept,
    )  # fmt: skip
    if isinstance(X, SparseRows):
        loss, mass = kernels.stochastic_sparse(X.data, X.indices, X.indptr, *rest)
    else:
        loss, mass = kernels.stochastic_dense(X, *rest)
    return float(loss / mass)


@dataclass(frozen=True)
class Course:
    """How a descent went: after each pass the mean loss met on the way, and ‖w‖."""

    B: np.ndarray  # (d + 1, K)
    losses: list[float]
    norms: list[float]
    converged: bool


def stochastic_descent(
    objective: Softmax,
    B: np.ndarray,
    visits: Visits,
    schedule: Schedule,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> Course:
    """Passes over the rows in random order, until five of them lower the loss by less than tol."""
    losses: list[float] = []
    norms: list[float] = []
    best, waited = np.inf, 0
    for epoch in range(max_iter):
        order, seen = visits.shuffled(rng), epoch * len(visits)
        loss = one_pass(objective, B, schedule, seen, order, visits.weights)
        losses.append(loss)
        norms.append(float(np.linalg.norm(B[:-1])))
        if not np.isfinite(loss + norms[-1]):
            return Course(B, losses, norms, False)
        waited = waited + 1 if loss > best * (1 - tol) else 0
        best = min(best, loss)
        if waited >= PATIENCE_PASSES:
            return Course(B, losses, norms, True)
    return Course(B, losses, norms, False)
