"""Moments of random Fourier features: per class the sums, and over all classes the products.

    Σw φ(z) per class and fold,   Σw φ(z) φ(z)ᵀ per fold

The features are computed for some rows at a time, so the matrix of all features never exists. They
are between −1 and 1, so all pivots are zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes, Columns
from verosim.axes.state_checks import is_count, require
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
        settings = {name: getattr(lift, name) for name in ("columns", "half", "gamma", "seed")}
        return cls(Axes(axes.groups, Columns(lift.features)), lift=settings)

    def like(self, axes: Axes, arrays: Any = None, lows: Any = None) -> Self:
        out = super().like(axes, arrays, lows)
        out.lift = self.lift  # its directions may be those of a file
        return out

    def state(self) -> dict[str, Any]:
        return {**super().state(), "directions": self.lift.directions}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The statistic with this state. Its directions are those of the state."""
        given = state.get("directions")
        settings = state["options"]["lift"]
        require(settings.keys() == {"columns", "half", "gamma", "seed"}, "its features are unknown")
        whole = all(is_count(settings[name]) for name in ("columns", "half", "seed"))
        require(whole and settings["columns"] * settings["half"] < 1 << 40, "it has no features")
        require(type(settings["gamma"]) is float and settings["gamma"] > 0, "its γ is not positive")
        out = super().from_state(state)
        require(out.axes.columns.size == out.lift.features, "it does not have all features")
        if given is not None:
            shape = (out.lift.columns, out.lift.half)
            fits = isinstance(given, np.ndarray) and given.dtype == float and given.shape == shape
            require(fits and np.isfinite(given).all(), "its directions are wrong")
            out.lift = replace(out.lift, given=np.ascontiguousarray(given))
        return out

    @property
    def options(self) -> dict[str, Any]:
        return self._options

    @property
    def block_columns(self) -> int:
        return self.lift.columns

    def column_sums(self) -> None:
        """None, because the features are not columns of the rows."""

    def prepare(self, batch: Batch) -> None:
        self.arrays["pivot"][...] = 0.0

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        self.prepare(batch)
        self.count_rows(batch)
        for block in batch.blocks():
            self._absorb_block(block)
        self.note_peaks()

    def _absorb_block(self, batch: Batch) -> None:
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

    def recentred(self) -> Self:
        return self  # the pivots stay zero
