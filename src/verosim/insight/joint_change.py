"""A small change of several columns that leads to a class, by a search.

The gains of single changes are added, as if columns were independent. Of all sums, those are kept
that have no other sum with a lower cost and a higher gain. The model checks the cheapest of them.
Then each column is changed back as far as possible, and pairs of numbers are balanced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from verosim.insight.column_values import ListedValues, NumberValues, PossibleValues
from verosim.insight.nearest_change import BEYOND, Goal, nearest_change
from verosim.insight.single_row import SingleRow, class_scores

MOST_SUMS = 400  # sums of changes that are kept after each column
MOST_CHECKED = 512  # sums that the model checks
STEPS = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 4, 6])  # deviations
BALANCES = (0.25, 0.05, 0.01)  # steps by which pairs of numbers are balanced
MOST_REDUCTIONS = 6


@dataclass(frozen=True, eq=False)
class _Sum:
    """Values of some columns, with the sum of their costs and of their gains."""

    cost: float
    gain: float
    cells: tuple[tuple[str, Any], ...]


def joint_change(
    row: SingleRow, columns: Sequence[PossibleValues], goal: Goal, now: int
) -> dict[str, Any] | None:
    """Values of some columns with which the goal is reached; None if none were found."""
    if goal.away:
        log_p = row.log_posterior({})[0]
        others = [k for k in np.argsort(-class_scores(log_p)) if k != now]
        found = [joint_change(row, columns, Goal(int(k)), now) for k in others]
        some = [one for one in found if one is not None]
        return min(some, key=lambda one: change_cost(columns, one), default=None)
    tried = [_climbed(row, columns, goal, now), _added(row, columns, goal, now)]
    better = [_reduced(row, columns, goal, one) for one in tried if one is not None]
    return min(better, key=lambda one: change_cost(columns, one), default=None)


def change_cost(columns: Sequence[PossibleValues], cells: Mapping[str, Any]) -> float:
    """The sum of the costs of the changed columns."""
    known = {one.column: one for one in columns}
    return float(sum(known[name].cost(value) for name, value in cells.items()))


def _moves(values: PossibleValues) -> list[Any]:
    """The values of a column that are tried."""
    if isinstance(values, ListedValues):
        return [value for value in values.values if value != values.now]
    start, scale = values.start, values.scale
    places = np.concatenate([start + STEPS * scale, start - STEPS * scale])
    step = BEYOND * scale
    places = np.concatenate([
        places, *([jump - step, jump + step] for jump in values.jumps), [values.low, values.high],
    ])  # fmt: skip
    if values.whole:
        places = np.concatenate([np.floor(places[np.isfinite(places)]),
                                 np.ceil(places[np.isfinite(places)])])  # fmt: skip
    kept = np.isfinite(places) & (places >= values.low) & (places <= values.high)
    return [values.plain(x) for x in np.unique(places[kept]).tolist() if x != values.now]


def _gains(
    row: SingleRow, columns: Sequence[PossibleValues], goal: Goal, against: int
) -> list[_Sum]:
    """The gain of each change of one column in the log-odds of the goal and another class."""
    pairs = [(one, value) for one in columns for value in _moves(one)]
    if not pairs:
        return []
    base = row.log_posterior({})[0]
    found = []
    for one in columns:
        values = _moves(one)
        if not values:
            continue
        log_p = row.log_posterior({one.column: values}, len(values))
        with np.errstate(invalid="ignore"):
            gain = (log_p[:, goal.number] - log_p[:, against]) - (base[goal.number] - base[against])
        for value, more in zip(values, np.nan_to_num(gain, nan=0.0).tolist(), strict=True):
            if more > 0:
                found.append(_Sum(one.cost(value), more, ((one.column, value),)))
    return found


def _added(
    row: SingleRow, columns: Sequence[PossibleValues], goal: Goal, now: int
) -> dict[str, Any] | None:
    """The cheapest sum of changes that reaches the goal, by the sums of the gains."""
    base = row.log_posterior({})[0]
    need = float(base[now] - base[goal.number])
    single = _gains(row, columns, goal, now)
    kept = [_Sum(0.0, 0.0, ())]
    for one in columns:
        own = [move for move in single if move.cells[0][0] == one.column]
        sums = kept + [
            _Sum(a.cost + b.cost, min(a.gain + b.gain, 2 * need + 1), a.cells + b.cells)
            for a in kept for b in own
        ]  # fmt: skip
        kept = _best_sums(sums)
    near = [one for one in kept if one.cells and one.gain >= 0.7 * need][:MOST_CHECKED]
    if not near:
        return None
    changed = {name for one in near for name, _ in one.cells}
    table = {name: [dict(one.cells).get(name, row.cells[name]) for one in near] for name in changed}
    reached = goal.reached(row.log_posterior(table, len(near)))
    return dict(near[int(reached.argmax())].cells) if reached.any() else None


def _best_sums(sums: list[_Sum]) -> list[_Sum]:
    """The sums for which no other sum costs less and gains more, some of them if they are many."""
    out: list[_Sum] = []
    for one in sorted(sums, key=lambda one: (one.cost, -one.gain)):
        if not out or one.gain > out[-1].gain:
            out.append(one)
    if len(out) <= MOST_SUMS:
        return out
    return [out[i] for i in np.linspace(0, len(out) - 1, MOST_SUMS).round().astype(int)]


def _climbed(
    row: SingleRow, columns: Sequence[PossibleValues], goal: Goal, now: int
) -> dict[str, Any] | None:
    """Change one column after the other, each time by the largest gain per cost."""
    cells: dict[str, Any] = {}
    for _ in columns:
        free = [one for one in columns if one.column not in cells]
        here = row.with_cells(cells)
        ends = [nearest_change(here, one, goal) for one in free]
        done = [(end.cost, one.column, end.value)
                for end, one in zip(ends, free, strict=True) if end.found]  # fmt: skip
        if done:
            _, name, value = min(done, key=lambda one: one[0])
            return {**cells, name: value}
        log_p = class_scores(here.log_posterior({}))[0]
        log_p[goal.number] = -np.inf
        single = _gains(here, free, goal, int(log_p.argmax()))
        if not single:
            return None
        best = max(single, key=lambda one: one.gain / max(one.cost, 0.05))
        cells.update(best.cells)
    return None


def _reduced(
    row: SingleRow, columns: Sequence[PossibleValues], goal: Goal, cells: dict[str, Any]
) -> dict[str, Any]:
    """Change columns back as far as the goal allows, until nothing becomes cheaper."""
    known = {one.column: one for one in columns}
    for _ in range(MOST_REDUCTIONS):
        before = change_cost(columns, cells)
        for name in sorted(cells, key=lambda name: -known[name].cost(cells[name])):
            cells = _solved(row, known[name], goal, cells)
        cells = _balanced(row, columns, goal, cells)
        if change_cost(columns, cells) > before - 1e-4:
            break
    return cells


def _solved(
    row: SingleRow, values: PossibleValues, goal: Goal, cells: dict[str, Any]
) -> dict[str, Any]:
    """The smallest change of one column, given those of the others."""
    others = {name: value for name, value in cells.items() if name != values.column}
    here = row.with_cells(others)
    if bool(goal.reached(here.log_posterior({}))[0]):
        return others
    end = nearest_change(here, values, goal)
    if not end.found or end.cost > values.cost(cells.get(values.column, np.inf)) - 1e-12:
        return cells
    return {**others, values.column: end.value}


def _balanced(
    row: SingleRow, columns: Sequence[PossibleValues], goal: Goal, cells: dict[str, Any]
) -> dict[str, Any]:
    """Change one number less and another one more, as long as the sum of the costs falls."""
    numbers = [one for one in columns
               if isinstance(one, NumberValues) and not np.isnan(one.now)]  # fmt: skip
    for (one, other), step in ((p, s) for s in BALANCES for p in permutations(numbers, 2)):
        if one.column not in cells or one.whole:
            continue
        while one.column in cells:
            value = cells[one.column]
            less = one.now + np.sign(value - one.now) * max(
                abs(value - one.now) - step * one.scale, 0.0
            )
            trial = {**cells, one.column: one.plain(less)}
            if less == one.now:
                del trial[one.column]
            trial.pop(other.column, None)
            end = nearest_change(row.with_cells(trial), other, goal)
            if not end.found:
                break
            trial[other.column] = end.value
            if change_cost(columns, trial) > change_cost(columns, cells) - 1e-9:
                break
            cells = trial
    return cells
