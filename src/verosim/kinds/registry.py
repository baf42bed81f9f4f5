"""The list of all kinds of columns. A new kind needs its file and one entry here."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from verosim.axes import Columns
from verosim.data.column_kinds import KindDescription, known_kinds, register, unregister
from verosim.data.schema import Schema
from verosim.data.schema_json import with_trends
from verosim.densities import Params
from verosim.kinds.base import Kind, PartKind
from verosim.kinds.boolean import BOOLEAN
from verosim.kinds.category import CATEGORY
from verosim.kinds.date import DATE, DATE_AND_TREND
from verosim.kinds.gaussian import GAUSSIAN
from verosim.kinds.histogram import HISTOGRAM
from verosim.kinds.missing import MISSING
from verosim.kinds.poisson import POISSON
from verosim.kinds.text import TEXT

KINDS = (GAUSSIAN, HISTOGRAM, POISSON, CATEGORY, BOOLEAN, DATE, DATE_AND_TREND, TEXT)

for _kind in KINDS:
    register(_kind)


# The last result of `known_kinds`, and the kinds of columns and of parts among them.
_listed: tuple[tuple[KindDescription, ...], tuple[Kind, ...], tuple[PartKind, ...]] = (), (), ()


def column_kinds() -> tuple[Kind, ...]:
    """The kinds that a column can have, in the order of the list."""
    return _all_kinds()[1]


def part_kinds() -> tuple[PartKind, ...]:
    """The kinds of parts of all kinds of columns, without duplicates."""
    return _all_kinds()[2]


def _all_kinds() -> tuple[tuple[KindDescription, ...], tuple[Kind, ...], tuple[PartKind, ...]]:
    global _listed
    known, found = known_kinds(), _listed
    if found[0] is not known:
        kinds = tuple(kind for kind in known if isinstance(kind, Kind))
        parts = dict.fromkeys(view.part for kind in kinds for view in kind.views)
        _listed = found = known, kinds, tuple(parts)
    return found


def column_labels(params: Params, columns: Columns) -> tuple[str, ...]:
    """(d,) the names of the contributions of a model, which differ between parts."""
    labels = {part.name: part.label for part in (*part_kinds(), MISSING)}
    return tuple(
        labels[kind].format(name) if kind else name
        for kind, names in params.column_parts(columns)
        for name in names
    )


@contextmanager
def registered(kind: Kind) -> Iterator[Kind]:
    """Register a kind for a `with` block."""
    register(kind)
    try:
        yield kind
    finally:
        unregister(kind)


def _schema(given: dict[str, Any]) -> Schema:
    """The schema of a pickle that was written when every date had a trend."""
    return restored_schema({**given, "columns": with_trends(given["columns"])})


def restored_schema(given: dict[str, Any]) -> Schema:
    """The schema of a pickle, from its fields."""
    return Schema(**given)


def _fields(schema: Schema) -> dict[str, Any]:
    """The fields of a schema by name, without what it has computed from them."""
    return {field.name: getattr(schema, field.name) for field in fields(schema)}


# Schema is defined in `data`, which does not import the kinds. Unpickling a schema must import
# this module, so that the kinds are registered.
copyreg.pickle(Schema, lambda schema: (restored_schema, (_fields(schema),)))
