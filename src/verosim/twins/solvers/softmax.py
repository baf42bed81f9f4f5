"""The objective of logistic regression, its gradient and its Hessian, in one pass over the rows.

    f(B) = Σ_i w_i [log Σ_c exp s_ic − s_{i,y_i}] + λ/2 ‖W‖²,   s_i = Bᵀ(z_i, 1),   λ = 1/C
    ∇f = Σ_i w_i (z_i, 1)(p_i − e_{y_i})ᵀ + λW
    ∇²f = Σ_i w_i (diag p_i − p_i p_iᵀ) ⊗ z_i z_iᵀ + λI

B (d + 1, K) holds the weights W and, in its last row, the intercepts, which are not penalised. The
shift z = x − pivot changes only the intercepts and keeps the precision of columns far from zero.
Two classes have one column of scores, K = 1, for the second class against the first.
Reference: Bishop (2006), Pattern recognition and machine learning, §4.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import helmert

from verosim import kernels
from verosim.cached import cached_property
from verosim.data import SparseRows
from verosim.data.batch import BLOCK_CELLS, UNWEIGHTED
from verosim.engines import map_spans, spans
from verosim.linalg import padded

CURVED_CELLS = 1 << 16  # cells per block of products, so that a block fits the second cache


@dataclass
class Softmax:
    """The objective f over some rows. `passes` counts the passes over all of them."""

    X: np.ndarray | SparseRows  # (n, d)
    codes: np.ndarray  # (n,) int32
    weights: np.ndarray  # (n,), empty if every row has weight 1
    classes: int
    penalty: float  # λ
    pivot: np.ndarray  # (d,)
    intercept: bool = True
    passes: int = field(default=0, init=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(d + 1, K), the shape of B."""
        return self.X.shape[1] + 1, 1 if self.classes == 2 else self.classes

    @property
    def mass(self) -> float:
        return float(self.weights.sum()) if len(self.weights) else float(len(self.codes))

    @cached_property
    def lightest(self) -> float:
        return float(self.weights.min()) if len(self.weights) else 1.0

    def separated(self, value: float) -> bool:
        """Whether the rows are separable and the penalty is zero, so that f has no minimum.

        A row on the wrong side of a hyperplane costs at least log 2. If f is lower than the cost of
        one such row, the hyperplane separates the classes.
        """
        return self.penalty == 0 and value < math.log(2) * self.lightest

    def value(self, B: np.ndarray) -> tuple[float, np.ndarray]:
        """f and ∇f (d + 1, K)."""
        self.passes += 1
        loss, gradient = self._sparse(B) if isinstance(self.X, SparseRows) else self._dense(B)
        return self._penalised(B, loss, gradient)

    def _penalised(
        self, B: np.ndarray, loss: float, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        if not self.intercept:
            gradient[-1] = 0.0
        if self.penalty > 0:
            gradient[:-1] += self.penalty * B[:-1]
            loss += 0.5 * self.penalty * float(np.vdot(B[:-1], B[:-1]))
        return loss, gradient

    def cut(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        weights = self.weights[start:stop] if len(self.weights) else UNWEIGHTED
        return self.codes[start:stop], weights

    def _dense(self, B: np.ndarray) -> tuple[float, np.ndarray]:
        X = self.X
        assert isinstance(X, np.ndarray)
        n, d = X.shape
        K = B.shape[1]
        bounds = spans(n, n * d * K)
        count = len(bounds) - 1
        W, b = np.ascontiguousarray(B[:-1].T), B[-1].copy()  # (K, d), (K,)
        losses = np.zeros(count)
        parts = np.zeros((count, K, d + 1))
        whole, no_shares = (
            (kernels.logistic_pass, np.empty(0)) if K == 1
            else (kernels.softmax_pass, np.empty((0, 0)))
        )  # fmt: skip

        def work(span: int, start: int, stop: int) -> None:
            rows = (X[start:stop], self.pivot, *self.cut(start, stop))
            losses[span] = whole(*rows, W, b, parts[span], no_shares)

        map_spans(work, bounds)
        return float(losses.sum()), np.ascontiguousarray(parts.sum(axis=0).T)

    def _sparse(self, B: np.ndarray) -> tuple[float, np.ndarray]:
        X = self.X
        assert isinstance(X, SparseRows)
        n = len(X)
        K = B.shape[1]
        bounds = spans(n, float(X.indptr[-1] - X.indptr[0]) * K)
        count = len(bounds) - 1
        losses = np.zeros(count)
        table = B if K == 1 else padded(B)  # (d + 1, width)
        parts = [np.zeros(table.shape) for _ in range(count)]

        def work(span: int, start: int, stop: int) -> None:
            rows, (codes, weights) = X[start:stop], self.cut(start, stop)
            given = (rows.data, rows.indices, rows.indptr, codes, weights)
            part = parts[span]
            if K == 1:
                losses[span] = kernels.logistic_pass_sparse(
                    *given, table[:-1, 0], table[-1, 0], part[:, 0]
                )
            else:
                losses[span] = kernels.softmax_pass_sparse(*given, table, K, part)

        map_spans(work, bounds)
        for other in parts[1:]:
            parts[0] += other
        return float(losses.sum()), np.ascontiguousarray(parts[0][:, :K])

    # Second derivatives ---------------------------------------------------------------------

    @property
    def contrasts(self) -> np.ndarray:
        """(R, K) orthonormal rows with R = K − 1, or (1, 1) for two classes.

        A constant added to the scores of all classes changes nothing, so K − 1 directions remain.
        """
        if self.classes == 2:
            return np.ones((1, 1))
        return np.ascontiguousarray(helmert(self.classes))

    def centred(self, B: np.ndarray) -> np.ndarray:
        """The B with the same posteriors and scores that sum to zero over the classes.

        It has the smallest norm of all B with these posteriors, and the minimum has this form.
        """
        return B if B.shape[1] == 1 else B - B.mean(axis=1, keepdims=True)

    def curved(self, B: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """f, ∇f (d + 1, K) and ∇²f (R(d + 1), R(d + 1)) in Θ (R, d + 1), B = Θᵀ · contrasts."""
        self.passes += 1
        X, Q = self.X, self.contrasts
        n, d = X.shape
        R, K = Q.shape
        step = max(64, CURVED_CELLS // (d + 1))
        bounds = spans(n, float(n) * (d + 1) * R * R * (d + 1))
        count = len(bounds) - 1
        W, b = np.ascontiguousarray(B[:-1].T), B[-1].copy()
        losses = np.zeros(count)
        slopes = np.zeros((count, K, d + 1))
        blocks = np.zeros((count, R, d + 1, R, d + 1))

        def work(span: int, start: int, stop: int) -> None:
            for first in range(start, stop, step):
                last = min(stop, first + step)
                Z, (codes, weights) = _dense_rows(X, first, last), self.cut(first, last)
                given = (Z, self.pivot, codes, weights)
                V = np.empty((last - first, d + 1))
                if K == 1:
                    curvature = np.empty(last - first)
                    losses[span] += kernels.logistic_pass(*given, W, b, slopes[span], curvature)
                    kernels.curve_rows(Z, self.pivot, np.sqrt(curvature), V)
                    blocks[span, 0, :, 0] += V.T @ V
                else:
                    shares = np.empty((last - first, K))
                    losses[span] += kernels.softmax_pass(*given, W, b, slopes[span], shares)
                    kernels.curve_rows(Z, self.pivot, np.ones(last - first), V)
                    _add_products(V, shares, weights, Q, blocks[span])

        map_spans(work, bounds)
        H = blocks.sum(axis=0)
        for r in range(R):  # the upper blocks are the transposed lower blocks
            for q in range(r):
                H[q, :, r] = H[r, :, q].T
        at = np.arange(d)
        for r in range(R):
            H[r, at, r, at] += self.penalty
            if not self.intercept:
                H[r, d] = H[:, :, r, d] = 0.0
                H[r, d, r, d] = 1.0
        gradient = np.ascontiguousarray(slopes.sum(axis=0).T)
        value, gradient = self._penalised(B, float(losses.sum()), gradient)
        return value, gradient, H.reshape(R * (d + 1), R * (d + 1))


def column_squares(objective: Softmax) -> np.ndarray:
    """(d,) Σ_i w_i z_ij²."""
    X, weights = objective.X, objective.weights
    heavy = weights if len(weights) else np.ones(len(objective.codes))
    if isinstance(X, SparseRows):
        values = X.data[X.stored].astype(np.float64)
        cells = np.repeat(heavy, np.diff(X.indptr)) * values * values
        return np.bincount(X.indices[X.stored], weights=cells, minlength=X.columns)
    squares = np.zeros(X.shape[1])
    step = max(1, BLOCK_CELLS // X.shape[1])
    for start in range(0, len(X), step):
        z = X[start : start + step] - objective.pivot
        squares += np.einsum("i,ij,ij->j", heavy[start : start + step], z, z)
    return squares


def _add_products(
    V: np.ndarray, shares: np.ndarray, weights: np.ndarray, Q: np.ndarray, H: np.ndarray
) -> None:
    """H (R, d, R, d), lower blocks, += Σ_i w_i Q (diag p − p pᵀ) Qᵀ ⊗ v vᵀ."""
    n, d = V.shape
    inner = shares @ Q.T  # (n, R)
    heavy = weights[:, None] if len(weights) else 1.0
    for r in range(len(Q)):
        curvature = (shares @ (Q[: r + 1] * Q[r]).T - inner[:, : r + 1] * inner[:, r, None]) * heavy
        wide = np.empty((n, (r + 1) * d))
        kernels.curve_classes(V, curvature, wide)
        H[r, :, : r + 1] += (V.T @ wide).reshape(d, r + 1, d)


def _dense_rows(X: np.ndarray | SparseRows, start: int, stop: int) -> np.ndarray:
    rows = X[start:stop]
    if isinstance(rows, np.ndarray):
        return rows
    return rows.as_csr().toarray().astype(np.float64, copy=False)
