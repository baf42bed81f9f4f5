"""Moments: sums of z = x − pivot and of its products, per class and fold.

    W = Σw,   S = Σw z,   Q = Σw z²  (diagonal)   or   M = Σw z zᵀ  (full, pooled)
    mean = pivot + S/W,   scatter about the mean = M − S Sᵀ/W

and, for the Ledoit–Wolf intensity, Σw‖z‖²z and Σw‖z‖⁴. Pivot sums form a group, which centred
moments do not: they merge and subtract without losing digits, even far from zero.
Reference: Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes
from verosim.data import Batch, SparseRows
from verosim.data.batch import BLOCK_CELLS
from verosim.errors import VerosimError
from verosim.stats.base import HEAD, ROUNDING, Field, G, Statistic, bad_cell

LOOK = 31  # rows of a class that choose its pivot
FAR = 1e4  # squared deviations between pivot and mean that drift may cost

PIVOT = {"pivot": Field(("class", "column"), "pivot")}
FIELDS = {
    "diagonal": {
        **HEAD, **PIVOT,
        "cells": Field((*G, "column")),
        "sum": Field((*G, "column"), "pair"),
        "square": Field((*G, "column"), "pair"),
        "absorbed": Field((*G, "column"), "peak"),
    },
    "full": {
        **HEAD, **PIVOT,
        "sum": Field((*G, "column"), "pair"),
        "scatter": Field((*G, "column", "column"), "pair"),
        "cube": Field((*G, "column"), "pair"),
        "quartic": Field(G, "pair"),
        "absorbed": Field((*G, "column"), "peak"),
        "absorbed_quartic": Field(G, "peak"),
    },
    "pooled": {
        **HEAD, **PIVOT,
        "sum": Field((*G, "column"), "pair"),
        "scatter": Field(("fold", "column", "column"), "pair"),
        "absorbed": Field(("fold", "column"), "peak"),
    },
}  # fmt: skip


class Moments(Statistic):
    """First and second moments of numeric columns; layout 'diagonal', 'full' or 'pooled'."""

    def __init__(
        self,
        axes: Axes,
        arrays: dict[str, np.ndarray] | None = None,
        lows: dict[str, np.ndarray] | None = None,
        *,
        layout: str = "diagonal",
    ) -> None:
        self.layout = layout
        super().__init__(axes, arrays, lows)

    @property
    def fields(self) -> dict[str, Field]:
        return FIELDS[self.layout]

    @property
    def options(self) -> dict[str, Any]:
        return {"layout": self.layout}

    # Rows come in ------------------------------------------------------------------------

    def prepare(self, batch: Batch) -> None:
        """Set the pivots not yet set: the lower median of a class's first finite values."""
        pivot = self.arrays["pivot"]
        unset = np.isnan(pivot)
        if not unset.any():
            return
        C, d = pivot.shape
        most = LOOK
        if isinstance(batch.block, SparseRows):
            most = int(np.clip((1 << 20) // (C * d), 1, LOOK))
        rows = np.zeros((C, most), dtype=np.int64)
        found = np.zeros(C, dtype=np.int64)
        kernels.first_rows(batch.groups, self.axes.groups.folds, rows, found)
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

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        self.prepare(batch)
        if self.layout == "diagonal":
            self._absorb_diagonal(batch)
        else:
            self._absorb_full(batch)
        self._remember()

    def _absorb_diagonal(self, batch: Batch) -> None:
        rest = (
            batch.groups, batch.weights, self.axes.groups.folds, self.arrays["pivot"],
            self._flat("rows"), self._flat("weight"), self._flat("cells"),
            self._flat("sum"), self._flat("sum", low=True),
            self._flat("square"), self._flat("square", low=True),
        )  # fmt: skip
        block = batch.block
        if isinstance(block, SparseRows):
            # A column that no row of a class stores is all zeros there: zero is its pivot.
            pivot = self.arrays["pivot"]
            seen = np.zeros(len(pivot), dtype=bool)
            seen[np.unique(batch.groups) // self.axes.groups.folds] = True
            pivot[seen[:, None] & np.isnan(pivot)] = 0.0
            i, j = kernels.absorb_diagonal_sparse(block.data, block.indices, block.indptr, *rest)
        else:
            i, j = kernels.absorb_diagonal(block, *rest)
        if i >= 0:
            raise bad_cell(self.axes, batch, i, j)

    def _absorb_full(self, batch: Batch) -> None:
        folds = self.axes.groups.folds
        rows, weight = self._flat("rows"), self._flat("weight")
        groups, d = len(rows), batch.block.shape[1]
        step = min(len(batch), max(1024, BLOCK_CELLS // d))
        weighted = len(batch.weights) > 0
        Z = np.empty((step, d))
        V = np.empty((step, d)) if weighted else np.empty((0, d))
        starts = np.empty(groups + 1, dtype=np.int64)
        s, cube = np.empty((groups, d)), np.empty((groups, d))
        quartic, mass = np.empty(groups), np.empty(groups)
        product = np.empty((d, d))
        for start in range(0, len(batch), step):
            part = batch.cut(start, min(len(batch), start + step))
            kernels.centre_groups(
                part.block, part.groups, part.weights, folds, self.arrays["pivot"],
                starts, Z, V, s, cube, quartic, mass,
            )  # fmt: skip
            if not np.isfinite(s).all():
                raise self._not_finite(part)
            rows += np.diff(starts)
            weight += mass
            self._add("sum", s)
            if self.layout == "full":
                self._add("cube", cube)
                self._add("quartic", quartic)
            if not self._add_products(starts, Z, V if weighted else Z, product):
                raise self._not_finite(part)

    def _add_products(
        self, starts: np.ndarray, Z: np.ndarray, V: np.ndarray, product: np.ndarray
    ) -> bool:
        """scatter += Vᵀ Z, group by group; pooled, fold by fold. False if a square overflows."""
        pooled = self.layout == "pooled"
        folds = self.axes.groups.folds
        scatter = self.arrays["scatter"] if pooled else self._flat("scatter")
        low = self.lows["scatter"] if pooled else self._flat("scatter", low=True)
        if pooled and folds == 1:  # the groups lie side by side: one product serves all
            starts = starts[[0, -1]]
        for g in range(len(starts) - 1):
            a, b = starts[g], starts[g + 1]
            if a == b:
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                np.matmul(V[a:b].T, Z[a:b], out=product)
            if not np.isfinite(product).all():
                return False
            at = g % folds if pooled else g
            kernels.add_block(scatter[at].reshape(-1), low[at].reshape(-1), product.reshape(-1))
        return True

    def _not_finite(self, batch: Batch) -> VerosimError:
        bad = ~np.isfinite(batch.block)
        bad = bad if bad.any() else np.abs(batch.block) == np.abs(batch.block).max()
        i, j = (int(v) for v in np.argwhere(bad)[0])
        return bad_cell(
            self.axes, batch, i, j, "sums of products need complete rows",
            'missing="marginalise" of LDA, QDA and RDA fits by EM; GaussianNB skips missing cells.',
        )  # fmt: skip

    def _add(self, name: str, block: np.ndarray) -> None:
        kernels.add_block(
            self.arrays[name].reshape(-1), self.lows[name].reshape(-1), block.reshape(-1)
        )

    # Algebra -----------------------------------------------------------------------------

    def _remember(self) -> None:
        """absorbed = the largest |Σw z²| these sums have ever held."""
        peak = self.arrays["absorbed"]
        np.maximum(peak, np.abs(self.squares()), out=peak)
        if self.layout == "full":
            peak = self.arrays["absorbed_quartic"]
            np.maximum(peak, np.abs(self.arrays["quartic"]), out=peak)

    def digits(self) -> np.ndarray | None:
        """−log10 of eps · absorbed over the squares about the mean; pooled, one row for all.

        A spread below a billionth of the column's total is nobody's loss as long as the noise is
        below it too: a floor covers both.
        """
        S = self.arrays["sum"]
        W = self.weights
        some = W > 0
        mean = S / np.where(some, W, 1.0)  # about the pivot
        within = self.squares() - (S * mean if self.layout != "pooled" else (S * mean).sum(axis=0))
        pivot = self.arrays["pivot"]
        place = (pivot - np.nanmin(np.where(np.isnan(pivot), np.inf, pivot), axis=0))[
            :, None
        ] + mean
        weight = np.where(some & np.isfinite(place), W, 0.0)
        place = np.where(weight > 0, place, 0.0)
        total = np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
        centre = (weight * place).sum(axis=0) / total
        spread = within.sum(axis=0) if self.layout != "pooled" else within
        spread = np.maximum(spread + (weight * (place - centre) ** 2).sum(axis=0), 0) / total
        share = weight if self.layout != "pooled" else total
        floor = 1e-9 * share * spread
        noise = np.finfo(float).eps * self.arrays["absorbed"]
        with np.errstate(divide="ignore", invalid="ignore"):
            digits = np.log10(np.maximum(within, floor) / noise)
        # Sums that cancel to exactly nothing were exact all along.
        covered = (within == 0) | ((within <= floor) & (noise <= floor))
        digits = np.where((noise > 0) & ~covered, digits, 16.0)
        return digits.min(axis=1) if self.layout != "pooled" else digits.min(axis=0)[None]

    def _settle_rows(self, before: Self) -> None:
        super()._settle_rows(before)
        if self.layout == "diagonal":  # a column nobody in the class has a value of any more
            gone = self.arrays["cells"] <= ROUNDING * before.arrays["cells"]
            for name in ("cells", "sum", "square", "absorbed"):
                self.arrays[name][gone] = 0.0
                if name in self.lows:
                    self.lows[name][gone] = 0.0

    def _check_not_negative(self, before: Self) -> None:
        super()._check_not_negative(before)
        if self.layout == "pooled":
            return
        W = self.weights
        S, some = self.arrays["sum"], W > 0
        central = np.where(some, self.squares() - S * (S / np.where(some, W, 1.0)), 0.0)
        bad = central < -1e-6 * self.arrays["absorbed"]
        if bad.any():
            c, _, j = (int(v) for v in np.argwhere(bad)[0])
            raise VerosimError(
                f"Class {self.axes.groups.name(c * self.axes.groups.folds)}, column "
                f"{self.axes.columns.name(j)!r}: the variance would become negative, so some of "
                "these rows were never seen.",
                "forget only rows (and weights) this model was fitted on.",
            )

    @property
    def weights(self) -> np.ndarray:
        """(class, fold, column) Σw of the cells; (class, fold, 1) where rows are complete."""
        if self.layout == "diagonal":
            return self.arrays["cells"]
        return self.arrays["weight"][..., None]

    @property
    def can_narrow(self) -> bool:
        return True

    @property
    def has_scatter(self) -> bool:
        return self.layout != "diagonal"

    def cell_weights(self) -> np.ndarray:
        return np.broadcast_to(self.weights[:, 0], self.arrays["pivot"].shape)

    def available(self) -> Self:
        """The moments of the cells that are there: these."""
        return self

    def squares(self) -> np.ndarray:
        """Σw z² per column: the diagonal of the scatter."""
        if self.layout == "diagonal":
            return self.arrays["square"]
        return np.diagonal(self.arrays["scatter"], axis1=-2, axis2=-1)

    def _meet(self, other: Self) -> tuple[Self, Self]:
        if self.layout != other.layout and {self.layout, other.layout} == {"full", "pooled"}:
            return self.pool()._meet(other.pool())
        mine, theirs = super()._meet(other)
        a, b = mine.arrays["pivot"], theirs.arrays["pivot"]
        if np.array_equal(a, b):
            return mine, theirs
        # The heavier side keeps its pivots, so an outlier alone never becomes one.
        more = mine.arrays["weight"].sum(axis=1) - theirs.arrays["weight"].sum(axis=1)
        first = (more[:, None] > 0) | ((more[:, None] == 0) & (a <= b))
        pivot = np.where(np.isnan(b) | (first & ~np.isnan(a)), a, b)
        return mine.about(pivot), theirs.about(pivot)

    def recentred(self) -> Self:
        S = self.arrays["sum"].sum(axis=1)  # (C, d)
        W = self.weights.sum(axis=1)
        if self.layout == "pooled":
            square = np.broadcast_to(self.squares().sum(axis=0), S.shape)
        else:
            square = self.squares().sum(axis=1)
        mean = S / np.where(W > 0, W, 1.0)
        astray = mean * S > (1 - 1 / FAR) * square  # mean² ≫ variance
        if not astray.any():
            return self
        pivot = self.arrays["pivot"]
        return self.about(np.where(astray & (W > 0), pivot + mean, pivot))

    def narrowed(self, columns: np.ndarray) -> Self:
        out = super().narrowed(columns)
        if self.layout == "full":  # fourth powers are of whole rows: of parts nothing is known
            out.arrays["absorbed_quartic"] = np.full_like(self.arrays["absorbed_quartic"], np.inf)
        return out

    def about(self, pivot: np.ndarray) -> Self:
        """The same statistic about other pivots (class, column)."""
        old = self.arrays["pivot"]
        out = self.moved(np.where(np.isnan(old) | np.isnan(pivot), 0.0, old - pivot))
        out.arrays["pivot"] = np.where(np.isnan(pivot), old, pivot)
        return out

    def moved(self, delta: np.ndarray) -> Self:
        """Sums of z' = z + δ instead of z, δ (class, column) = old pivot − new pivot.

        S' = S + Wδ;  M' = M + Sδᵀ + δSᵀ + Wδδᵀ;  with c = ‖δ‖²
        Σ‖z'‖²z' = T + 2Mδ + cS + (tr M + 2S·δ + Wc) δ
        Σ‖z'‖⁴   = F + 4δᵀMδ + 4δ·T + 2c tr M + 4c S·δ + W c²
        """
        out = self.copy()
        out.arrays["pivot"] = self.arrays["pivot"] - delta
        if not delta.any():
            return out
        D = delta[:, None, :]  # (C, 1, d)
        S, W = self.arrays["sum"], self.weights
        if self.layout == "diagonal":
            out._add("square", 2 * D * S + W * D * D)
            out._add("sum", W * D)
            out._remember()
            return out
        cross = S[..., :, None] * D[..., None, :]
        change = cross + np.swapaxes(cross, -1, -2)
        change = change + W[..., None] * (D[..., :, None] * D[..., None, :])
        if self.layout == "full":
            with np.errstate(over="ignore", invalid="ignore"):  # huge units have no fourth powers
                cube, quartic = self._moved_fourths(delta)
            out._add("cube", cube)
            out._add("quartic", quartic)
            out._add("scatter", change)
        else:
            out._add("scatter", change.sum(axis=0))
        out._add("sum", W * D)
        out._remember()
        return out

    def _moved_fourths(self, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What `moved` adds to Σ‖z‖²z and Σ‖z‖⁴."""
        M, T, S = (self.arrays[name] for name in ("scatter", "cube", "sum"))
        w = self.arrays["weight"]
        D = delta[:, None, :]
        c = (D * D).sum(-1)  # (C, 1)
        trace = np.trace(M, axis1=-2, axis2=-1)
        dot = (S * D).sum(-1)
        Md = np.einsum("cfij,cj->cfi", M, delta)
        cube = 2 * Md + c[..., None] * S + (trace + 2 * dot + w * c)[..., None] * D
        quartic = 4 * ((Md + T) * D).sum(-1) + 2 * c * trace + 4 * c * dot + w * c * c
        return cube, quartic

    def pool(self) -> Self:
        """Give up the scatter of each class for their sum: what LDA needs at the least."""
        if self.layout != "full":
            return self
        arrays = {name: self.arrays[name] for name in ("rows", "weight", "pivot", "sum")}
        arrays["scatter"] = self.arrays["scatter"].sum(axis=0)
        arrays["absorbed"] = self.arrays["absorbed"].sum(axis=0)
        lows = {"sum": self.lows["sum"], "scatter": self.lows["scatter"].sum(axis=0)}
        return type(self)(self.axes, arrays, lows, layout="pooled")
