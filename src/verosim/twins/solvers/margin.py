"""The problem of one linear support vector machine for two classes.

    P(w) = ½ ‖w‖² + Σ cᵢ ℓ(tᵢ wᵀx̃ᵢ),   ℓ(m) = max(0, 1 − m), or its square,   x̃ = (x, bias)
    D(α) = Σ αᵢ − ½ ‖Σ αᵢ tᵢ x̃ᵢ‖² (− Σ αᵢ² / 4cᵢ for the square),   0 ≤ αᵢ ≤ cᵢ (∞ for the square)

D(α) ≤ D* = P* ≤ P(w), so the gap P(w) − D(α) bounds the distance of w from the optimum. The bias is
an additional column. Its weight is penalised, or free: a free weight is not part of ‖w‖², and D has
the additional constraint Σ αᵢ tᵢ = 0. With a free intercept, any centre can be subtracted from the
rows, which changes only b. Reference: Fan, Chang, Hsieh, Wang & Lin (2008), LIBLINEAR: a library
for large linear classification.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from verosim import kernels
from verosim.data import SparseRows
from verosim.engines import map_jobs, map_rows, map_spans, one_blas_thread, spans, use_threads
from verosim.errors import VerosimError
from verosim.twins.training_rows import row_arrays

GRAM_CELLS = 1 << 16  # cells scaled and multiplied together, so that they fit the second cache


def side_by_side(work: Callable[[int], None], count: int) -> None:
    """Run work(0), …, work(count − 1) in parallel threads, each with one thread inside."""

    def alone(job: int) -> None:
        with use_threads(1):
            work(job)

    with one_blas_thread:
        map_jobs(alone if count > 1 else work, count)  # a single job uses all threads


@dataclass(frozen=True)
class Margin:
    """The problem of separating n rows of two classes by a hyperplane."""

    X: np.ndarray | SparseRows  # (n, d)
    signs: np.ndarray  # (n,) −1 or 1
    cost: np.ndarray  # (n,) > 0
    bias: float  # the value of the column of the intercept; 0 for no intercept
    squared: bool
    free: bool = False  # whether the intercept is not penalised; then its column has the value 1
    centre: np.ndarray | None = None  # (d,) subtracted from each row

    @property
    def size(self) -> tuple[int, int]:
        """n, and d + 1 with the column of the bias."""
        return self.X.shape[0], self.X.shape[1] + 1

    @property
    def price(self) -> np.ndarray:
        """(d + 1,) the penalty factor of each weight: 1, or 0 for a free intercept."""
        out = np.ones(self.size[1])
        out[-1] = 0.0 if self.free else 1.0
        return out

    def margins(self, w: np.ndarray) -> np.ndarray:
        """(n,) t wᵀx̃."""
        X, out = self.X, np.empty(self.size[0])
        body, shift = w[:-1], float(w[-1]) * self.bias

        def work(start: int, stop: int) -> None:
            rows = row_arrays(X[start:stop])
            kernels.row_products(*rows, self.centre, body, shift, out[start:stop])

        map_rows(work, X)
        out *= self.signs
        return out

    def rows(self, at: np.ndarray) -> np.ndarray:
        """(m, d + 1) some rows x̃, dense."""
        X = self.X
        own = X.take(at) if isinstance(X, SparseRows) else X[at]
        if self.centre is not None:
            own = own - self.centre
        return np.column_stack([own, np.full(len(at), self.bias)]).astype(np.float64, copy=False)

    def combined(self, alpha: np.ndarray) -> np.ndarray:
        """(d + 1,) Σ α t x̃."""
        X, signed = self.X, alpha * self.signs
        total = signed.sum()
        if isinstance(X, SparseRows):
            out = np.zeros(self.size[1])
            kernels.add_rows_sparse(X.data, X.indices, X.indptr, signed, out)
            out[-1] = total * self.bias
            return out
        parts = self._spans(lambda start, stop: signed[start:stop] @ X[start:stop], X.shape[1])
        if self.centre is not None:
            parts -= total * self.centre
        return np.append(parts, total * self.bias)

    def gram(self, weight: np.ndarray) -> np.ndarray:
        """(d + 1, d + 1) Σ weight x̃ x̃ᵀ over dense rows. Rows of weight zero are not read."""
        X = self.X
        assert isinstance(X, np.ndarray)
        d = X.shape[1]
        centre = np.zeros(d) if self.centre is None else self.centre

        def products(start: int, stop: int) -> np.ndarray:
            rows, own = X[start:stop], weight[start:stop]
            kept = np.flatnonzero(own)
            if len(kept) < 0.9 * len(own):
                rows, own = rows[kept], own[kept]
            V = np.empty((len(own), d + 1))
            kernels.curve_rows(rows, centre, np.sqrt(own), V)
            return V.T @ V

        H = self._spans(products, (d + 1, d + 1))
        H[-1] *= self.bias
        H[:, -1] *= self.bias
        return H

    def _spans(self, part: Callable[[int, int], np.ndarray], shape: Any) -> np.ndarray:
        """Σ part(start, stop) over blocks of rows, in parallel threads.

        The order of the sums is fixed, so the result is the same bit by bit in each call.
        """
        n, p = self.size
        step = max(64, GRAM_CELLS // p)
        bounds = spans(n, n * p)
        sums = [np.zeros(shape) for _ in bounds[1:]]

        def work(span: int, first: int, last: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # the solvers check the result
                for start in range(first, last, step):
                    sums[span] += part(start, min(last, start + step))

        map_spans(work, bounds)
        return np.sum(sums, axis=0)

    # Objectives ------------------------------------------------------------------------------

    def primal(self, w: np.ndarray, margins: np.ndarray) -> float:
        loss = np.maximum(1.0 - margins, 0.0)
        size = float((self.price * w) @ w)
        return 0.5 * size + float(self.cost @ (loss * loss if self.squared else loss))

    def dual(self, alpha: np.ndarray, w: np.ndarray) -> float:
        """D at an α within its bounds, with w = Σ α t x̃."""
        total = float(alpha.sum()) - 0.5 * float((self.price * w) @ w)
        return total - (float((alpha * alpha) @ (0.25 / self.cost)) if self.squared else 0.0)


def solving(H: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function b ↦ H⁻¹b for a positive definite H, whatever the scales of its columns.

    If H is almost singular, its small eigenvalues are raised to the level of the rounding errors.
    """
    scale = 1.0 / np.sqrt(H.diagonal())
    S = H * scale * scale[:, None]
    if not np.isfinite(S).all():
        raise VerosimError(
            "The squares of the rows, times their weights, are too large for floating-point "
            "numbers.",
            "Divide the columns or the weights by a constant.",
        )
    try:
        factor = cho_factor(S, lower=True)
        return lambda b: scale * cho_solve(factor, scale * b)
    except LinAlgError:
        values, V = np.linalg.eigh(S)
        values = np.maximum(values, len(S) * np.finfo(float).eps * values[-1])
        return lambda b: scale * (V @ ((V.T @ (scale * b)) / values))


@dataclass(frozen=True)
class Solution:
    """The weights, their objective, and an upper bound of its distance from the optimum.

    The intercept is bias · w[d], for rows from which the centre is subtracted.
    """

    w: np.ndarray  # (d + 1,)
    objective: float
    gap: float
    rounds: int
