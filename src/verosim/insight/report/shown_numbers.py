"""Which numbers a page may show, if they come from the values of rows: one rule for all sections.

    at least 5 rows are below a number, above it, and between it and the next one
    a number is the roundest one that at most 5 rows separate from it

The rule is that of the names of categories. It holds for edges of bins, quantiles and limits. A
mean is shown if at least 5 rows have it. The sums of a model show how many rows are between edges.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from verosim.axes import Bins, CellCodes, JointBins
from verosim.kinds.design_readings import CLIP
from verosim.models.state import State

LEAST_ROWS = 5  # on each side of a number, and of a value that is named
PLENTY = 25  # rows: so many that 5 are left if the numbers on both sides are rounded
MOST_SKEW = 10.0  # between the distances of 5 rows on both sides of a number
NEVER = sys.float_info.max  # an edge that no number reaches


# The rule ----------------------------------------------------------------------------------------


def roundest(low: float, high: float, near: float) -> float:
    """The number with the fewest digits between two limits; of several, the one next to `near`."""
    power = int(np.floor(np.log10(high - low)))
    while True:
        at = _rounded(near, power)
        for step in (0, 1, -1):
            found = _rounded(at + step * 10.0**power, power)
            if low < found < high:
                return found
        power -= 1
        if 10.0**power < np.spacing(max(abs(low), abs(high))):
            return near


def _rounded(x: float, power: int) -> float:
    """A multiple of 10^power as its shortest decimal number."""
    unit = 10.0 ** abs(power)
    return float(np.rint(x * unit) / unit if power < 0 else np.rint(x / unit) * unit)


def _last_digit(x: float) -> int:
    """The power of ten of the last digit of a number: −1 for 23.5."""
    digits, _, power = np.format_float_scientific(x).partition("e")
    return int(power) - len(digits.partition(".")[2].rstrip("0"))


@dataclass(frozen=True, eq=False)
class RowsBelow:
    """How many rows of a column are below some points; between points the rows are even."""

    points: np.ndarray  # (P,) increasing
    rows: np.ndarray  # (P,) not decreasing
    total: float

    @classmethod
    def of_bins(cls, edges: np.ndarray, rows: np.ndarray) -> RowsBelow:
        """From edges (B + 1,) of bins and the rows (B,) of each."""
        below = np.concatenate([[0.0], np.cumsum(rows)])
        return cls(np.asarray(edges, dtype=np.float64), below, float(below[-1]))

    def __call__(self, x: Any) -> Any:
        return np.interp(x, self.points, self.rows)

    def shown(self, numbers: Sequence[float]) -> np.ndarray:
        """(E,) the rounded numbers, which increase; NaN for each that is not shown."""
        out, last = np.full(len(numbers), np.nan), -np.inf
        for i, x in enumerate(numbers):
            if not (self._has_rows(last, x) and self._has_rows(x, np.inf)):
                continue
            at = float(self(x))
            ends = np.interp([at - LEAST_ROWS, at + LEAST_ROWS], self.rows, self.points)
            below, above = x - float(ends[0]), float(ends[1]) - x
            reach = min(below, above)
            # The width of an outer bin is that to a single row, which may be far from the others.
            below = reach if x <= self.points[1] else min(below, MOST_SKEW * reach)
            above = reach if x >= self.points[-2] else min(above, MOST_SKEW * reach)
            low, high = max(x - below, last), x + above
            if not low < x < high:
                continue
            found = self._bound_between(low, high, x)
            least = LEAST_ROWS if found == x else 2 * LEAST_ROWS
            if self._has_rows(last, found, least) and self._has_rows(found, np.inf, least):
                out[i] = last = found
        return out

    def _bound_between(self, low: float, high: float, near: float) -> float:
        """A round number between two limits: one of the points if one has few digits.

        A point moves whole bins, so the rows on its sides are known. It may have one digit more.
        """
        found = roundest(low, high, near)
        inside = self.points[(low < self.points) & (self.points < high)]
        few = [one for one in inside.tolist() if _last_digit(one) >= _last_digit(found) - 1]
        return min(few, key=lambda one: abs(one - near), default=found)

    def _has_rows(self, low: float, high: float, least: int = LEAST_ROWS) -> bool:
        """Whether enough rows are between two limits: in whole bins, or many in parts of them."""
        first, last = np.searchsorted(self.points, [low, high], side="left")
        last = min(int(last), len(self.points) - 1)
        last -= bool(self.points[last] > high)
        start = self.rows[first] if np.isfinite(low) and first < len(self.rows) else 0.0
        end = self.rows[last] if np.isfinite(high) else self.total
        if end - start >= least:
            return True
        return bool(self(high) - self(low) >= PLENTY)


@dataclass(frozen=True, eq=False)
class ShownBins:
    """The bins of a column as a page has them: whole groups of neighbouring bins of the model.

    A page that keeps the numbers of the bins gives all rows of a group to its bin with the most
    rows. The other bins of the group are empty.
    """

    inside: np.ndarray  # (G − 1,) the cuts that are shown, which increase
    first: np.ndarray  # (G,) the first bin of each group
    heaviest: np.ndarray  # (G,) the bin with the most rows
    part: np.ndarray  # (G,) its part of the rows of its group
    bins: int  # B, those of the model

    @classmethod
    def of(cls, cuts: Sequence[float], below: RowsBelow) -> ShownBins:
        """The bins between those cuts (B − 1,) that may be shown."""
        shown = below.shown(cuts)
        kept = np.flatnonzero(~np.isnan(shown))
        first, bins = np.concatenate([[0], kept + 1]), len(cuts) + 1
        rows = np.diff(np.concatenate([[0.0], below(np.asarray(cuts)), [below.total]]))
        groups = list(pairwise([*first.tolist(), bins]))
        heaviest = np.array([a + int(rows[a:b].argmax()) for a, b in groups])
        total = np.add.reduceat(rows, first)
        part = np.divide(rows[heaviest], total, out=np.ones(len(first)), where=total > 0)
        return cls(shown[kept], first, heaviest, part, bins)

    @property
    def cuts(self) -> np.ndarray:
        """(B − 1,) the cuts in place of those of the model. Bins that are not shown are empty."""
        ends = np.concatenate([[-NEVER], self.inside, [NEVER]])
        group = np.searchsorted(self.heaviest, np.arange(1, self.bins), side="left")
        return np.asarray(ends[group])

    @property
    def edges(self) -> np.ndarray:
        """(G + 1,) the cuts with outer ones. The outer edges of a model are values of rows."""
        if not len(self.inside):
            return np.array([-0.5, 0.5])
        gap = float(np.median(np.diff(self.inside))) if len(self.inside) > 1 else 1.0
        return np.concatenate([[self.inside[0] - gap], self.inside, [self.inside[-1] + gap]])

    @property
    def widths(self) -> np.ndarray:
        """(B,) the widths of the bins, as far as the edges show them; 1 for those that are empty.

        The heaviest bin of a group has the part of the width that it has of the rows.
        """
        out = np.ones(self.bins)
        out[self.heaviest] = np.diff(self.edges) * self.part
        return out

    def summed(self, values: np.ndarray) -> np.ndarray:
        """(…, G) the sums of values (…, B) of the bins of each group."""
        return np.asarray(np.add.reduceat(values, self.first, axis=-1))


def different_cuts(cuts: np.ndarray) -> np.ndarray:
    """The cuts of a page, without those that leave a bin empty."""
    return np.unique(cuts[np.abs(cuts) < NEVER])


def shown_quantiles(quantiles: Sequence[float], rows: float) -> np.ndarray:
    """Quantiles of the same distribution with even levels. Those between shown ones are linear."""
    known = np.asarray(quantiles, dtype=np.float64)
    values, first = np.unique(known, return_index=True)
    ends = np.append(first[1:], len(known)) - 1
    level = (first + ends) / 2 / max(len(known) - 1, 1)
    if len(values) == 1:
        return np.full(len(known), shown_moments(float(values[0]), 0.0)[0])
    points = np.concatenate([[2 * values[0] - values[1]], values, [2 * values[-1] - values[-2]]])
    below = RowsBelow(points, rows * np.concatenate([[0.0], level, [1.0]]), rows)
    shown = below.shown(values.tolist())
    at = np.flatnonzero(~np.isnan(shown))
    grid = np.linspace(0.0, 1.0, 2 * len(known) - 1)  # it has the levels of equal quantiles too
    if len(at) < 2:
        mean, deviation = shown_moments(float(known.mean()), float(known.std()))
        return np.asarray(mean + deviation * ndtri(np.clip(grid, CLIP, 1 - CLIP)))
    level, shown = level[at], shown[at]
    out = np.interp(grid, level, shown)
    slopes = np.diff(shown) / np.diff(level)
    out += np.minimum(grid - level[0], 0.0) * slopes[0]
    out += np.maximum(grid - level[-1], 0.0) * slopes[-1]
    digits = 2 - int(np.floor(np.log10(np.diff(shown).min())))
    return np.array([_rounded(one, -digits) for one in out.tolist()])


def shown_moments(mean: float, deviation: float) -> tuple[float, float]:
    """A mean and a deviation of few rows: the roundest numbers of the same size."""
    reach = max(deviation, abs(mean)) / 2
    size = roundest(deviation / 2, 2 * deviation, deviation) if deviation > 0 else 0.0
    return roundest(mean - reach, mean + reach, mean) if reach else mean, size


def pooled_moments(
    mean: np.ndarray, squares: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The mean (d,) and the covariance (d, d) of the classes with at least 5 rows, as one.

    `mean` (C, d) and `squares` (C, d, d) are those of each class, and `rows` (C,) their rows. If
    no class has 5 rows, all classes count.
    """
    weight = np.where(rows >= LEAST_ROWS, rows, 0.0)
    weight = weight if weight.any() else np.maximum(rows, 1e-9)
    share = weight / weight.sum()
    centre = share @ mean
    away = mean - centre
    spread = squares + away[:, :, None] * away[:, None, :]
    out = np.einsum("c,cij->ij", share, spread)
    if rows.sum() < LEAST_ROWS:
        size = np.sqrt(out.diagonal())
        pairs = [shown_moments(*one) for one in zip(centre.tolist(), size.tolist(), strict=True)]
        centre, deviation = (np.array(one) for one in zip(*pairs, strict=True))
        out = np.diag(deviation**2)
    return centre, out


