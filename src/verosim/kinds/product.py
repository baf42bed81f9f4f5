"""A table as a product of parts: each part has one statistic and one density."""

from __future__ import annotations

from verosim.axes import Axes, Columns, Groups
from verosim.densities import ProductDensity
from verosim.kinds.base import PartKind, Settings
from verosim.kinds.missing import MISSING
from verosim.kinds.reader import MixedReader
from verosim.kinds.registry import part_kinds
from verosim.stats import Product

MOST_DENSITIES = 64  # densities

_densities: dict[Settings, tuple[tuple[PartKind, ...], ProductDensity]] = {}  # they do not change


def plan(reader: MixedReader, groups: Groups) -> Product:
    """The zero statistic for the rows of a reader."""
    return Product(
        {
            part.name: part.kind.zero(
                Axes(groups, Columns(len(part.columns), part.columns)), part, reader.schema
            )
            for part in reader.parts
        },
        {part.name: part.kind.name for part in reader.parts},
    )


def density(settings: Settings) -> ProductDensity:
    """The densities of all kinds of parts, also of kinds that the table does not have."""
    kinds = part_kinds()
    known = _densities.get(settings)
    if known is None or known[0] is not kinds:
        parts = {kind.name: kind.density(settings) for kind in (*kinds, MISSING)}
        while len(_densities) >= MOST_DENSITIES:
            _densities.popitem()
        _densities[settings] = known = kinds, ProductDensity(parts)
    return known[1]
