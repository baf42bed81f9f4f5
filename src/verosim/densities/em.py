"""Full Gaussians from rows with missing cells: EM maximises the likelihood of the observed cells.

    E step: the expected sums of complete rows, given the observed cells and (μ, Σ)
    M step: (μ, Σ) from these sums, with the formulas for complete rows

Both steps repeat until the estimates are within `tolerance` of their limit, in standard deviations.
Without regularisation no accepted iteration lowers the likelihood. The E step needs only the sums
per class and pattern of missing cells, so EM reads no rows. The estimate is valid if cells are
missing at random: a missing cell may depend on the class and on the observed cells, but not on its
own value.
References: Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM
algorithm; Varadhan & Roland (2008), Simple and globally convergent methods for accelerating the
convergence of any EM algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Self

import numpy as np

from verosim import kernels
from verosim.densities.base import Density, Params
from verosim.densities.central import SEPARATOR
from verosim.densities.full import FullGaussian, Trouble
from verosim.densities.full_params import FullParams
from verosim.densities.leave_one_out import Scorer
from verosim.densities.observed import Observed, Regularisation
from verosim.errors import ConvergenceWarning, listed, warn
from verosim.kernels.constants import (
    EM_CONVERGED,
    EM_LOST_DIGITS,
    EM_SINGULAR,
    FIXED_SHRINKAGE,
    LEDOIT_WOLF,
    NO_SHRINKAGE,
    OAS,
)
from verosim.stats import Moments, Patterns

SHRINKAGES: dict[float | str | None, int] = {
    None: NO_SHRINKAGE,
    "oas": OAS,
    "ledoit_wolf": LEDOIT_WOLF,
}  # by their name


@dataclass(frozen=True, repr=False)
class Convergence:
    """The course of EM. `log_likelihood` is that of all observed cells before each iteration.

    It never falls by more than rounding errors (1e-12 of its size), unless `regularised` is True:
    the estimates then do not maximise the likelihood. If a covariance becomes singular and is
    regularised from then on, the history starts there.
    """

    iterations: int
    converged: bool
    log_likelihood: np.ndarray  # (iterations,)
    regularised: bool = False  # a regularised step can lower the likelihood

    def __repr__(self) -> str:
        state = "converged" if self.converged else "stopped before it converged"
        lines = [f"EM: {self.iterations} iterations, {state}"]
        if self.regularised:
            lines.append("The estimates are regularised, so an iteration can lower the likelihood.")
        if self.iterations:
            lines.append(f"{'iteration':>9}  {'log-likelihood':>16}  {'gain':>10}")
        gain = np.diff(self.log_likelihood, prepend=np.nan)
        for i in range(self.iterations):
            if 4 <= i < self.iterations - 3:
                if i == 4:
                    lines.append(f"{'…':>9}")
                continue
            gained = "" if i == 0 else f"{gain[i]:10.3g}"
            lines.append(f"{i + 1:9}  {self.log_likelihood[i]:16.6f}  {gained}".rstrip())
        return "\n".join(lines)


@dataclass(frozen=True)
class EMParams(FullParams):
    """Full Gaussians with the course of EM."""

    convergence: Convergence | None = None

    def log_likelihood(self, statistic: Moments | Patterns) -> np.ndarray:
        """(C,) Σ log p of the observed cells of the rows."""
        if isinstance(statistic, Moments):
            return super().log_likelihood(statistic)
        observed = Observed(statistic, self.used)
        return observed.expect(*observed.place(self))[0]


@dataclass(frozen=True)
class EMGaussian(Density):
    """The full Gaussian of rows with missing cells.

    For complete rows it is exactly the Gaussian without EM. Pooling between 0 and 1, shrinkage and
    floor are applied in every M step.
    """

    gaussian: FullGaussian = field(default_factory=lambda: FullGaussian(missing="marginalise"))
    tolerance: float = 1e-10  # largest distance to the limit, in standard deviations
    most: int = 2000  # largest number of iterations

    def estimate(self, statistic: Moments | Patterns, observed: Observed | None = None) -> EMParams:
        return self._estimated(statistic, observed)

    def _estimated(
        self, statistic: Moments | Patterns, observed: Observed | None, quiet: bool = False
    ) -> EMParams:
        """Estimate the parameters. With `quiet`, singular covariances are not reported."""
        whole = None if observed is not None else statistic.complete
        if whole is not None:
            plain = self.gaussian
            params = plain.estimate_quietly(whole) if quiet else plain.estimate(whole)
            total = params.log_likelihood(whole).sum() if whole.layout == "full" else np.nan
            return _with(params, Convergence(0, True, np.array([total])))
        assert isinstance(statistic, Patterns)
        observed = Observed(statistic) if observed is None else observed
        params, convergence, trouble = self._iterate(observed)
        missed = (observed.centred.weight == 0) & observed.centred.present[:, None]
        missed &= observed.used
        params = _placed(params, missed)
        if not quiet:
            unshown = _unshown(statistic, missed, params.shared)
            self.gaussian.report(params, statistic, trouble, unshown)
        return _with(params, convergence)

    def estimate_quietly(
        self, statistic: Moments | Patterns, observed: Observed | None = None
    ) -> EMParams:
        if self.gaussian.on_singular == "raise":
            return self.estimate(statistic, observed)  # it raises an error and never warns
        return self._estimated(statistic, observed, quiet=True)

    @classmethod
    def estimate_family(
        cls, densities: Sequence[Self], statistic: Moments | Patterns, quiet: bool = False
    ) -> list[Params]:
        """Estimate several settings with the sums of cohorts prepared once."""
        observed = None
        if isinstance(statistic, Patterns) and statistic.complete is None:
            observed = Observed(statistic)
        return [
            (density.estimate_quietly if quiet else density.estimate)(statistic, observed)
            for density in densities
        ]

    def leave_one_out(self, statistic: Moments | Patterns) -> Scorer:
        """The closed form if all rows are complete; otherwise EM again for each row."""
        whole = statistic.complete
        if whole is None:
            return super().leave_one_out(statistic)
        return self.gaussian.leave_one_out(whole)

    def _iterate(self, observed: Observed) -> tuple[FullParams, Convergence, Trouble]:
        gaussian = self.gaussian
        pooled = gaussian.pooling == 1
        # The M step maximises the likelihood only without regularisation.
        exact = gaussian.pooling in (0, 1) and gaussian.shrinkage is None and gaussian.floor == 0
        trouble = observed.hopeless(pooled) if exact else {}
        mle = replace(gaussian, covariance="mle")
        mean, covariance = observed.start(pooled)
        settings = _mixing(gaussian, observed)
        C, d = mean.shape
        first, second = np.zeros((C, d)), np.zeros((C, d, d))
        left, why = self.most, EM_SINGULAR
        while why == EM_SINGULAR and left > 0:
            troubled = np.zeros(len(covariance), dtype=bool)
            troubled[[c or 0 for c in trouble]] = True
            history = np.empty(left)
            count, why = kernels.climb_observed(
                observed.sums, settings, troubled, exact and not trouble, self.tolerance,
                mean, covariance, first, second, history,
            )  # fmt: skip
            left -= count
            if why == EM_SINGULAR:
                # Start again with the regularised covariance; the likelihood so far is dropped.
                completed = observed.completed(mean, first, second)
                mean, covariance = observed.place(mle.solve(completed, trouble))
        self._report_end(count, why)
        trouble = dict(sorted(trouble.items(), key=lambda item: item[0] or 0))
        params = None
        if gaussian.covariance == "mle" and not trouble:
            params = observed.maximised(settings, mean, first, second, np.empty_like(covariance))
        if params is None:
            params = gaussian.solve(observed.completed(mean, first, second), trouble)
        regularised = not exact or bool(trouble)
        ended = Convergence(count, why == EM_CONVERGED, history[:count].copy(), regularised)
        return params, ended, trouble

    def _advice(self) -> str:
        return "Set shrinkage" if self.gaussian.shrinkage is None else "Set a larger shrinkage"

    def _report_end(self, count: int, why: int) -> None:
        """Warn if EM stopped before it converged."""
        if why == EM_LOST_DIGITS:
            warn(
                f"EM for missing values stopped after {count} iterations, because a covariance is "
                "nearly singular and rounding errors are larger than the gain of an iteration. "
                f"{self._advice()}, or drop the columns that nearly depend on others.",
                ConvergenceWarning,
            )
        elif why != EM_CONVERGED:
            warn(
                f"EM for missing values stopped after {count} iterations before it converged, "
                "because too few rows have values in some columns together. "
                f"{self._advice()}, or drop the columns with most missing values.",
                ConvergenceWarning,
            )


def _mixing(gaussian: FullGaussian, observed: Observed) -> Regularisation:
    """The settings of a Gaussian for the compiled loops."""
    if isinstance(gaussian.pooling, str):
        own, pooled = 1.0, len(observed.at) / float(observed.class_weight.sum())
    else:
        own, pooled = 1.0 - gaussian.pooling, float(gaussian.pooling)
    fixed = 0.0 if isinstance(gaussian.shrinkage, str | None) else float(gaussian.shrinkage)
    how = SHRINKAGES.get(gaussian.shrinkage, FIXED_SHRINKAGE)
    if isinstance(gaussian.shrinkage, str) or fixed:
        observed.check_units()
    unit = observed.unit[observed.at]
    unit = unit / unit.max(initial=0.0) if len(unit) else unit
    return Regularisation(own, pooled, how, fixed, float(gaussian.floor), SEPARATOR, unit)


def _placed(params: FullParams, missed: np.ndarray) -> FullParams:
    """Set the mean of a class in a column without values to the mean of the other classes.

    The observed cells do not depend on this mean, so EM does not change it.
    """
    if not missed.any():
        return params
    pivot, shift = params.about_one_pivot
    weight = np.where(missed, 0.0, params.share[:, None])
    total = weight.sum(axis=0)
    centre = (weight * shift).sum(axis=0) / np.where(total > 0, total, 1.0)
    offset = np.where(missed, centre - (params.pivot - pivot), params.offset)
    return replace(params, offset=offset)


def _unshown(statistic: Patterns, missed: np.ndarray, shared: bool) -> tuple[str, ...]:
    """Messages about classes without values in some columns."""
    name, label = statistic.axes.columns.name, statistic.axes.groups.name
    what = "mean" if shared else "mean and variance"
    lines = []
    for c in np.flatnonzero(missed.any(axis=1)).tolist():
        which = listed([name(j) for j in np.flatnonzero(missed[c]).tolist()])
        lines.append(
            f"class {label(c)} has no values in {which} (the other classes give its {what} there)"
        )
    more = (f"{len(lines) - 3} more classes have columns without values",) if len(lines) > 3 else ()
    return (*lines[:3], *more)


def _with(params: FullParams, convergence: Convergence) -> EMParams:
    """The parameters together with the course of EM."""
    inside = {one.name: getattr(params, one.name) for one in fields(FullParams)}
    return EMParams(**inside, convergence=convergence)
