"""Counts of pairs of codes, per class and fold.

    pair_ab = Σ w over the rows that have code a in one column and code b in another

The diagonal has the counts of single codes. Only the pairs of columns i ≤ j are stored in the
array; `table` gives both halves. The size is C F J² numbers, for J codes, and there is a budget.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes, CellCodes
from verosim.data import Batch
from verosim.errors import VerosimError
from verosim.stats.arrays import ArrayStatistic
from verosim.stats.fields import BASE_FIELDS, Field, G
from verosim.stats.forgetting import settled
from verosim.stats.state import restorable

PAIR_FIELDS = {
    **BASE_FIELDS,
    "pair": Field((*G, "code", "code")),
    # Whole rows beside the weights: they decide whether a code exists.
    "cells": Field(("fold", "code"), "rows"),
}
PAIR_BUDGET = 1 << 25  # numbers of all classes and folds


@restorable
class Pairs(ArrayStatistic):
    """Counts of pairs of codes of a table that was read as cells."""

    sums_of = "pairs"

    @property
    def fields(self) -> dict[str, Field]:
        return PAIR_FIELDS

    @property
    def codes(self) -> CellCodes:
        assert isinstance(self.axes.codes, CellCodes)
        return self.axes.codes

    def _zeros(self, axes: Axes) -> dict[str, np.ndarray]:
        _check_budget(axes)
        return super()._zeros(axes)

    def absorb(self, batch: Batch) -> None:
        if len(batch):
            kernels.count_pairs(
                batch.block, self.codes.places, batch.groups, batch.weights,
                self.by_group("pair"), self.arrays["cells"],
            )  # fmt: skip
            self.count_rows(batch)

    def rows_with_cells(self) -> dict[str, np.ndarray]:
        rows, codes = self.arrays["cells"].sum(axis=0), self.codes  # (J,)
        return {
            name: rows[codes.first[j] + codes.maps[j]] for j, name in enumerate(self.axes.columns)
        }

    def single(self) -> np.ndarray:
        """(C, F, J) the counts of single codes."""
        return np.diagonal(self.arrays["pair"], axis1=2, axis2=3)

    def table(self) -> np.ndarray:
        """(C, F, J, J) the counts of all pairs of codes, symmetric."""
        half = self.arrays["pair"]
        out = half + np.swapaxes(half, 2, 3)
        diagonal = np.einsum("cfjj->cfj", out)
        diagonal /= 2
        return out

    def settle_rows(self, before: Self) -> None:
        super().settle_rows(before)
        count, then = (x.single().sum(axis=0) for x in (self, before))
        self.arrays["cells"][...] = settled(self.arrays["cells"], count, then)

    @property
    def is_clear(self) -> bool:
        pair = self.arrays["pair"]
        return bool((self.rows != 0).all()) and not any(
            pair[:, f, gone].any() or pair[:, f, :, gone].any()
            for f, gone in enumerate(self.arrays["cells"] == 0)
        )

    def cleared(self) -> Self:
        """The same codes; the counts of codes that no row has are exactly zero."""
        out = super().cleared()
        for f, gone in enumerate(out.arrays["cells"] == 0):
            pair = out.arrays["pair"][:, f]  # (C, J, J)
            pair[:, gone] = 0.0
            pair[:, :, gone] = 0.0
        return out


def _check_budget(axes: Axes) -> None:
    """Raise an error if the counts would take too much memory."""
    C, F, J = (axes.size(dim) for dim in ("class", "fold", "code"))
    if C * F * J**2 > PAIR_BUDGET:
        folds = f" and {F} folds" if F > 1 else ""
        raise VerosimError(
            f"The counts of pairs of {J:,} codes in {C:,} classes{folds} need "
            f"{C * F * J**2:,} numbers, and at most {PAIR_BUDGET:,} are allowed.",
            "Use fewer bins, such as bins=3, or fewer columns: columns={name: 'ignore'}.",
        )
