"""Category columns: the density is the smoothed share of each category in each class.

If there are more categories than `max_categories`, the rare ones share one category.
"""

from __future__ import annotations

import numpy as np

from verosim.axes import Axes, CappedCategories
from verosim.axes.capped_categories import CodedColumns
from verosim.data import cells
from verosim.data.readers import as_coded_columns
from verosim.data.readings import KeyReading
from verosim.data.schema import Schema
from verosim.densities import Categorical
from verosim.kinds import arrow, statistics
from verosim.kinds.base import Kind, Part, PartKind, Settings, View
from verosim.stats import Counts

PIECE_CAP = 100  # hours, weekdays and months have fewer values than this


def missing(block: CodedColumns, j: int) -> np.ndarray:
    return cells.is_gone(block.indexes[j], block.texts[j])


def zero(axes: Axes, part: Part, schema: Schema) -> Counts:
    """Counts with the limit and the frequent values of the schema; pieces keep all values."""
    caps: list[int] = []
    kept: list[tuple[int, ...]] = []
    declared: list[tuple[str, ...]] = []
    for member in part.members:
        for _ in member.names:
            caps.append(PIECE_CAP if member.in_pieces else schema.max_categories)
            kept.append(() if member.in_pieces else member.column.frequent)
            declared.append(() if member.in_pieces else member.column.values)
    words = CappedCategories.none_yet(tuple(caps), tuple(kept), tuple(declared))
    return Counts(axes.with_codes(words), what="codes")


def density(settings: Settings) -> Categorical:
    return Categorical(settings.alpha, constants=False, never=settings.never)


CATEGORIES = PartKind(
    name="category",
    block=as_coded_columns,
    missing=missing,
    zero=zero,
    seen=statistics.seen_in_codes,
    density=density,
)
CATEGORY = Kind(
    name="category",
    role="category",
    views=(View(CATEGORIES, cells.keys, readings=lambda name: (KeyReading(name),)),),
    sample=arrow.texts,
)
