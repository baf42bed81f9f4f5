"""The terms and readings of a program, also those inside of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from verosim.data.readings import CellReading
from verosim.densities.terms import Term


def terms_inside(
    terms: tuple[Term, ...], readings: tuple[CellReading, ...]
) -> Iterator[tuple[Term, tuple[CellReading, ...]]]:
    """All terms, each with its readings."""
    for term in terms:
        mine = tuple(readings[j] for j in term.reads)
        yield term, mine
        yield from terms_inside(getattr(term, "terms", ()), mine)


def with_changed_inside(
    reading: CellReading, change: Callable[[CellReading], CellReading]
) -> CellReading:
    """The reading with other readings inside."""
    inner = getattr(reading, "of", None)
    if isinstance(inner, CellReading):
        return replace(reading, of=change(inner))  # type: ignore[call-arg]
    if isinstance(inner, tuple):
        return replace(reading, of=tuple(map(change, inner)))  # type: ignore[call-arg]
    return reading
