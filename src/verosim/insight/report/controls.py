"""The controls of a nomogram: one per column that a program reads.

The range of a number and the values of a category are found in the program, so that every model
with a program has controls. A typical value is a mean or the most frequent value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import poisson

from verosim.axes.capped_categories import OTHER
from verosim.bayes.program import Program
from verosim.data.code_readings import BinReading, PlaceReading
from verosim.data.readings import CellReading
from verosim.densities.terms import (
    BinsTerm,
    GaussianTerm,
    LinearTerm,
    LookupTerm,
    PoissonTerm,
    PolynomialTerm,
    PresenceTerm,
    QuadraticTerm,
    Term,
)
from verosim.insight.report.inside import terms_inside
from verosim.insight.report.shown_numbers import different_cuts
from verosim.kinds.cell_names import SHOWN_MISSING
from verosim.kinds.design_readings import OneOfReading, OthersReading, ScoreReading, StandardReading

CONTROL_REACH = 3.5  # standard deviations
MOST_OPTIONS = 200  # values in a list; with more, the value is typed
SLIDER_POSITIONS = 200  # about so many
CONTROL_TYPES = {
    "number": "number", "boolean": "boolean", "category": "category", "value": "category",
    "date": "date", "text": "text",
}  # fmt: skip


@dataclass
class ColumnRange:
    """What a program shows about one column."""

    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    centres: list[float] = field(default_factory=list)
    values: dict[Any, float] = field(default_factory=dict)  # value → how typical it is
    counted: bool = False  # the number is a count, at least 0
    open: bool = False  # some values are known only by a hash


def controls_of(
    program: Program, order: list[str], hidden: dict[str, int], whole: frozenset[str] = frozenset()
) -> list[dict[str, Any]]:
    """The controls of all columns, the most telling first.

    `hidden` counts values without names, and `whole` are the columns of whole numbers.
    """
    found = facts_of(program)
    every = program.inputs
    rank = {name: i for i, name in enumerate(order)}
    names = sorted(every, key=lambda name: rank.get(name, len(rank)))
    return [
        _control(name, every[name], found[name], hidden.get(name, 0), name in whole)
        for name in names
    ]


def facts_of(program: Program) -> dict[str, ColumnRange]:
    """Ranges and values of all columns, from the readings and the terms."""
    found = {name: ColumnRange() for name in program.inputs}
    weights = np.exp(program.log_prior - np.logaddexp.reduce(program.log_prior))
    for reading in program.readings:
        for inner in _nested(reading):
            _note_reading(inner, found)
    for term, readings in terms_inside(program.terms, program.readings):
        _note_term(term, readings, found, weights)
    return found


def _nested(reading: CellReading) -> Iterator[CellReading]:
    yield reading
    inner = getattr(reading, "of", ())
    for one in inner if isinstance(inner, tuple) else (inner,):
        yield from _nested(one)


def _note_reading(reading: CellReading, found: dict[str, ColumnRange]) -> None:
    names = list(reading.inputs)
    if len(names) != 1:
        return
    one = found[names[0]]
    if isinstance(reading, StandardReading):
        _note_range(one, reading.mean, reading.deviation)
    elif isinstance(reading, ScoreReading):
        q = np.array(reading.quantiles)
        one.lows.append(float(q[0]))
        one.highs.append(float(q[-1]))
        one.centres.append(float(np.median(q)))
    elif isinstance(reading, BinReading):
        cuts = different_cuts(np.array(reading.cuts)).tolist()
        one.lows += cuts[:1]
        one.highs += cuts[-1:]
        one.centres += cuts[len(cuts) // 2 :][:1]
    elif isinstance(reading, PlaceReading):
        for i, value in enumerate(reading.values):
            if i not in reading.hashed:
                one.values.setdefault(value, 0.0)
        one.open |= bool(reading.hashed)
    elif isinstance(reading, OneOfReading):
        if reading.hashed:
            one.open = True
        else:
            one.values.setdefault(reading.value, 0.0)
    elif isinstance(reading, OthersReading):
        for value in reading.values:
            one.values.setdefault(value, 0.0)
        one.open = True


def _note_range(one: ColumnRange, mean: float, deviation: float) -> None:
    one.lows.append(mean - CONTROL_REACH * deviation)
    one.highs.append(mean + CONTROL_REACH * deviation)
    one.centres.append(mean)


def _note_term(
    term: Term,
    readings: tuple[CellReading, ...],
    found: dict[str, ColumnRange],
    weights: np.ndarray,
) -> None:
    names = [next(iter(reading.inputs), None) for reading in readings]
    plain = [
        name if reading.kind in ("number", "days") else None
        for name, reading in zip(names, readings, strict=True)
    ]
    if isinstance(term, LookupTerm) and readings[0].kind in ("key", "value"):
        one = found[names[0] or ""]
        shares = np.exp(term.table) @ weights if len(term.table) else np.zeros(0)
        for value, share in zip(term.values, shares.tolist(), strict=True):
            if value not in (OTHER, SHOWN_MISSING, None):
                one.values[value] = max(one.values.get(value, 0.0), share)
        one.open |= term.overflow is not None
        return
    if isinstance(term, GaussianTerm) and plain[0]:
        for mean, precision in zip(term.pivot + term.offset, term.precision, strict=True):
            _note_range(found[plain[0]], float(mean), float(precision**-0.5))
    elif isinstance(term, PoissonTerm) and plain[0]:
        one, rate = found[plain[0]], float(term.rate.max())
        one.counted = True
        one.lows.append(0.0)
        one.highs.append(float(poisson.ppf(0.999, rate)) + 1)
        one.centres.append(float(np.rint(weights @ term.rate)))
    elif isinstance(term, BinsTerm) and plain[0]:
        one, edges = found[plain[0]], different_cuts(term.edges[1:-1])
        if len(edges):
            one.lows.append(float(edges[0] - (edges[1] - edges[0] if len(edges) > 1 else 1.0)))
            one.highs.append(float(edges[-1] + (edges[-1] - edges[-2] if len(edges) > 1 else 1.0)))
            one.centres.append(float(edges[len(edges) // 2]))
    elif isinstance(term, PresenceTerm) and plain[0]:
        one = found[plain[0]]
        one.lows.append(0.0)
        one.highs.append(max(2 * term.threshold, 1.0))
        one.centres.append(0.0)
    elif isinstance(term, QuadraticTerm):
        roots = [np.linalg.inv(W) for W in term.whitener]
        spread = np.array([np.sqrt((root**2).sum(axis=1)) for root in roots])  # (S, d)
        for j, name in enumerate(plain):
            for k in range(len(term.pivot)) if name else ():
                s = spread[k if len(spread) > 1 else 0, j]
                _note_range(
                    found[name or ""], float(term.pivot[k, j] + term.offset[k, j]), float(s)
                )
    elif isinstance(term, LinearTerm | PolynomialTerm):
        for j, name in enumerate(plain):
            if name and not found[name].lows:
                centre = float(term.pivot[j] + term.centre[j])
                slope = float(np.abs(term.coef[:, j]).max())
                _note_range(found[name], centre, min(max(1.0 / slope if slope else 1.0, 1e-3), 1e6))


def _control(name: str, type_: str, one: ColumnRange, hidden: int, whole: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"column": name, "type": CONTROL_TYPES[type_], "typical": None}
    if type_ in ("number", "date"):
        low, high = (min(one.lows), max(one.highs)) if one.lows else (0.0, 1.0)
        low = max(low, 0.0) if one.counted else low
        low, high, step = rounded_range(low, high)
        centre = float(np.median(one.centres)) if one.centres else (low + high) / 2
        step = max(step, 1.0) if one.counted or whole else step
        low, high = (float(np.floor(low)), float(np.ceil(high))) if whole else (low, high)
        typical = float(np.round(np.round(centre / step) * step, 12))
        out |= {"low": low, "high": high, "step": step, "typical": typical}
        out["least"] = 0 if one.counted else None
        if type_ == "date":
            out["typical"] = int(typical) * 86_400_000
    elif type_ == "boolean":
        out["typical"] = 1
    elif type_ != "text":
        shown = sorted(one.values, key=lambda value: (-one.values[value], str(value)))
        out["values"] = sorted(shown, key=_sort_key)
        out["typed"] = bool(hidden or one.open or len(shown) > MOST_OPTIONS or not shown)
        out["texts"] = type_ == "category"
        out["typical"] = shown[0] if shown else None
    return out


def _sort_key(value: Any) -> tuple[int, float, str]:
    number = isinstance(value, int | float)
    return (0 if number else 1, float(value) if number else 0.0, str(value))


def rounded_range(low: float, high: float) -> tuple[float, float, float]:
    """Round limits around a range, and the step of a slider with about 200 positions."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return 0.0, 1.0, 0.005
    if not high > low:  # a large number is not changed by 1
        reach = max(1.0, SLIDER_POSITIONS * float(np.spacing(max(abs(low), abs(high)))))
        low, high = low - reach, high + reach
    step = 10.0 ** np.floor(np.log10((high - low) / 100))
    low, high = np.floor(low / step) * step, np.ceil(high / step) * step
    return (*(float(f"{value:.12g}") for value in (low, high)), float(f"{step:.12g}"))  # type: ignore[return-value]
