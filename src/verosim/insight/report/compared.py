"""Simulated rows against real rows: what the model has not learned becomes visible."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.bayes.program import Program
from verosim.errors import VerosimError
from verosim.insight.report.densities import few_digits
from verosim.insight.report.observed import MOST_COMPARED_VALUES, ObservedRows, cells_of_rows
from verosim.insight.report.rare_values import NamedValues
from verosim.insight.report.shown_numbers import LEAST_ROWS

SIMULATED_ROWS = 5000
MOST_COMPARED = 12  # columns


def simulated_charts(
    model: Any, program: Program, observed: ObservedRows, order: list[str], named: NamedValues
) -> list[dict[str, Any]]:
    """One chart per column: the rows, and as many rows of the model."""
    if not hasattr(model, "sample"):
        return []
    n = min(max(observed.n, 200), SIMULATED_ROWS)
    try:
        drawn, _ = model.sample(n, random_state=0)
        cells = cells_of_rows(model, program, drawn)
    except (VerosimError, NotImplementedError):
        return []
    out = []
    for name in [one for one in order if one in observed.types][:MOST_COMPARED]:
        chart = _chart(observed, name, cells[name], named)
        if chart is not None:
            out.append({"column": name, **chart})
    return out


def _chart(
    observed: ObservedRows, name: str, drawn: np.ndarray, named: NamedValues
) -> dict[str, Any] | None:
    edges = observed.edges(name) if observed.types[name] == "number" else None
    if edges is not None:
        x = drawn.astype(np.float64)
        x = x[~np.isnan(x)]
        inside, _ = np.histogram(x, edges)
        heights = inside / max(len(x), 1) / np.diff(edges)
        both = np.array([observed.shares(name, edges), heights])
        return {"kind": "steps", "edges": few_digits(edges), "y": few_digits(both)}
    if name not in observed.frequent:
        return None
    counts = observed.frequent[name]
    values = [v for v in sorted(counts, key=lambda v: -counts[v]) if counts[v] >= LEAST_ROWS]
    values = [value for value in values if named.value(name, value)][:MOST_COMPARED_VALUES]
    if not values:
        return None
    known = max(float(sum(counts.values())), 1.0)
    seen = np.array([value is not None for value in drawn.tolist()])
    y = [
        [counts[value] / known for value in values],
        [float((drawn == value).sum()) / max(int(seen.sum()), 1) for value in values],
    ]
    return {
        "kind": "bars",
        "values": [str(value) for value in values],
        "y": few_digits(np.array(y)),
    }
