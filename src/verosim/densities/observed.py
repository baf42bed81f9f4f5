"""The E step of EM: the expected sums of complete rows, from the sums of cohorts and a Gaussian.

For rows with values in columns o and missing cells in columns m, with z = x − μ,

    E[z_m] = B z_o,   E[z_m z_oᵀ] = B z_o z_oᵀ,   E[z_m z_mᵀ] = B z_o z_oᵀ Bᵀ + V
    B = Σ_mo Σ_oo⁻¹ = −V P_mo,   V = Σ_mm − B Σ_om = P_mm⁻¹,   P = Σ⁻¹

These are linear in the sums of a cohort, so no rows are needed. P is computed once per class.
Cohorts with the same number of missing columns are computed together.
Reference: Little & Rubin (2002), Statistical Analysis with Missing Data, §11.2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verosim.data.batch import BLOCK_CELLS
from verosim.densities.central import Centred
from verosim.densities.full import Trouble
from verosim.densities.full_params import FullParams
from verosim.kernels.constants import LOG_2PI
from verosim.stats import Moments, Patterns

# Rounding errors of an E step relative to those of sums; nearly dependent columns increase them.
E_STEP_LOSS = 1e4

# Means (C, d) and covariances (C or 1, d, d), in units of the standard deviations.
Theta = tuple[np.ndarray, np.ndarray]


class Observed:
    """The weight, the mean, and the scatter about the mean of each cohort.

    Means are relative to one pivot per class, and all numbers are in units of the standard
    deviations of the columns. The results therefore do not depend on the origin and the units of
    the data. Only the `used` columns are stored. I is the number of cohorts.
    """

    def __init__(self, statistic: Patterns, used: np.ndarray | None = None) -> None:
        available = statistic.available()
        centred = Centred(available)
        self.axes, self.available, self.centred = statistic.axes, available, centred
        self.used = centred.total_variance > 0 if used is None else used
        self.at = np.flatnonzero(self.used)
        cells = centred.weight.sum(axis=0)
        within = centred.squares.sum(axis=0) / np.where(cells > 0, cells, 1.0)
        within = np.where(within > 0, within, centred.total_variance)
        self.unit = np.sqrt(np.where(within > 0, within, 1.0))  # (d,)

        parts, owner = statistic.parts, statistic.owner
        arrays, lows = parts.arrays, parts.lows
        weight = np.where(arrays["rows"][:, 0] > 0, arrays["weight"][:, 0], 0.0)
        shown = statistic.shown[:, self.at]
        # Rows without any value are dropped, unless a class has only such rows.
        observed = np.zeros(len(centred.present), dtype=bool)  # (C,)
        observed[owner[(weight > 0) & shown.any(axis=1)]] = True
        kept = np.flatnonzero((weight > 0) & (shown.any(axis=1) | ~observed[owner]))
        kept = kept[np.argsort((~shown[kept]).sum(axis=1), kind="stable")]
        self.owner, self.weight = owner[kept], weight[kept]  # (I,), (I,)
        self.shown = shown[kept]  # (I, d), sorted by the number of missing columns
        self.rows = np.bincount(self.owner, arrays["rows"][kept, 0], len(observed))  # (C,)
        self.class_weight = np.bincount(self.owner, self.weight, len(observed))  # (C,)
        some = np.ix_(kept, self.at)
        unit = self.unit[self.at]
        S = (arrays["sum"][:, 0] + lows["sum"][:, 0])[some]
        step = arrays["pivot"][some] - centred.pivot[np.ix_(self.owner, self.at)]
        mean = S / self.weight[:, None]
        self.mean = np.where(self.shown, step + mean, 0.0) / unit  # (I, d)
        block = np.ix_(kept, self.at, self.at)
        M = arrays["scatter"][:, 0][block] - S[:, :, None] * mean[:, None, :]
        self.scatter = (M + lows["scatter"][:, 0][block]) / (unit[:, None] * unit)  # (I, d, d)
        self.members = [np.flatnonzero(self.owner == c) for c in range(len(observed))]
        self.within = np.stack([self.scatter[of].sum(axis=0) for of in self.members])  # (C, d, d)
        cells_shown = LOG_2PI * self.shown.sum(axis=1) + 2 * self.shown @ np.log(unit)  # (I,)
        self.log_volume = np.bincount(self.owner, self.weight * cells_shown, len(observed))  # (C,)

    def start(self, shared: bool) -> Theta:
        """The start of EM: the means and the pooled variances of the observed cells."""
        C, d = len(self.class_weight), len(self.at)
        return self.centred.offset[:, self.at] / self.unit[self.at], np.tile(
            np.eye(d), (1 if shared else C, 1, 1)
        )

    def place(self, params: FullParams) -> Theta:
        """Parameters in the units and relative to the pivots of this object."""
        unit = self.unit[self.at]
        mean = ((params.pivot - self.centred.pivot) + params.offset)[:, self.at] / unit
        square = np.ix_(np.arange(len(params.covariance_)), self.at, self.at)
        return mean, params.covariance_[square] / (unit[:, None] * unit)

    def expect(
        self, mean: np.ndarray, covariance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(C,) log-likelihood, and the expected Σw z (C, d) and Σw z zᵀ (C, d, d), z = x − mean."""
        C, d = mean.shape
        L = np.linalg.cholesky(covariance)
        inverse = np.linalg.inv(L)
        P = np.swapaxes(inverse, 1, 2) @ inverse
        log_det = 2 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        P, log_det = np.broadcast_to(P, (C, d, d)), np.broadcast_to(log_det, C)
        z = np.where(self.shown, self.mean - mean[self.owner], 0.0)  # (I, d)
        first, second = np.empty((C, d)), np.zeros(C * d * d)
        score = self.log_volume + self.class_weight * log_det + (P * self.within).sum(axis=(1, 2))
        for some, hidden in self._groups():
            owner, W = self.owner[some], self.weight[some]
            P_m = P[owner[:, None], hidden]  # (I, q, d)
            P_mm = np.take_along_axis(P_m, hidden[:, None, :], axis=2)
            P_mo = P_m * self.shown[some, None, :]
            V = np.linalg.inv(P_mm)
            B = -(V @ P_mo)
            BS = B @ self.scatter[some]
            mm = BS @ np.swapaxes(B, 1, 2) + W[:, None, None] * V
            place = owner[:, None] * d + hidden  # (I, q) rows of `second`
            second += np.bincount(
                (place[:, :, None] * d + hidden[:, None, :]).ravel(), mm.ravel(), len(second)
            )
            mo = np.bincount(
                (place[:, :, None] * d + np.arange(d)).ravel(), BS.ravel(), len(second)
            ).reshape(C, d, d)
            second += (mo + np.swapaxes(mo, 1, 2)).ravel()
            score += np.bincount(
                owner, W * np.linalg.slogdet(P_mm)[1] + (P_mo * BS).sum(axis=(1, 2)), C
            )
            filled = z[some]
            np.put_along_axis(filled, hidden, (B @ filled[:, :, None])[:, :, 0], axis=1)
        second = second.reshape(C, d, d) + self.within
        for c, of in enumerate(self.members):
            weighted = self.weight[of, None] * z[of]
            first[c] = weighted.sum(axis=0)
            second[c] += weighted.T @ z[of]
            # The expected cells minimise zᵀPz, and the minimum is z_oᵀ Σ_oo⁻¹ z_o.
            score[c] += (weighted * (z[of] @ P[c])).sum()
        return -0.5 * score, first, second

    def _groups(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Cohorts with the same number q of missing columns, and these columns (cohorts, q)."""
        missing, d = (~self.shown).sum(axis=1), self.shown.shape[1]
        bounds = np.searchsorted(missing, np.arange(1, d + 2))
        for q in range(1, d + 1):
            start, stop = bounds[q - 1 : q + 1].tolist()
            step = max(1, 2 * BLOCK_CELLS // (q * d))
            for at in range(start, stop, step):
                some = slice(at, min(at + step, stop))
                yield some, np.nonzero(~self.shown[some])[1].reshape(-1, q)

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
        cells = self.centred.weight
        grown = np.where(cells > 0, W[:, None] / np.where(cells > 0, cells, 1.0), 0.0)
        arrays["absorbed"][:, 0] = E_STEP_LOSS * grown * self.available.arrays["absorbed"][:, 0]
        arrays["absorbed_quartic"][...] = np.inf  # the fourth powers are unknown
        out.note_peaks()
        return out

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
