"""The colours of all pictures, and a second mark for each of them.

    class i  →  colour i mod 8, marker and dash (i + i div 8) mod 8

The colours are those of Okabe & Ito, which colour-blind readers can distinguish on a light and on a
dark background. Markers and dashes repeat the information, so that 64 classes look different.
Reference: Okabe & Ito (2008), Color universal design.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verosim.axes.groups import plain_label
from verosim.data.labels import label_array

COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C8C8C", "#B5A900",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
DASHES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1)),
    (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 2.5)),
)  # fmt: skip
QUIET = "#777777"  # axes, notes and grids, on a light and on a dark background
FOR, AGAINST = COLOURS[0], COLOURS[1]  # evidence for and against a class
LONGEST_LABEL = 28  # letters


@dataclass(frozen=True)
class Mark:
    """How a class is drawn: a colour and a second mark."""

    label: str
    colour: str
    marker: str
    dash: Any


def marks_of(classes: Any) -> list[Mark]:
    """One mark for each class, in the order of the classes."""
    found = []
    for i, label in enumerate(label_array(classes).tolist()):
        second = (i + i // len(COLOURS)) % len(MARKERS)
        found.append(
            Mark(
                shortened(plain_label(label)),
                COLOURS[i % len(COLOURS)],
                MARKERS[second],
                DASHES[second],
            )
        )
    return found


def shortened(text: object, most: int = LONGEST_LABEL) -> str:
    """A text in one line with at most so many letters, with dots in place of the middle."""
    line = " ".join(str(text).split()).replace("$", r"\$")
    if len(line) <= most:
        return line
    head = (most - 1) * 2 // 3
    return f"{line[:head].rstrip()}…{line[len(line) - (most - 1 - head) :].lstrip()}"
