"""How often a smaller program gives another class than the whole one, on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.errors import VerosimError
from verosim.insight.report.carried import Carried, smaller
from verosim.insight.report.observed import cells_of_rows
from verosim.insight.report.some_rows import labelled_rows

HELD_OUT_PART = 5  # one row in five is held out
MOST_COMPARED_ROWS = 2000  # held-out rows that are compared


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
