"""Shrinkage intensities without the row, from norms alone.

    ‖S − θzzᵀ‖² = ‖S‖² − 2θ zᵀSz + θ²‖z‖⁴,   tr(S − θzzᵀ) = tr S − θ‖z‖²

and, for Ledoit–Wolf, Σw‖x − μ'‖⁴ of the rows that remain about the mean they have: the row's terms
leave the sums, and the sums move by δ = w z/(W − w), as in `Moments.moved`.
References: Ledoit & Wolf (2004), A well-conditioned estimator for large-dimensional covariance
matrices; Chen, Wiesel, Eldar & Hero (2010), Shrinkage algorithms for MMSE covariance estimation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verosim.densities.central import Scatter
from verosim.densities.leave_one_out.removal import CANCELLED, Removal

if TYPE_CHECKING:
    from verosim.densities.full import FullGaussian

ABOVE_NOISE = 2e8  # rounding errors of fourth powers that are surely no noise


@dataclass(frozen=True)
class Fourths:
    """Σw‖x − μ‖⁴ of each row's class with the row and without it."""

    before: np.ndarray  # (b,)
    left: np.ndarray  # (b,)
    sure: np.ndarray  # (b,) bool: whether what is left has kept its digits

    def __getitem__(self, at: np.ndarray) -> Fourths:
        return Fourths(self.before[at], self.left[at], self.sure[at])


class Intensity:
    """How much of (tr Σ/d) I goes into a covariance: a number, or found from the data."""

    known = True  # whether what all rows give is more than rounding

    def __init__(self, density: FullGaussian, scatter: Scatter) -> None:
        assert density.shrinkage is not None
        self.density, self.scatter, self.unit = density, scatter, scatter.scale
        self.setting, self.pooling = density.shrinkage, density.pooling
        if self.setting != "ledoit_wolf":
            return
        present, about = scatter.present, scatter.about_means
        self.each = np.where(present, scatter.quartics, 0.0)  # (C,) in units of `unit`²
        with np.errstate(over="ignore", invalid="ignore"):
            self.cube = about.arrays["cube"][:, 0] + about.lows["cube"][:, 0]  # (C, d)
        found, noise = scatter.fourth_powers
        self.noise = ABOVE_NOISE * noise
        none = np.trace(scatter.each, axis1=1, axis2=2) == 0
        sure = np.isfinite(found) & (found > self.noise)
        self.known = scatter.is_ordinary and bool((sure | none | ~present).all())

    def whole(self, c: int | None, S: np.ndarray, W: float) -> float:
        """The intensity all rows give the mixture S of weight W, of class c or of all."""
        if self.setting == "ledoit_wolf":
            quartic = self.scatter.mixed_quartic(c, self.pooling)
            norm = float(((S / W / self.unit) ** 2).sum())
            self.known &= len(S) < 2 or abs(quartic / W - norm) > CANCELLED * norm
        return self.density.intensity(self.scatter, c, S / W, W)

    def fourths(self, z: np.ndarray, removal: Removal) -> Fourths:
        """Fourth powers of the rows' classes; z (b, d) are the rows about their means."""
        left, sure = np.zeros(len(z)), np.ones(len(z), dtype=bool)
        for c in np.unique(removal.classes).tolist():
            at = np.flatnonzero((removal.classes == c) & ~removal.gone)
            Z, w, rest = z[at], removal.weights[at], removal.left[at]
            M, r = self.scatter.each[c], w / rest  # δ = r z
            s = (Z**2).sum(axis=1)  # ‖z‖²
            D = r**2 * s  # ‖δ‖²
            zMz = ((Z @ M) * Z).sum(axis=1) - w * s**2  # without the row, as is what follows
            zT = Z @ self.cube[c] - w * s**2
            moved = 4 * r**2 * zMz + 4 * r * zT + 2 * D * (np.trace(M) - w * s)
            moved += rest * D**2 - 4 * D * w * r * s
            left[at] = self.each[c] + (moved - w * s**2) / self.unit / self.unit
            sure[at] = (left[at] > CANCELLED * self.each[c]) & (left[at] > self.noise[c])
        return Fourths(self.each[removal.classes], left, sure)

    def without(
        self, S: np.ndarray, z: np.ndarray, theta: np.ndarray, trace: np.ndarray,
        weight: np.ndarray, fourths: Fourths | None, own: np.ndarray | None, c: int | None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """(b,) the intensity S − θzzᵀ has, of this trace and weight, and whether it is sure.

        `own` says which rows are of class c, whose mixture S is; both are None if it is of all.
        """
        b, d = z.shape
        sure = (trace > CANCELLED * np.trace(S)) & (weight > 0)
        if not isinstance(self.setting, str):
            return np.full(b, float(self.setting)), sure
        if d <= 1:
            return np.zeros(b), sure
        norm, squares = float((S**2).sum()), (z**2).sum(axis=1)
        left = norm - 2 * theta * ((z @ S) * z).sum(axis=1) + (theta * squares) ** 2
        sure &= left > CANCELLED * norm
        weight = np.where(sure, weight, 1.0)
        left, mean = left / weight**2 / self.unit**2, trace / weight / self.unit / d
        if self.setting == "oas":
            apart = (weight + 1) * (left / d**2 - mean**2 / d)
            near = apart <= 0
            share = (left / d**2 + mean**2) / np.where(near, 1.0, apart)
            return np.where(near, 1.0, np.minimum(share, 1.0)), sure
        assert fourths is not None
        quartic = self.each.sum() - fourths.before + fourths.left
        if own is not None:
            mine = np.where(own, fourths.left, self.each[c])
            quartic = (1 - self.pooling) * mine + self.pooling * quartic
        apart, more = left - d * mean**2, quartic / weight - left
        sure &= np.abs(more) > CANCELLED * left  # two rows leave nothing of it but rounding
        spread = np.minimum(np.maximum(more / weight, 0.0), apart)
        return np.where(spread > 0, spread / np.where(spread > 0, apart, 1.0), 0.0), sure
