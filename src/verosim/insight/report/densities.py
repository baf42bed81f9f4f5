"""The density of each column in each class, as the numbers of a chart.

    curve   means and deviations of Gaussians      counts  rates of Poisson variables
    steps   edges and heights of a histogram       bars    shares of values or tokens
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.axes.capped_categories import OTHER
from verosim.bayes.learned import GAP, LearnedTable
from verosim.densities import estimates as of
from verosim.errors import VerosimError
from verosim.insight.report.about import innermost
from verosim.insight.report.observed import Observed
from verosim.insight.report.rare_values import LEAST_ROWS, NamedValues
from verosim.kinds.cell_names import SHOWN_MISSING

MOST_BARS = 12
DIGITS = 6  # of the numbers of a chart
BAR_TABLES = (of.SHARES_TABLE, of.FLAGS_TABLE, of.CELLS_TABLE, of.TOKENS_TABLE, of.AMOUNTS_TABLE)


def densities_of(
    model: Any, named: NamedValues, observed: Observed | None
) -> list[dict[str, Any]]:
    """The charts of all columns: from what the model has learned, else from rows."""
    try:
        learned = innermost(model).learned()
    except (AttributeError, VerosimError):
        learned = ()
    out = [chart for table in learned for chart in _charts(table, named)]
    if not out and observed is not None:
        out = [c for name in observed.types if (c := _observed(observed, name, named)) is not None]
    return out


def _charts(table: LearnedTable, named: NamedValues) -> list[dict[str, Any]]:
    found = []
    for part in dict.fromkeys(table.parts):
        at = [i for i, one in enumerate(table.parts) if one == part]
        if part == GAP:
            continue
        heads, values = [table.heads[i] for i in at], table.values[:, at]
        chart: dict[str, Any] = {"column": table.column, "part": part, "source": "model"}
        if table.kind == of.GAUSSIAN_TABLE and tuple(heads) == (of.MEAN_HEAD, of.DEVIATION_HEAD):
            chart |= {"kind": "curve", "mean": short(values[:, 0]), "deviation": short(values[:, 1])}
        elif table.kind == of.RATE_TABLE:
            chart |= {"kind": "counts", "rate": short(values[:, 0])}
        elif table.kind == of.HEIGHTS_TABLE and len(table.edges) > 2:
            chart |= {"kind": "steps", "edges": inner_edges(table.edges), "y": short(values)}
        else:
            counts = table.counts[:, at]
            bars = _bars(table, part, heads, values, counts, named)
            if bars is None:
                continue
            chart |= bars
        found.append(chart)
    return found


def _bars(
    table: LearnedTable, part: str, heads: list[Any], values: np.ndarray, counts: np.ndarray,
    named: NamedValues,
) -> dict[str, Any] | None:  # fmt: skip
    """The shares of the values that differ most between the classes."""
    listed = [
        i for i, head in enumerate(heads)
        if head not in (SHOWN_MISSING, OTHER, None) and _may_name(table, part, head, named)
    ]  # fmt: skip
    if not listed:
        return None
    known = values[:, listed]
    spread = known.max(axis=0) - known.min(axis=0)
    first = np.argsort(-spread, kind="stable")[:MOST_BARS]
    first = np.sort(first) if table.kind != of.TOKENS_TABLE else first
    del counts
    return {
        "kind": "bars", "values": [str(heads[listed[i]]) for i in first],
        "y": short(known[:, first]), "left": len(heads) - len(first),
        "tokens": table.kind == of.TOKENS_TABLE,
    }  # fmt: skip


def _may_name(table: LearnedTable, part: str, head: Any, named: NamedValues) -> bool:
    if table.kind == of.TOKENS_TABLE:
        return named.token(str(head))
    if part or table.kind in (of.FLAGS_TABLE, of.AMOUNTS_TABLE) or table.edges:
        return True  # hours, true and false, bins: they do not name a value of a cell
    return named.value(table.column, head)


def inner_edges(edges: tuple[float, ...]) -> list[float]:
    """The edges of a histogram. The outer ones are values of rows, so others take their place."""
    inside = np.array(edges[1:-1])
    gap = float(np.median(np.diff(inside))) if len(inside) > 1 else 1.0
    low, high = inside[0] - gap, inside[-1] + gap
    return short(np.concatenate([[low], inside, [high]]))


def _observed(observed: Observed, name: str, named: NamedValues) -> dict[str, Any] | None:
    """The histogram or the shares of the rows of each class."""
    chart: dict[str, Any] = {"column": name, "part": "", "source": "rows"}
    classes = range(observed.codes.max() + 1)
    edges = observed.edges(name) if observed.types[name] == "number" else None
    if edges is not None:
        y = [observed.shares(name, edges, np.flatnonzero(observed.codes == k)) for k in classes]
        return chart | {"kind": "steps", "edges": short(edges), "y": short(np.array(y))}
    if name not in observed.frequent:
        return None
    counts = observed.frequent[name]
    values = sorted((v for v in counts if named.value(name, v)), key=lambda v: -counts[v])
    values = [value for value in values if counts[value] >= LEAST_ROWS][:MOST_BARS]
    if not values:
        return None
    cells = observed.cells[name]
    y = [
        [float((cells[observed.codes == k] == value).mean()) for value in values] for k in classes
    ]
    return chart | {
        "kind": "bars", "values": [str(value) for value in values], "y": short(np.array(y)),
        "left": len(counts) - len(values), "tokens": False,
    }  # fmt: skip


def short(values: np.ndarray) -> list[Any]:
    """Numbers with few digits, as lists."""
    if values.ndim > 1:
        return [short(row) for row in values]
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]
