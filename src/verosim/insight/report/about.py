"""What a model is: its name, rows, classes and columns, and how each column is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.axes.groups import label_text
from verosim.errors import VerosimError
from verosim.insight.report.observed import ObservedRows
from verosim.insight.report.some_rows import innermost, state_of

MOST_PARAMETER_TEXT = 300  # letters


def facts_about(model: Any, columns: int) -> dict[str, Any]:
    """The numbers of a model."""
    inner = innermost(model)
    state = state_of(model)
    counts = np.asarray(inner.class_count_) if hasattr(inner, "class_count_") else None
    text = " ".join(repr(model).split())
    return {
        "name": type(model).__name__,
        "text": text if len(text) <= MOST_PARAMETER_TEXT else text[: MOST_PARAMETER_TEXT - 1] + "…",
        "inside": type(inner).__name__ if inner is not model else "",
        "rows": None if state is None else float(state.statistic.rows.sum()),
        "columns": columns,
        "parameters": free_parameters(model),
        "classes": class_lines(model, counts),
    }


def class_lines(model: Any, counts: np.ndarray | None) -> list[dict[str, Any]]:
    """The label, the weight of the training rows and the prior of each class."""
    priors = getattr(innermost(model), "class_prior_", None)
    return [
        {
            "label": label_text(label),
            "rows": None if counts is None else float(counts[k]),
            "prior": None if priors is None else float(priors[k]),
        }
        for k, label in enumerate(model.classes_)
    ]


def free_parameters(model: Any) -> int | None:
    """The number of free parameters, if it is known."""
    try:
        return int(innermost(model).n_parameters_)
    except (AttributeError, NotImplementedError, VerosimError):
        return None


def column_lines(model: Any, program: Any, observed: ObservedRows | None) -> list[dict[str, Any]]:
    """How each column is read, and how many of its cells are missing."""
    state = state_of(model)
    schema = None if state is None else state.schema
    shares = missing_shares(model, observed)
    if schema is None:
        types = program.inputs if program is not None else {}
        return [
            {"name": name, "role": type_, "kind": "", "type": "", "missing": shares.get(name)}
            for name, type_ in types.items()
        ]
    return [
        {
            "name": one.name, "role": one.role, "kind": one.density, "type": one.type,
            "missing": None if one.role == "ignored" else shares.get(one.name),
        }
        for one in schema
    ]  # fmt: skip


def missing_shares(model: Any, observed: ObservedRows | None) -> dict[str, float]:
    """The share of missing cells of each column, from rows or from the sums."""
    if observed is not None:
        return observed.missing()
    inner = innermost(model)
    try:
        tables = inner.learned()
        priors = np.asarray(inner.class_prior_)
    except (AttributeError, VerosimError):
        return {}
    out = {}
    for table in tables:
        if not np.isnan(table.missing).all():
            out[table.column] = float(np.nansum(priors * table.missing))
    return out
