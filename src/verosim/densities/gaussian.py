"""Gaussians with diagonal covariances: one per class (naive Bayes) or one for all (naive LDA).

    log p(x | k) = −½ Σ_j [ log 2πσ²_kj + (x_j − μ_kj)² / σ²_kj ]

The mean is stored as pivot + offset, and x − μ is computed as (x − pivot) − offset, which is exact
far from zero. Missing cells are skipped, which gives the exact marginal.
Reference: Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, §6.6.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim import kernels
from verosim.cached import cached_property
from verosim.data import SparseRows
from verosim.densities.base import Density, into
from verosim.densities.central import LEAST_FREEDOM, Centred, at_most_one_row, check_scale
from verosim.densities.located import Located
from verosim.errors import SingularWarning, listed, warn
from verosim.kernels.constants import LOG_2PI
from verosim.linalg import EPS, padded
from verosim.stats import Moments

if TYPE_CHECKING:
    from verosim.densities.conditionals import DiagonalConditionals
    from verosim.densities.estimates import Estimates
    from verosim.densities.features import Expansion
    from verosim.densities.leave_one_out import Scorer
    from verosim.densities.terms import Term


@dataclass(frozen=True)
class DiagonalParams(Located):
    """Means and variances of each class and column."""

    pivot: np.ndarray  # (C, d)
    offset: np.ndarray  # (C, d)
    variance: np.ndarray  # (C, d); 0 for a constant column, which is not used
    share: np.ndarray  # (C,) share of each class in the total weight
    shared: bool  # one variance for all classes
    covariance_form = "diagonal"

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        # Constant columns have no parameters.
        C, d = len(self.pivot), int((self.variance > 0).any(axis=0).sum())
        return C * d + (d if self.shared else C * d)

    @cached_property
    def precision(self) -> np.ndarray:
        """(C, d) 1/σ²; 0 for a constant column."""
        used = self.variance > 0
        return np.where(used, 1 / np.where(used, self.variance, 1), 0.0)

    @cached_property
    def log_cell(self) -> np.ndarray:
        """(C, d) −½ log 2πσ²; 0 for a constant column."""
        used = self.variance > 0
        return np.where(used, -0.5 * (LOG_2PI + np.log(np.where(used, self.variance, 1))), 0.0)

    def log_density(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = into(out, (len(block), len(self.pivot)))
        if not isinstance(block, SparseRows):
            kernels.score_diagonal(block, *self._arrays, out)
        elif self._zero_is_far:  # the sparse form loses digits
            for rows, dense in block.dense_blocks():
                self.log_density(dense, out[rows])
        else:
            kernels.score_diagonal_sparse(
                block.data, block.indices, block.indptr,
                self.means, self.precision, self.log_cell, self._log_zero, out,
            )  # fmt: skip
        return out

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays of `kernels.score_diagonal` after the rows."""
        return *self._places, self.precision, self.log_cell, self.log_cell.sum(axis=1)

    @cached_property
    def _log_zero(self) -> np.ndarray:
        """(C,) the log density of a row of zeros."""
        return (self.log_cell - 0.5 * self.means**2 * self.precision).sum(axis=1)

    def _prepare_density(self) -> bool:
        for name in ("_arrays", "_log_zero", "_zero_is_far"):
            getattr(self, name)
        return True

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Pivots (C, d) and offsets (C, d) of the means.

        There is one pivot (1, d) if all pivots are within 10⁴ standard deviations of it.
        """
        pivot, shift = self.about_one_pivot
        if ((self.pivot - pivot) ** 2 * self.precision).max(initial=0.0) < 1e8:
            return pivot[None], shift
        return self.pivot, self.offset

    @cached_property
    def _zero_is_far(self) -> bool:
        """Whether zero is more than 100 standard deviations from some mean."""
        return bool((self.means**2 * self.precision).max(initial=0) > 1e4)

    def solve(self, shift: np.ndarray) -> np.ndarray:
        return shift * self.precision[0]

    def log_ratio(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        if not self.shared or self.far_apart:
            return self.log_density(block, out)
        if isinstance(block, SparseRows):
            if block.has_holes or self._zero_is_far:
                return self.log_density(block, out)
            return self._sparse_linear_scores(block, out)
        out = self.linear_scores(block, out)
        incomplete = np.isnan(out).any(axis=1)  # (n,)
        if incomplete.any():  # the linear form needs complete rows: use the marginal instead
            out[incomplete] = self.log_density(np.ascontiguousarray(block[incomplete]))
        return out

    def _sparse_linear_scores(self, block: SparseRows, out: np.ndarray | None) -> np.ndarray:
        """(n, C) linear scores of sparse rows without missing cells."""
        coef, bias = self.linear
        pivot, centre, _ = self.reference
        out = into(out, (len(block), len(coef)))
        kernels.score_sparse(
            block.data, block.indices, block.indptr, False, 0.0,
            padded(coef.T), np.empty((0, len(coef))), bias - coef @ (pivot + centre), out,
        )  # fmt: skip
        return out

    def mahalanobis(self, block: np.ndarray) -> np.ndarray:
        out = np.empty((len(block), len(self.pivot)))
        nothing = np.zeros_like(self.log_cell)
        kernels.score_diagonal(
            block, *self._places, self.precision, nothing, nothing[:, 0].copy(), out
        )
        return np.sqrt(np.maximum(-2 * out, 0))

    def contributions(self, block: np.ndarray) -> np.ndarray:
        z = (block[:, None, :] - self.pivot) - self.offset
        return np.where(np.isnan(z), 0.0, self.log_cell - 0.5 * z * z * self.precision)

    def sample(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal((len(classes), self.pivot.shape[1]))
        return self.pivot[classes] + (
            self.offset[classes] + noise * np.sqrt(self.variance[classes])
        )

    @property
    def conditionals(self) -> DiagonalConditionals:
        from verosim.densities.conditionals import DiagonalConditionals

        return DiagonalConditionals(self)

    def marginal(self, columns: np.ndarray) -> DiagonalParams:
        return DiagonalParams(
            self.pivot[:, columns], self.offset[:, columns], self.variance[:, columns],
            self.share, self.shared,
        )  # fmt: skip

    def log_likelihood(self, statistic: Moments) -> np.ndarray:
        about = statistic.about(self.pivot)
        W, S, Q = (about.arrays[name][:, 0] for name in ("cells", "sum", "square"))
        square = Q - 2 * self.offset * S + W * self.offset**2
        return (W * self.log_cell - 0.5 * square * self.precision).sum(axis=1)

    def covariances(self) -> np.ndarray:
        return self.variance[0] if self.shared else self.variance

    @property
    def variances(self) -> np.ndarray:
        return self.variance

    def estimates(self, statistic: Moments, j: int, most: int) -> Estimates:
        from verosim.densities.estimates import Estimates

        seen = statistic.arrays["cells"][:, 0, j]
        return Estimates.of_gaussian(self.means[:, j], self.variance[:, j], seen)

    def precision_of(self, k: int) -> tuple[np.ndarray, float]:
        used = self.variance[k] > 0
        return np.diag(self.precision[k]), float(np.log(self.variance[k][used]).sum())

    def terms(self) -> tuple[Term, ...]:
        from verosim.densities.terms import GaussianTerm

        pivot, offset = np.broadcast_arrays(*self._places)
        used = np.flatnonzero((self.variance > 0).any(axis=0)).tolist()
        return tuple(
            GaussianTerm((j,), pivot[:, j], offset[:, j], self.precision[:, j], self.log_cell[:, j])
            for j in used
        )

    def expansion(self, statistic: Moments) -> Expansion:
        """The features z and, if each class has its own variances, z², and one mark per column.

        The weight of the mark of a missing cell cancels the constant term of its column.
        """
        from verosim.densities.features import MISSING_FEATURE, Deviations, Squares

        columns = statistic.axes.columns
        names, scale = tuple(columns), self.deviations
        pivot, centre, shift = self.reference
        linear = self.precision * shift  # (C, d)
        constant = -0.5 * linear * shift + (0.0 if self.shared else self.log_cell)
        marks, ones = tuple(MISSING_FEATURE.format(name) for name in names), np.ones(len(names))
        if self.shared:
            return Deviations(
                names + marks, np.hstack([linear, -constant]), constant.sum(axis=1),
                np.concatenate([scale, ones]), pivot, centre, columns, True,
            )  # fmt: skip
        return Squares(
            names + tuple(f"{name}²" for name in names) + marks,
            np.hstack([linear, -0.5 * self.precision, -constant]), constant.sum(axis=1),
            np.concatenate([scale, scale**2, ones]), pivot, centre, columns, True,
        )  # fmt: skip


@dataclass(frozen=True)
class DiagonalGaussian(Density):
    """Gaussians with one variance per class and column, or one per column for all classes.

    With shrinkage a, the variance of column j is (1 − a) σ²_j + a · mean of σ² over the columns.
    """

    shared: bool = False
    covariance: str = "mle"  # "mle" divides by W; "unbiased" by W − 1, or W − C if shared
    shrinkage: float | str | None = None  # a, or a name if a is estimated
    floor: float = 1e-9  # smallest variance, as a share of the total variance of the column

    has_independent_columns = True

    @property
    def is_additive(self) -> bool:
        return self.shrinkage is None  # shrinkage uses the mean variance of all columns

    def checks(self, statistic: Moments) -> bool:
        check_scale(statistic)
        if statistic.axes.groups.folds != 1:
            return False
        rows, weight, cells = (statistic.arrays[name][:, 0] for name in ("rows", "weight", "cells"))
        few = at_most_one_row(rows, weight, cells) | ~self._has_freedom(cells)
        if few.any() and (few & (cells > 0)).any():
            return False
        return bool(statistic.squares()[:, 0].any(axis=-1).all())  # else all rows are the pivot

    def estimate(self, statistic: Moments) -> DiagonalParams:
        moments = Centred(statistic)
        self._report(moments, statistic)
        return self.from_moments(moments)

    def _report(self, moments: Centred, statistic: Moments) -> None:
        """Warn of the classes that have too few rows for variances of their own."""
        some = (moments.weight > 0) & (moments.total_variance > 0)  # (C, d)
        few = some & ~self._own(moments)
        if self.shared:  # one class with two rows is enough
            few &= few.sum(axis=0) == some.sum(axis=0)
        if not few.any():
            return
        name, label = statistic.axes.columns.name, statistic.axes.groups.name
        classes = np.flatnonzero(few.any(axis=1)).tolist()
        lines = []
        for c in classes[:3]:
            rows = int(statistic.rows[c, 0])
            shown = f"{rows:,} equal rows" if rows > 1 else f"{rows} row"
            if (few[c] != some[c]).any():
                which = listed([name(j) for j in np.flatnonzero(few[c]).tolist()])
                shown = f"1 row with values in {which}"
            lines.append(f"class {label(c)} ({shown})")
        if len(classes) > 3:
            lines.append(f"{len(classes) - 3} more classes")
        warn(
            f"Too few rows for a variance: {', '.join(lines)}. The variance within all classes "
            "together is used there, or `floor` times the total variance if that is larger.",
            SingularWarning,
        )

    def from_moments(self, moments: Centred) -> DiagonalParams:
        """The parameters from one set of sums, or from several sets of shape (…, C, d)."""
        total = moments.class_weight.sum(axis=-1, keepdims=True)
        share = moments.class_weight / np.where(total > 0, total, 1.0)
        return DiagonalParams(
            moments.pivot, moments.offset, self.variances(moments), share, self.shared
        )

    def leave_one_out(self, statistic: Moments) -> Scorer:
        from verosim.densities.leave_one_out import diagonal

        return diagonal.gaussian(self, statistic)

    def _has_freedom(self, weight: np.ndarray) -> np.ndarray:
        """Whether a sum of squares of this weight has degrees of freedom."""
        found: np.ndarray = weight - (self.covariance == "unbiased") > LEAST_FREEDOM * weight
        return found

    def _own(self, moments: Centred) -> np.ndarray:
        """(…, C, d) whether a class has a variance of its own: two rows with a value, or more."""
        return self._has_freedom(moments.weight) & ~moments.alone

    def variances(self, moments: Centred) -> np.ndarray:
        """(…, C, d) the variances from one or several sets of sums; 0 for constant columns."""
        W, squares = moments.weight, moments.squares
        lost = float(self.covariance == "unbiased")
        everyone = W.sum(axis=-2, keepdims=True)  # (…, 1, d)
        freedom = everyone - lost * (W > 0).sum(axis=-2, keepdims=True)
        freedom = np.where(freedom > LEAST_FREEDOM * everyone, freedom, everyone)
        own = np.zeros(W.shape, dtype=bool) if self.shared else self._own(moments)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A class without degrees of freedom has the variance within all classes together.
            variance = squares.sum(axis=-2, keepdims=True) / freedom
            noise = moments.noise.sum(axis=-2, keepdims=True) / everyone
            variance = np.where(own, squares / (W - lost), variance)
            noise = np.where(own, moments.noise / W, noise)
        variance[~np.isfinite(variance)] = 0.0
        total = moments.total_variance[..., None, :]  # (…, 1, d)
        used = total > 0
        rows = np.where(own, W, everyone)  # (…, C, d) the rows behind each variance
        variance = self._shrunk(variance, rows, moments, used)
        variance = np.maximum(variance, self.floor * total)
        variance = np.where(variance > 0, variance, EPS * total)  # positive even with floor 0
        variance = np.maximum(variance, np.where(np.isfinite(noise), noise, 0.0))
        # A class without values in a column gets the total variance of the column.
        if not self.shared:
            variance = np.where(W > 0, variance, total)
        return np.where(used, variance, 0.0)

    def _shrunk(
        self, variance: np.ndarray, rows: np.ndarray, moments: Centred, used: np.ndarray
    ) -> np.ndarray:
        """(1 − a) σ² + a · mean of σ², over the used columns in which a class has values."""
        at = np.flatnonzero(used.any(axis=tuple(range(used.ndim - 1))))
        if self.shrinkage is None or not len(at):
            return variance
        v, rows, seen = (np.take(array, at, axis=-1) for array in (variance, rows, used))
        if self.shared:
            v, rows = v[..., :1, :], rows[..., :1, :]
        else:
            seen = seen & (np.take(moments.weight, at, axis=-1) > 0)
        v = np.where(seen, v, 0.0)
        count = np.maximum(seen.sum(axis=-1, keepdims=True), 1)
        mean = v.sum(axis=-1, keepdims=True) / count  # (…, C, 1)
        apart = np.where(seen, v - mean, 0.0)
        a = self.intensity(v, apart, rows)[..., None]
        out = variance.copy()
        out[..., at] = np.where(seen, (1 - a) * v + a * mean, variance[..., at])
        return out

    def intensity(self, variance: np.ndarray, apart: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The shrinkage a that minimises the expected squared error.

            a = Σ_j Var(σ̂²_j) / Σ_j (σ̂²_j − mean)²,   Var(σ̂²) = 2σ⁴/n for a Gaussian

        This is the ratio of Ledoit and Wolf for a diagonal matrix, with the fourth moment of a
        Gaussian. `variance`, its difference `apart` from the mean and the number of `rows` behind
        it have shape (…, d).
        """
        if not isinstance(self.shrinkage, str):
            assert self.shrinkage is not None
            return np.asarray(float(self.shrinkage))
        unit = variance.max(axis=-1, keepdims=True, initial=0.0)  # squares do not overflow
        unit = np.where(unit > 0, unit, 1.0)
        spread = 2 * ((variance / unit) ** 2 / np.maximum(rows, 1)).sum(axis=-1)
        distance = ((apart / unit) ** 2).sum(axis=-1)
        close = distance <= spread
        return np.where(close, 1.0, spread / np.where(close, 1.0, distance))
