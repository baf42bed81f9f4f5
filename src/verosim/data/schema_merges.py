"""Whether two models can be merged: they read every column in the same way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verosim.axes.value_hashes import agreed_values
from verosim.data.declared_values import check_same_values
from verosim.errors import FITTED_SCHEMA_HINT, ONE_SCHEMA_HINT, VerosimError

if TYPE_CHECKING:
    from verosim.data.schema import Schema


def check_merges(schema: Schema, other: Schema) -> None:
    """Raise an error if models with these two schemas cannot be merged."""
    if None not in (schema.target, other.target) and schema.target != other.target:
        raise VerosimError(
            f"The target is {schema.target!r} in this model and {other.target!r} in the other "
            "model.",
            "Merge models with the same target.",
        )
    if set(schema.na) != set(other.na):
        raise VerosimError(
            f"The texts that mean missing are {list(schema.na)} in this model and "
            f"{list(other.na)} in the other model.",
            ONE_SCHEMA_HINT,
        )
    mine, theirs = ({column.name: column for column in s.used} for s in (schema, other))
    for name in [*mine, *theirs]:
        here, there = (s[name].density if name in s else "ignored" for s in (mine, theirs))
        if here == there and mine[name].kind.binned and mine[name].edges != theirs[name].edges:
            raise VerosimError(
                f"Column {name!r} has other bins in this model than in the other model.",
                ONE_SCHEMA_HINT,
            )
        if here != there:
            raise VerosimError(
                f"Column {name!r} is {here} in this model and {there} in the other model.",
                ONE_SCHEMA_HINT,
            )
        check_same_values(mine[name].values, theirs[name].values, name)
    _check_same_cells(schema, other)
    _check_same_design(schema, other)
    chosen = dict(other.terms)
    if any(agreed_values(terms, chosen.get(key, terms)) is None for key, terms in schema.terms):
        raise VerosimError(
            "The leading terms in this model differ from those in the other model.",
            FITTED_SCHEMA_HINT,
        )


def _check_same_cells(schema: Schema, other: Schema) -> None:
    """Raise an error if models of dependent columns read a column as other cells."""
    if not schema.cells or not other.cells:
        return
    here, there = ({column.name: column for column in s.cells} for s in (schema, other))
    for name in [*here, *there]:
        if not _same_values(here.get(name), there.get(name)):
            raise VerosimError(
                f"Column {name!r} has other cells in this model than in the other model.",
                FITTED_SCHEMA_HINT,
            )


def _check_same_design(schema: Schema, other: Schema) -> None:
    """Raise an error if both schemas have a design matrix, and the two are different."""
    if not schema.design or not other.design:
        return
    pairs = zip(schema.design, other.design, strict=False)
    apart = [a.column for a, b in pairs if not _same_values(a, b)]
    if apart or len(schema.design) != len(other.design):
        raise VerosimError(
            f"Column {apart[0] if apart else schema.design[-1].column!r} is encoded in another "
            "way in this model than in the other model.",
            FITTED_SCHEMA_HINT,
        )


def _same_values(mine: Any, theirs: Any) -> bool:
    """Whether two entries are equal. A text and its hash are the same value."""
    if mine == theirs:
        return True
    if type(mine) is not type(theirs) or replace(mine, values=()) != replace(theirs, values=()):
        return False
    return agreed_values(mine.values, theirs.values) is not None
