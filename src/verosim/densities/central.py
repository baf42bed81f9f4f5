"""From sums about a pivot to moments about the mean: what every Gaussian estimate reads.

    offset = S/W,   squares = Q − S²/W,   scatter = M − S Sᵀ/W

Whatever is smaller than eps × the largest sum ever held is rounding error, not variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from verosim.errors import VerosimError
from verosim.linalg import EPS
from verosim.stats import Moments

LEAST_FREEDOM = 1e-9  # degrees of freedom, in parts of the weight, below which there are none
SEPARATOR = 1e-9  # variance, in parts of the total, of a column constant within every class


@dataclass(frozen=True)
class PivotSums:
    """Sums about a pivot for C classes; (…, C, d) of several sets of rows at once."""

    present: np.ndarray  # (…, C) bool
    class_weight: np.ndarray  # (…, C)
    pivot: np.ndarray  # (C, d), NaN where unset
    weight: np.ndarray  # (…, C, d)
    sum: np.ndarray  # (…, C, d), and what rounding left out of it
    sum_low: np.ndarray
    square: np.ndarray | None = None  # (…, C, d), None where classes share their squares
    square_low: np.ndarray | None = None
    absorbed: np.ndarray | None = None

    @classmethod
    def of(cls, statistic: Moments) -> PivotSums:
        if statistic.axes.groups.folds != 1:
            raise VerosimError("Estimation takes one fold.", "use `total('fold')` or `fold(f)`.")
        arrays, lows = statistic.arrays, statistic.lows
        first = (
            (arrays["rows"][:, 0] > 0) & (arrays["weight"][:, 0] > 0), arrays["weight"][:, 0],
            arrays["pivot"], np.broadcast_to(statistic.weights[:, 0], arrays["pivot"].shape),
            arrays["sum"][:, 0], lows["sum"][:, 0],
        )  # fmt: skip
        if statistic.layout == "pooled":
            return cls(*first)
        square_low = (
            lows["square"][:, 0]
            if statistic.layout == "diagonal"
            else np.diagonal(lows["scatter"], axis1=-2, axis2=-1)[:, 0]
        )
        return cls(*first, statistic.squares()[:, 0], square_low, arrays["absorbed"][:, 0])


class Centred:
    """What estimation reads off pivot sums: weights, offsets, central squares and their noise."""

    squares: np.ndarray  # (…, C, d)
    noise: np.ndarray  # (…, C, d)
    total_variance: np.ndarray  # (…, d)

    def __init__(self, statistic: Moments | PivotSums) -> None:
        sums = statistic if isinstance(statistic, PivotSums) else PivotSums.of(statistic)
        self.present = sums.present  # (…, C)
        self.class_weight = np.where(self.present, sums.class_weight, 0.0)
        W = np.where(self.present[..., None], sums.weight, 0.0)
        some = W > 0
        safe = np.where(some, W, 1.0)
        self.weight = W  # (…, C, d)
        # A class with no value in a column takes its place from the others.
        reference = _first(sums.pivot, np.isfinite(sums.pivot))
        self.pivot = np.where(np.isfinite(sums.pivot), sums.pivot, reference)  # (C, d)
        S, S_low = sums.sum, sums.sum_low
        offset = np.where(some, (S + S_low) / safe, 0.0)
        step = self.pivot - _first(self.pivot, some)[..., None, :]  # from one common point
        shift = step + offset  # (…, C, d) means about it
        total = W.sum(axis=-2)
        centre = (W * shift).sum(axis=-2) / np.where(total > 0, total, 1.0)
        self.offset = np.where(some, offset, centre[..., None, :] - step)
        if sums.square is None:
            return
        assert sums.square_low is not None
        assert sums.absorbed is not None
        central = (sums.square - S * (S / safe)) + (sums.square_low - 2 * (S / safe) * S_low)
        self.squares = np.where(some, np.maximum(central, 0.0), 0.0)
        noise = np.where(some, EPS * sums.absorbed, 0.0)
        # What cancels to nothing was exact all along: these values are constant.
        self.noise = np.where(np.abs(central) > EPS * noise, noise, 0.0)
        between = (W * (shift - centre[..., None, :]) ** 2).sum(axis=-2)
        spread, noise = self.squares.sum(axis=-2) + between, noise.sum(axis=-2)
        self.total_variance = above(spread, noise) / np.where(total > 0, total, 1.0)


class Scatter(Centred):
    """Scatter of every class about its own mean, S_k = M_k − S Sᵀ/W, and their pooled sum."""

    def __init__(self, statistic: Moments) -> None:
        super().__init__(statistic)
        self.statistic = statistic
        self.pooled_only = statistic.layout == "pooled"
        arrays, lows = statistic.arrays, statistic.lows
        S = arrays["sum"][:, 0] + lows["sum"][:, 0]
        W = np.where(self.class_weight > 0, self.class_weight, 1.0)
        S = np.where(self.present[:, None], S, 0.0)
        if self.pooled_only:
            self.pooled = arrays["scatter"][0] - S.T @ (S / W[:, None]) + lows["scatter"][0]
            self.pooled_peak = arrays["absorbed"][0]
            centre, shift = self.reference_mean()
            between = (self.class_weight[:, None] * (shift - centre) ** 2).sum(axis=0)
            spread = self.pooled.diagonal() + between
            noise = EPS * self.pooled_peak
            self.total_variance = above(spread, noise) / self.class_weight.sum()
            return
        outer = S[:, :, None] * (S / W[:, None])[:, None, :]
        self.each = (arrays["scatter"][:, 0] - outer) + lows["scatter"][:, 0]
        self.each[~self.present] = 0.0
        self.peak = np.where(self.present[:, None], arrays["absorbed"][:, 0], 0.0)
        self.pooled = self.each.sum(axis=0)
        self.pooled_peak = self.peak.sum(axis=0)

    def reference_mean(self) -> tuple[np.ndarray, np.ndarray]:
        """The overall mean and the class means about one class's pivot."""
        shift = (self.pivot - self.pivot[0]) + self.offset
        return (self.class_weight @ shift) / self.class_weight.sum(), shift

    def mix(
        self, c: int | None, pooling: float, estimator: str
    ) -> tuple[np.ndarray, float, float, np.ndarray]:
        """Friedman's pooled scatter, its weight, its degrees of freedom, its error budget."""
        lost = float(estimator == "unbiased")
        W = float(self.class_weight.sum())
        K = int(self.present.sum())
        if c is None:
            return self.pooled, W, W - lost * K, self.pooled_peak
        if self.pooled_only:
            raise VerosimError(
                "This model kept one scatter for all classes, and per-class covariances need "
                "one each.",
                "fit again with this setting.",
            )
        own = float(self.class_weight[c])
        return (
            (1 - pooling) * self.each[c] + pooling * self.pooled,
            (1 - pooling) * own + pooling * W,
            (1 - pooling) * max(own - lost, 0.0) + pooling * (W - lost * K),
            (1 - pooling) * self.peak[c] + pooling * self.pooled_peak,
        )

    def pooled_variance(self, estimator: str) -> np.ndarray:
        """(d,) within-class variance of each column; a sliver of the total where there is none."""
        _, W, freedom, _ = self.mix(None, 1.0, estimator)
        within = self.pooled.diagonal() / (freedom if freedom > 0 else W)
        noise = EPS * self.pooled_peak / W
        return np.where(within > noise, within, SEPARATOR * self.total_variance)

    @cached_property
    def about_means(self) -> Moments:
        """The sums about the mean of every class."""
        return self.statistic.moved(np.where(self.present[:, None], -self.offset, 0.0))

    @cached_property
    def quartics(self) -> np.ndarray:
        """(C,) Σw‖x − μ_k‖⁴ in units of `scale`²: the sums about the pivot, moved to the mean."""
        if self.pooled_only:
            raise VerosimError(
                'shrinkage="ledoit_wolf" needs the scatter of every class, and this model kept '
                "only their sum.",
                'fit again with this setting, or use shrinkage="oas".',
            )
        found, noise = self.fourth_powers
        # Forgetting a gross outlier can leave nothing of a fourth power: then what a Gaussian
        # has, E‖z‖⁴ = tr²Σ + 2‖Σ‖².
        W = np.where(self.class_weight > 0, self.class_weight, 1.0)
        each = self.each / self.scale
        gaussian = (np.trace(each, axis1=1, axis2=2) ** 2 + 2 * (each**2).sum(axis=(1, 2))) / W
        known = np.isfinite(found) & (found > 1e8 * noise) & self.is_ordinary
        return np.where(known, found, gaussian)

    @cached_property
    def fourth_powers(self) -> tuple[np.ndarray, np.ndarray]:
        """(C,) Σw‖x − μ_k‖⁴ as the sums have it and their rounding error, in units of `scale`²."""
        about, unit = self.about_means, self.scale
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            found = (about.arrays["quartic"][:, 0] + about.lows["quartic"][:, 0]) / unit / unit
            noise = EPS * self.statistic.arrays["absorbed_quartic"][:, 0] / unit / unit
        return found, noise

    @property
    def is_ordinary(self) -> bool:
        """Whether fourth powers of the unit are within the range of a double."""
        return 1e-70 < self.scale < 1e70

    @property
    def scale(self) -> float:
        """The mean within-class variance: the unit of fourth powers."""
        mean = float(np.trace(self.pooled)) / max(len(self.pooled), 1) / self.class_weight.sum()
        return mean if mean > 0 else 1.0

    def mixed_quartic(self, c: int | None, pooling: float) -> float:
        pooled = float(self.quartics[self.present].sum())
        return pooled if c is None else float((1 - pooling) * self.quartics[c] + pooling * pooled)


def above(spread: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """A spread is no less than its noise, unless it is none at all."""
    return np.where(spread > EPS * noise, np.maximum(spread, noise), 0.0)


def _first(pivot: np.ndarray, there: np.ndarray) -> np.ndarray:
    """(…, d) per column the pivot (C, d) of the first class that is there; 0 where none is."""
    first = np.argmax(there, axis=-2)  # (…, d)
    picked = pivot[first, np.arange(pivot.shape[1])]
    return np.where(there.any(axis=-2), picked, 0.0)