# From the sums -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowsOfNumbers:
    """What the sums of a model say about the rows behind the numbers of each column."""

    classes: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (C,) rows; empty: not known
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)  # (C,) rows with a value
    bins: Mapping[str, Sequence[RowsBelow]] = field(default_factory=dict)
    present: Mapping[str, float] = field(default_factory=dict)  # rows with a value, of a design

    @classmethod
    def of(cls, state: State | None) -> RowsOfNumbers:
        """From the sums of a model; without sums, nothing is known."""
        if state is None:
            return cls()
        classes = state.statistic.rows.sum(axis=1).astype(np.float64)
        columns: dict[str, np.ndarray] = {}
        bins: dict[str, list[RowsBelow]] = {}
        present: dict[str, float] = {}
        for leaf in state.statistic.leaves():
            for name, rows in _rows_with_numbers(leaf, len(classes)).items():
                columns[name] = np.minimum(rows, columns.get(name, np.inf))
            for name, below in _bins_of(leaf, state):
                bins.setdefault(name, []).append(below)
            sums = leaf.column_sums() if state.schema is not None and state.schema.design else None
            known = {} if sums is None else dict(zip(leaf.axes.columns, sums.tolist(), strict=True))
            for one in state.schema.design if state.schema is not None and known else ():
                gone = known.get(f"{one.column} is missing", 0.0)
                if gone and not counts_rows(leaf):
                    gone = float(classes.sum())  # any number of rows may be missing
                present[one.column] = float(classes.sum()) - gone
        return cls(classes, columns, bins, present)

    def with_values(self, column: str, classes: int) -> np.ndarray:
        """(C,) the rows of each class that have a value; many, if that is not known."""
        found = self.columns.get(column, self.classes)
        return found if len(found) == classes else np.full(classes, np.inf)

    def shown_bins(self, column: str, cuts: Sequence[float]) -> ShownBins:
        """The bins of a column between cuts (B − 1,) as the page shows them."""
        if not len(cuts):
            one = np.zeros(1, dtype=np.int64)
            return ShownBins(np.zeros(0), one, one, np.ones(1), 1)
        known = self.bins.get(column, ())
        below = next((one for one in known if np.isin(cuts, one.points).all()), None)
        if below is None:  # such as those of a twin: an even share of the rows
            edges = np.unique([cuts[0] - 1.0, *cuts, cuts[-1] + 1.0])
            bins = len(edges) - 1
            total = max(float(self.classes.sum()), 2.0 * LEAST_ROWS * bins)
            below = RowsBelow.of_bins(edges, np.full(bins, total / bins))
        return ShownBins.of(cuts, below)

    def quantiles(self, column: str, quantiles: Sequence[float]) -> tuple[float, ...]:
        """The quantiles of a column as the page shows them."""
        rows = self.present.get(column, float(self.classes.sum()))
        return tuple(shown_quantiles(quantiles, rows).tolist())


