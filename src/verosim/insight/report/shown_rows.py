"""Rows that a page shows if they are asked for: typical ones, the strangest, and wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.axes.groups import label_text
from verosim.errors import VerosimError
from verosim.insight.explain import explain
from verosim.insight.report.quality import Quality
from verosim.insight.report.some_rows import SomeRows
from verosim.insight.shown_cells import MISSING_VALUE, shown_value

MOST_SHOWN_CELLS = 12  # columns of a row that are shown


def row_lists(
    model: Any,
    rows: SomeRows,
    quality: Quality | None,
    columns: list[str],
    most: int,
    words: dict[str, str],
) -> dict[str, list[dict[str, Any]]]:
    """The rows of each list, with their cells and what the model says about them."""
    out: dict[str, list[dict[str, Any]]] = {}
    density = _log_density(model, rows)
    if density is not None:
        at = _complete(rows, columns, most)
        order = at[np.argsort(-density[at], kind="stable")]
        out["typical"] = _lines(model, rows, order[:most], columns, density, words)
        out["strange"] = _lines(model, rows, order[::-1][:most], columns, density, words)
    if quality is not None and quality.log_proba is not None:
        codes = rows.codes(model.classes_)
        guess = quality.log_proba.argmax(axis=1)
        sure = np.where(guess != codes, quality.log_proba.max(axis=1), -np.inf)
        order = np.argsort(-sure, kind="stable")[:most]
        order = order[np.isfinite(sure[order])]
        out["wrong"] = _lines(model, rows, order, columns, density, words)
    return out


def _complete(rows: SomeRows, columns: list[str], most: int) -> np.ndarray:
    """The rows without missing cells, if they are enough. Others have fewer densities."""
    X = rows.X
    if not hasattr(X, "column_names"):
        return np.arange(len(rows))
    known = np.ones(len(rows), dtype=bool)
    for name in columns:
        if name in X.column_names:
            known &= X.column(name).is_valid().to_numpy(zero_copy_only=False)
    return np.flatnonzero(known) if known.sum() >= 2 * most else np.arange(len(rows))


def _log_density(model: Any, rows: SomeRows) -> np.ndarray | None:
    try:
        found: np.ndarray = model.log_density(rows.X)
    except (AttributeError, VerosimError, NotImplementedError):
        return None
    return np.where(np.isnan(found), -np.inf, found)


def _lines(
    model: Any,
    rows: SomeRows,
    at: np.ndarray,
    columns: list[str],
    density: np.ndarray | None,
    words: dict[str, str],
) -> list[dict[str, Any]]:
    if not len(at):
        return []
    some = rows.take(at)
    try:
        found = explain(model, some.X)
        known = explanation_words(words)
        if isinstance(some.X, list):  # texts without a table: their column has no name of its own
            known |= {f"column {name}": words["text"] for name in found.names}
        why = [found.sentence(i, known) for i in range(len(at))]
    except VerosimError:
        why = ["" for _ in at]
    labels = some.labels.tolist()
    return [
        {
            "row": int(i), "label": label_text(labels[j]), "why": why[j],
            "density": None if density is None else float(density[i]),
            "cells": _cells(some, j, columns, words),
        }
        for j, i in enumerate(at.tolist())
    ]  # fmt: skip


def explanation_words(words: dict[str, str]) -> dict[str, str]:
    """The words of the sentences of explanations, in the language of a catalogue."""
    start = "why: "
    return {key.removeprefix(start): text for key, text in words.items() if key.startswith(start)}


def _cells(rows: SomeRows, i: int, columns: list[str], words: dict[str, str]) -> list[Any]:
    """The names and values of the first columns of a row."""

    def shown(value: Any) -> str:
        text = shown_value(value)
        return words["why: missing"] if text == MISSING_VALUE else text

    X = rows.X
    if hasattr(X, "column_names"):
        names = [name for name in columns if name in X.column_names][:MOST_SHOWN_CELLS]
        return [(name, shown(X.column(name)[i].as_py())) for name in names]
    if isinstance(X, list):
        return [(words["text"], shown(X[i]))]
    row = X[i].toarray().ravel() if hasattr(X, "toarray") else np.asarray(X[i]).ravel()
    return [
        (name, shown(row[int(name[1:])]))
        for name in columns
        if name.startswith("x") and name[1:].isdecimal() and int(name[1:]) < len(row)
    ][:MOST_SHOWN_CELLS]
