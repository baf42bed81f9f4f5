"""All terms of a program, also those inside of other terms."""

from __future__ import annotations

from collections.abc import Iterator

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
