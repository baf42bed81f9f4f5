"""Parameters of Gaussians with full covariances, one per class or one for all classes.

    log p(x | k) = −½ [ d log 2π + log|Σ_k| + (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) ]

Each Σ is stored with a whitener W, a matrix with W Σ Wᵀ = I, so that a squared distance is a sum of
squares. Rows with missing cells are scored by the exact marginal of the columns with values.
Reference: Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim import kernels
from verosim.cached import cached_property
from verosim.densities.base import into
from verosim.densities.located import Located
from verosim.errors import VerosimError
from verosim.kernels.constants import LOG_2PI, PANEL
from verosim.linalg import Factor, chosen_square, factor
from verosim.stats import Moments, Statistic

if TYPE_CHECKING:
    from verosim.densities.attribution import Attribution, AttributionRequest
    from verosim.densities.conditionals import FullConditionals
    from verosim.densities.estimates import Estimates
    from verosim.densities.features import Expansion
    from verosim.densities.missing_cells import Marginals
    from verosim.densities.terms import QuadraticTerm, Term


def panels_of(triangles: np.ndarray) -> np.ndarray:
    """(T, size) the rows of upper triangular matrices (T, d, d) in panels, column by column."""
    T, d, _ = triangles.shape
    whole = np.zeros((T, -(-d // PANEL) * PANEL, d))
    whole[:, :d] = np.triu(triangles)
    parts = [whole[:, i : i + PANEL, i:].swapaxes(1, 2).reshape(T, -1) for i in range(0, d, PANEL)]
    return np.concatenate([np.empty((T, 0)), *parts], axis=1)


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
        kernels.squared_distances(block, *self._stacked, out)
        return out

    @cached_property
    def _stacked(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """One pivot (d,), panels of the triangular whiteners, and the whitened means (C, d).

        R of W = QR is a triangular whitener, because RᵀR = WᵀW. None if the classes are more than
        10⁴ standard deviations apart, because the products would lose digits.
        """
        pivot, means = self.about_one_pivot
        triangles = np.asarray(np.linalg.qr(self.whitener, mode="r"))  # (C or 1, d, d)
        shift = np.einsum(
            "cij,cj->ci", np.broadcast_to(triangles, (len(means), *triangles.shape[1:])), means
        )
        if not (shift**2).sum(axis=1).max(initial=0.0) <= 1e8:
            return None
        return pivot, panels_of(triangles), shift

    @cached_property
    def has_compiled_ratio(self) -> bool:
        return not self.marginalise and super().has_compiled_ratio

    def _prepare_density(self) -> bool:
        return self._stacked is not None

    @cached_property
    def _level(self) -> np.ndarray:
        """(C or 1,) d log 2π + log|Σ| of the used columns."""
        return self.used.sum() * LOG_2PI + self.log_det

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
        out += self._level
        out *= -0.5
        if self._needs_marginals(out):
            from verosim.densities.missing_cells import by_pattern

            rows, new = by_pattern(block, out)
            squares, level = self._marginals.distances(self, block, rows, new)
            out[rows] = -0.5 * (squares + level)
        return out

    def log_ratio(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        if not self.shared or self.far_apart:
            return self.log_density(block, out)
        out = self.linear_scores(block, out)
        if self.marginalise and self._needs_marginals(out):
            from verosim.densities.missing_cells import by_pattern

            self._marginals.linear_scores(self, block, *by_pattern(block, out), out)
        return out

    def _needs_marginals(self, scores: np.ndarray) -> bool:
        """Whether some rows have missing cells and are scored by their marginals."""
        return self.marginalise and bool(np.isnan(scores).any())

    @cached_property
    def _marginals(self) -> Marginals:
        from verosim.densities.missing_cells import Marginals

        return Marginals.of(self)

    def solve(self, shift: np.ndarray) -> np.ndarray:
        W = self.whitener[0]
        return (shift @ W.T) @ W

    def mahalanobis(self, block: np.ndarray) -> np.ndarray:
        squares = self.squared_distance(block)
        if self._needs_marginals(squares):
            from verosim.densities.missing_cells import by_pattern

            rows, new = by_pattern(block, squares)
            squares[rows] = self._marginals.distances(self, block, rows, new)[0]
        return np.sqrt(squares)

    def contributions(self, block: np.ndarray) -> np.ndarray:
        from verosim.densities.attribution import AttributionRequest

        return self.attribution(block, AttributionRequest()).parts

    def attribution(self, block: np.ndarray, request: AttributionRequest) -> Attribution:
        from verosim.densities.gaussian_shapley import gaussian_attribution

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
            out[c][at] = _solved(W[at], np.eye(len(at[0])))
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
        from verosim.densities.conditionals import FullConditionals

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
        from verosim.densities.estimates import Estimates

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
        from verosim.densities.terms import QuadraticTerm

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
        from verosim.densities.features import Deviations, SquaresAndProducts

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
        from verosim.densities.missing_cells import rows_by_pattern

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
                B = _solved(sigma[np.ix_(seen, seen)], sigma[np.ix_(seen, hidden)]).T
                z = (rows - self.pivot[c, seen]) - self.offset[c, seen]
                filled += posterior[at, c, None] * (shift[c, hidden] + z @ B.T)
            out[np.ix_(at, hidden)] = pivot[hidden] + filled
        return out


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of linear equations; an error if a covariance is singular."""
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError as error:
        raise _singular() from error


def _singular() -> VerosimError:
    return VerosimError(
        "The covariance of a class is singular, so it has no inverse.",
        "Use shrinkage or a larger floor, and fit the model again.",
    )


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
        if len(factors) < C:
            raise _singular()
    whitener = np.zeros((C, d, d))
    square = chosen_square(at, d)
    for c, f in enumerate(factors):
        whitener[c][square] = f.whitener
    log_det = np.array([f.log_det for f in factors])
    return FullParams(
        pivot, offset, covariance, whitener, log_det, share, used, shared, marginalise
    )
