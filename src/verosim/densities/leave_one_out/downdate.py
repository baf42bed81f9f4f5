"""Leave-one-out scores of full Gaussians: a rank-one downdate of the estimate from all rows.

    S' = S − θ z zᵀ,   z = x − μ_y,   κ = W_y w/(W_y − w)
    A' = (1 − a) S' + a (tr S'/d) I,   Σ' = A' / f'

y and w are the class and the weight of the row. θ = κ for class y and λκ for other classes, with
pooling λ. a is the shrinkage and f' the degrees of freedom without the row. In coordinates T in
which S and I are diagonal, T A' Tᵀ = diag(D) − ρ t tᵀ with ρ = (1 − a) θ, and therefore

    |A'| = |T|⁻² ΠD (1 − ρq),   vᵀA'⁻¹v = Σ v²/D + ρ (Σ v t/D)² / (1 − ρq),   q = Σ t²/D

After the rotation by T this costs O(d) per row, even if a depends on the row.
References: Sherman & Morrison (1950), Adjustment of an inverse matrix; Lachenbruch & Mickey
(1968), Estimation of error rates in discriminant analysis; Friedman (1989), Regularized
discriminant analysis, §5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verosim.cached import cached_property
from verosim.densities.central import LEAST_FREEDOM, Scatter
from verosim.densities.leave_one_out.intensity import Fourths, Intensity
from verosim.densities.leave_one_out.removal import Removal
from verosim.kernels.constants import LOG_2PI
from verosim.linalg import EPS

if TYPE_CHECKING:
    from verosim.densities.full import FullGaussian
    from verosim.densities.full_params import FullParams

# Below these two numbers too few digits are left, and the row is refitted: the value of 1 − ρq, and
# the share of a variance that the other columns do not explain.
LEAST_GAP = 1e-3
LEAST_CLEAR = 1e-5
NEARLY_CONSTANT = 1e-6  # share of the squares of a column below which it is nearly constant
SPHERICAL = 0.5  # shrinkage from which the eigenvectors of S are better coordinates
# Squared distance between class means, in standard deviations, up to which one origin is enough.
FAR_APART_MEANS = 1e8


@dataclass(frozen=True)
class Mixture:
    """The scatter of one covariance over the used columns, and its diagonal coordinates T.

    A = (1 − base) S + base (tr S/d) I,   T A Tᵀ = diag(scale),   T Tᵀ = diag(sphere)
    """

    S: np.ndarray  # (d, d) Friedman's mixture; zero where it is only rounding error
    known: np.ndarray  # (d,) bool: the squares of the column are more than rounding error
    peak: np.ndarray  # (d,) the largest values that the sums of squares had
    c: int | None  # the class; None for all classes
    T: np.ndarray  # (d, d)
    scale: np.ndarray  # (d,)
    sphere: np.ndarray  # (d,), not used without shrinkage
    base: float
    log_det: float  # −2 log|T|
    now: np.ndarray  # (d,) the diagonal of T A Tᵀ with the shrinkage from all rows
    unexplained: float  # the smallest share of a variance that the other columns do not explain

    @cached_property
    def trace(self) -> float:
        return float(np.trace(self.S))


@dataclass(frozen=True)
class RemovedRows:
    """A block of b rows, each of which is removed alone."""

    x: np.ndarray  # (b, d) all columns
    z: np.ndarray  # (b, d) x − mean of the class
    kappa: np.ndarray  # (b,)
    further: np.ndarray  # (b,) distance to the class mean without the row / distance with the row
    removal: Removal
    fourths: Fourths | None

    def __getitem__(self, at: np.ndarray) -> RemovedRows:
        fourths = None if self.fourths is None else self.fourths[at]
        return RemovedRows(
            self.x[at], self.z[at], self.kappa[at], self.further[at], self.removal[at], fourths
        )

    def __len__(self) -> int:
        return len(self.x)


def margin(scatter: Scatter, params: FullParams) -> float:
    """The smallest ratio of the variance of a class to the total variance of the column.

    A floor below this ratio has no effect.
    """
    variance = np.diagonal(params.covariance_, axis1=1, axis2=2)
    there = variance if params.shared else variance[scatter.present]
    return float((there[:, params.used] / scatter.total_variance[params.used]).min())


class Downdate:
    """Log densities of rows, each computed from the estimate without this row."""

    def __init__(self, density: FullGaussian, scatter: Scatter, params: FullParams) -> None:
        self.density, self.scatter, self.params = density, scatter, params
        self.at = np.flatnonzero(params.used)
        self.d, self.classes = len(self.at), int(scatter.present.sum())
        self.whole = float(scatter.class_weight.sum())
        self.margin = margin(scatter, params)
        self.intensity: Intensity | None = None
        if density.shrinkage is not None:
            self.intensity = Intensity(density, scatter)
        self.present: list[int] = np.flatnonzero(scatter.present).tolist()
        wanted: list[int | None] = [None] if density.pooling == 1 else [*self.present]
        self.mixtures = {c: self._mixture(c) for c in wanted}

    def _mixture(self, c: int | None) -> Mixture:
        """The scatter and the coordinates of class c, or of all classes if c is None."""
        at, d = self.at, self.d
        square, place = np.ix_(at, at), c or 0
        S, W, freedom, peak = self.scatter.mix(c, self.density.pooling, self.density.covariance)
        known = (S.diagonal() > 16 * EPS * peak)[at]
        S = np.where(known[:, None] & known, S[square], 0.0)
        whitener = self.params.whitener[place][square]
        variance = self.params.covariance_[place].diagonal()[at]
        unexplained = 1 / float(((whitener**2).sum(axis=0) * variance).max())
        a = 0.0 if self.intensity is None else self.intensity.whole(c, S, W)
        ones = np.ones(d)
        if a >= SPHERICAL:
            values, vectors = np.linalg.eigh(S)
            now = (1 - a) * values + a * values.mean()
            return Mixture(
                S, known, peak[at], c, vectors.T, values, ones, 0.0, 0.0, now, unexplained
            )
        T, sphere = whitener / np.sqrt(freedom), ones
        if self.intensity is not None:
            sphere, vectors = np.linalg.eigh(T @ T.T)
            T = vectors.T @ T
        log_det = float(self.params.log_det[place]) + d * np.log(freedom)
        return Mixture(S, known, peak[at], c, T, ones, sphere, a, log_det, ones, unexplained)

    def __call__(self, x: np.ndarray, removal: Removal) -> tuple[np.ndarray, np.ndarray]:
        """(b, C) log p(x | c), and (b,) bool: whether the closed form is valid for the row."""
        scatter, k = self.scatter, removal.classes
        stays = ~removal.gone
        left = np.where(stays, removal.left, 1.0)
        z = (x - scatter.pivot[k]) - scatter.offset[k]
        kappa = np.where(stays, removal.before * removal.weights / left, 0.0)
        further = np.where(stays, removal.before / left, 1.0)
        # If the weight of a class becomes zero although other rows remain, the closed form fails.
        fine = self._varies(x, removal) & (stays | (scatter.statistic.rows[k, 0] == 1))
        if self.density.floor > 0:
            fine &= self.margin * (self.whole - removal.weights) > self.density.floor * self.whole
        fourths = None
        if self.intensity is not None and self.intensity.setting == "ledoit_wolf":
            fourths = self.intensity.fourths(z, removal)
            fine &= fourths.sure | removal.gone
        rows = RemovedRows(x, z, kappa, further, removal, fourths)
        if self.density.pooling == 1:
            return self._pooled(rows, fine)
        return self._each(rows, fine)

    def _each(self, rows: RemovedRows, fine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One covariance per class; without pooling a row changes only that of its own class."""
        scatter, alone = self.scatter, self.density.pooling == 0
        shape = len(rows), len(scatter.present)
        out = self.params.log_density(rows.x) if alone else np.full(shape, -np.inf)
        for c in self.present:
            own = rows.removal.classes == c
            at = np.flatnonzero(own) if alone else np.arange(len(rows))
            if not len(at):
                continue
            some, mixture = rows[at], self.mixtures[c]
            taken = Taken(self, mixture, some)
            v = (some.x - scatter.pivot[c]) - scatter.offset[c]
            v *= np.where(own[at], some.further, 1.0)[:, None]
            out[at, c] = taken.log_density(v[:, self.at] @ mixture.T.T)
            fine[at] &= taken.fine | (own[at] & some.removal.gone)
        return out, fine

    def _pooled(self, rows: RemovedRows, fine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One covariance for all classes; rows are rotated once if the class means are close."""
        scatter, T = self.scatter, self.mixtures[None].T
        taken = Taken(self, self.mixtures[None], rows)
        out = np.full((len(rows), len(scatter.present)), -np.inf)
        pivot, steps = self._steps
        rotated = (rows.x - pivot)[:, self.at] @ T.T if steps is not None else None
        for c in self.present:
            if rotated is not None and steps is not None:
                v = rotated - steps[c]
            else:
                v = ((rows.x - scatter.pivot[c]) - scatter.offset[c])[:, self.at] @ T.T
            v *= np.where(rows.removal.classes == c, rows.further, 1.0)[:, None]
            out[:, c] = taken.log_density(v)
        return out, fine & taken.fine

    @cached_property
    def _steps(self) -> tuple[np.ndarray, np.ndarray | None]:
        """One pivot (d,) and the rotated class means (C, d); None if they are too far apart."""
        pivot, means = self.params.about_one_pivot
        far = ((means @ self.params.whitener[0].T) ** 2).sum(axis=1).max() > FAR_APART_MEANS
        return pivot, None if far else means[:, self.at] @ self.mixtures[None].T.T

    def _varies(self, x: np.ndarray, removal: Removal) -> np.ndarray:
        """(b,) bool: no used column is constant, over all classes, without the row."""
        pivot, centre, _ = self.params.reference
        apart = ((x - pivot) - centre)[:, self.at]
        rest = self.whole - removal.weights
        kappa = self.whole * removal.weights / np.where(rest > 0, rest, 1.0)
        spread = self.whole * self.scatter.total_variance[self.at]
        return (rest > 0) & (
            spread - kappa[:, None] * apart**2 > NEARLY_CONSTANT * spread
        ).all(axis=1)  # fmt: skip


class Taken:
    """One mixture from which each of some rows is removed alone."""

    def __init__(self, by: Downdate, m: Mixture, rows: RemovedRows) -> None:
        d, density, removal = by.d, by.density, rows.removal
        whole = by.whole - removal.weights
        weight, lost = whole, float(density.covariance == "unbiased")
        freedom = whole - lost * (by.classes - removal.gone)
        theta = rows.kappa
        own = None if m.c is None else removal.classes == m.c
        if m.c is not None and own is not None:
            pooling = float(density.pooling)
            theta = theta * np.where(own, 1.0, pooling)
            mine = by.scatter.class_weight[m.c] - np.where(own, removal.weights, 0.0)
            weight = (1 - pooling) * mine + pooling * whole
            freedom = (1 - pooling) * np.maximum(mine - lost, 0.0) + pooling * freedom
        fine = freedom > LEAST_FREEDOM * weight * (1 + NEARLY_CONSTANT)
        z = np.where(m.known, rows.z[:, by.at], 0.0)
        self.t = z @ m.T.T
        trace = m.trace - theta * (z**2).sum(axis=1)
        a, D = np.zeros(len(rows)), np.ones((1, d))
        if by.intensity is not None:
            a, sure = by.intensity.without(m.S, z, theta, trace, weight, rows.fourths, own, m.c)
            fine &= sure
            share = (1 - a) / (1 - m.base)
            more = (a * trace - share * m.base * m.trace) / d
            D = share[:, None] * m.scale + more[:, None] * m.sphere
            fine &= (D > 0).all(axis=1)
            D = np.where(fine[:, None], D, 1.0)
        self.inverse, self.rho = 1 / D, (1 - a) * theta
        gap = 1 - self.rho * (self.t**2 * self.inverse).sum(axis=1)
        diagonal = m.S.diagonal() - theta[:, None] * z**2
        reached = D / m.now
        clear = m.unexplained * gap * reached.min(axis=1) / reached.max(axis=1)
        least = np.maximum(LEAST_CLEAR, self._noise(by, m, diagonal))
        self.fine = fine & (gap > LEAST_GAP) & (clear > least)
        self.fine &= (~m.known | (diagonal > NEARLY_CONSTANT * m.S.diagonal())).all(axis=1)
        self.fine &= (~m.known | (diagonal > 32 * EPS * m.peak)).all(axis=1)
        self.freedom, self.gap = (np.where(self.fine, value, 1.0) for value in (freedom, gap))
        if density.floor > 0:
            variance = (1 - a[:, None]) * diagonal + (a * trace / d)[:, None]
            most = by.scatter.total_variance[by.at] * (by.whole / whole * freedom)[:, None]
            self.fine &= (variance > density.floor * most).all(axis=1)
        self.level = d * LOG_2PI + m.log_det + np.log(D).sum(axis=1) + np.log(self.gap)
        self.level = self.level - d * np.log(self.freedom)

    def _noise(self, by: Downdate, m: Mixture, diagonal: np.ndarray) -> np.ndarray:
        """(b,) the share of variance below which `linalg.factor` reports a singular matrix."""
        safe = np.where(diagonal > 0, diagonal, np.inf)
        return 2 * 64 * by.d * np.maximum(EPS, (EPS * m.peak / safe).max(axis=1))

    def log_density(self, v: np.ndarray) -> np.ndarray:
        """(b,) log p of rows, where v (b, d) is the rotated difference x − mean."""
        scaled = v * self.inverse
        square = (v * scaled).sum(axis=1)
        square += self.rho * (self.t * scaled).sum(axis=1) ** 2 / self.gap
        found: np.ndarray = -0.5 * (self.level + self.freedom * square)
        return found
