"""The E step on statistics: from cohorts and a Gaussian to the expected sums of complete rows.

For rows that show columns o and miss m, with z = x − μ and B = Σ_mo Σ_oo⁻¹,

    E[z_m] = B z_o,   E[z_m z_oᵀ] = B z_o z_oᵀ,   E[z_m z_mᵀ] = B z_o z_oᵀ Bᵀ + V

with V = Σ_mm − B Σ_om, is linear in the sums of a cohort, so no row is needed. With P = Σ⁻¹, one
inverse a class, V = P_mm⁻¹ and B = −V P_mo: cohorts that miss as many columns are done at once.
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

E_STEP_LOSS = 1e4  # what an E step may lose against sums: regressions of nearly dependent columns

Theta = tuple[np.ndarray, np.ndarray]  # means (C, d) and covariances (C or 1, d, d), in units


class Observed:
    """The cohorts as the likelihood reads them: weight, mean, and scatter about it.

    Means are about a pivot a class, and everything is in units of the columns' deviations, so
    nothing hangs on where the data lie or what they are measured in. Only `used` columns are held.
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
        # Rows that show nothing say nothing, unless a class has no others.
        telling = np.zeros(len(centred.present), dtype=bool)
        telling[owner[(weight > 0) & shown.any(axis=1)]] = True
        kept = np.flatnonzero((weight > 0) & (shown.any(axis=1) | ~telling[owner]))
        kept = kept[np.argsort((~shown[kept]).sum(axis=1), kind="stable")]
        self.owner, self.weight = owner[kept], weight[kept]
        self.shown = shown[kept]  # (I, d), fewest missing first
        self.rows = np.bincount(self.owner, arrays["rows"][kept, 0], len(telling))
        self.class_weight = np.bincount(self.owner, self.weight, len(telling))
        some = np.ix_(kept, self.at)
        unit = self.unit[self.at]
        S = (arrays["sum"][:, 0] + lows["sum"][:, 0])[some]
        step = arrays["pivot"][some] - centred.pivot[np.ix_(self.owner, self.at)]
        mean = S / self.weight[:, None]
        self.mean = np.where(self.shown, step + mean, 0.0) / unit
        block = np.ix_(kept, self.at, self.at)
        M = arrays["scatter"][:, 0][block] - S[:, :, None] * mean[:, None, :]
        self.scatter = (M + lows["scatter"][:, 0][block]) / (unit[:, None] * unit)
        self.members = [np.flatnonzero(self.owner == c) for c in range(len(telling))]
        self.within = np.stack([self.scatter[of].sum(axis=0) for of in self.members])
        cells_shown = LOG_2PI * self.shown.sum(axis=1) + 2 * self.shown @ np.log(unit)
        self.log_volume = np.bincount(self.owner, self.weight * cells_shown, len(telling))

    def start(self, shared: bool) -> Theta:
        """Means of the cells that are there, and their pooled variances."""
        C, d = len(self.class_weight), len(self.at)
        return self.centred.offset[:, self.at] / self.unit[self.at], np.tile(
            np.eye(d), (1 if shared else C, 1, 1)
        )

    def place(self, params: FullParams) -> Theta:
        unit = self.unit[self.at]
        mean = ((params.pivot - self.centred.pivot) + params.offset)[:, self.at] / unit
        square = np.ix_(np.arange(len(params.covariance_)), self.at, self.at)
        return mean, params.covariance_[square] / (unit[:, None] * unit)

    def expect(
        self, mean: np.ndarray, covariance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(C,) log-likelihood, and the expected Σw z and Σw z zᵀ, z = x − mean."""
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
            # Expected cells lie where zᵀPz is least, and that is z_oᵀ Σ_oo⁻¹ z_o.
            score[c] += (weighted * (z[of] @ P[c])).sum()
        return -0.5 * score, first, second

    def _groups(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Cohorts that miss the same number of columns, and the columns (I, q) they miss."""
        missing, d = (~self.shown).sum(axis=1), self.shown.shape[1]
        bounds = np.searchsorted(missing, np.arange(1, d + 2))
        for q in range(1, d + 1):
            start, stop = bounds[q - 1 : q + 1].tolist()
            step = max(1, 2 * BLOCK_CELLS // (q * d))
            for at in range(start, stop, step):
                some = slice(at, min(at + step, stop))
                yield some, np.nonzero(~self.shown[some])[1].reshape(-1, q)

    def completed(self, mean: np.ndarray, first: np.ndarray, second: np.ndarray) -> Moments:
        """The expected sums as the statistic of a complete table, about the pivots."""
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
        arrays["absorbed_quartic"][...] = np.inf  # of fourth powers nothing is known
        out.note_peaks()
        return out

    def hopeless(self, pooled: bool) -> Trouble:
        """Covariances no more than singular, whatever the missing cells were."""
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
