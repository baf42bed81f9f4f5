"""Gaussians with full covariance: QDA, LDA and everything between them (RDA).

    log p(x | k) = −½ [ d log 2π + log|Σ_k| + (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) ]
    Σ_k(λ) = ((1 − λ) S_k + λ S) / ((1 − λ) W_k + λ W)          pooling λ
    Σ_k(λ, γ) = (1 − γ) Σ_k(λ) + γ (tr Σ_k(λ)/d) I              sphericity γ

with S_k the scatter of class k about its mean and S their sum. λ = 0 is QDA, λ = 1 LDA.
Reference: Friedman (1989), Regularized discriminant analysis.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from verosim import kernels
from verosim.data.batch import BLOCK_CELLS
from verosim.densities.base import Density, into
from verosim.densities.central import FREE, SEPARATOR, Scatter
from verosim.densities.gaussian import LOG_2PI, Located
from verosim.densities.holes import Marginals, by_pattern, holes
from verosim.errors import SingularWarning, VerosimError, listed, warn
from verosim.linalg import (
    EPS,
    Factor,
    Spectrum,
    dependent_columns,
    factor,
    ledoit_wolf,
    oas,
    sphere,
)
from verosim.stats import Moments, Statistic

Trouble = dict[int | None, np.ndarray]  # singular classes (None: pooled), their columns to blame


@dataclass(frozen=True)
class FullParams(Located):
    pivot: np.ndarray  # (C, d)
    offset: np.ndarray  # (C, d)
    covariance_: np.ndarray  # (C or 1, d, d)
    whitener: np.ndarray  # (C or 1, d, d), zero rows for columns left out
    log_det: np.ndarray  # (C or 1,)
    share: np.ndarray  # (C,)
    used: np.ndarray  # (d,) bool: False for constant columns
    shared: bool  # one covariance for all classes
    marginalise: bool = False

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        C, d = len(self.pivot), int(self.used.sum())  # constant columns have none
        return C * d + len(self.whitener) * d * (d + 1) // 2

    def squared_distance(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """(n, C) (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)."""
        out = into(out, (len(block), len(self.pivot)))
        if self._stacked is None:
            return self._squared_distance_far(block, out)
        pivot, table, shift = self._stacked
        d = len(pivot)
        step = min(len(block), max(16, BLOCK_CELLS // table.shape[1]))
        Z, Y = np.empty((step, d)), np.empty((step, table.shape[1]))
        for start in range(0, len(block), step):
            rows = block[start : start + step]
            z, y = Z[: len(rows)], Y[: len(rows)]
            kernels.centre_rows(rows, pivot, np.zeros(d), z)
            np.matmul(z, table, out=y)
            stride = 0 if self.shared else d
            kernels.shifted_norms(y, shift, stride, out[start : start + step])
        return out

    @cached_property
    def _stacked(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """One pivot, all whiteners side by side and the whitened means: one product serves all.

        None where classes lie so far apart, 10⁴ deviations, that it would cost digits.
        """
        pivot, means = self.about_one_pivot
        whiteners = np.broadcast_to(self.whitener, (len(means), *self.whitener.shape[1:]))
        shift = np.einsum("cij,cj->ci", whiteners, means)
        if (shift**2).sum(axis=1).max(initial=0.0) > 1e8:
            return None
        table = np.concatenate([W.T for W in self.whitener], axis=1)
        return pivot, np.ascontiguousarray(table), shift

    def _squared_distance_far(self, block: np.ndarray, out: np.ndarray) -> np.ndarray:
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
        if self._has_holes(out):
            rows, new = by_pattern(block, out)
            squares, level = self._marginals.distances(self, block, rows, new)
            out[rows] = -0.5 * (squares + level)
        return out

    def log_ratio(self, block: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        if not self.shared or self.far_apart:
            return self.log_density(block, out)
        out = self.linear_scores(block, out)
        if self._has_holes(out):
            self._marginals.linear_scores(self, block, *by_pattern(block, out), out)
        return out

    def _has_holes(self, scores: np.ndarray) -> bool:
        return self.marginalise and bool(np.isnan(scores).any())

    @cached_property
    def _marginals(self) -> Marginals:
        return Marginals.of(self)

    def solve(self, shift: np.ndarray) -> np.ndarray:
        W = self.whitener[0]
        return (shift @ W.T) @ W

    def mahalanobis(self, block: np.ndarray) -> np.ndarray:
        squares = self.squared_distance(block)
        if self._has_holes(squares):
            rows, new = by_pattern(block, squares)
            squares[rows] = self._marginals.distances(self, block, rows, new)[0]
        return np.sqrt(squares)

    def contributions(self, block: np.ndarray) -> np.ndarray:
        if self.marginalise and np.isnan(block).any():
            out = np.zeros((len(block), *self.pivot.shape))
            for at, seen in holes(block):
                if not len(seen):
                    continue
                rest = np.ascontiguousarray(block[np.ix_(at, seen)])
                part = self.marginal(seen).contributions(rest)
                out[at[:, None, None], np.arange(len(self.pivot))[:, None], seen] = part
            return out
        z = (block[:, None, :] - self.pivot) - self.offset  # (n, C, d)
        quadratic = z * np.einsum("ncj,cjk->nck", z, np.broadcast_to(
            self.precision, (len(self.pivot), *self.precision.shape[1:])))  # fmt: skip
        level = (self.used.sum() * LOG_2PI + self.log_det) / block.shape[1]  # (C or 1,)
        return -0.5 * (quadratic + level[:, None])

    @cached_property
    def precision(self) -> np.ndarray:
        """(C or 1, d, d) Σ⁻¹."""
        return np.swapaxes(self.whitener, 1, 2) @ self.whitener

    @cached_property
    def root(self) -> np.ndarray:
        """(C or 1, d, d) A with A Aᵀ = Σ, for sampling: the inverse of the whitener."""
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

    def marginal(self, columns: np.ndarray) -> FullParams:
        covariance = self.covariance_[np.ix_(np.arange(len(self.covariance_)), columns, columns)]
        return make_params(
            self.pivot[:, columns], self.offset[:, columns], covariance,
            self.share, self.used[columns], self.shared, marginalise=self.marginalise,
        )  # fmt: skip

    def log_likelihood(self, statistic: Moments) -> np.ndarray:
        if statistic.layout != "full":
            raise VerosimError("Only the scatter of each class gives its likelihood.")
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
    """Factor the covariances over the used columns and lay the whiteners out over all."""
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


class Shared:
    """What several settings of one statistic have in common: its scatter and its spectra."""

    def __init__(self, statistic: Moments) -> None:
        self.scatter = Scatter(statistic)
        self._spectra: dict[Hashable, Spectrum] = {}

    def spectrum(self, key: Hashable, covariance: np.ndarray) -> Spectrum:
        """One eigendecomposition, which serves every shrinkage of that covariance."""
        if key not in self._spectra:
            self._spectra[key] = Spectrum.of(covariance)
        return self._spectra[key]


@dataclass(frozen=True)
class FullGaussian(Density):
    """One family for QDA (pooling 0), LDA (pooling 1) and Friedman's square between them."""

    pooling: float = 0.0
    covariance: str = "mle"
    shrinkage: float | str | None = None  # sphericity
    floor: float = 0.0
    on_singular: str = "fallback"
    missing: str = "error"

    def estimate(self, statistic: Moments, shared: Shared | None = None) -> FullParams:
        trouble: Trouble = {}
        params = self.solve(statistic, trouble, shared)
        self.report(params, statistic, trouble)
        return params

    def solve(
        self, statistic: Moments, trouble: Trouble, shared: Shared | None = None
    ) -> FullParams:
        """The parameters. What was singular, and so fell back, is put in `trouble`; what already
        is there falls back whether or not it is singular this time."""
        scatter = Scatter(statistic) if shared is None else shared.scatter
        one = self.pooling == 1
        present: list[int] = np.flatnonzero(scatter.present).tolist()
        wanted: list[int | None] = [None] if one else [*present]
        used = scatter.total_variance > 0
        d = len(used)
        C = 1 if one else len(scatter.present)
        covariances = np.tile(np.eye(d), (C, 1, 1))  # of a class with no rows, never used
        factors = [Factor(np.eye(int(used.sum())), 0.0)] * C
        for c in wanted:
            at = c or 0
            sigma, found = self._class_covariance(scatter, c, used, trouble, shared)
            covariances[at], factors[at] = sigma, found
        share = scatter.class_weight / scatter.class_weight.sum()
        return make_params(
            scatter.pivot, scatter.offset, covariances, share, used, one, factors,
            self.missing == "marginalise",
        )  # fmt: skip

    def _class_covariance(
        self,
        scatter: Scatter,
        c: int | None,
        used: np.ndarray,
        trouble: Trouble,
        shared: Shared | None,
    ) -> tuple[np.ndarray, Factor]:
        S, W, freedom, peak = scatter.mix(c, self.pooling, self.covariance)
        at = np.flatnonzero(used)
        square = np.ix_(at, at)
        diagonal = S.diagonal()
        least = EPS * peak  # the rounding error in a sum of squares, to a small factor
        known = diagonal > 16 * least
        noise = np.where(known, np.maximum(EPS, least / np.where(known, diagonal, 1.0)), 1.0)
        S = np.where(known[:, None] & known, S, 0.0)
        sigma = S / freedom if freedom > FREE * W else np.zeros_like(S)
        found = None
        if self.shrinkage is not None and len(at) and W > 0:
            plain, a = sigma[square], self._intensity(scatter, c, S[square] / W, W)
            sigma[square] = sphere(plain, a)
            if shared is not None and self.floor == 0:
                found = shared.spectrum((c, self.pooling, self.covariance), plain).factor(a)
        if self.floor > 0:
            least = self.floor * scatter.total_variance
            sigma.flat[:: len(S) + 1] = np.maximum(sigma.diagonal(), least)
        shrunk = self.shrinkage is not None or self.floor > 0
        if found is None:
            found = factor(sigma[square], np.full(len(at), EPS) if shrunk else noise[at])
        if found is None or c in trouble:
            if c not in trouble:
                trouble[c] = at[dependent_columns(sigma[square], noise[at])]
            # As if d more rows had been seen whose covariance is the pooled diagonal.
            a = len(at) / (W + len(at))
            fallback = scatter.pooled_variance(self.covariance)
            sigma = (1 - a) * sigma
            diagonal = sigma.diagonal() + a * fallback
            sigma.flat[:: len(S) + 1] = np.maximum(diagonal, SEPARATOR * scatter.total_variance)
            found = factor(sigma[square], np.zeros(len(at)))
            if found is None:  # not even so: keep the diagonal alone
                sigma = np.diag(np.maximum(sigma.diagonal(), fallback))
                found = factor(sigma[square], np.zeros(len(at)))
        assert found is not None
        return sigma, found

    def _intensity(self, scatter: Scatter, c: int | None, mle: np.ndarray, W: float) -> float:
        if self.shrinkage == "oas":
            return oas(mle / scatter.scale, W)
        if self.shrinkage == "ledoit_wolf":
            quartic = scatter.mixed_quartic(c, self.pooling)
            return ledoit_wolf(mle / scatter.scale, W, quartic)
        assert self.shrinkage is not None
        return float(self.shrinkage)

    def report(
        self,
        params: FullParams,
        statistic: Statistic,
        trouble: Trouble,
        more: tuple[str, ...] = (),
    ) -> None:
        """One message for everything that was singular, naming classes and columns."""
        name, label = statistic.axes.columns.name, statistic.axes.groups.name
        weight, used = statistic.weight[:, 0], params.used
        lines = []
        if not used.all():
            constant = [name(j) for j in np.flatnonzero(~used).tolist()]
            lines.append(f"constant columns {listed(constant)} are left out")
        for c, columns in list(trouble.items())[:3]:
            whose = "the pooled covariance" if c is None else f"the covariance of class {label(c)}"
            rows = weight.sum() if c is None else weight[c]
            why = f"{rows:g} rows for {int(used.sum())} columns"
            if len(columns):
                which = listed([name(j) for j in columns.tolist()])
                why = f"{why}; constant or dependent: {which}"
            lines.append(f"{whose} is singular ({why})")
        if len(trouble) > 3:
            lines.append(f"so are those of {len(trouble) - 3} more classes")
        lines.extend(more)
        if not lines:
            return
        if self.on_singular == "raise":
            raise VerosimError(
                "; ".join(lines) + ".",
                'drop those columns, set shrinkage="ledoit_wolf", or on_singular="fallback".',
            )
        if trouble:
            lines.append("shrunk towards the pooled diagonal")
        warn("; ".join(lines) + ".", SingularWarning)
