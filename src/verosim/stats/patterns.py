"""Moments of rows with missing cells: one full statistic per class and pattern of missing cells.

    T = (T_kp),   T_kp = (W, Σw z_o, Σw z_o z_oᵀ) over the rows of class k that show columns o(p)

Rows that show the same columns of the same class need no more than their sums for the
likelihood of what they show, so maximum likelihood under missing at random runs on these alone,
and they merge, subtract and fold like any sums. A pattern nobody has shown is a zero.
Reference: Little & Rubin (2002), Statistical Analysis with Missing Data, §7.2, §11.2.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from verosim.axes import Axes, Groups
from verosim.axes.groups import as_labels, sorted_labels
from verosim.data import Batch
from verosim.data.batch import BLOCK_CELLS
from verosim.errors import VerosimError
from verosim.stats.base import HEAD, Field, Statistic
from verosim.stats.moments import Moments

BUDGET = 1 << 26  # numbers in the scatters of all classes and patterns


@dataclass(frozen=True, order=True)
class Cohort:
    """The rows of one class that show the same columns."""

    label: Any
    shown: bytes  # one bit a column, packed

    def __repr__(self) -> str:
        return repr(self.label)  # what an error calls the class


class Patterns(Statistic):
    """Full moments by class and missing pattern.

    `parts` has a group for every cohort; columns a cohort does not show have sums of zero and no
    pivot. The cohort of complete rows is always there, rows or none: its pivots are the class's.
    """

    def __init__(self, axes: Axes, parts: Moments | None = None) -> None:
        self.axes = axes
        self.parts = Moments(_complete_axes(axes), layout="full") if parts is None else parts
        self._known: tuple[Groups, np.ndarray, np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, statistic: Any) -> Any:
        """Full moments as a statistic of one pattern, the arrays shared; any other as it is."""
        if not isinstance(statistic, Moments) or statistic.layout != "full":
            return statistic
        axes = statistic.axes
        return cls(axes, statistic.like(_complete_axes(axes), statistic.arrays, statistic.lows))

    @property
    def complete(self) -> Moments | None:
        """The moments of the complete rows, if there are no others."""
        at = self.complete_at
        rest = np.ones(len(self.owner), dtype=bool)
        rest[at] = False
        if self.parts.arrays["rows"][rest].any():
            return None
        arrays, lows = self.parts.arrays, self.parts.lows
        if not np.array_equal(at, np.arange(len(rest))):
            arrays = {name: array[at] for name, array in arrays.items()}
            lows = {name: array[at] for name, array in lows.items()}
        return self.parts.like(self.axes, arrays, lows)

    @property
    def has_scatter(self) -> bool:
        return self.complete is not None

    def cell_weights(self) -> np.ndarray:
        return self.available().cell_weights()

    # What cohorts are ----------------------------------------------------------------------

    def _index(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        groups = self.parts.axes.groups
        if self._known is None or self._known[0] is not groups:
            cohorts = groups.classes.tolist()
            place = {label: c for c, label in enumerate(self.axes.groups.classes.tolist())}
            owner = np.array([place[cohort.label] for cohort in cohorts], dtype=np.intp)
            shown = _unpacked(b"".join(c.shown for c in cohorts), len(self.axes.columns))
            complete = np.empty(len(place), dtype=np.intp)
            whole = np.flatnonzero(shown.all(axis=1))
            complete[owner[whole]] = whole
            self._known = groups, owner, shown, complete
        return self._known[1:]

    @property
    def owner(self) -> np.ndarray:
        """(cohorts,) the class of each."""
        return self._index()[0]

    @property
    def shown(self) -> np.ndarray:
        """(cohorts, d) bool: the columns each has values in."""
        return self._index()[1]

    @property
    def complete_at(self) -> np.ndarray:
        """(C,) where the complete rows of each class stand."""
        return self._index()[2]

    def _on(self, axes: Axes, parts: Moments) -> Self:
        """A statistic on these axes, with the cohort of complete rows for each class."""
        needed = _complete_axes(axes).groups.classes.tolist()
        return type(self)(axes, _with_cohorts(parts, needed))

    # Statistic -----------------------------------------------------------------------------

    @property
    def fields(self) -> dict[str, Field]:
        return HEAD

    @property
    def arrays(self) -> dict[str, np.ndarray]:  # type: ignore[override]
        """`rows` and `weight` (class, fold), summed over the patterns."""
        out = {}
        for name in HEAD:
            found = self.parts.arrays[name]
            out[name] = np.zeros((self.axes.size("class"), found.shape[1]), dtype=found.dtype)
            np.add.at(out[name], self.owner, found)
        return out

    @property
    def lows(self) -> dict[str, np.ndarray]:  # type: ignore[override]
        return {}

    def zero(self) -> Self:
        return type(self)(self.axes, self.parts.zero())

    def unplaced(self) -> Self:
        return type(self)(self.axes)

    def copy(self) -> Self:
        return type(self)(self.axes, self.parts.copy())

    # Rows come in --------------------------------------------------------------------------

    def prepare(self, batch: Batch) -> None:
        """Set the pivots of the classes, complete rows or not."""
        at = self.complete_at
        pivot = self.parts.arrays["pivot"][at]
        if np.isnan(pivot).any():
            Moments(self.axes, {"pivot": pivot}, {}, layout="full").prepare(batch)
            self.parts.arrays["pivot"][at] = pivot

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        self.prepare(batch)
        folds = self.axes.groups.folds
        step = max(1024, BLOCK_CELLS // max(batch.block.shape[1], 1))
        holed, which, patterns = _patterns(batch.block, step)
        if len(holed) or not np.array_equal(self.complete_at, np.arange(len(self.owner))):
            classes, fold = np.divmod(batch.groups, folds)
            places = self._places(classes[holed], which, patterns)
            groups = self.complete_at[classes]
            groups[holed] = places
            groups = (groups * folds + fold).astype(np.int32)
            batch = replace(batch, groups=groups)
        shown, parts = self.shown, self.parts
        pivot = parts.arrays["pivot"]
        pivot = np.where(np.isnan(pivot), pivot[self.complete_at][self.owner], pivot)
        # Zero where nothing is shown, in the pivot as in the rows: such cells add nothing.
        filled = parts.like(
            parts.axes, {**parts.arrays, "pivot": np.where(shown, pivot, 0.0)}, parts.lows
        )
        if not len(holed):
            filled.absorb(batch)
        else:
            for start in range(0, len(batch), step):
                filled.absorb(_without_nan(batch.cut(start, start + step)))
        parts.arrays["pivot"] = np.where(shown, filled.arrays["pivot"], np.nan)

    def _places(self, classes: np.ndarray, which: np.ndarray, patterns: list[bytes]) -> np.ndarray:
        """(n,) the cohort of every row with holes, made if it is new."""
        met = np.zeros((self.axes.size("class"), len(patterns)), dtype=bool)
        met[classes, which] = True
        labels = self.axes.groups.classes.tolist()
        pairs = np.argwhere(met)
        cohorts = [Cohort(labels[c], patterns[p]) for c, p in pairs.tolist()]
        self.parts = _with_cohorts(self.parts, cohorts)
        place = {cohort: i for i, cohort in enumerate(self.parts.axes.groups.classes.tolist())}
        table = np.zeros(met.shape, dtype=np.intp)
        table[pairs[:, 0], pairs[:, 1]] = [place[cohort] for cohort in cohorts]
        return table[classes, which]

    # Algebra -------------------------------------------------------------------------------

    def align(self, axes: Axes) -> Self:
        return self if axes is self.axes else self._on(axes, self.parts)

    def _combined(self, other: Any, sign: int, owned: bool = False) -> Self:
        other = type(self).of(other)
        if not isinstance(other, Patterns):
            raise VerosimError(
                f"{self!r} and {other!r} are sums of different things.",
                "merge models of the same class fitted with the same settings.",
            )
        axes = self.axes.union(other.axes)
        both = [*self.parts.axes.groups.classes.tolist(), *other.parts.axes.groups.classes.tolist()]
        if len(both) > len(axes.groups.classes) * 2:
            _check_budget(set(both), axes.groups.folds, len(axes.columns))
        return type(self)(axes, self.parts._combined(other.parts, sign, owned))

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.axes, self.parts * factor)

    __rmul__ = __mul__

    def recentred(self) -> Self:
        return type(self)(self.axes, self.parts.recentred())

    def available(self) -> Moments:
        """Diagonal moments of the cells that are there, about one pivot a class."""
        out = Moments(self.axes, layout="diagonal")
        parts, owner, shown = self.parts, self.owner, self.shown
        arrays, mine = parts.arrays, parts.arrays["pivot"]
        pivot = out.arrays["pivot"]
        order = np.argsort(arrays["weight"].sum(axis=1), kind="stable")
        for g in order.tolist():  # the heaviest cohort comes last and stays
            pivot[owner[g]] = np.where(np.isnan(mine[g]), pivot[owner[g]], mine[g])
        W = np.where(shown[:, None], arrays["weight"][..., None], 0.0)
        step = np.nan_to_num(mine - pivot[owner])[:, None]  # old pivot − new pivot, 0 where unset
        sums = arrays["sum"] + parts.lows["sum"]
        square = parts.squares() + (2 * sums + W * step) * step
        for name, found in (
            ("rows", arrays["rows"]), ("weight", arrays["weight"]), ("cells", W),
            ("sum", sums + W * step), ("square", square), ("absorbed", arrays["absorbed"]),
        ):  # fmt: skip
            np.add.at(out.arrays[name], owner, found)
        out._remember()
        return out

    def digits(self) -> np.ndarray | None:
        return self.available().digits()

    # Folds ---------------------------------------------------------------------------------

    def folded(self, folds: int) -> Self:
        groups = Groups(self.axes.groups.classes, folds)
        return type(self)(self.axes.with_groups(groups))

    def _of_parts(self, parts: Moments) -> Self:
        groups = Groups(self.axes.groups.classes, parts.axes.groups.folds)
        return type(self)(self.axes.with_groups(groups), parts)

    def fold(self, f: int) -> Self:
        return self._of_parts(self.parts.fold(f))

    def total(self, dim: str = "fold") -> Self:
        return self._of_parts(self.parts.total(dim))

    def complement(self, dim: str = "fold") -> Self:
        return self._of_parts(self.parts.complement(dim))

    # Housekeeping --------------------------------------------------------------------------

    def without(self, part: Any) -> Self:
        part = type(self).of(part)
        axes = self.axes.union(part.axes)
        before = self.align(axes).arrays["rows"]
        rest = self._on(axes, self.parts.without(part.parts))
        gone = (before > 0).any(axis=1) & (rest.arrays["rows"] == 0).all(axis=1)
        return rest._keep("class", ~gone) if gone.any() else rest

    def prune(self) -> Self:
        kept = (self.arrays["rows"] != 0).any(axis=1)
        return self._on(self.axes, self.parts.prune())._keep("class", kept)

    def _keep(self, dim: str, kept: np.ndarray) -> Self:
        assert dim == "class"
        axes = self.axes.with_groups(self.axes.groups.keep(kept))
        return self._on(axes, self.parts._keep("class", kept[self.owner]))

    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.parts.fingerprint().encode())
        digest.update(repr(self.axes.groups.classes.tolist()).encode())
        digest.update(self.shown.tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {len(np.unique(self.shown, axis=0))} patterns)"


def _check_budget(cohorts: set[Cohort], folds: int, d: int) -> None:
    if len(cohorts) * folds * d * d <= BUDGET:
        return
    patterns = len({cohort.shown for cohort in cohorts})
    raise VerosimError(
        f"{patterns} patterns of missing cells, {len(cohorts)} by class, over {d} columns: their "
        f"sums would take more than {BUDGET} numbers.",
        "GaussianNB skips missing cells; or impute, or leave out the columns that miss most.",
    )


def _complete_axes(axes: Axes) -> Axes:
    """The axes of complete rows: one cohort a class, in the order of the classes."""
    everything = _packed(np.ones((1, len(axes.columns)), dtype=bool))[0].tobytes()
    cohorts = [Cohort(label, everything) for label in axes.groups.classes.tolist()]
    return Axes(Groups(as_labels(cohorts, object), axes.groups.folds), axes.columns)


def _with_cohorts(parts: Moments, needed: list[Cohort]) -> Moments:
    """The same sums with room for the cohorts that are needed."""
    groups = parts.axes.groups
    known = set(groups.classes.tolist())
    fresh = set(needed) - known
    if not fresh:
        return parts
    _check_budget(known | fresh, groups.folds, len(parts.axes.columns))
    more = Groups(as_labels(sorted_labels(fresh), object), groups.folds)
    return parts.align(parts.axes.with_groups(groups.union(more)))


def _packed(shown: np.ndarray) -> np.ndarray:
    """(n, bytes) one bit a column, in whole words of eight bytes."""
    bits = np.packbits(shown, axis=1)
    out = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    out[:, : bits.shape[1]] = bits
    return out


def _unpacked(shown: bytes, d: int) -> np.ndarray:
    """(cohorts, d) bool from the packed bits of all cohorts, one after another."""
    width = -(-max(d, 1) // 64) * 8
    bits = np.frombuffer(shown, dtype=np.uint8).reshape(-1, width)
    return np.unpackbits(bits, axis=1, count=d).astype(bool)


def _patterns(block: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray, list[bytes]]:
    """The rows with holes, the number of the pattern of each, and the patterns."""
    rows, words = [], []
    for start in range(0, len(block), step):  # a block at a time stays in cache
        missing = np.isnan(block[start : start + step])
        if missing.any():
            at = np.flatnonzero(missing.any(axis=1))
            rows.append(at + start)
            words.append(_packed(~missing[at]))
    if not rows:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), []
    packed = np.concatenate(words)
    width = packed.shape[1]
    keys = packed.view(np.uint64 if width == 8 else np.dtype((np.void, width)))[:, 0]
    found, which = np.unique(keys, return_inverse=True)
    return np.concatenate(rows), which, [key.tobytes() for key in found]


def _without_nan(batch: Batch) -> Batch:
    missing = np.isnan(batch.block)
    if not missing.any():
        return batch
    block = batch.block.copy()
    block[missing] = 0.0
    return replace(batch, block=block)
