"""Parameters of Gaussians with full covariances, one per class or one for all classes.

    log p(x | k) = −½ [ d log 2π + log|Σ_k| + (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) ]

Each Σ is stored with a whitener W, a matrix with W Σ Wᵀ = I, so that a squared distance is a sum of
squares. Rows with missing cells are scored by the exact marginal of the columns with values.
Reference: Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verosim import kernels
from verosim.densities.attribution import Attribution, AttributionRequest
from verosim.densities.base import into
from verosim.densities.conditionals import FullConditionals
from verosim.densities.estimates import Estimates
from verosim.densities.features import Deviations, Expansion, SquaresAndProducts
from verosim.densities.gaussian_shapley import gaussian_attribution
from verosim.densities.located import Located
from verosim.densities.missing_cells import Marginals, by_pattern, rows_by_pattern
from verosim.densities.terms import QuadraticTerm, Term
from verosim.errors import VerosimError
from verosim.kernels.constants import LOG_2PI
from verosim.linalg import Factor, factor
from verosim.stats import Moments, Statistic

ROWS_CELLS = 1 << 15  # cells of the rows that are whitened at once: 256 kB, a part of the cache
PADDING = 8  # extra cells per column, so that columns do not compete for the same place in a cache
MOST_STRIPS = 6  # strips of a triangular matrix: more strips skip more zeros, in smaller products


@dataclass(frozen=True)
class FullParams(Located):
    """Means, covariances, and the whiteners of the covariances."""

    pivot: np.ndarray  # (C, d)
    offset: np.ndarray  # (C, d)
    covariance_: np.ndarray  # (C or 1, d, d)
    whitener: np.ndarray  # (C or 1, d, d); zero rows for columns that are not used
    log_det: np.ndarray  # (C or 1,) log|Σ|
    share: np.ndarray  # (C,) share of each class in the total weight
    used: np.ndarray  # (d,) bool: False for constant columns
    shared: bool  # one covariance for all classes
    marginalise: bool = False
    covariance_form = "full"

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        C, d = len(self.pivot), int(self.used.sum())  # constant columns have no parameters
        return C * d + len(self.whitener) * d * (d + 1) // 2

    @cached_property
    def inflation(self) -> np.ndarray:
        """(C or 1, d) Σ_jj (Σ⁻¹)_jj = 1/(1 − R²_j), with R² of column j given the other columns.

        1 for columns that are not used.
        """
        precision = np.einsum("cij,cij->cj", self.whitener, self.whitener)
        variance = np.diagonal(self.covariance_, axis1=1, axis2=2)
        return np.where(self.used, variance * precision, 1.0)

    def squared_distance(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """(n, C) (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)."""
        out = into(out, (len(block), len(self.pivot)))
        if self._stacked is None:
            return self._squared_distance_far(block, out)
        pivot, tables, shift = self._stacked
        C, d = shift.shape
        step = min(len(block), max(16, ROWS_CELLS // max(d, 1)))
        Z, D = np.empty((d, step + PADDING)), np.empty((C, step))
        Y = np.empty(max((len(table) for _, table in tables), default=0) * step)
        for start in range(0, len(block), step):
            rows = block[start : start + step]
            m = len(rows)
            z, squares = Z[:, :m], D[:, :m]
            kernels.centre_columns(rows, pivot, z)
            squares[:] = 0.0
            for first, table in tables:
                y = Y[: len(table) * m].reshape(len(table), m)
                np.matmul(table, z[first:], out=y)
                part = shift[:, first : first + len(table) // len(self.whitener)]
                if self.shared:
                    for c in range(C):
                        kernels.add_squares(y, part[c : c + 1], squares[c : c + 1])
                else:
                    kernels.add_squares(y, part, squares)
            out[start : start + m] = squares.T
        return out

    @cached_property
    def _stacked(self) -> tuple[np.ndarray, list[tuple[int, np.ndarray]], np.ndarray] | None:
        """One pivot (d,), strips of the triangular whiteners, and the whitened means (C, d).

        R of W = QR is a triangular whitener, because RᵀR = WᵀW. A strip of w of its rows that
        starts at row s has zeros before column s. A strip is (s, table), where the table
        (C · w or w, d − s) has these rows of all classes. Matrix products with all strips give the
        distances to all classes. None if the classes are more than 10⁴ standard deviations apart,
        because the products would lose digits.
        """
        pivot, means = self.about_one_pivot
        triangles = np.asarray(np.linalg.qr(self.whitener, mode="r"))  # (C or 1, d, d)
        shift = np.einsum(
            "cij,cj->ci", np.broadcast_to(triangles, (len(means), *triangles.shape[1:])), means
        )
        if not (shift**2).sum(axis=1).max(initial=0.0) <= 1e8:
            return None
        d = len(pivot)
        width = max(1, -(-d // min(MOST_STRIPS, max(1, d // 8))))
        tables = [
            (
                first,
                np.ascontiguousarray(triangles[:, first : first + width, first:]).reshape(
                    -1, d - first
                ),
            )
            for first in range(0, d, width)
        ]
        return pivot, tables, shift

    def _squared_distance_far(self, block: np.ndarray, out: np.ndarray) -> np.ndarray:
        """(n, C) squared distances, class by class, for classes that are far apart."""
        Z, Y, norm = np.empty(block.shape), np.empty(block.shape), np.empty((len(block), 1))
        centred = np.zeros((1, block.shape[1]))
        for c in range(len(self.pivot)):
            kernels.centre_rows(block, self.pivot[c], self.offset[c], Z)
            np.matmul(Z, self.whitener[0 if self.shared else c].T, out=Y)
            kernels.shifted_norms(Y, centred, 0, norm)
            out[:, c] = norm[:, 0]
        return out

    def log_density(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        out = self.squared_distance(block, out)
        out += self.used.sum() * LOG_2PI + self.log_det
        out *= -0.5
        if self._needs_marginals(out):
            rows, new = by_pattern(block, out)
            squares, level = self._marginals.distances(self, block, rows, new)
            out[rows] = -0.5 * (squares + level)
        return out

    def log_ratio(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        if not self.shared or self.far_apart:
            return self.log_density(block, out)
        out = self.linear_scores(block, out)
        if self._needs_marginals(out):
            self._marginals.linear_scores(self, block, *by_pattern(block, out), out)
        return out

    def _needs_marginals(self, scores: np.ndarray) -> bool:
        """Whether some rows have missing cells and are scored by their marginals."""
        return self.marginalise and bool(np.isnan(scores).any())

    @cached_property
    def _marginals(self) -> Marginals:
        return Marginals.of(self)

    def solve(self, shift: np.ndarray) -> np.ndarray:
        W = self.whitener[0]
        return (shift @ W.T) @ W

    def mahalanobis(self, block: np.ndarray) -> np.ndarray:
        squares = self.squared_distance(block)
        if self._needs_marginals(squares):
            rows, new = by_pattern(block, squares)
            squares[rows] = self._marginals.distances(self, block, rows, new)[0]
        return np.sqrt(squares)

    def contributions(self, block: np.ndarray) -> np.ndarray:
        return self.attribution(block, AttributionRequest()).parts

    def attribution(self, block: np.ndarray, request: AttributionRequest) -> Attribution:
        return gaussian_attribution(self, block, request)

    @cached_property
    def shapley_forms(self) -> dict[bytes, Any]:
        """The quadratic forms of the Shapley values of the columns, by the players."""
        return {}

    @cached_property
    def shapley_marginals(self) -> dict[bytes, FullParams]:
        """The marginals of some columns, for rows with missing cells."""
        return {}

    @cached_property
    def precision(self) -> np.ndarray:
        """(C or 1, d, d) Σ⁻¹."""
        return np.swapaxes(self.whitener, 1, 2) @ self.whitener

    @cached_property
    def root(self) -> np.ndarray:
        """(C or 1, d, d) A with A Aᵀ = Σ, the inverse of the whitener; used to draw samples."""
        out = np.zeros_like(self.whitener)
        at = np.ix_(np.flatnonzero(self.used), np.flatnonzero(self.used))
        for c, W in enumerate(self.whitener):
            out[c][at] = np.linalg.inv(W[at])
        return out

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        out = rng.standard_normal((len(classes), self.pivot.shape[1]))
        for c in np.unique(classes):
            at = classes == c
            out[at] = self.pivot[c] + (
                self.offset[c] + out[at] @ self.root[0 if self.shared else c].T
            )
        return out

    @cached_property
    def conditionals(self) -> FullConditionals:
        return FullConditionals(self)

    def marginal(self, columns: np.ndarray) -> FullParams:
        covariance = self.covariance_[np.ix_(np.arange(len(self.covariance_)), columns, columns)]
        return make_params(
            self.pivot[:, columns], self.offset[:, columns], covariance,
            self.share, self.used[columns], self.shared, marginalise=self.marginalise,
        )  # fmt: skip

    def log_likelihood(self, statistic: Moments) -> np.ndarray:
        if statistic.layout != "full":
            raise VerosimError(
                "The likelihood of each class needs sums per class, and this model has only the "
                "sums over all classes.",
                "Compare models by their predictions on held-out rows.",
            )
        about = statistic.about(self.pivot)
        W, S, M = (about.arrays[name][:, 0] for name in ("weight", "sum", "scatter"))
        cross = S[:, :, None] * self.offset[:, None, :]
        scatter = (
            M
            - cross
            - np.swapaxes(cross, 1, 2)
            + W[:, None, None] * (self.offset[:, :, None] * self.offset[:, None, :])
        )
        quadratic = (scatter * self.precision).sum(axis=(1, 2))
        return -0.5 * (W * (self.used.sum() * LOG_2PI + self.log_det) + quadratic)

    def covariances(self) -> np.ndarray:
        return self.covariance_[0] if self.shared else self.covariance_

    @property
    def variances(self) -> np.ndarray:
        return np.diagonal(self.covariance_, axis1=1, axis2=2)

    def estimates(self, statistic: Any, j: int, most: int) -> Estimates:
        variance = np.broadcast_to(self.variances, self.pivot.shape)[:, j]
        weight = statistic.weight[:, 0]
        if statistic.complete is None:  # some cells are missing
            weight = statistic.available().arrays["cells"][:, 0, j]
        return Estimates.of_gaussian(self.means[:, j], variance, weight)

    def precision_of(self, k: int) -> tuple[np.ndarray, float]:
        at = 0 if self.shared else k
        return self.precision[at], float(self.log_det[at])

    def terms(self) -> tuple[QuadraticTerm, ...]:
        at = np.flatnonzero(self.used)
        if not len(at):
            return ()
        pivot, offset = self.pivot, self.offset
        if self._stacked is not None:  # the scores are computed from one pivot
            pivot, offset = np.broadcast_arrays(*self.about_one_pivot)
        block = (slice(None), at[:, None], at)
        return (
            QuadraticTerm(
                tuple(at.tolist()), pivot[:, at], offset[:, at], self.covariance_[block],
                self.whitener[block], self.log_det,
            ),
        )  # fmt: skip

    def ratio_terms(self) -> tuple[Term, ...]:
        if self.linear_form is not None:
            return super().ratio_terms()
        return tuple(term.for_complete_rows() for term in self.terms())

    def expansion(self, statistic: Statistic) -> Expansion:
        """The features z and, if each class has its own covariance, all products z_i z_j."""
        columns = statistic.axes.columns
        names, scale = tuple(columns), self.deviations
        pivot, centre, shift = self.reference
        if self.shared:
            return Deviations(names, *self.linear, scale, pivot, centre, columns, False)
        i, j = np.triu_indices(len(names))
        rows, constants = [], []
        for k in range(len(shift)):
            precision, log_det = self.precision_of(k)
            linear = precision @ shift[k]
            products = -0.5 * precision[i, j] * np.where(i == j, 1.0, 2.0)
            rows.append(np.concatenate([linear, products]))
            constants.append(-0.5 * log_det - 0.5 * float(shift[k] @ linear))
        pairs = tuple(f"{names[a]}²" if a == b else f"{names[a]}·{names[b]}"
                      for a, b in zip(i.tolist(), j.tolist(), strict=True))  # fmt: skip
        return SquaresAndProducts(
            names + pairs, np.array(rows), np.array(constants),
            np.concatenate([scale, scale[i] * scale[j]]), pivot, centre, columns, False,
        )  # fmt: skip

    def expected(self, block: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
        """The rows with each missing cell replaced by its expected value.

            E[x_m | x_o] = Σ_k p(k | x_o) (μ_km + B_k (x_o − μ_ko)),   B_k = Σ_mo Σ_oo⁻¹

        where o are the columns with values and m the missing ones. Without `marginalise` the rows
        are returned unchanged.
        """
        if not self.marginalise or not np.isnan(block).any():
            return block
        scores = self.log_ratio(block) + log_prior
        posterior = np.exp(scores - scores.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        pivot, shift = self.about_one_pivot
        out = block.astype(np.float64)
        for at, seen in rows_by_pattern(block):
            hidden = np.setdiff1d(np.arange(len(pivot)), seen)
            seen = seen[self.used[seen]]
            rows, filled = out[np.ix_(at, seen)], np.zeros((len(at), len(hidden)))
            for c in np.flatnonzero(log_prior > -np.inf).tolist():
                sigma = self.covariance_[0 if self.shared else c]
                B = np.linalg.solve(sigma[np.ix_(seen, seen)], sigma[np.ix_(seen, hidden)]).T
                z = (rows - self.pivot[c, seen]) - self.offset[c, seen]
                filled += posterior[at, c, None] * (shift[c, hidden] + z @ B.T)
            out[np.ix_(at, hidden)] = pivot[hidden] + filled
        return out


def make_params(
    pivot: np.ndarray,
    offset: np.ndarray,
    covariance: np.ndarray,
    share: np.ndarray,
    used: np.ndarray,
    shared: bool,
    factors: list[Factor] | None = None,
    marginalise: bool = False,
) -> FullParams:
    """Parameters from covariances: factor the used columns, and fill the others with zeros."""
    C, d = len(covariance), pivot.shape[1]
    at = np.flatnonzero(used)
    if factors is None:
        nothing = np.zeros(len(at))
        found = [factor(sigma[np.ix_(at, at)], nothing) for sigma in covariance]
        factors = [f for f in found if f is not None]
        assert len(factors) == C
    whitener = np.zeros((C, d, d))
    for c, f in enumerate(factors):
        whitener[c][np.ix_(at, at)] = f.whitener
    log_det = np.array([f.log_det for f in factors])
    return FullParams(
        pivot, offset, covariance, whitener, log_det, share, used, shared, marginalise
    )
