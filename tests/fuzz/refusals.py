"""The errors that a case may end with, and the cause in the case that each of them needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import log10
from typing import TYPE_CHECKING

from tests.fuzz.lives import odd_labels
from tests.fuzz.whole_numbers import is_held

if TYPE_CHECKING:
    from tests.fuzz.cases import Case


def cells(case: Case) -> Iterator[float]:
    """The sizes of all numbers in the rows and the probes that are not zero."""
    for row in [*(row.cells for row in case.draw.rows), *case.draw.probes]:
        for cell in row:
            if isinstance(cell, int | float) and cell == cell and cell != 0:
                yield abs(float(cell))


def large(case: Case) -> bool:
    """Whether a sum of weighted squares may overflow."""
    heaviest = max(row.given for row in case.draw.rows)
    return max(cells(case), default=0.0) > 1e140 / max(heaviest, 1.0) ** 0.5


def tiny(case: Case) -> bool:
    """Whether the weighted squares of some differences have no digits in a double."""
    lightest = min([1.0, *(row.given for row in case.draw.rows if row.given > 0)])
    smallest = min(cells(case), default=1.0)
    # Values differ by 1e-12 of their size or more, and decays multiply weights by 1e-6 or more.
    return 2 * (log10(smallest) - 12) + log10(lightest) - 6 < -285 or large(case)


def far(case: Case) -> bool:
    """Whether a row may be too far from all classes, in standard deviations."""
    sizes = list(cells(case))
    return max(sizes, default=1.0) > 1e100 or min(sizes, default=1.0) < 1e-100


def cancelled(case: Case) -> bool:
    """Whether heavy rows were forgotten first, so that light counts have no digits."""
    weights = [row.given for row in case.draw.rows if row.given > 0]
    return case.ledger.forgot and max(weights) > 1e8 * min(weights)


def relabelled(odd: str) -> Callable[[Case], bool]:
    """Whether the case has missing labels, or labels of several types."""
    return lambda case: odd_labels(case.draw.rows) == odd


def lost(case: Case) -> bool:
    """Whether a double does not hold one of the numbers."""
    every = [row.cells for row in case.draw.rows] + case.draw.probes
    return not all(is_held(cell) for row in every for cell in row)


KNOWN: list[tuple[str, str, Callable[[Case], bool]]] = [
    ("number not held", r"is not a whole number that a double holds exactly", lost),
    ("value too large", r"contains infinity or a value too large", large),
    ("squares too small", r"squares are too small for floating-point", tiny),
    ("squares too large", r"squares are too large for floating-point", large),
    ("row too far", r"too far|too large", far),
    (
        "other bins",
        r"has the bins .* in one model and",
        lambda case: isinstance(case.settings.get("bins"), int),
    ),
    ("lost in heavier rows", r"more would be forgotten|would become negative", cancelled),
    ("labels of two types", r"The labels mix", relabelled("mixed")),
    ("missing label", r"contains NaN or (None|infinity): the label", relabelled("missing")),
    ("no weight left", r"no rows with positive weight", lambda case: case.draw.weighted),
]


def known_refusal(message: str, case: Case) -> str:
    """The name of the refusal; empty if the message is unknown or has no cause in this case."""
    for name, pattern, cause in KNOWN:
        if re.search(pattern, message):
            return name if cause(case) else ""
    return ""
