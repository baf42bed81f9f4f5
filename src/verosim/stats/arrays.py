"""Algebra of statistics that are sums in arrays, written once for all of them.

A new statistic declares its arrays (`fields`) and adds rows to them (`absorb`). Addition,
alignment, selection and folds follow from the declaration:

    T(A ∪ B) = T(A) + T(B),   T(A \\ B) = T(A) − T(B)

Reference: Fisher (1922), On the mathematical foundations of theoretical statistics, Philosophical
Transactions of the Royal Society A 222, 309–368.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from operator import iadd, isub
from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes, Groups
from verosim.data import Batch
from verosim.errors import VerosimError
from verosim.stats.fields import Field, G
from verosim.stats.forgetting import check_not_negative, clear_residue, settled
from verosim.stats.memory_limit import check_memory
from verosim.stats.sparse_sums import SparseSums
from verosim.stats.state_checks import check_options, check_sums
from verosim.stats.statistic import Statistic, check_fold_dim, unlike

UNCHECKED_NUMBERS = 1 << 20  # so few numbers always fit into memory


class ArrayStatistic(Statistic):
    """A statistic in arrays: axes, arrays by name, and the low parts of compensated sums.

    A compensated sum is stored as two numbers, high + low. `arrays` holds the high parts and
    `lows` holds the low parts of the fields of kind "pair".
    """

    def __init__(
        self,
        axes: Axes,
        arrays: dict[str, np.ndarray] | None = None,
        lows: dict[str, np.ndarray] | None = None,
    ) -> None:
        self.axes = axes
        if arrays is None:
            self._check_memory()
        self.arrays = self._zeros(axes) if arrays is None else arrays
        if lows is None:
            lows = {
                name: np.zeros(self.arrays[name].shape)
                for name, field in self.fields.items()
                if field.kind == "pair"
            }
        self.lows = lows

    # Declarations ------------------------------------------------------------------------

    @property
    @abstractmethod
    def fields(self) -> dict[str, Field]:
        """The fields by name. Every statistic has `rows` and `weight`, the `BASE_FIELDS`."""

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of the constructor, as plain data.

        Two statistics can be added only if their options are equal.
        """
        return {}

    @property
    def size(self) -> int:
        return sum(array.size for array in (*self.arrays.values(), *self.lows.values()))

    @property
    def rows(self) -> np.ndarray:
        return self.arrays["rows"]

    @property
    def weight(self) -> np.ndarray:
        return self.arrays["weight"]

    # Building ----------------------------------------------------------------------------

    def like(
        self,
        axes: Axes,
        arrays: dict[str, np.ndarray] | None = None,
        lows: dict[str, np.ndarray] | None = None,
    ) -> Self:
        """A statistic of the same kind on other axes; its arrays are zero unless given."""
        return type(self)(axes, arrays, lows, **self.options)

    def zero(self) -> Self:
        out = self.like(self.axes)
        for name, field in self.fields.items():
            if field.kind == "pivot":
                out.arrays[name][...] = self.arrays[name]
        return out

    def unplaced(self) -> Self:
        return self.like(self.axes)

    def copy(self) -> Self:
        arrays, lows = (
            {name: array.copy() for name, array in store.items()}
            for store in (self.arrays, self.lows)
        )
        return self.like(self.axes, arrays, lows)

    def mapped(self, axes: Axes, make: Callable[[Field, np.ndarray], np.ndarray]) -> Self:
        """A statistic of the same kind with every array, high and low, replaced by
        `make(field, array)`."""
        fields = self.fields
        arrays, lows = (
            {name: make(fields[name], array) for name, array in store.items()}
            for store in (self.arrays, self.lows)
        )
        return self.like(axes, arrays, lows)

    def _check_memory(self) -> None:
        """Raise an error if the arrays would need too much memory."""
        sizes, numbers = self.axes.sizes(), 0
        for field in self.fields.values():
            size = 2 if field.kind == "pair" else 1
            for dim in field.dims:
                size *= sizes[dim]
            numbers += size
        if numbers < UNCHECKED_NUMBERS:
            return
        C, d = sizes["class"], sizes["column"]
        check_memory(numbers, f"The sums of {d:,} columns and {C:,} classes")

    def _zeros(self, axes: Axes) -> dict[str, np.ndarray]:
        sizes = axes.sizes()
        return {name: field.zeros(sizes) for name, field in self.fields.items()}

    def _every_array(self) -> Iterator[tuple[Field, np.ndarray]]:
        for store in (self.arrays, self.lows):
            for name, array in store.items():
                yield self.fields[name], array

    def by_group(self, name: str, low: bool = False) -> np.ndarray:
        """View of shape (G, …) of an array of shape (C, F, …); kernels index groups this way."""
        array = self.lows[name] if low else self.arrays[name]
        return array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])

    def count_rows(self, batch: Batch) -> None:
        """Add the number of rows and the weights of a batch, in place."""
        rows, weight = self.by_group("rows"), self.by_group("weight")  # (G,), (G,)
        added = np.bincount(batch.groups, minlength=len(rows))  # (G,)
        rows += added
        weight += (
            np.bincount(batch.groups, weights=batch.weights, minlength=len(rows))
            if len(batch.weights)
            else added
        )

    # Axes --------------------------------------------------------------------------------

    def align(self, axes: Axes) -> Self:
        if axes is self.axes:
            return self
        moves = {dim: self.axes.positions(dim, axes) for dim in ("class", "code")
                 if dim == "class" or self.axes.codes is not None}  # fmt: skip
        if all(move is None for move in moves.values()):
            return self.like(axes, self.arrays, self.lows)
        code = moves.get("code")
        merging = code is not None and len(code) > 0 and np.bincount(code).max() > 1
        shared = frozenset({"code"} if merging else ())  # several values now have one code
        out = self.like(axes)
        for name, field in self.fields.items():
            field.place(self.arrays[name], out.arrays[name], moves, shared)
            if field.kind == "pair":
                field.place(self.lows[name], out.lows[name], moves, shared)
        return out

    def on_common_axes(self, other: Self) -> tuple[Self, Self]:
        """Both statistics on the union of their axes, with the same pivots."""
        if type(self) is not type(other) or self.options != other.options:
            raise unlike(self, other)
        axes = self.axes.union(other.axes)
        return self.align(axes), other.align(axes)

    def renamed(self, names: Mapping[str, str]) -> Self:
        columns = self.axes.columns.renamed(names)
        if columns is self.axes.columns:
            return self
        return self.like(replace(self.axes, columns=columns), self.arrays, self.lows)

    def keep(self, dim: str, kept: np.ndarray) -> Self:
        """Keep only some classes, codes or columns; `kept` has one bool per coordinate."""
        at = np.flatnonzero(kept)
        if dim == "column":
            return self.narrowed(at)
        if dim == "class":
            axes = self.axes.with_groups(self.axes.groups.keep(kept))
        else:
            assert self.axes.codes is not None
            axes = self.axes.with_codes(self.axes.codes.keep(kept))
        return self._taken(axes, {dim: at})

    def narrowed(self, columns: np.ndarray) -> Self:
        """The statistic of some columns, equal to that of rows with only these columns."""
        codes = self.axes.codes
        axes = Axes(self.axes.groups, self.axes.columns.narrowed(columns))
        at: dict[str, np.ndarray] = {"column": columns}
        if codes is not None:
            axes = axes.with_codes(codes.narrowed(columns))
            first = codes.first
            at["code"] = np.concatenate([np.arange(first[j], first[j + 1]) for j in columns])
        return self._taken(axes, at)

    def _taken(self, axes: Axes, at: dict[str, np.ndarray]) -> Self:
        return self.mapped(axes, lambda field, array: field.take(array, at))

    # Algebra -----------------------------------------------------------------------------

    def __add__(self, other: Self) -> Self:
        return self._combined(other, 1)

    def __sub__(self, other: Self) -> Self:
        return self._combined(other, -1)

    def __iadd__(self, other: Self) -> Self:
        return self._combined(other, 1, owned=True)

    def _combined(self, other: Self, sign: int, owned: bool = False) -> Self:
        mine, theirs = self.on_common_axes(other)
        out = mine if owned else mine.copy()
        pairs = kernels.add_pairs if sign > 0 else kernels.subtract_pairs
        for name, field in out.fields.items():
            array, added = out.arrays[name], theirs.arrays[name]
            if field.kind == "pair":
                pairs(
                    array.reshape(-1),
                    out.lows[name].reshape(-1),
                    added.reshape(-1),
                    theirs.lows[name].reshape(-1),
                )
            elif field.kind == "peak":
                np.maximum(array, added, out=array)
            elif field.kind != "pivot":
                out.arrays[name] = (iadd if sign > 0 else isub)(array, added)
        out.note_peaks()
        return out

    def __mul__(self, factor: float) -> Self:
        if not factor > 0 or not np.isfinite(factor):
            raise VerosimError(
                f"The factor that multiplies a statistic must be positive and finite; got "
                f"{factor!r}.",
                "Use a factor above 0.",
            )
        out = self.copy()
        for field, array in out._every_array():
            if field.kind in ("sum", "pair", "peak"):
                array *= factor
        return out

    def with_class_weights(self, factors: np.ndarray) -> Self:
        out = self.copy()
        for field, array in out._every_array():
            if field.kind not in ("sum", "pair", "peak"):
                continue
            if "class" in field.dims:
                array *= factors.reshape(-1, *(1,) * (len(field.dims) - 1))
            elif field.kind != "peak":
                raise VerosimError(
                    "The argument class_weight needs sums per class, and this model has only the "
                    "sums over all classes.",
                    "Fit the model again with class_weight.",
                )
        return out

    def note_peaks(self) -> None:
        """Update the fields of kind "peak" to the maximum of their value and the present sums."""

    # Folds -------------------------------------------------------------------------------

    def folded(self, folds: int) -> Self:
        return self.like(self.axes.with_groups(Groups(self.axes.groups.classes, folds)))

    def fold(self, f: int) -> Self:
        groups = Groups(self.axes.groups.classes, 1)
        return self._taken(self.axes.with_groups(groups), {"fold": np.array([f])})

    def total(self, dim: str = "fold") -> Self:
        check_fold_dim(dim)
        out = self.fold(0)
        for f in range(1, self.axes.groups.folds):
            out += self.fold(f)
        return out

    def complement(self, dim: str = "fold") -> Self:
        check_fold_dim(dim)
        parts = list(self.outside())
        out = self.copy()
        for name, field in self.fields.items():
            if "fold" not in field.dims:
                continue
            at = field.dims.index("fold")
            out.arrays[name] = np.concatenate([p.arrays[name] for p in parts], axis=at)
            if field.kind == "pair":
                out.lows[name] = np.concatenate([p.lows[name] for p in parts], axis=at)
        return out

    # Removing ----------------------------------------------------------------------------

    def without(self, part: Self) -> Self:
        rest = self - part
        before = self.align(rest.axes)
        rest.check_not_negative(before)
        rest.settle_rows(before)
        gone = (before.rows > 0).any(axis=1) & (rest.rows == 0).all(axis=1)
        rest = rest.cleared()
        return rest.keep("class", ~gone) if gone.any() else rest

    def check_not_negative(self, before: Self) -> None:
        """Raise an error if more was subtracted than the statistic `before` contained."""
        check_not_negative(self, before)

    def settle_rows(self, before: Self) -> None:
        """Correct the numbers of rows by the weight that is left, and clear residue, in place."""
        self.rows[...] = settled(self.rows, self.weight, before.weight)
        clear_residue(self, before)

    def prune(self) -> Self:
        if self.is_clear:
            return self
        out = self.cleared()
        kept = (out.rows != 0).any(axis=1)
        return out if kept.all() else out.keep("class", kept)

    @property
    def is_clear(self) -> bool:
        """Whether `cleared` would change nothing, so that no copy is needed. It may be False."""
        return self.axes.codes is None and bool((self.rows != 0).all())

    def cleared(self) -> Self:
        """Set the sums of groups without rows to exactly zero.

        After a subtraction such sums contain only rounding errors.
        """
        out = self.copy()
        empty = self.rows == 0
        for field, array in out._every_array():
            if field.dims[:2] == G and field.kind != "rows":
                array[empty] = 0
        return out

    # Identity ----------------------------------------------------------------------------

    def fingerprint(self) -> str:
        digest = hashlib.sha256(type(self).__name__.encode())
        digest.update(repr(sorted(self.options.items())).encode())
        groups, columns, codes = self.axes.groups, self.axes.columns, self.axes.codes
        axes = (groups.classes.tolist(), groups.folds, columns.size, columns.names)
        order, known = (None, None) if codes is None else codes.in_order()
        digest.update(repr((axes, known)).encode())
        if order is not None and np.array_equal(order, np.arange(len(order))):
            order = None  # no copy of the arrays is needed
        for store in (self.arrays, self.lows):
            for name in sorted(store):
                array = store[name]
                for at, dim in enumerate(self.fields[name].dims):
                    if dim == "code" and order is not None:
                        array = array.take(order, axis=at)
                digest.update(name.encode())
                digest.update(array.tobytes())
        return digest.hexdigest()

    def state(self) -> dict[str, Any]:
        return {
            "kind": type(self).__name__,
            "options": self.options,
            "axes": self.axes.state(),
            "arrays": {
                name: array.state() if isinstance(array, SparseSums) else array
                for name, array in self.arrays.items()
            },
            "lows": dict(self.lows),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        axes = Axes.from_state(state["axes"])
        arrays, lows = ({**state[name]} for name in ("arrays", "lows"))
        check_options(state["options"])
        out = cls(axes, _restored(arrays, axes), lows, **state["options"])
        fields = out.fields
        pairs = {name for name, field in fields.items() if field.kind == "pair"}
        for store, names in ((out.arrays, set(fields)), (out.lows, pairs)):
            for name in sorted(names | store.keys()):
                value = store.get(name)
                shape = tuple(axes.size(dim) for dim in fields[name].dims) if name in names else ()
                if value is None or name not in names or np.shape(value) != shape:
                    found = "no such array" if value is None else np.shape(value)
                    raise VerosimError(
                        f"The array {name!r} of {cls.__name__} must have shape {shape}; the "
                        f"state has {found}.",
                        "Save the model again with this version of verosim.",
                    )
                if not isinstance(value, SparseSums):
                    dtype = np.int64 if fields[name].kind == "rows" else np.float64
                    store[name] = np.array(value, dtype=dtype)
        check_sums(out)
        return out

    def __repr__(self) -> str:
        rows = int(self.rows.sum())
        inside = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        inside = f"{inside}, " if inside else ""
        return (
            f"{type(self).__name__}({inside}{rows} rows, {self.axes.size('class')} classes, "
            f"{len(self.axes.columns)} columns)"
        )


def _restored(arrays: dict[str, Any], axes: Axes) -> dict[str, Any]:
    """The arrays of a state, with sparse sums in place of their plain data."""
    for name, value in arrays.items():
        if isinstance(value, Mapping):
            shape = tuple(axes.size(dim) for dim in ("class", "fold", "code"))
            arrays[name] = SparseSums.from_state(shape, value)
    return arrays
