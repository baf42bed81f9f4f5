"""How often the program of a page gives another class than that of the model.

A smaller program is compared on held-out rows, and a program with rounded numbers on any rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.bayes.program import SCORES_OUTPUT, Program
from verosim.errors import VerosimError
from verosim.insight.report.carried import Carried, smaller
from verosim.insight.report.observed import ObservedRows, cells_of_rows
from verosim.insight.report.some_rows import labelled_rows

HELD_OUT_PART = 5  # one row in five is held out
MOST_COMPARED_ROWS = 2000  # rows that are compared
DRAWN_ROWS = 500  # rows from the model, if none are given


@dataclass(frozen=True)
class Disagreement:
    """The share of held-out rows for which the classes differ."""

    share: float
    rows: int


def disagreement(model: Any, source: Any, y: Any, found: Carried) -> Disagreement | None:
    """Fit the model without a fifth of the rows, and compare both programs on them."""
    try:
        rows = labelled_rows(model, source, y, HELD_OUT_PART * MOST_COMPARED_ROWS)
        at = np.arange(len(rows))
        held = at % HELD_OUT_PART == HELD_OUT_PART - 1
        again = clone(model)
        rows.take(at[~held]).fit(again)
        whole = again.program()
        few = smaller(whole, found)
        cells = cells_of_rows(again, whole, rows.take(at[held]).X)
        a = whole.evaluate(cells)
        b = few.evaluate({name: cells[name] for name in few.inputs})
    except VerosimError:
        return None
    return Disagreement(float((a.argmax(axis=1) != b.argmax(axis=1)).mean()), len(a))


@dataclass(frozen=True)
class RoundingEffect:
    """What rounded numbers change, over some rows."""

    share: float  # of the rows with another class
    mean: float  # of the largest difference of a probability of each row
    most: float  # the largest one
    rows: int
    drawn: bool  # whether the rows were drawn from the model


def rounding_effect(
    model: Any, found: Carried, observed: ObservedRows | None
) -> RoundingEffect | None:
    """Compare the program of a page with the one that has all digits; None without rows."""
    try:
        if observed is None:
            drawn, _ = model.sample(DRAWN_ROWS, random_state=0)
            cells = cells_of_rows(model, model.program(), drawn)
        else:
            at = np.arange(0, observed.n, max(1, -(-observed.n // MOST_COMPARED_ROWS)))
            cells = {name: column[at] for name, column in observed.cells.items()}
        some = {name: cells[name] for name in found.exact.inputs}
        a, b = (_probabilities(one, some) for one in (found.exact, found.program))
    except (AttributeError, NotImplementedError, VerosimError):
        return None
    away = np.abs(a - b).max(axis=1)
    other = a.argmax(axis=1) != b.argmax(axis=1)
    return RoundingEffect(
        float(other.mean()), float(away.mean()), float(away.max()), len(a), observed is None
    )


def _probabilities(program: Program, cells: dict[str, np.ndarray]) -> np.ndarray:
    """(n, C) the posteriors; of scores without probabilities, 1 for the largest one."""
    scores = program.evaluate(cells)
    if program.output == SCORES_OUTPUT:
        return np.eye(len(program.classes))[scores.argmax(axis=1)]
    nowhere = np.isneginf(scores).all(axis=1, keepdims=True)
    scores = np.where(nowhere, program.log_prior, scores)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    out: np.ndarray = odds / odds.sum(axis=1, keepdims=True)
    return out
