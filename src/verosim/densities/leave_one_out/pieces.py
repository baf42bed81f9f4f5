"""Leave-one-out scores of rows in small pieces, so that the arrays of one piece fit in cache.

rows per piece ≈ BLOCK_CELLS / (C · d)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from verosim.data import SparseRows
from verosim.data.batch import BLOCK_CELLS
from verosim.data.sources import cells_per_row, take_rows
from verosim.densities.leave_one_out.removal import Removal, Scorer
from verosim.stats import Statistic

# (block, C) → the place and the rows of each piece
Cut = Callable[[Any, int], Iterator[tuple[slice, Any]]]
# (rows, removal) → (b, C) log p(x | c), and (b,) bool: where it is valid
PieceScore = Callable[[Any, Removal], tuple[np.ndarray, np.ndarray | bool]]


def slices(rows: int, step: int) -> Iterator[slice]:
    """Slices of `step` rows each."""
    for start in range(0, rows, step):
        yield slice(start, min(rows, start + step))


def pieces(block: Any, classes: int) -> Iterator[tuple[slice, Any]]:
    """Pieces of rows, small enough that arrays (rows, C, cells per row) fit in cache."""
    step = max(1, int(BLOCK_CELLS / (classes * max(cells_per_row(block), 1.0))))
    for at in slices(len(block), step):
        yield at, block[at]


def dense_pieces(block: Any, classes: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Pieces of dense rows, small enough that arrays (rows, C, d) fit in cache."""
    d = block.shape[1]
    cells = max(d, BLOCK_CELLS // classes)
    if isinstance(block, SparseRows):
        yield from block.dense_blocks(cells)
        return
    for at in slices(len(block), max(1, cells // d)):
        yield at, block[at].astype(np.float64, copy=False)


def in_pieces(
    statistic: Statistic, cut: Cut, score_rows: PieceScore, refitted: Scorer | None = None
) -> Scorer:
    """A scorer that calls `score_rows` for each piece.

    Rows for which the result is not valid are scored by `refitted`.
    """
    C = len(statistic.rows)

    def score(block: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        removal = Removal.of(statistic, classes, weights)
        out, holds = np.empty((len(classes), C)), np.ones(len(classes), dtype=bool)
        for at, rows in cut(block, C):
            out[at], holds[at] = score_rows(rows, removal[at])
        out[removal.gone, classes[removal.gone]] = -np.inf
        rest = np.flatnonzero(~holds)
        if len(rest):
            assert refitted is not None
            heavy = weights[rest] if len(weights) else weights
            out[rest] = refitted(take_rows(block, rest), classes[rest], heavy)
        return out

    return score
