"""A temperature for rows without numbers: each step of the search is one pass over the source.

    slope(τ) = Σ over folds f of slope(τ; rows of f)

The search for the τ of all rows and those for the τ without each fold take their steps together.
About six passes are needed. Workers send two numbers for each fold and each τ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from verosim.data.clusters import check_is_here
from verosim.folds import HeldOutEngine, first_warning_only
from verosim.folds.holdout import FoldVisit, HeldOutRows, HoldOut
from verosim.folds.rules import FoldRules, fold_rules
from verosim.validate.calibration_maps import Temperature, TemperatureSearch, TemperedRows
from verosim.validate.reliability import BinSums, Reliability, ReliabilityBins

ALL = -1  # the part of the τ of all rows: no fold is in it


class FoundTemperature(NamedTuple):
    """A temperature, and the reliability of the held-out rows before and after it."""

    map: Temperature
    before: Reliability
    after: Reliability


def temperature_by_rounds(engine: HeldOutEngine, bins: int, most_maps: int) -> FoundTemperature:
    """The temperature of held-out rows that are read again in each round."""
    rows, spec = engine.rows, engine.specs[0]
    rows.check_partition()
    if not spec.is_decomposable:
        check_is_here(rows.source, f"The calibration of {spec.name} with these settings")
    with first_warning_only():
        known = [fold_rules([spec], rows, outside, False) for outside in rows.trainings()]
        searches = {ALL: TemperatureSearch()}
        parts: dict[int, int] = {}
        while not all(search.is_done for search in searches.values()):
            open_ = {part: one.tau for part, one in searches.items() if not one.is_done}
            found = _visited(rows, _Slopes(tuple(open_.values())), known)
            if not parts:  # the first pass is at τ = 1, and finds the folds with rows
                parts = _parts(found, most_maps)
                searches |= {part: TemperatureSearch() for part in sorted(set(parts.values()))}
                open_ = dict.fromkeys(searches, 1.0)
                found = {f: np.repeat(one, len(open_), axis=0) for f, one in found.items()}
            for at, part in enumerate(open_):
                others = [one[at] for f, one in found.items() if parts[f] != part]
                searches[part] = searches[part].moved(np.sum(others, axis=0))
        taus = {f: searches[part].tau for f, part in parts.items()}
        both = list(_visited(rows, _Bins(taus, bins), known).values())
    total = both[0]
    for one in both[1:]:
        total = [a + b for a, b in zip(total, one, strict=True)]
    before, after = (sums.reliability() for sums in total)
    return FoundTemperature(Temperature(searches[ALL].tau), before, after)


def _visited(rows: HoldOut, visit: FoldVisit, known: list[Any]) -> dict[int, Any]:
    """The result of each fold that has rows."""
    return {f: value for f, (_, value) in rows.visited(visit, dict(enumerate(known))).items()}


def _parts(folds: Mapping[int, Any], most: int) -> dict[int, int]:
    """The part of each fold. At most so many parts have a τ of their own."""
    return {f: f if max(folds) < most else f % most for f in folds}


@dataclass(frozen=True)
class _Slopes(FoldVisit):
    """(T, 2) the slope and the curvature at each τ."""

    taus: tuple[float, ...]

    def __call__(self, held: HeldOutRows, rules: FoldRules) -> np.ndarray:
        found = held.predictions(rules.log_posteriors(held.block)[0], rules.classes)
        weights = found.weights if len(held.weights) else np.ones(len(found.codes))
        rows = TemperedRows.of(found.log_proba, found.codes, weights)
        return np.array([rows.slopes(tau) for tau in self.taus])

    def joined(self, found: Sequence[np.ndarray]) -> np.ndarray:
        return np.sum(found, axis=0)


@dataclass(frozen=True)
class _Bins(FoldVisit):
    """The sums of the reliability before and after the temperature of the fold."""

    taus: dict[int, float]  # by fold
    bins: int

    def __call__(self, held: HeldOutRows, rules: FoldRules) -> list[BinSums]:
        log_p = rules.log_posteriors(held.block)[0]
        tempered = Temperature(self.taus[held.fold])(log_p)
        sums = ReliabilityBins(self.bins)
        return [sums.of(held.predictions(one, rules.classes)) for one in (log_p, tempered)]

    def joined(self, found: Sequence[list[BinSums]]) -> list[BinSums]:
        out = found[0]
        for one in found[1:]:
            out = [a + b for a, b in zip(out, one, strict=True)]
        return out

    def packed(self, found: list[BinSums]) -> Any:
        return [ReliabilityBins(self.bins).packed(one) for one in found]

    def unpacked(self, plain: Any) -> list[BinSums]:
        return [ReliabilityBins(self.bins).unpacked(one) for one in plain]
