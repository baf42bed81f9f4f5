"""Warns if the first rows of a stream have fixed more than they could tell.

The first `partial_fit` fixes how all later rows are read: which columns there are, and their kinds.
A later call warns if the table has a column that was not there, or values in a column that was
empty. It also warns when the rows become enough to choose the kinds, if the first ones were not.
"""

from __future__ import annotations

import numpy as np

from verosim.data import cells
from verosim.data.column_kinds import IGNORE
from verosim.data.schema import Schema
from verosim.data.source import RowSource
from verosim.errors import VerosimWarning, listed, warn
from verosim.kinds.density_choice import LEAST_ROWS_TO_CHOOSE
from verosim.kinds.first_look import EMPTY_REASONS
from verosim.models.spec import Spec
from verosim.stats import Statistic

GIVE_SCHEMA = "Start again with partial_fit(…, schema=verosim.look(source)) of more rows."


def warn_of_fixed(schema: Schema, source: RowSource) -> None:
    """Warn about columns of a later table that the first rows have fixed as absent or empty."""
    named = (schema.target, schema.weight, source.target, source.weights)
    known = {*schema.names, *(name for name in named if isinstance(name, str))}
    new = [name for name in source.table.names if name not in known]
    if schema.named and schema.target is not None and new:
        warn(
            f"The columns {listed(new)} were not in the first rows of the stream, so they are not "
            f"used. {GIVE_SCHEMA}",
            VerosimWarning,
        )
    filled = _filled(schema, source)
    if filled:
        warn(
            f"The columns {listed(filled)} had no values in the first {schema.looked:,} rows of "
            f"the stream, so they are ignored, but they have values now. {GIVE_SCHEMA}",
            VerosimWarning,
        )


def _filled(schema: Schema, source: RowSource) -> list[str]:
    """The columns that were empty in the first rows, and have values in the first rows here."""
    empty = [
        column.name
        for column in schema
        if column.density == IGNORE.name
        and column.reason.startswith(EMPTY_REASONS)
        and column.name in source.table.names
    ]
    if not empty or source.table.once or source.table.resumes:
        return []
    rows = next(source.table.read([*empty]), None)
    if rows is None:
        return []
    na = frozenset(schema.na)
    return [name for name in empty if _has_value(rows.batch.column(name), na)]


def _has_value(array: cells.pa.Array, na: frozenset[str]) -> bool:
    try:
        return not cells.is_gone(*cells.keys(array, na)).all()
    except cells.Unreadable:
        return False


def warn_of_few_rows(spec: Spec, schema: Schema, before: Statistic, after: Statistic) -> None:
    """Warn when a stream has enough rows to choose what its first rows were too few for."""
    need = LEAST_ROWS_TO_CHOOSE * int(np.count_nonzero(after.rows.sum(axis=1)))
    if schema.looked < need and before.rows.sum() < need <= after.rows.sum():
        fixed = spec.fixed_by_first_rows(schema)
        if fixed:
            warn(
                f"The first {schema.looked:,} rows of the stream have fixed {fixed}, and they are "
                f"fewer than {LEAST_ROWS_TO_CHOOSE} rows per class. {GIVE_SCHEMA}",
                VerosimWarning,
            )
