"""The typed cells of some rows: what the data look like, without any single row.

A bin or a value of fewer than 5 rows is left out of all numbers that go to a page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.bayes.program import Program
from verosim.cached import cached_property
from verosim.data.readings import is_gap
from verosim.insight.report.shown_numbers import LEAST_ROWS, roundest
from verosim.insight.report.some_rows import SomeRows, state_of
from verosim.models.program import typed_rows

MOST_OBSERVED_ROWS = 50_000
OBSERVED_BINS = 24
MOST_COMPARED_VALUES = 10
TAILS = 0.5  # per cent on each side of a histogram that its axis leaves out


@dataclass(frozen=True, eq=False)
class ObservedRows:
    """Rows as typed cells."""

    rows: SomeRows
    cells: dict[str, np.ndarray]
    types: dict[str, str]
    codes: np.ndarray  # (n,) the numbers of the classes

    @classmethod
    def of(cls, model: Any, program: Program, rows: SomeRows) -> ObservedRows:
        """The cells that a program reads."""
        cells = cells_of_rows(model, program, rows.X)
        codes = rows.codes(model.classes_)
        return cls(rows, cells, dict(program.inputs), codes)

    @property
    def n(self) -> int:
        return len(self.rows)

    def missing(self) -> dict[str, float]:
        """The share of missing cells of each column."""
        return {name: float(self.gaps(name).mean()) for name in self.cells}

    def gaps(self, name: str) -> np.ndarray:
        """(n,) where a column has no value."""
        values = self.cells[name]
        if values.dtype.kind == "M":
            return np.isnat(values)
        return is_gap(values if values.dtype.kind in "fO" else values.astype(float))

    @cached_property
    def frequent(self) -> dict[str, dict[Any, float]]:
        """The values of categories with the number of their rows."""
        out: dict[str, dict[Any, float]] = {}
        for name, type_ in self.types.items():
            if type_ in ("category", "value"):
                known = self.cells[name][~self.gaps(name)]
                values, counts = np.unique(known.astype(str), return_counts=True)
                original = {str(value): value for value in known.tolist()}
                pairs = zip(values.tolist(), counts.tolist(), strict=True)
                out[name] = {original[value]: float(count) for value, count in pairs}
        return out

    def edges(self, name: str) -> np.ndarray | None:
        """(B + 1,) round edges of bins for a column of numbers; None if it has too few rows.

        At least 5 rows are below the first edge, and above the last one. Whole numbers that are
        close have a bin each, from the first to the last one that 5 rows have.
        """
        x = self.cells[name]
        x = np.sort(x[~self.gaps(name)].astype(np.float64))
        if self.types[name] != "number" or len(x) < 4 * LEAST_ROWS:
            return None
        values, counts = np.unique(x, return_counts=True)
        often = values[counts >= LEAST_ROWS]
        close = len(often) > 0 and often[-1] - often[0] < OBSERVED_BINS
        if close and len(values) <= OBSERVED_BINS and (values == np.round(values)).all():
            return np.arange(often[0] - 0.5, often[-1] + 1.0)
        out = max(LEAST_ROWS - 1, int(TAILS / 100 * len(x)))  # rows before the limit
        start = _limit(x[out], x[out + LEAST_ROWS])
        end = _limit(x[-1 - out - LEAST_ROWS], x[-1 - out])
        return np.linspace(start, end, OBSERVED_BINS + 1) if start < end else None

    def shares(self, name: str, edges: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        """(B,) the density of the bins; 0 for a bin of fewer than 5 rows."""
        x = self.cells[name].astype(np.float64)
        x = x if at is None else x[at]
        x = x[~np.isnan(x)]
        counts, _ = np.histogram(x, edges)
        counts = np.where(counts >= LEAST_ROWS, counts, 0)
        out: np.ndarray = counts / max(len(x), 1) / np.diff(edges)
        return out


def _limit(low: float, high: float) -> float:
    """The roundest number between two cells that are 5 rows apart."""
    return roundest(low, high, (low + high) / 2) if low < high else low


def cells_of_rows(model: Any, program: Program, X: Any) -> dict[str, np.ndarray]:
    """Rows of any form as typed cells by column."""
    state = state_of(model)
    cells = X if state is None else typed_rows(state, program, X)
    if isinstance(cells, dict):
        return cells
    typed, _ = program.typed(cells)
    return typed
