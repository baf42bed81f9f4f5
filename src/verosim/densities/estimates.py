"""What a density has estimated for one column, as a small table for people to read.

    values (C, K): one row per class, one column per value, bin, token or parameter

A density gives the table in its method `estimates`, next to `log_density`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim.axes.groups import sorted_labels

GAUSSIAN_TABLE = "gaussian"
RATE_TABLE = "rate"
SHARES_TABLE = "shares"
HEIGHTS_TABLE = "heights"
FLAGS_TABLE = "flags"
AMOUNTS_TABLE = "amounts"
TOKENS_TABLE = "tokens"
CELLS_TABLE = "cells"
MEAN_HEAD, DEVIATION_HEAD = "mean", "deviation"


@dataclass(frozen=True, eq=False)
class Estimates:
    """The estimates of one column, or of one piece of a date."""

    kind: str  # what the values are: one of the constants above
    heads: tuple[Any, ...]  # K: the values of the column, or the names of its parameters
    values: np.ndarray  # (C, K)
    weight: np.ndarray  # (C,) the weight of the cells of each class that have a value
    counts: np.ndarray | None = None  # (C, K) the weight of the cells with each value
    complete: bool = True  # whether all values are listed; False for the leading tokens of a text
    edges: tuple[float, ...] = ()  # (K + 1) of bins

    @classmethod
    def of_gaussian(cls, mean: np.ndarray, variance: np.ndarray, weight: np.ndarray) -> Estimates:
        """Means (C,) and variances (C,) of a column."""
        values = np.column_stack([mean, np.sqrt(variance)])
        return cls(GAUSSIAN_TABLE, (MEAN_HEAD, DEVIATION_HEAD), values, weight)


def in_reading_order(values: Iterable[Any]) -> list[Any]:
    """Values sorted as people expect: texts of whole numbers, such as hours, as numbers."""
    found = list(values)
    if found and all(isinstance(value, str) and value.isdecimal() for value in found):
        return sorted(found, key=lambda text: (int(text), text))
    return sorted_labels(found)


def typical_tokens(share: np.ndarray, weight: np.ndarray, names: Any, most: int) -> list[int]:
    """The tokens that are most typical of some class, class by class, from shares (C, K).

    The score of token i in class k is φ_ik log(φ_ik / φ_i), with φ_i = Σ_k (n_k/n) φ_ik. Equal
    scores are in alphabetical order.
    """
    there = weight > 0
    overall = (np.where(there, weight, 0.0) / weight[there].sum()) @ share
    found: dict[int, None] = {}
    for c in np.flatnonzero(there).tolist():
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(share[c] > 0, share[c] * np.log(share[c] / overall), 0.0)
        found.update(dict.fromkeys(best_scores(score, names, most)))
    return list(found)


def best_scores(score: np.ndarray, names: Any, most: int) -> list[int]:
    """The positions of the highest scores. Equal scores are in the order of their names."""
    n = min(most, len(score))
    if n < 1:
        return []
    some = np.flatnonzero(score >= np.partition(score, -n)[-n]).tolist()
    return sorted(some, key=lambda i: (-score[i], names[i]))[:n]
