"""Cases with integers at ±2⁵³: from there on, a double does not hold every whole number.

They change a part of the cases of other families after these are drawn, with random numbers of
their own, so that all other cases stay what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.lives import Draw

EDGE = 2**53
SHARE = 1 / 16  # of the cases that have columns of numbers
Rows = Sequence[tuple[Any, ...]]
FORMS: dict[str, Callable[[Rows], Any]] = {
    "int64": lambda rows: np.array(rows, dtype=np.int64),
    "uint64": lambda rows: np.array(rows, dtype=np.uint64),
    "list": lambda rows: [list(row) for row in rows],
    "list beside fractions": lambda rows: [list(row) for row in rows],
    "objects": lambda rows: np.array([list(row) for row in rows], dtype=object),
    "frame": lambda rows: pd.DataFrame([list(row) for row in rows]),
    "floats": lambda rows: np.array(rows, dtype=np.float64),
}


def is_held(cell: Any) -> bool:
    """Whether a double holds a cell."""
    return type(cell) is not int or int(float(cell)) == cell


def at_the_edge(number: int, draw: Draw) -> Draw:
    """The draw of a case, or one with integers at ±2⁵³ in one of its columns of numbers."""
    rnd = Random(f"integers at 2**53, {number}")
    if rnd.random() >= SHARE:
        return draw
    every = [row.cells for row in draw.rows] + draw.probes
    columns = [
        j for j, cells in enumerate(zip(*every, strict=True))
        if all(cell is None or type(cell) in (int, float) for cell in cells)
        and (not draw.kinds or draw.kinds[j] == "gaussian")
    ]  # fmt: skip
    if not columns:
        return draw
    j, form = rnd.choice(columns), rnd.choice(list(FORMS))
    below = any(type(cell) in (int, float) and cell < 0 for cells in every for cell in cells)
    sign = rnd.choice([1, -1]) if below and form != "uint64" else 1  # counts are not negative
    steps = rnd.choice([(-2, 0, 2), (-2, -1, 0), (-2, -1, 0, 1, 2), (1, 2)])

    def changed(cells: tuple[Any, ...]) -> tuple[Any, ...]:
        edge = sign * (EDGE + rnd.choice(steps))
        if form == "floats":
            edge = float(edge)  # the cell itself is a double
        if draw.kinds:
            return (*cells[:j], edge, *cells[j + 1 :])
        more = 0.5 if form == "list beside fractions" else 0
        return tuple(edge if i == j else rnd.randrange(5) + more for i in range(len(cells)))

    rows = [replace(row, cells=changed(row.cells)) for row in draw.rows]
    probes = [changed(cells) for cells in draw.probes]

    def wrap(rows: Rows) -> Any:
        if not draw.kinds:
            return FORMS[form](rows)
        table = draw.wrap([(*row[:j], 0.0, *row[j + 1 :]) for row in rows])
        cells = [row[j] for row in rows]
        table[f"{draw.kinds[j]}{j}"] = np.array(cells) if form == "int64" else cells
        return table

    return replace(draw, rows=rows, probes=probes, wrap=wrap)
