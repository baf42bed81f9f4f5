"""Fields: arrays with named dimensions that can be created, moved to wider axes, and selected.

    out[move_class[c], f, move_code[j]] = array[c, f, j]

A dimension can occur twice in one array, for example in sums of products. Then both axes move
together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Field:
    """One array of a statistic: the names of its dimensions, and how two arrays combine.

    The values of `kind`:

    - "rows": a sum of integers.
    - "sum": a sum of floats.
    - "pair": a sum of floats that is stored as high + low.
    - "peak": a maximum.
    - "pivot": the origin of the sums; it does not combine.
    """

    dims: tuple[str, ...]
    kind: str = "sum"

    def zeros(self, sizes: Mapping[str, int]) -> np.ndarray:
        """The array of zero rows, for these sizes of dimensions; an unset pivot is NaN."""
        shape = [sizes[dim] for dim in self.dims]
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
        """Write an array into a larger array; `moves` has the new positions along each dimension.

        Along the dimensions in `shared`, several coordinates have the same new position, and
        their entries combine.
        """
        if not array.size:
            return
        index = np.ix_(*(
            np.arange(size) if (move := moves.get(dim)) is None else move
            for dim, size in zip(self.dims, array.shape, strict=True)
        ))  # fmt: skip
        if shared & set(self.dims):
            (np.maximum if self.kind == "peak" else np.add).at(out, index, array)
        else:
            out[index] = array

    def take(self, array: np.ndarray, at: dict[str, np.ndarray]) -> np.ndarray:
        """A new array with only the coordinates `at[dim]` along every axis named `dim`."""
        if not at.keys() & set(self.dims):
            return array.copy(order="K")
        for axis, dim in enumerate(self.dims):
            array = array.take(at[dim], axis=axis) if dim in at else array
        return array


G = ("class", "fold")
BASE_FIELDS = {"rows": Field(G, "rows"), "weight": Field(G)}  # the fields of every statistic
