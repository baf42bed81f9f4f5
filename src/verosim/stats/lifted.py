"""Moments of random Fourier features: per class the sums, and over all classes the products.

    Σw φ(z) per class and fold,   Σw φ(z) φ(z)ᵀ per fold

The features are computed for some rows at a time, so the matrix of all features never exists. They
are between −1 and 1, so all pivots are zero.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes, Columns
from verosim.data import Batch
from verosim.data.batch import BLOCK_CELLS
from verosim.data.lift import Lift
from verosim.stats.moments import Moments
from verosim.stats.state import restorable

LEAST_STEP = 1024  # rows in one product, so that products cost more than the sums of products


@restorable
class LiftedMoments(Moments):
    """The pooled moments of lifted rows. The columns are those of the features."""

    can_narrow = False

    def __init__(
        self,
        axes: Axes,
        arrays: dict[str, np.ndarray] | None = None,
        lows: dict[str, np.ndarray] | None = None,
        *,
        lift: dict[str, Any],
    ) -> None:
        self.lift = Lift(**lift)
        self._options = {"lift": lift}
        super().__init__(axes, arrays, lows, layout="pooled")

    @classmethod
    def plan(cls, axes: Axes, lift: Lift) -> LiftedMoments:
        """The zero statistic of the groups of the axes."""
        return cls(Axes(axes.groups, Columns(lift.features)), lift=asdict(lift))

    @property
    def options(self) -> dict[str, Any]:
        return self._options

    def column_sums(self) -> None:
        """None, because the features are not columns of the rows."""

    def prepare(self, batch: Batch) -> None:
        self.arrays["pivot"][...] = 0.0

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        self.prepare(batch)
        self.count_rows(batch)
        C, F = self.weight.shape
        D = self.lift.features
        sums, product = np.zeros((C, F, D)), np.empty((D, D))
        step = max(LEAST_STEP, BLOCK_CELLS // D)
        room = np.empty((min(step, len(batch)), D))
        for f in range(F):
            at = np.flatnonzero(batch.groups % F == f) if F > 1 else None
            count = len(batch) if at is None else len(at)
            total = np.zeros((D, D))
            for start in range(0, count, step):
                stop = min(count, start + step)
                some = slice(start, stop) if at is None else at[start:stop]
                features = self.lift(batch.block[some], room[: stop - start])
                weights = batch.weights[some] if len(batch.weights) else batch.weights
                part = np.zeros((C, D))
                kernels.sum_features(features, batch.groups[some], weights, F, part)
                sums[:, f] += part
                total += np.matmul(features.T, features, out=product)  # numpy uses symmetry
            scatter, low = self.arrays["scatter"][f], self.lows["scatter"][f]
            kernels.add_block(scatter.reshape(-1), low.reshape(-1), total.reshape(-1))
        self._add("sum", sums)
        self.note_peaks()

    def recentred(self) -> Self:
        return self  # the pivots stay zero
