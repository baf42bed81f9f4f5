"""A table as a product over kinds of columns: one statistic and one density for every part."""

from __future__ import annotations

from verosim.axes import Axes, Columns, Groups
from verosim.densities import ProductDensity
from verosim.kinds.base import Settings
from verosim.kinds.missing import MISSING
from verosim.kinds.reader import MixedReader
from verosim.kinds.registry import part_kinds
from verosim.stats import Product


def plan(reader: MixedReader, groups: Groups) -> Product:
    """The zero statistic for the rows a reader gives."""
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
    """The densities of all kinds of parts, whether a table has columns of the kind or not."""
    return ProductDensity({kind.name: kind.density(settings) for kind in (*part_kinds(), MISSING)})
