"""Moments: sums of z = x − pivot and of products of z, per class and fold.

    W = Σw,   S = Σw z,   Q = Σw z²  (diagonal)   or   M = Σw z zᵀ  (full, pooled)
    mean = pivot + S/W,   scatter about the mean = M − S Sᵀ/W

The full layout also has Σw‖z‖²z and Σw‖z‖⁴ for the Ledoit–Wolf intensity. Sums about a fixed pivot
can be added and subtracted, and they keep their digits even if the data are far from zero.
Reference: Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance, The American
Statistician 37, 242–247.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes, Groups
from verosim.data import Batch, SparseRows
from verosim.data.batch import UNWEIGHTED, rows_per_block
from verosim.errors import VerosimError
from verosim.linalg import EPS
from verosim.stats.arrays import ArrayStatistic
from verosim.stats.bad_cell import bad_cell
from verosim.stats.digits import digits_left
from verosim.stats.fields import BASE_FIELDS, Field, G
from verosim.stats.forgetting import (
    ONLY_KNOWN_ROWS,
    ROUNDING_OF_SQUARES,
    SUBTRACTION_ROUNDING,
)
from verosim.stats.pivots import added_by_moving, choose_pivots
from verosim.stats.state import restorable

PIVOT_FAR_FROM_MEAN = 1e4  # (pivot − mean)² / variance above which the pivot is moved to the mean

PIVOT_FIELD = {"pivot": Field(("class", "column"), "pivot")}
MOMENT_FIELDS = {
    "diagonal": {
        **BASE_FIELDS, **PIVOT_FIELD,
        "cells": Field((*G, "column")),
        "sum": Field((*G, "column"), "pair"),
        "square": Field((*G, "column"), "pair"),
        "absorbed": Field((*G, "column"), "peak"),
    },
    "full": {
        **BASE_FIELDS, **PIVOT_FIELD,
        "sum": Field((*G, "column"), "pair"),
        "scatter": Field((*G, "column", "column"), "pair"),
        "cube": Field((*G, "column"), "pair"),
        "quartic": Field(G, "pair"),
        "absorbed": Field((*G, "column"), "peak"),
        "absorbed_quartic": Field(G, "peak"),
    },
    "pooled": {
        **BASE_FIELDS, **PIVOT_FIELD,
        "sum": Field((*G, "column"), "pair"),
        "scatter": Field(("fold", "column", "column"), "pair"),
        "absorbed": Field(("fold", "column"), "peak"),
    },
}  # fmt: skip


@restorable
class Moments(ArrayStatistic):
    """First and second moments of numeric columns.

    The layout is "diagonal" (squares of each column), "full" (products of columns, per class) or
    "pooled" (products of columns, summed over classes).
    """

    can_narrow = True

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
        return MOMENT_FIELDS[self.layout]

    @property
    def options(self) -> dict[str, Any]:
        return {"layout": self.layout}

    # Adding rows -------------------------------------------------------------------------

    def prepare(self, batch: Batch) -> None:
        choose_pivots(self.arrays["pivot"], batch, self.axes.groups.folds)

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        self.prepare(batch)
        if self.layout == "diagonal":
            self._absorb_diagonal(batch)
        else:
            self._absorb_full(batch)
        self.note_peaks()

    def _absorb_diagonal(self, batch: Batch) -> None:
        rest = (
            batch.groups, batch.weights, self.axes.groups.folds, self.arrays["pivot"],
            self.by_group("rows"), self.by_group("weight"), self.by_group("cells"),
            self.by_group("sum"), self.by_group("sum", low=True),
            self.by_group("square"), self.by_group("square", low=True),
        )  # fmt: skip
        block = batch.block
        if isinstance(block, SparseRows):
            # If no row of a class stores a column, all its cells are zero, and so is the pivot.
            pivot = self.arrays["pivot"]  # (C, d)
            seen = np.zeros(len(pivot), dtype=bool)  # (C,)
            seen[np.unique(batch.groups) // self.axes.groups.folds] = True
            new = seen[:, None] & np.isnan(pivot)
            pivot[new] = 0.0
            i, j = kernels.absorb_diagonal_sparse(block.data, block.indices, block.indptr, *rest)
            # A class with missing cells only has no pivot, so that it takes that of the others.
            pivot[new & ~self.arrays["cells"].any(axis=1)] = np.nan
        else:
            shape = rest[-1].shape  # (G, d)
            memory = np.empty(shape), np.empty(shape), np.empty(len(rest[5]))
            step = rows_per_block(block.shape[1])
            i, j = kernels.absorb_diagonal(block, 0, step, *rest, *memory, None)
            if i >= 0:  # a cell from row i on needs more care
                i, j = kernels.absorb_diagonal(block, i, step, *rest, *memory, np.empty(shape))
        if i >= 0:
            raise bad_cell(self.axes, batch, i, j)

    def _absorb_full(self, batch: Batch) -> None:
        folds = self.axes.groups.folds
        if len(batch.weights) and (batch.weights == 1).all():  # the product is then symmetric
            batch = replace(batch, weights=UNWEIGHTED)
        rows, weight = self.by_group("rows"), self.by_group("weight")
        groups, d = len(rows), batch.block.shape[1]
        step = min(len(batch), rows_per_block(d))
        weighted = len(batch.weights) > 0
        Z = np.empty((step, d))  # z = x − pivot of the rows, sorted by group
        V = np.empty((step, d)) if weighted else np.empty((0, d))  # w z
        starts = np.empty(groups + 1, dtype=np.int64)  # (G + 1,) first row of each group
        cursor = np.empty(groups, dtype=np.int64)
        s, cube = np.empty((groups, d)), np.empty((groups, d))  # (G, d) Σw z, Σw ‖z‖² z
        quartic, mass = np.empty(groups), np.empty(groups)  # (G,) Σw ‖z‖⁴, Σw
        product = np.empty((d, d))
        for start in range(0, len(batch), step):
            part = batch if step == len(batch) else batch.cut(start, min(len(batch), start + step))
            kernels.centre_groups(
                part.block, part.groups, part.weights, folds, self.arrays["pivot"],
                starts, cursor, Z, V, s, cube, quartic, mass,
            )  # fmt: skip
            if not np.isfinite(s).all():
                raise self._not_finite(part)
            rows += starts[1:] - starts[:-1]
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
        """Add Vᵀ Z to the scatter of each group (or fold, if pooled); False if it overflows."""
        pooled = self.layout == "pooled"
        folds = self.axes.groups.folds
        scatter = self.arrays["scatter"] if pooled else self.by_group("scatter")
        low = self.lows["scatter"] if pooled else self.by_group("scatter", low=True)
        if pooled and folds == 1:  # the rows of all groups are contiguous: one product is enough
            starts = starts[[0, -1]]
        with np.errstate(over="ignore", invalid="ignore"):
            for g in np.flatnonzero(starts[1:] > starts[:-1]).tolist():
                a, b = starts[g], starts[g + 1]
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
            'Use missing="marginalise" with LDA, QDA or RDA, which then fit by EM, or use '
            "GaussianNB, which skips missing cells.",
        )  # fmt: skip

    def _add(self, name: str, block: np.ndarray) -> None:
        kernels.add_block(
            self.arrays[name].reshape(-1), self.lows[name].reshape(-1), block.reshape(-1)
        )

    # Algebra -----------------------------------------------------------------------------

    def note_peaks(self) -> None:
        """Update `absorbed`, the largest value that |Σw z²| ever had."""
        peak = self.arrays["absorbed"]
        np.maximum(peak, np.abs(self.squares()), out=peak)
        if self.layout == "full":
            peak = self.arrays["absorbed_quartic"]
            np.maximum(peak, np.abs(self.arrays["quartic"]), out=peak)

    def digits(self) -> np.ndarray | None:
        return digits_left(self)

    def settle_rows(self, before: Self) -> None:
        super().settle_rows(before)
        lost = self._lost_with_weight(before)
        lost = lost.sum(axis=0, keepdims=True) if self.layout == "pooled" else lost
        absorbed = self.arrays["absorbed"]
        lost = lost.reshape(absorbed.shape)
        np.maximum(absorbed, lost, out=absorbed, where=np.isfinite(lost))
        if self.layout == "diagonal":  # columns in which no row of the class has a value now
            gone = self.arrays["cells"] <= SUBTRACTION_ROUNDING * before.arrays["cells"]
            for name in ("cells", "sum", "square", "absorbed"):
                self.arrays[name][gone] = 0.0
                if name in self.lows:
                    self.lows[name][gone] = 0.0

    def check_not_negative(self, before: Self) -> None:
        super().check_not_negative(before)
        if self.layout == "pooled":
            return
        W = self.weights
        S, some = self.arrays["sum"], W > 0
        safe = np.where(some, W, 1.0)
        central = np.where(some, self.squares() - S * (S / safe), 0.0)
        # After heavy rows were forgotten, the weight that is left has only a few digits.
        lost = np.minimum(64 * EPS * self._lost_with_weight(before), S * (S / safe))
        bad = central < -ROUNDING_OF_SQUARES * self.arrays["absorbed"] - lost
        if bad.any():
            c, _, j = (int(v) for v in np.argwhere(bad)[0])
            raise VerosimError(
                f"Class {self.axes.groups.name(c * self.axes.groups.folds)}, column "
                f"{self.axes.columns.name(j)!r}: the variance would become negative, because the "
                "model was not fitted on some of these rows.",
                ONLY_KNOWN_ROWS,
            )

    def _lost_with_weight(self, before: Self) -> np.ndarray:
        """(C, F, d) the number whose rounding is the error of S²/W.

        The weight that is left has the rounding error of the weight before rows were forgotten.
        """
        W, S = self.weights, self.arrays["sum"]
        safe = np.where(W > 0, W, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(W > 0, (before.weights / safe) * S * (S / safe), 0.0)

    @property
    def weights(self) -> np.ndarray:
        """(C, F, d) Σw of the cells with a value; (C, F, 1) if all rows are complete."""
        if self.layout == "diagonal":
            return self.arrays["cells"]
        return self.weight[..., None]

    @property
    def has_scatter(self) -> bool:
        return self.layout != "diagonal"

    def available(self) -> Self:
        """The moments of all cells with a value, which is this statistic itself."""
        return self

    def column_sums(self) -> np.ndarray | None:
        pivot = np.nan_to_num(self.arrays["pivot"])[:, None]  # (C, 1, d)
        sums: np.ndarray = self.arrays["sum"] + self.lows["sum"] + pivot * self.weights
        return sums.sum(axis=(0, 1))

    def squares(self) -> np.ndarray:
        """Σw z² of each column, the diagonal of the scatter: (C, F, d), or (F, d) if pooled."""
        if self.layout == "diagonal":
            return self.arrays["square"]
        return np.diagonal(self.arrays["scatter"], axis1=-2, axis2=-1)

    def on_common_axes(self, other: Self) -> tuple[Self, Self]:
        if self.layout != other.layout and {self.layout, other.layout} == {"full", "pooled"}:
            return self.pool().on_common_axes(other.pool())
        mine, theirs = super().on_common_axes(other)
        a, b = mine.arrays["pivot"], theirs.arrays["pivot"]
        if np.array_equal(a, b):
            return mine, theirs
        # The side with more weight keeps its pivots, so a single outlier never becomes a pivot.
        more = mine.weights.sum(axis=1) - theirs.weights.sum(axis=1)  # (C, d) or (C, 1)
        first = (more > 0) | ((more == 0) & (a <= b))
        pivot = np.where(np.isnan(b) | (first & ~np.isnan(a)), a, b)
        same = (pivot == a) | (np.isnan(pivot) & np.isnan(a))
        return mine if same.all() else mine.about(pivot), theirs.about(pivot)

    def recentred(self) -> Self:
        S = self.arrays["sum"].sum(axis=1)  # (C, d)
        W = self.weights.sum(axis=1)
        if self.layout == "pooled":
            square = np.broadcast_to(self.squares().sum(axis=0), S.shape)
        else:
            square = self.squares().sum(axis=1)
        mean = S / np.where(W > 0, W, 1.0)
        with np.errstate(over="ignore"):
            astray = mean * S > (1 - 1 / PIVOT_FAR_FROM_MEAN) * square  # mean² ≫ variance
        if not astray.any():
            return self
        pivot = self.arrays["pivot"]
        return self.about(np.where(astray & (W > 0), pivot + mean, pivot))

    def narrowed(self, columns: np.ndarray) -> Self:
        out = super().narrowed(columns)
        if self.layout == "full":  # Σw ‖z‖⁴ of some columns cannot be found from that of all
            out.arrays["absorbed_quartic"] = np.full_like(self.arrays["absorbed_quartic"], np.inf)
        return out

    def about(self, pivot: np.ndarray) -> Self:
        """The same statistic about other pivots (C, d)."""
        old = self.arrays["pivot"]
        out = self.moved(np.where(np.isnan(old) | np.isnan(pivot), 0.0, old - pivot))
        out.arrays["pivot"] = np.where(np.isnan(pivot), old, pivot)
        return out

    def moved(self, delta: np.ndarray) -> Self:
        """Sums of z' = z + δ instead of z, with δ = old pivot − new pivot (C, d)."""
        out = self.copy()
        out.arrays["pivot"] = self.arrays["pivot"] - delta
        if delta.any():
            for name, block in added_by_moving(self, delta).items():
                out._add(name, block)
            out.note_peaks()
        return out

    @property
    def has_class_scatter(self) -> bool:
        """Whether each class has its own sums of products of columns."""
        return self.layout == "full"

    def as_one_class(self) -> Self:
        """The sums over all rows, as the sums of one class with the label 0."""
        one = self.axes.with_groups(Groups(np.zeros(1, dtype=np.intp), self.axes.groups.folds))
        at = np.flatnonzero(self.rows.sum(axis=1) > 0)
        each = [self._taken(one, {"class": at[i : i + 1]}) for i in range(len(at))]
        out = each[0]
        for sums in each[1:]:
            out = out + sums
        return out

    def pool(self) -> Self:
        """Replace the scatter of each class by their sum, which is all that LDA needs."""
        if self.layout != "full":
            return self
        arrays = {name: self.arrays[name] for name in ("rows", "weight", "pivot", "sum")}
        arrays["scatter"] = self.arrays["scatter"].sum(axis=0)
        arrays["absorbed"] = self.arrays["absorbed"].sum(axis=0)
        lows = {"sum": self.lows["sum"], "scatter": self.lows["scatter"].sum(axis=0)}
        return type(self)(self.axes, arrays, lows, layout="pooled")