def counts_rows(leaf: Any) -> bool:
    """Whether all rows of a part of a statistic have the weight 1, so that its sums count them."""
    return bool((np.asarray(leaf.weight) == np.asarray(leaf.rows)).all())


def _rows_with_numbers(leaf: Any, classes: int) -> dict[str, np.ndarray]:
    """The rows (C,) of each class with a value, for each column of numbers."""
    whole = leaf.available() if hasattr(leaf, "available") else leaf
    cells = np.asarray(getattr(whole, "arrays", {}).get("cells", ()), dtype=np.float64)
    if cells.shape != (classes, whole.axes.groups.folds, len(whole.axes.columns)):
        return {}
    return dict(zip(whole.axes.columns, cells.sum(axis=1).T, strict=True))


def _bins_of(leaf: Any, state: State) -> list[tuple[str, RowsBelow]]:
    """The bins of the numbers in a part of a statistic, with their rows."""
    codes: Any = leaf.axes.codes
    names = tuple(leaf.axes.columns)
    if isinstance(codes, Bins | JointBins) and "cells" in getattr(leaf, "arrays", {}):
        rows = np.asarray(leaf.arrays["cells"], dtype=np.float64).sum(axis=0).ravel()
        if isinstance(codes, Bins):
            each = np.split(rows, codes.first[1:-1])
            pairs = list(zip(codes.edges, each, strict=True))
        else:
            places, edges = codes.cell_bins().T, codes.bins.edges
            pairs = [
                (one, np.bincount(place, rows, max(len(one) - 1, 1)))
                for one, place in zip(edges, places, strict=True)
            ]
        found = zip(names, pairs, strict=True)
        return [(name, RowsBelow.of_bins(*pair)) for name, pair in found if len(pair[0]) > 2]
    rows_of_cells = leaf.rows_with_cells()
    if rows_of_cells is None or state.schema is None:
        return []
    maps: CellCodes = leaf.codes if isinstance(leaf.codes, CellCodes) else leaf.codes.cells
    columns = {one.name: one for one in state.schema.cells if one.is_number and one.known > 1}
    out = []
    for j, name in enumerate(names):
        if name in columns:
            one = columns[name]
            code = maps.maps[j, : one.known]
            # Of a code, the sums have one number of rows, and each of its cells has an even share.
            rows = rows_of_cells[name][: one.known] / np.bincount(code)[code]
            out.append((one.columns[0], RowsBelow.of_bins(np.array(one.edges), rows)))
    return out
