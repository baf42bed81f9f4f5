"""Leave-one-out shrinkage intensities, computed from norms only.

    ‖S − θzzᵀ‖² = ‖S‖² − 2θ zᵀSz + θ²‖z‖⁴,   tr(S − θzzᵀ) = tr S − θ‖z‖²

Ledoit–Wolf also needs Σw‖x − μ'‖⁴ of the remaining rows about their mean. The terms of the row are
subtracted from the sums, and the sums are moved by δ = w z/(W − w), as in `Moments.moved`.
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

ABOVE_NOISE = 2e8  # a fourth power above so many rounding errors has enough correct digits


@dataclass(frozen=True)
class Fourths:
    """Σw‖x − μ‖⁴ of the class of each row, with the row and without it."""

    before: np.ndarray  # (b,) with the row
    left: np.ndarray  # (b,) without the row
    sure: np.ndarray  # (b,) bool: `left` has enough correct digits

    def __getitem__(self, at: np.ndarray) -> Fourths:
        return Fourths(self.before[at], self.left[at], self.sure[at])


class Intensity:
    """The shrinkage towards (tr Σ/d) I: a fixed number, or estimated from the data."""

    known = True  # whether the intensity from all rows has enough correct digits

    def __init__(self, density: FullGaussian, scatter: Scatter) -> None:
        assert density.shrinkage is not None
        self.density, self.scatter, self.unit = density, scatter, scatter.scale
        self.setting, self.pooling = density.shrinkage, float(density.pooling)
        if self.setting != "ledoit_wolf":
            return
        present, about = scatter.present, scatter.about_means
        self.each = np.where(present, scatter.quartics[0], 0.0)  # (C,) in units of `unit`²
        with np.errstate(over="ignore", invalid="ignore"):
            self.cube = about.arrays["cube"][:, 0] + about.lows["cube"][:, 0]  # (C, d)
        found, noise = scatter.fourth_powers
        self.noise = ABOVE_NOISE * noise
        none = np.trace(scatter.each, axis1=1, axis2=2) == 0
        sure = np.isfinite(found) & (found > self.noise)
        self.known = bool((sure | none | ~present).all())

    def whole(self, c: int | None, S: np.ndarray, W: float) -> float:
        """The intensity from all rows, for the mixture S of class c (None: all) of weight W."""
        if self.setting == "ledoit_wolf":
            quartic, _ = self.scatter.mixed_quartic(c, self.pooling)
            norm = float(((S / W / self.unit) ** 2).sum())
            self.known &= len(S) < 2 or abs(quartic / W - norm) > CANCELLED * norm
        return self.density.intensity(self.scatter, c, S, W)[0]

    def fourths(self, z: np.ndarray, removal: Removal) -> Fourths:
        """Fourth powers of the classes of the rows; z (b, d) is x − mean of the class."""
        left, sure = np.zeros(len(z)), np.ones(len(z), dtype=bool)
        for c in np.unique(removal.classes).tolist():
            at = np.flatnonzero((removal.classes == c) & ~removal.gone)
            Z, w, rest = z[at], removal.weights[at], removal.left[at]
            M, r = self.scatter.each[c], w / rest  # δ = r z
            s = (Z**2).sum(axis=1)  # ‖z‖²
            D = r**2 * s  # ‖δ‖²
            # From here on all sums are those without the row.
            zMz = ((Z @ M) * Z).sum(axis=1) - w * s**2
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
        """(b,) the intensity of S − θzzᵀ, and (b,) bool: whether it has enough correct digits.

        `trace` and `weight` (b,) are those of S − θzzᵀ. `own` (b,) marks the rows of class c. Both
        `own` and c are None if S is the mixture of all classes.
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
        sure &= np.abs(more) > CANCELLED * left  # with two rows it is only rounding error
        spread = np.minimum(np.maximum(more / weight, 0.0), apart)
        return np.where(spread > 0, spread / np.where(spread > 0, apart, 1.0), 0.0), sure
