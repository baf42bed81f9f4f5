"""Stochastic gradient descent: the weights change after each row, or after each batch of rows.

    θ ← θ + η (y − σ(θᵀx)) x,   η_t = η₀ (1 + t/n)^−a,   t rows seen, n rows per pass

Each row also adds its share λ/n · θ of the penalty. For several classes the step is
w_c ← w_c + η (1[y = c] − p_c) x. A row of weight w is visited ⌈w⌉ times. The order of visits
depends on the values of the rows and not on their positions. So a weight is the same as repeated
rows, and rows in another order give the same model.
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

PATIENCE_PASSES = 5  # descent stops after this number of passes without a lower loss
MOST_VISITS_PER_PASS = 16  # largest number of visits to one row in a pass


@dataclass(frozen=True)
class Schedule:
    """Step sizes η₀ (1 + rows seen / rows per pass)^−decay, with `batch` rows per step."""

    rate: float
    decay: float
    batch: int


@dataclass(frozen=True)
class Visits:
    """The visits of one pass: the row of each visit, and the weight of a visit to each row."""

    rows: np.ndarray  # (v,)
    weights: np.ndarray  # (n,), empty if every visit has weight 1
    keys: np.ndarray  # (v,) uint64, hashes of the values of the row and the number of the visit

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
        visit = np.empty(len(rows), dtype=np.uint64)  # number of the visit to equal rows
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
    """1 / mean of w ‖(x, 1)‖², so that one step changes the score of a typical row by about 1."""
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
    """Visit the rows in `order` and change B (d + 1, K) in place; return the mean loss."""
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
    """The result of a descent, with the mean loss during each pass and ‖w‖ after it."""

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
    """Make passes in random order until five in a row lower the loss by a share below tol."""
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
