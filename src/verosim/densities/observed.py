"""Rows with missing cells as sums of cohorts, in the form in which EM reads them.

A cohort has the rows of one class with values in the same columns. The expected sums of complete
rows, given the observed cells and a Gaussian, are linear in the sums of the cohorts, so EM needs no
rows. The compiled loops `expect_observed` and `climb_observed` do the work.
Reference: Little & Rubin (2002), Statistical Analysis with Missing Data, §11.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from verosim import kernels
from verosim.densities.central import Centred
from verosim.densities.full import Trouble
from verosim.densities.full_params import FullParams, make_params
from verosim.errors import VerosimError
from verosim.kernels.constants import LOG_2PI
from verosim.linalg import factor
from verosim.stats import Moments, Patterns

# Rounding errors of an E step relative to those of sums; nearly dependent columns increase them.
E_STEP_LOSS = 1e4
LARGEST_RATIO = 1e140  # of standard deviations; sums of squares of larger numbers overflow

# Means (C, d) and covariances (C or 1, d, d), in units of the standard deviations.
Theta = tuple[np.ndarray, np.ndarray]


class Regularisation(NamedTuple):
    """The regularisation of covariances, as the compiled loops read it."""

    own: float  # share of the scatter of a class
    pooled: float  # share of the pooled scatter
    shrinkage: int  # a number in kernels/constants.py
    intensity: float  # γ if it is fixed
    floor: float
    separator: float
    unit: np.ndarray  # (d,) standard deviations, the largest is 1


class CohortSums(NamedTuple):
    """The sums of I cohorts, sorted by class, as the compiled loops read them."""

    class_weight: np.ndarray  # (C,)
    log_volume: np.ndarray  # (C,) Σw (|o| log 2π + log of the squared units)
    first_of: np.ndarray  # (C + 1,) the first cohort of each class
    within: np.ndarray  # (C, d, d) the sum of the scatters
    step: np.ndarray  # (C, d) the pivot of each class, relative to that of the first class
    peak: np.ndarray  # (C, d) the largest value that each sum of squares had
    weight: np.ndarray  # (I,)
    n_shown: np.ndarray  # (I,)
    order: np.ndarray  # (I, d) the columns, those with values first
    mean: np.ndarray  # (I, d), zero where values are missing
    scatter: np.ndarray  # (I, d, d) about the mean
    is_point: np.ndarray  # (I,) bool: one row, so the scatter is zero


class Observed:
    """The weight, the mean, and the scatter about the mean of each cohort.

    Means are relative to one pivot per class, and all numbers are in units of the standard
    deviations of the columns. The results therefore do not depend on the origin and the units of
    the data. Only the `used` columns are stored. I is the number of cohorts.
    """

    def __init__(self, statistic: Patterns, used: np.ndarray | None = None) -> None:
        available = statistic.available()
        centred = Centred(available)
        self.axes, self.centred = statistic.axes, centred
        self.used = centred.total_variance > 0 if used is None else used
        self.at = np.flatnonzero(self.used)
        cells = centred.weight.sum(axis=0)
        within = centred.squares.sum(axis=0) / np.where(cells > 0, cells, 1.0)
        within = np.where(within > 0, within, centred.total_variance)
        self.unit = np.sqrt(np.where(within > 0, within, 1.0))  # (d,)

        parts, owner = statistic.parts, statistic.owner
        arrays, lows = parts.arrays, parts.lows
        at, unit = self.at, self.unit[self.at]
        weight = np.where(arrays["rows"][:, 0] > 0, arrays["weight"][:, 0], 0.0)
        shown = statistic.shown if self.used.all() else statistic.shown[:, at]
        # Rows without any value are dropped, unless a class has only such rows.
        some = shown.any(axis=1)
        C = len(centred.present)
        observed = np.bincount(owner, weight * some, C) > 0
        kept = np.flatnonzero((weight > 0) & (some | ~observed[owner]))
        kept = kept[np.argsort(owner[kept], kind="stable")]
        owner, weight, shown = owner[kept], weight[kept], shown[kept]
        rows = arrays["rows"][kept, 0]
        of_class = (owner == np.arange(C)[:, None]).astype(float)  # (C, I)
        self.rows, self.class_weight = of_class @ rows, of_class @ weight  # (C,), (C,)
        column: tuple[Any, ...] = (kept, 0)
        block: tuple[Any, ...] = (kept, 0)
        if not self.used.all():
            column, block = (kept[:, None], 0, at), (kept[:, None, None], 0, at[:, None], at)
        S = arrays["sum"][column] + lows["sum"][column]
        pivot = centred.pivot[:, at]
        mean = S / weight[:, None]
        scatter = arrays["scatter"][block] - S[:, :, None] * mean[:, None, :]
        scatter += lows["scatter"][block]
        scatter /= unit[:, None] * unit
        point = rows == 1
        scatter[point] = 0.0
        step = arrays["pivot"][kept][:, at] - pivot[owner]
        within = (of_class @ scatter.reshape(len(kept), len(at) ** 2)).reshape(C, len(at), len(at))
        cells_shown = LOG_2PI * shown.sum(axis=1) + 2 * shown @ np.log(unit)  # (I,)
        grown = self.class_weight[:, None] / np.where(centred.weight > 0, centred.weight, np.inf)
        self.peak = E_STEP_LOSS * grown * available.arrays["absorbed"][:, 0]  # (C, d)
        found = (
            self.class_weight,
            of_class @ (weight * cells_shown),
            np.searchsorted(owner, np.arange(C + 1)),
            within,
            (pivot - pivot[:1]) / unit,
            self.peak[:, at] / unit**2,
            weight,
            shown.sum(axis=1),
            np.argsort(~shown, axis=1, kind="stable"),
            np.where(shown, step + mean, 0.0) / unit,
            scatter,
            point,
        )  # in the order of the fields
        self.sums = CohortSums(*map(np.ascontiguousarray, found))

    def check_units(self) -> None:
        """Raise an error if the mean variance of all columns overflows in the unit of one column.

        Shrinkage adds a share of this mean to every variance.
        """
        if not len(self.at):
            return
        unit = self.unit[self.at]
        low, high = int(unit.argmin()), int(unit.argmax())
        if unit[high] / unit[low] < LARGEST_RATIO:
            return
        small, large = (self.axes.columns.name(int(self.at[j])) for j in (low, high))
        raise VerosimError(
            f"Column {small!r} has the standard deviation {unit[low]:.3g} and column {large!r} has "
            f"{unit[high]:.3g}, and the ratio of their squares, which shrinkage needs, is too "
            "large for floating-point numbers.",
            f"Multiply column {small!r} by a constant, or use shrinkage=None.",
        )

    def start(self, shared: bool) -> Theta:
        """The start of EM: the means and the pooled variances of the observed cells."""
        C, d = len(self.class_weight), len(self.at)
        mean = self.centred.offset[:, self.at] / self.unit[self.at]
        return np.ascontiguousarray(mean), np.tile(np.eye(d), (1 if shared else C, 1, 1))

    def place(self, params: FullParams) -> Theta:
        """Parameters in the units and relative to the pivots of this object."""
        unit = self.unit[self.at]
        mean = ((params.pivot - self.centred.pivot) + params.offset)[:, self.at] / unit
        square = np.ix_(np.arange(len(params.covariance_)), self.at, self.at)
        covariance = params.covariance_[square] / (unit[:, None] * unit)
        return np.ascontiguousarray(mean), np.ascontiguousarray(covariance)

    def expect(
        self, mean: np.ndarray, covariance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(C,) log-likelihood, and the expected Σw z (C, d) and Σw z zᵀ (C, d, d), z = x − mean."""
        C, d = mean.shape
        score, first, second = np.empty(C), np.empty((C, d)), np.empty((C, d, d))
        if not kernels.expect_observed(self.sums, mean, covariance, first, second, score):
            raise np.linalg.LinAlgError("A covariance is not positive definite.")
        return score, first, second

    def completed(self, mean: np.ndarray, first: np.ndarray, second: np.ndarray) -> Moments:
        """The expected sums as the statistic of complete rows, about the pivots."""
        out = Moments(self.axes, layout="full")
        W = self.class_weight
        shift = first / np.where(W > 0, W, 1.0)[:, None]
        central = second - first[:, :, None] * shift[:, None, :]
        offset = self.centred.offset.copy()
        unit = self.unit[self.at]
        offset[:, self.at] = (mean + shift) * unit
        arrays = out.arrays
        arrays["rows"][:, 0] = self.rows
        arrays["weight"][:, 0] = W
        arrays["pivot"][...] = self.centred.pivot
        arrays["sum"][:, 0] = W[:, None] * offset
        scatter = W[:, None, None] * (offset[:, :, None] * offset[:, None, :])
        scatter[np.ix_(np.arange(len(W)), self.at, self.at)] += central * (unit[:, None] * unit)
        arrays["scatter"][:, 0] = scatter
        arrays["absorbed"][:, 0] = self.peak
        arrays["absorbed_quartic"][...] = np.inf  # the fourth powers are unknown
        out.note_peaks()
        return out

    def maximised(
        self,
        mixing: Regularisation,
        mean: np.ndarray,
        first: np.ndarray,
        second: np.ndarray,
        covariance: np.ndarray,
    ) -> FullParams | None:
        """The parameters of the M step after the last E step; None if a covariance is singular.

        `covariance` (C or 1, d, d) is a scratch array.
        """
        regular, after = np.zeros(len(covariance), dtype=bool), np.empty_like(mean)
        if not kernels.maximise_observed(
            self.sums, mixing, regular, mean, first, second, after, covariance
        ):
            return None
        unit, d = self.unit[self.at], len(self.used)
        whole = np.zeros((len(covariance), d, d))
        present = self.class_weight > 0
        for k, sigma in enumerate(covariance):
            if len(covariance) == 1 or present[k]:
                whole[k][np.ix_(self.at, self.at)] = sigma * (unit[:, None] * unit)
            else:
                whole[k] = np.eye(d)
        nothing = np.zeros(len(unit))
        factors = [factor(sigma[np.ix_(self.at, self.at)], nothing) for sigma in whole]
        found = [f for f in factors if f is not None]
        if len(found) < len(factors):
            return None
        offset = self.centred.offset.copy()
        offset[:, self.at] = after * unit
        share = self.class_weight / self.class_weight.sum()
        return make_params(
            self.centred.pivot, offset, whole, share, self.used, len(whole) == 1, found, True
        )

    def hopeless(self, pooled: bool) -> Trouble:
        """Covariances that are singular for all possible values of the missing cells."""
        squares, noise = self.centred.squares[:, self.at], 16 * self.centred.noise[:, self.at]
        cells, d = self.centred.weight[:, self.at], len(self.at)
        if pooled:
            few = self.rows.sum() - (self.rows > 0).sum() < d
            constant = squares.sum(axis=0) <= noise.sum(axis=0)
            return {None: self.at[constant]} if few or constant.any() else {}
        out: Trouble = {}
        for c in np.flatnonzero(self.class_weight > 0).tolist():
            constant = (squares[c] <= noise[c]) & (cells[c] > 0)
            if self.rows[c] <= d or constant.any():
                out[c] = self.at[constant]
        return out
