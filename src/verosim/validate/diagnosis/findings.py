"""A finding is a number and what it means for the person who reads it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from verosim.errors import VerosimError

LEVEL = 0.05  # significance of every test
SHOWN = 5  # findings of one name in print; the others are there by index
READING_WIDTH = 64  # letters of a reading in a line


@dataclass(frozen=True)
class Finding:
    """One thing found: its name, what it is about, the number, and a reading of it.

    `value` is None where it needs rows that were not given, or does not apply; the reading says
    which. `p_value` is None where there is no test.
    """

    name: str
    subject: str
    value: float | None
    p_value: float | None
    reading: str


@dataclass(frozen=True, repr=False)
class Diagnosis(Sequence[Finding]):
    """Findings in order; by number, or by name: all of that name."""

    title: str
    findings: tuple[Finding, ...]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the findings, each once."""
        return tuple(dict.fromkeys(found.name for found in self.findings))

    @overload
    def __getitem__(self, at: int) -> Finding: ...

    @overload
    def __getitem__(self, at: slice | str) -> Diagnosis: ...

    def __getitem__(self, at: int | slice | str) -> Finding | Diagnosis:
        if isinstance(at, slice):
            return Diagnosis(self.title, self.findings[at])
        if not isinstance(at, str):
            return self.findings[at]
        found = tuple(one for one in self.findings if one.name == at)
        if not found:
            raise VerosimError(f"There is no finding {at!r}.", f"one of {', '.join(self.names)}.")
        return Diagnosis(self.title, found)

    def __str__(self) -> str:
        shown: list[tuple[str, ...]] = []
        for name in self.names:
            these = self[name]
            shown += [_cells(one) for one in these[:SHOWN]]
            if len(these) > SHOWN:
                more = f"{len(these) - SHOWN} more"
                shown.append(("", more, "", "", f"diagnosis[{name!r}] has them all."))
        head = ("finding", "of", "value", "p")
        width = [max(len(row[i]) for row in [head, *shown]) for i in range(4)]
        lines = [self.title, _line(head, width, "reading")]
        for row in shown:
            first, *others = textwrap.wrap(row[4], READING_WIDTH) or [""]
            lines.append(_line(row[:4], width, first))
            lines += [_line(("",) * 4, width, text) for text in others]
        return "\n".join(lines)

    __repr__ = __str__


def _line(cells: Sequence[str], width: list[int], reading: str) -> str:
    name, subject, value, p = cells
    start = f"{name:<{width[0]}}  {subject:<{width[1]}}  {value:>{width[2]}}  {p:>{width[3]}}"
    return f"{start}  {reading}".rstrip()


def _cells(found: Finding) -> tuple[str, ...]:
    value = "" if found.value is None else f"{found.value:.4g}"
    return found.name, found.subject, value, probability(found.p_value, ""), found.reading


def probability(p: float | None, sign: str = "= ") -> str:
    """A p-value as it is written: '= 0.034', '< 0.001'."""
    if p is None:
        return ""
    return f"{'< ' if sign else '<'}0.001" if p < 0.001 else f"{sign}{p:.3f}"


def first_few(items: Sequence[str], most: int = 3) -> str:
    """'a', 'b' and 5 more."""
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def needs_rows(name: str, what: str, given: bool) -> Finding:
    """What only rows can tell, where there are none, or none that can be looked at."""
    if given:
        return does_not_apply(name, "there are too many columns to look at together")
    return Finding(name, "all classes", None, None, f"Needs rows: diagnose(model, X, y) {what}.")


def does_not_apply(name: str, why: str) -> Finding:
    return Finding(name, "all classes", None, None, f"Does not apply: {why}.")
