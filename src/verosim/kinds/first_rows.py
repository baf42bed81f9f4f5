"""The first rows of a table without its texts, from which label-free choices are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from verosim.axes.capped_categories import CodedColumns
from verosim.data.schema import Schema
from verosim.data.schema_columns import Column
from verosim.data.sources import Parts
from verosim.data.stream import weights_of
from verosim.data.tables import FIRST_LOOK_ROWS, Table
from verosim.kinds.converted_reader import without_texts
from verosim.kinds.reader import MixedReader


class FirstRows:
    """The first rows of a table with their weights. They are read once."""

    def __init__(self, table: Table, weights: Any) -> None:
        self.table, self.given = table, weights
        self._read: tuple[tuple[Column, ...], FirstBlocks] | None = None

    def blocks(self, schema: Schema) -> FirstBlocks:
        """The rows as the schema reads them."""
        if self._read is None or self._read[0] != schema.columns:
            self._read = schema.columns, self._blocks(schema)
        return self._read[1]

    def _blocks(self, schema: Schema) -> FirstBlocks:
        reader = without_texts(schema)
        blocks: list[Parts] = []
        weight: list[np.ndarray] = []
        done = 0
        for rows in self.table.head(FIRST_LOOK_ROWS):
            # Batches differ between engines, so the last one is cut at the same row.
            rows = rows.first(FIRST_LOOK_ROWS - done)
            n, given = len(rows), self.given
            if done and not n:
                break
            given = given[done : done + n] if isinstance(given, np.ndarray) else given
            found = weights_of(given, rows)
            weight.append(found if len(found) else np.ones(n))
            blocks.append(reader.block(rows))
            done += n
        return FirstBlocks(reader, blocks, np.concatenate(weight))


class FirstBlocks(NamedTuple):
    """The first rows of a table without its texts."""

    reader: MixedReader
    blocks: list[Parts]
    weight: np.ndarray  # (n,)


def ranked_texts(blocks: Sequence[CodedColumns], j: int, weight: np.ndarray) -> list[str]:
    """The texts of column j, the most frequent first."""
    found: dict[str, float] = {}
    done = 0
    for block in blocks:
        index, texts = block.indexes[j], block.texts[j]
        mass = np.bincount(index, weight[done : done + len(index)], len(texts))
        for text, one in zip(texts, mass.tolist(), strict=True):
            if text is not None and one > 0:
                found[text] = found.get(text, 0.0) + one
        done += len(index)
    return sorted(found, key=lambda text: (-found[text], text))
