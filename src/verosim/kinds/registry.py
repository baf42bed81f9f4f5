"""The one list of kinds of columns. A new kind is its file and a line here."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from verosim.axes import Columns
from verosim.data.column_kinds import known_kinds, register, unregister
from verosim.data.schema import Schema
from verosim.densities import Params
from verosim.kinds.base import Kind, PartKind
from verosim.kinds.boolean import BOOLEAN
from verosim.kinds.category import CATEGORY
from verosim.kinds.date import DATE
from verosim.kinds.gaussian import GAUSSIAN
from verosim.kinds.histogram import HISTOGRAM
from verosim.kinds.missing import MISSING
from verosim.kinds.poisson import POISSON
from verosim.kinds.text import TEXT

KINDS = (GAUSSIAN, HISTOGRAM, POISSON, CATEGORY, BOOLEAN, DATE, TEXT)

for _kind in KINDS:
    register(_kind)


def column_kinds() -> tuple[Kind, ...]:
    """The kinds a column can be given, in the order of the list."""
    return tuple(kind for kind in known_kinds() if isinstance(kind, Kind))


def part_kinds() -> tuple[PartKind, ...]:
    """The kinds of parts their columns go into, each once."""
    return tuple(dict.fromkeys(view.part for kind in column_kinds() for view in kind.views))


def column_labels(params: Params, columns: Columns) -> tuple[str, ...]:
    """(d,) what each of the contributions of a model is called, beside those of other parts."""
    labels = {part.name: part.label for part in (*part_kinds(), MISSING)}
    return tuple(
        labels[kind].format(name) if kind else name
        for kind, names in params.column_parts(columns)
        for name in names
    )


@contextmanager
def registered(kind: Kind) -> Iterator[Kind]:
    """A kind that is known while the block runs."""
    register(kind)
    try:
        yield kind
    finally:
        unregister(kind)


def _schema(fields: dict[str, Any]) -> Schema:
    return Schema(**fields)


# Schemas are defined below the kinds they name: one that is unpickled has to bring them along.
copyreg.pickle(Schema, lambda schema: (_schema, (dict(vars(schema)),)))
