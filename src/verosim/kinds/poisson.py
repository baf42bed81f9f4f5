"""Columns of counts 0, 1, 2, …, with a Poisson rate in each class."""

from __future__ import annotations

import numpy as np

from verosim.data import cells
from verosim.data.readers import as_numbers
from verosim.data.readings import NumberReading
from verosim.data.tables import Rows
from verosim.densities import Poisson
from verosim.errors import VerosimError
from verosim.kinds import numbers, statistics
from verosim.kinds.base import Kind, Part, PartKind, Settings, View


def density(settings: Settings) -> Poisson:
    return Poisson(settings.alpha)


def check(part: Part, rows: Rows, block: np.ndarray) -> None:
    """Raise an error if a cell is not a count and not missing."""
    wrong = np.argwhere((block < 0) | (block != np.floor(block)) & ~np.isnan(block))
    if len(wrong):
        i, j = (int(v) for v in wrong[0])
        name = part.columns[j]
        raise VerosimError(
            f"Column {name!r}, {rows.place(i)}: a Poisson column must contain counts 0, 1, 2, …; "
            f"got {block[i, j]:g}.",
            f"Use columns={{{name!r}: 'gaussian'}} or columns={{{name!r}: 'histogram'}}.",
        )


POISSONS = PartKind(
    name="poisson",
    block=as_numbers,
    missing=numbers.missing,
    zero=statistics.moments,
    seen=statistics.seen_in_moments,
    density=density,
    check=check,
)
POISSON = Kind(
    name="poisson",
    role="number",
    views=(View(POISSONS, cells.numbers, readings=lambda name: (NumberReading(name),)),),
    sample=numbers.sample,
)
