"""The smallest change of one column that leads to a class.

Between two jumps of the scores, the difference of the scores of two classes is a quadratic function
of one number, for Gaussian, Poisson, linear and constant scores:

    δ_k(x) − δ_l(x) = a + b x + c x²

Its roots are the places where the decision can change. Three points of a piece give the function,
and further points check it. Where it is not quadratic, the piece is divided, and the result is
marked as not proven. Whole numbers and listed values are tried one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from verosim.insight.column_values import ListedValues, NumberValues, PossibleValues
from verosim.insight.single_row import SingleRow, class_scores

BEYOND = 1e-6  # standard deviations from the boundary to a result
FARTHEST_CHANGE = 1e4  # standard deviations: changes that are larger are not considered
SCANNED = 12.0  # standard deviations that are searched if the scores are not quadratic
PARTS_OF_PIECE = 96
BISECTIONS = 50
NODES = (1 - np.cos(np.pi * (np.arange(17) + 0.5) / 17)) / 2  # of a piece, from 0 to 1
FITTED = [0, 8, 16]  # the nodes that give the quadratic function; the others check it


@dataclass(frozen=True)
class Change:
    """A value of one column that leads to the class; a cost of ∞ if there is none."""

    value: Any
    cost: float
    exact: bool = True  # whether no smaller change of this column leads to the class

    @property
    def found(self) -> bool:
        """Whether some value leads to the class."""
        return self.cost < np.inf


@dataclass(frozen=True, eq=False)
class Goal:
    """The class that a change must lead to, or must lead away from."""

    number: int
    away: bool = False  # any class but this one

    def reached(self, log_p: np.ndarray) -> np.ndarray:
        """(n,) bool: whether rows with log posteriors (n, C) have the class."""
        found = class_scores(log_p).argmax(axis=1) == self.number
        return ~found if self.away else found


def nearest_change(row: SingleRow, values: PossibleValues, goal: Goal) -> Change:
    """The smallest change of one column that reaches the goal."""
    if isinstance(values, ListedValues):
        return _nearest_listed(row, values, goal)
    every = values.every
    if every is not None:
        return _nearest_whole(row, values, goal, every)
    return _nearest_number(row, values, goal)


def _scores(row: SingleRow, column: str) -> Callable[[np.ndarray], np.ndarray]:
    """The log posteriors (n, C) of the row with numbers (n,) in a column."""
    return lambda x: row.log_posterior({column: x.tolist()}, len(x))


def _nearest_listed(row: SingleRow, values: ListedValues, goal: Goal) -> Change:
    """All values cost the same, so the one with the highest posterior of the goal is used."""
    log_p = row.log_posterior({values.column: list(values.values)}, len(values.values))
    cost = np.array([values.cost(value) for value in values.values])
    posterior = np.exp(class_scores(log_p)[:, goal.number])
    order = np.lexsort([posterior if goal.away else -posterior, cost])
    for i in order[goal.reached(log_p)[order]]:
        return Change(values.values[i], float(cost[i]))
    return Change(None, np.inf)


def _nearest_whole(row: SingleRow, values: NumberValues, goal: Goal, every: np.ndarray) -> Change:
    if not len(every):
        return Change(None, np.inf)
    good = every[goal.reached(_scores(row, values.column)(every))]
    if not len(good):
        return Change(None, np.inf)
    value = float(good[np.abs(good - values.start).argmin()])
    return Change(values.plain(value), values.cost(value))


# Numbers -----------------------------------------------------------------------------------------


def _nearest_number(row: SingleRow, values: NumberValues, goal: Goal) -> Change:
    """The nearest end of an interval in which the goal is reached, and a little more."""
    scores = _scores(row, values.column)
    pieces = _pieces(values)
    exact = values.smooth
    cuts: list[float] = []
    nodes = np.concatenate([low + NODES * (high - low) for low, high in pieces])
    for (low, high), log_p in zip(pieces, np.split(scores(nodes), len(pieces)), strict=True):
        roots, sure = _cuts(scores, goal, low, high, log_p)
        exact = exact and sure
        cuts += [low, *roots, high]
    places = np.unique(cuts)
    middle = (places[1:] + places[:-1]) / 2
    if not len(middle):  # one possible value
        middle = places
    reached = goal.reached(scores(middle))
    best = Change(None, np.inf, exact)
    nearest = np.inf
    for i in np.flatnonzero(reached):
        low, high = (places[i], places[i + 1]) if len(places) > 1 else (places[0], places[0])
        found = _inside(scores, values, goal, float(low), float(high), float(middle[i]))
        if found is not None and abs(found - values.start) < nearest:
            nearest = abs(found - values.start)
            best = Change(values.plain(found), values.cost(found), exact)
    return best


def _inside(
    scores: Callable[[np.ndarray], np.ndarray], values: NumberValues, goal: Goal,
    low: float, high: float, middle: float,
) -> float | None:  # fmt: skip
    """The value of an interval that is nearest to the start, a little inside of its end."""
    start = values.start
    if low < start < high:
        end = start
    else:
        end = low if start <= low else high
        step = min(BEYOND * values.scale, (high - low) / 2)
        end = end + step if end == low else end - step
    tries = [end]
    if values.whole:
        whole = np.floor(end) if end > start else np.ceil(end)
        tries = [one for one in whole + np.arange(-2, 3) if low <= one <= high]
    else:
        tries += [end + share * (middle - end) for share in (1e-9, 1e-6, 1e-3, 1.0)]
    tries = sorted(tries, key=lambda one: abs(one - start))
    for value in tries:
        if values.low <= value <= values.high and bool(goal.reached(scores(np.array([value])))[0]):
            return float(value)
    return None


def _pieces(values: NumberValues) -> list[tuple[float, float]]:
    """The intervals between the jumps, inside of the limits."""
    far = (FARTHEST_CHANGE if values.smooth else SCANNED) * values.scale
    known = (values.start, *values.jumps)
    low, high = max(values.low, min(known) - far), min(values.high, max(known) + far)
    inner = [jump for jump in values.jumps if low < jump < high]
    # Quadratic functions are found from points near the data, so far pieces are cut there too.
    near = [values.start + side * SCANNED * values.scale for side in (-1, 1)]
    inner = sorted({*inner, *(place for place in near if low < place < high)})
    edges = [low, *inner, high]
    return list(pairwise(edges)) if high > low else [(low, high)]


def _cuts(
    scores: Callable[[np.ndarray], np.ndarray], goal: Goal, low: float, high: float,
    log_p: np.ndarray,
) -> tuple[list[float], bool]:  # fmt: skip
    """The places in a piece where the decision can change, and whether these are all.

    `log_p` (17, C) are the log posteriors at the nodes of the piece.
    """
    if not high > low:
        return [], True
    with np.errstate(invalid="ignore"):
        margin = np.delete(log_p[:, [goal.number]] - log_p, goal.number, axis=1)  # (17, C − 1)
    if np.array_equal(margin, np.broadcast_to(margin[0], margin.shape), equal_nan=True):
        return [], True
    if np.isfinite(margin).all():
        z = 2 * NODES - 1  # the piece from −1 to 1
        fit = np.linalg.solve(
            np.vander(z[FITTED], 3, increasing=True), margin[FITTED]
        )  # (3, C − 1)
        error = np.abs(np.vander(z, 3, increasing=True) @ fit - margin).max(axis=0)
        if (error <= 1e-9 * (1 + np.abs(margin).max(axis=0))).all():
            roots = [_polished(scores, goal, k, low, high, root)
                     for k, one in enumerate(fit.T) for root in _roots(one)]  # fmt: skip
            return [root for root in roots if low < root < high], True
    return _scanned(scores, goal, low, high), False


def _roots(quadratic: np.ndarray) -> list[float]:
    """The roots in (−1, 1) of a + b z + c z², without cancellation."""
    a, b, c = quadratic.tolist()
    inside = b * b - 4 * a * c
    if inside < 0:
        return []
    q = -(b + np.copysign(np.sqrt(inside), b)) / 2
    found = ([q / c] if c else []) + ([a / q] if q else [])
    return [z for z in found if -1 < z < 1]


def _polished(
    scores: Callable[[np.ndarray], np.ndarray],
    goal: Goal,
    k: int,
    low: float,
    high: float,
    z: float,
) -> float:
    """The root near z in (−1, 1), by two secant steps on the scores themselves."""

    def margin(x: float) -> float:
        log_p = scores(np.array([x]))
        return float(np.delete(log_p[:, [goal.number]] - log_p, goal.number, axis=1)[0, k])

    x = low + (z + 1) / 2 * (high - low)
    other = x + 1e-6 * (high - low)
    at, at_other = margin(x), margin(other)
    for _ in range(2):
        if at in (0.0, at_other) or not np.isfinite(at - at_other):
            break
        step = at * (other - x) / (at_other - at)
        if abs(step) > 1e-3 * (high - low):  # two roots that nearly meet
            break
        other, at_other = x, at
        x = x - step
        at = margin(x)
    return x


def _scanned(
    scores: Callable[[np.ndarray], np.ndarray], goal: Goal, low: float, high: float
) -> list[float]:
    """The places where the decision changes between neighbours of a grid, by bisection."""
    x = np.linspace(low, high, PARTS_OF_PIECE + 1)
    x[0], x[-1] = np.nextafter(low, high), np.nextafter(high, low)
    reached = goal.reached(scores(x))
    at = np.flatnonzero(reached[1:] != reached[:-1])
    left, right, first = x[at], x[at + 1], reached[at]
    for _ in range(BISECTIONS if len(at) else 0):
        middle = (left + right) / 2
        same = goal.reached(scores(middle)) == first
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    return [*((left + right) / 2).tolist()]
