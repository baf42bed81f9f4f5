"""Pivots: the origins of the sums in `Moments`. They are chosen near the data and can be moved.

Moving a pivot replaces z by z' = z + δ, with δ = old pivot − new pivot. With c = ‖δ‖²,
T = Σ‖z‖²z and F = Σ‖z‖⁴, the sums become

    S' = S + Wδ;   M' = M + Sδᵀ + δSᵀ + Wδδᵀ
    T' = T + 2Mδ + cS + (tr M + 2S·δ + Wc) δ
    F' = F + 4δᵀMδ + 4δ·T + 2c tr M + 4c S·δ + W c²

Reference: Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance, The American
Statistician 37, 242–247.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verosim import kernels
from verosim.data import Batch, SparseRows
from verosim.data.batch import BLOCK_CELLS

if TYPE_CHECKING:
    from verosim.stats.moments import Moments

PIVOT_ROWS = 31  # the pivot of a class is the median of so many of its rows
HEAVY_SHARE = 1e-3  # of the largest weight: a pivot far from the heavy rows loses digits


def choose_pivots(pivot: np.ndarray, batch: Batch, folds: int) -> None:
    """Set the pivots (C, d) that are not set yet, in place.

    A pivot is the lower median of the first finite values of its class and column, without the
    rows of small weight. If these rows have no value in a column, the pivot is the first value of
    the other rows, again without those of small weight. The first block of rows with a value of the
    class and the column decides.
    """
    for block in batch.blocks():
        unset = np.isnan(pivot)
        if not unset.any():
            return
        _choose_in_block(pivot, unset, block, folds)


def _choose_in_block(pivot: np.ndarray, unset: np.ndarray, batch: Batch, folds: int) -> None:
    C, d = pivot.shape
    most = PIVOT_ROWS
    if isinstance(batch.block, SparseRows):
        most = int(np.clip((1 << 20) // (C * d), 1, PIVOT_ROWS))
    rows = np.zeros((C, most), dtype=np.int64)  # the first rows of each class
    found = np.zeros(C, dtype=np.int64)  # (C,) how many of them there are
    least = np.zeros(C)  # memory of the caller: code that makes arrays takes longer to compile
    kernels.first_rows(batch.groups, folds, batch.weights, HEAVY_SHARE, least, rows, found)
    here = ((found > 0) & unset.any(axis=1)).nonzero()[0]
    if not len(here):
        return
    block, found = batch.block, found[here]
    most = int(found.max())
    at = rows[here, :most].ravel()
    taken = block.take(at) if isinstance(block, SparseRows) else block.take(at, axis=0)
    values = taken.reshape(len(here), most, d).astype(np.float64, copy=False)
    if found.min() < most:
        values[np.arange(most) >= found[:, None]] = np.nan
    finite = np.isfinite(values)
    if finite.all():
        values.sort(axis=1)
        median = values[:, (most - 1) // 2]
    else:
        values[~finite] = np.nan
        values.sort(axis=1)  # NaN is sorted to the end
        middle = np.maximum(finite.sum(axis=1) - 1, 0) // 2  # (classes in the batch, d)
        median = np.take_along_axis(values, middle[:, None, :], axis=1)[:, 0, :]
    pivot[here] = np.where(unset[here], median, pivot[here])
    unset = np.isnan(pivot)
    if not unset.any():
        return
    absent = np.ones(C, dtype=bool)
    absent[here] = False
    unset[absent] = False
    columns = np.flatnonzero(unset.any(axis=0))
    step = max(1, BLOCK_CELLS // len(batch))
    for first in range(0, len(columns), step):
        _first_values(pivot, batch, folds, columns[first : first + step])


def _first_values(pivot: np.ndarray, batch: Batch, folds: int, columns: np.ndarray) -> None:
    """Set the pivots of some columns to the first value of a row that is not light, in place.

    A row is light if its weight is below a share of the largest weight of the rows with a value.
    """
    block = batch.block
    if isinstance(block, SparseRows):
        values = block.as_csr()[:, columns].toarray()
    else:
        values = block[:, columns]
    of_row = batch.groups // folds  # (n,)
    at, j = np.nonzero(np.isfinite(values) & np.isnan(pivot[:, columns])[of_row])
    place = of_row[at], j
    weight = batch.weights[at] if len(batch.weights) else np.ones(len(at))
    heaviest = np.zeros((len(pivot), len(columns)))
    np.maximum.at(heaviest, place, weight)
    heavy = np.flatnonzero(weight >= HEAVY_SHARE * heaviest[place])[::-1]
    c, j = place[0][heavy], place[1][heavy]
    pivot[c, columns[j]] = values[at[heavy], j]  # the last assignment is that of the first row


def added_by_moving(statistic: Moments, delta: np.ndarray) -> dict[str, np.ndarray]:
    """The change of each sum if z becomes z + δ, with δ of shape (C, d).

    Sums that overflow are infinite, and the estimate refuses them by name.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _changes(statistic, delta)


def _changes(statistic: Moments, delta: np.ndarray) -> dict[str, np.ndarray]:
    D = delta[:, None, :]  # (C, 1, d)
    S, W = statistic.arrays["sum"], statistic.weights
    if statistic.layout == "diagonal":
        return {"square": 2 * D * S + W * D * D, "sum": W * D}
    cross = S[..., :, None] * D[..., None, :]  # (C, F, d, d)
    change = cross + np.swapaxes(cross, -1, -2)
    change = change + W[..., None] * (D[..., :, None] * D[..., None, :])
    if statistic.layout == "pooled":
        return {"scatter": change.sum(axis=0), "sum": W * D}
    cube, quartic = _fourths(statistic, delta)
    return {"cube": cube, "quartic": quartic, "scatter": change, "sum": W * D}


def _fourths(statistic: Moments, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The changes of Σ‖z‖²z (C, F, d) and Σ‖z‖⁴ (C, F)."""
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
