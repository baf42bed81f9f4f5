"""Counts on an axis of codes that grows while rows are read, as tokens and contexts do.

    count (C, F, K) in memory order (K, C, F)

The counts of one code are next to each other, because loops read them together. A growing table
has longer arrays than it needs. The arrays of the statistic are views of its first K codes. Counts
that are mostly zero are `SparseSums`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from verosim.axes import Axes
from verosim.stats.arrays import ArrayStatistic
from verosim.stats.forgetting import existing_codes, settle_cells
from verosim.stats.sparse_sums import SparseSums


class GrowingTable:
    """Counts that only one statistic writes to: cells (K, F), or longer."""

    def __init__(self, cells: np.ndarray) -> None:
        self.cells = cells
        self.shown: np.ndarray | None = None  # the array of the statistic that is a view of it

    @property
    def size(self) -> int:
        """The number of codes."""
        raise NotImplementedError


class GrowingCounts(ArrayStatistic):
    """Counts of codes that are added as rows are read. Its fields include `count` and `cells`."""

    def __init__(
        self,
        axes: Axes,
        arrays: dict[str, np.ndarray] | None = None,
        lows: dict[str, np.ndarray] | None = None,
    ) -> None:
        self._table: Any = None
        super().__init__(axes, arrays, lows)

    def _zeros(self, axes: Axes) -> dict[str, np.ndarray]:
        arrays = super()._zeros(axes)
        C, F, K = (axes.size(dim) for dim in ("class", "fold", "code"))
        arrays["count"] = np.zeros((K, C, F)).transpose(1, 2, 0)
        arrays["cells"] = np.zeros((K, F), dtype=np.int64).T
        return arrays

    def copy(self) -> Self:
        if not any(array.any() for array in self.arrays.values()):
            return self.like(self.axes)  # new zeros take no memory until they are written
        arrays = {name: array.copy(order="K") for name, array in self.arrays.items()}
        return self.like(self.axes, arrays, {})

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_table": None}

    # The growing table -------------------------------------------------------------------

    def growing(self) -> Any:
        """The table of this statistic, or None if it has to be made from the arrays."""
        table = self._table
        return table if table is not None and table.shown is self.arrays["cells"] else None

    def show(self, table: GrowingTable) -> None:
        """Set the cells to a view of a table. The axis of codes must fit already."""
        self.arrays["cells"] = table.cells[: table.size].T
        self._table, table.shown = table, self.arrays["cells"]

    # Algebra -----------------------------------------------------------------------------

    def align(self, axes: Axes) -> Self:
        if axes is self.axes:
            return self
        classes, codes = (self.axes.positions(dim, axes) for dim in ("class", "code"))
        if classes is None and codes is None:
            return self.like(axes, self.arrays, self.lows)
        out = self.like(axes)
        for name, field in self.fields.items():
            array = self.arrays[name]
            if isinstance(array, SparseSums):
                out.arrays[name] = array.placed(out.arrays[name].shape, classes, codes)
            elif classes is None and "code" in field.dims:
                np.moveaxis(out.arrays[name], -1, 0)[codes] = np.moveaxis(array, -1, 0)
            else:
                field.place(array, out.arrays[name], {"class": classes, "code": codes})
        return out

    def keep(self, dim: str, kept: np.ndarray) -> Self:
        if dim != "code":
            return super().keep(dim, kept)
        assert self.axes.codes is not None
        arrays = {
            name: _kept_codes(array, kept) if "code" in self.fields[name].dims else array
            for name, array in self.arrays.items()
        }
        return self.like(self.axes.with_codes(self.axes.codes.keep(kept)), arrays, {})

    def without_traces(self) -> Self:
        assert self.axes.codes is not None
        return self.like(self.axes.with_codes(self.axes.codes.alone()), self.arrays, {})

    def settle_rows(self, before: Self) -> None:
        super().settle_rows(before)
        settle_cells(self, before)

    @property
    def is_clear(self) -> bool:
        return bool((self.rows != 0).all() and (self.arrays["cells"] != 0).all())

    def cleared(self) -> Self:
        out = super().cleared()
        assert out.axes.codes is not None
        kept = existing_codes(out)
        return out if kept.all() or out.axes.codes.fixed else out.keep("code", kept)


def _kept_codes(array: Any, kept: np.ndarray) -> Any:
    """The array (…, K) of some codes, in the same memory order."""
    if isinstance(array, SparseSums):
        return array.take(np.flatnonzero(kept), axis=2)
    return np.moveaxis(np.moveaxis(array, -1, 0)[kept], 0, -1)


def by_code(count: np.ndarray) -> np.ndarray:
    """Counts (C, F, K) as (K, G) for the kernels; a view if the memory order allows it."""
    C, F, K = count.shape
    return np.ascontiguousarray(count.transpose(2, 0, 1)).reshape(K, C * F)


def longer(array: np.ndarray, length: int) -> np.ndarray:
    """The array with zeros appended. Memory pages that are not written take no memory."""
    out = np.zeros((length, *array.shape[1:]), dtype=array.dtype)
    out[: len(array)] = array
    return out
