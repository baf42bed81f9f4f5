"""Rows with missing cells under full covariances: exact marginal densities.

    p(x_o | k) = N(x_o; μ_ko, Σ_koo)

where o are the columns with values. The compiled loops do the linear algebra. This module divides
the model by the standard deviations, so that the results do not depend on units, and sorts the rows
of a block by pattern of missing cells.
Reference: Anderson (2003), An Introduction to Multivariate Statistical Analysis, §2.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verosim import kernels

if TYPE_CHECKING:
    from verosim.densities.full_params import FullParams

# Variance / conditional variance of a column above which its row of Σ⁻¹ has lost digits.
STEEP_RATIO = 1e4
# Squared distance between classes, in standard deviations, above which differences lose digits.
FAR_APART_CLASSES = 1e6


@dataclass(frozen=True)
class Marginals:
    """The matrices from which all marginals of a FullParams are computed."""

    unit: np.ndarray  # (C or 1, d) standard deviations; 1 for columns that are not used
    whitener: np.ndarray  # (C or 1, d, d), in these units
    correlation: np.ndarray  # (C or 1, d, d) R
    inverse: np.ndarray  # (C or 1, d, d) Q = R⁻¹; zero for columns that are not used
    log_det: np.ndarray  # (C or 1,) log|R|

    @classmethod
    def of(cls, params: FullParams) -> Marginals:
        used = params.used
        variance = np.where(used, np.diagonal(params.covariance_, axis1=1, axis2=2), 1.0)
        unit = np.sqrt(variance)
        whitener = params.whitener * unit[:, None, :]
        return cls(
            unit,
            whitener,
            params.covariance_ / (unit[:, :, None] * unit[:, None, :]),
            np.swapaxes(whitener, 1, 2) @ whitener,
            params.log_det - np.log(variance).sum(axis=1),
        )

    def distances(
        self, params: FullParams, block: np.ndarray, rows: np.ndarray, new: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(r, C) squared distances and (r, C) |o| log 2π + log|Σ_oo|, for rows sorted by
        pattern."""
        r, (C, d) = len(rows), params.pivot.shape
        squares, level = np.empty((r, C)), np.empty((r, C))
        Z, Y, one, rest = np.empty((r, d)), np.empty((r, d)), np.empty((r, 1)), np.empty(r)
        nothing, volume = np.zeros((1, d)), np.empty(r)
        for c in range(C):
            at = 0 if params.shared else c
            kernels.fill_missing_cells(
                block, rows, new, params.pivot[c], params.offset[c], self.unit[at], params.used,
                self.correlation[at], self.inverse[at], self.log_det[at], STEEP_RATIO, Z, rest,
                volume,
            )  # fmt: skip
            np.matmul(Z, self.whitener[at].T, out=Y)
            kernels.shifted_norms(Y, nothing, 0, one)
            squares[:, c] = one[:, 0] + rest
            level[:, c] = volume
        return squares, level

    def linear_scores(
        self,
        params: FullParams,
        block: np.ndarray,
        rows: np.ndarray,
        new: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Write linear scores for classes with one covariance into out[rows].

        The scores are linear in the columns with values.
        """
        pivot, centre, shift = params.reference
        coef, bias = params.linear
        unit = self.unit[0]
        steep = STEEP_RATIO if -2 * bias.min() < FAR_APART_CLASSES else 0.0
        kernels.score_shown(
            block, rows, new, pivot, centre, unit, params.used, self.correlation[0],
            self.inverse[0], shift / unit, coef * unit, steep, out,
        )  # fmt: skip


def by_pattern(block: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows with NaN scores, sorted by pattern, and (r,) bool: where a new pattern begins."""
    rows = np.flatnonzero(np.isnan(scores).any(axis=1))
    bits = np.packbits(np.isnan(block[rows]), axis=1)
    words = np.zeros((len(rows), -(-bits.shape[1] // 8)), dtype=np.uint64)
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    order = np.lexsort(words.T)
    words = words[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (words[1:] != words[:-1]).any(axis=1)
    return rows[order], new


def rows_by_pattern(block: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each pattern of missing cells: its rows, and the columns in which they have values."""
    patterns, which = np.unique(np.isnan(block), axis=0, return_inverse=True)
    for p, missing in enumerate(patterns):
        yield np.flatnonzero(which.reshape(-1) == p), np.flatnonzero(~missing)
