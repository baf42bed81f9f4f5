"""Newton's method without a Hessian: conjugate gradients compute its steps, for wide sparse rows.

    ∇²f · P = Xᵀ[w (diag p − p pᵀ) (X P)] + λP,   solved until ½ gᵀ∇²f⁻¹g is known to a given share

Each product reads the rows once for X P, and once by columns for Xᵀ. So the table of weights is
read in random order but written in sequence. The line search uses the scores of the step and needs
no further products.
Reference: Dembo & Steihaug (1983), Truncated-Newton algorithms for large-scale unconstrained
optimization; Lin, Weng & Keerthi (2008), Trust region Newton method for logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from verosim import kernels
from verosim.data import SparseRows
from verosim.engines import map_spans
from verosim.linalg import padded
from verosim.twins.solvers.descent import squared_norms
from verosim.twins.solvers.newton import OBJECTIVE_ROUNDING, SHORTEST, Minimum
from verosim.twins.solvers.softmax import Softmax

NO_SKIP = np.empty(0, dtype=np.bool_)
EPOCHS = 10  # passes over the rows before Newton's method
MOST_PRODUCTS = 500  # largest number of products per step
# Share of the decrement that a step may leave: near the minimum, and far from it.
CAREFUL_SHARE, QUICK_SHARE = 0.1, 0.5
NEAR_MINIMUM = 0.1  # relative gap below which steps are computed with more precision
FROM_BELOW = 3  # conjugate gradients underestimate the decrement, rarely by more than this factor
# Rows with a curvature below this share of the largest one are ignored in a step.
LEAST_CURVATURE = 1e-7


def even(indptr: np.ndarray, count: int) -> list[int]:
    """Bounds of `count` spans with about equal numbers of stored cells."""
    cells = np.linspace(indptr[0], indptr[-1], count + 1)
    bounds = np.searchsorted(indptr, cells)
    bounds[0], bounds[-1] = 0, len(indptr) - 1
    return np.maximum.accumulate(bounds).tolist()


@dataclass(frozen=True)
class MatrixProducts:
    """X by rows and by columns, and the products with X and Xᵀ in parallel threads."""

    rows: SparseRows
    columns: SparseRows  # of Xᵀ
    spans: list[int]
    strips: list[int]

    @classmethod
    def of(cls, X: SparseRows, count: int) -> MatrixProducts:
        turned = X.as_csr().tocsc()
        columns = SparseRows(turned.data, turned.indices, turned.indptr, len(X))
        return cls(X, columns, even(X.indptr, count), even(columns.indptr, count))

    def scores(self, B: np.ndarray, skip: np.ndarray = NO_SKIP) -> np.ndarray:
        """(n, width) X · B[:-1] + B[-1]."""
        out = np.empty((len(self.rows), B.shape[1]))

        def work(span: int, a: int, b: int) -> None:
            X = self.rows[a:b]
            left = skip[a:b] if len(skip) else skip
            kernels.gather_products(X.data, X.indices, X.indptr, left, B[:-1], B[-1], out[a:b])

        map_spans(work, self.spans)
        return out

    def back(
        self, table: np.ndarray, ridge: float, own: np.ndarray, out: np.ndarray, power: int = 1
    ) -> float:
        """Compute out (d + 1, width) = (X, 1)ᵀ · table + ridge · own; return ⟨own, out⟩.

        The last row, of the intercepts, has no ridge.
        """
        dots = np.zeros(len(self.strips))

        def work(strip: int, a: int, b: int) -> None:
            Xt = self.columns[a:b]
            dots[strip] = kernels.gather_columns(
                Xt.data, Xt.indices, Xt.indptr, power, table, ridge, own[a:b], out[a:b]
            )

        map_spans(work, self.strips)
        out[-1] = table.sum(axis=0)
        return float(dots.sum() + out[-1] @ own[-1])


class LocalModel:
    """The posteriors, the gradient and the curvature of f at one point."""

    def __init__(self, objective: Softmax, products: MatrixProducts, K: int) -> None:
        self.objective, self.products, self.K = objective, products, K
        self.given = (objective.codes, objective.weights)

    def move_to(self, B: np.ndarray, scores: np.ndarray) -> None:
        """Compute the loss, the gradient and the posteriors at B from its scores."""
        o = self.objective
        self.B, self.scores = B, scores
        residual, self.shares = np.zeros_like(scores), np.zeros_like(scores)
        losses = np.zeros(len(self.products.spans))

        def work(span: int, a: int, b: int) -> None:
            codes, weights = o.cut(a, b)
            losses[span] = kernels.loss_rows(
                scores[a:b], codes, weights, self.K, residual[a:b], self.shares[a:b]
            )

        map_spans(work, self.products.spans)
        self.gradient = np.empty_like(B)
        self.products.back(residual, o.penalty, B, self.gradient)
        self._fix_intercept(self.gradient)
        self.value = float(losses.sum()) + 0.5 * o.penalty * float(np.vdot(B[:-1], B[:-1]))

    def _fix_intercept(self, table: np.ndarray) -> None:
        """Set the row of the intercepts to zero if the model has none."""
        if not self.objective.intercept:
            table[-1] = 0.0

    def curvature(self) -> np.ndarray:
        """(d + 1, width) the diagonal of the Hessian, with 1 instead of 0."""
        o, p = self.objective, self.shares
        spread = p * (1 - p)
        if len(o.weights):
            spread *= o.weights[:, None]
        self.skip = spread.max(axis=1) < LEAST_CURVATURE * spread.max(initial=0.0)
        out = np.empty_like(self.B)
        self.products.back(spread, 0.0, self.B, out, power=2)
        out[:-1] += o.penalty
        out[out <= 0] = 1.0
        return out

    def hessian_product(self, direction: np.ndarray, out: np.ndarray) -> float:
        """Compute out = ∇²f · direction; return directionᵀ∇²f direction."""
        o = self.objective
        change = self.products.scores(direction, self.skip)

        def work(span: int, a: int, b: int) -> None:
            kernels.curve_scores(self.shares[a:b], o.cut(a, b)[1], self.K, change[a:b])

        map_spans(work, self.products.spans)
        dot = self.products.back(change, o.penalty, direction, out)
        self._fix_intercept(out)
        return dot

    def along(self, change: np.ndarray, step: np.ndarray) -> Callable[[float], float]:
        """The function f(B + size · step) of size, from the change of the scores."""
        o, B = self.objective, self.B
        squares = [float(np.vdot(u, v)) for u, v in
                   ((B[:-1], B[:-1]), (B[:-1], step[:-1]), (step[:-1], step[:-1]))]  # fmt: skip

        def value(size: float) -> float:
            losses = np.zeros(len(self.products.spans))

            def work(span: int, a: int, b: int) -> None:
                losses[span] = kernels.line_loss(
                    self.scores[a:b], change[a:b], size, *o.cut(a, b), self.K
                )

            map_spans(work, self.products.spans)
            norm = squares[0] + size * (2 * squares[1] + size * squares[2])
            return float(losses.sum()) + 0.5 * o.penalty * norm

        return value


def conjugate(local: LocalModel, share: float) -> tuple[np.ndarray, float]:
    """An approximation of the step −∇²f⁻¹g, and the part of ½ gᵀ∇²f⁻¹g that it reaches."""
    M = local.curvature()
    rest = -local.gradient
    step, bent = np.zeros_like(rest), np.empty_like(rest)
    direction = rest / M
    square = float(np.vdot(rest, direction))
    found = 0.0
    flat = [v.reshape(-1) for v in (direction, bent, M, step, rest)]
    cuts = np.linspace(0, rest.size, len(local.products.spans)).astype(int).tolist()
    sums = np.zeros(len(cuts))
    for k in range(1, MOST_PRODUCTS + 1):
        curved = local.hessian_product(direction, bent)
        if not curved > 0:
            break
        size = square / curved
        gain = 0.5 * size * square  # the contribution of this iteration to the decrement

        def work(span: int, a: int, b: int, size: float = size) -> None:
            sums[span] = kernels.conjugate_step(size, *(v[a:b] for v in flat))

        map_spans(work, cuts)
        found += gain
        after = float(sums.sum())
        # The test of Nash & Sofer compares the last gain with the mean of all gains so far.
        if k * gain <= share * found or after == 0:
            break
        turn = after / square

        def onward(_: int, a: int, b: int, turn: float = turn) -> None:
            kernels.conjugate_turn(turn, flat[4][a:b], flat[2][a:b], flat[0][a:b])

        map_spans(onward, cuts)
        square = after
    return step, found


def dual_start(objective: Softmax) -> np.ndarray:
    """B (d + 1, K) after a few passes of dual coordinate ascent, a start robust to heavy rows.

        B = Σ w (x, 1)(e_y − a)ᵀ/λ

    Each pass sets the vector a of each row in turn to the posterior of the row. Two classes are a
    softmax with twice the penalty, w = w₁ − w₀. Reference: Yu, Huang & Lin (2011), Dual coordinate
    descent methods for logistic regression.
    """
    X, (columns, K) = objective.X, objective.shape
    assert isinstance(X, SparseRows)
    if not objective.penalty > 0:
        return np.zeros((columns, K))
    n, C = len(X), objective.classes
    A = np.zeros((n, C))
    A[np.arange(n), objective.codes] = 1.0
    B = padded(np.zeros((columns, C)))
    norms = squared_norms(X, 0.0)
    rng = np.random.default_rng(0)
    for _ in range(EPOCHS):
        kernels.dual_pass(
            X.data, X.indices, X.indptr, objective.codes, objective.weights, rng.permutation(n),
            norms, objective.penalty * (2 if K == 1 else 1), not objective.intercept, B, A,
        )  # fmt: skip
    found = B[:, 1:2] - B[:, :1] if K == 1 else objective.centred(B[:, :C])
    found = np.ascontiguousarray(found)
    return found if np.isfinite(found).all() else np.zeros((columns, K))


def truncated_newton(
    objective: Softmax, B: np.ndarray, tol: float, max_iter: int, count: int
) -> Minimum:
    """Minimise over sparse rows from B (d + 1, K) until ½ δ² ≤ tol · f."""
    X = objective.X
    assert isinstance(X, SparseRows)
    K = B.shape[1]
    local = LocalModel(objective, MatrixProducts.of(X, count), K)
    B = B.copy() if K == 1 else padded(B)
    local.move_to(B, local.products.scores(B))
    share, steps = QUICK_SHARE, 0
    while True:
        step, found = conjugate(local, share)
        gap = FROM_BELOW * found
        goal = max(tol, OBJECTIVE_ROUNDING) * local.value
        if gap <= NEAR_MINIMUM * local.value and share > CAREFUL_SHARE:
            # Near the minimum, the estimate of the gap must be precise.
            share = CAREFUL_SHARE
        elif gap <= goal:
            return Minimum((B + step)[:, :K], local.value - found, gap, max(steps, 1), True)
        if steps >= max_iter or objective.separated(local.value):
            return Minimum(B[:, :K], local.value, gap, steps, False)
        steps += 1
        objective.passes += 1
        change = local.products.scores(step)
        value_at = local.along(change, step)
        slope = float(np.vdot(local.gradient, step))
        size, before = 1.0, local.value
        value = value_at(size)
        while not value <= before + 1e-4 * size * slope + OBJECTIVE_ROUNDING * before:
            size *= 0.5
            if size < SHORTEST:
                return Minimum(B[:, :K], before, gap, steps, False)
            value = value_at(size)
        B += size * step
        local.move_to(B, local.scores + size * change)
