"""Arrays whose dims have names: making them, moving them to wider axes, taking parts of them.

A dim may occur twice in one array, as in sums of products: then both of its axes move together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from verosim.axes import Axes


@dataclass(frozen=True)
class Field:
    """One array of a statistic: the names of its dims and how it combines.

    kind: 'rows' integer sum · 'sum' float sum, of dims that begin with class and fold ·
          'pair' float sum kept as high + low · 'peak' maximum ·
          'pivot' the origin the sums are taken about
    """

    dims: tuple[str, ...]
    kind: str = "sum"

    def zeros(self, axes: Axes) -> np.ndarray:
        """The array of no rows; a pivot is not set yet."""
        shape = tuple(axes.size(dim) for dim in self.dims)
        if self.kind == "rows":
            return np.zeros(shape, dtype=np.int64)
        return np.full(shape, np.nan) if self.kind == "pivot" else np.zeros(shape)

    def place(
        self,
        array: np.ndarray,
        out: np.ndarray,
        moves: Mapping[str, np.ndarray | None],
        shared: frozenset[str] = frozenset(),
    ) -> None:
        """Write an array into a larger one: `moves` says where each coordinate of a dim goes.

        In the dims `shared`, several coordinates go to one place, and their entries combine.
        """
        index = np.ix_(*(
            np.arange(size) if (move := moves.get(dim)) is None else move
            for dim, size in zip(self.dims, array.shape, strict=True)
        ))  # fmt: skip
        if shared & set(self.dims):
            (np.maximum if self.kind == "peak" else np.add).at(out, index, array)
        else:
            out[index] = array

    def take(self, array: np.ndarray, at: dict[str, np.ndarray]) -> np.ndarray:
        """A new array of the coordinates `at` of some dims, along every axis that is one."""
        if not at.keys() & set(self.dims):
            return array.copy(order="K")
        for axis, dim in enumerate(self.dims):
            array = array.take(at[dim], axis=axis) if dim in at else array
        return array


G = ("class", "fold")
BASE_FIELDS = {"rows": Field(G, "rows"), "weight": Field(G)}  # what every statistic has
