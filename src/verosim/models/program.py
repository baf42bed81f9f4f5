"""The program of a fitted model, and tables as the typed cells that a program takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.bayes.program import JOINT_OUTPUT, POSTERIOR_OUTPUT, SCORES_OUTPUT, Program
from verosim.data import cells
from verosim.data.cell_formats import by_format
from verosim.data.libraries import pa
from verosim.data.readings import CellReading
from verosim.data.schema_columns import Column
from verosim.densities import ClassScores
from verosim.densities.terms import Term
from verosim.models.opening import open_to_score
from verosim.models.spec import Spec
from verosim.models.state import State


def program_of(state: State, probabilities: bool = True) -> Program:
    """The scores of a fitted model as a program. `probabilities` is whether they are posteriors."""
    joint = state.spec.is_density and probabilities
    return Program(
        tuple(state.classes.tolist()), state.rule.log_prior, readings_of(state),
        score_terms(state.spec, state.params),
        JOINT_OUTPUT if joint else POSTERIOR_OUTPUT if probabilities else SCORES_OUTPUT,
    )  # fmt: skip


def readings_of(state: State) -> tuple[CellReading, ...]:
    """How typed cells become the values that the terms of a fitted model use."""
    if state.schema is None:
        block = state.spec.array_readings(state.statistic.axes.columns)
    else:
        block = state.spec.reader(state.schema).readings
    return state.params.readings(block)


def score_terms(spec: Spec, params: ClassScores) -> tuple[Term, ...]:
    """The terms of the densities, or of scores that are equal up to a common term."""
    return params.terms() if spec.is_density else params.ratio_terms()


def typed_rows(state: State, program: Program, X: Any) -> Any:
    """Rows in any form that a model reads, as the typed cells that its program takes.

    An array stays as it is. A table becomes a dict of columns.
    """
    opened = open_to_score(state, X)
    if state.schema is None or opened.reader is None:
        return X
    known = {column.name: column for column in opened.reader.schema.columns}
    found: dict[str, list[np.ndarray]] = {name: [] for name in program.inputs}
    na = frozenset(opened.reader.schema.na)
    for rows in opened.table.read(None):
        for name, type_ in program.inputs.items():
            at = rows.batch.schema.get_field_index(name)
            array = pa.nulls(len(rows)) if at < 0 else rows.batch.column(at)
            found[name].append(typed_cells(known[name], type_, array, na))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def typed_cells(column: Column, type_: str, array: pa.Array, na: frozenset[str]) -> np.ndarray:
    """(n,) the cells of an Arrow column as typed cells."""
    na = na.union(column.missing)
    if type_ == "text":
        return np.array([cells.text_of(v) if not isinstance(v, str) else v
                         for v in array.to_pylist()], dtype=object)  # fmt: skip
    if type_ == "category":
        index, texts = cells.keys(array, na)
        return np.array(texts, dtype=object)[index]
    read: Any = {"number": cells.numbers, "boolean": cells.flags, "date": cells.datetimes}[type_]
    out: np.ndarray = by_format(column, read)(array, na)
    return out
