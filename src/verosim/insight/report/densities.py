"""The density of each column in each class, as the numbers of a chart.

curve   means and deviations of Gaussians      counts  rates of Poisson variables
steps   edges and heights of a histogram       bars    shares of values
words   the tokens that are typical of each class
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from verosim.axes.capped_categories import OTHER
from verosim.bayes.learned import GAP, LearnedTable
from verosim.densities import estimates as of
from verosim.errors import VerosimError
from verosim.insight.report.observed import ObservedRows
from verosim.insight.report.rare_values import NamedValues
from verosim.insight.report.shown_numbers import LEAST_ROWS
from verosim.insight.report.some_rows import innermost
from verosim.kinds.cell_names import SHOWN_MISSING
from verosim.kinds.date import CLOCK

MOST_BARS_OF_COLUMN = 12
MOST_DRAWN = 120  # bars of one chart
WORDS_PER_CLASS = 12  # tokens of one class
LEARNED_TOKENS = 40  # tokens that are looked at for each class
CHART_DIGITS = 6  # of the numbers of a chart


def densities_of(
    model: Any, named: NamedValues, observed: ObservedRows | None
) -> list[dict[str, Any]]:
    """The charts of all columns: from what the model has learned, else from rows."""
    try:
        learned = innermost(model).learned(top=LEARNED_TOKENS)
    except (AttributeError, VerosimError):
        learned = ()
    out = [chart for table in learned for chart in _charts(table, named)]
    if not out and observed is not None:
        out = [c for name in observed.types if (c := _observed(observed, name, named)) is not None]
    return out


def _charts(table: LearnedTable, named: NamedValues) -> list[dict[str, Any]]:
    found = []
    indicators = _indicators(table, named)
    if indicators is not None:
        found.append(indicators)
    for part in dict.fromkeys(table.parts):
        if part.startswith(f"{table.column} = "):
            continue
        at = [i for i, one in enumerate(table.parts) if one == part]
        if part == GAP:
            continue
        heads, values = [table.heads[i] for i in at], table.values[:, at]
        chart: dict[str, Any] = {"column": table.column, "part": part, "source": "model"}
        if table.kind in (of.GAUSSIAN_TABLE, of.RATE_TABLE):
            rows = named.numbers.with_values(table.column, len(values))
            values = np.where(rows[:, None] >= LEAST_ROWS, values, np.nan)
            if np.isnan(values).all():
                continue
        if table.kind == of.GAUSSIAN_TABLE and tuple(heads) == (of.MEAN_HEAD, of.DEVIATION_HEAD):
            chart |= {
                "kind": "curve",
                "mean": few_digits(values[:, 0]),
                "deviation": few_digits(values[:, 1]),
            }
        elif table.kind == of.RATE_TABLE:
            chart |= {"kind": "counts", "rate": few_digits(values[:, 0])}
        elif table.kind == of.HEIGHTS_TABLE:
            shown = named.numbers.shown_bins(table.column, table.edges[1:-1])
            if not len(shown.inside):
                continue
            y = shown.summed(values * np.diff(table.edges)) / np.diff(shown.edges)
            chart |= {"kind": "steps", "edges": few_digits(shown.edges), "y": few_digits(y)}
        else:
            is_text = table.kind == of.TOKENS_TABLE
            if table.kind == of.CELLS_TABLE:
                heads, values = _shown_cells(table, heads, values, named)
            bars = (
                _words(heads, values, named)
                if is_text
                else _bars(table, part, heads, values, named)
            )
            if bars is None:
                continue
            chart |= bars
        found.append(chart)
    return found


def _indicators(table: LearnedTable, named: NamedValues) -> dict[str, Any] | None:
    """The means of the columns 'hue = red', which are the shares of the values."""
    start = f"{table.column} = "
    at = [
        i
        for i, (part, head) in enumerate(zip(table.parts, table.heads, strict=True))
        if part.startswith(start) and head == of.MEAN_HEAD
        and named.value(table.column, part.removeprefix(start))
    ]  # fmt: skip
    if not at:
        return None
    at = at[: max(2, min(MOST_BARS_OF_COLUMN, MOST_DRAWN // len(table.classes)))]
    return {
        "column": table.column, "part": "", "source": "model", "kind": "bars",
        "values": [table.parts[i].removeprefix(start) for i in at],
        "y": few_digits(table.values[:, at]), "left": 0,
    }  # fmt: skip


def _bars(
    table: LearnedTable, part: str, heads: list[Any], values: np.ndarray, named: NamedValues
) -> dict[str, Any] | None:
    """The shares of the values that differ most between the classes."""
    listed = [
        i for i, head in enumerate(heads)
        if head not in (SHOWN_MISSING, OTHER, None) and _may_name(table, part, head, named)
    ]  # fmt: skip
    if not listed:
        return None
    known = values[:, listed]
    spread = known.max(axis=0) - known.min(axis=0)
    most = max(2, min(MOST_BARS_OF_COLUMN, MOST_DRAWN // len(table.classes)))
    first = np.sort(np.argsort(-spread, kind="stable")[:most])
    return {
        "kind": "bars", "values": [str(heads[listed[i]]) for i in first],
        "y": few_digits(known[:, first]), "left": len(heads) - len(first),
    }  # fmt: skip


def _words(heads: list[Any], values: np.ndarray, named: NamedValues) -> dict[str, Any] | None:
    """The tokens of each class with the largest p_ik log(p_ik / mean_l p_il)."""
    at = [i for i, head in enumerate(heads) if named.token(str(head))]
    if not at:
        return None
    share = values[:, at]
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(share > 0, share * np.log(share / share.mean(axis=0)), 0.0)
    order = np.argsort(-gain, axis=1, kind="stable")[:, :WORDS_PER_CLASS]
    words = [
        [str(heads[at[i]]) for i in row if gain[k, i] > 0] for k, row in enumerate(order.tolist())
    ]
    return {"kind": "words", "words": words}


def _shown_cells(
    table: LearnedTable, heads: list[Any], values: np.ndarray, named: NamedValues
) -> tuple[list[Any], np.ndarray]:
    """Bins of numbers with the edges that a page may show; other cells as they are."""
    count = sum(str(head).startswith("[") for head in heads)
    if not table.edges or not count:
        return heads, values
    bins = named.numbers.shown_bins(table.column, table.edges[1:count])
    if not len(bins.inside):
        return [], values[:, :0]
    shown = [f"{edge:.15g}" for edge in bins.inside.tolist()]
    middle = [f"[{low}, {high})" for low, high in pairwise(shown)]
    return [f"< {shown[0]}", *middle, f"≥ {shown[-1]}"], bins.summed(values[:, :count])


def _may_name(table: LearnedTable, part: str, head: Any, named: NamedValues) -> bool:
    if part in CLOCK or table.kind in (of.FLAGS_TABLE, of.AMOUNTS_TABLE) or table.edges:
        return True  # hours, true and false, bins: they do not name a value of a cell
    return named.value(table.column, head)


def _observed(observed: ObservedRows, name: str, named: NamedValues) -> dict[str, Any] | None:
    """The histogram or the shares of the rows of each class."""
    chart: dict[str, Any] = {"column": name, "part": "", "source": "rows"}
    classes = range(observed.codes.max() + 1)
    edges = observed.edges(name) if observed.types[name] == "number" else None
    if edges is not None:
        y = [observed.shares(name, edges, np.flatnonzero(observed.codes == k)) for k in classes]
        return chart | {"kind": "steps", "edges": few_digits(edges), "y": few_digits(np.array(y))}
    if name not in observed.frequent:
        return None
    counts = observed.frequent[name]
    values = sorted((v for v in counts if named.value(name, v)), key=lambda v: -counts[v])
    values = [value for value in values if counts[value] >= LEAST_ROWS][:MOST_BARS_OF_COLUMN]
    if not values:
        return None
    cells = observed.cells[name]
    own = [cells[observed.codes == k] for k in classes]
    shares = np.array([[float((mine == value).mean()) for value in values] for mine in own])
    return chart | {
        "kind": "bars", "values": [str(value) for value in values], "y": few_digits(shares),
        "left": len(counts) - len(values),
    }  # fmt: skip


def few_digits(values: np.ndarray) -> list[Any]:
    """Numbers with few digits, as lists."""
    if values.ndim > 1:
        return [few_digits(row) for row in values]
    return [float(f"{value:.{CHART_DIGITS}g}") for value in values.tolist()]
