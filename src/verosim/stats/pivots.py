"""The origins that moments are summed about: how they are chosen, and what moving them adds.

Sums of z' = z + δ instead of z, with δ = old pivot − new pivot and c = ‖δ‖²:

    S' = S + Wδ;   M' = M + Sδᵀ + δSᵀ + Wδδᵀ
    Σ‖z'‖²z' = T + 2Mδ + cS + (tr M + 2S·δ + Wc) δ
    Σ‖z'‖⁴   = F + 4δᵀMδ + 4δ·T + 2c tr M + 4c S·δ + W c²
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verosim import kernels
from verosim.data import Batch, SparseRows

if TYPE_CHECKING:
    from verosim.stats.moments import Moments

PIVOT_ROWS = 31  # rows of a class that choose its pivot


def choose_pivots(pivot: np.ndarray, batch: Batch, folds: int) -> None:
    """Set the pivots (C, d) not yet set, in place: the lower median of a class's first finite
    values."""
    unset = np.isnan(pivot)
    if not unset.any():
        return
    C, d = pivot.shape
    most = PIVOT_ROWS
    if isinstance(batch.block, SparseRows):
        most = int(np.clip((1 << 20) // (C * d), 1, PIVOT_ROWS))
    rows = np.zeros((C, most), dtype=np.int64)
    found = np.zeros(C, dtype=np.int64)
    kernels.first_rows(batch.groups, folds, rows, found)
    here = np.flatnonzero((found > 0) & unset.any(axis=1))
    if not len(here):
        return
    block = batch.block
    at = rows[here].ravel()
    taken = block.take(at) if isinstance(block, SparseRows) else block[at]
    values = taken.reshape(len(here), most, d).astype(np.float64)
    values[np.arange(most) >= found[here, None]] = np.nan
    values[~np.isfinite(values)] = np.nan
    values.sort(axis=1)  # NaN goes last
    finite = np.isfinite(values).sum(axis=1)  # (classes here, d)
    middle = np.maximum(finite - 1, 0) // 2
    median = np.take_along_axis(values, middle[:, None, :], axis=1)[:, 0, :]
    pivot[here] = np.where(unset[here], median, pivot[here])


def added_by_moving(statistic: Moments, delta: np.ndarray) -> dict[str, np.ndarray]:
    """What each sum gains when z becomes z + δ, δ (class, column)."""
    D = delta[:, None, :]  # (C, 1, d)
    S, W = statistic.arrays["sum"], statistic.weights
    if statistic.layout == "diagonal":
        return {"square": 2 * D * S + W * D * D, "sum": W * D}
    cross = S[..., :, None] * D[..., None, :]
    change = cross + np.swapaxes(cross, -1, -2)
    change = change + W[..., None] * (D[..., :, None] * D[..., None, :])
    if statistic.layout == "pooled":
        return {"scatter": change.sum(axis=0), "sum": W * D}
    with np.errstate(over="ignore", invalid="ignore"):  # huge units have no fourth powers
        cube, quartic = _fourths(statistic, delta)
    return {"cube": cube, "quartic": quartic, "scatter": change, "sum": W * D}


def _fourths(statistic: Moments, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What Σ‖z‖²z and Σ‖z‖⁴ gain."""
    M, T, S = (statistic.arrays[name] for name in ("scatter", "cube", "sum"))
    w = statistic.weight
    D = delta[:, None, :]
    c = (D * D).sum(-1)  # (C, 1)
    trace = np.trace(M, axis1=-2, axis2=-1)
    dot = (S * D).sum(-1)
    Md = np.einsum("cfij,cj->cfi", M, delta)
    cube = 2 * Md + c[..., None] * S + (trace + 2 * dot + w * c)[..., None] * D
    quartic = 4 * ((Md + T) * D).sum(-1) + 2 * c * trace + 4 * c * dot + w * c * c
    return cube, quartic
