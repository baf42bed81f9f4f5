"""The statistic of a pool: the statistics of its experts, by the way of reading and by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from verosim.stats import Product, Several, Statistic

PartKey: TypeAlias = tuple[str, str]  # a way of reading, and the name of a statistic


def pool_statistic(parts: Mapping[PartKey, Statistic]) -> Product:
    """The statistics as one. Those of one way of reading read the same block."""
    by_reading: dict[str, dict[str, Statistic]] = {}
    for (reading, name), part in parts.items():
        by_reading.setdefault(reading, {})[name] = part
    return Product({reading: Several(some) for reading, some in by_reading.items()})


def part_of_pool(statistic: Any, key: PartKey) -> Statistic:
    """The statistic of some experts, from the statistic of a pool."""
    reading, name = key
    part: Statistic = statistic.parts[reading].parts[name]
    return part
