"""Gaussians with full covariances: QDA, LDA, and RDA, which is between them.

    log p(x | k) = −½ [ d log 2π + log|Σ_k| + (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) ]
    Σ_k(λ) = ((1 − λ) S_k + λ S) / ((1 − λ) W_k + λ W)          pooling λ
    Σ_k(λ, γ) = (1 − γ) Σ_k(λ) + γ (tr Σ_k(λ)/d) I              shrinkage γ

S_k is the scatter of class k about its mean, W_k its weight, and S and W are the sums over classes.
λ = 0 is QDA and λ = 1 is LDA. With pooling "auto" the pooled covariance S/W counts as d rows of
every class: its share in class k is d/(d + W_k).
Reference: Friedman (1989), Regularized discriminant analysis, Journal of the American Statistical
Association 84, 165–175.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from verosim.densities.base import Density, Params
from verosim.densities.central import LEAST_FREEDOM, SEPARATOR, Scatter
from verosim.densities.full_params import FullParams, make_params
from verosim.errors import PrecisionWarning, SingularWarning, VerosimError, listed, warn
from verosim.linalg import (
    EPS,
    Factor,
    Spectrum,
    chosen_square,
    dependent_columns,
    factor,
    ledoit_wolf,
    oas,
    sphere,
)
from verosim.stats import Moments, Statistic

if TYPE_CHECKING:
    from verosim.densities.leave_one_out import Scorer

# Singular classes (None for the pooled covariance), with the columns that make them singular.
Trouble = dict[int | None, np.ndarray]
NEARLY_DEPENDENT = 1e4  # 1/(1 − R²) of a column, given the others, from which it is reported
LEAST_DIGITS = 8  # with fewer correct digits, a nearly singular covariance is reported


@dataclass(frozen=True)
class Plain:
    """A covariance before shrinkage, with the numbers that it was computed from."""

    sigma: np.ndarray  # (d, d); zero where only rounding errors are left
    scatter: np.ndarray  # (d, d)
    weight: float
    noise: np.ndarray  # (d,) the share of each variance that is rounding error


class SharedScatter:
    """The scatter and the eigendecompositions that several settings of one statistic share."""

    def __init__(self, statistic: Moments, densities: Sequence[FullGaussian] = ()) -> None:
        self.scatter = Scatter(statistic)
        self._spectra: dict[Hashable, Spectrum] = {}
        self._plain: dict[Hashable, Plain] = {}
        self._mixtures = Counter((density.pooling, density.covariance) for density in densities)

    def plain(self, c: int | None, density: FullGaussian) -> Plain:
        """A covariance before shrinkage, computed once for all its shrinkages."""
        key = c, density.pooling, density.covariance
        if key not in self._plain:
            self._plain[key] = density.plain(self.scatter, c)
        return self._plain[key]

    def spectrum(
        self, c: int | None, density: FullGaussian, covariance: np.ndarray
    ) -> Spectrum | None:
        """The eigendecomposition of a covariance, computed once for all its shrinkages.

        It is None if there is only one shrinkage, for which a triangular factor is faster.
        """
        mixture = density.pooling, density.covariance
        if self._mixtures[mixture] < 2:
            return None
        key = c, *mixture
        if key not in self._spectra:
            self._spectra[key] = Spectrum.of(covariance)
        return self._spectra[key]


@dataclass(frozen=True)
class FullGaussian(Density):
    """Full Gaussians with Friedman's pooling and shrinkage; pooling 0 is QDA, pooling 1 is LDA."""

    pooling: float | str = 0.0  # λ, or "auto"
    covariance: str = "mle"  # "mle" or "unbiased"
    shrinkage: float | str | None = None  # γ, "ledoit_wolf" or "oas"
    floor: float = 0.0  # smallest variance, as a share of the total variance of the column
    on_singular: str = "fallback"
    missing: str = "error"

    def estimate(self, statistic: Moments, shared: SharedScatter | None = None) -> FullParams:
        trouble: Trouble = {}
        shared = SharedScatter(statistic) if shared is None else shared
        params = self.solve(statistic, trouble, shared)
        rounding: np.ndarray | float = EPS
        if is_nearly_dependent(params):
            rounding = self.rounding(params, shared.scatter)
        self.report(params, statistic, trouble, rounding=rounding)
        return params

    def estimate_quietly(
        self, statistic: Moments, shared: SharedScatter | None = None
    ) -> FullParams:
        if self.on_singular == "raise":
            return self.estimate(statistic, shared)  # it raises an error and never warns
        return self.solve(statistic, {}, shared)

    @classmethod
    def estimate_family(
        cls, densities: Sequence[Self], statistic: Moments, quiet: bool = False
    ) -> list[Params]:
        """Estimate several settings with one scatter and one eigendecomposition per covariance."""
        shared = SharedScatter(statistic, densities)
        return [
            (density.estimate_quietly if quiet else density.estimate)(statistic, shared)
            for density in densities
        ]

    def leave_one_out(self, statistic: Moments) -> Scorer:
        from verosim.densities.leave_one_out import full

        return full.scorer(self, statistic)

    def solve(
        self, statistic: Moments, trouble: Trouble, shared: SharedScatter | None = None
    ) -> FullParams:
        """Estimate the parameters, with a fallback for singular covariances.

        Singular covariances are added to `trouble`. A covariance that is already in `trouble` uses
        the fallback even if it is not singular now.
        """
        shared = SharedScatter(statistic) if shared is None else shared
        scatter = shared.scatter
        one = self.pooling == 1
        used = scatter.total_variance > 0
        d = len(used)
        C = 1 if one else len(scatter.present)
        covariances = np.empty((C, d, d))
        factors: list[Factor] = []
        for c in [None] if one else range(C):
            if c is None or scatter.present[c]:
                sigma, found = self._class_covariance(scatter, c, used, trouble, shared)
            else:  # it is not used: the class is empty
                sigma, found = np.eye(d), Factor(np.eye(int(used.sum())), 0.0)
            covariances[c or 0] = sigma
            factors.append(found)
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
        shared: SharedScatter,
    ) -> tuple[np.ndarray, Factor]:
        """The covariance (d, d) of class c, or the pooled one if c is None, and its factor."""
        plain = shared.plain(c, self)
        sigma, S, W, noise = plain.sigma, plain.scatter, plain.weight, plain.noise
        at = np.flatnonzero(used)
        square = chosen_square(at, len(used))
        found, spectrum, a = None, None, 0.0
        errors = noise * sigma.diagonal()  # (d,) rounding errors of the variances
        if self.shrinkage is not None and len(at) and W > 0:
            part = sigma[square]
            a, unsure = self.intensity(scatter, c, S[square], W)
            errors = (1 - a) * errors + unsure * np.trace(part) / len(at)
            if a > 0:
                sigma = sigma.copy()
                sigma[square] = sphere(part, a)
            if self.floor == 0:
                spectrum = shared.spectrum(c, self, part)
        if self.floor > 0:
            least = self.floor * scatter.total_variance
            sigma = sigma.copy()
            sigma.flat[:: len(S) + 1] = np.maximum(sigma.diagonal(), least)
        variance = sigma.diagonal()[at]
        noise = np.maximum(EPS, errors[at] / np.where(variance > 0, variance, np.inf))
        if spectrum is not None:
            found = spectrum.factor(a, noise)
        if found is None:
            found = factor(sigma[square], noise)
        if found is None or c in trouble:
            if c not in trouble:
                trouble[c] = at[dependent_columns(sigma[square], noise)]
            # This is the same as adding d rows with the pooled diagonal as covariance.
            a = len(at) / (W + len(at))
            fallback = scatter.pooled_variance(self.covariance)
            sigma = (1 - a) * sigma
            diagonal = sigma.diagonal() + a * fallback
            sigma.flat[:: len(S) + 1] = np.maximum(diagonal, SEPARATOR * scatter.total_variance)
            found = factor(sigma[square], np.zeros(len(at)))
            if found is None:  # still singular: use only the diagonal
                sigma = np.diag(np.maximum(sigma.diagonal(), fallback))
                found = factor(sigma[square], np.zeros(len(at)))
        assert found is not None
        return sigma, found

    def plain(self, scatter: Scatter, c: int | None) -> Plain:
        """The covariance of class c, or the pooled one if c is None, before shrinkage."""
        S, W, freedom, peak = scatter.mix(c, self.pooling, self.covariance)
        diagonal = S.diagonal()
        least = EPS * peak  # the approximate rounding error of a sum of squares
        known = diagonal > 16 * least
        noise = np.maximum(EPS, least / np.where(known, diagonal, 1.0))
        if not known.all():
            noise = np.where(known, noise, 1.0)
            S = np.where(known[:, None] & known, S, 0.0)
        sigma = S / freedom if freedom > LEAST_FREEDOM * W else np.zeros_like(S)
        return Plain(sigma, S, W, noise)

    def intensity(
        self, scatter: Scatter, c: int | None, S: np.ndarray, W: float
    ) -> tuple[float, float]:
        """The shrinkage γ of the covariance of class c, or of the pooled one if c is None.

        The second number is its rounding error.
        """
        if self.shrinkage == "oas":
            return oas(S / W / scatter.scale, W), 0.0  # it is never below 1/(W + 1)
        if self.shrinkage == "ledoit_wolf":
            quartic, error = scatter.mixed_quartic(c, self.pooling)
            return ledoit_wolf(S / W / scatter.scale, W, quartic, error)
        assert self.shrinkage is not None
        return float(self.shrinkage), 0.0

    def rounding(self, params: FullParams, scatter: Scatter) -> np.ndarray:
        """(C or 1, d) the share of each variance that is rounding error of its sums."""
        out = np.full(params.inflation.shape, EPS)
        for c in [None] if params.shared else np.flatnonzero(scatter.present).tolist():
            _, freedom, peak = scatter.budget(c, self.pooling, self.covariance)
            least = out[c or 0] * params.covariance_[c or 0].diagonal() * max(freedom, 0.0)
            out[c or 0] *= np.maximum(peak * EPS / np.where(least > 0, least, np.inf), 1.0)
        return out

    def report(
        self,
        params: FullParams,
        statistic: Statistic,
        trouble: Trouble,
        more: tuple[str, ...] = (),
        rounding: np.ndarray | float = EPS,
    ) -> None:
        """Raise or warn once about all singular covariances, with their classes and columns."""
        name, label = statistic.axes.columns.name, statistic.axes.groups.name
        weight, used = statistic.weight[:, 0], params.used
        lines = []
        if not used.all():
            constant = [name(j) for j in np.flatnonzero(~used).tolist()]
            lines.append(f"the constant columns {listed(constant)} are not used")
        for c, columns in list(trouble.items())[:3]:
            whose = "the pooled covariance" if c is None else f"the covariance of class {label(c)}"
            rows = weight.sum() if c is None else weight[c]
            why = f"{rows:g} rows, {int(used.sum())} columns"
            if len(columns):
                which = listed([name(j) for j in columns.tolist()])
                why = f"{why}; constant or linearly dependent columns: {which}"
            lines.append(f"{whose} is singular ({why})")
        if len(trouble) > 3:
            lines.append(f"the covariances of {len(trouble) - 3} more classes are singular")
        lines.extend(more)
        self._report_precision(params, statistic, trouble, rounding)
        if not lines:
            return
        if self.on_singular == "raise":
            raise VerosimError(
                _sentence(lines),
                f'Drop these columns, {self._advice()}, or set on_singular="fallback".',
            )
        if trouble:
            lines.append("singular covariances are shrunk towards the pooled diagonal")
        warn(_sentence(lines), SingularWarning)

    def _advice(self) -> str:
        """A setting that makes a covariance regular. It is not the one in use."""
        if self.shrinkage == "oas":
            return "set shrinkage to a number such as 0.1"
        return 'set shrinkage="oas"'

    def _report_precision(
        self,
        params: FullParams,
        statistic: Statistic,
        trouble: Trouble,
        rounding: np.ndarray | float,
    ) -> None:
        """Warn of the covariance with the fewest correct digits, if it is nearly singular."""
        if not is_nearly_dependent(params):
            return
        lost = params.inflation * rounding  # (C or 1, d)
        lost[[c or 0 for c in trouble]] = EPS  # these are shrunk, and reported as singular
        lost[params.inflation < NEARLY_DEPENDENT] = EPS  # `forget` reports these
        c = int(lost.max(axis=1).argmax())
        close = np.flatnonzero(lost[c] > 10.0**-LEAST_DIGITS)
        if not len(close):
            return
        digits = -np.log10(lost[c].sum())  # the errors of the columns add up
        which = listed([statistic.axes.columns.name(j) for j in close.tolist()])
        whose = "pooled" if params.shared else f"class {statistic.axes.groups.name(c)}"
        warn(
            f"The columns {which} nearly depend on each other, and the covariance ({whose}) leaves "
            f"about {int(max(digits, 0))} correct digits in the predictions. Drop one of these "
            f"columns, or {self._advice()}.",
            PrecisionWarning,
        )


def is_nearly_dependent(params: FullParams) -> bool:
    """Whether a column nearly depends on the others, so that its digits are counted."""
    return bool(params.inflation.max(initial=1.0) >= NEARLY_DEPENDENT)


def _sentence(lines: list[str]) -> str:
    """One sentence from several statements."""
    text = "; ".join(lines)
    return f"{text[0].upper()}{text[1:]}."
