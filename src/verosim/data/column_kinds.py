"""The names of the kinds of columns that a schema can contain. `verosim.kinds` registers them here.

A schema needs only the name and the role of each kind, and whether the schema stores its bins. The
file of the kind in `verosim.kinds` defines how cells are read, counted, modelled and sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from verosim.errors import VerosimError


@dataclass(frozen=True)
class KindDescription:
    """The properties of one kind of column that a schema needs."""

    name: str  # the name in `columns=` and in the schema
    role: str  # number, category, boolean, date/time, text or ignored
    aliases: tuple[str, ...] = ()  # other names that `columns=` accepts
    shown: bool = True  # whether the schema prints the name as a density, next to the role
    binned: bool = False  # whether the schema stores its bins, which the first look chooses


IGNORE = KindDescription("ignore", "ignored", ("ignored",), shown=False)
DEFAULT_NUMBER_KIND = "gaussian"  # the kind of numbers if nothing else is chosen

REGISTRY = "verosim.kinds.registry"  # it registers the kinds of this library when it is imported

_registered: dict[str, KindDescription] = {}
_known: tuple[KindDescription, ...] = ()  # all of them; empty after a change


def register(kind: KindDescription) -> None:
    """Register a kind, so that schemas can contain it."""
    if kind.name in _registered or kind.name == IGNORE.name:
        raise VerosimError(
            f"The kind of column {kind.name!r} is already registered.", "Use another name."
        )
    _registered[kind.name] = kind
    _forget_known()


def unregister(kind: KindDescription) -> None:
    """Remove a kind. Schemas that contain it can no longer be read."""
    _registered.pop(kind.name, None)
    _forget_known()


def _forget_known() -> None:
    global _known
    _known = ()


def known_kinds() -> tuple[KindDescription, ...]:
    """All kinds in the order of their registration; `ignore` is the last.

    It is the same object until a kind is registered or removed.
    """
    global _known
    if not _registered:  # a schema was made or read before any model
        import_module(REGISTRY)
    known = _known
    if not known:
        _known = known = (*_registered.values(), IGNORE)
    return known


def kind_with_name(name: str) -> KindDescription | None:
    """The kind with exactly that name, or None."""
    return IGNORE if name == IGNORE.name else _registered.get(name)


def kind_named(name: object) -> KindDescription | None:
    """The kind with that name or alias, or None."""
    for kind in known_kinds():
        if name == kind.name or name in kind.aliases:
            return kind
    return None
