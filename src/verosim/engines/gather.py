"""All rows of a source in this process, for what cannot be computed from sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from verosim.axes import Groups
from verosim.data.clusters import check_is_here
from verosim.data.source import Chunk, RowSource
from verosim.data.sources import joined_blocks
from verosim.engines.shapes import map


@dataclass(frozen=True)
class GatheredRows:
    """The rows with a positive weight, in order."""

    groups: Groups  # the classes
    block: Any  # (n, d), as the model reads it; None without rows
    codes: np.ndarray  # (n,) class numbers
    weights: np.ndarray  # (n,)
    numbers: np.ndarray  # (n,) the positions of the rows in the source


def gather(source: RowSource, groups: Groups, what: str) -> GatheredRows:
    """The rows of a source with the classes of `groups` and those of the rows.

    It is an error on a cluster; `what` needs the rows.
    """
    check_is_here(source, what)

    def pieces(chunk: Chunk) -> tuple[list[Any], np.ndarray]:
        return list(chunk.batches()), chunk.numbers[chunk.kept()]

    found = list(map(source, pieces))
    batches = [batch for some, _ in found for batch in some]
    own = [groups if b.labels is None else Groups(b.labels) for b in batches]
    groups = reduce(Groups.union, own, groups)
    batches = [
        batch if batch.labels is None else batch.regrouped(mine.positions(groups), 1)
        for batch, mine in zip(batches, own, strict=True)
    ]
    batches = [batch for batch in batches if len(batch)]
    if not batches:
        none = np.empty(0, dtype=np.int32)
        return GatheredRows(groups, None, none, np.empty(0), none)
    return GatheredRows(
        groups,
        joined_blocks([batch.block for batch in batches]),
        np.concatenate([batch.groups for batch in batches]),
        np.concatenate([b.weights if len(b.weights) else np.ones(len(b)) for b in batches]),
        np.concatenate([numbers for _, numbers in found]),
    )
