"""The kinds of columns a schema can name. A kind enters itself here; `verosim.kinds` has them all.

A schema needs little of a kind: its name, its role and whether its bins belong to the schema. How
cells are read, counted, described and simulated is in the file of the kind.
"""

from __future__ import annotations

from dataclasses import dataclass

from verosim.errors import VerosimError


@dataclass(frozen=True)
class ColumnKind:
    """What a schema knows of a kind of column."""

    name: str  # as `columns=` and the schema call it
    role: str  # number, category, boolean, date/time, text or ignored
    aliases: tuple[str, ...] = ()  # other names `columns=` takes
    shown: bool = True  # whether the schema prints its name as a density, beside the role
    binned: bool = False  # whether its bins, fixed by the first look, belong to the schema


IGNORE = ColumnKind("ignore", "ignored", ("ignored",), shown=False)
DEFAULT_NUMBER_KIND = "gaussian"  # the kind of a number where nothing else is said

_registered: dict[str, ColumnKind] = {}


def register(kind: ColumnKind) -> None:
    """Make a kind known to schemas."""
    if kind.name in _registered or kind.name == IGNORE.name:
        raise VerosimError(f"There is a kind of column {kind.name!r} already.", "rename it.")
    _registered[kind.name] = kind


def unregister(kind: ColumnKind) -> None:
    """Forget a kind; schemas that name it can no longer be read."""
    _registered.pop(kind.name, None)


def known_kinds() -> tuple[ColumnKind, ...]:
    """All kinds in the order they were entered, the ignored column last."""
    return (*_registered.values(), IGNORE)


def kind_named(name: object) -> ColumnKind | None:
    """The kind of that name or alias; None if there is none."""
    for kind in known_kinds():
        if name == kind.name or name in kind.aliases:
            return kind
    return None
