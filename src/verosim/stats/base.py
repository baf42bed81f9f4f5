"""A statistic is a vector with labelled axes: align, then add.

    T(A ∪ B) = T(A) + T(B),   T(A \\ B) = T(A) − T(B)

so one pass over rows serves merging, forgetting, decay and cross-validation. A new statistic
declares its arrays (`fields`) and how rows enter them (`absorb`); the algebra below is written
once for all. Reference: Fisher (1922), On the mathematical foundations of theoretical statistics.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from verosim import kernels
from verosim.axes import Axes, Groups
from verosim.data import Batch, SparseRows
from verosim.errors import VerosimError


@dataclass(frozen=True)
class Field:
    """One array of a statistic: the names of its dims and how it combines.

    kind: 'rows' integer sum · 'sum' float sum · 'pair' float sum kept as high + low ·
          'peak' maximum · 'pivot' the origin the sums are taken about
    """

    dims: tuple[str, ...]
    kind: str = "sum"


RESIDUE = 1e-9  # parts of a weight that say somebody was forgotten only in part
ROUNDING = 1e-13  # parts of a weight that are what subtraction left behind
G = ("class", "fold")
HEAD = {"rows": Field(G, "rows"), "weight": Field(G)}  # what every statistic has


class Statistic(ABC):
    """A value: its axes, its arrays by name, and the low halves of its compensated sums."""

    def __init__(
        self,
        axes: Axes,
        arrays: dict[str, np.ndarray] | None = None,
        lows: dict[str, np.ndarray] | None = None,
    ) -> None:
        self.axes = axes
        self.arrays = self._zeros(axes) if arrays is None else arrays
        if lows is None:
            lows = {
                name: np.zeros_like(self.arrays[name])
                for name, field in self.fields.items()
                if field.kind == "pair"
            }
        self.lows = lows

    # What a statistic declares -----------------------------------------------------------

    @property
    @abstractmethod
    def fields(self) -> dict[str, Field]:
        """The arrays by name. Every statistic has `rows` and `weight`, both (class, fold)."""

    @abstractmethod
    def absorb(self, batch: Batch) -> None:
        """Add the rows of a batch, in place. For an engine that owns the statistic."""

    @property
    def options(self) -> dict[str, Any]:
        """What, beside the axes, makes two statistics of the same kind."""
        return {}

    def prepare(self, batch: Batch) -> None:  # noqa: B027  most statistics need nothing
        """A first look at some rows before they are shared among workers."""

    # Building ----------------------------------------------------------------------------

    def like(
        self,
        axes: Axes,
        arrays: dict[str, np.ndarray] | None = None,
        lows: dict[str, np.ndarray] | None = None,
    ) -> Self:
        """A statistic of the same kind on other axes or arrays, zero if none are given."""
        return type(self)(axes, arrays, lows, **self.options)

    def zero(self) -> Self:
        """The zero on these axes; it keeps the pivots, so sums of more rows simply add."""
        out = self.like(self.axes)
        for name, field in self.fields.items():
            if field.kind == "pivot":
                out.arrays[name][...] = self.arrays[name]
        return out

    def unplaced(self) -> Self:
        """The zero on these axes with its pivots unset: more rows choose their own."""
        return self.like(self.axes)

    def copy(self) -> Self:
        return self.like(
            self.axes,
            {name: array.copy() for name, array in self.arrays.items()},
            {name: array.copy() for name, array in self.lows.items()},
        )

    def _zeros(self, axes: Axes) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for name, field in self.fields.items():
            shape = tuple(axes.size(dim) for dim in field.dims)
            if field.kind == "rows":
                arrays[name] = np.zeros(shape, dtype=np.int64)
            elif field.kind == "pivot":
                arrays[name] = np.full(shape, np.nan)
            else:
                arrays[name] = np.zeros(shape)
        return arrays

    def _flat(self, name: str, low: bool = False) -> np.ndarray:
        """(G, …) view of a (class, fold, …) array, as kernels index groups."""
        array = self.lows[name] if low else self.arrays[name]
        return array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])

    def _count_rows(self, batch: Batch) -> None:
        """rows and weight += those of a batch."""
        rows, weight = self._flat("rows"), self._flat("weight")
        added = np.bincount(batch.groups, minlength=len(rows))
        rows += added
        weight += (
            np.bincount(batch.groups, weights=batch.weights, minlength=len(rows))
            if len(batch.weights)
            else added
        )

    # Axes --------------------------------------------------------------------------------

    def align(self, axes: Axes) -> Self:
        """The same statistic on wider axes: coordinates move, new ones are zero."""
        if axes is self.axes:
            return self
        moves = {dim: self.axes.positions(dim, axes) for dim in ("class", "code")
                 if dim == "class" or self.axes.codes is not None}  # fmt: skip
        if all(move is None for move in moves.values()):
            return self.like(axes, self.arrays, self.lows)
        out = self.like(axes)
        code = moves.get("code")
        merging = code is not None and len(np.unique(code)) < len(code)
        for name, field in self.fields.items():
            index = np.ix_(*(
                np.arange(self.axes.size(dim)) if moves.get(dim) is None else moves[dim]
                for dim in field.dims
            ))  # fmt: skip
            if "code" in field.dims and merging:  # values that now share a bucket
                np.add.at(out.arrays[name], index, self.arrays[name])
                continue
            out.arrays[name][index] = self.arrays[name]
            if field.kind == "pair":
                out.lows[name][index] = self.lows[name]
        return out

    def welcome(self, batch: Batch) -> tuple[Self, Batch]:
        """Room for the classes of a batch that brings its own labels, and its groups in ours."""
        if batch.labels is None:
            return self, batch
        groups = self.axes.groups
        wider = groups.union(Groups(batch.labels, groups.folds))
        place = Groups(batch.labels, groups.folds).positions(wider)
        out = self if wider is groups else self.align(self.axes.with_groups(wider))
        return out, batch.regrouped(place, groups.folds)

    def leaves(self) -> Iterator[Statistic]:
        """The statistics this one is made of, itself if it is of one piece."""
        yield self

    # What it can do: asked of the object, never tested by its class -----------------------

    @property
    def sums_of(self) -> str:
        """ "numbers", "categories", "bins", "joint", "presence", "amounts", "tokens" or "parts"."""
        return "numbers"

    @property
    def can_narrow(self) -> bool:
        """Whether `narrowed` gives the statistic of some columns."""
        return False

    @property
    def grows(self) -> bool:
        """Whether more rows keep making it much larger, as new tokens of texts do."""
        return False

    @property
    def complete(self) -> Any:
        """The statistic of complete rows; None if rows with missing cells are kept apart in it."""
        return self

    @property
    def has_scatter(self) -> bool:
        """Whether `complete` keeps products of columns, for each class or for all together."""
        return False

    def cell_weights(self) -> np.ndarray | None:
        """(C, d) the weight of the cells that were not missing; None where that is not kept."""
        return None

    def count_names(self) -> list[str]:
        """What each of its counts is of: the columns or, of texts, the tokens."""
        return list(self.axes.columns)

    def named_parts(self) -> Iterator[tuple[str, Statistic]]:
        """The parts by name; itself, without a name, if it is of one piece."""
        yield "", self

    def map_parts(self, make: Callable[[str], Statistic]) -> Statistic:
        """A statistic made of `make(name)` for every named part."""
        return make("")

    def _meet(self, other: Self) -> tuple[Self, Self]:
        """Both on the union of their axes, about the same pivots."""
        if type(self) is not type(other) or self.options != other.options:
            raise VerosimError(
                f"{self!r} and {other!r} are sums of different things.",
                "merge models of the same class fitted with the same settings.",
            )
        axes = self.axes.union(other.axes)
        return self.align(axes), other.align(axes)

    # Algebra -----------------------------------------------------------------------------

    def __add__(self, other: Self) -> Self:
        return self._combined(other, 1)

    def __sub__(self, other: Self) -> Self:
        return self._combined(other, -1)

    def __iadd__(self, other: Self) -> Self:
        """For an engine that owns the statistic; it may reuse its arrays."""
        return self._combined(other, 1, owned=True)

    def _combined(self, other: Self, sign: int, owned: bool = False) -> Self:
        mine, theirs = self._meet(other)
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
                (np.add if sign > 0 else np.subtract)(array, added, out=array)
        out._remember()
        return out

    def __mul__(self, factor: float) -> Self:
        """Scale every weight. Rows stay rows: a faded class is still a class."""
        if not factor > 0 or not np.isfinite(factor):
            raise VerosimError(f"A statistic is scaled by a positive number, not {factor!r}.")
        out = self.copy()
        for name, field in out.fields.items():
            if field.kind in ("sum", "pair", "peak"):
                out.arrays[name] *= factor
                if field.kind == "pair":
                    out.lows[name] *= factor
        return out

    __rmul__ = __mul__

    def recentred(self) -> Self:
        """The same statistic about pivots nearer its means, where drift has left them behind."""
        return self

    def digits(self) -> np.ndarray | None:
        """(class, column) correct digits left in the spread; None where nothing can cancel."""
        return None

    def _remember(self) -> None:  # noqa: B027  only sums of signed numbers can cancel
        """Update the error budget after an addition or subtraction."""

    # Folds -------------------------------------------------------------------------------

    def fold(self, f: int) -> Self:
        """The statistic of one fold."""
        return self._over_folds(lambda array: array[f : f + 1])

    def total(self, dim: str = "fold") -> Self:
        """The sum over folds."""
        self._check_foldable(dim)
        out = self.fold(0)
        for f in range(1, self.axes.groups.folds):
            out = out + self.fold(f)
        return out

    def folded(self, folds: int) -> Self:
        """The zero on these axes with so many folds."""
        return self.like(self.axes.with_groups(Groups(self.axes.groups.classes, folds)))

    def outside(self) -> Iterator[Self]:
        """For every fold, the statistic of all rows outside it.

        It is total − fold, found as (the folds before) + (the folds after): where nothing is
        subtracted, nothing cancels.
        """
        parts = [self.fold(f) for f in range(self.axes.groups.folds)]
        before = after = parts[0].zero()
        later = [after]
        for part in parts[:0:-1]:
            after = part + after
            later.append(after)
        for part in parts:
            yield before + later.pop()
            before = before + part

    def complement(self, dim: str = "fold") -> Self:
        """For every fold, the statistic of all rows outside it: total − fold."""
        self._check_foldable(dim)
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

    @staticmethod
    def _check_foldable(dim: str) -> None:
        if dim != "fold":
            raise VerosimError(f"{dim!r} is no dim to sum over.", "'fold' is.")

    def _over_folds(self, pick: Any) -> Self:
        groups = type(self.axes.groups)(self.axes.groups.classes, 1)

        def picked(name: str, array: np.ndarray) -> np.ndarray:
            dims = self.fields[name].dims
            if "fold" not in dims:
                return array.copy()
            at = dims.index("fold")
            return np.array(np.moveaxis(pick(np.moveaxis(array, at, 0)), 0, at), order="C")

        return self.like(
            self.axes.with_groups(groups),
            {name: picked(name, array) for name, array in self.arrays.items()},
            {name: picked(name, array) for name, array in self.lows.items()},
        )

    # Housekeeping ------------------------------------------------------------------------

    def without(self, part: Self) -> Self:
        """self − part, for rows that were seen: checked, and rid of what they alone stood for."""
        rest = self - part
        before = self.align(rest.axes)
        rest._check_not_negative(before)
        rest._settle_rows(before)
        gone = (before.arrays["rows"] > 0).any(axis=1) & (rest.arrays["rows"] == 0).all(axis=1)
        rest = rest._cleared()
        return rest._keep("class", ~gone) if gone.any() else rest

    def _check_not_negative(self, before: Self) -> None:
        """A weight may fall below zero by rounding, never by more."""
        for name, field in self.fields.items():
            if field.kind != "sum":
                continue
            was = np.abs(before.arrays[name])
            # Entries that were themselves only rounding have their class for a measure.
            measure = was.max(axis=tuple(range(2, was.ndim)), initial=0, keepdims=True)
            weight = np.abs(before.arrays["weight"]).reshape(measure.shape)
            bad = self.arrays[name] < -(RESIDUE * was + 1e-12 * (measure + weight))
            if not bad.any():
                continue
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            place = f"Class {self.axes.groups.name(at[0] * self.axes.groups.folds)}"
            if field.dims[-1] == "column":
                place += f", column {self.axes.columns.name(at[-1])!r}"
            elif field.dims[-1] == "code" and self.axes.codes is not None:
                column, value = self.axes.codes.label(at[-1], self.axes.columns)
                place += f", column {column!r}, value {value}"
            raise VerosimError(
                f"{place}: more would be forgotten than was ever seen, so its weight would "
                "become negative.",
                "forget only rows (and weights) this model was fitted on.",
            )

    def _settle_rows(self, before: Self) -> None:
        """Rows forgotten by a part of their weight are still there; nobody has less than none."""
        self._settle("rows", self.arrays["weight"], before.arrays["weight"])

    def _settle(self, name: str, weight: np.ndarray, before: np.ndarray) -> None:
        rows = self.arrays[name]
        rows[...] = np.where(weight > RESIDUE * before, np.maximum(rows, 1), np.maximum(rows, 0))
        rows[weight <= ROUNDING * before] = 0

    def prune(self) -> Self:
        """Drop what no row stands for: classes with no rows, codes no row has."""
        out = self._cleared()
        kept = (out.arrays["rows"] != 0).any(axis=1)
        return out if kept.all() else out._keep("class", kept)

    def _cleared(self) -> Self:
        """Exact zeros where there are no rows: what subtraction left there is rounding."""
        out = self.copy()
        empty = self.arrays["rows"] == 0
        for name, field in out.fields.items():
            if field.dims[:2] == ("class", "fold") and field.kind != "rows":
                out.arrays[name][empty] = 0
                if field.kind == "pair":
                    out.lows[name][empty] = 0
        return out

    def narrowed(self, columns: np.ndarray) -> Self:
        """The statistic of some columns only, as if the rows had no others."""
        codes = self.axes.codes
        axes = Axes(self.axes.groups, self.axes.columns.narrowed(columns))
        at: dict[str, np.ndarray] = {"column": columns}
        if codes is not None:
            axes = axes.with_codes(codes.narrowed(columns))
            first = codes.first
            at["code"] = np.concatenate([np.arange(first[j], first[j + 1]) for j in columns])

        def picked(name: str, array: np.ndarray) -> np.ndarray:
            for axis, dim in enumerate(self.fields[name].dims):
                array = array.take(at[dim], axis=axis) if dim in at else array
            return array

        return self.like(
            axes,
            {name: picked(name, array) for name, array in self.arrays.items()},
            {name: picked(name, array) for name, array in self.lows.items()},
        )

    def _keep(self, dim: str, kept: np.ndarray) -> Self:
        if dim == "class":
            axes = self.axes.with_groups(self.axes.groups.keep(kept))
        else:
            assert self.axes.codes is not None
            axes = self.axes.with_codes(self.axes.codes.keep(kept))

        def restricted(name: str, array: np.ndarray) -> np.ndarray:
            dims = self.fields[name].dims
            return np.compress(kept, array, axis=dims.index(dim)) if dim in dims else array

        return self.like(
            axes,
            {name: restricted(name, array) for name, array in self.arrays.items()},
            {name: restricted(name, array) for name, array in self.lows.items()},
        )

    def fingerprint(self) -> str:
        """Identifies this state, bit by bit; two roads to the same rows may differ in rounding."""
        digest = hashlib.sha256(type(self).__name__.encode())
        digest.update(repr(sorted(self.options.items())).encode())
        groups, columns, codes = self.axes.groups, self.axes.columns, self.axes.codes
        axes = (groups.classes.tolist(), groups.folds, columns.size, columns.names)
        digest.update(repr((axes, None if codes is None else codes.state())).encode())
        for store in (self.arrays, self.lows):
            for name in sorted(store):
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(store[name]).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        rows = int(self.arrays["rows"].sum())
        inside = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        inside = f"{inside}, " if inside else ""
        return (
            f"{type(self).__name__}({inside}{rows} rows, {self.axes.size('class')} classes, "
            f"{len(self.axes.columns)} columns)"
        )


def bad_cell(
    axes: Axes, batch: Batch, i: int, j: int, why: str = "", hint: str | None = None
) -> VerosimError:
    """The error for a cell that cannot be counted: where it is, and a way out."""
    block = batch.block
    value = block.take(np.array([i]))[0, j] if isinstance(block, SparseRows) else block[i, j]
    what = "NaN" if np.isnan(value) else f"infinity or a value too large, {value:g}"
    place = f"column {axes.columns.name(j)!r}, {batch.place(i)}"
    label = axes.groups.name(int(batch.groups[i]))
    if not np.isnan(value):
        hint = "replace it with NaN where the model skips missing cells, or drop the row."
        why = ""
    return VerosimError(
        f"Input X contains {what}: {place}, class {label}{'; ' + why if why else ''}.", hint
    )
