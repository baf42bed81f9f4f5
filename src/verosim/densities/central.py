"""Moments about the mean, computed from sums about a pivot. All Gaussian estimates use them.

    offset = S/W,   squares = Q − S²/W,   scatter = M − S Sᵀ/W

A value below eps times the largest value that the sum ever had is a rounding error.
Reference: Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance, The American
Statistician 37, 242–247.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.cached import cached_property
from verosim.errors import VerosimError
from verosim.linalg import EPS
from verosim.stats import Moments

LEAST_FREEDOM = 1e-9  # degrees of freedom / weight below which the degrees of freedom are zero
LEAST_SQUARE = 1e-290  # smaller squares have few digits, or none, in a double
LARGEST_SQUARE = 1e290  # sums of larger squares overflow
LEAST_UNIT = 1e-130  # variances below it or above its inverse have no fourth powers in a double
SEPARATOR = 1e-9  # variance / total variance of a column that is constant within every class


@dataclass(frozen=True)
class PivotSums:
    """Sums about a pivot for C classes; (…, C, d) for several sets of rows."""

    present: np.ndarray  # (…, C) bool
    rows: np.ndarray  # (…, C) the number of rows
    class_weight: np.ndarray  # (…, C)
    pivot: np.ndarray  # (C, d), NaN if unset
    weight: np.ndarray  # (…, C, d)
    sum: np.ndarray  # (…, C, d)
    sum_low: np.ndarray  # (…, C, d) low part of the compensated sum
    square: np.ndarray | None = None  # (…, C, d), None if the squares are pooled over classes
    square_low: np.ndarray | None = None  # (…, C, d)
    absorbed: np.ndarray | None = None  # (…, C, d)

    @classmethod
    def of(cls, statistic: Moments) -> PivotSums:
        if statistic.axes.groups.folds != 1:
            raise VerosimError(
                f"A density is estimated from one fold; got {statistic.axes.groups.folds} folds.",
                "Use statistic.total('fold') for all rows, or statistic.fold(f) for one fold.",
            )
        arrays, lows = statistic.arrays, statistic.lows
        first = (
            (arrays["rows"][:, 0] > 0) & (arrays["weight"][:, 0] > 0),
            arrays["rows"][:, 0], arrays["weight"][:, 0],
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
    """Weights, offsets, squares about the mean and their rounding errors, from pivot sums."""

    squares: np.ndarray  # (…, C, d)
    noise: np.ndarray  # (…, C, d)
    total_variance: np.ndarray  # (…, d)

    def __init__(self, statistic: Moments | PivotSums) -> None:
        if isinstance(statistic, PivotSums):
            sums = statistic
        else:
            check_scale(statistic)
            sums = PivotSums.of(statistic)
        self.present, self.rows = sums.present, sums.rows  # (…, C)
        S, S_low, W = sums.sum, sums.sum_low, sums.weight
        if self.present.all() and (W > 0).all() and np.isfinite(sums.pivot).all():
            some: Any = True  # every class has values in every column, which is usual
            self.class_weight, self.weight, self.pivot = sums.class_weight, W, sums.pivot
            safe, origin, total = W, sums.pivot[0], W.sum(axis=-2)
            full = total
        else:
            self.class_weight = np.where(self.present, sums.class_weight, 0.0)
            W = np.where(self.present[..., None], W, 0.0)
            some = W > 0
            safe = np.where(some, W, 1.0)
            self.weight = W  # (…, C, d)
            # A class without values in a column takes its pivot from the other classes.
            finite = np.isfinite(sums.pivot)
            self.pivot = np.where(finite, sums.pivot, _first(sums.pivot, finite))  # (C, d)
            origin = _first(self.pivot, some)[..., None, :]
            total = W.sum(axis=-2)
            full = np.where(total > 0, total, 1.0)
        offset = _where(some, (S + S_low) / safe, 0.0)
        step = self.pivot - origin
        shift = step + offset  # (…, C, d) mean − common origin
        centre = (W * shift).sum(axis=-2) / full
        self.offset = _where(some, offset, centre[..., None, :] - step)
        if sums.square is None:
            return
        assert sums.square_low is not None
        assert sums.absorbed is not None
        mean = S / safe
        central = (sums.square - S * mean) + (sums.square_low - 2 * mean * S_low)
        self.squares = _where(some, np.maximum(central, 0.0), 0.0)
        noise = _where(some, EPS * sums.absorbed, 0.0)
        # Sums that cancel to exactly zero have no rounding error: the values are constant.
        self.noise = np.where(np.abs(central) > EPS * noise, noise, 0.0)
        between = (W * (shift - centre[..., None, :]) ** 2).sum(axis=-2)
        spread, noise = self.squares.sum(axis=-2) + between, noise.sum(axis=-2)
        self.total_variance = above(spread, noise) / full

    @cached_property
    def alone(self) -> np.ndarray:
        """(…, C, d) bool: one row of the class has a value, or all rows of the class are equal.

        A row of weight 3 is the same as three equal rows.
        """
        few = at_most_one_row(self.rows, self.class_weight, self.weight)
        flat = self.squares <= 16 * self.noise
        varies = (self.weight > 0) & (self.total_variance[..., None, :] > 0)
        equal = (flat | ~varies).all(axis=-1, keepdims=True)
        found: np.ndarray = (flat & (few | equal)) | (few & (self.rows[..., None] == 1))
        return found


def at_most_one_row(rows: np.ndarray, weight: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """(…, C, d) bool: the values of a column weigh no more than one row of the class on average.

    `cells` (…, C, d) is the weight of the rows with a value; `rows` and `weight` (…, C) are the
    number and the weight of all rows.
    """
    # After a heavy row was forgotten, the two weights of one row may differ.
    one = rows[..., None] == 1
    found: np.ndarray = one | (rows[..., None] * cells <= (1 + LEAST_FREEDOM) * weight[..., None])
    return found


def _where(some: Any, yes: np.ndarray, no: Any) -> np.ndarray:
    """np.where, without a copy if `some` is True everywhere."""
    return yes if some is True else np.where(some, yes, no)


def check_scale(statistic: Moments) -> None:
    """Raise an error if the squares of a column that varies are too small or large for a double."""
    arrays, d = statistic.arrays, len(statistic.axes.columns)
    if _is_ordinary(arrays["absorbed"], arrays["pivot"], statistic.weights):
        return
    weight = statistic.weights[:, 0].sum(axis=0)  # (1,) or (d,)
    squares = arrays["absorbed"].reshape(-1, d).sum(axis=0)
    # A class without values in a column may have a pivot: that of rows that were forgotten.
    pivot, held = arrays["pivot"], np.isfinite(arrays["pivot"]) & (statistic.weights[:, 0] > 0)
    between = np.zeros(d)
    if len(pivot):
        between = np.ptp(np.where(held, pivot, _first(pivot, held)), axis=0)
    heavy = np.maximum(weight, 1.0)
    large = ~(squares <= LARGEST_SQUARE) | (between > (LARGEST_SQUARE / heavy) ** 0.5)
    if large.any():
        raise _squares_error(statistic, large, "more", LARGEST_SQUARE, "large", "Divide")
    varies = (between > 0) | (arrays["sum"][:, 0] != 0).any(axis=0)
    # Sums of squares are small because the squares are, or because the weights are.
    small = varies & (squares < LEAST_SQUARE * heavy)
    small &= between < (LEAST_SQUARE / np.clip(weight, LEAST_SQUARE, 1.0)) ** 0.5
    if small.any():
        raise _squares_error(statistic, small, "less", LEAST_SQUARE, "small", "Multiply")


def _is_ordinary(squares: np.ndarray, pivot: np.ndarray, weights: np.ndarray) -> bool:
    """Whether the squares of all classes and columns are within the limits, which is usual.

    False if a class has no pivot in a column.
    """
    if not squares.size:
        return False
    heavy = max(float(weights.max()), 1.0) * len(weights)
    least, most = float(squares.min()), float(squares.max()) * len(squares)
    far = max(-float(pivot.min()), float(pivot.max()))
    return LEAST_SQUARE * heavy < least and most < LARGEST_SQUARE and far < 1e50


def _squares_error(
    statistic: Moments, where: np.ndarray, side: str, limit: float, size: str, verb: str
) -> VerosimError:
    name = statistic.axes.columns.name(int(np.flatnonzero(where)[0]))
    return VerosimError(
        f"The values of column {name!r} differ by {side} than {limit**0.5:.0e}, and their squares "
        f"are too {size} for floating-point numbers.",
        f"{verb} column {name!r} by a constant, or leave it out.",
    )


class Scatter(Centred):
    """The scatter of each class about its mean, S_k = M_k − S Sᵀ/W, and the sum over classes."""

    def __init__(self, statistic: Moments) -> None:
        super().__init__(statistic)
        self.statistic = statistic
        self.pooled_only = statistic.layout == "pooled"
        arrays, lows = statistic.arrays, statistic.lows
        S = arrays["sum"][:, 0] + lows["sum"][:, 0]
        W = np.where(self.class_weight > 0, self.class_weight, 1.0)
        everyone = bool(self.present.all())
        if not everyone:
            S = np.where(self.present[:, None], S, 0.0)
        if self.pooled_only:
            # (d, d) and (d,)
            self.pooled = S.T @ (S / W[:, None])  # a large array: it is used for each step
            np.subtract(arrays["scatter"][0], self.pooled, out=self.pooled)
            self.pooled += lows["scatter"][0]
            self.pooled_peak = arrays["absorbed"][0]
            centre, shift = self.reference_mean()
            between = (self.class_weight[:, None] * (shift - centre) ** 2).sum(axis=0)
            spread = self.pooled.diagonal() + between
            noise = EPS * self.pooled_peak
            self.total_variance = above(spread, noise) / self.class_weight.sum()
            return
        outer = S[:, :, None] * (S / W[:, None])[:, None, :]  # (C, d, d)
        self.each = np.subtract(arrays["scatter"][:, 0], outer, out=outer)
        self.each += lows["scatter"][:, 0]
        self.peak = arrays["absorbed"][:, 0]  # (C, d)
        if not everyone:
            self.each[~self.present] = 0.0
            self.peak = np.where(self.present[:, None], self.peak, 0.0)
        self.pooled = self.each.sum(axis=0)
        self.pooled_peak = self.peak.sum(axis=0)

    def reference_mean(self) -> tuple[np.ndarray, np.ndarray]:
        """The overall mean (d,) and the class means (C, d), relative to the first pivot."""
        shift = (self.pivot - self.pivot[0]) + self.offset
        return (self.class_weight @ shift) / self.class_weight.sum(), shift

    def shares(self, pooling: float | str) -> tuple[float, float]:
        """The factors of the scatter of a class and of the pooled scatter in their mixture.

        They are 1 − λ and λ for a number λ. With "auto" the pooled covariance counts as p rows of
        every class, where p is the number of columns that vary:

            Σ_k = (S_k + p S/W)/(W_k + p)
        """
        if isinstance(pooling, str):
            return 1.0, float((self.total_variance > 0).sum() / self.class_weight.sum())
        return 1 - pooling, pooling

    def mix(
        self, c: int | None, pooling: float | str, estimator: str
    ) -> tuple[np.ndarray, float, float, np.ndarray]:
        """The mixture of the scatter of class c and the pooled scatter, by Friedman's formula.

        Returns the scatter (d, d), its weight, its degrees of freedom, and the largest values that
        its sums of squares had (d,). If c is None, the scatter is the pooled one.
        """
        weight, freedom, peak = self.budget(c, pooling, estimator)
        if c is None:
            return self.pooled, weight, freedom, peak
        if self.pooled_only:
            raise VerosimError(
                "One covariance per class needs sums per class, and this model has only the sums "
                "over all classes.",
                "Fit the model again with this setting.",
            )
        own, all_ = self.shares(pooling)
        return own * self.each[c] + all_ * self.pooled, weight, freedom, peak

    def budget(
        self, c: int | None, pooling: float | str, estimator: str
    ) -> tuple[float, float, np.ndarray]:
        """The weight, the degrees of freedom and the peaks (d,) of the mixture of `mix`."""
        lost = float(estimator == "unbiased")
        W = float(self.class_weight.sum())
        K = int(self.present.sum())
        if c is None:
            return W, W - lost * K, self.pooled_peak
        weight = float(self.class_weight[c])
        own, all_ = self.shares(pooling)
        return (
            own * weight + all_ * W,
            own * max(weight - lost, 0.0) + all_ * (W - lost * K),
            own * self.peak[c] + all_ * self.pooled_peak,
        )

    def pooled_variance(self, estimator: str) -> np.ndarray:
        """(d,) within-class variance of each column, or 1e-9 of the total variance if it is 0."""
        _, W, freedom, _ = self.mix(None, 1.0, estimator)
        within = self.pooled.diagonal() / (freedom if freedom > 0 else W)
        noise = EPS * self.pooled_peak / W
        return np.where(within > noise, within, SEPARATOR * self.total_variance)

    @cached_property
    def about_means(self) -> Moments:
        """The sums about the mean of each class."""
        return self.statistic.moved(np.where(self.present[:, None], -self.offset, 0.0))

    @cached_property
    def quartics(self) -> tuple[np.ndarray, np.ndarray]:
        """(C,) Σw‖x − μ_k‖⁴ in units of `scale`², and (C,) its rounding error."""
        if self.pooled_only:
            raise VerosimError(
                'shrinkage="ledoit_wolf" needs sums per class, and this model has only the sums '
                "over all classes.",
                'Fit the model again with this setting, or use shrinkage="oas".',
            )
        found, noise = self.fourth_powers
        if not (LEAST_UNIT < self.scale < 1 / LEAST_UNIT and np.isfinite(found).all()):
            raise VerosimError(
                'shrinkage="ledoit_wolf" needs the fourth powers of the values about their mean, '
                "and they are too large or too small for floating-point numbers.",
                'Multiply all columns by one constant, or use shrinkage="oas".',
            )
        # After a large outlier is forgotten, a fourth power can be pure rounding error. Then the
        # value of a Gaussian is used, E‖z‖⁴ = tr²Σ + 2‖Σ‖².
        W = np.where(self.class_weight > 0, self.class_weight, 1.0)
        each = self.each / self.scale
        gaussian = (np.trace(each, axis1=1, axis2=2) ** 2 + 2 * (each**2).sum(axis=(1, 2))) / W
        known = found > 1e8 * noise
        return np.where(known, found, gaussian), np.where(known, noise, EPS * gaussian)

    @cached_property
    def fourth_powers(self) -> tuple[np.ndarray, np.ndarray]:
        """(C,) Σw‖x − μ_k‖⁴ from the sums, and (C,) its rounding error, in units of `scale`²."""
        about, unit = self.about_means, self.scale
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            found = (about.arrays["quartic"][:, 0] + about.lows["quartic"][:, 0]) / unit / unit
            noise = EPS * self.statistic.arrays["absorbed_quartic"][:, 0] / unit / unit
        return found, noise

    @property
    def scale(self) -> float:
        """The mean within-class variance, which is the unit of squares."""
        mean = float(np.trace(self.pooled)) / max(len(self.pooled), 1) / self.class_weight.sum()
        return mean if mean > 0 else 1.0

    def mixed_quartic(self, c: int | None, pooling: float | str) -> tuple[float, float]:
        """Σw‖x − μ‖⁴ of the mixture for class c, or of all classes if c is None, and its error."""
        own, all_ = self.shares(pooling)
        pooled = [float(each[self.present].sum()) for each in self.quartics]
        if c is None:
            return pooled[0], pooled[1]
        quartic, noise = (
            float(own * each[c] + all_ * every)
            for each, every in zip(self.quartics, pooled, strict=True)
        )
        return quartic, noise


def above(spread: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The spread, raised to its rounding error if it is smaller; 0 if it is exactly zero."""
    return np.where(spread > EPS * noise, np.maximum(spread, noise), 0.0)


def _first(pivot: np.ndarray, there: np.ndarray) -> np.ndarray:
    """(…, d) for each column, the pivot of the first class with values; 0 if there is none."""
    first = np.argmax(there, axis=-2)  # (…, d)
    picked = pivot[first, np.arange(pivot.shape[1])]
    return np.where(there.any(axis=-2), picked, 0.0)
