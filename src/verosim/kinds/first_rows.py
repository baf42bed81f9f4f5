"""The first rows of a table without its texts, from which label-free choices are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from verosim.axes.capped_categories import CodedColumns
from verosim.data.schema import Schema
from verosim.data.sources import Parts
from verosim.data.stream import weights_of
from verosim.data.tables import Table
from verosim.kinds.cell_reader import cellular
from verosim.kinds.look import FIRST_LOOK_ROWS
from verosim.kinds.reader import MixedReader


def first_blocks(
    schema: Schema, table: Table, weights: Any
) -> tuple[MixedReader, list[Parts], np.ndarray]:
    """The first rows of a table without its texts: the reader, the blocks and (n,) the weights."""
    reader = cellular(schema)
    blocks: list[Parts] = []
    weight: list[np.ndarray] = []
    done = 0
    for rows in table.head(FIRST_LOOK_ROWS):
        n = rows.batch.num_rows
        given = weights[done : done + n] if isinstance(weights, np.ndarray) else weights
        found = weights_of(given, rows)
        weight.append(found if len(found) else np.ones(n))
        blocks.append(reader.block(rows))
        done += n
    return reader, blocks, np.concatenate(weight)


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
