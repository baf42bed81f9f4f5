"""Moments of rows with missing cells: one full statistic per class and pattern of missing cells.

    T = (T_kp),   T_kp = (W, Σw z_o, Σw z_o z_oᵀ)

The sums are over the rows of class k with values in exactly the columns o(p). They are sufficient
for the likelihood of the observed values, so EM needs only these sums. They can be merged,
subtracted and split into folds. A pattern without rows is zero.
Reference: Little & Rubin (2002), Statistical Analysis with Missing Data, §7.2, §11.2.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from verosim.axes import Axes, Groups
from verosim.axes.groups import as_labels
from verosim.axes.state_checks import check_whole, require
from verosim.data import Batch
from verosim.data.batch import rows_per_block
from verosim.stats.cohorts import (
    Cohort,
    check_budget,
    complete_axes,
    packed,
    patterns_in,
    unpacked,
    with_cohorts,
    without_nan,
)
from verosim.stats.moments import Moments
from verosim.stats.pivots import choose_pivots
from verosim.stats.state import restorable
from verosim.stats.statistic import Statistic, unlike


@restorable
class Patterns(Statistic):
    """Full moments by class and pattern of missing cells.

    `parts` has one group per cohort. The columns in which a cohort has no values have zero sums
    and no pivot. Each class always has a cohort of complete rows, even without rows. Its pivots
    are the pivots of the class.
    """

    def __init__(self, axes: Axes, parts: Moments | None = None) -> None:
        self.axes = axes
        self.parts = Moments(complete_axes(axes), layout="full") if parts is None else parts
        self._known: tuple[Groups, np.ndarray, np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, statistic: Any) -> Any:
        """Full moments as a statistic of one pattern that shares the arrays; other statistics are
        returned unchanged."""
        if not isinstance(statistic, Moments) or statistic.layout != "full":
            return statistic
        axes = statistic.axes
        return cls(axes, statistic.like(complete_axes(axes), statistic.arrays, statistic.lows))

    @property
    def size(self) -> int:
        return self.parts.size

    @property
    def complete(self) -> Moments | None:
        """The moments of the complete rows; None if there are rows with missing cells."""
        at = self.complete_at
        rest = np.ones(len(self.owner), dtype=bool)
        rest[at] = False
        if self.parts.rows[rest].any():
            return None
        if np.array_equal(at, np.arange(len(rest))):
            return self.parts.like(self.axes, self.parts.arrays, self.parts.lows)
        return self.parts.mapped(self.axes, lambda field, array: array[at])

    @property
    def has_scatter(self) -> bool:
        return self.complete is not None

    # Cohorts -------------------------------------------------------------------------------

    def _index(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        groups = self.parts.axes.groups
        if self._known is None or self._known[0] is not groups:
            cohorts = groups.classes.tolist()
            place = {label: c for c, label in enumerate(self.axes.groups.classes.tolist())}
            owner = np.array([place[cohort.label] for cohort in cohorts], dtype=np.intp)
            shown = unpacked(b"".join(c.shown for c in cohorts), len(self.axes.columns))
            complete = np.empty(len(place), dtype=np.intp)
            whole = np.flatnonzero(shown.all(axis=1))
            complete[owner[whole]] = whole
            self._known = groups, owner, shown, complete
        return self._known[1:]

    @property
    def owner(self) -> np.ndarray:
        """(cohorts,) the class number of each cohort."""
        return self._index()[0]

    @property
    def shown(self) -> np.ndarray:
        """(cohorts, d) bool: the columns in which each cohort has values."""
        return self._index()[1]

    @property
    def complete_at(self) -> np.ndarray:
        """(C,) the number of the cohort with the complete rows of each class."""
        return self._index()[2]

    def _on(self, axes: Axes, parts: Moments) -> Self:
        """A statistic on these axes, with a cohort of complete rows for each class."""
        needed = complete_axes(axes).groups.classes.tolist()
        return type(self)(axes, with_cohorts(parts, needed))

    @property
    def rows(self) -> np.ndarray:
        return self._by_class(self.parts.rows)

    @property
    def weight(self) -> np.ndarray:
        return self._by_class(self.parts.weight)

    def _by_class(self, found: np.ndarray) -> np.ndarray:
        """(C, F) sums over the patterns."""
        out = np.zeros((self.axes.size("class"), found.shape[1]), dtype=found.dtype)
        np.add.at(out, self.owner, found)
        return out

    # Building ------------------------------------------------------------------------------

    def zero(self) -> Self:
        return type(self)(self.axes, self.parts.zero())

    def unplaced(self) -> Self:
        return type(self)(self.axes)

    def copy(self) -> Self:
        return type(self)(self.axes, self.parts.copy())

    # Adding rows ---------------------------------------------------------------------------

    def prepare(self, batch: Batch) -> None:
        """Set the pivots of the classes, also for classes without complete rows."""
        at = self.complete_at
        pivot = self.parts.arrays["pivot"][at]
        if np.isnan(pivot).any():
            choose_pivots(pivot, batch, self.axes.groups.folds)
            self.parts.arrays["pivot"][at] = pivot

    def absorb(self, batch: Batch) -> None:
        if not len(batch):
            return
        self.prepare(batch)
        folds = self.axes.groups.folds
        step = rows_per_block(batch.block.shape[1])
        incomplete, which, patterns = patterns_in(batch.block, step)
        if len(incomplete) or not np.array_equal(self.complete_at, np.arange(len(self.owner))):
            classes, fold = np.divmod(batch.groups, folds)
            places = self._places(classes[incomplete], which, patterns)
            groups = self.complete_at[classes]
            groups[incomplete] = places
            groups = (groups * folds + fold).astype(np.int32)
            batch = replace(batch, groups=groups)
        shown, parts = self.shown, self.parts
        pivot = parts.arrays["pivot"]
        pivot = np.where(np.isnan(pivot), pivot[self.complete_at][self.owner], pivot)
        # The pivot and the cell are both zero where a value is missing, so the cell adds zero.
        filled = parts.like(
            parts.axes, {**parts.arrays, "pivot": np.where(shown, pivot, 0.0)}, parts.lows
        )
        if not len(incomplete):
            filled.absorb(batch)
        else:
            for start in range(0, len(batch), step):
                filled.absorb(without_nan(batch.cut(start, start + step)))
        parts.arrays["pivot"] = np.where(shown, filled.arrays["pivot"], np.nan)

    def _places(self, classes: np.ndarray, which: np.ndarray, patterns: list[bytes]) -> np.ndarray:
        """(n,) the cohort of each row with missing cells; new cohorts are added."""
        met = np.zeros((self.axes.size("class"), len(patterns)), dtype=bool)  # (C, patterns)
        met[classes, which] = True
        labels = self.axes.groups.classes.tolist()
        pairs = np.argwhere(met)
        cohorts = [Cohort(labels[c], patterns[p]) for c, p in pairs.tolist()]
        self.parts = with_cohorts(self.parts, cohorts)
        place = {cohort: i for i, cohort in enumerate(self.parts.axes.groups.classes.tolist())}
        table = np.zeros(met.shape, dtype=np.intp)
        table[pairs[:, 0], pairs[:, 1]] = [place[cohort] for cohort in cohorts]
        return table[classes, which]

    # Algebra -------------------------------------------------------------------------------

    def align(self, axes: Axes) -> Self:
        return self if axes is self.axes else self._on(axes, self.parts)

    def __add__(self, other: Any) -> Self:
        return self._combined(other, operator.add)

    def __sub__(self, other: Any) -> Self:
        return self._combined(other, operator.sub)

    def __iadd__(self, other: Any) -> Self:
        return self._combined(other, operator.iadd)

    def _combined(self, other: Any, combine: Callable[[Moments, Moments], Moments]) -> Self:
        other = type(self).of(other)
        if not isinstance(other, Patterns):
            raise unlike(self, other)
        axes = self.axes.union(other.axes)
        both = [*self.parts.axes.groups.classes.tolist(), *other.parts.axes.groups.classes.tolist()]
        if len(both) > len(axes.groups.classes) * 2:
            check_budget(set(both), axes.groups.folds, len(axes.columns))
        return type(self)(axes, combine(self.parts, other.parts))

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.axes, self.parts * factor)

    def with_class_weights(self, factors: np.ndarray) -> Self:
        return type(self)(self.axes, self.parts.with_class_weights(factors[self.owner]))

    def recentred(self) -> Self:
        return type(self)(self.axes, self.parts.recentred())

    def available(self) -> Moments:
        """Diagonal moments of all cells with a value, about one pivot per class and column."""
        out = Moments(self.axes, layout="diagonal")
        parts, owner, shown = self.parts, self.owner, self.shown
        arrays, mine = parts.arrays, parts.arrays["pivot"]
        pivot = out.arrays["pivot"]
        order = np.argsort(parts.weight.sum(axis=1), kind="stable")
        i, j = np.nonzero(~np.isnan(mine[order]))
        # The cohort with most weight is last, so its pivot is kept.
        pivot[owner[order[i]], j] = mine[order[i], j]
        W = np.where(shown[:, None], parts.weight[..., None], 0.0)  # (cohorts, F, d)
        step = np.nan_to_num(mine - pivot[owner])[:, None]  # old pivot − new pivot, 0 where unset
        sums = arrays["sum"] + parts.lows["sum"]
        square = parts.squares() + (2 * sums + W * step) * step
        for name, found in (
            ("rows", parts.rows), ("weight", parts.weight), ("cells", W),
            ("sum", sums + W * step), ("square", square), ("absorbed", arrays["absorbed"]),
        ):  # fmt: skip
            np.add.at(out.arrays[name], owner, found)
        out.note_peaks()
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

    # Removing ------------------------------------------------------------------------------

    def without(self, part: Any) -> Self:
        part = type(self).of(part)
        axes = self.axes.union(part.axes)
        before = self.align(axes).rows
        rest = self._on(axes, self.parts.without(part.parts))
        gone = (before > 0).any(axis=1) & (rest.rows == 0).all(axis=1)
        return rest.keep_classes(~gone) if gone.any() else rest

    def prune(self) -> Self:
        kept = (self.rows != 0).any(axis=1)
        return self._on(self.axes, self.parts.prune()).keep_classes(kept)

    def keep_classes(self, kept: np.ndarray) -> Self:
        """Keep only some classes; `kept` (C,) is bool."""
        axes = self.axes.with_groups(self.axes.groups.keep(kept))
        return self._on(axes, self.parts.keep("class", kept[self.owner]))

    # Identity ------------------------------------------------------------------------------

    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.parts.fingerprint().encode())
        digest.update(repr(self.axes.groups.classes.tolist()).encode())
        digest.update(self.shown.tobytes())
        return digest.hexdigest()

    def state(self) -> dict[str, Any]:
        """Plain data. Cohorts are numbered; `owner` has their classes, `shown` their columns."""
        parts, owner = self.parts, self.owner
        numbered = Groups(np.arange(len(owner)), parts.axes.groups.folds)
        return {
            "kind": type(self).__name__,
            "axes": self.axes.state(),
            "owner": owner,
            "shown": self.shown,
            "parts": parts.like(parts.axes.with_groups(numbered), parts.arrays, parts.lows).state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        axes, parts = Axes.from_state(state["axes"]), Moments.from_state(state["parts"])
        owner, seen = np.asarray(state["owner"], dtype=np.intp), np.asarray(state["shown"])
        C, d = axes.size("class"), axes.size("column")
        check_whole(owner, 0, C - 1, "a pattern has no class")
        require(seen.dtype == bool and seen.shape == (len(owner), d), "its patterns are wrong")
        require(len(owner) == parts.axes.size("class"), "its patterns differ in number")
        require(parts.layout == "full" and parts.axes.columns.size == d, "its sums are wrong")
        require(parts.axes.groups.folds == axes.groups.folds, "its folds differ in number")
        whole = np.sort(owner[seen.all(axis=1)])
        require(np.array_equal(whole, np.arange(C)), "a class has no pattern without missing cells")
        distinct = np.unique(np.column_stack([owner, packed(seen)]), axis=0)
        require(len(distinct) == len(owner), "a pattern occurs twice")
        labels = axes.groups.classes[owner].tolist()
        shown = packed(seen)
        cohorts = [Cohort(label, bits.tobytes()) for label, bits in zip(labels, shown, strict=True)]
        groups = Groups(as_labels(cohorts, object), axes.groups.folds)
        return cls(axes, parts.like(parts.axes.with_groups(groups), parts.arrays, parts.lows))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({int(self.parts.rows.sum())} rows, "
            f"{self.axes.size('class')} classes, {len(self.axes.columns)} columns, "
            f"{len(np.unique(self.shown, axis=0))} patterns)"
        )
