"""Full Gaussians from rows with missing cells: EM maximises the likelihood of the observed cells.

    E step: the expected sums of complete rows, given the observed cells and (μ, Σ)
    M step: (μ, Σ) from these sums, with the formulas for complete rows

Both steps repeat until the estimates converge. Without regularisation no iteration lowers the
likelihood. The E step needs only the sums per class and pattern of missing cells, so EM reads no
rows. The estimate is valid if cells are missing at random: a missing cell may depend on the class
and on the observed cells, but not on its own value.
References: Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM
algorithm; Varadhan & Roland (2008), Simple and globally convergent methods for accelerating the
convergence of any EM algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from verosim.densities.base import Density
from verosim.densities.full import FullGaussian, Trouble
from verosim.densities.full_params import FullParams
from verosim.densities.leave_one_out import Scorer
from verosim.densities.observed import Observed, Theta
from verosim.errors import ConvergenceWarning, listed, warn
from verosim.stats import Moments, Patterns

# A step shorter than this, in standard deviations, is a rounding error if no shorter step follows
# within PATIENCE_STEPS steps.
SETTLED_STEP = 1e-9
PATIENCE_STEPS = 10


@dataclass(frozen=True, repr=False)
class Convergence:
    """The course of EM. `log_likelihood` is that of all observed cells before each iteration."""

    iterations: int
    converged: bool
    log_likelihood: np.ndarray  # (iterations,)

    def __repr__(self) -> str:
        state = "converged" if self.converged else "stopped before it converged"
        lines = [f"EM: {self.iterations} iterations, {state}"]
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
    tolerance: float = 1e-12  # largest distance to the limit, in standard deviations
    most: int = 2000  # largest number of iterations

    def estimate(self, statistic: Moments | Patterns) -> EMParams:
        whole = statistic.complete
        if whole is not None:
            params = self.gaussian.estimate(whole)
            total = params.log_likelihood(whole).sum() if whole.layout == "full" else np.nan
            return _with(params, Convergence(0, True, np.array([total])))
        assert isinstance(statistic, Patterns)
        observed = Observed(statistic)
        params, convergence, trouble = self._iterate(observed)
        missed = (observed.centred.weight == 0) & observed.centred.present[:, None]
        missed &= observed.used
        params = _placed(params, missed)
        self.gaussian.report(params, statistic, trouble, _unshown(statistic, missed, params.shared))
        return _with(params, convergence)

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

        def step(theta: Theta) -> tuple[float, Moments, Theta]:
            log_likelihood, first, second = observed.expect(*theta)
            completed = observed.completed(theta[0], first, second)
            after = observed.place(mle.solve(completed, trouble))
            return float(log_likelihood.sum()), completed, after

        history, converged, completed = _climb(
            step, observed.start(pooled), trouble, exact, self.tolerance, self.most
        )
        if not converged:
            warn(
                f"EM for missing values stopped after {self.most} iterations before it converged, "
                "because too few rows have values in some columns together. "
                "Set shrinkage, or drop the columns with most missing values.",
                ConvergenceWarning,
            )
        trouble = dict(sorted(trouble.items(), key=lambda item: item[0] or 0))
        params = gaussian.solve(completed, trouble)
        return params, Convergence(len(history), converged, np.array(history)), trouble


def _climb(
    step: Callable[[Theta], tuple[float, Moments, Theta]],
    theta: Theta,
    trouble: Trouble,
    exact: bool,
    tolerance: float,
    most: int,
) -> tuple[list[float], bool, Moments]:
    """Iterate EM until it converges: two plain steps, then one extrapolation (SQUAREM).

        θ = θ₀ + 2a r + a² v,   r = θ₁ − θ₀,   v = θ₂ − 2θ₁ + θ₀,   a = ‖r‖/‖v‖

    An extrapolation that lowers the likelihood is rejected. If the M step does not maximise the
    likelihood, an extrapolation is rejected if the next step is longer. Steps shrink by a factor
    q, so the distance of θ₂ to the limit is ‖θ₂ − θ₁‖ q/(1 − q).
    """
    history: list[float] = []
    trail: list[tuple[Theta, float]] = []  # the start and the length of each plain step
    retreat: Theta | None = None  # the estimate to continue from if the extrapolation is rejected
    completed: Moments | None = None
    slowest = 0.0
    least, waited = np.inf, 0  # the shortest step so far, and the number of steps since then
    for _ in range(most):
        known = len(trouble)
        try:
            log_likelihood, found, after = step(theta)
        except np.linalg.LinAlgError:  # the extrapolated matrix is not a covariance
            if retreat is None:
                break
            theta, retreat, trail = retreat, None, []
            continue
        size = _distance(theta, after)
        changed = len(trouble) > known  # a covariance became singular: the M step is different now
        if retreat is not None:
            climbs = exact and not known
            worse = log_likelihood < history[-1] if climbs else size > trail[-1][1]
            again, retreat, trail = retreat, None, []
            if worse and not changed:
                theta = again
                continue
        if changed:
            trail = []
        history.append(log_likelihood)
        completed = found
        trail.append((theta, size))
        theta = after
        least, waited = (size, 0) if size < 0.5 * least else (least, waited + 1)
        if size <= 1e-3 * tolerance or (least <= SETTLED_STEP and waited >= PATIENCE_STEPS):
            return history, True, completed  # at the limit, or as near as rounding allows
        if len(trail) < 2:
            continue
        rate = size / trail[0][1]
        error = size * max(rate, slowest) / max(1 - max(rate, slowest), 1e-6)
        slowest = rate
        if size <= tolerance and error <= tolerance:
            return history, True, completed
        retreat = after
        theta = _leap(trail[0][0], trail[1][0], after)
    assert completed is not None
    return history, False, completed


def _distance(a: Theta, b: Theta) -> float:
    """The largest change of a mean or covariance from a to b, in standard deviations of b."""
    deviation = np.sqrt(np.diagonal(b[1], axis1=1, axis2=2))
    means = np.abs(b[0] - a[0]) / deviation
    covariances = np.abs(b[1] - a[1]) / (deviation[:, :, None] * deviation[:, None, :])
    return float(max(means.max(initial=0.0), covariances.max(initial=0.0)))


def _leap(a: Theta, b: Theta, c: Theta) -> Theta:
    """The SQUAREM extrapolation from three successive estimates."""
    r = [y - x for x, y in zip(a, b, strict=True)]
    v = [(z - y) - d for y, z, d in zip(b, c, r, strict=True)]
    long, bend = (np.sqrt(sum(float((x**2).sum()) for x in part)) for part in (r, v))
    if bend == 0:
        return c
    alpha = max(long / bend, 1.0)  # the value 1 gives θ₂
    mean, covariance = (x + 2 * alpha * d + alpha**2 * e for x, d, e in zip(a, r, v, strict=True))
    return mean, covariance


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
